// The pixel stages in their order, with the pictures between them.
#pragma once

#include <memory>
#include <optional>

#include "media/frame_import.h"
#include "pipeline/plan.h"
#include "pipeline/stage_clock.h"
#include "pixel/scene_detector.h"
#include "pixel/temporal_denoise.h"

namespace framelift::pipeline {

/// Decoded frame in, 8-bit 4:2:0 frame of the output's size out:
/// import → turn → tone mapping of HDR → denoise over time, then in space (at the source's size) → resize → colour →
/// contrast → sharpen → export.
/// Stages of strength 0 are left out. All pictures are made once and used for every frame.
class PixelChain {
 public:
  PixelChain(const Plan& plan, AVCodecID codec, int threads, StageClocks& clocks);

  /// Fills `out` (data planes of the output's size). Frames must come in order: contrast is smoothed over time.
  /// Throws Error{kUnreadableVideo} when the picture's shape changes in mid-stream.
  void Run(const AVFrame& frame, AVFrame& out);

  /// The temporal part only, for warm-up frames that are not encoded.
  void WarmUp(const AVFrame& frame);

 private:
  void Prepare(const AVFrame& frame);
  pixel::Image& Process(const AVFrame& frame);
  template <typename Work>
  void Timed(Stage stage, const Work& work);

  Plan plan_;
  AVCodecID codec_;
  StageClocks& clocks_;
  pixel::ThreadPool pool_;
  std::optional<double> aspect_;  ///< stored width ÷ height of the first frame

  std::unique_ptr<media::FrameImporter> importer_;
  std::unique_ptr<pixel::ToneMapper> tone_mapper_;  ///< only for HDR
  std::unique_ptr<pixel::SceneDetector> scenes_;    ///< only where a stage looks back in time
  std::unique_ptr<pixel::TemporalDenoiser> temporal_;
  std::unique_ptr<pixel::Denoiser> denoiser_;
  std::unique_ptr<pixel::Resizer> resizer_;
  std::unique_ptr<pixel::Sharpener> sharpener_;
  std::unique_ptr<pixel::AdaptiveContrast> contrast_;
  pixel::Image imported_;
  pixel::Image oriented_;
  pixel::Image toned_;
  pixel::Image steadied_;
  pixel::Image denoised_;
  pixel::Image resized_;
  pixel::Image sharpened_;
};

}  // namespace framelift::pipeline
