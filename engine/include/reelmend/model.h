// Networks that are installed beside the engine: what a manifest says of each file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reelmend {

/// One ONNX file. A name may have several: other scales, other precisions; the engine picks by need.
struct ModelFile {
  enum class Layout {
    /// In [1, 2, H, W]: luma, gamma-coded, 0 = black … 1 = white; and a plane that holds the strength of
    /// restoration, 0 (leave alone) … 1. Out [1, 1, scale × H, scale × W]: luma.
    kLumaStrength,
    /// In [1, 4, H, W]: luma and the strength as in kLumaStrength; Cb and Cr on luma's grid, 0 = neutral, −0.5 … 0.5 over
    /// the nominal range ((C − 128) ÷ 224 of 8-bit codes of the limited range, ÷ 255 of the full one). Out
    /// [1, 3, scale × H, scale × W]: luma, Cb and Cr in the same units. Neither is cut to its range. The matrix is the
    /// source's, BT.601 or BT.709 or BT.2020.
    kYcbcrStrength,
    /// In and out [1, 3, H, W]: R′G′B′ in [0, 1], as Real-ESRGAN has it.
    kRgb,
    /// Not for whole pictures: in and out [1, 3, N, N], R′G′B′ from −1 to 1, one face whose eyes, nose and mouth lie
    /// where FFHQ's alignment has them. A second input “weight” is given 0.5. The model named "faces" is taken.
    kFace,
  };
  enum class Precision { kFp32, kInt8 };

  std::string name;
  std::string path;
  Layout layout = Layout::kLumaStrength;
  Precision precision = Precision::kFp32;
  int scale = 2;          ///< of each side, 1…8
  int multiple = 1;       ///< sides of the input must be divisible by this; pictures are padded for it
  int halo = 32;          ///< input pixels around a place that its output depends on
  std::string input;      ///< name of the network's input; empty: its only one
  std::string output;     ///< the same of its output
  std::string sha256;     ///< of the file, 64 hexadecimal digits; empty: not checked
  double loss_db = 0;     ///< PSNR below the fp32 file of the same network, in dB
  float max_strength = 1; ///< of restoration that it was trained for; 0: it only enlarges
  float max_change = 255;   ///< layout kFace: what it may change of a sample, in 8-bit codes; beyond that it is cut
  bool allow_bf16 = false;  ///< its measured loss in bfloat16 is as small as int8's may be

  bool operator==(const ModelFile&) const = default;
};

/// What a trial run of a model showed.
struct ModelReport {
  std::string backend;       ///< "openvino"
  std::string precision;     ///< that inference ran in: "fp32", "bf16", "int8"
  int input_width = 0;       ///< of the frame that was tried
  int input_height = 0;
  int output_width = 0;
  int output_height = 0;
  int tiles = 1;             ///< that a frame is cut into
  std::int64_t working_bytes = 0;  ///< estimate of the memory that it takes
  double load_ms = 0;        ///< reading and compiling
  double ms_per_frame = 0;   ///< wall time, frames back to back
};

struct ModelTrial {
  int width = 256;   ///< of the frame
  int height = 256;
  int frames = 3;    ///< timed ones; their mean counts
  int threads = 0;   ///< 0 = all cores that this process may use
};

/// Loads a model and runs it. Throws Error{kInvalidArgument} in one sentence for a file that is not what its
/// description says (checksum, format, planes, scale, operators) and Error{kUnavailable} without a backend.
ModelReport CheckModel(const ModelFile& model, const ModelTrial& trial = {});

/// An engine of a model for one kind of GPU, as CompileModel made it.
struct CompiledEngine {
  std::string backend;    ///< "tensorrt-rtx 1.7.1.116"
  std::string target;     ///< compute capability, "8.9"
  std::string device;     ///< the GPU's name where the engine is tied to it
  std::string precision;  ///< "fp16", "int8", "fp32"
  std::string file;       ///< its name in the folder; empty where it could not be built
  int width = 0;          ///< of the pictures that go in; 0: any size from 64×64 to 4096×2304
  int height = 0;
  double build_ms = 0;    ///< 0: it was there already
  int contexts = 0;       ///< that jobs have at once, as measured on this machine's GPU; 0: it is not here …
  int batch = 0;          ///< … and pictures in each
  std::string not_built;     ///< one sentence, where the GPU has too little memory to build it
  std::string not_measured;  ///< one sentence, where the GPU is here and could not be measured
};

struct CompileRequest {
  std::string folder;  ///< made when it is not there
  int width = 1920;    ///< of the pictures that go in; rounded up to what the model asks for
  int height = 1080;
};

/// Builds engines of a model ahead of time (EnhanceOptions::engine_folder): of TensorRT-RTX for every generation of GPUs
/// that it supports, here or not, and for the GPUs of this machine with whatever else runs there (there also one that
/// takes pictures of any size, for those that none was built for). On each kind of GPU in this machine it is measured,
/// anew with each call, how much of a network at once is worth its memory; jobs go by it. Throws
/// Error{kInvalidArgument} for a model that cannot be built and Error{kUnavailable} where nothing can build.
std::vector<CompiledEngine> CompileModel(const ModelFile& model, const CompileRequest& request);

/// Throws Error{kInvalidArgument} for a description that is out of its ranges.
void CheckModelDescription(const ModelFile& model);

}  // namespace reelmend
