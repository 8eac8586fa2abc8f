#include "media/text_encoding.h"

#include <array>

namespace reelmend::media {
namespace {

/// Characters 0x80 to 0x9F of Windows-1252; 0 if there is none.
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
    0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

void AppendUtf8(char16_t character, std::string& out) {
  if (character >= 0x800) {
    out += static_cast<char>(0xE0 | character >> 12);
    out += static_cast<char>(0x80 | (character >> 6 & 0x3F));
  } else {
    out += static_cast<char>(0xC0 | character >> 6);
  }
  out += static_cast<char>(0x80 | (character & 0x3F));
}

std::string FromWindows1252(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80) {
      out += letter;
    } else if (const char16_t character = byte < 0xA0 ? kWindows1252[byte - 0x80] : byte; character != 0) {
      AppendUtf8(character, out);
    }
  }
  return out;
}

}  // namespace

std::size_t Utf8Length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 && lead <= 0xF4 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool is_overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool is_surrogate = lead == 0xED && second >= 0xA0;
  const bool is_beyond = lead == 0xF4 && second >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

std::string ToUtf8(std::string_view text) {
  std::string valid;
  std::size_t invalid_bytes = 0;
  std::size_t characters = 0;  // of several bytes
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = Utf8Length(text, at);
    valid.append(text, at, length);
    characters += length > 1 ? 1 : 0;
    invalid_bytes += length == 0 ? 1 : 0;
    at += length == 0 ? 1 : length;
  }
  return invalid_bytes == 0 || characters > invalid_bytes ? valid : FromWindows1252(text);
}

}  // namespace reelmend::media
