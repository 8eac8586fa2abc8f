// Compares every CUDA stage with the stage of the CPU's pipeline.
#include "cuda_twins.h"

#include <utility>

namespace reelmend::cuda {
namespace {

const std::vector<std::pair<PictureSize, PictureSize>>& Ratios() {
  static const std::vector<std::pair<PictureSize, PictureSize>> ratios = {
      {{64, 48}, {64, 48}},  {{64, 48}, {128, 96}},   {{96, 54}, {64, 36}}, {{131, 67}, {262, 134}},
      {{35, 91}, {50, 130}}, {{160, 90}, {240, 134}}, {{2, 2}, {16, 16}},   {{1, 1}, {2, 2}},
      {{300, 40}, {90, 12}}, {{17, 31}, {16, 200}},
  };
  return ratios;
}

/// Runs the same frames through both and expects differences of at most one level, in at most `tolerated_share` of the samples.
/// The CPU's int16 resizes differ by up to a fiftieth of a level, so they are allowed kInt16Share more.
void ExpectAgreement(const StageOptions& o, const pixel::PackedLayout& layout, const std::vector<RawFrame>& frames,
                     const std::string& name, double tolerated_share = 0.02) {
  constexpr double kInt16Share = 0.008;  // three samples of the smallest picture
  CpuTwin cpu(o, layout);
  CpuTwin cpu_in_int16(o, layout);
  DeviceTwin device(TestDevice(), o, layout, true);
  const auto expect = [&](const Difference& d, double share, std::size_t frame) {
    EXPECT_LE(d.worst, 1) << name << ", frame " << frame;
    EXPECT_LE(d.share, share) << name << ", frame " << frame;
  };
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto made = device.Run(frames[i]);
    if (pixel::GetInt16Kernels() != nullptr) expect(Compare(cpu_in_int16.Run(frames[i]), made), tolerated_share + kInt16Share, i);
    const pixel::testing::WithoutInt16 without;
    expect(Compare(cpu.Run(frames[i]), made), tolerated_share, i);
  }
}

std::vector<RawFrame> Sequence(PictureSize size, const pixel::PackedLayout& layout, int count, double shade_step = 0) {
  std::vector<RawFrame> frames;
  for (int i = 0; i < count; ++i)
    frames.push_back(MakeRaw(size, layout, 7U + static_cast<unsigned>(i), shade_step * i));
  return frames;
}

TEST(CudaStages, ImportAndTurnAreExactForEveryFormatAndOrientation) {
  for (const Format& format : Formats()) {
    for (int turn = 0; turn < 8; ++turn) {
      for (const PictureSize size : {PictureSize{34, 18}, PictureSize{64, 48}, PictureSize{2, 6}}) {
        StageOptions o = Plain(size, format.layout, size);
        o.transpose = (turn & 1) != 0;
        o.flip_x = (turn & 2) != 0;
        o.flip_y = (turn & 4) != 0;
        if (o.transpose) std::swap(o.output_width, o.output_height);
        // Luma keeps its size and is copied exactly. Chroma is resampled to left siting, which rounds.
        const std::size_t luma = static_cast<std::size_t>(size.width) * size.height;
        const std::string name = std::string(format.name) + " turn " + std::to_string(turn);
        const RawFrame frame = MakeRaw(size, format.layout, 3);
        CpuTwin cpu(o, format.layout);
        DeviceTwin device(TestDevice(), o, format.layout, turn % 2 == 0);
        auto by_cpu = cpu.Run(frame);
        auto by_device = device.Run(frame);
        const bool is_copy = turn == 0 && format.layout.subsampling == pixel::Subsampling{1, 1};
        EXPECT_LE(Compare(by_cpu, by_device).worst, is_copy ? 0 : 1) << name;
        by_cpu.resize(luma);
        by_device.resize(luma);
        EXPECT_EQ(by_cpu, by_device) << name;
      }
    }
  }
}

TEST(CudaStages, ResizeAgreesForEveryRatioAndSubsampling) {
  for (const auto& [from, to] : Ratios()) {
    for (const Format& format : Formats()) {
      const StageOptions o = Plain(from, format.layout, to);
      ExpectAgreement(o, format.layout, Sequence(from, format.layout, 1),
                      std::string(format.name) + " " + pixel::testing::Name(from) + " to " + pixel::testing::Name(to),
                      0.001);
    }
  }
}

TEST(CudaStages, TheWorkingSizeAgrees) {
  for (const Format& format : Formats()) {
    for (const float share : {0.37F, 0.5F, 0.8F}) {
      for (const bool transpose : {false, true}) {
        StageOptions o = Plain({66, 50}, format.layout, {160, 120});
        o.transpose = transpose;
        o.working_share = share;
        o.denoise_strength = transpose ? 0.4F : 0;
        o.temporal_strength = o.noise_sigma = o.temporal_sigma = transpose ? 0.8F : 0;
        ExpectAgreement(o, format.layout, Sequence({66, 50}, format.layout, 2),
                        std::string(format.name) + " at " + std::to_string(share), 0.002);
      }
    }
  }
}

TEST(CudaStages, ResizeInBandsIsTheSamePicture) {
  const PictureSize from{160, 90};
  for (const PictureSize to : {PictureSize{320, 180}, PictureSize{80, 46}, PictureSize{100, 400}}) {
    const pixel::PackedLayout layout = Formats()[0].layout;
    const StageOptions o = Plain(from, layout, to);
    const auto frames = Sequence(from, layout, 1);
    const auto plenty = std::make_shared<StandInDevice>();
    DeviceTwin whole(plenty, o, layout, true);
    EXPECT_EQ(whole.bands(), 1);
    const auto expected = whole.Run(frames[0]);
    // A little more than the pictures need, so the intermediate must shrink.
    testing::StandInOptions tight;
    tight.memory_bytes = plenty->used() * 99 / 100;
    bool is_banded = false;
    for (; tight.memory_bytes > plenty->used() / 2; tight.memory_bytes -= plenty->used() / 50) {
      try {
        DeviceTwin banded(std::make_shared<StandInDevice>(tight), o, layout, true);
        is_banded = is_banded || banded.bands() > 1;
        EXPECT_EQ(Compare(expected, banded.Run(frames[0])).worst, 0) << banded.bands() << " bands";
      } catch (const OutOfDeviceMemory& error) {
        EXPECT_STREQ(error.what(), "The GPU has too little free memory for this video.");
      }
    }
    EXPECT_TRUE(is_banded) << pixel::testing::Name(to);
  }
}

constexpr pixel::ChromaSite kDecodedSites[] = {pixel::ChromaSite::kLeft, pixel::ChromaSite::kCentre,     pixel::ChromaSite::kTopLeft,
                                               pixel::ChromaSite::kTop,  pixel::ChromaSite::kBottomLeft, pixel::ChromaSite::kBottom};

TEST(CudaStages, ColourAgreesBetweenAllSpaces) {
  const PictureSize size{66, 50};
  for (const auto matrix : {pixel::Matrix::kBt601, pixel::Matrix::kBt709, pixel::Matrix::kBt2020}) {
    for (const auto range : {pixel::Range::kLimited, pixel::Range::kFull}) {
      for (const auto site : kDecodedSites) {
        for (const PictureSize to : {size, PictureSize{132, 100}}) {
          const pixel::PackedLayout layout = Formats()[2].layout;
          StageOptions o = Plain(size, layout, to);
          o.color = {matrix, range, site};
          ExpectAgreement(o, layout, Sequence(size, layout, 1),
                          "colour " + std::to_string(static_cast<int>(matrix)) + std::to_string(static_cast<int>(site)),
                          0.005);
        }
      }
    }
  }
}

TEST(CudaStages, ToneMappingAgrees) {
  for (const auto transfer : {pixel::HdrTransfer::kPq, pixel::HdrTransfer::kHlg, pixel::HdrTransfer::kSdr}) {
    for (const auto primaries : {pixel::Primaries::kBt2020, pixel::Primaries::kP3D65, pixel::Primaries::kBt709}) {
      for (const Format& format : Formats()) {
        for (const auto site : kDecodedSites) {
          const PictureSize size{53, 39};
          const int turn = (static_cast<int>(site) * 3 + static_cast<int>(primaries)) % 8;
          StageOptions o = Plain(size, format.layout, (turn & 1) != 0 ? PictureSize{40, 54} : PictureSize{54, 40});
          o.transpose = (turn & 1) != 0;
          o.flip_x = (turn & 2) != 0;
          o.flip_y = (turn & 4) != 0;
          o.color = {pixel::Matrix::kBt2020, pixel::Range::kLimited, site};
          o.tone = pixel::ToneMapOptions{transfer, primaries, 1000};
          ExpectAgreement(o, format.layout, Sequence(size, format.layout, 1), std::string("tone ") + format.name, 0.05);
        }
      }
    }
  }
}

TEST(CudaStages, DenoisingAgreesOverTimeAndAcrossCuts) {
  for (const Format& format : Formats()) {
    for (const PictureSize size : {PictureSize{97, 61}, PictureSize{64, 48}, PictureSize{9, 17}}) {
      StageOptions o = Plain(size, format.layout, {size.width / 2 * 2 + 2, size.height / 2 * 2 + 2});
      o.denoise_strength = 0.5F;
      o.temporal_strength = 1.0F;
      o.noise_sigma = 2.0F;
      o.temporal_sigma = 3.0F;
      auto frames = Sequence(size, format.layout, 10);
      for (RawFrame& cut : Sequence(size, format.layout, 3, 40)) frames.push_back(std::move(cut));
      ExpectAgreement(o, format.layout, frames, std::string("denoise ") + format.name, 0.005);
    }
  }
}

TEST(CudaStages, DenoisingAgreesAlongMotion) {
  for (const Format& format : Formats()) {
    for (const PictureSize size : {PictureSize{97, 61}, PictureSize{128, 96}, PictureSize{33, 32}}) {
      StageOptions o = Plain(size, format.layout, {size.width / 2 * 2 + 2, size.height / 2 * 2 + 2});
      o.temporal_strength = 1.0F;
      o.temporal_sigma = 4.0F;
      std::vector<RawFrame> frames;
      for (int i = 0; i < 10; ++i) frames.push_back(MakeRaw(size, format.layout, 7U + static_cast<unsigned>(i), 0, 2.3 * i));
      ExpectAgreement(o, format.layout, frames, std::string("motion ") + format.name, 0.01);
    }
  }
}

/// A pattern that moves by 2.3 samples a picture, and a cut in the middle.
std::vector<RawFrame> MovingFrames(PictureSize size, const pixel::PackedLayout& layout) {
  std::vector<RawFrame> frames;
  for (int i = 0; i < 8; ++i) {
    const bool is_second = i >= 5;
    frames.push_back(MakeRaw(size, layout, 7U + static_cast<unsigned>(i), is_second ? 60 : 0, 2.3 * i + (is_second ? 31 : 0)));
  }
  return frames;
}

StageOptions Accumulating(PictureSize size, const pixel::PackedLayout& layout, PictureSize to) {
  StageOptions o = Plain(size, layout, to);
  o.temporal_strength = 0.5F;
  o.temporal_sigma = 2.0F;
  o.accumulation_strength = 0.9F;
  return o;
}

/// The fit of vectors turns the fractions of a level by which resizes differ into 1/16 of a sample.
constexpr double kRefinedShare = 0.05;

TEST(CudaStages, AccumulationAgreesAlongMotionAndAcrossCuts) {
  for (const Format& format : Formats()) {
    for (const PictureSize size : {PictureSize{97, 61}, PictureSize{128, 96}, PictureSize{33, 32}, PictureSize{20, 14}}) {
      const PictureSize to{size.width * 5 / 4 * 2, size.height * 5 / 4 * 2};
      ExpectAgreement(Accumulating(size, format.layout, to), format.layout, MovingFrames(size, format.layout), std::string("accumulation ") + format.name,
                      kRefinedShare);
    }
  }
}

TEST(CudaStages, AccumulationOfTheSourceItselfAgrees) {
  const PictureSize size{96, 64};  // no resize: the stages before read the same planes
  const pixel::PackedLayout layout = Formats()[0].layout;
  ExpectAgreement(Accumulating(size, layout, size), layout, MovingFrames(size, layout), "accumulation at the same size", 0.01);
}

TEST(CudaStages, AccumulationChangesAllPicturesOfASceneButTheFirst) {
  const PictureSize size{97, 61};
  const pixel::PackedLayout layout = Formats()[0].layout;
  StageOptions o = Accumulating(size, layout, {242, 152});
  CpuTwin with(o, layout);
  o.accumulation_strength = 0;
  CpuTwin without(o, layout);
  const auto frames = MovingFrames(size, layout);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Difference d = Compare(with.Run(frames[i]), without.Run(frames[i]));
    if (i == 0 || i == 5) {
      EXPECT_EQ(d.worst, 0) << "picture " << i;
    } else {
      EXPECT_GT(d.share, 0.2) << "picture " << i << ": the comparison of both devices tests nothing";
    }
  }
}

TEST(CudaStages, DebandingAgrees) {
  for (const Format& format : Formats()) {
    for (const PictureSize size : {PictureSize{97, 61}, PictureSize{64, 48}, PictureSize{9, 17}}) {
      StageOptions o = Plain(size, format.layout, {size.width / 2 * 2 + 2, size.height / 2 * 2 + 2});
      o.deband_threshold = 30;  // as large as the contrast of the pattern
      o.working_share = size.width > 90 ? 0.6F : 1;
      ExpectAgreement(o, format.layout, Sequence(size, format.layout, 2), std::string("deband ") + format.name, 0.005);
    }
  }
}

TEST(CudaStages, EdgesAgree) {
  for (const Format& format : Formats()) {
    for (const PictureSize size : {PictureSize{97, 61}, PictureSize{64, 48}, PictureSize{9, 17}}) {
      for (const int times : {1, 3}) {
        StageOptions o = Plain(size, format.layout, {size.width * times / 2 * 2 + 2, size.height * times / 2 * 2 + 2});
        o.edge_strength = 0.9F;
        o.edge_enlargement = static_cast<float>(times);
        ExpectAgreement(o, format.layout, Sequence(size, format.layout, 2), std::string("edges ") + format.name, 0.005);
      }
    }
  }
}

TEST(CudaStages, EdgesChangeThePictures) {
  const pixel::PackedLayout layout = Formats()[0].layout;
  StageOptions o = Plain({97, 61}, layout, {292, 184});
  const RawFrame frame = MakeRaw({97, 61}, layout, 7);
  const auto plain = CpuTwin(o, layout).Run(frame);
  o.edge_strength = 0.9F;
  o.edge_enlargement = 3;
  EXPECT_GT(Compare(CpuTwin(o, layout).Run(frame), plain).worst, 3) << "the comparison of both devices tests nothing";
}

TEST(CudaStages, ContrastAgreesOverTimeAndAcrossCuts) {
  for (const PictureSize size : {PictureSize{320, 180}, PictureSize{66, 130}, PictureSize{16, 16}}) {
    for (const auto range : {pixel::Range::kLimited, pixel::Range::kFull}) {
      const pixel::PackedLayout layout = Formats()[0].layout;
      StageOptions o = Plain(size, layout, size);
      o.color.range = range;
      o.contrast_strength = 0.7F;
      auto frames = Sequence(size, layout, 18, 1.5);
      for (RawFrame& cut : Sequence(size, layout, 4, -50)) frames.push_back(std::move(cut));
      ExpectAgreement(o, layout, frames, "contrast " + pixel::testing::Name(size), 0.01);
    }
  }
}

TEST(CudaStages, SpreadLevelsAgreeOverTimeAndAcrossCuts) {
  for (const PictureSize size : {PictureSize{320, 180}, PictureSize{66, 130}, PictureSize{16, 16}}) {
    for (const auto range : {pixel::Range::kLimited, pixel::Range::kFull}) {
      for (const bool leads_local : {false, true}) {
        const pixel::PackedLayout layout = Formats()[0].layout;
        StageOptions o = Plain(size, layout, size);
        o.color.range = o.output_color.range = range;
        o.contrast_strength = 0.5F;
        o.level_lift = {0.9F, {0.25F, 0.68F}, 0.02F, leads_local};
        auto frames = Sequence(size, layout, 18, 1.5);
        for (RawFrame& cut : Sequence(size, layout, 4, -50)) frames.push_back(std::move(cut));
        for (RawFrame& frame : frames) {  // low contrast
          for (std::uint8_t& level : frame.bytes[0]) level = static_cast<std::uint8_t>(124 + (level - 124) / 2);
        }
        ExpectAgreement(o, layout, frames, "levels " + pixel::testing::Name(size), 0.01);
      }
    }
  }
}

TEST(CudaStages, SharpeningAgrees) {
  for (const PictureSize size : {PictureSize{132, 70}, PictureSize{2, 2}, PictureSize{128, 8}, PictureSize{258, 34}}) {
    for (const float strength : {0.1F, 0.25F, 1.0F}) {
      const pixel::PackedLayout layout = Formats()[0].layout;
      StageOptions o = Plain(size, layout, size);
      o.sharpen_strength = strength;
      ExpectAgreement(o, layout, Sequence(size, layout, 1), "sharpen " + pixel::testing::Name(size), 0.005);
    }
  }
}

TEST(CudaStages, AllStagesTogetherAgree) {
  const pixel::PackedLayout layout = Formats()[1].layout;
  StageOptions o = Plain({98, 62}, layout, {200, 132});
  o.color = {pixel::Matrix::kBt601, pixel::Range::kFull, pixel::ChromaSite::kCentre};
  o.denoise_strength = 0.4F;
  o.temporal_strength = 0.8F;
  o.noise_sigma = 1.8F;
  o.temporal_sigma = 2.5F;
  o.deband_threshold = 8;
  o.accumulation_strength = 1;
  o.edge_strength = 1;
  o.edge_enlargement = 2;
  o.contrast_strength = 0.3F;
  o.sharpen_strength = 0.2F;
  ExpectAgreement(o, layout, Sequence({98, 62}, layout, 20, 1.0), "all", 0.03);
}

TEST(CudaStages, ScenesAreCutAtTheSamePictures) {
  // Contrast restarts at cuts. A missed or false cut would change the pictures after it by many levels.
  const PictureSize size{128, 72};
  const pixel::PackedLayout layout = Formats()[0].layout;
  StageOptions o = Plain(size, layout, size);
  o.contrast_strength = 1.0F;
  std::vector<RawFrame> frames;
  for (const double shade : {0.0, 1.0, 2.0, 60.0, 61.0, 2.0, 2.0, -70.0, -70.0, -70.0})
    frames.push_back(MakeRaw(size, layout, 5, shade));
  CpuTwin cpu(o, layout);
  DeviceTwin device(TestDevice(), o, layout, true);
  for (const RawFrame& frame : frames) EXPECT_LE(Compare(cpu.Run(frame), device.Run(frame)).worst, 1);
  EXPECT_GE(cpu.cuts, 1);
}

TEST(CudaStages, NothingIsAllocatedFromFrameToFrame) {
  const pixel::PackedLayout layout = Formats()[0].layout;
  StageOptions o = Plain({64, 48}, layout, {128, 96});
  o.denoise_strength = o.temporal_strength = 0.5F;
  o.noise_sigma = o.temporal_sigma = 2;
  o.contrast_strength = o.sharpen_strength = 0.5F;
  const auto stand_in = std::make_shared<StandInDevice>();
  DeviceTwin device(stand_in, o, layout, true);
  const auto frames = Sequence({64, 48}, layout, 8);
  for (int i = 0; i < 4; ++i) device.Run(frames[i]);  // allocates all buffers of the uploader
  const int before = stand_in->allocations();
  for (int i = 4; i < 8; ++i) device.Run(frames[i]);
  EXPECT_EQ(stand_in->allocations(), before);
  EXPECT_EQ(stand_in->transfers().frame_uploads, 8);
}

}  // namespace
}  // namespace reelmend::cuda
