// The pixel stages in order, with the pictures between them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/network_stage.h"
#include "device/processor.h"
#include "device/stage_clock.h"
#include "faces/face_stage.h"
#include "media/frame_import.h"
#include "pixel/scene_detector.h"
#include "pixel/temporal_accumulation.h"
#include "pixel/temporal_denoise.h"
#include "plan/plan.h"

namespace reelmend::cpu {

/// From a decoded frame to an 8-bit 4:2:0 frame of the output's size: import → tone mapping of HDR → rotation → temporal,
/// then spatial denoising, debanding (at the source's size) → reduction to the working size → network → resize → temporal accumulation → contours, chroma → colour → faces →
/// contrast → sharpen → export.
/// Stages of strength 0 are left out. All pictures are allocated once and reused.
///
/// Note [Frames in the network]
/// A network works in its own threads. To let the other stages work meanwhile, each frame passes in two halves:
/// Submit runs the stages up to the network, Retrieve waits for the oldest frame and runs the rest. Up to depth()
/// frames are in progress. Without a network depth() is 1.
class PixelChain : public device::StageChain {
 public:
  /// `is_stopped` is polled between a network's tiles. It and `prepared` are optional.
  PixelChain(const plan::Plan& plan, AVCodecID codec, int threads, device::StageClocks& clocks,
             std::function<bool()> is_stopped = {}, std::unique_ptr<PreparedNetworks> prepared = nullptr);

  /// See StageChain.
  int depth() const override { return network_ ? network_->depth() : 1; }
  /// See StageChain.
  bool CanSubmit(const AVFrame& frame) const override { return importer_ && importer_->Fits(frame, codec_); }

  /// See StageChain.
  bool Submit(const AVFrame& frame, bool is_warm_up) override;
  /// See StageChain. `out` has data planes of the output's size. Its pict_type tells whether a scene begins.
  void Retrieve(AVFrame* out) override;

  /// Submit and Retrieve in one.
  void Run(const AVFrame& frame, AVFrame& out);
  /// Runs the stages that look back in time, and those before them, for warm-up frames that are not encoded. With stages behind the network
  /// that look back, this includes the network.
  void WarmUp(const AVFrame& frame);

  /// See StageChain.
  void AddNetworkTime() override;
  std::int64_t faces() const override { return faces_before_ + (faces_ ? faces_->restored() : 0); }

 private:
  /// A frame between Submit and Retrieve.
  struct Slot {
    pixel::Image picture;  ///< input of the network, or of the resize
    pixel::SourceMotion motion;  ///< for the temporal accumulation
    bool is_cut = false;
    std::int64_t number = 0;  ///< of the frame in the whole video, by its time
  };

  /// Common properties of a stage's pictures.
  struct Shape {
    Size size;
    pixel::Subsampling subsampling;
    pixel::ColorSpec color;
  };

  void Prepare(const AVFrame& frame);
  void ReleasePrepared();
  Shape PrepareReduction(const Shape& source);
  void PrepareNetwork(Shape in);
  pixel::Image& Import(const AVFrame& frame);
  pixel::Image& Denoise(pixel::Image& image, bool is_cut);
  void Deband(pixel::Image& image);
  pixel::Image& Reduce(pixel::Image& image);
  void PrepareFaces(Size in);
  void AddFaceTime();
  void RestoreFaces(const Slot& slot, bool is_warm_up);
  bool looks_back_at_the_end() const { return contrast_ || plan_.face_model || accumulator_; }
  void Enlarge(Slot& slot);
  void Accumulate(const Slot& slot);
  void RestoreEdges();
  void CopyChroma(const pixel::Image& from);
  bool makes_luma_only() const { return network_ && !network_->makes_chroma(); }
  bool restores_luma() const { return network_ && plan_.restores_luma; }
  bool restores_all() const { return restores_luma() && network_->makes_chroma(); }
  template <typename Work>
  void Timed(device::Stage stage, const Work& work);

  plan::Plan plan_;
  AVCodecID codec_;
  device::StageClocks& clocks_;
  int threads_;
  std::function<bool()> is_stopped_;
  pixel::ThreadPool pool_;
  std::optional<double> aspect_;  ///< displayed width ÷ height of the last shape, before rotation

  std::unique_ptr<media::FrameImporter> importer_;
  std::unique_ptr<pixel::ToneMapper> tone_mapper_;  ///< only for HDR
  std::unique_ptr<pixel::SceneDetector> scenes_;    ///< for the stages that look back in time, and for the encoder
  std::unique_ptr<pixel::TemporalDenoiser> temporal_;
  std::unique_ptr<pixel::Denoiser> denoiser_;
  std::unique_ptr<pixel::Debander> debander_;  ///< only for sources with blocks or bands
  std::unique_ptr<pixel::Resizer> reducer_;  ///< to the working size, where that is not the source's
  std::unique_ptr<pixel::Resizer> resizer_;
  std::unique_ptr<pixel::Resizer> network_resizer_;  ///< from the network's output to the target, if their sizes differ
  std::unique_ptr<pixel::TemporalAccumulator> accumulator_;  ///< only behind a network for damaged sources
  std::unique_ptr<pixel::ContourSmoother> contours_;    ///< only behind a network for damaged sources
  std::unique_ptr<pixel::GuidedChroma> guided_chroma_;  ///< the same
  std::unique_ptr<pixel::Sharpener> sharpener_;
  std::unique_ptr<pixel::AdaptiveContrast> contrast_;
  pixel::Image imported_;
  pixel::Image oriented_;
  pixel::Image toned_;
  pixel::Image temporally_denoised_;
  pixel::Image denoised_;
  pixel::Image working_;   ///< only if the source was enlarged before
  pixel::Image reduced_;   ///< only for a network that runs after the resize
  pixel::Image enlarged_;  ///< the network's output, if its size is not the target's
  pixel::Image resized_;
  pixel::Image sharpened_;

  std::unique_ptr<PreparedNetworks> prepared_;  ///< until the first frame
  device::LibraryThreads network_threads_;
  device::LibraryThreads face_threads_;
  std::unique_ptr<faces::FaceStage> faces_;
  std::int64_t faces_before_ = 0;  ///< restored before the picture changed its size
  bool network_is_last_ = false;  ///< Note [Any ratio]: it restores the resized picture
  std::vector<Slot> idle_slots_;
  std::deque<Slot> slots_;
  std::unique_ptr<NetworkStage> network_;  ///< last: it reads slots until it is destroyed
};

}  // namespace reelmend::cpu
