// The output file if a stream has packets that the container refuses.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "media/muxer.h"
#include "reelmend/error.h"

namespace reelmend::media {
namespace {

using reelmend::testing::CountPackets;
using reelmend::testing::StreamFacts;
using reelmend::testing::TemporaryFolder;

constexpr AVRational kMilliseconds = {1, 1000};

using UniqueParameters = std::unique_ptr<AVCodecParameters, FreeByAddress<avcodec_parameters_free>>;

UniqueParameters Picture() {
  UniqueParameters parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = AV_CODEC_ID_MJPEG;
  parameters->width = parameters->height = 16;
  return parameters;
}

UniqueParameters Sound() {
  UniqueParameters parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_AUDIO;
  parameters->codec_id = AV_CODEC_ID_AAC;
  parameters->sample_rate = 48'000;
  av_channel_layout_default(&parameters->ch_layout, 2);
  parameters->frame_size = 1024;
  return parameters;
}

class MuxerTest : public ::testing::Test {
 protected:
  MuxerTest() {
    sound_ = muxer_.AddStream(*Sound(), kMilliseconds, {});
    video_ = muxer_.AddStream(*Picture(), kMilliseconds, {});
    muxer_.Start({1, 90'000});
  }

  void Write(int stream, std::int64_t at_ms, std::int64_t duration_ms = 40) {
    WriteTo(muxer_, stream, at_ms, at_ms, duration_ms);
  }

  static void WriteTo(Muxer& muxer, int stream, std::int64_t shown_ms, std::int64_t decoded_ms, std::int64_t duration_ms) {
    UniquePacket packet(av_packet_alloc());
    ASSERT_EQ(av_new_packet(packet.get(), 64), 0);
    std::memset(packet->data, 0, 64);
    packet->pts = shown_ms;
    packet->dts = decoded_ms;
    packet->duration = duration_ms;
    packet->time_base = kMilliseconds;
    packet->flags = AV_PKT_FLAG_KEY;
    muxer.Write(stream, *packet);
  }

  /// Writes a packet that is too long for MP4. libav refuses it only when it is written.
  void WriteRefusedSound(std::int64_t at_ms) { Write(sound_, at_ms, std::numeric_limits<int>::max()); }

  TemporaryFolder folder_;
  std::string path_ = folder_.File("out.mp4");
  Muxer muxer_{path_, nullptr};
  int sound_ = 0;
  int video_ = 0;
};

TEST_F(MuxerTest, KeepsEveryFrameWhenQueuedSoundIsRefused) {
  WriteRefusedSound(0);  // is queued until the first video packet
  for (int i = 0; i < 5; ++i) {
    Write(video_, i * 40);
    Write(sound_, 20 + i * 40);
  }
  muxer_.Finish();
  EXPECT_EQ(CountPackets(path_, "v"), 5);
  EXPECT_EQ(CountPackets(path_, "a"), 5);
}

TEST_F(MuxerTest, KeepsPacketsQueuedBehindARefusedOneAtTheEnd) {
  Write(sound_, 0);
  WriteRefusedSound(24);
  WriteRefusedSound(48);
  Write(sound_, 72);
  Write(video_, 0);
  Write(video_, 80);
  muxer_.Finish();
  EXPECT_EQ(CountPackets(path_, "v"), 2);
  EXPECT_EQ(CountPackets(path_, "a"), 2);
}

struct CodedFrame {
  std::int64_t shown_ms, decoded_ms, duration_ms;
};

/// Frames are shown at 0, 40, 120, 200 and 320 ms, the last one for 120 ms. See Note [The end of the video].
TEST_F(MuxerTest, DeclaresTheShownDurationWhateverIsDecodedLast) {
  const std::vector<CodedFrame> orders[] = {
      {{0, -120, 40}, {120, -80, 80}, {40, 0, 80}, {200, 40, 120}, {320, 120, 120}},
      {{0, -120, 40}, {120, -80, 80}, {40, 0, 80}, {320, 40, 120}, {200, 120, 120}},
  };
  for (const auto& frames : orders) {
    const std::string path = folder_.File("frames.mp4");
    Muxer muxer(path, nullptr);
    const int video = muxer.AddStream(*Picture(), kMilliseconds, {});
    muxer.Start({1, 90'000});
    for (const CodedFrame& frame : frames) WriteTo(muxer, video, frame.shown_ms, frame.decoded_ms, frame.duration_ms);
    muxer.Finish();
    EXPECT_NEAR(std::stod(StreamFacts(path, "v").at("duration")), 0.44, 1e-6) << frames.back().shown_ms;
    EXPECT_NEAR(std::stod(StreamFacts(path, "v").at("start_time")), 0, 1e-6);
    EXPECT_EQ(CountPackets(path, "v"), 5);
  }
}

TEST_F(MuxerTest, RefusesFramesOutOfOrder) {
  Write(video_, 40);
  try {
    Write(video_, 40);
    FAIL() << "the second frame was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace reelmend::media
