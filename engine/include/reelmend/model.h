// Installed networks, as their manifest describes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reelmend {

/// One ONNX file. Several files may share a name, with other scales or precisions; the engine chooses among them.
struct ModelFile {
  enum class Layout {
    /// Input [1, 2, H, W]: luma, gamma-coded, 0 = black … 1 = white; and a plane that holds the strength of
    /// restoration, 0 = none … 1. Output [1, 1, scale × H, scale × W]: luma.
    kLumaStrength,
    /// Input [1, 4, H, W]: luma and strength as in kLumaStrength; Cb and Cr at luma's resolution, 0 = neutral, −0.5 …
    /// 0.5 over the nominal range ((C − 128) ÷ 224 for 8-bit limited range, ÷ 255 for full range). Output [1, 3,
    /// scale × H, scale × W]: luma, Cb and Cr in the same units. Neither is clipped. The matrix is the source's:
    /// BT.601, BT.709 or BT.2020.
    kYcbcrStrength,
    /// Input and output [1, 3, H, W]: R′G′B′ in [0, 1], as in Real-ESRGAN.
    kRgb,
    /// For single faces: input and output [1, 3, N, N], R′G′B′ in [−1, 1], one face aligned as in FFHQ. A second
    /// input named “weight” gets 0.5. Of several, the last is used.
    kFace,
  };
  enum class Precision { kFp32, kInt8 };

  std::string name;
  std::string path;
  Layout layout = Layout::kLumaStrength;
  Precision precision = Precision::kFp32;
  int scale = 2;          ///< enlargement of each side, 1…8
  int multiple = 1;       ///< both sides of the input must be divisible by it; frames are padded
  int halo = 32;          ///< receptive field: input pixels around a sample that its output depends on
  std::string input;      ///< name of the network's input; empty: its only one
  std::string output;     ///< name of the network's output; empty: its only one
  std::string sha256;     ///< of the file, 64 hexadecimal digits; empty: not checked
  double loss_db = 0;     ///< PSNR lost against the fp32 file of the same network, in dB
  float max_strength = 1; ///< largest strength of restoration it was trained for; 0: it only enlarges
  bool is_blind = false;  ///< the network recognises damage by itself; the strength, if it takes one, sets how much it restores
  float strength_gain = 1;  ///< of a blind network: `auto` multiplies the strength that the damage calls for by it, up to 1
  float max_change = 255;   ///< layout kFace: largest change of a sample, in 8-bit levels; larger ones are clipped
  bool allow_bf16 = false;  ///< true if its measured loss in bfloat16 is as small as allowed for int8
  /// Milliseconds for a frame and a megapixel of the network's input on this machine's CPU, measured by CheckModel with the
  /// threads of a job; 0: not measured.
  double ms_per_megapixel = 0;

  bool operator==(const ModelFile&) const = default;
};

/// Result of a trial run of a model.
struct ModelReport {
  std::string backend;       ///< "openvino"
  std::string precision;     ///< precision of the inference: "fp32", "bf16", "int8"
  int input_width = 0;       ///< size of the test frame
  int input_height = 0;
  int output_width = 0;
  int output_height = 0;
  int tiles = 1;             ///< number of tiles of a frame
  std::int64_t working_bytes = 0;  ///< estimated memory
  double load_ms = 0;        ///< time to read and compile
  double ms_per_frame = 0;   ///< wall time, frames back to back; of the fastest round
};

struct ModelTrial {
  int width = 256;   ///< of the frame
  int height = 256;
  int frames = 3;    ///< number of timed frames of a round; their mean counts
  int rounds = 1;    ///< several reduce the influence of other load; no further one begins after 0.8 s
  int threads = 0;   ///< 0 = all cores that this process may use
};

/// Loads a model and runs it. Throws Error{kInvalidArgument} in one sentence if the file does not match its
/// description (checksum, format, planes, scale, operators) and Error{kUnavailable} without a backend.
ModelReport CheckModel(const ModelFile& model, const ModelTrial& trial = {});

/// An engine of a model for one kind of GPU, as CompileModel made it.
struct CompiledEngine {
  std::string backend;    ///< "tensorrt-rtx 1.7.1.116"
  std::string target;     ///< compute capability, "8.9"
  std::string device;     ///< name of the GPU if the engine runs on that model only
  std::string precision;  ///< "fp16", "int8", "fp32"
  std::string file;       ///< its name in the folder; empty where it could not be built
  int width = 0;          ///< of the input; 0: any size from 64×64 to 4096×2304
  int height = 0;
  double build_ms = 0;    ///< 0: it existed already
  int contexts = 0;       ///< best number of concurrent contexts, measured on this machine's GPU; 0: not measured
  int batch = 0;          ///< best number of frames in a context
  std::string not_built;     ///< one sentence if the GPU has too little memory to build it, else empty
  std::string not_measured;  ///< one sentence if the GPU is in this machine and could not be measured, else empty
};

struct CompileRequest {
  std::string folder;  ///< created if missing
  int width = 1920;    ///< of the input; rounded up to the model's `multiple`
  int height = 1080;
};

/// Builds engines of a model ahead of time (EnhanceOptions::engine_folder): with TensorRT-RTX for every supported generation of
/// GPUs; with TensorRT for the GPUs of this machine, plus one engine for a range of sizes, which serves all other sizes. Each call
/// also measures the best number of concurrent contexts and the best batch size on each kind of GPU in this machine; jobs use
/// them. Throws Error{kInvalidArgument} for a model that cannot be built, Error{kLimitExceeded} where a GPU has too little memory,
/// and Error{kUnavailable} where no backend can build.
std::vector<CompiledEngine> CompileModel(const ModelFile& model, const CompileRequest& request);

/// Throws Error{kInvalidArgument} for a description that is out of its ranges.
void CheckModelDescription(const ModelFile& model);

}  // namespace reelmend
