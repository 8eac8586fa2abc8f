// Metadata of streams: what is kept and what is dropped; and subtitles as a sequence of samples.
#include <gtest/gtest.h>

#include "media/cue_timeline.h"
#include "media/stream_tags.h"
#include "media/subtitle_track.h"
#include "media/text_encoding.h"

namespace reelmend::media {
namespace {

TEST(CleanText, KeepsValidTextOnly) {
  EXPECT_EQ(CleanText("Grüße, 世界 😀", 100), "Grüße, 世界 😀");
  EXPECT_EQ(CleanText("line one\nline\ttwo\r\x07\x1b", 100), "line one\nline\ttwo");
  EXPECT_EQ(CleanText("bad \xff\xc0\x80 bytes", 100), "bad  bytes");
  EXPECT_EQ(CleanText("\xed\xa0\x80surrogate\xf4\x90\x80\x80", 100), "surrogate");
  EXPECT_EQ(CleanText("cut at \xe4\xb8", 100), "cut at ");
  EXPECT_EQ(CleanText("äää", 5), "ää") << "characters must not be split";
  EXPECT_EQ(CleanText("", 5), "");
}

TEST(ToUtf8, ReadsWhatIsNotUtf8AsWindows1252) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"Grüße, 世界 😀", "Grüße, 世界 😀"},
      {"Gr\xfc\xdf" "e", "Grüße"},
      {"caf\xe9", "café"},
      {"\x93" "5 \x80\x94 \x81\x9d", "“5 €” "},
      {"\xd0\xcf \xff", "ÐÏ ÿ"},
      {"für \xff äh", "für  äh"},  // damaged UTF-8
      {"Fußgänger f\xc3", "Fußgänger f"},  // cut
  };
  for (const auto& [in, out] : cases) EXPECT_EQ(ToUtf8(in), out) << in;
}

TEST(NormalLanguage, GivesThreeLetters) {
  const std::pair<const char*, const char*> cases[] = {{"eng", "eng"}, {"ENG", "eng"}, {"en", "eng"},
                                                       {"en-US", "eng"}, {"pt-BR", "por"}, {"und", ""},
                                                       {"xx", ""},       {"", ""},         {"english", ""},
                                                       {"de", "deu"},    {"ger", "deu"},   {"12", ""},
                                                       {"fre", "fra"},   {"chi", "zho"},   {"nld", "nld"}};
  for (const auto& [in, out] : cases) EXPECT_EQ(NormalLanguage(in), out) << in;
}

TEST(CopyMetadata, KeepsTheAuthorsTextAndDropsLocationAndDevice) {
  Dictionary source;
  const char* const kept[] = {"title", "artist", "album", "comment", "copyright", "date", "creation_time"};
  const char* const left[] = {"location", "location-eng", "com.apple.quicktime.location.ISO6709", "make", "model",
                              "com.apple.quicktime.make", "com.android.version", "encoder", "software",
                              "firmware", "serial_number", "timecode", "major_brand", "handler_name"};
  for (const char* key : kept) source.Set(key, "words");
  for (const char* key : left) source.Set(key, "words");
  source.Set("description", "shot at +40.6892-074.0445+010.000/");
  source.Set("genre", "\x01\x02");
  source.Set("synopsis", "Gr\xfc\xdf" "e");
  Dictionary target;
  CopyMetadata(*source.address(), target.address());
  for (const char* key : kept) EXPECT_NE(av_dict_get(*target.address(), key, nullptr, 0), nullptr) << key;
  EXPECT_STREQ(av_dict_get(*target.address(), "synopsis", nullptr, 0)->value, "Grüße");
  EXPECT_EQ(av_dict_count(*target.address()), static_cast<int>(std::size(kept)) + 1);
}

TEST(PlainText, TakesTheTextOutOfAnEvent) {
  const std::pair<const char*, const char*> cases[] = {
      {"0,0,Default,,0,0,0,,Hello", "Hello"},
      {"0,0,Default,,0,0,0,,one, two\\Nthree\\hfour", "one, two\nthree four"},
      {"0,0,Default,,0,0,0,,{\\i1}slanted{\\i0} not\\N", "slanted not"},
      {"0,0,Default,,0,0,0,,{\\p1}m 0 0 l 10 10{\\p0}words", "words"},
      {"0,0,Default,,0,0,0,,{\\pos(1,2)}placed", "placed"},
      {"0,0,Default,,0,0,0,,{\\an7\\pos(0,0)\\p1}m 0 0 l 10 10{\\p0}words", "words"},
      {"0,0,Default,,0,0,0,,{\\p1\\pbo5}m 0 0 l 10 10{\\pbo0\\p0}words", "words"},
      {"0,0,Default,,0,0,0,,{open", ""},
      {"no commas", ""},
      {"", ""},
  };
  for (const auto& [event, text] : cases) EXPECT_EQ(PlainText(event), text) << event;
}

TEST(PlainText, KeepsBracesAndBackslashesWhereTheyAreNoCodes) {
  const std::pair<const char*, const char*> cases[] = {
      {"0,0,Default,,0,0,0,,{sighs} Hello", "{sighs} Hello"},
      {"0,0,Default,,0,0,0,,\\{{}sighs} Hello", "{sighs} Hello"},
      {"0,0,Default,,0,0,0,,\\{sighs\\} Hello", "{sighs} Hello"},
      {"0,0,Default,,0,0,0,,{\\an8}top", "top"},
      {"0,0,Default,,0,0,0,,C:\\new {x", "C:\\new {x"},
      {"0,0,Default,,0,0,0,,C:\\\u2060new", "C:\\new"},
      {"0,0,Default,,0,0,0,,{\\x", "{\\x"},
      {"0,0,Default,,0,0,0,,one\\Ntwo\\hthree", "one\ntwo three"},
  };
  for (const auto& [event, text] : cases) EXPECT_EQ(PlainText(event, CueMarkup::kNone), text) << event;
}

struct Sample {
  std::int64_t start, duration;
  std::string text;
  bool operator==(const Sample&) const = default;
};

class CueTimelineTest : public ::testing::Test {
 protected:
  CueTimeline::Emit emit_ = [this](std::int64_t start, std::int64_t duration, const std::string& text) {
    EXPECT_EQ(start, samples_.empty() ? 0 : samples_.back().start + samples_.back().duration) << "samples must have no gap and no overlap";
    EXPECT_GT(duration, 0);
    samples_.push_back({start, duration, text});
  };
  CueTimeline timeline_;
  std::vector<Sample> samples_;
};

TEST_F(CueTimelineTest, FillsTheGaps) {
  timeline_.Add(100, 300, "a");
  timeline_.Add(500, 600, "b");
  timeline_.Finish(1000, emit_);
  EXPECT_EQ(samples_, (std::vector<Sample>{{0, 100, ""}, {100, 200, "a"}, {300, 200, ""}, {500, 100, "b"}, {600, 400, ""}}));
}

TEST_F(CueTimelineTest, ShowsOverlappingCuesTogether) {
  timeline_.Add(0, 300, "a");
  timeline_.Add(200, 500, "b");
  timeline_.Finish(500, emit_);
  EXPECT_EQ(samples_, (std::vector<Sample>{{0, 200, "a"}, {200, 100, "a\nb"}, {300, 200, "b"}}));
}

TEST_F(CueTimelineTest, EndsWithTheVideo) {
  timeline_.Add(100, 5000, "long");
  timeline_.Add(2000, 3000, "beyond");
  timeline_.Finish(1000, emit_);
  EXPECT_EQ(samples_, (std::vector<Sample>{{0, 100, ""}, {100, 900, "long"}}));
  timeline_.Add(10, 20, "too late");
  timeline_.Finish(1000, emit_);
  EXPECT_EQ(samples_.size(), 2U);
}

TEST_F(CueTimelineTest, EmitsWhatIsCompleteAndCutsLateComers) {
  timeline_.Add(100, 300, "a");
  timeline_.AdvanceTo(250, emit_);
  EXPECT_EQ(samples_, (std::vector<Sample>{{0, 100, ""}}));
  timeline_.AdvanceTo(300, emit_);
  EXPECT_EQ(samples_.back(), (Sample{100, 200, "a"}));
  timeline_.Add(50, 400, "late");
  timeline_.AdvanceTo(400, emit_);
  EXPECT_EQ(samples_.back(), (Sample{300, 100, "late"}));
  timeline_.AdvanceTo(400 + CueTimeline::kLongestSilence, emit_);
  EXPECT_EQ(samples_.back(), (Sample{400, CueTimeline::kLongestSilence, ""}));
}

TEST_F(CueTimelineTest, NoSampleIsLongerThanMp4Allows) {
  constexpr std::int64_t kHour = 3'600'000'000;
  // The video advances in two steps only, as one that shows a picture for hours.
  timeline_.Add(kHour, 2 * kHour, "a");
  timeline_.AdvanceTo(3 * kHour, emit_);
  timeline_.Finish(4 * kHour, emit_);
  std::int64_t with_text = 0;
  for (const Sample& sample : samples_) {
    EXPECT_LE(sample.duration, std::int64_t{1} << 31) << sample.start;
    with_text += sample.text == "a" ? sample.duration : 0;
  }
  EXPECT_EQ(with_text, kHour);
  EXPECT_EQ(samples_.back().start + samples_.back().duration, 4 * kHour);
}

}  // namespace
}  // namespace reelmend::media
