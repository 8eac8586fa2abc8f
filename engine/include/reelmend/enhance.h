// Enhancing one video file into an H.264 MP4.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reelmend/model.h"
#include "reelmend/probe.h"

namespace reelmend {

/// Strength of one enhancement: automatic, off, or fixed in [0, 1].
struct Strength {
  enum class Mode { kAuto, kOff, kFixed };
  Mode mode = Mode::kAuto;
  float value = 0.0F;  ///< only with kFixed; 0 is the same as off
};

/// The box that the picture is fitted into, for a landscape source; a portrait source uses it turned.
enum class Target {
  k1080p,  ///< 1920 × 1080
  k4k,     ///< 3840 × 2160
  kSource, ///< the source's own displayed size (made even): restoration without resizing
};

/// Half-open range of presentation time, in seconds from the first displayed frame.
/// One video can be split over many workers: each enhances one segment and the parts are joined without
/// re-encoding. Frames of the warm-up before `start_s` are decoded and run through the temporal stages
/// but not encoded, so that a segment equals the same frames of a whole run. The first frame of a segment
/// is an IDR frame; audio is left out of segments (it is added when joining).
struct Segment {
  double start_s = 0;
  double end_s = 0;
  int warm_up_frames = 24;  ///< 23 are enough: contrast looks back 15 pictures, denoising 7, scene cuts 1 more
};

/// The default keeps VMAF at 95 and above on every clip of bench/results/encoder.md, for the least time of all that do.
struct EncoderOptions {
  std::string preset = "superfast";  ///< x264 preset
  float crf = 16.0F;                 ///< x264 constant rate factor, 0…51
};

struct EnhanceOptions {
  Target target = Target::k1080p;
  Strength denoise;
  Strength sharpen;
  Strength adaptive_contrast;
  Strength face_restoration;
  /// Name of one of `models`; "none" is the plain filter. "auto" takes `quality` on a GPU and `fast` on a CPU, where
  /// it is installed, can run and has something to do (enlarging, or restoring what is not clean), else none.
  std::string model = "auto";
  std::vector<ModelFile> models;  ///< installed networks, all files of all names
  std::string device = "auto";  ///< "auto", "cpu", "cuda:N"
  /// Where engines of networks for GPUs are kept (reelmend/model.h, CompileModel); empty: nowhere, each run builds its own.
  std::string engine_folder;
  bool may_write_engines = true;  ///< false: engines are taken from the folder, and what is missing is not added
  int threads = 0;              ///< 0 = all cores this process may use
  EncoderOptions encoder;
  SourceLimits limits;
  std::optional<Segment> segment;
};

struct Progress {
  double fraction = 0;           ///< 0…1, never falls
  std::int64_t frames_done = 0;  ///< frames handed to the encoder
  double frames_per_second = 0;  ///< over the last few seconds
  double eta_s = 0;              ///< estimated seconds left; < 0 while unknown
};

/// Time spent in one stage of the pipeline. `cpu_seconds` is thread CPU time summed over its threads.
struct StageTime {
  std::string name;  ///< decode, convert, denoise, network, resize, faces, contrast, sharpen, encode, …
  double cpu_seconds = 0;
};

/// One stage as it is planned, and why it is so: one clause for people, with the figures that decided.
struct PlannedStage {
  std::string name;  ///< denoise, model, face_restoration, sharpen, adaptive_contrast
  float strength = 0;
  std::string why;
};

/// What Enhance would do.
struct EnhancePlan {
  ProbeResult source;
  int width = 0;  ///< of the output
  int height = 0;
  std::string device;
  std::string model = "none";
  std::vector<PlannedStage> stages;
};

/// What was really applied; `model` is the network's name or "none".
struct AppliedEnhancements {
  float denoise = 0;  ///< of the filters, or the strength that the network was given
  float sharpen = 0;
  float adaptive_contrast = 0;
  float face_restoration = 0;  ///< 0 also when no face was found
  std::string model = "none";
};

struct EnhanceResult {
  ProbeResult source;               ///< measured again, from decoded frames
  int width = 0;                    ///< of the output
  int height = 0;
  std::int64_t frames = 0;          ///< encoded
  std::int64_t undecodable_frames = 0;
  double duration_s = 0;            ///< presentation duration of the output's video stream
  std::int64_t size_bytes = 0;
  std::string device;               ///< "cpu" or "cuda:N (name)"
  AppliedEnhancements applied;
  std::vector<PlannedStage> plan;   ///< as it was made before the first frame
  std::int64_t faces = 0;           ///< restored, each frame's counted
  double wall_seconds = 0;
  double start_seconds = 0;         ///< of them, until the first frame was in the stages: opening, planning, loading
  std::vector<StageTime> stages;
};

/// Called from the pipeline's own threads, at most about ten times a second.
struct EnhanceCallbacks {
  std::function<void(const Progress&)> on_progress;  ///< optional
  std::function<bool()> is_cancelled;                ///< polled at least every 50 ms; optional
};

/// What Prepare made ready for one call of Enhance.
class Preparation {
 public:
  Preparation() = default;
  virtual ~Preparation() = default;
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
};

/// Reads `input_path`, writes `output_path` (created or replaced; removed again when an error is thrown).
/// Blocks until finished. Thread-safe: several calls may run at once. `prepared` saves what it holds that fits; the rest
/// of it is let go. The result is the same with and without.
EnhanceResult Enhance(const std::string& input_path, const std::string& output_path,
                      const EnhanceOptions& options, const EnhanceCallbacks& callbacks = {},
                      std::unique_ptr<Preparation> prepared = nullptr);

/// What Enhance would do with `input_path`, by a look at a few of its frames. Throws what Enhance throws before its
/// first frame.
EnhancePlan PlanEnhance(const std::string& input_path, const EnhanceOptions& options,
                        const EnhanceCallbacks& callbacks = {});

/// Size of the output for a displayed source size (square pixels): fits the box, keeps the aspect ratio,
/// both sides even and at least 2. Larger sources are reduced, smaller ones enlarged.
struct Size {
  int width = 0;
  int height = 0;
};
Size FitTarget(Size displayed, Target target);

/// What the next call of Enhance is expected to meet; mostly what the last one met.
struct Expectation {
  Size picture;                ///< as it is stored, turned upright; {0, 0}: nothing is known, the device alone is opened
  Size output;
  std::string model = "none";  ///< the network that will run
  bool restores_faces = false;
};

/// Does ahead of time what Enhance with such options does before its first frame whatever the video is: opens the
/// device and its libraries, loads and compiles the networks (engines of a GPU are taken from the folder or built).
/// What cannot be made ready is left to Enhance, which says why; throws as Enhance does where the device is not there.
std::unique_ptr<Preparation> Prepare(const EnhanceOptions& options, const Expectation& expectation);

}  // namespace reelmend
