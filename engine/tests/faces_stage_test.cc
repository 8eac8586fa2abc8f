// The stage for faces on pictures of a person: what it finds, changes, and leaves alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "faces/face_stage.h"
#include "framelift/enhance.h"
#include "framelift/error.h"
#include "helpers/clips.h"
#include "helpers/onnx_file.h"

namespace framelift::faces {
namespace {

using framelift::testing::DecodeLuma;
using framelift::testing::Ffmpeg;
using framelift::testing::OnnxFile;
using framelift::testing::PlainOptions;
using framelift::testing::TemporaryFolder;

const std::string kPerson = std::string(FRAMELIFT_SOURCE_DIR) + "/tests/media/face.jpg";

#define NEEDS_DETECTOR() \
  if (!CanDetectFaces()) GTEST_SKIP() << "No face detector in this build: faces are NOT tested (scripts/setup-faces)."

ModelFile FaceModel(const std::string& path) {
  ModelFile file;
  file.name = "faces";
  file.path = path;
  file.layout = ModelFile::Layout::kFace;
  file.scale = 1;
  return file;
}

ModelFile Shipped() {
  ModelFile file = FaceModel(std::string(FRAMELIFT_SOURCE_DIR) + "/models/faces-256.onnx");
  file.max_change = 32;
  return file;
}

/// Frames of what ffmpeg makes, 4:2:0.
std::vector<pixel::Image> Frames(const std::string& arguments, int width, int height) {
  const TemporaryFolder folder;
  const std::string path = folder.File("frames.yuv");
  Ffmpeg(arguments + " -s " + std::to_string(width) + "x" + std::to_string(height) + " -pix_fmt yuv420p -f rawvideo " + path);
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::vector<pixel::Image> frames;
  std::size_t at = 0;
  while (at + static_cast<std::size_t>(width) * height * 3 / 2 <= bytes.size()) {
    pixel::Image image(width, height, {1, 1}, {});
    for (int p = 0; p < 3; ++p) {
      const pixel::Plane plane = image.plane(p);
      for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
          plane.Row(y)[x] = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at++]) << 8);
        }
      }
    }
    frames.push_back(std::move(image));
  }
  return frames;
}

/// The person, `face` pixels wide (0.35 of the photograph) in a grey picture; moving, coded and noisy when `seconds` > 0.
std::vector<pixel::Image> Person(int face, int width = 640, int height = 480, double seconds = 0, const std::string& extra = "") {
  const int side = static_cast<int>(face / 0.35) & ~1;
  const std::string picture = "scale=" + std::to_string(side) + ":-2,pad=max(iw\\,2000):max(ih\\,1200):(ow-iw)/2:(oh-ih)/2:gray,crop=" +
                              std::to_string(width) + ":" + std::to_string(height);
  if (seconds <= 0) return Frames("-i " + kPerson + " -vf '" + picture + extra + "'", width, height);
  const TemporaryFolder folder;
  const std::string clip = folder.File("clip.mp4");
  Ffmpeg("-loop 1 -framerate 25 -t " + std::to_string(seconds) + " -i " + kPerson + " -vf '" + picture +
         ",rotate=0.03*sin(n/9):c=gray,crop=iw-40:ih-40:20+12*sin(n/11):20+10*sin(n/7),noise=alls=6:allf=t" + extra +
         "' -c:v libx264 -preset veryfast -crf 30 -pix_fmt yuv420p " + clip);
  return Frames("-i " + clip, width - 40, height - 40);
}

pixel::Image Copy(const pixel::Image& image) {
  pixel::Image copy(image.width(), image.height(), image.subsampling(), image.color());
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < image.plane(p).height; ++y) {
      std::copy_n(image.plane(p).Row(y), image.plane(p).width, copy.plane(p).Row(y));
    }
  }
  return copy;
}

struct Change {
  double mean = 0;    ///< of luma in the face's box, in codes
  double most = 0;    ///< of all planes, everywhere
  double outside = 0; ///< most, where the crop does not reach
};

Change Compare(const pixel::Image& a, const pixel::Image& b, const Box& box) {
  Change change;
  double count = 0;
  for (int p = 0; p < 3; ++p) {
    const float scale = p == 0 ? 1 : 2;
    for (int y = 0; y < a.plane(p).height; ++y) {
      for (int x = 0; x < a.plane(p).width; ++x) {
        const double d = std::abs(a.plane(p).Row(y)[x] - b.plane(p).Row(y)[x]) / 256.0;
        const float px = static_cast<float>(x) * scale;
        const float py = static_cast<float>(y) * scale;
        change.most = std::max(change.most, d);
        const float margin = 0.8F * box.side();
        const bool is_far = px < box.left - margin || px > box.right + margin || py < box.top - margin || py > box.bottom + margin;
        if (is_far) change.outside = std::max(change.outside, d);
        if (p == 0 && px >= box.left && px < box.right && py >= box.top && py < box.bottom) {
          change.mean += d;
          ++count;
        }
      }
    }
  }
  change.mean /= std::max(1.0, count);
  return change;
}

FaceStageOptions StageOptions(const pixel::Image& image, const ModelFile& model, float strength = 1) {
  FaceStageOptions options;
  options.model = model;
  options.width = image.width();
  options.height = image.height();
  options.strength = strength;
  options.threads = 2;
  return options;
}

std::vector<Face> Find(const pixel::Image& image, float smallest = 24) {
  const auto backend = inference::CreateBackend("openvino");
  pixel::ThreadPool pool(2);
  return FaceDetector(*backend, DetectorFolder(), {image.width(), image.height(), smallest, 2}).Detect(image, pool);
}

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

TEST(FaceDetector, FollowsAFaceThatMoves) {
  NEEDS_DETECTOR();
  const auto frames = Person(90, 680, 520, 1);
  const auto backend = inference::CreateBackend("openvino");
  pixel::ThreadPool pool(2);
  FaceDetector detector(*backend, DetectorFolder(), {frames[0].width(), frames[0].height(), 24, 2});
  auto face = detector.Detect(frames[0], pool).at(0);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const auto next = detector.Follow(frames[i], face);
    ASSERT_TRUE(next.has_value()) << i;
    face = *next;
  }
  EXPECT_LT(Distance(face.points, detector.Detect(frames.back(), pool).at(0).points), 0.04F * face.box.side());
}

TEST(FaceStage, ChangesAFaceALittleAndNothingElse) {
  NEEDS_DETECTOR();
  const auto frames = Person(110, 680, 520, 0.2);
  pixel::Image image = Copy(frames[0]);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(image, Shipped()));
  stage.Run(image, 0, true, false, pool);
  ASSERT_EQ(stage.restored(), 1);
  const Change change = Compare(frames[0], image, Find(frames[0]).at(0).box);
  EXPECT_GT(change.mean, 0.3);  // it does something
  EXPECT_LT(change.mean, 4);    // and the face stays the same
  EXPECT_LE(change.most, 34);
  EXPECT_EQ(change.outside, 0);
}

/// Of luma in the box, in dB.
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

TEST(FaceStage, BringsADegradedFaceNearerToTheGoodOne) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  for (const int face : {100, 160}) {
    const int side = static_cast<int>(face / 0.35) & ~1;
    const std::string picture = "scale=" + std::to_string(side) + ":-2,pad=max(iw\\,2000):max(ih\\,1200):(ow-iw)/2:(oh-ih)/2:gray,crop=640:480";
    const pixel::Image good = std::move(Frames("-i " + kPerson + " -vf '" + picture + "'", 640, 480).at(0));
    const Box box = Find(good).at(0).box;
    // Half the size and compressed; enlarged again as a player does.
    for (const char* crf : {"23", "28", "33"}) {
      Ffmpeg("-i " + kPerson + " -vf '" + picture + ",scale=320:240:flags=area' -c:v libx264 -crf " + crf +
             " -pix_fmt yuv420p " + folder.File("bad.mp4"));
      const auto bad = Frames("-i " + folder.File("bad.mp4") + " -vf scale=640:480:flags=lanczos", 640, 480);
      pixel::Image image = Copy(bad.at(0));
      pixel::ThreadPool pool(2);
      FaceStage stage(StageOptions(image, Shipped()));
      stage.Run(image, 0, true, false, pool);
      const double gain = PsnrOf(good, image, box) - PsnrOf(good, bad[0], box);
      std::printf("a face of %d pixels, half the size, CRF %s: %+.2f dB\n", face, crf, gain);
      EXPECT_GT(gain, 0.02) << face << " pixels, CRF " << crf;
    }
  }
}

TEST(FaceStage, LeavesFacesAloneThatAreTooSmallOrTooLarge) {
  NEEDS_DETECTOR();
  for (const int face : {16, 640}) {
    const auto frames = Person(face, 1280, 1080);
    pixel::Image image = Copy(frames[0]);
    pixel::ThreadPool pool(2);
    FaceStage stage(StageOptions(image, Shipped()));
    stage.Run(image, 0, true, false, pool);
    EXPECT_EQ(Compare(frames[0], image, {}).most, 0) << face;
    EXPECT_EQ(stage.restored(), 0) << face;
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
    stage.Run(image, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i > 0) {
      const Box box = {220, 130, 420, 340};  // holds the face all the time
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
  // The person stands still: all movement of the points is jitter.
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
    const Landmarks raw = detector.Detect(frames[i], pool).at(0).points;
    const Landmarks steady = tracker.Update(frames[i], static_cast<std::int64_t>(i), i == 0, pool).at(0).points;
    if (i > 8) {
      found += Distance(raw, last_found);
      shown += Distance(steady, last_shown);
    }
    last_found = raw;
    last_shown = steady;
  }
  EXPECT_LT(shown, 0.5 * found);
}

/// What a frame costs is what the detector looks at; its looks are counted, so that no clock is needed.
TEST(FaceStage, LooksAtAFrameNoMoreOftenThanItsFacesNeed) {
  NEEDS_DETECTOR();
  const auto frames = Person(120, 680, 520, 1.0);
  ASSERT_GE(frames.size(), 20U);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  const std::int64_t pixels = std::int64_t{frames[0].width()} * frames[0].height();
  for (std::size_t i = 0; i < 20; ++i) {
    const DetectorWork before = stage.work();
    pixel::Image image = Copy(frames[i]);
    stage.Run(image, static_cast<std::int64_t>(i), i == 0, false, pool);
    const DetectorWork after = stage.work();
    const std::int64_t searches = after.searches - before.searches;
    const std::int64_t third_looks = after.third_looks - before.third_looks;
    EXPECT_EQ(searches, i % kKeyEvery == 0 ? 1 : 0) << i;
    // A pyramid by factors of 0.7 has 1 ÷ (1 − 0.7²), so twice, its first level's pixels, and that is half as wide.
    EXPECT_LE(after.searched_pixels - before.searched_pixels, searches * pixels * 6 / 10) << i;
    const auto most_looks = (static_cast<std::int64_t>(kMostProposals) + kRefineBatch - 1) / kRefineBatch;
    EXPECT_LE(after.second_looks - before.second_looks, searches * most_looks) << i;
    if (searches == 0) {
      EXPECT_EQ(third_looks, 2) << i;  // one face, looked at where it was and once more where its points are
    } else {
      EXPECT_LE(third_looks, 40) << i;
    }
  }
  EXPECT_EQ(stage.restored(), 20);
}

TEST(FaceStage, HardlyLooksWhereNobodyIs) {
  NEEDS_DETECTOR();
  const auto frames = Frames("-f lavfi -i testsrc2=s=640x480:r=25:d=0.8", 640, 480);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    pixel::Image image = Copy(frames[i]);
    const std::int64_t before = stage.work().third_looks + stage.work().second_looks;
    stage.Run(image, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i % kKeyEvery != 0) {
      EXPECT_EQ(stage.work().third_looks + stage.work().second_looks, before) << i;
    }
  }
  EXPECT_EQ(stage.work().searches, static_cast<std::int64_t>((frames.size() + kKeyEvery - 1) / kKeyEvery));
  EXPECT_EQ(stage.restored(), 0);
}

TEST(FaceStage, TakesNoMoreMemoryAsTimeGoesOn) {
  NEEDS_DETECTOR();
  const auto own_bytes = [] {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("RssAnon:", 0) == 0) return std::atoll(line.c_str() + 8) * 1024;
    }
    return 0LL;
  };
  const auto frames = Person(120, 680, 520, 1.0);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(frames[0], Shipped()));
  long long warm = 0;
  for (std::size_t i = 0; i < 160; ++i) {
    pixel::Image image = Copy(frames[i % frames.size()]);
    stage.Run(image, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i == 40) warm = own_bytes();
  }
  EXPECT_LE(own_bytes() - warm, 4LL << 20);
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
    whole.Run(a, static_cast<std::int64_t>(i), i == 0, false, pool);
    if (i < kBegin) continue;
    pixel::Image b = Copy(frames[i]);
    segment.Run(b, static_cast<std::int64_t>(i), i == kBegin, i < kBegin + kWarmUp, pool);
    if (i >= kBegin + kWarmUp) {
      EXPECT_EQ(Compare(a, b, {}).most, 0) << i;
    }
  }
}

/// The contract of operators' networks: 512 × 512, R′G′B′ from −1 to 1, a weight.
std::string StandIn(bool has_weight, std::vector<float> addend, std::vector<std::int64_t> shape, int side = 512) {
  OnnxFile file;
  file.Input("input", {1, 3, side, side}).Tensor("what", std::move(shape), std::move(addend));
  if (has_weight) {
    file.Input("weight", {1}).Node("Mul", {"what", "weight"}, "weighted").Node("Add", {"input", "weighted"}, "output");
  } else {
    file.Node("Add", {"input", "what"}, "output");
  }
  return file.Output("output", {1, 3, side, side}).Bytes();
}

TEST(OperatorsFaceNetwork, IsGivenRedFirstFromMinusOneToOneAndAWeight) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  std::ofstream(folder.File("red.onnx"), std::ios::binary) << StandIn(true, {0.2F, 0, 0}, {1, 3, 1, 1});
  const auto frames = Person(150);
  pixel::Image image = Copy(frames[0]);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(image, FaceModel(folder.File("red.onnx"))));
  stage.Run(image, 0, true, false, pool);
  const Point nose = Find(frames[0]).at(0).points[2];
  // 0.2 × 0.5 of −1…1 is 12.75 codes of red: by BT.709 that much luma and Cr, and less Cb.
  const auto at = [&](int plane, int scale) {
    const int x = static_cast<int>(nose.x) / scale;
    const int y = static_cast<int>(nose.y) / scale;
    return (image.plane(plane).Row(y)[x] - frames[0].plane(plane).Row(y)[x]) / 256.0;
  };
  EXPECT_NEAR(at(0, 1), 12.75 * 0.2126 * 219 / 255, 0.1);
  EXPECT_NEAR(at(1, 2), -12.75 * 0.2126 / 1.8556 * 224 / 255, 0.1);
  EXPECT_NEAR(at(2, 2), 12.75 * 0.5 * 224 / 255, 0.1);
}

TEST(OperatorsFaceNetwork, SeesTheFaceWhereFfhqHasIt) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  std::vector<float> spots(3 * 512 * 512, 0.0F);
  for (const Point& p : AlignedPoints(512)) {
    for (int dy = -6; dy <= 6; ++dy) {
      for (int dx = -6; dx <= 6; ++dx) {
        const std::size_t at = (static_cast<std::size_t>(p.y) + dy) * 512 + static_cast<std::size_t>(p.x) + dx;
        for (std::size_t plane = 0; plane < 3; ++plane) spots[plane * 512 * 512 + at] = 0.3F;
      }
    }
  }
  std::ofstream(folder.File("spots.onnx"), std::ios::binary) << StandIn(false, spots, {1, 3, 512, 512});
  const auto frames = Person(200);
  pixel::Image image = Copy(frames[0]);
  pixel::ThreadPool pool(2);
  FaceStage stage(StageOptions(image, FaceModel(folder.File("spots.onnx"))));
  stage.Run(image, 0, true, false, pool);
  for (const Point& p : Find(frames[0]).at(0).points) {
    double sum = 0;
    double x = 0;
    double y = 0;
    for (int row = static_cast<int>(p.y) - 25; row <= static_cast<int>(p.y) + 25; ++row) {
      for (int column = static_cast<int>(p.x) - 25; column <= static_cast<int>(p.x) + 25; ++column) {
        const double d = image.plane(0).Row(row)[column] - frames[0].plane(0).Row(row)[column];
        sum += d;
        x += d * column;
        y += d * row;
      }
    }
    ASSERT_GT(sum, 1000);
    // A similarity cannot bring five points of a real face onto their places exactly.
    EXPECT_NEAR(x / sum, p.x, 0.08 * 200);
    EXPECT_NEAR(y / sum, p.y, 0.08 * 200);
  }
}

TEST(OperatorsFaceNetwork, IsRefusedInOneSentenceWhenItDoesNotFit) {
  NEEDS_DETECTOR();
  const TemporaryFolder folder;
  const auto backend = inference::CreateBackend("openvino");
  struct Case { std::string bytes; std::string says; };
  OnnxFile two;
  two.Input("input", {1, 3, 64, 64}).Input("other", {1, 3, 64, 64}).Node("Add", {"input", "other"}, "output").Output("output", {1, 3, 64, 64});
  OnnxFile wide;
  wide.Input("input", {1, 3, 64, 96}).Node("Relu", {"input"}, "output").Output("output", {1, 3, 64, 96});
  for (const Case& c : {Case{"no network", "not an ONNX network"}, {two.Bytes(), "other inputs"}, {wide.Bytes(), "not one square picture"},
                        {framelift::testing::SwappedRgbNetwork(2), "not of the size of its input"}}) {
    std::ofstream(folder.File("bad.onnx"), std::ios::binary) << c.bytes;
    try {
      FaceRestorer(*backend, FaceModel(folder.File("bad.onnx")), 1);
      ADD_FAILURE() << c.says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << error.what();
    }
  }
}

class FacesInVideos : public ::testing::Test {
 protected:
  std::string Enhanced(const std::string& in, const Strength& strength, EnhanceResult* result = nullptr) {
    EnhanceOptions options = PlainOptions();
    options.models = {Shipped()};
    options.face_restoration = strength;
    const std::string out = folder_.File("out" + std::to_string(count_++) + ".mp4");
    const EnhanceResult made = Enhance(in, out, options);
    if (result != nullptr) *result = made;
    return out;
  }
  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(FacesInVideos, NoFaceMeansNoChange) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mp4");
  Ffmpeg("-f lavfi -i testsrc2=size=640x360:rate=25:duration=1 -vf noise=alls=10:allf=t -pix_fmt yuv420p " + in);
  EnhanceResult result;
  const std::string with = Enhanced(in, {Strength::Mode::kFixed, 1}, &result);
  EXPECT_EQ(result.applied.face_restoration, 0);
  EXPECT_EQ(result.faces, 0);
  EXPECT_TRUE(DecodeLuma(with) == DecodeLuma(Enhanced(in, {Strength::Mode::kOff, 0})));
}

TEST_F(FacesInVideos, StrengthsAreObeyedAndReported) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mp4");
  Ffmpeg("-loop 1 -framerate 25 -t 0.6 -i " + kPerson + " -c:v libx264 -crf 32 -pix_fmt yuv420p " + in);
  EnhanceResult result;
  const auto off = DecodeLuma(Enhanced(in, {Strength::Mode::kOff, 0}, &result));
  EXPECT_EQ(result.applied.face_restoration, 0);
  EXPECT_TRUE(DecodeLuma(Enhanced(in, {Strength::Mode::kFixed, 0})) == off);
  EXPECT_FALSE(DecodeLuma(Enhanced(in, {Strength::Mode::kFixed, 0.7F}, &result)) == off);
  EXPECT_FLOAT_EQ(result.applied.face_restoration, 0.7F);
  EXPECT_EQ(result.faces, result.frames);
  EXPECT_TRUE(std::ranges::any_of(result.stages, [](const StageTime& s) { return s.name == "faces" && s.cpu_seconds > 0; }));
  // By itself: a coded source is restored, and the plan says why.
  EXPECT_FALSE(DecodeLuma(Enhanced(in, {}, &result)) == off);
  EXPECT_GT(result.applied.face_restoration, 0.1F);
  const auto stage = std::ranges::find(result.plan, "face_restoration", &PlannedStage::name);
  ASSERT_NE(stage, result.plan.end());
  EXPECT_EQ(stage->strength, result.applied.face_restoration);
  EXPECT_NE(stage->why.find("coding error"), std::string::npos);
}

TEST_F(FacesInVideos, SegmentsEqualTheWhole) {
  NEEDS_DETECTOR();
  const std::string in = folder_.File("in.mkv");
  Ffmpeg("-loop 1 -framerate 25 -t 2 -i " + kPerson + " -vf 'noise=alls=6:allf=t' -c:v libx264 -crf 24 -bf 0 -pix_fmt yuv420p " + in);
  EnhanceOptions options = PlainOptions();
  options.models = {Shipped()};
  options.face_restoration = {Strength::Mode::kFixed, 1};
  options.encoder.crf = 1;  // nearly what the frames were, whatever came before them
  Enhance(in, folder_.File("whole.mp4"), options);
  options.segment = Segment{1.2, 2, 24};
  EXPECT_GT(Enhance(in, folder_.File("part.mp4"), options).faces, 0);
  const auto whole = DecodeLuma(folder_.File("whole.mp4"));
  const auto part = DecodeLuma(folder_.File("part.mp4"));
  ASSERT_LT(part.size(), whole.size());
  const auto size = static_cast<std::ptrdiff_t>(part.size());
  EXPECT_GT(framelift::testing::Psnr({whole.end() - size, whole.end()}, part), 52);
}

TEST(FacePlan, SaysWhatIsInTheWay) {
  const TemporaryFolder folder;
  const std::string in = folder.File("in.mp4");
  Ffmpeg("-f lavfi -i testsrc2=size=320x180:rate=10:duration=0.5 -crf 40 -pix_fmt yuv420p " + in);
  EnhanceOptions options = PlainOptions();
  options.face_restoration = {};
  const auto plan = PlanEnhance(in, options);
  const auto stage = std::ranges::find(plan.stages, "face_restoration", &PlannedStage::name);
  ASSERT_NE(stage, plan.stages.end());
  EXPECT_EQ(stage->strength, 0);
  EXPECT_EQ(stage->why, "no network for faces is installed");
}

}  // namespace
}  // namespace framelift::faces
