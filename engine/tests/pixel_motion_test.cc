// The motion search of the temporal denoising: known motion, noise without motion, interpolation by a second implementation.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pixel/motion_field.h"
#include "pixel/motion_search.h"
#include "pixel/simd.h"
#include "pixel/stages.h"
#include "pixel/temporal_denoise.h"
#include "pixel_testing.h"

namespace reelmend::pixel {
namespace {

using testing::PictureSize;

constexpr PictureSize kSize = {256, 160};

struct Shift {
  double x;
  double y;
};

/// Texture without a period, level 0 in the mean.
double Texture(double x, double y) {
  double sum = 0;
  for (int k = 0; k < 12; ++k) {
    const double frequency = 0.06 + 0.07 * k;
    sum += std::sin(frequency * (x * std::cos(2.4 * k) + y * std::sin(2.4 * k)) + 1.7 * k * k) / (1 + 0.12 * k);
  }
  return 14 * sum;
}

/// Texture whose content has moved by `shift` luma samples to the right and down.
Image Film(Shift shift, PictureSize size = kSize, Subsampling subsampling = {1, 1}) {
  Image image(size.width, size.height, subsampling, {});
  testing::Fill(image, [&](int p, int column, int row) {
    const double x = (p == 0 ? column : column << subsampling.log2_x) - shift.x;
    const double y = (p == 0 ? row : row << subsampling.log2_y) - shift.y;
    return 256 * (128 + (p == 0 ? Texture(x, y) : 20 * std::sin(0.021 * x + 0.4) * std::cos(0.017 * y)));
  });
  return image;
}

/// A picture with the means that the search needs.
struct Searched {
  explicit Searched(Image made) : luma(std::move(made)), means(std::max(1, luma.width() / kMotionCell), std::max(1, luma.height() / kMotionCell), {1, 1}, {}) {
    if (luma.width() >= kMotionCell && luma.height() >= kMotionCell) WriteMotionMeans(luma.plane(0), means.plane(0), 0, means.height());
  }
  MotionPicture picture() const { return {luma.plane(0), means.plane(0)}; }

  Image luma;
  Image means;
};

/// Calls `check` with the position and the vectors of each block.
void ForEachBlock(const Searched& now, const std::array<const Searched*, kTemporalSteps>& older, int count,
                  const std::function<void(int, int, const MotionVectors&)>& check) {
  std::array<MotionPicture, kTemporalSteps> pictures;
  for (int i = 0; i < count; ++i) pictures[i] = older[i]->picture();
  for (int y = 0; y < now.luma.height(); y += kMotionBlock) {
    MotionVectors guess{};
    for (int x = 0; x < now.luma.width(); x += kMotionBlock) {
      const MotionVectors found = SearchMotion(now.picture(), pictures, count, x, y, guess).vectors;
      check(x, y, found);
      guess = found;
    }
  }
}

/// Whether the place that a block came from lies in the picture, with the window of the fit.
bool ComesFromInside(int x, int y, Shift shift) {
  const auto inside = [](double first, int size) { return first - kFitMargin - 2 >= 0 && first + kMotionBlock + kFitMargin + 2 <= size; };
  return inside(x, kSize.width) && inside(y, kSize.height) && inside(x - shift.x, kSize.width) && inside(y - shift.y, kSize.height);
}

TEST(MotionSearch, FindsFractionsOfASample) {
  const Searched now(Film({0, 0}));
  for (const Shift shift : {Shift{1, 0}, Shift{0.5, 0}, Shift{-0.25, 0.75}, Shift{7.3, -2.6}, Shift{-13.4, 9.9}, Shift{29.8, 0.1}, Shift{0, -30.6}}) {
    const Searched older(Film({-shift.x, -shift.y}));
    int blocks = 0;
    ForEachBlock(now, {&older}, 1, [&](int x, int y, const MotionVectors& vectors) {
      if (!ComesFromInside(x, y, shift)) return;
      ++blocks;
      EXPECT_NEAR(vectors[0].x, -shift.x * kMotionUnits, 2) << shift.x << ", " << shift.y << " at " << x << ", " << y;
      EXPECT_NEAR(vectors[0].y, -shift.y * kMotionUnits, 2) << shift.x << ", " << shift.y << " at " << x << ", " << y;
    });
    EXPECT_GT(blocks, 20);
  }
}

TEST(MotionSearch, LongerLagsGoOnFromTwiceTheMotion) {
  const Shift speed{9.25, -6.5};
  const Searched now(Film({0, 0}));
  const Searched first(Film({-speed.x, -speed.y}));
  const Searched second(Film({-2 * speed.x, -2 * speed.y}));
  const Searched third(Film({-4 * speed.x, -4 * speed.y}));
  int blocks = 0;
  ForEachBlock(now, {&first, &second, &third}, 3, [&](int x, int y, const MotionVectors& vectors) {
    if (!ComesFromInside(x, y, {4 * speed.x, 4 * speed.y})) return;
    ++blocks;
    for (int i = 0; i < kTemporalSteps; ++i) {
      EXPECT_NEAR(vectors[i].x, -speed.x * kTemporalLags[i] * kMotionUnits, 2) << i;
      EXPECT_NEAR(vectors[i].y, -speed.y * kTemporalLags[i] * kMotionUnits, 2) << i;
    }
  });
  EXPECT_GT(blocks, 10);
}

TEST(MotionSearch, NoiseDoesNotMoveAStillPicture) {
  for (const bool is_flat : {false, true}) {
    const Image clean = is_flat ? testing::Constant(kSize, {1, 1}, 120 * 256, 32768, 32768) : Film({0, 0});
    Image a = testing::Copy(clean);
    Image b = testing::Copy(clean);
    testing::AddNoise(a, 6, 1);
    testing::AddNoise(b, 6, 2);
    int blocks = 0;
    int moved = 0;
    const Searched older(std::move(b));
    ForEachBlock(Searched(std::move(a)), {&older}, 1, [&](int, int, const MotionVectors& vectors) {
      ++blocks;
      moved += vectors[0] == MotionVector{} ? 0 : 1;
    });
    EXPECT_LE(moved, is_flat ? blocks / 3 : 0) << "of " << blocks;  // without structure, a chance place may look better
  }
}

TEST(MotionSearch, SmallAndFirstPicturesHaveNoMotion) {
  const Searched small(Film({0, 0}, {31, 64}));
  const Searched moved(Film({3, 0}, {31, 64}));
  ForEachBlock(small, {&moved}, 1, [](int, int, const MotionVectors& vectors) { EXPECT_EQ(vectors, MotionVectors{}); });
  ForEachBlock(Searched(Film({0, 0})), {}, 0, [](int, int, const MotionVectors& vectors) { EXPECT_EQ(vectors, MotionVectors{}); });
}

/// The search as its note defines it, sample by sample: a second implementation.
class Definition {
 public:
  Definition(const MotionPicture& now, const MotionPicture& older, int x, int y)
      : now_(now), older_(older), x_(std::min(x, now.luma.width - kMotionBlock)), y_(std::min(y, now.luma.height - kMotionBlock)) {}

  /// For the lag of one picture, without `before`; for a longer one, with the vector of the lag before.
  MotionVector Find(const MotionVector* before) {
    const Tried still{0, 0, Sad(now_.luma, older_.luma, {x_, y_}, {0, 0}, kMotionBlock, kBlockSadShift)};
    if (still.sad <= kStillSad) return {};
    const Tried coarse = before == nullptr ? Coarse({0, 0}, kMotionReach)
                                           : Coarse({TwiceInMeans(before->x), TwiceInMeans(before->y)}, kMotionReachLongLag);
    Tried best = still;
    Try(coarse.x * kMotionCell, coarse.y * kMotionCell, best);
    for (const int distance : {2, 1}) {
      const Tried centre = best;
      for (int i = 0; i < 9; ++i) Try(centre.x + (i % 3 - 1) * distance, centre.y + (i / 3 - 1) * distance, best);
    }
    return Fit({static_cast<std::int16_t>(best.x * kMotionUnits), static_cast<std::int16_t>(best.y * kMotionUnits)});
  }
  bool IsStill() const { return Sad(now_.luma, older_.luma, {x_, y_}, {0, 0}, kMotionBlock, kBlockSadShift) <= kStillSad; }
  std::uint32_t ErrorAt(MotionVector vector) const { return SumsAt(vector).error; }

 private:
  struct Tried {
    int x;
    int y;
    unsigned sad;
  };
  struct Place {
    int x;
    int y;
  };

  static bool IsInside(ConstPlane plane, Place first, int side) {
    return first.x >= 0 && first.y >= 0 && first.x + side <= plane.width && first.y + side <= plane.height;
  }
  static unsigned Sad(ConstPlane a, ConstPlane b, Place at, Place displacement, int side, int shift) {
    unsigned sum = 0;
    for (int i = 0; i < side * side; ++i) {
      const int x = at.x + i % side;
      const int y = at.y + i / side;
      sum += static_cast<unsigned>(std::abs(a.Row(y)[x] - b.Row(y + displacement.y)[x + displacement.x])) >> shift;
    }
    return sum;
  }

  Tried Coarse(Place centre, int reach) const {
    constexpr int kMargin = (kMotionWindow * kMotionCell - kMotionBlock) / 2;
    const Place at{std::clamp((x_ - kMargin) / kMotionCell, 0, now_.means.width - kMotionWindow),
                   std::clamp((y_ - kMargin) / kMotionCell, 0, now_.means.height - kMotionWindow)};
    Tried best{0, 0, Sad(now_.means, older_.means, at, {0, 0}, kMotionWindow, kWindowSadShift)};
    const auto try_at = [&](int dx, int dy) {
      if (!IsInside(older_.means, {at.x + dx, at.y + dy}, kMotionWindow)) return;
      const unsigned sad = Sad(now_.means, older_.means, at, {dx, dy}, kMotionWindow, kWindowSadShift);
      if (sad < best.sad) best = {dx, dy, sad};
    };
    try_at(centre.x, centre.y);
    for (int dy = -reach; dy <= reach; ++dy) {
      for (int dx = -reach; dx <= reach; ++dx) try_at(centre.x + dx, centre.y + dy);
    }
    return best;
  }

  void Try(int dx, int dy, Tried& best) const {
    if (!IsInside(older_.luma, {x_ + dx, y_ + dy}, kMotionBlock)) return;
    const unsigned sad = Sad(now_.luma, older_.luma, {x_, y_}, {dx, dy}, kMotionBlock, kBlockSadShift);
    if (sad < best.sad) best = {dx, dy, sad};
  }

  int Displaced(int x, int y, MotionVector vector) const {
    const auto sample = [&](int i, int j) {
      return older_.luma.Row(std::clamp(j, 0, older_.luma.height - 1))[std::clamp(i, 0, older_.luma.width - 1)] >> kFitShift;
    };
    int sum = 1 << (2 * kFitWeightBits - 1);
    for (int j = 0; j < kMotionTaps; ++j) {
      for (int i = 0; i < kMotionTaps; ++i) {
        const int weight = FitWeight(vector.x & (kMotionUnits - 1), i) * FitWeight(vector.y & (kMotionUnits - 1), j);
        sum += weight * sample(x + (vector.x >> kMotionUnitBits) + i - 1, y + (vector.y >> kMotionUnitBits) + j - 1);
      }
    }
    return std::clamp(sum >> (2 * kFitWeightBits), 0, kFitPeak);
  }

  FitSums SumsAt(MotionVector vector) const {
    const int left = std::clamp(x_ - kFitMargin, 1, now_.luma.width - kFitSide - 1);
    const int top = std::clamp(y_ - kFitMargin, 1, now_.luma.height - kFitSide - 1);
    FitSums sums{};
    for (int i = 0; i < kFitArea; ++i) {
      const int x = left + i % kFitSide;
      const int y = top + i / kFitSide;
      const std::uint16_t* sample = now_.luma.Row(y) + x;
      const int across = (sample[1] - sample[-1]) >> (kFitShift + 1);
      const int down = (sample[now_.luma.stride] - sample[-now_.luma.stride]) >> (kFitShift + 1);
      const int residue = (*sample >> kFitShift) - Displaced(x, y, vector);
      sums.xx += across * across;
      sums.xy += across * down;
      sums.yy += down * down;
      sums.xr += residue * across;
      sums.yr += residue * down;
      sums.error += static_cast<std::uint32_t>(residue * residue);
    }
    return sums;
  }

  MotionVector Fit(MotionVector best) const {
    FitSums sums = SumsAt(best);
    for (int i = 0; i < kFitSteps; ++i) {
      const MotionVector step = FitStep(sums);
      const MotionVector next{static_cast<std::int16_t>(best.x + step.x), static_cast<std::int16_t>(best.y + step.y)};
      const FitSums then = SumsAt(next);
      if (then.error >= sums.error) break;
      best = next;
      sums = then;
    }
    return IsClearlyBetter(sums.error, SumsAt({}).error) ? best : MotionVector{};
  }

  MotionPicture now_;
  MotionPicture older_;
  int x_;
  int y_;
};

/// Noisy pictures of a film: now, and as long ago as each lag.
struct NoisyFilm {
  /// `make`: the picture at a time (in pictures; now is 0), with the noise of a seed.
  explicit NoisyFilm(const std::function<Image(double pictures, unsigned seed)>& make) : now(make(0, 1)) {
    for (unsigned i = 0; i < older.size(); ++i) older[i].emplace(make(-kTemporalLags[i], 2 + i));
  }
  NoisyFilm(Shift speed, PictureSize size)
      : NoisyFilm([&](double pictures, unsigned seed) {
          Image image = Film({speed.x * pictures, speed.y * pictures}, size);
          testing::AddNoise(image, 5, seed);
          return image;
        }) {}
  void ForEach(const std::function<void(int, int, const MotionVectors&)>& check) const {
    ForEachBlock(now, {&*older[0], &*older[1], &*older[2]}, kTemporalSteps, check);
  }

  Searched now;
  std::array<std::optional<Searched>, kTemporalSteps> older;
};

TEST(MotionSearch, FollowsItsDefinition) {
  int moved = 0;
  for (const Shift speed : {Shift{0.3, 0.1}, Shift{3, -2}, Shift{-18.4, 11.7}, Shift{31.2, 30.9}}) {
    for (const PictureSize size : {PictureSize{171, 93}, PictureSize{32, 32}}) {
      const NoisyFilm film(speed, size);
      film.ForEach([&](int x, int y, const MotionVectors& vectors) {
        MotionVectors expected{};
        for (int i = 0; i < kTemporalSteps; ++i) {
          expected[i] = Definition(film.now.picture(), film.older[i]->picture(), x, y).Find(i == 0 ? nullptr : &expected[i - 1]);
          moved += expected[i] == MotionVector{} ? 0 : 1;
        }
        EXPECT_EQ(vectors, expected) << speed.x << ", " << speed.y << " at " << x << ", " << y;
      });
    }
  }
  EXPECT_GT(moved, 400);
}

TEST(MotionSearch, AllInstructionSetsFindTheSameVectors) {
  for (const Shift speed : {Shift{-2.7, -1.3}, Shift{14.2, 5.5}}) {
    const NoisyFilm film(speed, {171, 93});
    const auto find = [&] {
      std::vector<MotionVectors> found;
      film.ForEach([&](int, int, const MotionVectors& vectors) { found.push_back(vectors); });
      return found;
    };
    const std::vector<MotionVectors> expected = find();
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
      hwy::SetSupportedTargetsForTest(left);  // the lowest bit is the best target
      hwy::GetChosenTarget().Update(left);
      EXPECT_EQ(find(), expected) << SimdTarget();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

/// The vectors of all blocks, row by row, as a MotionField finds them.
std::vector<MotionVectors> FieldOf(const NoisyFilm& film) {
  const Image& luma = film.now.luma;
  MotionField field(luma.width(), luma.height());
  ThreadPool pool(2);
  field.Find(film.now.picture(), {film.older[0]->picture(), film.older[1]->picture(), film.older[2]->picture()}, kTemporalSteps, pool);
  std::vector<MotionVectors> vectors;
  for (int row = 0; row < field.rows(); ++row) {
    for (int column = 0; column < field.columns(); ++column) vectors.push_back(field.Row(row)[column].vectors);
  }
  return vectors;
}

/// What FieldOf must find, by the definition of Note [Global motion].
std::vector<MotionVectors> DefinedField(const NoisyFilm& film) {
  std::vector<MotionVectors> own;
  std::vector<std::pair<int, int>> places;
  film.ForEach([&](int x, int y, const MotionVectors& vectors) {
    own.push_back(vectors);
    places.emplace_back(x, y);
  });
  std::vector<MotionVectors> made = own;
  for (int step = 0; step < kTemporalSteps; ++step) {
    std::vector<std::int16_t> x;
    std::vector<std::int16_t> y;
    for (const MotionVectors& v : own) {
      if (v[step] == MotionVector{}) continue;
      x.push_back(v[step].x);
      y.push_back(v[step].y);
    }
    if (x.empty()) continue;
    std::ranges::sort(x);
    std::ranges::sort(y);
    const MotionVector global{x[x.size() / 2], y[y.size() / 2]};
    std::size_t near = 0;
    for (const MotionVectors& v : own) {
      const bool is_near = std::abs(v[step].x - global.x) <= kMotionUnits && std::abs(v[step].y - global.y) <= kMotionUnits;
      near += v[step] != MotionVector{} && is_near ? 1 : 0;
    }
    if (near * 8 < own.size()) continue;
    const auto is_better = [](std::uint32_t a, std::uint32_t b) { return a < b - b / 4; };
    int votes = 0;
    for (const bool counts : {true, false}) {
      if (!counts && votes <= 0) break;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const Definition block(film.now.picture(), film.older[step]->picture(), places[i].first, places[i].second);
        if (block.IsStill()) continue;
        const std::uint32_t along = block.ErrorAt(global);
        const std::uint32_t none = block.ErrorAt({});
        if (counts) {
          votes += is_better(along, none) ? 1 : is_better(none, along) ? -1 : 0;
        } else if (!is_better(block.ErrorAt(own[i][step]), along)) {
          made[i][step] = global;
        }
      }
    }
  }
  return made;
}

/// Texture with a square that may move on its own; on the right no structure, at the bottom a bar without noise.
struct ObjectFilm {
  Shift camera;
  Shift object;

  NoisyFilm Make() const {
    return NoisyFilm([&](double pictures, unsigned seed) {
      Image image(kWidth, kHeight, {1, 1}, {});
      testing::Fill(image, [&](int p, int x, int y) {
        if (p > 0) return 32768.0;
        const Shift at = IsObject(x, y, 0) ? object : camera;
        return 256 * (x >= kFlatFrom ? 128 : 128 + Texture(x - pictures * at.x, y - pictures * at.y));
      });
      testing::AddNoise(image, 5, seed);
      for (int y = kBarFrom; y < kHeight; ++y) std::fill_n(image.plane(0).Row(y), kWidth, std::uint16_t{16 * 256});
      return image;
    });
  }
  /// `margin`: samples around the square that count, too.
  static bool IsObject(int x, int y, int margin) { return x >= 16 - margin && x < 144 + margin && y >= 32 - margin && y < 160 + margin; }

  static constexpr int kWidth = 448;
  static constexpr int kHeight = 224;
  static constexpr int kFlatFrom = 256;
  static constexpr int kBarFrom = 208;
};

/// The shares of blocks with nearly this motion for the lag of one picture. Blocks beside another part do not count.
struct Shares {
  double flat = 0;
  double object = 0;
  double around = 0;
};

Shares SharesOf(const std::vector<MotionVectors>& vectors, Shift flat, Shift object, Shift around) {
  using F = ObjectFilm;
  Shares hits;
  Shares all;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const int x = static_cast<int>(i) % (F::kWidth / kMotionBlock) * kMotionBlock;
    const int y = static_cast<int>(i) / (F::kWidth / kMotionBlock) * kMotionBlock;
    if (x < 16 || y < 16 || x > F::kWidth - 32 || y > F::kBarFrom - 32 || std::abs(x + 8 - F::kFlatFrom) < 32) continue;
    const bool is_object = F::IsObject(x - 16, y - 16, 0) && F::IsObject(x + 16, y + 16, 0);
    if (!is_object && F::IsObject(x, y, 32)) continue;
    double Shares::*part = x >= F::kFlatFrom ? &Shares::flat : is_object ? &Shares::object : &Shares::around;
    const Shift expected = x >= F::kFlatFrom ? flat : is_object ? object : around;
    hits.*part += std::hypot(vectors[i][0].x / 16.0 + expected.x, vectors[i][0].y / 16.0 + expected.y) < 0.5 ? 1 : 0;
    all.*part += 1;
  }
  return {hits.flat / all.flat, hits.object / all.object, hits.around / all.around};
}

TEST(MotionField, FollowsItsDefinition) {
  for (const ObjectFilm& film : {ObjectFilm{{2.6, -1.2}, {-3, 4}}, ObjectFilm{{0, 0}, {-3, 4}}, ObjectFilm{{-0.5, 6}, {-0.5, 6}}}) {
    const NoisyFilm made = film.Make();
    EXPECT_EQ(FieldOf(made), DefinedField(made)) << film.camera.x << ", " << film.object.x;
  }
  for (const Shift speed : {Shift{0.3, 0.1}, Shift{3, -2}, Shift{-9.4, 5.7}, Shift{0, 0}}) {
    for (const PictureSize size : {PictureSize{171, 93}, PictureSize{32, 32}}) {
      const NoisyFilm film(speed, size);
      EXPECT_EQ(FieldOf(film), DefinedField(film)) << speed.x << ", " << speed.y << ", " << size.width;
    }
  }
}

TEST(MotionField, BlocksWithoutStructureFollowTheCamera) {
  const Shift pan{2.6, -1.2};
  const NoisyFilm film = ObjectFilm{pan, pan}.Make();
  std::vector<MotionVectors> own;
  film.ForEach([&](int, int, const MotionVectors& vectors) { own.push_back(vectors); });
  EXPECT_LT(SharesOf(own, pan, pan, pan).flat, 0.3);
  const Shares shares = SharesOf(FieldOf(film), pan, pan, pan);
  EXPECT_GT(shares.flat, 0.9);
  EXPECT_EQ(shares.around, 1);
}

TEST(MotionField, AnObjectKeepsItsOwnMotion) {
  const Shift pan{2.6, -1.2};
  const Shift object{-3, 4};
  const Shares shares = SharesOf(FieldOf(ObjectFilm{pan, object}.Make()), pan, object, pan);
  EXPECT_EQ(shares.object, 1);
  EXPECT_EQ(shares.around, 1);
}

TEST(MotionField, AStillCameraIsNotMovedByAnObject) {
  const Shift object{-3, 4};
  const Shares shares = SharesOf(FieldOf(ObjectFilm{{0, 0}, object}.Make()), {0, 0}, object, {0, 0});
  EXPECT_EQ(shares.object, 1);
  EXPECT_EQ(shares.around, 1);
  EXPECT_GT(shares.flat, 0.5);
}

TEST(MotionField, NoiseIsNoGlobalMotion) {
  const NoisyFilm film([](double, unsigned seed) {
    Image image = testing::Constant(kSize, {1, 1}, 120 * 256, 32768, 32768);
    testing::AddNoise(image, 6, seed);
    return image;
  });
  std::vector<MotionVectors> own;
  film.ForEach([&](int, int, const MotionVectors& vectors) { own.push_back(vectors); });
  EXPECT_EQ(FieldOf(film), own);
}

/// Catmull-Rom by its definition (Keys 1981), with repeated edges.
double Interpolated(ConstPlane plane, double x, double y) {
  const auto kernel = [](double t) {
    t = std::abs(t);
    if (t < 1) return 1.5 * t * t * t - 2.5 * t * t + 1;
    return t < 2 ? -0.5 * t * t * t + 2.5 * t * t - 4 * t + 2 : 0;
  };
  double sum = 0;
  for (int j = static_cast<int>(std::floor(y)) - 1; j <= std::floor(y) + 2; ++j) {
    for (int i = static_cast<int>(std::floor(x)) - 1; i <= std::floor(x) + 2; ++i) {
      sum += kernel(x - i) * kernel(y - j) * plane.Row(std::clamp(j, 0, plane.height - 1))[std::clamp(i, 0, plane.width - 1)];
    }
  }
  return std::clamp(sum, 0.0, 65535.0);
}

TEST(MotionSearch, CompensationFollowsTheDefinitionAtAllFractionsAndEdges) {
  for (const Subsampling subsampling : {Subsampling{0, 0}, Subsampling{1, 0}, Subsampling{1, 1}}) {
    const Image image = testing::RandomPicture({67, 41}, {0, 0}, 3);
    const ConstPlane plane = image.plane(0);
    Image out(64, kMotionBlock, {0, 0}, {});
    for (int i = 0; i < 200; ++i) {
      const MotionVector vector{static_cast<std::int16_t>((i * 37) % 1200 - 600), static_cast<std::int16_t>((i * 53) % 900 - 450)};
      const BlockArea area{(i * 5) % 52, (i * 3) % 26, kMotionBlock - i % 3, kMotionBlock - i % 4};
      CompensateBlock(plane, area, vector, subsampling, out.plane(0).data, out.plane(0).stride);
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          const double dx = std::floor(vector.x * 2.0 / (1 << subsampling.log2_x)) / kMotionPhases;
          const double dy = std::floor(vector.y * 2.0 / (1 << subsampling.log2_y)) / kMotionPhases;
          EXPECT_NEAR(out.plane(0).Row(y)[x], Interpolated(plane, area.x + x + dx, area.y + y + dy), 1);
        }
      }
    }
  }
}

/// Luma away from the edges, where all content has been in the pictures before.
ConstPlane Inside(const Image& image, int margin) {
  const ConstPlane plane = image.plane(0);
  return {plane.Row(margin) + margin, plane.stride, plane.width - 2 * margin, plane.height - 2 * margin};
}

/// How much closer to the clean film the last of ten noisy pictures has come, dB of luma.
double GainOnAFilm(double sigma, const std::function<Image(int)>& picture) {
  ThreadPool pool(2);
  TemporalDenoiser denoiser(kSize.width, kSize.height, {1, 1});
  Image out(kSize.width, kSize.height, {1, 1}, {});
  double gain = 0;
  for (int i = 0; i < 10; ++i) {
    const Image clean = picture(i);
    Image noisy = testing::Copy(clean);
    if (sigma > 0) testing::AddNoise(noisy, sigma, static_cast<unsigned>(i));
    denoiser.Run(noisy, out, 1, static_cast<float>(std::max(sigma, 1.0)), pool);
    gain = testing::Psnr(Inside(out, 36), Inside(clean, 36)) - (sigma > 0 ? testing::Psnr(Inside(noisy, 36), Inside(clean, 36)) : 0);
  }
  return gain;
}

TEST(TemporalDenoise, GainsOnAPanAsOnAStillScene) {
  for (const Shift speed : {Shift{2, 0}, Shift{1.37, -0.61}, Shift{-11.8, 3.2}}) {
    EXPECT_GT(GainOnAFilm(5, [&](int i) { return Film({speed.x * i, speed.y * i}); }), 6) << speed.x;
  }
}

TEST(TemporalDenoise, GainsOnAZoom) {
  const auto zoom = [](int i) {
    const double scale = 1 + 0.01 * i;
    Image image(kSize.width, kSize.height, {1, 1}, {});
    testing::Fill(image, [&](int p, int column, int row) {
      const double x = ((p == 0 ? column : 2 * column) - 128) / scale;
      const double y = ((p == 0 ? row : 2 * row) - 80) / scale;
      return 256 * (128 + Texture(x, y));
    });
    return image;
  };
  EXPECT_GT(GainOnAFilm(5, zoom), 3);
}

TEST(TemporalDenoise, ACleanPanStaysSharp) {
  // Interpolation softens; on this texture by less than a coder of high quality does.
  EXPECT_GT(GainOnAFilm(0, [](int i) { return Film({1.37 * i, -0.61 * i}); }), 44);
}

}  // namespace
}  // namespace reelmend::pixel
