#include "reelmend/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <utility>

#include "media/av_error.h"
#include "media/demuxer.h"
#include "media/jpeg.h"
#include "media/video_decoder.h"

namespace reelmend {
namespace media {
namespace {

constexpr int kPosterBox = 1280;
constexpr int kThumbnailBox = 320;
constexpr int kMaxThumbnails = 50;
/// Positions of the frames compared for the poster, as shares of the duration: away from titles, fades and credits.
constexpr std::array<double, 5> kPosterPositions = {0.1, 0.3, 0.5, 0.7, 0.9};

int DecoderThreads() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U)); }

/// Finds frames of a video by time.
class FrameSeeker {
 public:
  FrameSeeker(ByteSource& source, const PicturesOptions& options)
      : demuxer_(source, {options.limits, options.is_cancelled}),
        decoder_(*demuxer_.video(), options.limits, DecoderThreads()),
        packet_(MakePacket()) {
    demuxer_.ReadVideoOnly();
    const std::int64_t start = demuxer_.video()->start_time;
    start_ = start == AV_NOPTS_VALUE ? 0 : start;
  }

  /// The first frame at or after `time_s`, else the last one of the video. Throws Error{kUnreadableVideo} if there is none.
  UniqueFrame At(double time_s) {
    const std::int64_t target = start_ + std::llround(time_s / av_q2d(demuxer_.video()->time_base));
    if (!demuxer_.SeekBefore(target)) throw Error(ErrorCode::kUnreadableVideo, "The video cannot be searched.");
    decoder_.Flush();
    UniqueFrame last;
    bool is_found = false;
    const auto on_frame = [&](UniqueFrame frame) {
      if (is_found) return;
      is_found = frame->best_effort_timestamp >= target;
      last = std::move(frame);
    };
    while (!is_found && demuxer_.ReadPacket(packet_.get())) {
      decoder_.Decode(packet_.get(), on_frame);
      av_packet_unref(packet_.get());
    }
    if (!is_found) decoder_.Decode(nullptr, on_frame);
    if (!last) throw Error(ErrorCode::kUnreadableVideo, "The video has no frame to show.");
    return last;
  }

  double SecondsOf(const AVFrame& frame) const {
    const double seconds = static_cast<double>(frame.best_effort_timestamp - start_) * av_q2d(demuxer_.video()->time_base);
    return std::max(0.0, seconds);
  }

 private:
  Demuxer demuxer_;
  VideoDecoder decoder_;
  UniquePacket packet_;
  std::int64_t start_ = 0;
};

/// Entropy of the luma's histogram, in bits: near 0 for black, white and blurred frames. Looks at every fourth sample of
/// every fourth row. 8-bit planar formats; 0 for others.
double LumaEntropy(const AVFrame& frame) {
  constexpr int kStep = 4;
  if (frame.format != AV_PIX_FMT_YUV420P && frame.format != AV_PIX_FMT_YUVJ420P) return 0;
  std::array<double, 64> histogram = {};
  double count = 0;
  for (int y = 0; y < frame.height; y += kStep) {
    const std::uint8_t* row = frame.data[0] + std::ptrdiff_t(y) * frame.linesize[0];
    for (int x = 0; x < frame.width; x += kStep) histogram[row[x] / 4U] += 1, count += 1;
  }
  double bits = 0;
  for (const double bin : histogram) {
    if (bin > 0) bits -= bin / count * std::log2(bin / count);
  }
  return bits;
}

Picture Save(const FrameSeeker& seeker, const AVFrame& frame, int box, const std::string& folder, Picture picture) {
  const Size size = FitBox({frame.width, frame.height}, box);
  picture.time_s = seeker.SecondsOf(frame);
  picture.width = size.width;
  picture.height = size.height;
  picture.size_bytes = WriteJpeg(frame, size, folder + "/" + picture.file);
  return picture;
}

Picture SavePoster(FrameSeeker& seeker, double duration_s, const std::string& folder) {
  UniqueFrame best;
  double highest = -1;
  for (const double position : kPosterPositions) {
    UniqueFrame frame = seeker.At(position * duration_s);
    const double entropy = LumaEntropy(*frame);
    if (entropy > highest) highest = entropy, best = std::move(frame);
  }
  return Save(seeker, *best, kPosterBox, folder, {.file = "poster.jpg", .is_poster = true});
}

}  // namespace
}  // namespace media

std::vector<Picture> TakePictures(const std::string& video_path, const std::string& folder, const PicturesOptions& options) {
  if (options.thumbnails < 0 || options.thumbnails > media::kMaxThumbnails) {
    throw Error(ErrorCode::kInvalidArgument, "A video has 0 to 50 thumbnails.");
  }
  media::QuietLibav();
  const double duration_s =
      ProbeFile(video_path, {.limits = options.limits, .walk_packets = false, .is_cancelled = options.is_cancelled}).duration_s;
  media::FileSource source(video_path);
  media::FrameSeeker seeker(source, options);
  std::vector<Picture> pictures;
  if (options.poster) pictures.push_back(media::SavePoster(seeker, duration_s, folder));
  for (int i = 0; i < options.thumbnails; ++i) {
    const media::UniqueFrame frame = seeker.At((i + 0.5) / options.thumbnails * duration_s);
    Picture thumbnail{.file = "thumbnail-" + std::to_string(i + 1) + ".jpg"};
    pictures.push_back(media::Save(seeker, *frame, media::kThumbnailBox, folder, std::move(thumbnail)));
  }
  return pictures;
}

}  // namespace reelmend
