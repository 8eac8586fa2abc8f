// One video on several machines: cut into segments, enhanced apart, joined without re-encoding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reelmend/enhance.h"

namespace reelmend {

/// Note [Segments]
/// 1. PlanSegments reads all packets of a video, makes the plan of the whole video (EnhancePlan), and chooses the
/// cuts.
/// 2. Enhance with `segment_plan` and `segment_index` makes one piece: an MP4 of video only, from time 0.
/// 3. JoinSegments puts the pieces together and adds sound, subtitles, chapters and tags of the source.
/// The pieces may be made in any order, by any number of threads, in any process. The same engine on the same device class
/// makes the same piece, bit for bit. Before encoding, its pictures equal those of a run in one piece, because it follows
/// the same plan, and because the frames before a segment run through the temporal stages first. The joined file has the
/// timestamps of a run in one piece.

/// Lengths of segments in seconds. A segment has at least 32 frames, and the rest of a video is cut only if it has twice as many. So where frames
/// are far apart, a segment may be longer than `longest_s`.
struct SegmentLengths {
  double shortest_s = 10;
  double wanted_s = 20;
  double longest_s = 60;
};

/// One segment of a plan. Times are in seconds from the first displayed frame.
struct PlannedSegment {
  double start_s = 0;
  double end_s = 0;
  std::int64_t frames = 0;  ///< of its piece
};

struct SegmentPlan {
  EnhancePlan plan;
  std::vector<PlannedSegment> segments;  ///< at least one
  /// For EnhanceOptions::segment_plan and JoinSegments; text of lines. Empty for a single segment: use Enhance without it.
  std::string text;
  std::string why_whole;  ///< why there is only one segment: one clause for people; else empty
};

/// Plans the segments of `input_path`, cut at its own key frames where possible. A video shorter than twice the shortest
/// length gets a single segment. So does a video whose packets do not state exactly when each frame is shown: missing,
/// repeated or restarted timestamps, a codec with hidden frames, or an FLV whose parameters change. Throws what PlanEnhance throws.
SegmentPlan PlanSegments(const std::string& input_path, const EnhanceOptions& options, const SegmentLengths& lengths = {},
                         const EnhanceCallbacks& callbacks = {});

struct JoinResult {
  int width = 0;
  int height = 0;
  std::int64_t frames = 0;
  double duration_s = 0;         ///< presentation duration of the output's video stream
  std::int64_t size_bytes = 0;
};

/// Writes the pieces of all segments, in order, into `output_path`, with everything but the video taken from
/// `source_path`. Nothing is encoded again, except sound that MP4 cannot hold. Throws Error{kSegmentMismatch} if a piece is not
/// what the plan says: another number of frames, another length, other parameters of the encoder; Error{kInvalidArgument} if the output is the
/// source or a piece.
JoinResult JoinSegments(const std::string& source_path, const std::string& segment_plan, const std::vector<std::string>& pieces,
                        const std::string& output_path, const SourceLimits& limits = {}, const EnhanceCallbacks& callbacks = {});

}  // namespace reelmend
