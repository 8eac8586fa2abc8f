// Unit tests of plan and run: sizes, strengths, queue, progress, statistics.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <system_error>
#include <thread>

#include "plan/orient.h"
#include "plan/picture_stats.h"
#include "plan/plan.h"
#include "plan/segment_cuts.h"
#include "reelmend/device.h"
#include "reelmend/error.h"
#include "run/bounded_queue.h"
#include "run/deferred_destruction.h"
#include "run/progress_meter.h"
#include "run/run_source.h"

namespace reelmend::run {
namespace {

using namespace std::chrono_literals;

struct FitCase {
  Size source;
  Target target;
  Size expected;
};

TEST(FitTarget, FitsTheBoxAndKeepsTheShape) {
  const FitCase cases[] = {
      {{1280, 720}, Target::k1080p, {1920, 1080}},  {{720, 1280}, Target::k1080p, {1080, 1920}},
      {{640, 480}, Target::k1080p, {1440, 1080}},   {{1280, 544}, Target::k1080p, {1920, 816}},
      {{3840, 2160}, Target::k1080p, {1920, 1080}}, {{960, 540}, Target::k4k, {3840, 2160}},
      {{1080, 1080}, Target::k1080p, {1080, 1080}}, {{161, 121}, Target::kSource, {162, 122}},
      {{1, 1}, Target::kSource, {2, 2}},            {{8192, 2}, Target::k1080p, {1920, 2}},
      {{1920, 1080}, Target::kSource, {1920, 1080}}};
  for (const FitCase& c : cases) {
    const Size out = FitTarget(c.source, c.target);
    EXPECT_EQ(out.width, c.expected.width) << c.source.width << "x" << c.source.height;
    EXPECT_EQ(out.height, c.expected.height) << c.source.width << "x" << c.source.height;
  }
}

TEST(FitTarget, IsAlwaysEvenAndInsideTheBox) {
  for (int width = 1; width < 5000; width += 37) {
    for (int height = 1; height < 5000; height += 41) {
      for (const Target target : {Target::k1080p, Target::k4k}) {
        const Size out = FitTarget({width, height}, target);
        const int longer = target == Target::k4k ? 3840 : 1920;
        const int shorter = target == Target::k4k ? 2160 : 1080;
        EXPECT_TRUE(out.width % 2 == 0 && out.height % 2 == 0 && out.width >= 2 && out.height >= 2);
        EXPECT_LE(std::max(out.width, out.height), longer);
        EXPECT_LE(std::min(out.width, out.height), shorter);
        EXPECT_EQ(height > width, out.height > out.width || (height > width && out.height == out.width));
      }
    }
  }
}

plan::SourceTraits Traits(float noise, pixel::Levels levels = {}, float compression_error = 0) {
  return {noise, {levels, 0}, compression_error};
}

TEST(ChooseStrengths, LeavesACleanSourceAlone) {
  const plan::Strengths s = plan::ChooseStrengths({}, Traits(0.5F), 1.0);
  EXPECT_EQ(s.denoise, 0);
  EXPECT_EQ(s.sharpen, 0);
  EXPECT_EQ(s.adaptive_contrast, 0);
  EXPECT_EQ(s.face_restoration, 0);
}

TEST(ChooseStrengths, FollowsNoiseAndScale) {
  EXPECT_GT(plan::ChooseStrengths({}, Traits(6), 1).denoise, 0.3F);
  EXPECT_LE(plan::ChooseStrengths({}, Traits(60), 1).denoise, 0.6F);
  EXPECT_GT(plan::ChooseStrengths({}, Traits(0), 2).sharpen, 0.1F);
  EXPECT_LT(plan::ChooseStrengths({}, Traits(6), 2).sharpen, plan::ChooseStrengths({}, Traits(0), 2).sharpen);
}

float ContrastFor(pixel::Levels levels, float noise = 0, float compression_error = 0) {
  return plan::ChooseStrengths({}, Traits(noise, levels, compression_error), 1).adaptive_contrast;
}

TEST(ChooseStrengths, ContrastIsForFlatPicturesOnly) {
  struct Case {
    const char* name;
    pixel::Levels levels;
  };
  for (const Case& c : {Case{"well exposed", {0.01F, 0.98F}}, {"a night with lamps", {0, 0.97F}}, {"a night", {0, 0.3F}},
                        {"a document", {0.6F, 1}}, {"a title", {0, 1}}, {"blank", {0.5F, 0.5F}}, {"soft", {0.1F, 0.85F}}}) {
    EXPECT_EQ(ContrastFor(c.levels), 0) << c.name;
  }
  EXPECT_FLOAT_EQ(ContrastFor({0.30F, 0.72F}), 0.5F) << "42 % of the range";
  float last = 0.5F;
  for (float used = 0.42F; used < 0.8F; used += 0.01F) {
    const float strength = ContrastFor({0.5F - used / 2, 0.5F + used / 2});
    EXPECT_LE(strength, last);
    EXPECT_GE(strength, last - 0.05F) << "the strength must change gradually";
    last = strength;
  }
  EXPECT_EQ(last, 0);
}

TEST(ChooseStrengths, ContrastDoesNotRaiseWhatIsMostlyNoise) {
  float last = 1;
  for (const float error : {2.0F, 5.0F, 7.0F, 9.0F, 12.0F, 16.0F}) {
    EXPECT_LE(ContrastFor({0.30F, 0.72F}, error), last);
    EXPECT_EQ(ContrastFor({0.30F, 0.72F}, error), ContrastFor({0.30F, 0.72F}, 0, error));
    last = ContrastFor({0.30F, 0.72F}, error);
  }
  EXPECT_EQ(last, 0);
  EXPECT_FLOAT_EQ(ContrastFor({0.30F, 0.72F}, 5), 0.5F);
}

TEST(ChooseLevelLift, FollowsTheStrengthThatWasAskedFor) {
  const plan::SourceTraits flat = Traits(0, {0.30F, 0.72F});
  const auto amount = [&](Strength strength, const plan::SourceTraits& traits) {
    EnhanceOptions options;
    options.adaptive_contrast = strength;
    return plan::ChooseLevelLift(options, traits, plan::ChooseStrengths(options, traits, 1).adaptive_contrast).amount;
  };
  EXPECT_EQ(amount({Strength::Mode::kAuto, 0}, flat), 1);
  EXPECT_EQ(amount({Strength::Mode::kOff, 0}, flat), 0);
  EXPECT_FLOAT_EQ(amount({Strength::Mode::kFixed, 0.25F}, flat), 0.5F);
  EXPECT_EQ(amount({Strength::Mode::kFixed, 1}, flat), 1);
  EXPECT_EQ(amount({Strength::Mode::kFixed, 1}, Traits(0)), 0) << "the levels are good, so only the local contrast is enhanced";
}

TEST(ChooseStrengths, TakesFixedAndOffAsTheyAre) {
  EnhanceOptions options;
  options.denoise = {Strength::Mode::kFixed, 0.7F};
  options.sharpen = {Strength::Mode::kOff, 0.7F};
  const plan::Strengths s = plan::ChooseStrengths(options, Traits(60), 3);
  EXPECT_FLOAT_EQ(s.denoise, 0.7F);
  EXPECT_EQ(s.sharpen, 0);
}

TEST(CheckOptions, RefusesWhatIsOutOfRange) {
  const auto code = [](const EnhanceOptions& options) {
    try {
      plan::CheckOptions(options);
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code()));
    }
    return std::string("none");
  };
  EnhanceOptions good;
  good.model = "none";
  good.device = "cpu";
  EXPECT_EQ(code(good), "none");
  EnhanceOptions options;
  options.denoise = {Strength::Mode::kFixed, 1.5F};
  EXPECT_EQ(code(options), "invalid_argument");
  options = {};
  options.model = "dream";
  EXPECT_EQ(code(options), "invalid_argument");
  options = {};
  for (const char* device : {"toaster", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "CUDA:0"}) {
    options.device = device;
    EXPECT_EQ(code(options), "invalid_argument") << device;
  }
  options = {};
  options.segment = Segment{2, 1, 0};
  EXPECT_EQ(code(options), "invalid_argument");
  options.segment = Segment{0, 1, -1};
  EXPECT_EQ(code(options), "invalid_argument");
  options = {};
  options.threads = -1;
  EXPECT_EQ(code(options), "invalid_argument");
}

TEST(ChooseCuts, KeepsTheLongestLengthUnlessFramesAreFew) {
  constexpr AVRational kMilliseconds{1, 1000};
  constexpr std::int64_t kFewestFrames = 32;
  for (const std::int64_t interval : {5000, 2000, 1000, 500, 40}) {
    for (const std::int64_t keys_apart : {1, 7, 250, 100'000}) {
      for (const double wanted_s : {20, 40, 50, 200}) {
        SCOPED_TRACE(testing::Message() << interval << " ms, a key frame in " << keys_apart << ", wanted " << wanted_s);
        media::FrameIndex index;
        for (std::int64_t frame = 0; frame < 3600; ++frame) {
          index.times.push_back(frame * interval);
          if (frame % keys_apart == 0) index.keys.push_back(frame * interval);
        }
        const SegmentLengths lengths{.shortest_s = 10, .wanted_s = wanted_s, .longest_s = 60};
        const auto cuts = plan::ChooseCuts(index, kMilliseconds, kMilliseconds, lengths);
        ASSERT_GE(cuts.size(), 2U);
        for (const plan::SegmentCut& cut : cuts) {
          const double seconds = static_cast<double>(cut.frames * interval) / 1000;
          EXPECT_GE(seconds, lengths.shortest_s);
          EXPECT_GE(cut.frames, kFewestFrames);
          if (cut.frames >= 2 * kFewestFrames) {
            EXPECT_LE(seconds, lengths.longest_s);
          }
        }
      }
    }
  }
}

TEST(ChooseCuts, LeaveAVideoOfFewFramesWhole) {
  for (const std::int64_t frames : {1, 2, 63}) {
    media::FrameIndex index;
    // At its exact size: AddressSanitizer sees a read before its first element.
    index.times = std::vector<std::int64_t>(static_cast<std::size_t>(frames));
    for (std::int64_t frame = 0; frame < frames; ++frame) index.times[static_cast<std::size_t>(frame)] = frame * 60'000;
    index.keys = index.times;
    const SegmentLengths lengths{.shortest_s = 10, .wanted_s = 20, .longest_s = 60};
    EXPECT_EQ(plan::ChooseCuts(index, {1, 1000}, {1, 1000}, lengths).size(), 1U) << frames;
  }
}

TEST(BoundedQueue, KeepsOrderAndBound) {
  BoundedQueue<int> queue(2);
  std::stop_source stop;
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) queue.Push(i, stop.get_token());
    queue.Close();
  });
  int expected = 0;
  while (const auto item = queue.Pop(stop.get_token())) EXPECT_EQ(*item, expected++);
  EXPECT_EQ(expected, 1000);
  producer.join();
}

/// Time from the stop request until two threads that wait in queues have ended.
std::chrono::steady_clock::duration WakingTime() {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  std::stop_source stop;
  full.Push(1, stop.get_token());
  std::thread reader([&] { EXPECT_FALSE(empty.Pop(stop.get_token())); });
  std::thread writer([&] { EXPECT_FALSE(full.Push(2, stop.get_token())); });
  std::this_thread::sleep_for(20ms);
  const auto start = std::chrono::steady_clock::now();
  stop.request_stop();
  reader.join();
  writer.join();
  return std::chrono::steady_clock::now() - start;
}

TEST(BoundedQueue, WakesWaitersWhenStopped) {
  std::chrono::steady_clock::duration best = 1h;
  // The best of several attempts, because the machine may be busy.
  for (int attempt = 0; attempt < 6 && best >= 100ms; ++attempt) best = std::min(best, WakingTime());
  EXPECT_LT(best, 100ms);
}

/// A source that counts its calls.
class CountingSource : public ByteSource {
 public:
  explicit CountingSource(int& calls) : calls_(calls) {}
  std::int64_t size() const override { return ++calls_, 1234; }
  std::size_t Read(std::int64_t, std::uint8_t*, std::size_t) override { return ++calls_, 0; }

 private:
  int& calls_;
};

TEST(RunSource, LeavesTheCallersSourceAloneOnceItIsClosed) {
  int calls = 0;
  CountingSource callers(calls);
  RunSource source(callers);
  source.Open();
  source.Close();
  calls = 0;  // from now on the caller may destroy its source
  EXPECT_EQ(source.size(), 1234) << "libav calls size() at every seek";
  std::uint8_t byte = 0;
  EXPECT_THROW(source.Read(0, &byte, 1), Error);
  EXPECT_EQ(calls, 0);
}

TEST(ProgressMeter, RisesAndEstimates) {
  const auto start = ProgressMeter::Clock::now();
  ProgressMeter meter(10, start);
  const Progress first = meter.Update(0, 0, start);
  EXPECT_EQ(first.fraction, 0);
  EXPECT_LT(first.eta_s, 0);
  const Progress later = meter.Update(50, 2, start + 2s);
  EXPECT_NEAR(later.fraction, 0.2, 1e-9);
  EXPECT_NEAR(later.frames_per_second, 25, 0.1);
  EXPECT_NEAR(later.eta_s, 8, 0.1);
  EXPECT_NEAR(meter.Update(51, 1, start + 3s).fraction, 0.2, 1e-9) << "the progress must not fall";
  EXPECT_LT(meter.Update(300, 12, start + 4s).fraction, 1);
}

/// A linear chroma ramp across and down the picture, sampled at the positions of `site`.
pixel::Image ChromaRamp(int width, int height, pixel::ChromaSite site, const std::array<double, 2>& slope) {
  pixel::Image image(width, height, {1, 1}, {pixel::Matrix::kBt709, pixel::Range::kLimited, site});
  const double x0 = site == pixel::ChromaSite::kCentre ? 1.0 : 0.5;
  const double y0 = site == pixel::ChromaSite::kTopLeft ? 0.5 : 1.0;
  for (int p = 0; p < 3; ++p) {
    const pixel::Plane plane = image.plane(p);
    const double step = p == 0 ? 1 : 2;
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        const double across = p == 0 ? x + 0.5 : x0 + step * x;
        const double down = p == 0 ? y + 0.5 : y0 + step * y;
        plane.Row(y)[x] = static_cast<std::uint16_t>(std::lround(30000 + slope[0] * across + slope[1] * down));
      }
    }
  }
  return image;
}

TEST(Orient, ChromaLiesWhereItWasAfterTurnAndResize) {
  pixel::ThreadPool pool(2);
  const std::array<double, 2> slope = {120, -75};
  for (const pixel::ChromaSite site : {pixel::ChromaSite::kLeft, pixel::ChromaSite::kCentre, pixel::ChromaSite::kTopLeft}) {
    for (int i = 0; i < 32; ++i) {
      const int stored_width = (i & 8) != 0 ? 97 : 96;
      const int stored_height = (i & 16) != 0 ? 65 : 64;
      const media::Orientation o{(i & 1) != 0, (i & 2) != 0, (i & 4) != 0};
      const pixel::Image in = ChromaRamp(stored_width, stored_height, site, slope);
      const int width = o.transpose ? stored_height : stored_width;
      const int height = o.transpose ? stored_width : stored_height;
      pixel::Image turned(width, height, {1, 1}, plan::OrientedColor(in.color(), o, {width, height}, {1, 1}));
      plan::Orient(in, turned, o, pool);
      pixel::Image out(width, height, {1, 1}, {});
      pixel::Resizer(width, height, {1, 1}, turned.color(), width, height).Run(turned, out, pool);
      // The same ramp in the rotated picture, sampled with left siting.
      std::array<double, 2> turned_slope = o.transpose ? std::array<double, 2>{slope[1], slope[0]} : slope;
      double origin = 0;
      if (o.flip_x) origin += turned_slope[0] * width, turned_slope[0] *= -1;
      if (o.flip_y) origin += turned_slope[1] * height, turned_slope[1] *= -1;
      const pixel::Image expected = ChromaRamp(width, height, pixel::ChromaSite::kLeft, turned_slope);
      for (int p = 1; p < 3; ++p) {
        for (int y = 4; y < out.plane(p).height - 4; ++y) {
          for (int x = 4; x < out.plane(p).width - 4; ++x) {
            // Lanczos-3 keeps a linear ramp up to a few hundredths. A shift by half a luma sample would change it by 37 or more.
            ASSERT_NEAR(out.plane(p).Row(y)[x], expected.plane(p).Row(y)[x] + origin, 12)
                << "site " << static_cast<int>(site) << " orientation " << i << " plane " << p << " at " << x << "," << y;
          }
        }
      }
    }
  }
}

TEST(Orient, MovesEverySampleToItsPosition) {
  pixel::ThreadPool pool(2);
  pixel::Image in(5, 3, {0, 0}, {});
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 5; ++x) in.plane(p).Row(y)[x] = static_cast<std::uint16_t>(100 * p + 10 * y + x);
    }
  }
  for (const media::Orientation o : {media::Orientation{true, true, false}, {true, false, true}, {true, true, true},
                                     {false, true, true}, {false, true, false}, {false, false, true}}) {
    pixel::Image out(o.transpose ? 3 : 5, o.transpose ? 5 : 3, {0, 0}, {});
    plan::Orient(in, out, o, pool);
    for (int y = 0; y < out.height(); ++y) {
      for (int x = 0; x < out.width(); ++x) {
        int u = o.flip_x ? out.width() - 1 - x : x;
        int v = o.flip_y ? out.height() - 1 - y : y;
        if (o.transpose) std::swap(u, v);
        EXPECT_EQ(out.plane(1).Row(y)[x], 100 + 10 * v + u);
      }
    }
  }
}

/// A ramp between two 8-bit levels, with black bars of `bar_rows` rows at the top and the bottom.
pixel::Image Ramp(int from, int to, int bar_rows = 0) {
  pixel::Image image(128, 96, {1, 1}, {});
  for (int y = 0; y < 96; ++y) {
    const bool is_bar = y < bar_rows || y >= 96 - bar_rows;
    for (int x = 0; x < 128; ++x) {
      image.plane(0).Row(y)[x] = static_cast<std::uint16_t>((is_bar ? 16 + x % 2 : from + x * (to - from) / 127) << 8);
    }
  }
  return image;
}

pixel::Levels LevelsOf(const std::vector<pixel::Image>& pictures) {
  std::vector<plan::LumaFacts> facts;
  for (const pixel::Image& picture : pictures) facts.push_back(plan::MeasureLuma(picture));
  return plan::LevelsOfVideo(facts).levels;
}

template <typename... Images>
std::vector<pixel::Image> Pictures(Images... images) {
  std::vector<pixel::Image> list;
  (list.push_back(std::move(images)), ...);
  return list;
}

TEST(PictureStats, MeasureTheLevels) {
  EXPECT_GT(LevelsOf(Pictures(Ramp(16, 235))).used(), 0.95F);
  const pixel::Levels flat = LevelsOf(Pictures(Ramp(82, 173)));
  EXPECT_NEAR(flat.black, 66 / 219.0, 0.01);
  EXPECT_NEAR(flat.white, 157 / 219.0, 0.01);
}

TEST(PictureStats, LeaveOutBarsBlanksAndATitle) {
  const auto expect_flat = [](const char* name, const pixel::Levels& levels) {
    EXPECT_NEAR(levels.black, 66 / 219.0, 0.02) << name;
    EXPECT_NEAR(levels.white, 157 / 219.0, 0.02) << name;
  };
  expect_flat("bars", LevelsOf(Pictures(Ramp(82, 173, 12), Ramp(82, 173, 12))));
  expect_flat("blank first", LevelsOf(Pictures(Ramp(16, 16), Ramp(82, 173), Ramp(235, 235))));
  expect_flat("title first", LevelsOf(Pictures(Ramp(16, 235), Ramp(82, 173), Ramp(82, 173), Ramp(82, 173))));
  EXPECT_GT(LevelsOf(Pictures(Ramp(16, 235), Ramp(16, 235), Ramp(82, 173), Ramp(82, 173))).used(), 0.9F);
  EXPECT_LT(LevelsOf(Pictures(Ramp(82, 173, 12), Ramp(82, 173))).black, 0.05F) << "a bar must be black in every picture";
  EXPECT_EQ(LevelsOf(Pictures(Ramp(40, 40))).used(), 1) << "a blank picture has no known levels";
}

TEST(Devices, ListTheCpuFirst) {
  const auto devices = Devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0].id, "cpu");
  EXPECT_TRUE(devices[0].usable) << devices[0].reason;
  EXPECT_EQ(devices[0].encoder, "libx264");
  EXPECT_GE(devices[0].threads, 1);
  EXPECT_FALSE(devices[0].simd.empty());
  EXPECT_NE(EngineVersion().find("libavcodec"), std::string::npos);
}

/// While it lives, no thread can be started: its stack would not fit into the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&usual_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 60);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&usual_);
    pthread_attr_destroy(&usual_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_ = {};
};

TEST(DeferredDestruction, LeavesTheWorkToTheCallerIfThereIsNoThread) {
  auto work = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = work;
  {
    const NoThreads none;
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
    EXPECT_NO_THROW(DeferredDestruction::Instance().Release(work));
  }
  EXPECT_EQ(work.use_count(), 1);
  work.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace reelmend::run
