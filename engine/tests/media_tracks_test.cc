// Sources with several video tracks, programmes or chained files: which of them are taken.
#include <gtest/gtest.h>

#include <string>

#include "reelmend/enhance.h"
#include "reelmend/probe.h"
#include "sources_fixture.h"

namespace reelmend {
namespace {

using testing::ClipTest;
using testing::PlainOptions;
using testing::ToneInput;
using testing::VideoInput;
using testing::kH264;

using TracksTest = ClipTest;

TEST_F(TracksTest, TakesTheTrackThatMoves) {
  const std::string inputs = VideoInput("160x90", 2) + " -f lavfi -i testsrc2=size=640x360:rate=25:duration=0.04 ";
  for (const std::string order : {"-map 0 -map 1", "-map 1 -map 0"}) {
    for (const std::string name : {"photo.mp4", "photo.mov", "photo.mkv", "photo.avi", "photo.ts", "photo-fragments.mp4"}) {
      SCOPED_TRACE(name + " " + order);
      const std::string flags = name == "photo-fragments.mp4" ? " -movflags frag_keyframe+empty_moov" : "";
      const ProbeResult probe = ProbeFile(Clip(name, inputs + order + " -c:v mpeg4" + flags));
      EXPECT_EQ(probe.width, 160);
      EXPECT_NEAR(probe.duration_s, 2, 0.1);
    }
  }
  const EnhanceResult result = Enhance(Clip("photo.mp4", inputs + "-map 0 -map 1" + kH264), output_, PlainOptions());
  EXPECT_EQ(result.frames, 50);
  EXPECT_EQ(result.width, 160);
}

TEST_F(TracksTest, TakesTheDefaultAmongThoseThatMove) {
  const std::string inputs = VideoInput("160x90", 1) + " " + VideoInput("320x180", 1) + " -map 0 -map 1 -c:v mpeg4 ";
  EXPECT_EQ(ProbeFile(Clip("small.mkv", inputs + "-disposition:v:0 default -disposition:v:1 0")).width, 160);
  EXPECT_EQ(ProbeFile(Clip("large.mkv", inputs + "-disposition:v:0 0 -disposition:v:1 default")).width, 320);
  const std::string still = VideoInput("160x90", 1) + " -f lavfi -i testsrc2=size=640x360:rate=25:duration=0.04 -map 0 -map 1 -c:v mpeg4 ";
  EXPECT_EQ(ProbeFile(Clip("still.mkv", still + "-disposition:v:0 0 -disposition:v:1 default")).width, 160);
}

TEST_F(TracksTest, LosesNoPacketWhileChoosingTheTrack) {
  const std::string file = Clip("photo.mkv", VideoInput("160x90", 2) + " -f lavfi -i testsrc2=size=640x360:rate=25:duration=0.04 " +
                                                 ToneInput(2) + " -map 0 -map 1 -map 2 -c:v mpeg4 -c:a ac3");
  const EnhanceResult result = Enhance(file, output_, PlainOptions());
  EXPECT_EQ(result.frames, 50);
  EXPECT_EQ(testing::CountPackets(output_, "a:0"), testing::CountPackets(file, "a:0"));
}

TEST_F(TracksTest, TakesEachFileOfAChainedOgg) {
  const std::string one = Clip("one.ogv", VideoInput("160x90", 2) + " " + ToneInput(2) + " -c:v libtheora -c:a libvorbis");
  testing::RunCommand("cat '" + one + "' '" + one + "' > '" + folder_.File("chain.ogv") + "'");
  const EnhanceResult result = Enhance(folder_.File("chain.ogv"), output_, PlainOptions());
  EXPECT_EQ(result.frames, 100);
  EXPECT_NEAR(result.duration_s, 4, 0.05);
}

TEST_F(TracksTest, TakesTheSoundOfTheVideosProgramme) {
  const std::string file =
      Clip("two.ts", VideoInput("160x90", 1) + " " + VideoInput("320x180", 1) + " " + ToneInput(1) +
                         " -map 2 -map 0 -map 1 -map 2 -map 2 -c:v mpeg2video -c:a mp2 -metadata:s:a:0 language=fra -metadata:s:a:1 language=deu "
                         "-metadata:s:a:2 language=eng -program st=0:st=1 -program st=2:st=3:st=4");
  const ProbeResult probed = ProbeFile(file);
  EXPECT_EQ(probed.width, 320);
  ASSERT_EQ(probed.audio.size(), 2U);
  EXPECT_EQ(probed.audio[0].language, "deu");
  EXPECT_EQ(probed.audio[1].language, "eng");
  Enhance(file, output_, PlainOptions());
  EXPECT_EQ(testing::StreamFacts(output_, "a:0").at("TAG:language"), "deu");
  EXPECT_TRUE(testing::StreamFacts(output_, "a:2").empty());
}

TEST_F(TracksTest, SoundThatTwoProgrammesShareBelongsToBoth) {
  const std::string file = Clip("shared.ts", VideoInput("160x90", 1) + " " + VideoInput("320x180", 1) + " " + ToneInput(1) +
                                                 " -map 0 -map 1 -map 2 -c:v mpeg2video -c:a mp2 -program st=0:st=2 -program st=1:st=2");
  EXPECT_EQ(ProbeFile(file).audio.size(), 1U);
}

TEST_F(TracksTest, TakesSoundThatATransportStreamCallsPrivate) {
  const std::string file = Clip("a.m2ts", VideoInput("160x90", 2) + " " + ToneInput(2) + kH264 + "-c:a aac");
  ASSERT_NE(testing::StreamFacts(file, "a").at("codec_tag").find("0x0006"), std::string::npos);
  ASSERT_EQ(ProbeFile(file).audio.size(), 1U);
  Enhance(file, output_, PlainOptions());
  EXPECT_EQ(testing::CountPackets(output_, "a:0"), testing::CountPackets(file, "a:0"));
}

}  // namespace
}  // namespace reelmend
