// The output file when a stream brings packets that the container refuses.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "helpers/clips.h"
#include "media/muxer.h"
#include "reelmend/error.h"

namespace reelmend::media {
namespace {

using reelmend::testing::CountPackets;
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
    UniquePacket packet(av_packet_alloc());
    ASSERT_EQ(av_new_packet(packet.get(), 64), 0);
    std::memset(packet->data, 0, 64);
    packet->pts = packet->dts = at_ms;
    packet->duration = duration_ms;
    packet->time_base = kMilliseconds;
    packet->flags = AV_PKT_FLAG_KEY;
    muxer_.Write(stream, *packet);
  }

  /// No MP4 holds a packet of that length; libav finds out when it writes it.
  void WriteRefusedSound(std::int64_t at_ms) { Write(sound_, at_ms, std::numeric_limits<int>::max()); }

  TemporaryFolder folder_;
  std::string path_ = folder_.File("out.mp4");
  Muxer muxer_{path_, nullptr};
  int sound_ = 0;
  int video_ = 0;
};

TEST_F(MuxerTest, KeepsEveryFrameWhenSoundThatWaitedIsRefused) {
  WriteRefusedSound(0);  // waits for the picture's stream
  for (int i = 0; i < 5; ++i) {
    Write(video_, i * 40);
    Write(sound_, 20 + i * 40);
  }
  muxer_.Finish();
  EXPECT_EQ(CountPackets(path_, "v"), 5);
  EXPECT_EQ(CountPackets(path_, "a"), 5);
}

TEST_F(MuxerTest, KeepsWhatWaitsBehindARefusedPacketAtTheEnd) {
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

TEST_F(MuxerTest, RefusesFramesOutOfOrder) {
  Write(video_, 40);
  try {
    Write(video_, 40);
    FAIL() << "the second frame was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace reelmend::media
