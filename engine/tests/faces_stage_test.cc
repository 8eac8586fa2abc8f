// The face stage on pictures of a person: what it finds, what it changes, and what it leaves unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "faces/face_stage.h"
#include "faces_pictures.h"
#include "helpers/clips.h"
#include "helpers/process_memory.h"
#include "inference/model_loader.h"

namespace reelmend::faces {
namespace {

using reelmend::testing::Ffmpeg;
using reelmend::testing::TemporaryFolder;

TEST(FaceDetector, FindsAFaceFrom24PixelsOn) {
  NEEDS_DETECTOR();
  for (const int face : {26, 40, 100, 300}) {
    const auto frames = Person(face, 1920, 1080);
    const auto found = Find(frames.at(0));
    ASSERT_EQ(found.size(), 1U) << face << " pixels";
    EXPECT_NEAR(found[0].box.width(), face, 0.25 * face);
    EXPECT_GT(found[0].points[1].x, found[0].points[0].x);
    EXPECT_GT(found[0].points[3].y, found[0].points[2].y);
    const Box& box = found[0].box;
    for (const Point& p : found[0].points) EXPECT_TRUE(p.x > box.left && p.x < box.right && p.y > box.top && p.y < box.bottom);
  }
}

TEST(FaceDetector, FindsNobodyInPatterns) {
  NEEDS_DETECTOR();
  for (const std::string source : {"testsrc2=size=640x360:duration=0.04", "mandelbrot=size=640x360:end_pts=1",
                                   "color=gray:size=640x360:duration=0.04", "smptebars=size=640x360:duration=0.04"}) {
    EXPECT_TRUE(Find(Frames("-f lavfi -i " + source + " -frames:v 1", 640, 360).at(0)).empty()) << source;
  }
}

/// The detector's first network runs at several sizes.
TEST(FaceDetector, NetworksThatAreCompiledTogetherComputeWhatSingleOnesDo) {
  NEEDS_DETECTOR();
  ModelFile file;
  file.path = DetectorFolder() + "pnet.onnx";
  const auto model = inference::CreateBackend("openvino")->LoadTensors(inference::ReadModelFile(file));
  const std::vector<std::vector<std::int64_t>> shapes = {{1, 160, 90, 3}, {1, 29, 17, 3}, {1, 58, 33, 3}};
  const auto together = model->CompileShapes(shapes, 2);
  ASSERT_EQ(together.size(), shapes.size());
  std::mt19937 random(7);
  for (int run = 0; run < 2; ++run) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto single = model->Compile({shapes[i]}, 2);
      const auto count = static_cast<std::size_t>(shapes[i][1] * shapes[i][2] * 3);
      for (std::size_t at = 0; at < count; ++at) {
        together[i]->Input(0)[at] = single->Input(0)[at] = std::uniform_real_distribution<float>(-1, 1)(random);
      }
      together[i]->Run();
      single->Run();
      for (std::size_t end = 0; end < single->outputs().size(); ++end) {
        const auto& dims = single->outputs()[end].dims;
        ASSERT_EQ(together[i]->outputs()[end].dims, dims);
        const std::int64_t size = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
        for (std::int64_t at = 0; at < size; ++at) ASSERT_NEAR(together[i]->Output(end)[at], single->Output(end)[at], 1e-4);
      }
    }
  }
}

TEST(FaceDetector, FollowsAFaceThatMoves) {
  NEEDS_DETECTOR();
  const auto frames = Person(90, 680, 520, 1);
  const auto backend = inference::CreateBackend("openvino");
  pixel::ThreadPool pool(2);
  FaceDetector detector(*backend, DetectorFolder(), {frames[0].width(), frames[0].height(), 24, 2});
  HostPicture first(frames[0], pool);
  auto face = detector.Detect(first, pool).at(0);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    HostPicture picture(frames[i], pool);
    const auto next = detector.Follow(picture, face);
    ASSERT_TRUE(next.has_value()) << i;
    face = *next;
  }
  HostPicture last(frames.back(), pool);
  EXPECT_LT(Distance(face.points, detector.Detect(last, pool).at(0).points), 0.04F * face.box.side());
}

TEST(FaceStage, ChangesAFaceALittleAndNothingElse) {
  NEEDS_DETECTOR();
  const auto frames = Person(110, 680, 520, 0.2);
  pixel::Image image = Copy(frames[0]);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(image, Shipped()));
  stage.Run(image, image, 0, true, false, pool);
  ASSERT_EQ(stage.restored(), 1);
  const Change change = Compare(frames[0], image, Find(frames[0]).at(0).box);
  EXPECT_GT(change.mean, 0.3);  // the stage changes the face
  EXPECT_LT(change.mean, 4);    // but keeps the person recognisable
  EXPECT_LE(change.most, 34);
  EXPECT_EQ(change.outside, 0);
}

/// PSNR of luma in the box, in dB.
double PsnrOf(const pixel::Image& a, const pixel::Image& b, const Box& box) {
  double squares = 0;
  double count = 0;
  for (int y = static_cast<int>(box.top); y < static_cast<int>(box.bottom); ++y) {
    for (int x = static_cast<int>(box.left); x < static_cast<int>(box.right); ++x) {
      const double d = (a.plane(0).Row(y)[x] - b.plane(0).Row(y)[x]) / 256.0;
      squares += d * d;
      ++count;
    }
  }
  return 10 * std::log10(255 * 255 * count / squares);
}

/// `faces`: their size in pixels. `crfs`: how much the pictures are compressed.
void ExpectGain(std::initializer_list<int> faces, std::initializer_list<const char*> crfs) {
  const TemporaryFolder folder;
  for (const int face : faces) {
    const std::string picture = PersonFilter(face);
    const pixel::Image good = std::move(Frames("-i " + kPerson + " -vf '" + picture + "'", 640, 480).at(0));
    const Box box = Find(good).at(0).box;
    // Reduced to half the size, compressed, and enlarged again like in a player.
    for (const char* crf : crfs) {
      Ffmpeg("-i " + kPerson + " -vf '" + picture + ",scale=320:240:flags=area' -c:v libx264 -crf " + crf +
             " -pix_fmt yuv420p " + folder.File("bad.mp4"));
      const auto bad = Frames("-i " + folder.File("bad.mp4") + " -vf scale=640:480:flags=lanczos", 640, 480);
      pixel::Image image = Copy(bad.at(0));
      pixel::ThreadPool pool(2);
      FaceStage stage(StageOptions(image, Shipped()));
      stage.Run(image, image, 0, true, false, pool);
      const double gain = PsnrOf(good, image, box) - PsnrOf(good, bad[0], box);
      std::printf("a face of %d pixels, half the size, CRF %s: %+.2f dB\n", face, crf, gain);
      EXPECT_GT(gain, 0.02) << face << " pixels, CRF " << crf;
    }
  }
}

TEST(FaceStage, BringsADegradedFaceNearerToTheGoodOne) {
  NEEDS_DETECTOR();
  ExpectGain({100}, {"23", "33"});
}

TEST(FaceStage, BringsDegradedFacesNearerToTheGoodOne_Long) {
  NEEDS_DETECTOR();
  ExpectGain({100, 160}, {"23", "28", "33"});
}

/// What a network made of a face may look painted. The network for faces does not see that: it gets the source.
TEST(FaceStage, RestoresFromTheSource) {
  NEEDS_DETECTOR();
  const pixel::Image good = std::move(Person(140)[0]);
  const Box box = Find(good).at(0).box;
  const TemporaryFolder folder;
  const std::string person = "-i " + kPerson + " -vf '" + PersonFilter(140) + ",scale=320:240:flags=area' -frames:v 1 ";
  Ffmpeg(person + "-c:v libx264 -crf 26 -pix_fmt yuv420p " + folder.File("source.mp4"));
  const auto source = Frames("-i " + folder.File("source.mp4"), 320, 240);
  const auto painted = Frames("-i " + folder.File("source.mp4") + " -vf scale=640:480:flags=lanczos,median=radius=5,unsharp=7:7:1.5", 640, 480);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(painted[0], Shipped()));
  pixel::Image natural = Copy(painted[0]);
  pixel::Image from_itself = Copy(painted[0]);
  stage.Run(natural, source[0], 0, true, false, pool);
  stage.Run(from_itself, from_itself, 0, true, false, pool);
  ASSERT_EQ(stage.restored(), 2);
  EXPECT_GT(PsnrOf(good, natural, box), PsnrOf(good, painted[0], box) + 1);
  EXPECT_GT(PsnrOf(good, natural, box), PsnrOf(good, from_itself, box) + 1);
  EXPECT_EQ(Compare(painted[0], natural, box).outside, 0);
}

TEST(FaceStage, LeavesTooSmallAndTooLargeFacesAlone) {
  NEEDS_DETECTOR();
  for (const int face : {16, 640}) {
    const auto frames = Person(face, 1280, 1080);
    pixel::Image image = Copy(frames[0]);
    pixel::ThreadPool pool(2);
    FaceStage stage(StageOptions(image, Shipped()));
    stage.Run(image, image, 0, true, false, pool);
    EXPECT_EQ(Compare(frames[0], image, {}).most, 0) << face;
    EXPECT_EQ(stage.restored(), 0) << face;
  }
}

/// Small and large are meant in the source: a face of 640 pixels that was enlarged three times is restored, and one of 48 is not. In a reduced
/// picture, large is meant as it is.
TEST(FaceStage, RestoresLargeFacesOfSmallSources) {
  NEEDS_DETECTOR();
  struct Case {
    int face;
    float enlargement;
    int restored;
  };
  for (const auto& [face, enlargement, restored] : {Case{640, 3, 1}, {48, 3, 0}, {300, 0.5F, 1}, {640, 0.5F, 0}}) {
    SCOPED_TRACE(::testing::Message() << face << " " << enlargement);
    pixel::Image image = std::move(Person(face, 1280, 1080)[0]);
    pixel::ThreadPool pool(2);
    FaceStageOptions options = StageOptions(image, Shipped());
    options.finder.enlargement = enlargement;
    FaceStage stage(options);
    stage.Run(image, image, 0, true, false, pool);
    EXPECT_EQ(stage.restored(), restored);
  }
}

TEST(FaceStage, FlickersNoMoreThanItsSource) {
  NEEDS_DETECTOR();
  const auto frames = Person(110, 680, 520, 1.6);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  double before = 0;
  double after = 0;
  pixel::Image last;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image image = Copy(frames[i]);
    stage.Run(image, image, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i > 0) {
      const Box box = {220, 130, 420, 340};  // contains the face in every frame
      before += Compare(frames[i - 1], frames[i], box).mean;
      after += Compare(last, image, box).mean;
    }
    last = std::move(image);
  }
  EXPECT_EQ(stage.restored(), static_cast<std::int64_t>(frames.size()));
  EXPECT_LE(after, 1.1 * before);
  std::printf("frame differences in the face: %.3f of the source's\n", after / before);
}

TEST(FaceStage, HoldsPointsSteadierThanTheDetectorFindsThem) {
  NEEDS_DETECTOR();
  // The person does not move, so every movement of the points is jitter.
  const TemporaryFolder folder;
  Ffmpeg("-loop 1 -framerate 25 -t 1.2 -i " + kPerson + " -vf 'scale=314:-2,noise=alls=10:allf=t' -c:v libx264 -crf 30 -pix_fmt yuv420p " +
         folder.File("still.mp4"));
  const auto frames = Frames("-i " + folder.File("still.mp4"), 314, 314);
  const auto backend = inference::CreateBackend("openvino");
  pixel::ThreadPool pool(2);
  FaceDetector detector(*backend, DetectorFolder(), {314, 314, 24, 2});
  FaceTracker tracker(detector);
  Landmarks last_found = {};
  Landmarks last_shown = {};
  double found = 0;
  double shown = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    HostPicture picture(frames[i], pool);
    const Landmarks raw = detector.Detect(picture, pool).at(0).points;
    const Landmarks tracked = tracker.Update(picture, static_cast<std::int64_t>(i), i == 0, pool).at(0).points;
    if (i > 8) {
      found += Distance(raw, last_found);
      shown += Distance(tracked, last_shown);
    }
    last_found = raw;
    last_shown = tracked;
  }
  EXPECT_LT(shown, 0.5 * found);
}

/// Checks the cost of a frame by the number of runs of the detector's networks, so no clock is needed.
TEST(FaceStage, RunsTheDetectorNoMoreOftenThanFacesNeed) {
  NEEDS_DETECTOR();
  const auto frames = Person(120, 680, 520, 1.0);
  ASSERT_GE(frames.size(), 20U);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  const std::int64_t pixels = std::int64_t{frames[0].width()} * frames[0].height();
  for (std::size_t i = 0; i < 20; ++i) {
    const DetectorWork before = stage.work();
    pixel::Image image = Copy(frames[i]);
    stage.Run(image, image, static_cast<std::int64_t>(i), i == 0, false, pool);
    const DetectorWork after = stage.work();
    const std::int64_t searches = after.searches - before.searches;
    const std::int64_t third_looks = after.third_looks - before.third_looks;
    EXPECT_EQ(searches, i % kKeyEvery == 0 ? 1 : 0) << i;
    // Each pyramid level is 0.7 as wide as the one before, so all together have 1 ÷ (1 − 0.7²) ≈ 2 times the pixels of the
    // first level, which is half as wide as the frame.
    EXPECT_LE(after.searched_pixels - before.searched_pixels, searches * pixels * 6 / 10) << i;
    const auto most_looks = (static_cast<std::int64_t>(kMostProposals) + kRefineBatch - 1) / kRefineBatch;
    EXPECT_LE(after.second_looks - before.second_looks, searches * most_looks) << i;
    if (searches == 0) {
      EXPECT_EQ(third_looks, 2) << i;  // one face: once at its previous box, and once more at its points
    } else {
      EXPECT_LE(third_looks, 40) << i;
    }
  }
  EXPECT_EQ(stage.restored(), 20);
}

TEST(FaceStage, RunsNoRefinementWithoutAFace) {
  NEEDS_DETECTOR();
  const auto frames = Frames("-f lavfi -i testsrc2=s=640x480:r=25:d=0.8", 640, 480);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image image = Copy(frames[i]);
    const std::int64_t before = stage.work().third_looks + stage.work().second_looks;
    stage.Run(image, image, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i % kKeyEvery != 0) {
      EXPECT_EQ(stage.work().third_looks + stage.work().second_looks, before) << i;
    }
  }
  EXPECT_EQ(stage.work().searches, static_cast<std::int64_t>((frames.size() + kKeyEvery - 1) / kKeyEvery));
  EXPECT_EQ(stage.restored(), 0);
}

TEST(FaceStage, TakesNoMoreMemoryAsTimeGoesOn_Long) {
  NEEDS_DETECTOR();
  const auto frames = Person(120, 680, 520, 1.0);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  long long warm = 0;
  for (std::size_t i = 0; i < 160; ++i) {
    pixel::Image image = Copy(frames[i % frames.size()]);
    stage.Run(image, image, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i == 40) warm = testing::AnonymousMemory();
  }
  EXPECT_LE(testing::AnonymousMemory() - warm, 4LL << 20);
}

TEST(FaceStage, IsTheSameAfterAWarmUpAsInTheWholeVideo) {
  NEEDS_DETECTOR();
  const auto frames = Person(100, 680, 520, 1.8);
  pixel::ThreadPool pool(2);
  FaceStage whole(StageOptions(frames[0], Shipped()));
  FaceStage segment(StageOptions(frames[0], Shipped()));
  constexpr std::size_t kBegin = 13;
  constexpr std::size_t kWarmUp = 23;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image a = Copy(frames[i]);
    whole.Run(a, a, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i < kBegin) continue;
    pixel::Image b = Copy(frames[i]);
    segment.Run(b, b, static_cast<std::int64_t>(i), i == kBegin, i < kBegin + kWarmUp, pool);
    if (i >= kBegin + kWarmUp) {
      EXPECT_EQ(Compare(a, b, {}).most, 0) << i;
    }
  }
}

}  // namespace
}  // namespace reelmend::faces
