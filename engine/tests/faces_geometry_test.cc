// Alignment, mask and temporal smoothing of faces, compared with computed values.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "faces/face_geometry.h"
#include "faces/restorer.h"
#include "faces/sampling.h"
#include "faces/tracker.h"
#include "pixel/resize_plan.h"

namespace reelmend::faces {
namespace {

Face MakeFace(float x, float y, float side) {
  Face face;
  face.box = {x, y, x + side, y + side};
  face.score = 1;
  const Landmarks unit = AlignedPoints(1);
  for (std::size_t i = 0; i < kPoints; ++i) face.points[i] = {x + unit[i].x * side, y + unit[i].y * side};
  return face;
}

TEST(FaceAlignment, FindsEverySimilarity) {
  for (const Similarity truth : {Similarity{1, 0, 0, 0}, {0.3F, 0, 5, -7}, {0, 2, 100, 3}, {-1.5F, 0.7F, -30, 40}}) {
    Landmarks moved = AlignedPoints(256);
    for (Point& point : moved) point = truth(point);
    const Similarity found = FitSimilarity(AlignedPoints(256), moved);
    EXPECT_NEAR(found.a, truth.a, 1e-4);
    EXPECT_NEAR(found.b, truth.b, 1e-4);
    EXPECT_NEAR(found.x0, truth.x0, 1e-2);
    EXPECT_NEAR(found.y0, truth.y0, 1e-2);
    const Point back = truth.Inverse()(truth({17, 23}));
    EXPECT_NEAR(back.x, 17, 1e-3);
    EXPECT_NEAR(back.y, 23, 1e-3);
  }
}

TEST(FaceAlignment, IsTheLeastSquaresOne) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 6);
  const Landmarks from = AlignedPoints(256);
  Landmarks to = from;
  for (Point& point : to) point = {point.x + noise(random), point.y + noise(random)};
  const auto error = [&](const Similarity& s) {
    float sum = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const Point p = s(from[i]);
      sum += (p.x - to[i].x) * (p.x - to[i].x) + (p.y - to[i].y) * (p.y - to[i].y);
    }
    return sum;
  };
  const Similarity best = FitSimilarity(from, to);
  for (const float step : {-0.01F, 0.01F}) {
    EXPECT_LE(error(best), error({best.a + step, best.b, best.x0, best.y0}));
    EXPECT_LE(error(best), error({best.a, best.b + step, best.x0, best.y0}));
    EXPECT_LE(error(best), error({best.a, best.b, best.x0 + step * 10, best.y0}));
    EXPECT_LE(error(best), error({best.a, best.b, best.x0, best.y0 + step * 10}));
  }
}

TEST(FaceAlignment, SurvivesPointsThatCoincide) {
  Landmarks same;
  same.fill({7, 7});
  const Similarity fit = FitSimilarity(same, AlignedPoints(256));
  EXPECT_TRUE(std::isfinite(fit.x0) && std::isfinite(fit.a));
}

TEST(FaceMask, IsOneInTheMiddleAndZeroAtTheBorder) {
  EXPECT_EQ(MaskAt(0.5F, 0.5F), 1);
  for (float t = 0; t <= 1; t += 0.05F) {
    EXPECT_EQ(MaskAt(0, t), 0);
    EXPECT_EQ(MaskAt(t, 1), 0);
  }
  float last = 1;
  for (float x = 0.5F; x < 1; x += 0.002F) {
    EXPECT_LE(MaskAt(x, 0.5F), last);
    EXPECT_LT(last - MaskAt(x, 0.5F), 0.03F) << "a step at " << x;
    last = MaskAt(x, 0.5F);
  }
  for (const Point& point : AlignedPoints(1)) EXPECT_EQ(MaskAt(point.x, point.y), 1);
}

TEST(FaceSampling, ReproducesALinearPicture) {
  // A linear grey ramp with constant colour, so every way of sampling must give the same values.
  pixel::Image image(120, 80, {1, 1}, {});
  for (int y = 0; y < 80; ++y) {
    for (int x = 0; x < 120; ++x) image.plane(0).Row(y)[x] = static_cast<std::uint16_t>(16384 + 200 * x + 100 * y);
  }
  for (int p = 1; p < 3; ++p) {
    for (int y = 0; y < 40; ++y) std::fill_n(image.plane(p).Row(y), 60, std::uint16_t{32768});
  }
  const auto expected = [](float x, float y) { return (16384 + 200 * (x - 0.5F) + 100 * (y - 0.5F) - 4096) / 256 * 255 / 219; };
  for (const Similarity transform : {Similarity{1, 0, 20, 10}, {0.4F, 0.1F, 40, 30}, {2.6F, -0.3F, 20, 20}}) {
    RgbPicture out(24, 16);
    Sample(image, transform, false, out);
    for (int y = 0; y < 16; y += 5) {
      for (int x = 0; x < 24; x += 5) {
        const Point p = transform({static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F});
        if (p.x < 4 || p.y < 4 || p.x > 116 || p.y > 76) continue;
        for (const auto& plane : out.planes) EXPECT_NEAR(plane[static_cast<std::size_t>(y) * 24 + x], expected(p.x, p.y), 0.05F);
      }
    }
  }
  pixel::ThreadPool pool(2);
  RgbPicture half(60, 40);
  ReduceToRgb(image, half, pool);
  EXPECT_NEAR(half.planes[0][20 * 60 + 30], expected(61, 41), 0.05F);
  RgbPicture third(41, 27);
  Reduce(half, third, pool);
  EXPECT_NEAR(third.planes[1][13 * 41 + 20], expected(20.5F * 120 / 41, 13.5F * 80 / 27), 0.6F);
}

/// A colour that changes evenly across and down a source of half the size, with its chroma samples wherever a video may have them.
TEST(FaceSampling, FindsColoursWhereTheSourceHasThem) {
  using pixel::ChromaSite;
  const auto value = [](double x, double y) { return 20000 + 150 * x + 90 * y; };
  for (const ChromaSite site : {ChromaSite::kLeft, ChromaSite::kCentre, ChromaSite::kTopLeft, ChromaSite::kBottomRight}) {
    for (const int shift : {0, 1}) {
      const pixel::ColorSpec color{pixel::Matrix::kBt709, pixel::Range::kLimited, site, shift, shift};
      pixel::Image image(121, 81, {1, 1}, color);
      const pixel::SampleGrid across = pixel::HorizontalGrid(1, {1, 1}, color);
      const pixel::SampleGrid down = pixel::VerticalGrid(1, {1, 1}, color);
      for (int y = 0; y < 81; ++y) std::fill_n(image.plane(0).Row(y), 121, std::uint16_t{32768});
      for (int y = 0; y < image.plane(1).height; ++y) {
        for (int x = 0; x < image.plane(1).width; ++x) {
          image.plane(1).Row(y)[x] = image.plane(2).Row(y)[x] = static_cast<std::uint16_t>(std::lround(value(x * across.step + across.offset, y * down.step + down.offset)));
        }
      }
      const Similarity to_whole{2.3F, 0.2F, 60, 40};
      RgbPicture out(24, 16);
      SampleScaled(image, {242, 162}, to_whole, out);
      const Point p = to_whole({10.5F, 7.5F});
      const auto chroma = static_cast<float>(value(p.x / 2, p.y / 2));
      float expected[3] = {32768, chroma, chroma};
      RgbConversion(color).ToRgb(expected);
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(out.planes[i][7 * 24 + 10], expected[i], 0.05F) << static_cast<int>(site) << " " << shift;
    }
  }
}

TEST(FaceSampling, ColourDifferencesSurviveARoundTrip) {
  for (const pixel::Matrix matrix : {pixel::Matrix::kBt601, pixel::Matrix::kBt709, pixel::Matrix::kBt2020}) {
    for (const pixel::Range range : {pixel::Range::kLimited, pixel::Range::kFull}) {
      const RgbConversion conversion({matrix, range, pixel::ChromaSite::kLeft});
      const float from[3] = {30000, 30000, 36000};
      const float to[3] = {33000, 31000, 35000};
      float a[3] = {from[0], from[1], from[2]};
      float b[3] = {to[0], to[1], to[2]};
      conversion.ToRgb(a);
      conversion.ToRgb(b);
      for (int i = 0; i < 3; ++i) b[i] -= a[i];
      conversion.DifferenceToYcc(b);
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(b[i], to[i] - from[i], 1);
    }
  }
}

TEST(FaceHistory, SmoothsAStillFaceAndFollowsAMovingOne) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 1);
  double raw = 0;
  double smoothed = 0;
  FaceHistory history;
  Point last_raw;
  Point last_shown;
  for (int i = 0; i < 200; ++i) {
    Face face = MakeFace(100, 100, 120);
    for (Point& point : face.points) point = {point.x + noise(random), point.y + noise(random)};
    history.Add({face});
    const Point shown = history.Shown().at(0).points[0];
    if (i > 20) {
      raw += std::hypot(face.points[0].x - last_raw.x, face.points[0].y - last_raw.y);
      smoothed += std::hypot(shown.x - last_shown.x, shown.y - last_shown.y);
    }
    last_raw = face.points[0];
    last_shown = shown;
  }
  EXPECT_LT(smoothed, raw / 3);
  history.Forget();
  for (int i = 0; i < 30; ++i) {
    const Face face = MakeFace(100 + 6 * static_cast<float>(i), 100, 120);  // moves by a twentieth of its side per frame
    history.Add({face});
    EXPECT_LT(Distance(history.Shown().at(0).points, face.points), 0.03F * 120) << "a lag at frame " << i;
  }
}

TEST(FaceHistory, FadesFacesInAndOut) {
  const Face face = MakeFace(100, 100, 120);
  FaceHistory history;
  history.Add({});
  std::vector<float> presence;
  for (int i = 0; i < 8; ++i) {
    history.Add({face});
    presence.push_back(history.Shown().at(0).presence);
  }
  EXPECT_LT(presence[0], 0.6F);
  EXPECT_EQ(presence.back(), 1);
  for (int i = 0; i < kFade; ++i) {
    history.Add({});
    const auto shown = history.Shown();
    if (i + 1 < kFade) {
      ASSERT_EQ(shown.size(), 1U);
      EXPECT_NEAR(shown[0].presence, 1 - static_cast<float>(i + 1) / kFade, 1e-5);
    } else {
      EXPECT_TRUE(shown.empty());
    }
  }
  history.Forget();
  history.Add({face});
  EXPECT_EQ(history.Shown().at(0).presence, 1) << "faces must not fade in at the start of a scene";
}

TEST(FaceHistory, DependsOnItsLastFramesOnly) {
  const Face one = MakeFace(100, 100, 120);
  const Face other = MakeFace(400, 120, 80);
  FaceHistory with_past;
  with_past.Add({other});
  with_past.Add({one, other});
  FaceHistory without;
  for (int i = 0; i < kMemory; ++i) {
    const Face moved = MakeFace(100 + static_cast<float>(i), 100, 120);
    with_past.Add({moved});
    without.Add({moved});
  }
  const auto a = with_past.Shown();
  const auto b = without.Shown();
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(Distance(a[0].points, b[0].points), 0);
  EXPECT_EQ(a[0].presence, b[0].presence);
}

TEST(FaceHistory, KeepsNeighboursApart) {
  FaceHistory history;
  for (int i = 0; i < 10; ++i) {
    const float d = static_cast<float>(i);
    history.Add(i % 2 == 0 ? std::vector<Face>{MakeFace(100 + d, 100, 90), MakeFace(180 - d, 100, 90)}
                           : std::vector<Face>{MakeFace(180 - d, 100, 90), MakeFace(100 + d, 100, 90)});
  }
  const auto shown = history.Shown();
  ASSERT_EQ(shown.size(), 2U);
  for (const TrackedFace& face : shown) EXPECT_EQ(face.presence, 1);
  EXPECT_GT(Distance(shown[0].points, shown[1].points), 50);
}

}  // namespace
}  // namespace reelmend::faces
