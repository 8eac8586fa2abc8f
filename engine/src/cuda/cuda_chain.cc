#include "cuda/cuda_chain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "cuda/stage_plan.h"
#include "cuda/uploader.h"
#include "media/frame_import.h"
#include "media/geometry.h"
#include "plan/network_choice.h"

extern "C" {
#include <libavutil/hwcontext.h>
}

namespace reelmend::cuda {
namespace {

using device::Stage;
using device::StageScope;

/// Decoded surfaces that kernels may still read when the next ones come.
constexpr int kHeldSurfaces = 4;

AVPixelFormat SampleFormat(const AVFrame& frame) {
  if (frame.hw_frames_ctx == nullptr) return static_cast<AVPixelFormat>(frame.format);
  return reinterpret_cast<const AVHWFramesContext*>(frame.hw_frames_ctx->data)->sw_format;
}

bool IsOnDevice(const AVFrame& frame) { return frame.format == AV_PIX_FMT_CUDA; }

/// Size of the picture in a decoded surface: libav crops hardware frames at the right and bottom only.
Size SizeOf(const AVFrame& frame) {
  if (!IsOnDevice(frame)) return {frame.width, frame.height};
  return {std::max(1, frame.width - static_cast<int>(frame.crop_left)), std::max(1, frame.height - static_cast<int>(frame.crop_top))};
}

bool IsOfSize(const AVFrame& frame, Size size) {
  const Size own = SizeOf(frame);
  return own.width == size.width && own.height == size.height;
}

/// The stages on a GPU. Frames come from the GPU's decoder directly or from a CPU's decoder through the uploader.
class CudaChain : public device::StageChain {
 public:
  CudaChain(std::shared_ptr<Session> session, const device::ChainOptions& options)
      : session_(std::move(session)),
        plan_(options.plan),
        codec_(options.codec),
        threads_(options.threads),
        clocks_(options.clocks),
        is_stopped_(options.is_stopped),
        uploader_(session_->device),
        in_flight_(session_->device, kHeldSurfaces),
        decoded_(MakeEvent(session_->device)),
        finished_(MakeEvent(session_->device)) {
    if (session_->pool->kind() != FramePool::Kind::kHost) return;
    download_ = MakeStream(session_->device);
    for (Finished& finish : finish_) {
      finish.memory = MakeClearedMemory(session_->device, session_->pool->bytes());
      finish.downloaded = MakeEvent(session_->device);
    }
  }

  /// Waits until the device no longer uses memory that is about to be freed.
  ~CudaChain() override {
    try {
      session_->device->WaitForStream(session_->compute.get());
      if (download_) session_->device->WaitForStream(download_.get());
    } catch (const Error&) {
      // A lost device no longer uses it.
    }
  }

  int depth() const override { return stages_ ? stages_->slots() : 1; }

  bool CanSubmit(const AVFrame& frame) const override {
    return stages_ && IsOfSize(frame, size_) && subsampling_ == LayoutOf(frame).subsampling &&
           media::DescribeColor(frame, codec_) == color_;
  }

  bool Submit(const AVFrame& frame, bool is_warm_up) override {
    const bool looks_back_at_the_end = plan_.strengths.adaptive_contrast > 0 || plan_.accumulates() || plan_.face_model;
    if (is_warm_up && !looks_back_at_the_end && plan_.temporal.strength <= 0) return false;
    const StageScope scope(clocks_, Stage::kConvert);
    if (!CanSubmit(frame)) Prepare(frame);
    const bool needs_picture = !is_warm_up || looks_back_at_the_end;
    const StreamHandle compute = session_->compute.get();
    if (IsOnDevice(frame)) {
      session_->device->Record(decoded_.get(), session_->bridge->decoder_stream());
      session_->device->WaitOn(compute, decoded_.get());
      stages_->Process(SurfaceOf(frame), next_slot_, needs_picture, compute);
      in_flight_.Keep(frame, compute);
    } else {
      if (!importer_ || !importer_->Fits(frame, codec_)) PrepareUpload(frame);
      const Surface surface = uploader_.Send(importer_->Planes(frame), importer_->layout(), size_.width, size_.height, compute);
      stages_->Process(surface, next_slot_, needs_picture, compute);
      uploader_.Consumed(compute);
    }
    if (!needs_picture) return false;
    next_slot_ = (next_slot_ + 1) % stages_->slots();
    numbers_.push_back(plan::FrameNumber(plan_, frame.pts));
    return true;
  }

  void Retrieve(AVFrame* out) override {
    const int slot = std::exchange(oldest_slot_, (oldest_slot_ + 1) % stages_->slots());
    const std::int64_t number = numbers_.front();
    numbers_.pop_front();
    Complete(slot);
    if (plan_.face_model) RestoreFaces(slot, number, out == nullptr);
    if (out != nullptr) Finish(*out, slot);
  }

  void AddNetworkTime() override { AddFaceTime(); }
  std::int64_t faces() const override { return faces_before_ + (stages_ ? stages_->restored_faces() : 0); }
  std::string why_faces_on_cpu() const override { return stages_ ? stages_->why_faces_on_cpu() : ""; }

 private:
  /// A finished picture that is downloaded. There are two, so that the next picture can be processed meanwhile.
  struct Finished {
    DeviceMemory memory;
    Event downloaded;
  };

  void Complete(int slot) {
    const StageScope scope(clocks_, Stage::kConvert);
    stages_->Complete(slot, session_->compute.get());
  }

  void RestoreFaces(int slot, std::int64_t number, bool is_warm_up) {
    const StageScope scope(clocks_, Stage::kFaces);
    stages_->RestoreFaces(slot, number, is_warm_up, session_->compute.get());
  }

  /// Adds the time of the threads that helped these stages to restore faces. Once, before they are gone.
  void AddFaceTime() {
    if (stages_) clocks_.Add(Stage::kFaces, stages_->FaceHelperCpuSeconds());
  }

  void Finish(AVFrame& out, int slot) {
    const StageScope scope(clocks_, Stage::kConvert);
    if (session_->pool->kind() == FramePool::Kind::kHost) return Download(out, slot);
    stages_->Finish(session_->pool->Target(out.data[0]), slot, session_->compute.get());
    session_->pool->MarkWritten(out, session_->compute.get());
  }

  void Prepare(const AVFrame& frame) {
    size_ = SizeOf(frame);
    const double aspect = media::DisplayedShape(frame, size_);
    if (aspect_ && std::abs(aspect / *aspect_ - 1) > 0.02) {
      throw Error(ErrorCode::kUnreadableVideo, "The picture changes its shape in the middle of the video.");
    }
    aspect_ = aspect;
    color_ = media::DescribeColor(frame, codec_);
    if (!IsOnDevice(frame)) PrepareUpload(frame);
    subsampling_ = LayoutOf(frame).subsampling;
    session_->device->WaitForStream(session_->compute.get());  // the old stages' memory is read until then
    faces_before_ = faces();
    AddFaceTime();
    stages_.reset();
    next_slot_ = oldest_slot_ = 0;
    const StageOptions options = OptionsOf();
    try {
      stages_ = std::make_unique<StagePlan>(session_->device, options);
    } catch (const OutOfDeviceMemory&) {
      throw;
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      RefuseNetwork(error);
    }
  }

  /// For frames in host memory. Keeps the stages, which depend on the picture, not on its memory.
  void PrepareUpload(const AVFrame& frame) {
    importer_ = std::make_unique<media::FrameImporter>(frame, codec_);
    uploader_.Prepare(importer_->layout(), size_.width, size_.height);
  }

  /// Sample layout of the frame for the stages.
  pixel::PackedLayout LayoutOf(const AVFrame& frame) const {
    if (!IsOnDevice(frame)) return media::ImportedLayout(static_cast<AVPixelFormat>(frame.format));
    const auto layout = media::NativeLayout(SampleFormat(frame));
    if (!layout) throw Error(ErrorCode::kUnreadableVideo, "The video's pixel format is not supported.");
    return *layout;
  }

  /// The network that the plan names, for pictures of the working size.
  void AddNetwork(StageOptions& o) const {
    if (!session_->networks) return;
    if (plan_.model == "none") return session_->networks->LetGo();
    Size in{o.stored_width, o.stored_height};
    if (o.transpose) std::swap(in.width, in.height);
    in = plan::WorkingSize(in, plan_.working_share);
    const auto fit = plan::FitNetwork(plan_.models, plan_.model, in, plan_.output, plan::NetworkDevice::kGpu);
    if (!fit) return;
    NetworkRequest request;
    request.file = fit->file;
    request.passes = fit->passes;
    request.picture = fit->after_resize ? plan_.output : in;
    request.strength = plan_.network_strength;
    request.engine_folder = plan_.engine_folder;
    request.may_write_engines = plan_.may_write_engines;
    request.is_stopped = is_stopped_;
    try {
      o.network = session_->networks->OptionsOf(request);
    } catch (const Error& error) {
      RefuseNetwork(error);
    }
    o.network_is_last = fit->after_resize;
    o.restores_luma = plan_.restores_luma;
  }

  /// The network for faces. The detector runs on the CPU: Note [Faces on a device].
  void AddFaces(StageOptions& o) const {
    if (!session_->networks) return;
    if (!plan_.face_model) return session_->networks->LetGoOfFaces();
    NetworkRequest request;
    request.file = *plan_.face_model;
    request.engine_folder = plan_.engine_folder;
    request.may_write_engines = plan_.may_write_engines;
    const Size displayed = o.transpose ? Size{o.stored_height, o.stored_width} : Size{o.stored_width, o.stored_height};
    const Size in = plan::WorkingSize(displayed, plan_.working_share);
    try {
      o.faces = session_->networks->FacesOf(request, faces::MakeFinderOptions(in, plan_.output, plan_.strengths.face_restoration, threads_));
    } catch (const Error& error) {
      RefuseNetwork(error);
    }
  }

  /// Reports an error of the device, not of the request, because the CPU may succeed.
  [[noreturn]] static void RefuseNetwork(const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw Error(ErrorCode::kUnavailable, error.what());
    throw;
  }

  StageOptions OptionsOf() const {
    StageOptions o;
    o.stored_width = size_.width;
    o.stored_height = size_.height;
    o.stored_subsampling = subsampling_;
    o.working_share = plan_.working_share;
    o.color = color_.spec;
    o.output_color = color_.output_spec;
    o.transpose = plan_.orientation.transpose;
    o.flip_x = plan_.orientation.flip_x;
    o.flip_y = plan_.orientation.flip_y;
    if (color_.hdr) o.tone = pixel::ToneMapOptions{*color_.hdr, color_.gamut, plan_.peak_nits};
    o.denoise_strength = plan_.strengths.denoise;
    o.temporal_strength = plan_.temporal.strength;
    o.temporal_sigma = plan_.temporal.noise_sigma;
    o.noise_sigma = plan_.traits.noise_sigma;
    o.deband_threshold = plan_.deband_threshold;
    o.accumulation_strength = plan_.accumulates() ? plan::kSteadyStrength : 0;
    o.edge_strength = plan_.edges.strength;
    o.edge_enlargement = plan_.edges.enlargement;
    o.contrast_strength = plan_.strengths.adaptive_contrast;
    o.level_lift = plan_.level_lift;
    o.sharpen_strength = plan_.strengths.sharpen;
    o.output_width = plan_.output.width;
    o.output_height = plan_.output.height;
    AddNetwork(o);
    AddFaces(o);
    return o;
  }

  Surface SurfaceOf(const AVFrame& frame) const {
    const pixel::PackedLayout layout = LayoutOf(frame);
    Surface surface = DescribeSurface(layout, size_.width, size_.height);
    const int bytes = layout.bits == 8 ? 1 : 2;
    const int crop_left = static_cast<int>(frame.crop_left);
    const int crop_top = static_cast<int>(frame.crop_top);
    for (int p = 0; p < 3; ++p) {
      if (frame.data[p] == nullptr) continue;
      const int left = p == 0 ? crop_left : (crop_left >> layout.subsampling.log2_x) * (layout.semi_planar ? 2 : 1);
      const int top = p == 0 ? crop_top : crop_top >> layout.subsampling.log2_y;
      surface.data[p] = frame.data[p] + std::ptrdiff_t{top} * frame.linesize[p] + std::ptrdiff_t{left} * bytes;
      surface.stride[p] = frame.linesize[p];
    }
    return surface;
  }

  void Download(AVFrame& out, int slot) {
    Device& device = *session_->device;
    FramePool& pool = *session_->pool;
    next_finish_ = (next_finish_ + 1) % 2;
    Finished& finish = finish_[next_finish_];
    const StreamHandle compute = session_->compute.get();
    device.WaitOn(compute, finish.downloaded.get());
    stages_->Finish(pool.Target(finish.memory.get()), slot, compute);
    device.Record(finished_.get(), compute);
    device.WaitOn(download_.get(), finished_.get());
    const auto row = static_cast<std::ptrdiff_t>(pool.bytes());
    device.CopyAsync({out.data[0], row, finish.memory.get(), row, pool.bytes(), 1}, download_.get());
    device.Record(finish.downloaded.get(), download_.get());
    pool.MarkWritten(out, download_.get());
    device.CountDownload(pool.bytes());
  }

  std::shared_ptr<Session> session_;
  plan::Plan plan_;
  AVCodecID codec_;
  int threads_;
  device::StageClocks& clocks_;
  std::function<bool()> is_stopped_;
  std::optional<double> aspect_;  ///< displayed width ÷ height of the last shape, before rotation
  Size size_;
  pixel::Subsampling subsampling_;
  media::SourceColor color_;
  std::unique_ptr<media::FrameImporter> importer_;  ///< of frames in the host's memory
  Uploader uploader_;
  InFlightFrames in_flight_;
  Event decoded_;
  Event finished_;
  Stream download_;
  Finished finish_[2];
  int next_finish_ = 0;
  int next_slot_ = 0;    ///< of the next submitted picture
  int oldest_slot_ = 0;  ///< of the next retrieved picture
  std::deque<std::int64_t> numbers_;  ///< of the frames in progress, in the whole video
  std::int64_t faces_before_ = 0;     ///< restored before the picture changed its shape
  std::unique_ptr<StagePlan> stages_;
};

}  // namespace

std::unique_ptr<device::StageChain> MakeChain(std::shared_ptr<Session> session, const device::ChainOptions& options) {
  return std::make_unique<CudaChain>(std::move(session), options);
}

}  // namespace reelmend::cuda
