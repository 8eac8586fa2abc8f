// DescribeDamage.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "plan/damage.h"

namespace reelmend::plan {
namespace {

/// A word for values from `from` on; the last one that fits counts.
struct Word {
  float from;
  const char* text;
};

constexpr std::array kCompression = {Word{2.5F, "lightly compressed"}, Word{4.0F, "compressed"}, Word{6.0F, "heavily compressed"}};
constexpr std::array kBlur = {Word{0.9F, "soft"}, Word{1.6F, "blurred"}};
constexpr std::array kNoise = {Word{2.5F, "some noise"}, Word{5.0F, "noisy"}, Word{10.0F, "very noisy"}};

/// Below this the picture speaks clearly for an earlier enlargement (engine/training/README.md has the share of false ones).
constexpr float kEnlargedBelow = 0.75F;
constexpr float kLegal = 219;      ///< levels between black and white
constexpr float kFlatBelow = 0.55F;

template <std::size_t N>
void Add(const std::array<Word, N>& words, float value, std::vector<std::string>& said) {
  const char* found = nullptr;
  for (const Word& word : words) {
    if (value >= word.from) found = word.text;
  }
  if (found != nullptr) said.emplace_back(found);
}

/// The usual height that is nearest, by ratio; the number itself, rounded to tens, where none is near.
int UsualHeight(double height) {
  constexpr std::array kUsual = {144, 240, 288, 360, 480, 576, 720, 1080, 1440, 2160};
  const auto distance = [&](int usual) { return std::abs(std::log(height / usual)); };
  const int nearest = *std::ranges::min_element(kUsual, {}, distance);
  return distance(nearest) < 0.18 ? nearest : static_cast<int>(std::lround(height / 10)) * 10;
}

}  // namespace

std::string DescribeDamage(const DamageEstimate& damage, Size size) {
  if (!damage.known) return "";
  std::vector<std::string> said;
  Add(kCompression, damage.compression_error, said);
  if (damage.true_scale < kEnlargedBelow) {
    const double height = std::min(size.width, size.height) * static_cast<double>(damage.true_scale);
    said.push_back("enlarged before from about " + std::to_string(UsualHeight(height)) + "p");
  } else {
    Add(kBlur, damage.blur_sigma, said);
  }
  Add(kNoise, damage.noise_sigma, said);
  const float used = std::max(0.0F, damage.white_level - damage.black_level) / kLegal;
  if (used < kFlatBelow) said.push_back("flat (" + std::to_string(std::lround(100 * used)) + " % of the range)");
  if (said.empty()) return "clean";
  std::string text = said.front();
  for (std::size_t i = 1; i < said.size(); ++i) text += ", " + said[i];
  return text;
}

}  // namespace reelmend::plan
