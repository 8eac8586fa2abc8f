// All stages of a job in their order, for one shape of source pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/accumulation_stage.h"
#include "cuda/contrast_stage.h"
#include "cuda/deband_stage.h"
#include "cuda/device.h"
#include "cuda/device_arena.h"
#include "cuda/edge_stage.h"
#include "cuda/face_stage.h"
#include "cuda/kernels.h"
#include "cuda/network_runner.h"
#include "cuda/resize_stage.h"
#include "cuda/scene_stage.h"
#include "cuda/temporal_stage.h"
#include "inference/model_loader.h"
#include "pixel/stages.h"
#include "pixel/tone_map.h"

namespace reelmend::cuda {

/// The job in plain numbers: plan::Plan without libav types.
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
  float temporal_sigma = 0;  ///< change from picture to picture, in 8-bit levels
  float denoise_strength = 0;
  float noise_sigma = 0;  ///< in 8-bit levels
  float deband_threshold = 0;  ///< in 8-bit levels; 0: no debanding
  float accumulation_strength = 0;  ///< of the temporal accumulation; it needs the motion that temporal denoising finds
  float edge_strength = 0;  ///< of contours and guided chroma
  float edge_enlargement = 1;
  float contrast_strength = 0;
  pixel::LevelLift level_lift;
  float sharpen_strength = 0;
  int output_width = 0;
  int output_height = 0;
  float working_share = 1;  ///< plan's Note [Working size]
  std::optional<NetworkOptions> network;
  bool network_is_last = false;  ///< it restores the resized picture
  std::optional<FaceOptions> faces;
  bool restores_luma = false;    ///< it replaces the spatial denoising of luma, and of chroma if it outputs chroma
};

/// The stages for one shape of pictures. Made once; Run allocates nothing.
///
/// Note [Less memory]
/// Besides its pictures, only the resize needs memory: an intermediate picture of floats. If the device has too little
/// memory for all of it, the output is processed in bands of rows with an intermediate for one band. The samples are the
/// same and no frame is dropped. If even the pictures do not fit, the constructor throws OutOfDeviceMemory. A network has
/// its own ways to save memory (network_runner.h).
///
/// Note [Slots]
/// With a network, several pictures are in progress at once: Process runs one up to the network, into a slot;
/// Complete, in the same order, continues from there. A slot holds what belongs to its picture between the two: its
/// chroma and its scene state. Without a network there is one slot.
class StagePlan {
 public:
  StagePlan(std::shared_ptr<Device> device, const StageOptions& options);
  ~StagePlan();
  StagePlan(const StagePlan&) = delete;
  StagePlan& operator=(const StagePlan&) = delete;

  int slots() const { return network_ ? network_->slots() : 1; }
  /// Enqueues the stages up to the network; work enqueued afterwards may overwrite `surface`. `needs_picture` false:
  /// runs only the stages that look back in time, and Complete is not called.
  void Process(Surface surface, int slot, bool needs_picture, StreamHandle stream);
  /// Enqueues the stages after the network, up to the curves of the contrast.
  void Complete(int slot, StreamHandle stream);
  /// With StageOptions::faces, after Complete: restores the faces of its picture. `number`: of its frame in the whole video. A warm-up
  /// frame is analysed only.
  void RestoreFaces(int slot, std::int64_t number, bool is_warm_up, StreamHandle stream);
  /// Enqueues the last stages: the picture of Complete goes into `out`.
  void Finish(const EncoderPicture& out, int slot, StreamHandle stream);

  /// Number of bands of the resize; 1 if memory suffices.
  int bands() const { return resize_ ? resize_->bands() : 1; }
  /// Number of parts that the network's pictures are cut into.
  int tiles() const { return network_ ? network_->tiles() : 1; }
  /// Number of restored faces so far, summed over frames.
  std::int64_t restored_faces() const { return faces_ ? faces_->restored() : 0; }
  std::string why_faces_on_cpu() const { return faces_ ? faces_->why_on_cpu() : ""; }
  /// CPU seconds of the threads that helped the caller to restore faces so far.
  double FaceHelperCpuSeconds() { return faces_ ? faces_->HelperCpuSeconds() : 0; }
  const StageOptions& options() const { return options_; }

 private:
  /// Data of one picture.
  struct Slot {
    Picture current;  ///< as far as the stages have come: each plane lies where the last stage that changed it wrote it
    Picture resized;  ///< of the output's size
    Picture full;     ///< input of a network that makes chroma
    Picture source;   ///< for the faces: the picture before the resize and its network, or what a last network restores
    Plane steady;     ///< luma blended with older pictures
    Plane steep;      ///< luma with straight, steep contours
    pixel::MotionVector* motion = nullptr;  ///< of its source's blocks; only for the temporal accumulation
    TemporalState* state = nullptr;         ///< as it was for this picture
  };
  void MakeSourcePictures();
  void MakeTimeStages();
  void MakeReduction();
  void MakeNetwork();
  void MakeOutputStages();
  Slot MakeSlot();

  /// The stages at the source's size. The result is a picture of this class, or has planes of several.
  Picture Import(Surface surface, StreamHandle stream);
  Picture DenoiseTemporally(const Picture& picture, StreamHandle stream);
  Picture Denoise(const Picture& picture, StreamHandle stream);
  /// Copies what the next picture overwrites before Complete.
  void KeepForComplete(const Slot& slot, StreamHandle stream);
  void CopyPlane(const Plane& from, const Plane& to, StreamHandle stream);
  void KeepForFaces(const Picture& source, const Slot& slot, StreamHandle stream);
  void Resize(const Picture& working, Slot& slot, StreamHandle stream);
  Picture NetworkInput(const Picture& upright, const Slot& slot, StreamHandle stream);
  void TakeFromNetwork(int index, StreamHandle stream);
  void Accumulate(Slot& slot, StreamHandle stream);
  void RestoreEdges(Slot& slot, StreamHandle stream);

  /// first_ or second_: the one whose luma is not that of a picture.
  const Picture& OtherThan(const Picture& picture) const { return picture.planes[0].data == first_.planes[0].data ? second_ : first_; }
  bool denoises_temporally() const { return options_.temporal_strength > 0 && options_.temporal_sigma > 0; }
  bool denoises() const { return options_.denoise_strength > 0 && options_.noise_sigma > 0; }  ///< spatially
  /// Whether the network makes all planes, without subsampling; else only luma, and chroma bypasses it.
  bool makes_chroma() const { return options_.network && inference::MakesChroma(options_.network->file.layout); }
  bool restores_all() const { return options_.restores_luma && makes_chroma(); }

  std::shared_ptr<Device> device_;
  StageOptions options_;
  DeviceArena arena_;
  Picture first_;    ///< at the displayed source's size …
  Picture second_;   ///< … and a second one for stages that cannot work in place
  Picture reduced_;  ///< at the working size, if that is not the source's
  Picture source_;   ///< shape and colour of the picture that is enlarged: `reduced_`, or the displayed source
  pixel::ColorSpec working_color_;  ///< after tone mapping
  Picture output_;   ///< shape of the output
  const pixel::ToneTables* tone_tables_ = nullptr;
  std::optional<SceneStage> scenes_;
  std::optional<TemporalStage> temporal_;
  std::optional<DebandStage> deband_;
  std::optional<ContrastStage> contrast_;
  std::unique_ptr<ResizeStage> reduce_;  ///< displayed source → working size
  std::unique_ptr<ResizeStage> resize_;  ///< source → output: all planes, or only chroma beside a network of luma
  std::unique_ptr<ResizeStage> widen_;   ///< chroma of the source to luma's resolution, for a network that makes chroma
  std::unique_ptr<ResizeStage> fit_;     ///< network's output → output
  std::optional<AccumulationStage> accumulation_;
  std::optional<EdgeStage> edges_;
  std::optional<FaceStage> faces_;
  std::vector<Slot> slots_;
  std::unique_ptr<NetworkRunner> network_;  ///< last: its work ends before its inputs are freed
};

}  // namespace reelmend::cuda
