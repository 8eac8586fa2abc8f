#include "plan/damage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace reelmend::plan {
namespace {

#include "plan/damage_weights.inc"

enum Target { kCompression, kScale, kBlur, kNoise, kError, kEffective };

struct Part {
  int x;
  int y;
  int width;
  int height;
};

/// The picture without black bars. Reads every fourth pixel; a bar is dark over its whole length.
Part WithoutBars(pixel::ConstPlane luma) {
  constexpr int kDark = 24 * pixel::kUnitsPer8BitLevel;
  constexpr int kStep = 4;
  const auto dark_row = [&](int y) {
    for (int x = 0; x < luma.width; x += kStep) {
      if (luma.Row(y)[x] > kDark) return false;
    }
    return true;
  };
  const auto dark_column = [&](int x) {
    for (int y = 0; y < luma.height; y += kStep) {
      if (luma.Row(y)[x] > kDark) return false;
    }
    return true;
  };
  int top = 0;
  int bottom = luma.height;
  int left = 0;
  int right = luma.width;
  while (top < bottom && dark_row(top)) ++top;
  while (bottom > top && dark_row(bottom - 1)) --bottom;
  while (left < right && dark_column(left)) ++left;
  while (right > left && dark_column(right - 1)) --right;
  return {left, top, right - left, bottom - top};
}

/// Offsets of windows of one length along an axis: spread evenly, at starts of 8 × 8 blocks.
std::vector<int> WindowOffsets(int begin, int length, int window, int most) {
  const int first = (begin + 7) / 8 * 8;
  const int room = begin + length - window - first;
  const int count = std::clamp(length / window, 1, most);
  std::vector<int> offsets;
  for (int i = 0; i < count && room >= 0; ++i) offsets.push_back(first + (count == 1 ? room / 2 : room * i / (count - 1)) / 8 * 8);
  return offsets;
}

/// One row of windows. Successive pictures use different rows, so that few windows cover much.
std::vector<Part> WindowsOf(const Part& picture, int number) {
  constexpr int kMostAcross = 3;
  constexpr int kMostDown = 2;
  const auto side = [](int length) { return std::min(pixel::kLargestWindow, (length - 7) / 8 * 8); };
  const int width = side(picture.width);
  const int height = side(picture.height);
  std::vector<Part> windows;
  if (width < pixel::kSmallestWindow || height < pixel::kSmallestWindow) return windows;
  const std::vector<int> rows = WindowOffsets(picture.y, picture.height, height, kMostDown);
  if (rows.empty()) return windows;
  const int y = rows[static_cast<std::size_t>(number) % rows.size()];
  for (const int x : WindowOffsets(picture.x, picture.width, width, kMostAcross)) windows.push_back({x, y, width, height});
  return windows;
}

/// As much of the picture as shows the lines of an enlargement well.
Part MiddleOf(const Part& picture) {
  constexpr int kWidest = 1920;
  constexpr int kHighest = 1080;
  const int width = std::min(picture.width, kWidest);
  const int height = std::min(picture.height, kHighest);
  return {picture.x + (picture.width - width) / 2, picture.y + (picture.height - height) / 2, width, height};
}

bool IsBlank(const pixel::LumaWindow& window) {
  constexpr int kHardlyAnything = 6;  // levels
  const auto [low, high] = std::ranges::minmax(window.levels);
  return high - low < kHardlyAnything;
}

/// outputs = weights × inputs + bias; with `rectify` negative outputs become 0.
std::vector<float> Apply(std::span<const float> weights, std::span<const float> bias, const std::vector<float>& inputs, bool rectify) {
  std::vector<float> outputs(bias.begin(), bias.end());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto row = weights.subspan(o * inputs.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) outputs[o] += row[i] * inputs[i];
    if (rectify) outputs[o] = std::max(outputs[o], 0.0F);
  }
  return outputs;
}

/// Median of a distribution given by the logarithms of its bins, as a position 0…1 on its scale. A bin stands for the values
/// nearest to it.
double MedianBin(const std::array<double, DamageMeter::kBins>& logs) {
  const double top = *std::ranges::max_element(logs);
  std::array<double, DamageMeter::kBins> shares;
  double total = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) total += shares[i] = std::exp(logs[i] - top);
  double before = 0;
  std::size_t at = 0;
  while (at + 1 < shares.size() && before + shares[at] < total / 2) before += shares[at++];
  const double position = static_cast<double>(at) + (total / 2 - before) / shares[at] - 0.5;
  return std::clamp(position, 0.0, DamageMeter::kBins - 1.0) / (DamageMeter::kBins - 1);
}

float ValueAt(Target target, double position) {
  const Scale& scale = kScales[target];
  const double low = std::log(scale.low + scale.offset);
  const double high = std::log(scale.high + scale.offset);
  return static_cast<float>(std::clamp(std::exp(low + position * (high - low)) - scale.offset, scale.low, scale.high));
}

float Median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The range of levels that all but the lowest and the highest 0.5 % of the samples lie in.
std::pair<float, float> LevelsInUse(const pixel::Image& image, const Part& part) {
  constexpr int kStep = 4;
  std::array<int, 256> counts = {};
  int total = 0;
  for (int y = part.y; y < part.y + part.height; y += kStep) {
    const std::uint16_t* row = image.plane(0).Row(y);
    for (int x = part.x; x < part.x + part.width; x += kStep, ++total) ++counts[row[x] / pixel::kUnitsPer8BitLevel];
  }
  int low = 0;
  for (int sum = counts[0]; low < 255 && 200 * sum <= total;) sum += counts[static_cast<std::size_t>(++low)];
  int high = 255;
  for (int sum = counts[255]; high > low && 200 * sum <= total;) sum += counts[static_cast<std::size_t>(--high)];
  const auto limited = [&](int level) {
    const bool is_full = image.color().range == pixel::Range::kFull;
    return is_full ? 16.0F + static_cast<float>(level) * 219.0F / 255.0F : static_cast<float>(level);
  };
  return {limited(low), limited(high)};
}

/// An enlarged picture is soft, unless an encode hides it. So a line in one that seems clean and sharp has to be stronger.
double LeastProminence(const DamageEstimate& estimate) {
  constexpr float kSharp = 0.9F;
  const bool is_plausible = estimate.compression_error >= kCompressedFrom || estimate.effective_scale < kSharp;
  return is_plausible ? pixel::EnlargementLines::kProminent : pixel::EnlargementLines::kVeryProminent;
}

}  // namespace

DamageMeter::Likelihoods DamageMeter::LikelihoodsOf(const pixel::DamageFeatures& features) {
  constexpr float kFarthest = 4;  // standard deviations; more extreme features are clamped
  std::vector<float> values(features.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::clamp((features[i] - kMean[i]) / kDeviation[i], -kFarthest, kFarthest);
  }
  values = Apply(kWeights0, kBias0, values, true);
  values = Apply(kWeights1, kBias1, values, true);
  values = Apply(kWeights2, kBias2, values, false);
  Likelihoods likely;
  for (std::size_t t = 0; t < kTargets; ++t) {
    const auto logits = std::span(values).subspan(t * kBins, kBins);
    const double top = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
    for (std::size_t i = 0; i < kBins; ++i) likely[t][i] = static_cast<double>(logits[i]) - top - std::log(sum);
  }
  return likely;
}

void DamageMeter::Add(const pixel::Image& image) {
  const Part picture = WithoutBars(image.plane(0));
  if (picture.width <= 0 || picture.height <= 0) return;
  for (const Part& part : WindowsOf(picture, static_cast<int>(blacks_.size()))) {
    const pixel::LumaWindow window = pixel::CutWindow(image, part.x, part.y, part.width, part.height);
    if (IsBlank(window)) continue;
    const Likelihoods likely = LikelihoodsOf(pixel::MeasureDamageFeatures(window));
    for (std::size_t t = 0; t < kTargets; ++t) {
      for (std::size_t i = 0; i < kBins; ++i) sums_[t][i] += likely[t][i];
    }
    ++windows_;
  }
  const Part middle = MiddleOf(picture);
  lines_.Add(pixel::CutWindow(image, middle.x, middle.y, middle.width, middle.height));
  const auto [black, white] = LevelsInUse(image, picture);
  blacks_.push_back(black);
  whites_.push_back(white);
}

DamageEstimate DamageMeter::Read(const Likelihoods& logs) {
  const auto value = [&](Target target) { return ValueAt(target, MedianBin(logs[target])); };
  DamageEstimate estimate;
  estimate.known = true;
  estimate.compression_error = value(kCompression);
  estimate.true_scale = value(kScale);
  estimate.effective_scale = value(kEffective);
  estimate.blur_sigma = value(kBlur);
  estimate.noise_sigma = value(kNoise);
  estimate.error = value(kError);
  return estimate;
}

DamageEstimate DamageMeter::Estimate() const {
  DamageEstimate estimate;
  if (windows_ > 0) {
    Likelihoods logs = sums_;
    for (auto& target : logs) {
      for (double& log : target) log /= std::sqrt(windows_);
    }
    estimate = Read(logs);
    if (const auto scale = lines_.Scale(estimate.effective_scale, LeastProminence(estimate))) {
      estimate.true_scale = *scale;
      estimate.effective_scale = std::min(estimate.effective_scale, *scale);
    }
  }
  if (!blacks_.empty()) {
    estimate.black_level = Median(blacks_);
    estimate.white_level = Median(whites_);
  }
  return estimate;
}

}  // namespace reelmend::plan
