// Sound, subtitles, chapters and metadata of the output, checked with ffprobe and ffmpeg.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "helpers/clips.h"
#include "reelmend/enhance.h"

namespace reelmend {
namespace {

using testing::CountPackets;
using testing::Ffmpeg;
using testing::PlainOptions;
using testing::RunCommand;
using testing::StreamFacts;
using testing::TemporaryFolder;
using testing::ToneInput;
using testing::VideoInput;

constexpr const char* kCues =
    "1\n00:00:00,400 --> 00:00:01,200\nHello <i>you</i>\n\n"
    "2\n00:00:01,000 --> 00:00:01,600\nÜber, zwei\nZeilen\n\n"
    "3\n00:00:30,000 --> 00:00:40,000\nbeyond the end\n\n";

constexpr const char* kWords =
    ";FFMETADATA1\ntitle=Film\nartist=Somebody\ncomment=CC BY\ndate=2024\nlocation=+40.7388-074.0002/\nmake=Maker\n"
    "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=900\ntitle=Eins\n"
    "[CHAPTER]\nTIMEBASE=1/1000\nSTART=900\nEND=90000\ntitle=Zwei\n"
    "[CHAPTER]\nTIMEBASE=1/1000\nSTART=90000\nEND=91000\ntitle=beyond\n";

class StreamsTest : public ::testing::Test {
 protected:
  StreamsTest() {
    std::ofstream(folder_.File("cues.srt")) << kCues;
    std::ofstream(folder_.File("words.txt")) << kWords;
  }
  std::string Enhanced(const std::string& name, const std::string& inputs, const std::string& encode) {
    source_ = folder_.File(name);
    Ffmpeg(inputs + " " + encode + " '" + source_ + "'");
    result_ = Enhance(source_, output_, PlainOptions());
    return output_;
  }
  std::string Inputs() const {
    return VideoInput("160x90", 2) + " " + ToneInput(2) + " -i " + folder_.File("cues.srt") + " -i " +
           folder_.File("words.txt");
  }
  std::string Probe(const std::string& what) const {
    return RunCommand("ffprobe -v error " + what + " -of default=nw=1 " + output_);
  }
  std::string Subtitles(int index) const {
    std::string text = RunCommand("ffmpeg -v error -i " + output_ + " -map 0:s:" + std::to_string(index) + " -f srt -");
    std::erase(text, '\r');
    return text;
  }
  TemporaryFolder folder_;
  std::string source_;
  std::string output_ = folder_.File("out.mp4");
  EnhanceResult result_;
};

TEST_F(StreamsTest, KeepsEverySoundTrackWithNameAndLanguage) {
  Enhanced("many.mkv", Inputs(),
           "-map 0 -map 1 -map 1 -map 1 -c:v libx264 -pix_fmt yuv420p -c:a:0 aac -c:a:1 libvorbis -c:a:2 ac3 "
           "-metadata:s:a:0 language=deu -metadata:s:a:0 title='Ton & Töne' -metadata:s:a:1 language=fra "
           "-disposition:a:0 0 -disposition:a:1 default");
  struct { const char* codec; const char* language; const char* name; const char* is_default; } const expected[] = {
      {"aac", "deu", "Ton & Töne", "0"}, {"aac", "fra", "SoundHandler", "1"}, {"ac3", "und", "SoundHandler", "0"}};
  for (int i = 0; i < 3; ++i) {
    const auto facts = StreamFacts(output_, "a:" + std::to_string(i));
    ASSERT_FALSE(facts.empty()) << i;
    EXPECT_EQ(facts.at("codec_name"), expected[i].codec);
    EXPECT_EQ(facts.at("TAG:language"), expected[i].language);
    EXPECT_EQ(facts.at("TAG:handler_name"), expected[i].name);
    EXPECT_EQ(facts.at("DISPOSITION:default"), expected[i].is_default);
    EXPECT_NEAR(std::stod(facts.at("duration")), 2, 0.06);
  }
  EXPECT_TRUE(StreamFacts(output_, "a:3").empty());
}

TEST_F(StreamsTest, TurnsTextSubtitlesIntoTimedText) {
  const std::pair<const char*, const char*> cases[] = {{"srt.mkv", "srt"},     {"ass.mkv", "ass"}, {"ssa.mkv", "ssa"},
                                                       {"web.mkv", "webvtt"},  {"mov.mp4", "mov_text"},
                                                       {"mov.mov", "mov_text"}};
  for (const auto& [name, codec] : cases) {
    SCOPED_TRACE(name);
    Enhanced(name, Inputs(), std::string("-map 0 -map 2 -c:v libx264 -bf 0 -pix_fmt yuv420p -metadata:s:s language=ger "
                                         "-metadata:s:s title=Untertitel -disposition:s:0 forced -c:s ") + codec);
    const auto facts = StreamFacts(output_, "s");
    ASSERT_FALSE(facts.empty());
    EXPECT_EQ(facts.at("codec_name"), "mov_text");
    EXPECT_EQ(facts.at("TAG:language"), "deu");
    if (std::string(name).ends_with("mkv")) {
      EXPECT_EQ(facts.at("TAG:handler_name"), "Untertitel");
      EXPECT_EQ(facts.at("DISPOSITION:forced"), "1");
    }
    EXPECT_NEAR(std::stod(facts.at("duration")), 2, 0.01) << "subtitles must end with the video";
    EXPECT_NEAR(std::stod(StreamFacts(output_, "v").at("duration")), 2, 0.001);
    EXPECT_NE(Probe("-show_entries format=duration").find("duration=2.0"), std::string::npos);
    // MP4 cannot show two cues at once: in such a source the second cue ends the first.
    const bool is_joined = std::string(name).ends_with("mkv");
    if (!is_joined) {
      EXPECT_EQ(Subtitles(0), "1\n00:00:00,400 --> 00:00:01,000\nHello you\n\n"
                              "2\n00:00:01,000 --> 00:00:01,600\nÜber, zwei\nZeilen\n\n");
      continue;
    }
    EXPECT_EQ(Subtitles(0),
              "1\n00:00:00,400 --> 00:00:01,000\nHello you\n\n"
              "2\n00:00:01,000 --> 00:00:01,200\nHello you\nÜber, zwei\nZeilen\n\n"
              "3\n00:00:01,200 --> 00:00:01,600\nÜber, zwei\nZeilen\n\n");
  }
}

TEST_F(StreamsTest, KeepsBracesAndBackslashesOfSubtitlesWithoutCodes) {
  const std::string text = "{sighs} Save it in C:\\new {x";
  std::ofstream(folder_.File("cues.vtt")) << "WEBVTT\n\n00:00.200 --> 00:00.900\n" << text << "\n\n";
  std::ofstream(folder_.File("cues.srt")) << "1\n00:00:00,200 --> 00:00:00,900\n{\\an8}" << text << "\n\n";
  for (const char* cues : {"cues.vtt", "cues.srt"}) {
    Enhanced("braces.mkv", VideoInput("160x90", 1) + " -i " + folder_.File(cues), "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:s copy");
    const std::string bytes = RunCommand("ffmpeg -v error -i '" + output_ + "' -map 0:s:0 -c copy -f data -");
    EXPECT_NE(bytes.find("\x1C" + text), std::string::npos) << cues << ": " << bytes;  // behind its length
  }
}

TEST_F(StreamsTest, ReadsOldSubtitlesAsWindows1252) {
  std::ofstream(folder_.File("old.srt")) << "1\n00:00:00,400 --> 00:00:01,000\nGr\xfc\xdf" "e, \x93Z\xfcrich\x94\n\n"
                                            "2\n00:00:01,000 --> 00:00:01,600\nÜber: 5 €\n\n";
  std::ofstream(folder_.File("old.ass")) << "[Script Info]\nScriptType: v4.00+\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Gr\xfc" "n\n"
                                            "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
                                            "Dialogue: 0,0:00:00.40,0:00:01.00,Default,,0,0,0,,Gr\xfc\xdf" "e, \x93Z\xfcrich\x94\n"
                                            "Dialogue: 0,0:00:01.00,0:00:01.60,Default,,0,0,0,,Über: 5 €\n";
  for (const std::string name : {"old.srt", "old.ass"}) {
    SCOPED_TRACE(name);
    Enhanced("old.mkv", VideoInput("160x90", 2) + " -i " + folder_.File(name), "-map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -c:s copy");
    EXPECT_EQ(Subtitles(0), "1\n00:00:00,400 --> 00:00:01,000\nGrüße, “Zürich”\n\n2\n00:00:01,000 --> 00:00:01,600\nÜber: 5 €\n\n");
  }
}

/// Puts captions (ATSC A/53) into each picture of an MPEG-2 stream: "HI" in CEA-608, shown for a second.
void AddCaptions(const std::string& file) {
  const std::string kSlice("\x00\x00\x01\x01", 4);
  // Load a caption, in the last row, its text; show it; 25 pictures later erase it. Control codes are sent twice.
  std::vector<std::string> codes = {"\x94\x20", "\x94\x20", "\x94\x70", "\x94\x70", "\xC8\x49", "\x94\x2F", "\x94\x2F"};
  codes.resize(30, "\x80\x80");
  codes.insert(codes.end(), 2, "\x94\x2C");
  std::ifstream in(file, std::ios::binary);
  std::string stream((std::istreambuf_iterator<char>(in)), {});
  std::size_t picture = 0;
  for (std::size_t at = stream.find(kSlice); at != std::string::npos; ++picture) {
    const std::string code = picture < codes.size() ? codes[picture] : "\x80\x80";
    const std::string captions = std::string("\x00\x00\x01\xB2GA94\x03\x41\xFF\xFC", 12) + code + "\xFF";
    stream.insert(at, captions);
    at = stream.find(kSlice, at + captions.size() + kSlice.size());
  }
  std::ofstream(file, std::ios::binary) << stream;
}

TEST_F(StreamsTest, KeepsCaptionsOfThePictures) {
  for (const std::string coding : {"-bf 0", "-bf 0 -flags +ilme+ildct -vf setfield=tff"}) {
    SCOPED_TRACE(coding);
    source_ = folder_.File("captions.m2v");
    Ffmpeg(VideoInput("160x96", 2) + " -c:v mpeg2video " + coding + " '" + source_ + "'");
    AddCaptions(source_);
    EXPECT_EQ(Enhance(source_, output_, PlainOptions()).frames, 50);
    std::istringstream side_data(RunCommand("ffprobe -v error -select_streams v -show_entries frame_side_data=side_data_type -of csv=p=0 " + output_));
    int frames = 0;
    for (std::string line; std::getline(side_data, line);) frames += line.find("Closed Captions") != std::string::npos ? 1 : 0;
    EXPECT_EQ(frames, 50);
    const auto captions = [](const std::string& file) { return RunCommand("ffmpeg -v error -f lavfi -i 'movie=" + file + "[out+subcc]' -map 0:s -f srt -"); };
    EXPECT_NE(captions(output_).find("HI"), std::string::npos) << captions(output_);
    EXPECT_EQ(captions(output_), captions(source_));
  }
}

TEST_F(StreamsTest, SubtitlesStayWithThePictureWhenTheSourceStartsLate) {
  Enhanced("late.mkv", "-itsoffset 5 " + VideoInput("160x90", 2) + " -itsoffset 5 " + ToneInput(2) +
                           " -itsoffset 5 -i " + folder_.File("cues.srt"),
           "-map 0 -map 1 -map 2 -c:v libx264 -bf 0 -pix_fmt yuv420p -c:a pcm_s16le -c:s srt -copyts");
  EXPECT_NE(Subtitles(0).find("00:00:00,400 --> 00:00:01,000"), std::string::npos) << Subtitles(0);
}

TEST_F(StreamsTest, SparseSubtitlesAmongLongSilence) {
  std::ofstream(folder_.File("cues.srt")) << "1\n00:00:19,000 --> 00:00:19,500\nlast\n\n";
  Enhanced("sparse.mkv", VideoInput("64x64", 20, "5") + " " + ToneInput(20) + " -i " + folder_.File("cues.srt"),
           "-map 0 -map 1 -map 2 -c:v libx264 -bf 0 -pix_fmt yuv420p -c:a pcm_s16le -c:s srt");
  EXPECT_EQ(Subtitles(0), "1\n00:00:19,000 --> 00:00:19,500\nlast\n\n");
  EXPECT_LT(CountPackets(output_, "s:0"), 14);
}

TEST_F(StreamsTest, ATextMayStayForAnHour) {
  std::ofstream(folder_.File("cues.srt")) << "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n"
                                             "2\n00:00:05,000 --> 00:58:20,000\nmark\n\n"
                                             "3\n00:59:10,000 --> 00:59:20,000\nlast\n\n";
  Enhanced("hour.mkv", VideoInput("32x32", 3600, "1/4") + " -i " + folder_.File("cues.srt"), "-map 0 -map 1 -c:v mpeg4 -c:s srt");
  EXPECT_EQ(Subtitles(0), "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n"
                          "2\n00:00:05,000 --> 00:30:08,000\nmark\n\n"
                          "3\n00:30:08,000 --> 00:58:20,000\nmark\n\n"
                          "4\n00:59:10,000 --> 00:59:20,000\nlast\n\n");
}

TEST_F(StreamsTest, APictureMayStayForHoursBesideATitle) {
  std::ofstream(folder_.File("cues.srt")) << "1\n01:00:00,000 --> 01:00:02,000\nfirst\n\n2\n02:30:00,000 --> 02:30:02,000\nlast\n\n";
  Enhanced("slides.mkv", VideoInput("32x32", 15'000, "1/5000") + " -i " + folder_.File("cues.srt"), "-map 0 -map 1 -c:v mpeg4 -c:s srt");
  EXPECT_EQ(Subtitles(0), "1\n01:00:00,000 --> 01:00:02,000\nfirst\n\n2\n02:30:00,000 --> 02:30:02,000\nlast\n\n");
}

TEST_F(StreamsTest, KeepsChaptersUpToTheEnd) {
  for (const char* name : {"chapters.mkv", "chapters.mp4", "chapters.mov"}) {
    Enhanced(name, Inputs(), "-map 0 -map 1 -map_metadata 3 -map_chapters 3 -c:v libx264 -bf 0 -pix_fmt yuv420p -c:a " + std::string(std::string(name).ends_with("mp4") ? "aac" : "pcm_s16le"));
    EXPECT_EQ(Probe("-show_entries chapter=start_time,end_time:chapter_tags=title"),
              "start_time=0.000000\nend_time=0.900000\nTAG:title=Eins\n"
              "start_time=0.900000\nend_time=2.000000\nTAG:title=Zwei\n") << name;
    EXPECT_NE(Probe("-show_entries format=duration").find("duration=2.0"), std::string::npos) << name;
  }
}

TEST_F(StreamsTest, KeepsTheAuthorsTextAndDropsLocationAndDevice) {
  for (const char* name : {"words.mkv", "words.mp4", "words.mov"}) {
    Enhanced(name, Inputs(), "-map 0 -map_metadata 3 -map_chapters -1 -movflags use_metadata_tags -c:v libx264 -pix_fmt yuv420p");
    const std::string tags = Probe("-show_entries format_tags");
    for (const char* kept : {"title=Film", "artist=Somebody", "comment=CC BY", "date=2024"}) {
      EXPECT_NE(tags.find(kept), std::string::npos) << name << ": " << kept << "\n" << tags;
    }
    std::ifstream file(output_, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (const char* left : {"40.7388", "Maker"}) EXPECT_EQ(bytes.find(left), std::string::npos) << name << ": " << left;
  }
}

TEST_F(StreamsTest, LeavesPicturesAndDataOut) {
  Ffmpeg(VideoInput("64x64", 0.04) + " -frames:v 1 " + folder_.File("cover.png"));
  Enhanced("cover.mp4", Inputs() + " -i " + folder_.File("cover.png"),
           "-map 0 -map 1 -map 4 -map_chapters -1 -c:v:0 libx264 -pix_fmt yuv420p -c:a aac -c:v:1 png -disposition:v:1 attached_pic");
  EXPECT_TRUE(StreamFacts(output_, "v:1").empty());
  EXPECT_EQ(StreamFacts(output_, "v").at("width"), "160");
  Ffmpeg("-i " + source_ + " -map 0:v:0 -c copy -attach " + folder_.File("words.txt") +
         " -metadata:s:t mimetype=text/plain " + folder_.File("attached.mkv"));
  Enhance(folder_.File("attached.mkv"), output_, PlainOptions());
  EXPECT_EQ(Probe("-show_entries stream=codec_type"), "codec_type=video\n");
}

}  // namespace
}  // namespace reelmend
