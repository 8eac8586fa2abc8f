#include "plan/picture_stats.h"

#include <algorithm>

namespace reelmend::plan {
namespace {

constexpr int kStep = 4;
constexpr int kBarLevel = 5 * pixel::kUnitsPer8BitLevel;  ///< above black; encoders leave bars within it
constexpr double kBarShare = 0.99;                    ///< of a row that is black
constexpr float kLargestBar = 0.45F;

/// Number of black lines at one end; `dark` counts the black samples of each line, of `length`.
template <typename Iterator>
float BarAt(Iterator first, Iterator last, int length) {
  const auto lines = static_cast<float>(last - first);
  const auto end = std::find_if(first, last, [&](int dark) { return dark < kBarShare * length; });
  return std::min(kLargestBar, static_cast<float>(end - first) / lines);
}

}  // namespace

LumaFacts MeasureLuma(const pixel::Image& image) {
  LumaFacts facts;
  facts.range = image.color().range;
  const pixel::RangeLayout layout = pixel::LayoutOf(facts.range);
  const int bar = static_cast<int>(layout.domain.black) + kBarLevel;
  const pixel::ConstPlane luma = image.plane(0);
  const int columns = (luma.width + kStep - 1) / kStep;
  const int rows = (luma.height + kStep - 1) / kStep;
  std::vector<int> dark_in_row(rows);
  std::vector<int> dark_in_column(columns);
  for (int y = 0; y < rows; ++y) {
    const std::uint16_t* row = luma.Row(y * kStep);
    for (int x = 0; x < columns; ++x) {
      const int v = row[x * kStep];
      ++facts.histogram[std::clamp((v - layout.base) >> pixel::kBinBits, 0, layout.bins - 1)];
      if (v > bar) continue;
      ++dark_in_row[y];
      ++dark_in_column[x];
    }
  }
  facts.bars = {BarAt(dark_in_row.begin(), dark_in_row.end(), columns), BarAt(dark_in_row.rbegin(), dark_in_row.rend(), columns),
                BarAt(dark_in_column.begin(), dark_in_column.end(), rows), BarAt(dark_in_column.rbegin(), dark_in_column.rend(), rows)};
  return facts;
}

VideoLevels LevelsOfVideo(const std::vector<LumaFacts>& pictures) {
  const auto levels_of = [](const LumaFacts& picture, float bars) {
    return pixel::MeasureLevels(picture.histogram.data(), pixel::LayoutOf(picture.range), bars);
  };
  std::vector<const LumaFacts*> telling;
  for (const LumaFacts& picture : pictures) {
    if (levels_of(picture, 0).used() > pixel::kBlankUse) telling.push_back(&picture);
  }
  if (telling.empty()) return {};
  Bars common = telling.front()->bars;
  for (const LumaFacts* picture : telling) {
    const Bars& bars = picture->bars;
    common = {std::min(common.top, bars.top), std::min(common.bottom, bars.bottom), std::min(common.left, bars.left),
              std::min(common.right, bars.right)};
  }
  // An encoder blurs the inner edge of bars, and so does an enlargement.
  constexpr float kEdge = 0.01F;
  const float bars = common.area() > 0 ? common.area() + kEdge : 0;
  std::vector<float> black;
  std::vector<float> white;
  for (const LumaFacts* picture : telling) {
    const pixel::Levels levels = levels_of(*picture, bars);
    black.push_back(levels.black);
    white.push_back(levels.white);
  }
  std::ranges::sort(black);
  std::ranges::sort(white);
  return {{black[(black.size() - 1) / 2], white[white.size() / 2]}, bars};
}

}  // namespace reelmend::plan
