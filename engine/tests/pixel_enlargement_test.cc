// EnlargementLines: pictures enlarged by a second implementation of the usual filters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "pixel/enlargement_lines.h"

namespace reelmend::pixel {
namespace {

struct Size {
  int width;
  int height;
};

struct Levels {
  Size size;
  std::vector<float> values;
  float At(int x, int y) const {
    return values[static_cast<std::size_t>(std::clamp(y, 0, size.height - 1) * size.width + std::clamp(x, 0, size.width - 1))];
  }
};

float Random(std::uint32_t number) {
  number = (number ^ 61U) ^ (number >> 16);
  number *= 9U;
  number = (number ^ (number >> 4)) * 0x27d4eb2dU;
  return static_cast<float>((number ^ (number >> 15)) & 0xffffU) / 65535.0F;
}

/// A soft slope with random detail, as a recording has it.
Levels Recording(Size size, int seed) {
  Levels noise{size, {}};
  for (int i = 0; i < size.width * size.height; ++i) noise.values.push_back(Random(static_cast<std::uint32_t>(i * 7 + seed * 1'000'003)));
  Levels made{size, {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const float detail = noise.At(x, y) + noise.At(x + 1, y) + noise.At(x, y + 1) + noise.At(x + 1, y + 1) - 2;
      made.values.push_back(100 + 0.1F * static_cast<float>(x + y) + 40 * detail);
    }
  }
  return made;
}

float Linear(float distance) { return std::max(0.0F, 1 - std::abs(distance)); }

/// Catmull and Rom's cubic.
float Cubic(float distance) {
  const float d = std::abs(distance);
  if (d < 1) return 1.5F * d * d * d - 2.5F * d * d + 1;
  return d < 2 ? -0.5F * d * d * d + 2.5F * d * d - 4 * d + 2 : 0;
}

/// Enlarged across by a kernel that reaches two pixels; transposed, so that twice gives both axes.
Levels EnlargedAcross(const Levels& in, int width, const std::function<float(float)>& kernel) {
  Levels out{{in.size.height, width}, {}};
  const float step = static_cast<float>(in.size.width) / static_cast<float>(width);
  for (int x = 0; x < width; ++x) {
    const float center = (static_cast<float>(x) + 0.5F) * step - 0.5F;
    const int first = static_cast<int>(std::floor(center)) - 1;
    for (int y = 0; y < in.size.height; ++y) {
      float sum = 0;
      for (int tap = first; tap < first + 4; ++tap) sum += kernel(static_cast<float>(tap) - center) * in.At(tap, y);
      out.values.push_back(sum);
    }
  }
  return out;
}

/// In whole levels, with the noise of an encode.
LumaWindow Encoded(const Levels& picture) {
  LumaWindow window{picture.size.width, picture.size.height, {}};
  for (std::size_t i = 0; i < picture.values.size(); ++i) {
    const float noise = 4 * (Random(static_cast<std::uint32_t>(i) + 77) - 0.5F);
    window.levels.push_back(static_cast<std::uint8_t>(std::clamp(std::lround(picture.values[i] + noise), 0L, 255L)));
  }
  return window;
}

LumaWindow Enlarged(Size from, Size to, int seed, const std::function<float(float)>& kernel) {
  return Encoded(EnlargedAcross(EnlargedAcross(Recording(from, seed), to.width, kernel), to.height, kernel));
}

TEST(EnlargementLines, TellTheSizeOfTheRecording) {
  const Size to = {640, 480};
  for (const auto& kernel : {Linear, Cubic}) {
    for (const Size from : {Size{256, 192}, Size{284, 213}, Size{384, 288}, Size{426, 320}, Size{456, 342}}) {
      EnlargementLines lines;
      for (int picture = 0; picture < 2; ++picture) lines.Add(Enlarged(from, to, picture, kernel));
      const float share = static_cast<float>(from.height) / static_cast<float>(to.height);
      const auto found = lines.Scale(share < 0.5F ? 0.4F : 0.8F);
      ASSERT_TRUE(found.has_value()) << from.height;
      EXPECT_NEAR(*found, share, 0.005) << from.height;
    }
  }
}

TEST(EnlargementLines, AreNotSeenInWhatIsNoEnlargement) {
  const Size size = {640, 480};
  EnlargementLines none;
  EXPECT_FALSE(none.Scale(1).has_value()) << "no picture";
  EnlargementLines recorded;
  for (int picture = 0; picture < 4; ++picture) recorded.Add(Encoded(Recording(size, picture)));
  EXPECT_FALSE(recorded.Scale(1).has_value());
  const auto pattern = [&](const std::function<int(int, int)>& level) {
    LumaWindow window{size.width, size.height, {}};
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) window.levels.push_back(static_cast<std::uint8_t>(level(x, y)));
    }
    EnlargementLines lines;
    lines.Add(window);
    return lines.Scale(1);
  };
  EXPECT_FALSE(pattern([](int, int) { return 16; }).has_value()) << "blank";
  const auto block = [](int x, int y, int wide, int high) { return static_cast<int>(100 * Random(static_cast<std::uint32_t>(x / wide * 917 + y / high * 31))); };
  EXPECT_FALSE(pattern([&](int x, int y) { return 60 + block(x, y, 8, 8); }).has_value()) << "blocks of an encode";
  EXPECT_FALSE(pattern([&](int x, int y) { return 60 + block(x, y, 11, 11); }).has_value()) << "blocks of an earlier encode, enlarged";
  const auto letter = [&](int x, int y) { return x % 9 < 7 && y % 18 < 12 && Random(static_cast<std::uint32_t>(x * 13 + y * 977)) < 0.4F ? 220 : 30; };
  EXPECT_FALSE(pattern(letter).has_value()) << "letters of 9 by 18 pixels";
  EXPECT_FALSE(pattern([&](int x, int y) { return 60 + block(x, y, 4, 4); }).has_value()) << "small blocks of an encode";
  const auto stripe = [&](int x, int y) { return (x % 3 == 0 ? 90 : 60) + block(x, y, 1, 1) / 4; };
  EXPECT_FALSE(pattern(stripe).has_value()) << "stripes along one axis";
}

TEST(EnlargementLines, IgnoreSmallPictures) {
  EnlargementLines lines;
  for (int picture = 0; picture < 4; ++picture) lines.Add(Enlarged({192, 144}, {320, EnlargementLines::kSmallestSide - 1}, picture, Linear));
  EXPECT_FALSE(lines.Scale(0.6F).has_value());
}

}  // namespace
}  // namespace reelmend::pixel
