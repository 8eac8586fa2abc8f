#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "media/av_error.h"
#include "media/byte_io.h"
#include "media/demuxer.h"
#include "media/muxer.h"
#include "media/timestamps.h"
#include "media/video_encoder.h"
#include "plan/plan_record.h"
#include "reelmend/segments.h"
#include "run/output_file.h"
#include "run/side_streams.h"
#include "run/with_engine_errors.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::run {
namespace {

[[noreturn]] void ThrowMismatch(const std::string& sentence) { throw Error(ErrorCode::kSegmentMismatch, sentence); }

/// A finished piece: only packets of H.264.
class Piece {
 public:
  Piece(const std::string& path, const std::function<bool()>& is_cancelled)
      : file_(path), demuxer_(std::make_unique<media::Demuxer>(file_, media::DemuxerOptions{{}, is_cancelled})) {}

  const AVStream& stream() const { return *demuxer_->video(); }
  bool Read(AVPacket* packet) { return demuxer_->ReadPacket(packet); }

 private:
  media::FileSource file_;
  std::unique_ptr<media::Demuxer> demuxer_;
};

/// When the frames of a piece are shown and its packets are decoded, in its time base.
struct PieceTimes {
  std::vector<std::int64_t> shown;    ///< increasing
  std::vector<std::int64_t> decoded;  ///< increasing
  std::int64_t end = 0;               ///< of its last frame
};

PieceTimes ReadTimes(const std::string& path, const std::function<bool()>& is_cancelled) {
  Piece piece(path, is_cancelled);
  PieceTimes times;
  const media::UniquePacket packet = media::MakePacket();
  while (piece.Read(packet.get())) {
    times.shown.push_back(packet->pts);
    times.decoded.push_back(packet->dts);
    av_packet_unref(packet.get());
  }
  std::ranges::sort(times.shown);
  if (times.shown.empty()) ThrowMismatch("A piece of the video is empty.");
  times.end = times.shown.front() + piece.stream().duration;
  return times;
}

/// How many frames the encoder of a piece holds back: at least `least`, and so many that no packet is decoded before the frame is shown that
/// comes as many frames earlier.
std::size_t EncoderDelay(const PieceTimes& times, std::size_t least) {
  const auto fits = [&](std::size_t delay) {
    return std::equal(times.shown.begin(), times.shown.end() - static_cast<std::ptrdiff_t>(delay),
                      times.decoded.begin() + static_cast<std::ptrdiff_t>(delay), std::less_equal<>());
  };
  for (std::size_t delay = least; delay < times.shown.size(); ++delay) {
    if (fits(delay)) return delay;
  }
  ThrowMismatch("The first piece of the video is too short.");
}

/// Decoding times of the joined video. Packets are decoded in the order of the pieces. Each piece can be decoded alone.
/// So the decoding time of a packet is the presentation time of the frame that comes as many frames earlier as the encoder
/// holds back. The first packets have no such frame and keep the piece's times. An encoder of the whole video sets the
/// same times. After pauses, LatestDecoding makes both later.
class DecodeClock {
 public:
  /// `times` are those of the first piece, which the output shows `shift` later.
  DecodeClock(const PieceTimes& times, std::int64_t shift, std::size_t delay) {
    for (std::size_t i = 0; i < delay; ++i) first_.push_back(times.decoded[i] + shift);
  }

  /// Decoding time of packet `number` of a video whose frames are shown at `shown`.
  std::int64_t Of(std::size_t number, const std::vector<std::int64_t>& shown) const {
    return number < first_.size() ? first_[number] : shown[number - first_.size()];
  }

 private:
  std::vector<std::int64_t> first_;
};

bool HaveSameParameters(const AVCodecParameters& a, const AVCodecParameters& b) {
  return a.codec_id == b.codec_id && a.width == b.width && a.height == b.height && a.extradata_size == b.extradata_size &&
         std::memcmp(a.extradata, b.extradata, static_cast<std::size_t>(a.extradata_size)) == 0;
}

/// The video of all pieces as one stream, in the plan's time base from the first displayed frame.
class JoinedVideo {
 public:
  JoinedVideo(const plan::PlanRecord& record, const std::vector<std::string>& paths, const std::function<bool()>& is_cancelled)
      : record_(record), paths_(paths), is_cancelled_(is_cancelled) {
    if (paths.size() != record.cuts.size()) throw Error(ErrorCode::kInvalidArgument, "The plan has another number of segments.");
    Open();
    const AVStream& first = piece_->stream();
    const std::size_t delay = EncoderDelay(times_, static_cast<std::size_t>(std::max(0, first.codecpar->video_delay)));
    clock_ = std::make_unique<DecodeClock>(times_, shift_, delay);
    latest_decoding_ = std::make_unique<media::LatestDecoding>(record.plan.frame_rate, record.plan.time_base);
    parameters_.reset(media::CheckAlloc(avcodec_parameters_alloc()));
    media::CheckAv(avcodec_parameters_copy(parameters_.get(), first.codecpar), ErrorCode::kInternal, "No memory");
  }

  const AVCodecParameters& parameters() const { return *parameters_; }
  std::int64_t frames() const { return frames_; }
  /// End of the last frame, after the last packet.
  std::int64_t end() const { return end_; }

  /// Reads the next packet; false at the end.
  bool Read(AVPacket* packet) {
    while (!piece_->Read(packet)) {
      if (++index_ >= paths_.size()) return false;
      Open();
    }
    Retime(*packet);
    return true;
  }

 private:
  void Open() {
    const std::string& path = paths_[index_];
    const plan::SegmentCut& cut = record_.cuts[index_];
    times_ = ReadTimes(path, is_cancelled_);
    piece_ = std::make_unique<Piece>(path, is_cancelled_);
    shift_ = cut.start - times_.shown.front();
    end_ = times_.end + shift_;
    const AVStream& stream = piece_->stream();
    const bool has_frames = static_cast<std::int64_t>(times_.shown.size()) == cut.frames;
    if (!has_frames || (cut.end && end_ != *cut.end) || av_cmp_q(stream.time_base, record_.plan.time_base) != 0) {
      ThrowMismatch("Piece " + std::to_string(index_) + " of the video is not the planned one.");
    }
    if (parameters_ && !HaveSameParameters(*stream.codecpar, *parameters_)) {
      ThrowMismatch("Piece " + std::to_string(index_) + " of the video was encoded in another way than the first one.");
    }
    for (const std::int64_t time : times_.shown) shown_.push_back(time + shift_);
    waiting_ = {times_.shown.begin(), times_.shown.end()};
  }

  void Retime(AVPacket& packet) {
    const auto index = std::ranges::lower_bound(times_.shown, packet.pts) - times_.shown.begin();
    const auto next = static_cast<std::size_t>(index) + 1;
    packet.duration = (next < times_.shown.size() ? times_.shown[next] : times_.end) - packet.pts;
    const std::int64_t next_shown = (waiting_.empty() ? packet.pts : *waiting_.begin()) + shift_;
    waiting_.erase(packet.pts);
    packet.pts += shift_;
    packet.dts = latest_decoding_->Of(clock_->Of(static_cast<std::size_t>(frames_++), shown_), next_shown);
    packet.time_base = record_.plan.time_base;
  }

  const plan::PlanRecord& record_;
  const std::vector<std::string>& paths_;
  const std::function<bool()>& is_cancelled_;
  std::size_t index_ = 0;
  std::unique_ptr<Piece> piece_;
  PieceTimes times_;  ///< of the open piece
  std::int64_t shift_ = 0;
  std::int64_t end_ = 0;
  std::vector<std::int64_t> shown_;  ///< frames of all pieces so far, increasing
  std::set<std::int64_t> waiting_;    ///< times of frames of the open piece whose packets have not been read
  std::unique_ptr<DecodeClock> clock_;
  std::unique_ptr<media::LatestDecoding> latest_decoding_;
  media::UniqueCodecParameters parameters_;
  std::int64_t frames_ = 0;
};

/// Reads everything but the video from the source, and the video from the pieces, at the same pace.
class JoinRun {
 public:
  JoinRun(const std::string& source, const std::string& text, const std::vector<std::string>& pieces, const std::string& output,
          const SourceLimits& limits, const EnhanceCallbacks& callbacks)
      : callbacks_(callbacks),
        output_(output),
        record_(plan::ReadRecord(text)),
        file_(source),
        demuxer_(file_, {limits, callbacks.is_cancelled, true}),
        video_(record_, pieces, callbacks_.is_cancelled),
        muxer_(output, callbacks.is_cancelled) {
    for (const plan::SegmentCut& cut : record_.cuts) total_frames_ += cut.frames;
    const AVStream& stream = *demuxer_.video();
    stream_ = muxer_.AddVideo(video_.parameters(), time_base(), record_.plan.frame_rate, media::ReadTags(stream));
    side_ = std::make_unique<SideStreams>(demuxer_, record_.plan.first_timestamp, limits.max_duration_s, muxer_);
    shift_ = side_->VideoShift(time_base());
    muxer_.Start(time_base());
  }

  JoinResult Run() {
    has_video_ = video_.Read(packet_.get());
    const media::UniquePacket packet = media::MakePacket();
    while (demuxer_.ReadPacket(packet.get())) {
      const std::int64_t time = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
      if (time != AV_NOPTS_VALUE) WriteVideoBefore(TimeOf(time, demuxer_.context()->streams[packet->stream_index]->time_base));
      if (packet->stream_index != demuxer_.video()->index) side_->Send(*packet);
      av_packet_unref(packet.get());
    }
    side_->FinishSound();
    while (has_video_) WriteVideo();
    side_->Finish(video_.end() + shift_, time_base());
    muxer_.Finish();
    return Report();
  }

 private:
  AVRational time_base() const { return record_.plan.time_base; }

  /// Converts a time of the source to the plan's time base, counted from the first displayed frame.
  std::int64_t TimeOf(std::int64_t time, AVRational base) const {
    return av_rescale_q(time, base, time_base()) -
           av_rescale_q(record_.plan.first_timestamp, demuxer_.video()->time_base, time_base());
  }

  /// Keeps the video behind the source's position, because a source may store sound and subtitles after the pictures that
  /// they belong to.
  void WriteVideoBefore(std::int64_t time) {
    constexpr std::int64_t kLag_s = 3;
    const std::int64_t latest = time - kLag_s * time_base().den / time_base().num;
    while (has_video_ && packet_->dts <= latest) WriteVideo();
  }

  void WriteVideo() {
    packet_->pts += shift_;
    packet_->dts += shift_;
    const std::int64_t time = packet_->dts;
    muxer_.Write(stream_, *packet_);
    side_->AdvanceTo(time, time_base());
    has_video_ = video_.Read(packet_.get());
    constexpr std::int64_t kReportEvery = 256;
    if (callbacks_.on_progress && video_.frames() % kReportEvery == 0) {
      const double fraction = static_cast<double>(video_.frames()) / static_cast<double>(std::max<std::int64_t>(1, total_frames_));
      callbacks_.on_progress({std::min(1.0, fraction), video_.frames(), 0, -1});
    }
  }

  JoinResult Report() const {
    JoinResult result;
    result.width = video_.parameters().width;
    result.height = video_.parameters().height;
    result.frames = video_.frames();
    result.duration_s = static_cast<double>(video_.end()) * av_q2d(time_base());
    result.size_bytes = SizeOf(output_);
    return result;
  }

  EnhanceCallbacks callbacks_;
  std::string output_;
  plan::PlanRecord record_;
  media::FileSource file_;
  media::Demuxer demuxer_;
  JoinedVideo video_;
  media::Muxer muxer_;  // declared before side_, whose tracks refer to it
  std::unique_ptr<SideStreams> side_;
  int stream_ = 0;
  std::int64_t shift_ = 0;
  std::int64_t total_frames_ = 0;
  media::UniquePacket packet_ = media::MakePacket();  ///< the next one of the video
  bool has_video_ = false;
};

}  // namespace
}  // namespace reelmend::run

namespace reelmend {

JoinResult JoinSegments(const std::string& source_path, const std::string& segment_plan, const std::vector<std::string>& pieces,
                        const std::string& output_path, const SourceLimits& limits, const EnhanceCallbacks& callbacks) {
  return run::WithEngineErrors([&] {
    run::CheckIsAnotherFile(output_path, source_path);
    for (const std::string& piece : pieces) run::CheckIsAnotherFile(output_path, piece);
    return run::JoinRun(source_path, segment_plan, pieces, output_path, limits, callbacks).Run();
  });
}

}  // namespace reelmend
