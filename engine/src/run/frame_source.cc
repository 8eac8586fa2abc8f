#include "run/frame_source.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "media/av_error.h"
#include "media/frame_count.h"
#include "media/geometry.h"
#include "media/libav_versions.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::run {
namespace {

/// Frames before the segment that the deinterlacer needs in any case.
constexpr int kDeinterlacerRunIn = 2;

/// Segment boundaries are real numbers and frame times are ticks. Both sides of a boundary must decide alike about a frame,
/// and a frame at 1/3 s belongs to the segment that begins at "0.333333".
constexpr double kBoundaryTolerance_s = 1e-5;

/// Whether the clock of a transport or program stream starts again, as in joined recordings: the video is longer than its clock runs. Where the
/// clock goes far back, libav takes it for one that has wrapped, and the video is far shorter.
bool ClockStartsAgain(const AVFormatContext& context, double duration_s) {
  constexpr double kTolerance_s = 1;
  constexpr double kLongestSound_s = 60;  // beyond the pictures
  if (context.duration_estimation_method != AVFMT_DURATION_FROM_PTS || context.duration == AV_NOPTS_VALUE) return false;
  const double clock_s = static_cast<double>(context.duration) / AV_TIME_BASE;
  return duration_s > clock_s + kTolerance_s || clock_s > duration_s + kLongestSound_s;
}

[[noreturn]] void ThrowTooLong() { throw Error(ErrorCode::kLimitExceeded, "The video is longer than this service takes."); }

}  // namespace

std::optional<TimedFrame> FrameTimer::Next(media::UniqueFrame frame, std::int64_t pts, std::int64_t own_duration) {
  std::optional<TimedFrame> ready = std::move(held_);
  if (ready) {
    ready->duration = pts - ready->pts;
    interval_ = ready->duration;
  }
  held_ = TimedFrame{std::move(frame), pts, 0, false};
  own_duration_ = own_duration;
  return ready;
}

std::optional<TimedFrame> FrameTimer::Last() {
  // Half an interval is the duration of one field, which a field-coded stream states instead.
  const bool is_field = std::abs(2 * own_duration_ - interval_) <= 1;
  const std::int64_t usual = interval_ > nominal_interval_ + one_second_ ? nominal_interval_ : interval_;
  if (held_) held_->duration = own_duration_ > 0 && !is_field ? own_duration_ : usual;
  return std::exchange(held_, std::nullopt);
}

FrameSource::FrameSource(ByteSource& source, const plan::Plan& plan, const EnhanceOptions& options, device::StageClocks& clocks,
                         const FrameSourceOptions& decoding)
    : plan_(plan),
      options_(options),
      clocks_(clocks),
      source_(source),
      demuxer_options_{options.limits, decoding.is_stopped, !options.segment && !plan.cut},
      demuxer_(std::make_unique<media::Demuxer>(source_, demuxer_options_)),
      decoder_(library_threads_.Watch([&] {
        return std::make_unique<media::VideoDecoder>(*demuxer_->video(), options.limits, decoding.threads, decoding.gpu);
      })),
      mender_(demuxer_->video()->time_base, plan.time_base, plan.frame_rate),
      deinterlacer_(plan.time_base),
      timer_(mender_.interval(), plan.time_base) {
  if (plan_.cut) {
    SeekToCut();
  } else if (options_.segment) {
    SeekToSegment();
  }
}

void FrameSource::SeekToSegment() {
  demuxer_->ReadVideoOnly();
  // Cannot seek without a clock, or with one that has a time twice: decodes everything before.
  if (plan_.first_timestamp == AV_NOPTS_VALUE || ClockStartsAgain(*demuxer_->context(), plan_.source.duration_s)) return;
  const int run_in = std::max(options_.segment->warm_up_frames, kDeinterlacerRunIn) + 1;
  const double wanted_s = options_.segment->start_s - run_in / av_q2d(plan_.frame_rate);
  const auto timestamp = [&](double s) { return plan_.first_timestamp + media::ToTicks(s, demuxer_->video()->time_base); };
  // Some containers seek to a later position than requested. Then the next attempt requests an earlier one.
  for (const double margin_s : {0.1, 3.0, 15.0}) {
    if (wanted_s - margin_s <= 0) break;
    if (SeekTo(timestamp(wanted_s - margin_s), timestamp(wanted_s))) return SetOrigin();
  }
  StartAnew();
}

void FrameSource::SeekToCut() {
  demuxer_->ReadVideoOnly();
  SetOrigin();
  if (!plan_.cut->seek) return;
  for (const double margin_s : {0.0, 3.0, 15.0}) {
    if (SeekTo(*plan_.cut->seek - media::ToTicks(margin_s, demuxer_->video()->time_base), *plan_.cut->seek)) return;
  }
  StartAnew();
}

/// Reads from the beginning. Opens the source again, since not every container can seek to its first frame.
void FrameSource::StartAnew() {
  demuxer_ = std::make_unique<media::Demuxer>(source_, demuxer_options_);
  demuxer_->ReadVideoOnly();
}

void FrameSource::SetOrigin() {
  origin_ = av_rescale_q(plan_.first_timestamp, demuxer_->video()->time_base, plan_.time_base);
  has_origin_ = true;
}

bool FrameSource::SeekTo(std::int64_t target, std::int64_t latest) {
  if (!demuxer_->SeekBefore(target)) return false;
  const media::UniquePacket packet = media::MakePacket();
  std::int64_t landed = AV_NOPTS_VALUE;
  while (landed == AV_NOPTS_VALUE && demuxer_->ReadPacket(packet.get())) {
    if ((packet->flags & AV_PKT_FLAG_KEY) != 0) landed = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    av_packet_unref(packet.get());
  }
  return landed != AV_NOPTS_VALUE && landed <= latest && demuxer_->SeekBefore(target);
}

void FrameSource::Run(const std::function<bool(TimedFrame)>& on_frame) {
  on_frame_ = on_frame;
  const media::UniquePacket packet = media::MakePacket();
  while (!is_done_) {
    {
      const device::StageScope scope(clocks_, device::Stage::kDecode);
      if (!demuxer_->ReadPacket(packet.get())) break;
    }
    if (packet->stream_index == demuxer_->video()->index) {
      Decode(packet.get());
    } else if (on_side_packet) {
      on_side_packet(*packet);
    }
    av_packet_unref(packet.get());
  }
  if (!is_done_) {
    Decode(nullptr);
    DeliverLast();
    CheckDamage();
    is_done_ = true;
  }
  if (plan_.cut && !is_refused_) CheckCut();
  clocks_.Add(device::Stage::kDecode, library_threads_.CpuSeconds());
}

void FrameSource::Decode(const AVPacket* packet) {
  std::vector<media::UniqueFrame> decoded;
  {
    const device::StageScope scope(clocks_, device::Stage::kDecode);
    decoder_->Decode(packet, [&](media::UniqueFrame frame) { decoded.push_back(std::move(frame)); });
  }
  // Ends early if it is already certain that too many frames are damaged.
  constexpr std::int64_t kHopeless = 250;
  if (decoder_->undecodable() > kHopeless && decoder_->undecodable() > decoder_->frames()) CheckDamage();
  for (media::UniqueFrame& frame : decoded) {
    if (!is_done_) OnDecoded(std::move(frame));
  }
  if (packet == nullptr && !is_done_) OnDecoded(nullptr);
}

/// Note [Damaged times].
void FrameSource::OnDecoded(media::UniqueFrame frame) {
  if (jumped_) {
    media::UniqueFrame jumped = std::exchange(jumped_, nullptr);
    if (frame && mender_.IsDamaged(jumped->best_effort_timestamp, frame->best_effort_timestamp)) jumped->best_effort_timestamp = AV_NOPTS_VALUE;
    OnTimed(std::move(jumped));
    if (is_done_) return;
  }
  if (frame && mender_.Jumps(frame->best_effort_timestamp)) {
    jumped_ = std::move(frame);
  } else {
    OnTimed(std::move(frame));
  }
}

void FrameSource::OnTimed(media::UniqueFrame frame) {
  if (frame) {
    const std::int64_t time = mender_.Mend(frame->best_effort_timestamp);
    if (!has_origin_) origin_ = time;
    has_origin_ = true;
    frame->pts = time - origin_;
    frame->sample_aspect_ratio = media::FindSampleAspectRatio(demuxer_->context(), demuxer_->video(), frame.get());
    media::SetFrameDuration(*frame, av_rescale_q(media::FrameDuration(*frame), demuxer_->video()->time_base, plan_.time_base));
    CheckLength(Seconds(frame->pts));
    if (IsBeforeWarmUp(frame->pts)) return;
  }
  std::vector<media::UniqueFrame> progressive;
  {
    const device::StageScope scope(clocks_, device::Stage::kDeinterlace);
    deinterlacer_.Run(std::move(frame), [&](media::UniqueFrame out) { progressive.push_back(std::move(out)); });
  }
  for (media::UniqueFrame& out : progressive) {
    const std::int64_t pts = out->pts;
    const std::int64_t own_duration = media::FrameDuration(*out);
    if (!is_done_) Deliver(timer_.Next(InFirstShape(std::move(out)), pts, own_duration));
  }
}

/// Note [Changed sample aspect ratio]
/// A broadcast switches between 4:3 and 16:9 by the sample aspect ratio alone. The stages enlarge each stored picture to the whole output, so
/// the picture would be stretched after the switch. It gets black bars instead, in stored samples, which costs no detail.
media::UniqueFrame FrameSource::InFirstShape(media::UniqueFrame frame) const {
  constexpr double kTolerance = 0.02;
  constexpr double kWidestBars = 3;  // picture with bars ÷ picture
  const ProbeResult& first = plan_.source;
  Size displayed{first.width, first.height};
  if (plan_.orientation.transpose) std::swap(displayed.width, displayed.height);
  const double shape = static_cast<double>(displayed.width) / displayed.height;
  const double change = std::abs(std::log(media::DisplayedShape(*frame, {frame->width, frame->height}) / shape));
  // Another stored shape is another kind of change, which the stages check.
  const double stored = static_cast<double>(frame->width) * first.coded_height / (static_cast<double>(frame->height) * first.coded_width);
  if (change <= kTolerance || change > std::log(kWidestBars) || std::abs(stored - 1) > kTolerance) return frame;
  if (frame->format == AV_PIX_FMT_CUDA) frame = media::ToHost(*frame);
  media::UniqueFrame with_bars = media::AddBars(*frame, shape);
  return with_bars ? std::move(with_bars) : std::move(frame);
}

bool FrameSource::IsBeforeWarmUp(std::int64_t pts) const {
  if (plan_.cut) return pts < plan_.cut->warm_up;
  if (!options_.segment) return false;
  const int run_in = std::max(options_.segment->warm_up_frames, kDeinterlacerRunIn);
  return Seconds(pts) < options_.segment->start_s - (run_in + 0.5) / av_q2d(plan_.frame_rate);
}

bool FrameSource::IsAfterSegment(std::int64_t pts) const {
  if (plan_.cut) return plan_.cut->end && pts >= *plan_.cut->end;
  return options_.segment && Seconds(pts) + kBoundaryTolerance_s >= options_.segment->end_s;
}

bool FrameSource::IsWarmUp(std::int64_t pts) const {
  if (plan_.cut) return pts < plan_.cut->start;
  return options_.segment && Seconds(pts) + kBoundaryTolerance_s < options_.segment->start_s;
}

/// Another number of frames means that seeking or damage has led the decoder to other frames than in the whole video.
void FrameSource::CheckCut() const {
  if (warm_up_frames_ == plan_.cut->warm_up_frames && frames_ == plan_.cut->frames) return;
  throw Error(ErrorCode::kSegmentMismatch, "The segment has " + std::to_string(frames_) + " frames where " + std::to_string(plan_.cut->frames) +
                                               " were planned; before it there are " + std::to_string(warm_up_frames_) + " where " +
                                               std::to_string(plan_.cut->warm_up_frames) + " were planned.");
}

/// Checks the decoded length, whatever the container declares.
void FrameSource::CheckLength(double time_s) const {
  constexpr double kFastest = 480;  // frames a second; no camera's video is faster
  const double limit_s = options_.limits.max_duration_s;
  if (limit_s <= 0) return;
  if (time_s >= limit_s) ThrowTooLong();
  media::CheckFrameRate(decoder_->frames(), limit_s, options_.limits);
  if (static_cast<double>(decoder_->frames()) > limit_s * kFastest + 1) {
    throw Error(ErrorCode::kLimitExceeded, "The video has more frames than the longest allowed video can have.");
  }
}

void FrameSource::Deliver(std::optional<TimedFrame> frame) {
  if (!frame) return;
  decoded_end_s_ = Seconds(frame->pts + frame->duration);
  if (IsAfterSegment(frame->pts)) {
    is_done_ = true;
    return;
  }
  frame->is_warm_up = IsWarmUp(frame->pts);
  ++(frame->is_warm_up ? warm_up_frames_ : frames_);
  is_refused_ = !on_frame_(std::move(*frame));
  is_done_ = is_refused_;
}

/// The stated duration of the last frame counts for the limit, as when the video is measured.
void FrameSource::DeliverLast() {
  constexpr double kRounding_s = 0.001;
  std::optional<TimedFrame> last = timer_.Last();
  const double limit_s = options_.limits.max_duration_s;
  if (last && limit_s > 0 && Seconds(last->pts + last->duration) > limit_s + kRounding_s) ThrowTooLong();
  Deliver(std::move(last));
}

void FrameSource::CheckDamage() const {
  constexpr double kToleratedLoss = 0.1;
  constexpr std::int64_t kAlwaysTolerated = 2;
  const std::int64_t lost = decoder_->undecodable();
  const std::int64_t all = decoder_->frames() + lost;
  if (decoder_->frames() == 0) throw Error(ErrorCode::kUnreadableVideo, "No frame of the video can be decoded.");
  if (lost > kAlwaysTolerated && static_cast<double>(lost) > kToleratedLoss * static_cast<double>(all)) {
    throw Error(ErrorCode::kUnreadableVideo, "The video is too damaged: " + std::to_string(lost) + " of " +
                                                 std::to_string(all) + " frames cannot be decoded.");
  }
}

}  // namespace reelmend::run
