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
  float value = 0.0F;  ///< 0…1, for kFixed only; 0 equals off
};

/// The box that the output is fitted into. Given for landscape; portrait sources use it with both sides exchanged.
enum class Target {
  k1080p,  ///< 1920 × 1080
  k4k,     ///< 3840 × 2160
  kSource, ///< the source's displayed size, made even: restores without resizing
};

/// Half-open range of presentation time, in seconds from the first displayed frame.
/// One video can be split over many workers: each enhances one segment, and the parts are joined without re-encoding.
/// The frames just before `start_s` (the warm-up) run through the temporal stages but are not encoded. That makes a
/// segment equal to the same frames of a whole run. The first frame of a segment is an IDR frame. Segments have no
/// audio; it is added when they are joined.
struct Segment {
  double start_s = 0;
  double end_s = 0;
  /// At least 27. Face restoration looks back 16 frames, contrast 15; before them temporal accumulation looks back 3, temporal denoising 7,
  /// and the detection of scene cuts 1.
  int warm_up_frames = 27;
};

/// Options of the H.264 encoder. The default is the fastest with VMAF ≥ 95 on all clips of bench/results/encoder.md.
struct EncoderOptions {
  std::string preset = "superfast";  ///< x264 preset
  float crf = 16.0F;                 ///< x264 constant rate factor, 1…51; NVENC's constant quality (cq)
  /// Largest bit rate of the video stream in bits per second, held with a buffer of half a second: any t seconds have at
  /// most (t + 0.5) times as many bits. 0 = no limit. Exceeded if even the coarsest quantiser needs more.
  std::int64_t max_bitrate = 0;
};

/// The measured speed of this machine, and the speed that its operator wants at least. `auto` uses them on CPUs.
struct MachineSpeed {
  double other_ms_per_megapixel = 0;  ///< time of a frame without its network, over the megapixels of the output; 0: not measured
  double min_frames_per_second = 0;   ///< floor; 0: none
  double min_times_length = 0;        ///< the same, as a multiple of real time: 1 is as fast as the video plays; 0: none
};

struct EnhanceOptions {
  Target target = Target::k1080p;
  Strength denoise;
  Strength sharpen;
  Strength adaptive_contrast;
  Strength face_restoration;
  /// Name of one of `models`, or "none" for the plain filter. "auto" takes `detail` for a damaged source, else `quality`
  /// on a GPU and `fast` on a CPU, if that model is installed, can run and has something to do (enlarge, or restore a
  /// source that is not clean), else none. With a floor in `machine`, a CPU takes the best of them that keeps it.
  std::string model = "auto";
  std::vector<ModelFile> models;  ///< installed networks, all files of all names
  std::string device = "auto";  ///< "auto", "cpu", "cuda:N"
  /// Folder of compiled networks for GPUs (CompileModel in reelmend/model.h). Empty: none is kept, each run builds its own.
  std::string engine_folder;
  MachineSpeed machine;
  bool may_write_engines = true;  ///< false: engines are read from the folder; missing ones are not added
  int threads = 0;              ///< 0 = all cores this process may use
  EncoderOptions encoder;
  SourceLimits limits;
  std::optional<Segment> segment;
  /// SegmentPlan::text (reelmend/segments.h) and the index of a segment in it: Enhance makes the piece of that segment, with
  /// the plan's `encoder`. Excludes `segment`.
  std::string segment_plan;
  int segment_index = 0;
};

struct Progress {
  double fraction = 0;           ///< 0…1, never falls
  std::int64_t frames_done = 0;  ///< frames handed to the encoder
  double frames_per_second = 0;  ///< average of the last few seconds
  double eta_s = 0;              ///< estimated seconds left; < 0 while unknown
};

/// Time spent in one stage of the pipeline. `cpu_seconds` is thread CPU time summed over its threads.
struct StageTime {
  std::string name;  ///< decode, convert, denoise, network, resize, faces, contrast, sharpen, encode, …
  double cpu_seconds = 0;
};

/// One planned stage. `why` is one clause for people, with the figures that decided.
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
  std::string condition;  ///< of the source, in words: “heavily compressed, enlarged before from about 240p”; empty if unknown
};

/// What was applied; `model` is the network's name or "none".
struct AppliedEnhancements {
  float denoise = 0;  ///< strength of the filters, or of the network where it denoises
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
  std::vector<PlannedStage> plan;   ///< the plan made before the first frame
  std::string condition;            ///< as EnhancePlan::condition
  std::int64_t faces = 0;           ///< restored faces, summed over all frames
  double wall_seconds = 0;
  double start_seconds = 0;         ///< part of wall_seconds before the first frame was processed: opening, planning, loading
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

/// Enhances `input_path` into `output_path`, which is created or replaced, and removed again when an error is thrown.
/// Blocks until finished. Thread-safe: several calls may run at once. Parts of `prepared` that fit are used, the rest
/// is released; the result is the same with and without it.
EnhanceResult Enhance(const std::string& input_path, const std::string& output_path,
                      const EnhanceOptions& options, const EnhanceCallbacks& callbacks = {},
                      std::unique_ptr<Preparation> prepared = nullptr);

/// The same for a ByteSource. Reads it from one thread at a time, and never after the return. For a planned segment
/// (segment_plan) it reads the index, the first frame, and the segment's frames with their warm-up.
EnhanceResult Enhance(ByteSource& source, const std::string& output_path,
                      const EnhanceOptions& options, const EnhanceCallbacks& callbacks = {},
                      std::unique_ptr<Preparation> prepared = nullptr);

/// The plan that Enhance would make for `input_path`. Decodes a few frames. Throws what Enhance throws before its
/// first frame.
EnhancePlan PlanEnhance(const std::string& input_path, const EnhanceOptions& options,
                        const EnhanceCallbacks& callbacks = {});

/// Output size for a displayed source size (square pixels). Fits the box, keeps the aspect ratio; both sides are even
/// and at least 2. Larger sources are reduced, smaller ones enlarged.
struct Size {
  int width = 0;
  int height = 0;
};
Size FitTarget(Size displayed, Target target);

/// The video that the next call of Enhance is expected to get, usually the same as the last one.
struct Expectation {
  Size picture;                ///< stored size, after rotation; {0, 0}: unknown, only the device is opened
  Size output;
  std::string model = "none";  ///< the network that will run
  bool restores_faces = false;
};

/// Does ahead of time what Enhance does before its first frame for any video: opens the device and its libraries,
/// loads and compiles the networks. Engines for GPUs are read from the folder or built. A part that fails is left to
/// Enhance, which reports it. Throws like Enhance if the device does not exist.
std::unique_ptr<Preparation> Prepare(const EnhanceOptions& options, const Expectation& expectation);

}  // namespace reelmend
