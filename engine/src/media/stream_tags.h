// Titles, languages and chapters of a file and its streams.
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
/// An allow list, so that private keys of cameras and apps are never copied. Kept are texts of an author (title,
/// artist, album_artist, composer, album, comment, description, synopsis, copyright, genre, grouping, show,
/// episode_id, season_number, episode_sort, network, track, disc, lyrics) and the date (date, creation_time). All
/// others are dropped, above all location and location-eng, make, model, serial numbers, timecode, software and
/// encoder. A value that looks like an ISO 6709 position is dropped under any key. Values are valid UTF-8 of at most
/// 4,000 bytes without control characters.
/// Pictures (cover art) and data streams are dropped: a cover shows the video before enhancement, and cameras store
/// positions and serial numbers in data streams.
///
/// Copies the allowed entries of a container's metadata.

/// Copies the allowed entries of a container's metadata.
void CopyMetadata(const AVDictionary* source, AVDictionary** target);

StreamTags ReadTags(const AVStream& stream);

/// In order, with start < end; at most 1,000.
std::vector<Chapter> ReadChapters(const AVFormatContext& context);

/// Valid UTF-8 without control characters (line breaks stay), at most `limit` bytes; anything else is left out.
std::string CleanText(const std::string& text, std::size_t limit);

/// Three-letter code (ISO 639-2/T, as MP4 requires) of a container's language tag: "eng", "en", "en-US"; "deu" of "ger"; empty if unknown.
std::string NormalLanguage(const std::string& language);

}  // namespace reelmend::media
