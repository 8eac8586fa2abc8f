// What is told about a file and its streams in words: titles, languages, chapters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/av_handles.h"

namespace reelmend::media {

/// What a stream is called and what it is for.
struct StreamTags {
  std::string language;  ///< ISO 639-2, three letters; empty when unknown
  std::string title;     ///< UTF-8, cleaned
  int disposition = 0;   ///< AV_DISPOSITION_*, only those that a stream of the output may carry
};

struct Chapter {
  double start_s = 0;  ///< in the clock of the source's timestamps
  double end_s = 0;
  std::string title;
};

/// Note [What is kept of the metadata]
/// An allow list, so that what a camera or an app writes under a key of its own never travels on: the names and
/// words that an author gives (title, artist, album_artist, composer, album, comment, description, synopsis,
/// copyright, genre, grouping, show, episode_id, season_number, episode_sort, network, track, disc, lyrics) and
/// the date (date, creation_time). Left behind are all others, above all location and location-eng, make, model,
/// serial numbers, timecode, software and encoder. A value that looks like an ISO 6709 position is left behind
/// under any key. Values are valid UTF-8 of at most 4,000 bytes without control characters.
/// Pictures (cover art) and data streams are left out: a cover shows a frame that is no longer there, and data
/// streams are where cameras keep positions and serial numbers.

/// Copies the allowed entries of a container's metadata.
void CopyMetadata(const AVDictionary* source, AVDictionary** target);

StreamTags ReadTags(const AVStream& stream);

/// In order, with start < end; at most 1,000.
std::vector<Chapter> ReadChapters(const AVFormatContext& context);

/// Valid UTF-8 without control characters (line breaks stay), at most `limit` bytes; anything else is left out.
std::string CleanText(const std::string& text, std::size_t limit);

/// Three letters of ISO 639-2 from what containers hold: "eng", "en", "en-US", "und"; empty when unknown.
std::string NormalLanguage(const std::string& language);

}  // namespace reelmend::media
