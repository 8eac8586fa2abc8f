#include "pixel/scene_detector.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "reelmend/error.h"

namespace reelmend::pixel {
namespace {

constexpr int kCell = 8;
constexpr int kMinColumns = 32;
constexpr int kMinRows = 18;
constexpr int kGrainRows = 8;

}  // namespace

SceneDetector::SceneDetector(int width, int height)
    : width_(width),
      height_(height),
      cell_(std::clamp(std::min(width / kMinColumns, height / kMinRows), 1, kCell)),
      columns_(std::max(1, width / cell_)),
      rows_(std::max(1, height / cell_)) {
  for (Thumbnail& thumbnail : ring_) thumbnail.levels.resize(static_cast<std::size_t>(columns_) * rows_);
}

void SceneDetector::Shrink(const Image& image, Thumbnail& out, ThreadPool& pool) const {
  const ConstPlane luma = image.plane(0);
  const int step = cell_ >= 2 ? 2 : 1;
  const int count = cell_ * ((cell_ + step - 1) / step);
  const auto shrink_rows = [&](int first, int last) {
    for (int row = first; row < last; ++row) {
      for (int column = 0; column < columns_; ++column) {
        int sum = 0;
        for (int y = 0; y < cell_; y += step) {
          const std::uint16_t* samples = luma.Row(row * cell_ + y) + column * cell_;
          for (int x = 0; x < cell_; ++x) sum += samples[x];
        }
        out.levels[static_cast<std::size_t>(row) * columns_ + column] =
            static_cast<float>(sum) / static_cast<float>(count * kUnitsPer8BitLevel);
      }
    }
  };
  pool.ParallelRows(rows_, kGrainRows, std::ref(shrink_rows));
  const float share = 1.0F / static_cast<float>(out.levels.size());
  out.histogram = {};
  double sum = 0;
  for (const float level : out.levels) {
    sum += level;
    out.histogram[std::min(static_cast<std::size_t>(level / 4), out.histogram.size() - 1)] += share;
  }
  out.mean = static_cast<float>(sum * share);
  double deviation = 0;
  for (const float level : out.levels) deviation += std::abs(level - out.mean);
  out.deviation = static_cast<float>(deviation * share);
}

bool SceneDetector::Differ(const Thumbnail& a, const Thumbnail& b) {
  float moved = 0;
  for (std::size_t i = 0; i < a.histogram.size(); ++i) moved += std::abs(a.histogram[i] - b.histogram[i]);
  if (moved / 2 < kMinHistogram) return false;
  double difference = 0;
  double structure = 0;
  const float shift = a.mean - b.mean;
  for (std::size_t i = 0; i < a.levels.size(); ++i) {
    const float d = a.levels[i] - b.levels[i];
    difference += std::abs(d);
    structure += std::abs(d - shift);
  }
  const auto count = static_cast<double>(a.levels.size());
  return difference >= kMinDifference * count && structure >= kMinStructure * count * (a.deviation + b.deviation);
}

bool SceneDetector::IsCut(const Image& image, ThreadPool& pool) {
  if (image.width() != width_ || image.height() != height_) {
    throw Error(ErrorCode::kInternal, "A picture does not have the size that scene cuts were planned for.");
  }
  const Thumbnail& before = ring_[(next_ + 2) % 3];
  const Thumbnail& earlier = ring_[(next_ + 1) % 3];
  Thumbnail& now = ring_[next_];
  Shrink(image, now, pool);
  const int seen = seen_;
  next_ = (next_ + 1) % 3;
  seen_ = std::min(seen_ + 1, 2);
  if (seen == 0) return true;
  if (now.deviation < kMinDeviation || !Differ(now, before)) return false;
  const bool is_after_blank = before.deviation < kMinDeviation;
  return !(is_after_blank && seen >= 2 && !Differ(now, earlier));
}

}  // namespace reelmend::pixel
