// DescribeDamage.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "plan/damage.h"

namespace reelmend::plan {
namespace {

/// A word for values of at least `from`; the last one that fits counts.
struct Word {
  float from;
  const char* text;
};

constexpr std::array<Word, 3> CompressionWords(float from) {
  return {Word{from, "lightly compressed"}, Word{4.0F, "compressed"}, Word{6.0F, "heavily compressed"}};
}
constexpr std::array kNoise = {Word{2.5F, "some noise"}, Word{5.0F, "noisy"}, Word{10.0F, "very noisy"}};

/// Below these the picture is clearly damaged (engine/training/README.md has the share of false alarms).
constexpr float kEnlargedBelow = 0.75F;
constexpr float kUnsharpBelow = 0.65F;
constexpr float kSoftBelow = 0.8F;
constexpr float kLegal = 219;      ///< levels between black and white
constexpr float kFlatBelow = 0.55F;
constexpr float kFlatFrom = 0.05F;  ///< a blank picture or a title has nothing to lift

template <std::size_t N>
void Add(const std::array<Word, N>& words, float value, std::vector<std::string>& parts) {
  const char* found = nullptr;
  for (const Word& word : words) {
    if (value >= word.from) found = word.text;
  }
  if (found != nullptr) parts.emplace_back(found);
}

/// The nearest usual height, by ratio; the number itself, rounded to tens, if none is near. Near is less than the estimate's own
/// error: 207 as “240p” would be further from a true 180 than 20 %.
int UsualHeight(double height) {
  constexpr double kNear = 0.08;
  constexpr std::array kUsual = {144, 240, 288, 360, 480, 576, 720, 1080, 1440, 2160};
  const auto distance = [&](int usual) { return std::abs(std::log(height / usual)); };
  const int nearest = *std::ranges::min_element(kUsual, {}, distance);
  return distance(nearest) < kNear ? nearest : static_cast<int>(std::lround(height / 10)) * 10;
}

/// Why fine detail is missing. Only the remaining sharpness, where blur and an enlargement cannot be told apart.
std::string Sharpness(const DamageEstimate& damage, Size size) {
  const double height = std::min(size.width, size.height);
  const auto usual = [&](float scale) { return std::to_string(UsualHeight(height * static_cast<double>(scale))) + "p"; };
  if (damage.true_scale < kEnlargedBelow) return "enlarged before from about " + usual(damage.true_scale);
  if (damage.effective_scale < kUnsharpBelow) return "only as sharp as about " + usual(damage.effective_scale);
  return damage.effective_scale < kSoftBelow ? "a little soft" : "";
}

void AddWhatPicturesShow(const DamageEstimate& damage, Size size, std::vector<std::string>& parts) {
  if (const std::string sharpness = Sharpness(damage, size); !sharpness.empty()) parts.push_back(sharpness);
  Add(kNoise, damage.noise_sigma, parts);
  const float used = std::max(0.0F, damage.white_level - damage.black_level) / kLegal;
  if (used < kFlatBelow && used >= kFlatFrom) parts.push_back("flat (" + std::to_string(std::lround(100 * used)) + " % of the range)");
}

}  // namespace

std::string DescribeDamage(const DamageEstimate& damage, Size size) {
  std::vector<std::string> parts;
  const bool is_small = std::min(size.width, size.height) <= kSmallLines;
  Add(CompressionWords(is_small ? kSmallCompressedFrom : kCompressedFrom), damage.compression_error, parts);
  if (damage.known) AddWhatPicturesShow(damage, size, parts);
  if (parts.empty()) return damage.known ? "clean" : "";
  std::string text = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) text += ", " + parts[i];
  return text;
}

}  // namespace reelmend::plan
