// What the kernels of a job are made from: sizes, weights and memory, for one kind of source picture.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "pixel/stages.h"
#include "pixel/tone_map.h"

namespace framelift::pixel {
struct AxisPlan;
}

namespace framelift::cuda {

/// What is done to pictures, in plain numbers (pipeline::Plan without libav).
struct StageOptions {
  int stored_width = 0;  ///< of the surface, after cropping
  int stored_height = 0;
  pixel::Subsampling stored_subsampling;
  pixel::ColorSpec color;         ///< of the decoded samples
  pixel::ColorSpec output_color;  ///< of the encoded samples
  bool transpose = false;
  bool flip_x = false;
  bool flip_y = false;
  std::optional<pixel::ToneMapOptions> tone;
  float temporal_strength = 0;
  float denoise_strength = 0;
  float noise_sigma = 0;  ///< in 8-bit codes
  float contrast_strength = 0;
  float sharpen_strength = 0;
  int output_width = 0;
  int output_height = 0;
};

/// The stages of one kind of picture. Made once; Run allocates nothing.
///
/// Note [Less memory]
/// What a stage needs besides its pictures is the resize's intermediate of floats. Where the device has no room for
/// all of it, the output is made in bands of rows with an intermediate for one band: the same samples from less
/// memory, and no frame is dropped. Where even the pictures find no room, the constructor throws OutOfDeviceMemory.
class StagePlan {
 public:
  StagePlan(std::shared_ptr<Device> device, const StageOptions& options);
  ~StagePlan();
  StagePlan(const StagePlan&) = delete;
  StagePlan& operator=(const StagePlan&) = delete;

  /// Puts all stages up to the contrast's curves on `stream`; afterwards nothing of `surface` is read any more.
  void Process(Surface surface, StreamHandle stream);
  /// Puts the last ones on `stream`: `out` gets the picture that Process made.
  void Finish(const EncoderPicture& out, StreamHandle stream);

  /// Bands that the resize is made in; 1 where memory is plenty.
  int bands() const { return bands_; }
  const StageOptions& options() const { return options_; }

 private:
  struct ResizePlane {
    DeviceAxis x;
    DeviceAxis y;
    bool is_identity = false;
    bool reduces_height = false;
    std::vector<int> y_starts;  ///< on the host: which rows a band needs
  };
  Picture MakePicture(int width, int height, pixel::Subsampling subsampling, pixel::ColorSpec color);
  DeviceMemory& Keep(DeviceMemory memory);
  template <typename T>
  const T* Send(const std::vector<T>& values);
  void MakeResize();
  DeviceAxis SendAxis(const pixel::AxisPlan& plan);
  std::size_t IntermediateBytes(int band_rows) const;
  void MakeIntermediate();
  void MakeTimeStages();
  void MakeContrast();
  LumaReader ReaderOf(const Picture& picture) const;
  void Put(const KernelCall& call, StreamHandle stream) { device_->Launch(call, stream); }
  const Picture* Denoise(const Picture* picture, StreamHandle stream);
  void FindCuts(const Picture& picture, StreamHandle stream);
  void Resize(const Picture& from, StreamHandle stream);
  void ResizeBand(const Picture& from, int plane, int count, int first, int rows, StreamHandle stream);

  std::shared_ptr<Device> device_;
  StageOptions options_;
  std::vector<DeviceMemory> memory_;
  Picture first_;    ///< of the displayed source's size …
  Picture second_;   ///< … and its partner, where a stage cannot work in place
  Picture resized_;
  Picture finished_;  ///< what Finish reads: planes of resized_, or of the source where they need no resize
  pixel::ColorSpec working_color_;  ///< after tone mapping
  const pixel::ToneTables* tone_tables_ = nullptr;
  TemporalHistory history_[3];
  bool denoises_ = false;
  TimeState* state_ = nullptr;
  float* thumbnails_ = nullptr;
  ShrinkKernel shrink_;
  ResizePlane resize_[2];  ///< luma, chroma
  DeviceMemory intermediate_;
  int band_rows_ = 0;
  int bands_ = 1;
  std::optional<CurveKernel> curves_;
  ContrastMap contrast_;
};

}  // namespace framelift::cuda
