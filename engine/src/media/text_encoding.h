// Text of unknown encoding, such as subtitles and titles of old files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reelmend::media {

/// Length of the valid UTF-8 sequence at `at`; 0 if there is none.
std::size_t Utf8Length(std::string_view text, std::size_t at);

/// The text as UTF-8. Valid UTF-8 stays. Text in which characters of several bytes outnumber the invalid bytes is damaged UTF-8 and
/// loses those bytes. Any other is read as Windows-1252, the most common encoding of old files, which contains Latin-1.
std::string ToUtf8(std::string_view text);

}  // namespace reelmend::media
