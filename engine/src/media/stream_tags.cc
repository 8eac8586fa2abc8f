#include "media/stream_tags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "media/av_error.h"
#include "media/text_encoding.h"

namespace reelmend::media {
namespace {

constexpr std::array<std::string_view, 21> kAllowedKeys = {
    "title",     "artist",   "album_artist", "composer", "album",      "comment",       "description",
    "synopsis",  "copyright", "genre",       "grouping", "show",       "episode_id",    "season_number",
    "episode_sort", "network", "track",      "disc",     "lyrics",     "date",          "creation_time"};

constexpr std::size_t kLongestValue = 4000;
constexpr std::size_t kLongestTitle = 255;

/// Two-letter codes (ISO 639-1) of the languages that films are commonly tagged with.
constexpr std::array<std::pair<std::string_view, std::string_view>, 48> kTwoLetters = {{
    {"ar", "ara"}, {"bg", "bul"}, {"bn", "ben"}, {"ca", "cat"}, {"cs", "ces"}, {"da", "dan"}, {"de", "deu"},
    {"el", "ell"}, {"en", "eng"}, {"es", "spa"}, {"et", "est"}, {"eu", "eus"}, {"fa", "fas"}, {"fi", "fin"},
    {"fr", "fra"}, {"ga", "gle"}, {"gl", "glg"}, {"he", "heb"}, {"hi", "hin"}, {"hr", "hrv"}, {"hu", "hun"},
    {"id", "ind"}, {"is", "isl"}, {"it", "ita"}, {"ja", "jpn"}, {"ko", "kor"}, {"lt", "lit"}, {"lv", "lav"},
    {"ms", "msa"}, {"nb", "nob"}, {"nl", "nld"}, {"no", "nor"}, {"pl", "pol"}, {"pt", "por"}, {"ro", "ron"},
    {"ru", "rus"}, {"sk", "slk"}, {"sl", "slv"}, {"sr", "srp"}, {"sv", "swe"}, {"ta", "tam"}, {"te", "tel"},
    {"th", "tha"}, {"tr", "tur"}, {"uk", "ukr"}, {"ur", "urd"}, {"vi", "vie"}, {"zh", "zho"},
}};

/// Codes after the English name of a language, which Matroska has, and those after its own name (ISO 639-2/T), which MP4 requires.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kTerminological = {{
    {"alb", "sqi"}, {"arm", "hye"}, {"baq", "eus"}, {"bur", "mya"}, {"chi", "zho"}, {"cze", "ces"}, {"dut", "nld"},
    {"fre", "fra"}, {"geo", "kat"}, {"ger", "deu"}, {"gre", "ell"}, {"ice", "isl"}, {"mac", "mkd"}, {"mao", "mri"},
    {"may", "msa"}, {"per", "fas"}, {"rum", "ron"}, {"slo", "slk"}, {"tib", "bod"}, {"wel", "cym"},
}};

/// The code that a table pairs with `code`, else `other`.
template <typename Table>
std::string Counterpart(const Table& table, const std::string& code, const std::string& other) {
  const auto found = std::ranges::find(table, code, [](const auto& pair) { return pair.first; });
  return found == table.end() ? other : std::string(found->second);
}

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

/// Skips a sign, `least` to `most` digits and a decimal fraction. Returns false if something else is there.
bool SkipCoordinate(const std::string& text, std::size_t& at, std::size_t least, std::size_t most) {
  if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return false;
  const std::size_t first = ++at;
  while (at < text.size() && at - first < most && IsDigit(text[at])) ++at;
  if (at - first < least) return false;
  if (at + 1 < text.size() && text[at] == '.' && IsDigit(text[at + 1])) {
    for (++at; at < text.size() && IsDigit(text[at]);) ++at;
  }
  return true;
}

/// ISO 6709 as cameras write it: +40.6892-074.0445+010.000/
bool LooksLikePosition(const std::string& value) {
  for (std::size_t start = 0; start < value.size(); ++start) {
    std::size_t at = start;
    if (SkipCoordinate(value, at, 2, 6) && SkipCoordinate(value, at, 3, 7)) return true;
  }
  return false;
}

std::string Tag(const AVDictionary* tags, const char* key) {
  const AVDictionaryEntry* entry = av_dict_get(tags, key, nullptr, 0);
  return entry == nullptr ? "" : ToUtf8(entry->value);
}

/// The title, or the handler's name unless programs write that name into every file.
std::string Title(const AVDictionary* tags) {
  const std::string title = CleanText(Tag(tags, "title"), kLongestTitle);
  if (!title.empty()) return LooksLikePosition(title) ? "" : title;
  const std::string name = CleanText(Tag(tags, "name"), kLongestTitle);
  return LooksLikePosition(name) ? "" : name;
}

}  // namespace

std::string CleanText(const std::string& text, std::size_t limit) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = Utf8Length(text, at);
    if (out.size() + length > limit) break;
    const auto lead = static_cast<unsigned char>(text[at]);
    const bool is_control = (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7F;
    if (length > 0 && !is_control) out.append(text, at, length);
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

std::string NormalLanguage(const std::string& language) {
  std::string code;
  for (const char letter : language) {
    if (std::isalpha(static_cast<unsigned char>(letter)) == 0) break;
    code += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (code.size() == 2) return Counterpart(kTwoLetters, code, "");
  return code.size() == 3 && code != "und" ? Counterpart(kTerminological, code, code) : "";
}

void CopyMetadata(const AVDictionary* source, AVDictionary** target) {
  for (const std::string_view key : kAllowedKeys) {
    const std::string name(key);
    const std::string value = CleanText(Tag(source, name.c_str()), kLongestValue);
    if (value.empty() || LooksLikePosition(value)) continue;
    av_dict_set(target, name.c_str(), value.c_str(), 0);
  }
}

StreamTags ReadTags(const AVStream& stream) {
  constexpr int kKept = AV_DISPOSITION_DEFAULT | AV_DISPOSITION_DUB | AV_DISPOSITION_ORIGINAL |
                        AV_DISPOSITION_COMMENT | AV_DISPOSITION_LYRICS | AV_DISPOSITION_KARAOKE |
                        AV_DISPOSITION_FORCED | AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_VISUAL_IMPAIRED |
                        AV_DISPOSITION_CLEAN_EFFECTS | AV_DISPOSITION_CAPTIONS | AV_DISPOSITION_DESCRIPTIONS;
  return {NormalLanguage(Tag(stream.metadata, "language")), Title(stream.metadata), stream.disposition & kKept};
}

std::vector<Chapter> ReadChapters(const AVFormatContext& context) {
  constexpr unsigned kMost = 1000;
  std::vector<Chapter> chapters;
  for (unsigned i = 0; i < std::min(context.nb_chapters, kMost); ++i) {
    const AVChapter& c = *context.chapters[i];
    const double tick = av_q2d(c.time_base);
    if (c.start == AV_NOPTS_VALUE || c.time_base.num <= 0 || c.time_base.den <= 0) continue;
    const double start_s = static_cast<double>(c.start) * tick;
    const double end_s = c.end == AV_NOPTS_VALUE || c.end <= c.start ? 0 : static_cast<double>(c.end) * tick;
    chapters.push_back({start_s, end_s, CleanText(Tag(c.metadata, "title"), kLongestTitle)});
  }
  std::ranges::stable_sort(chapters, {}, &Chapter::start_s);
  for (std::size_t i = 0; i < chapters.size(); ++i) {  // a chapter without an end lasts until the next one begins
    if (chapters[i].end_s > chapters[i].start_s) continue;
    chapters[i].end_s = i + 1 < chapters.size() ? chapters[i + 1].start_s : 1e9;
  }
  std::erase_if(chapters, [](const Chapter& c) { return !(c.end_s > c.start_s); });
  return chapters;
}

}  // namespace reelmend::media
