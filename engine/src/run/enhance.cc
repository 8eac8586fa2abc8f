#include "reelmend/enhance.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/cores.h"
#include "device/processor.h"
#include "device/stage_clock.h"
#include "media/av_error.h"
#include "media/byte_io.h"
#include "media/captions.h"
#include "media/muxer.h"
#include "media/timestamps.h"
#include "media/video_encoder.h"
#include "plan/plan.h"
#include "plan/plan_record.h"
#include "reelmend/error.h"
#include "run/bounded_queue.h"
#include "run/deferred_destruction.h"
#include "run/enhance.h"
#include "run/frame_source.h"
#include "run/open_processor.h"
#include "run/output_file.h"
#include "run/progress_meter.h"
#include "run/run_source.h"
#include "run/side_streams.h"
#include "run/thread_group.h"
#include "run/with_engine_errors.h"

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::run {
namespace {

using Clock = std::chrono::steady_clock;
/// Opens the device of a run, once its options are checked.
using OpenDevice = std::function<std::unique_ptr<device::Processor>()>;

// Frames in the queues: enough to compensate for slow frames of a neighbouring stage, few enough for memory at 4K.
constexpr std::size_t kDecodedFrames = 4;
constexpr int kFinishedFrames = 3;
constexpr int kMaxDecoderThreads = 8;
constexpr int kMaxEncoderThreads = 32;
// Number of x264's threads for pieces. Its output depends on it, so all pieces of a video use the same number.
constexpr int kEncoderThreadsOfPieces = 8;

/// A frame in the chain. `captions` are those of its source.
struct SubmittedFrame {
  std::int64_t pts;
  std::int64_t duration;
  bool is_warm_up;
  media::UniqueBuffer captions;
};

struct FinishedFrame {
  media::UniqueFrame frame;
  std::int64_t pts = 0;
  std::int64_t duration = 0;
};

/// One call of Enhance.
///
/// Note [Overlap]
/// A run has three threads, each with its own state: decode (reading, decoding, deinterlacing, sound), pixels (which
/// splits rows over a thread pool), and encode (encoding, writing). libav and x264 start threads of their own. The three
/// threads share only the queues between them. The slowest one limits the speed, and the others wait.
class EnhanceRun : public std::enable_shared_from_this<EnhanceRun> {
 public:
  EnhanceRun(std::unique_ptr<RunSource> input, const std::string& output, const EnhanceOptions& options, const EnhanceCallbacks& callbacks)
      : input_(std::move(input)),
        output_(output),
        options_(options),
        callbacks_(callbacks),
        threads_(options.threads > 0 ? options.threads : device::AvailableCores()),
        start_(Clock::now()) {}

  EnhanceResult Run(const OpenDevice& open_device) {
    struct Closer {
      RunSource& source;
      ~Closer() { source.Close(); }
    };
    const Closer closer{*input_};
    plan::CheckOptions(options_);
    CheckIsAnotherFile(output_, input_->path());
    processor_ = open_device();
    if (!processor_->runs_networks()) options_.models.clear();  // a network requested by name was rejected above
    input_->SetCancelled(callbacks_.is_cancelled);
    MakePlan();
    Open();
    input_->SetCancelled(nullptr);  // from here on Supervise asks, on this thread
    workers_.Start([this] { DecodeLoop(); });
    workers_.Start([this] { PixelLoop(); });
    workers_.Start([this] { EncodeLoop(); });
    if (!Supervise()) {
      muxer_->Abandon();
      unlink(output_.c_str());
      DeferredDestruction::Instance().Release(shared_from_this());
      throw Error(ErrorCode::kCancelled, "The work was cancelled.");
    }
    workers_.Join();
    return Report();
  }

 private:
  void MakePlan() {
    std::optional<plan::PlanRecord> record;
    if (!options_.segment_plan.empty()) record = plan::ReadRecord(options_.segment_plan);
    input_->Open();
    plan_ = plan::MakePlan(*input_, options_, {threads_, callbacks_.is_cancelled, processor_->network_device(),
                                               record ? &*record : nullptr});
    if (!record) return;
    if (options_.segment_index < 0 || static_cast<std::size_t>(options_.segment_index) >= record->cuts.size()) {
      throw Error(ErrorCode::kInvalidArgument, "The plan has no segment of that number.");
    }
    plan_.cut = record->cuts[static_cast<std::size_t>(options_.segment_index)];
    options_.encoder = record->encoder;
    // From here on this is a run of a segment with these times.
    const PlannedSegment span = plan::SpanOf(*plan_.cut, plan_.time_base, plan_.source.duration_s);
    options_.segment = Segment{span.start_s, span.end_s};
  }

  /// Opens everything before the threads start, so that wrong options and disk errors are reported at once.
  void Open() {
    const auto is_stopped = [token = stop_.get_token()] { return token.stop_requested(); };
    source_ = std::make_unique<FrameSource>(
        *input_, plan_, options_, clocks_, FrameSourceOptions{std::min(threads_, kMaxDecoderThreads), processor_->decoder_device(), is_stopped});
    encoder_ = encoder_threads_.Watch([&] { return processor_->MakeEncoder(EncoderSettings(), kFinishedFrames); });
    chain_ = processor_->MakeChain({plan_, source_->codec(), threads_, clocks_, is_stopped});
    muxer_ = std::make_unique<media::Muxer>(output_, is_stopped);
    video_stream_ = muxer_->AddVideo(encoder_->context(), media::ReadTags(*source_->demuxer().video()));
    if (!options_.segment) OpenSideStreams();
    muxer_->Start(plan_.time_base);
  }

  void OpenSideStreams() {
    side_ = std::make_unique<SideStreams>(source_->demuxer(), plan_.first_timestamp,
                                          options_.limits.max_duration_s, *muxer_);
    video_shift_ = side_->VideoShift(plan_.time_base);
    source_->on_side_packet = [this](const AVPacket& packet) {
      const device::StageScope scope(clocks_, device::Stage::kMux);
      side_->Send(packet);
    };
  }

  media::VideoEncoderOptions EncoderSettings() const {
    media::VideoEncoderOptions settings;
    settings.width = plan_.output.width;
    settings.height = plan_.output.height;
    settings.time_base = plan_.time_base;
    settings.frame_rate = plan_.frame_rate;
    settings.color = plan_.color;
    settings.quality = options_.encoder;
    // x264's frame threads wait for each other's rows, so 1.5 threads per core keep all cores busy (x264's default).
    settings.threads = threads_ == 1 ? 1 : std::min((threads_ * 3 + 1) / 2, kMaxEncoderThreads);
    settings.is_reproducible = plan_.cut.has_value();
    if (settings.is_reproducible) settings.threads = kEncoderThreadsOfPieces;
    return settings;
  }

  void DecodeLoop() {
    source_->Run([this](TimedFrame frame) { return decoded_.Push(std::move(frame), stop_.get_token()); });
    const device::StageScope scope(clocks_, device::Stage::kMux);
    if (side_) side_->FinishSound();
    decoded_.Close();  // after the sound: the encode thread expects all of it to be written
  }

  void PixelLoop() {
    while (auto timed = decoded_.Pop(stop_.get_token())) {
      timed->frame->pts = timed->pts;
      const AVFrame& frame = *timed->frame;
      while (!submitted_.empty() && (static_cast<int>(submitted_.size()) >= chain_->depth() || !chain_->CanSubmit(frame))) {
        if (!RetrieveOldest()) return;
      }
      const bool is_submitted = chain_->Submit(frame, timed->is_warm_up);
      if (!started_) started_ = Clock::now();
      if (!is_submitted) continue;
      submitted_.push_back({timed->pts, timed->duration, timed->is_warm_up, media::TakeCaptions(frame)});
      timed->frame.reset();  // returned to the decoder before this thread waits for the encoder
      if (chain_->depth() == 1 && !RetrieveOldest()) return;
    }
    while (!submitted_.empty() && !stop_.stop_requested()) {
      if (!RetrieveOldest()) return;
    }
    chain_->AddNetworkTime();
    finished_.Close();
  }

  /// Passes the oldest submitted frame on to the encode thread. False if the work was cancelled.
  bool RetrieveOldest() {
    SubmittedFrame oldest = std::move(submitted_.front());
    submitted_.pop_front();
    // Taken here, not in Submit, so that the chain holds only one encoder frame at a time, whatever its depth.
    FinishedFrame finished{oldest.is_warm_up ? nullptr : encoder_->TakeFrame(), oldest.pts, oldest.duration};
    chain_->Retrieve(finished.frame.get());
    if (finished.frame) media::SetCaptions(*finished.frame, std::move(oldest.captions));
    return oldest.is_warm_up || finished_.Push(std::move(finished), stop_.get_token());
  }

  void EncodeLoop() {
    const auto write = [this](AVPacket& packet) { WritePacket(packet); };
    while (auto item = finished_.Pop(stop_.get_token())) {
      if (frames_ == 0) first_pts_ = item->pts;
      end_pts_ = item->pts + item->duration;
      {
        const device::StageScope scope(clocks_, device::Stage::kEncode);
        encoder_->Encode(*item->frame, item->pts, item->duration, write);
      }
      ++frames_;
      done_ticks_ = end_pts_ - (options_.segment ? SegmentStart() : 0);
    }
    if (stop_.stop_requested()) return;
    if (frames_ == 0) throw Error(ErrorCode::kInvalidArgument, "The segment contains no frame of the video.");
    encoder_threads_.CpuSeconds();  // records the threads that end while draining
    {
      const device::StageScope scope(clocks_, device::Stage::kEncode);
      encoder_->Drain(write);
    }
    clocks_.Add(device::Stage::kEncode, encoder_threads_.CpuSeconds());
    const device::StageScope scope(clocks_, device::Stage::kMux);
    if (side_) side_->Finish(end_pts_ + video_shift_, plan_.time_base);
    muxer_->Finish();
  }

  void WritePacket(AVPacket& packet) {
    if (stop_.stop_requested()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
    written_ticks_ += packet.duration;
    const std::int64_t shift = options_.segment ? -first_pts_ : video_shift_;
    packet.pts += shift;
    packet.dts += shift;
    const std::int64_t time = packet.dts;
    muxer_->Write(video_stream_, packet);
    if (side_) side_->AdvanceTo(time, plan_.time_base);
  }

  std::int64_t SegmentStart() const {
    return media::ToTicks(options_.segment->start_s, plan_.time_base);
  }

  double TotalSeconds() const {
    const double whole_s = plan_.source.duration_s;
    if (!options_.segment) return whole_s;
    return std::max(0.0, std::min(options_.segment->end_s, whole_s) - options_.segment->start_s);
  }

  /// Polls for cancellation and reports progress on the caller's thread. False if cancelled.
  bool Supervise() {
    constexpr std::chrono::milliseconds kPoll(25);
    constexpr std::chrono::milliseconds kReport(100);
    ProgressMeter meter(TotalSeconds(), Clock::now());
    auto next_report = Clock::now();
    while (!workers_.WaitFor(kPoll)) {
      if (stop_.stop_requested()) continue;
      if (callbacks_.is_cancelled && callbacks_.is_cancelled()) {
        stop_.request_stop();
        return false;
      }
      const auto now = Clock::now();
      if (!callbacks_.on_progress || now < next_report) continue;
      next_report = now + kReport;
      callbacks_.on_progress(meter.Update(frames_, WorkDone_s(), now));
    }
    return true;
  }

  /// Seconds of video that are done, for the progress. A frame counts half when it enters the encoder and half when its
  /// packet is written. x264's lookahead delays packets: counting entries alone would report too much at the start,
  /// counting packets alone too little.
  double WorkDone_s() const {
    return static_cast<double>(done_ticks_ + written_ticks_) / 2 * av_q2d(plan_.time_base);
  }

  EnhanceResult Report() {
    EnhanceResult result;
    result.source = SourceAsRead();
    result.width = plan_.output.width;
    result.height = plan_.output.height;
    result.frames = frames_;
    result.undecodable_frames = source_->undecodable();
    result.duration_s = OutputSeconds();
    result.size_bytes = SizeOf(output_);
    result.device = processor_->name();
    result.faces = chain_->faces();
    result.applied = Applied(result.faces > 0);
    result.plan = StagesAsRun();
    result.condition = plan_.condition;
    result.stages = clocks_.Report();
    result.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    result.start_seconds = std::chrono::duration<double>(started_.value_or(Clock::now()) - start_).count();
    if (callbacks_.on_progress) {
      callbacks_.on_progress({1.0, result.frames, static_cast<double>(frames_) / result.wall_seconds, 0.0});
    }
    return result;
  }

  /// The planned stages, with what was found out when they were loaded.
  std::vector<PlannedStage> StagesAsRun() const {
    std::vector<PlannedStage> stages = plan_.stages;
    const std::string why = chain_->why_faces_on_cpu();
    const auto faces = std::ranges::find(stages, "face_restoration", &PlannedStage::name);
    if (!why.empty() && faces != stages.end()) faces->why += "; their network runs on the CPU: " + why;
    return stages;
  }

  double OutputSeconds() const { return static_cast<double>(end_pts_ - first_pts_) * av_q2d(plan_.time_base); }

  /// The source's description, corrected by what was read.
  ProbeResult SourceAsRead() const {
    ProbeResult source = plan_.source;
    if (!options_.segment) {
      source.duration_s = source_->decoded_end_s();
      source.duration_is_exact = true;
    }
    if (source.frame_rate.num == 0 && end_pts_ > first_pts_) {
      source.frame_rate = {std::llround(static_cast<double>(frames_) / OutputSeconds() * 1000), 1000};
    }
    return source;
  }

  AppliedEnhancements Applied(bool has_faces) const {
    const plan::Strengths& s = plan_.strengths;
    const float denoise = plan_.restores_luma ? plan_.network_strength : s.denoise;
    return {denoise, s.sharpen, s.adaptive_contrast, has_faces ? s.face_restoration : 0, plan_.model};
  }

  std::unique_ptr<RunSource> input_;
  std::string output_;
  EnhanceOptions options_;
  EnhanceCallbacks callbacks_;
  int threads_;
  Clock::time_point start_;
  std::optional<Clock::time_point> started_;  ///< when the first frame entered the stages; set by the pixel thread
  plan::Plan plan_;
  device::StageClocks clocks_;
  std::stop_source stop_;

  std::unique_ptr<device::Processor> processor_;  ///< declared before the members that use its device
  std::unique_ptr<FrameSource> source_;
  std::unique_ptr<device::StageChain> chain_;
  device::LibraryThreads encoder_threads_;
  std::unique_ptr<device::FrameEncoder> encoder_;
  std::unique_ptr<media::Muxer> muxer_;  // declared before side_, whose tracks refer to it
  std::unique_ptr<SideStreams> side_;    ///< null for segments
  int video_stream_ = 0;
  std::int64_t video_shift_ = 0;

  BoundedQueue<TimedFrame> decoded_{kDecodedFrames};
  std::deque<SubmittedFrame> submitted_;  ///< of the pixel thread
  BoundedQueue<FinishedFrame> finished_{kFinishedFrames};
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::int64_t> done_ticks_ = 0;     ///< presentation time of the frames that entered the encoder
  std::atomic<std::int64_t> written_ticks_ = 0;  ///< presentation time of the packets that it returned
  std::int64_t first_pts_ = 0;  ///< first_pts_ and end_pts_ belong to the encode thread until it ends
  std::int64_t end_pts_ = 0;
  ThreadGroup workers_{stop_};  ///< declared last: its threads end before the members that they use are destroyed
};

EnhanceResult RunOn(const OpenDevice& open_device, std::unique_ptr<RunSource> source, const std::string& output_path,
                    const EnhanceOptions& options, const EnhanceCallbacks& callbacks) {
  return WithEngineErrors([&] {
    return std::make_shared<EnhanceRun>(std::move(source), output_path, options, callbacks)->Run(open_device);
  });
}

}  // namespace

EnhanceResult EnhanceOn(std::unique_ptr<device::Processor> processor, const std::string& input_path, const std::string& output_path,
                        const EnhanceOptions& options, const EnhanceCallbacks& callbacks) {
  return RunOn([&] { return std::move(processor); }, std::make_unique<RunSource>(input_path), output_path, options, callbacks);
}

}  // namespace reelmend::run

namespace reelmend {

EnhanceResult Enhance(const std::string& input_path, const std::string& output_path, const EnhanceOptions& options,
                      const EnhanceCallbacks& callbacks, std::unique_ptr<Preparation> prepared) {
  const auto open_device = [&] { return run::OpenPrepared(options, std::move(prepared)); };
  return run::RunOn(open_device, std::make_unique<run::RunSource>(input_path), output_path, options, callbacks);
}

EnhanceResult Enhance(ByteSource& source, const std::string& output_path, const EnhanceOptions& options,
                      const EnhanceCallbacks& callbacks, std::unique_ptr<Preparation> prepared) {
  const auto open_device = [&] { return run::OpenPrepared(options, std::move(prepared)); };
  return run::RunOn(open_device, std::make_unique<run::RunSource>(source), output_path, options, callbacks);
}

EnhancePlan PlanEnhance(const std::string& input_path, const EnhanceOptions& options, const EnhanceCallbacks& callbacks) {
  return run::WithEngineErrors([&]() -> EnhancePlan {
    plan::CheckOptions(options);
    const auto processor = run::OpenProcessor(options.device, options.model);
    EnhanceOptions supported = options;
    if (!processor->runs_networks()) supported.models.clear();
    const int threads = options.threads > 0 ? options.threads : device::AvailableCores();
    const plan::Plan made = plan::MakePlan(input_path, supported,
                                           {threads, callbacks.is_cancelled, processor->network_device()});
    return {made.source, made.output.width, made.output.height, processor->name(), made.model, made.stages, made.condition};
  });
}

}  // namespace reelmend
