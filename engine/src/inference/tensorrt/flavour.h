// The two kinds of TensorRT, and all that differs between them. REELMEND_TENSORRT_RTX is defined for TensorRT-RTX.
#pragma once

#include <NvInfer.h>
#include <NvOnnxParser.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "inference/gpu_backend.h"

namespace reelmend::inference::flavour {

/// Types are those of the ONNX file: TensorRT 10 must be told (the flag's number is its header's: it changed with 11),
/// later ones and TensorRT-RTX know no other way.
#if NV_TENSORRT_MAJOR == 10
inline constexpr std::uint32_t kNetworkFlags = 1U << static_cast<std::uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
#else
inline constexpr std::uint32_t kNetworkFlags = 0;
#endif

#if defined(REELMEND_TENSORRT_RTX)

inline constexpr const char* kName = "tensorrt-rtx";
inline constexpr const char* kTitle = "TensorRT-RTX";
inline constexpr const char* kLibrary = "libtensorrt_rtx.so.1";
inline constexpr const char* kParserLibrary = "libtensorrt_onnxparser_rtx.so.1";
inline constexpr bool kBuildsAnywhere = true;
inline constexpr const char* kBuilderParts = nullptr;

/// GPUs of the RTX line and their kin. Compute capabilities 9.0 and 10.0 (H100, H200, B200) are left out.
inline bool Supports(const GpuTarget& target) {
  constexpr int kKnown[] = {75, 80, 86, 89, 120, 121};
  return std::ranges::find(kKnown, target.major * 10 + target.minor) != std::end(kKnown);
}

/// An engine holds what is the same for all GPUs of its compute capability; kernels are compiled where it is loaded.
inline bool Aim(nvinfer1::IBuilderConfig& config, const GpuTarget& target) {
  config.setFlag(nvinfer1::BuilderFlag::kREQUIRE_USER_ALLOCATION);  // else a large network may refuse to be captured
  return config.setNbComputeCapabilities(1) &&
         config.setComputeCapability(static_cast<nvinfer1::ComputeCapability>(target.major * 10 + target.minor), 0);
}

/// What to try where no engine could be built; false: nothing more. A network whose operators take memory while they run
/// has no engine that can be captured, but one that runs piece by piece.
inline bool Relax(nvinfer1::IBuilderConfig& config) {
  config.clearFlag(nvinfer1::BuilderFlag::kREQUIRE_USER_ALLOCATION);
  return true;
}

/// Nothing is timed while building.
class BuildMemory {
 public:
  BuildMemory(nvinfer1::IBuilderConfig&, GpuMemo&) {}
  void Keep(GpuMemo&) {}
};

/// Kernels compiled for this GPU: kept, so that the next process need not compile them again.
class LoadMemory {
 public:
  LoadMemory(nvinfer1::ICudaEngine& engine, const GpuMemo& memo) : config_(engine.createRuntimeConfig()) {
    if (!config_) return;
    config_->setExecutionContextAllocationStrategy(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED);
    cache_.reset(config_->createRuntimeCache());
    if (!cache_) return;
    if (!memo.bytes.empty()) cache_->deserialize(memo.bytes.data(), memo.bytes.size());  // one that does not fit is left
    config_->setRuntimeCache(*cache_);
  }
  nvinfer1::IExecutionContext* MakeContext(nvinfer1::ICudaEngine& engine) { return engine.createExecutionContext(config_.get()); }
  void Keep(GpuMemo& memo) {
    const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache_ ? cache_->serialize() : nullptr);
    if (!bytes || bytes->size() == memo.bytes.size()) return;
    memo.bytes.assign(static_cast<const char*>(bytes->data()), bytes->size());
    memo.has_changed = true;
  }

 private:
  std::unique_ptr<nvinfer1::IRuntimeConfig> config_;
  std::unique_ptr<nvinfer1::IRuntimeCache> cache_;
};

/// What the engine's header says of why it cannot run here; empty when it can.
inline std::string WhyInvalid(nvinfer1::IRuntime& runtime, const std::string& engine) {
  if (static_cast<std::int64_t>(engine.size()) < runtime.getEngineHeaderSize()) return "it is too short";
  std::uint64_t why = 0;
  using nvinfer1::EngineInvalidityDiagnostics;
  const auto validity = runtime.getEngineValidity(engine.data(), static_cast<std::int64_t>(engine.size()), &why);
  if (validity != nvinfer1::EngineValidity::kINVALID) return "";
  const auto has = [&](EngineInvalidityDiagnostics bit) { return (why & static_cast<std::uint64_t>(bit)) != 0; };
  if (has(EngineInvalidityDiagnostics::kVERSION_MISMATCH)) return "it was built by another version";
  if (has(EngineInvalidityDiagnostics::kMALFORMED_ENGINE)) return "it is damaged";
  if (has(EngineInvalidityDiagnostics::kUNSUPPORTED_CC)) return "it is for another kind of GPU";
  if (has(EngineInvalidityDiagnostics::kOLD_CUDA_DRIVER)) return "the NVIDIA driver is older than it needs";
  return "this machine's GPU cannot run it";
}

#else

inline constexpr const char* kName = "tensorrt";
inline constexpr const char* kTitle = "TensorRT";
#if NV_TENSORRT_MAJOR >= 11
inline constexpr const char* kLibrary = "libnvinfer.so.11";
inline constexpr const char* kParserLibrary = "libnvonnxparser.so.11";
#else
inline constexpr const char* kLibrary = "libnvinfer.so.10";
inline constexpr const char* kParserLibrary = "libnvonnxparser.so.10";
#endif
inline constexpr bool kBuildsAnywhere = false;
/// The builder opens libraries of such names when it is first used, wherever the loader finds them.
inline constexpr const char* kBuilderParts = "libnvinfer_builder_resource";

inline bool Supports(const GpuTarget& target) { return target.major * 10 + target.minor >= 75; }

/// Tactics are timed on the current device, which is the only target.
inline bool Aim(nvinfer1::IBuilderConfig& config, const GpuTarget&) {
  config.setBuilderOptimizationLevel(5);  // slow to build, once a shape
  config.setMaxAuxStreams(0);             // other contexts fill the GPU
  return true;
}

inline bool Relax(nvinfer1::IBuilderConfig&) { return false; }

/// Times of tactics that were measured already.
class BuildMemory {
 public:
  BuildMemory(nvinfer1::IBuilderConfig& config, GpuMemo& memo)
      : config_(config), cache_(config.createTimingCache(memo.bytes.data(), memo.bytes.size())) {
    if (!cache_) cache_.reset(config.createTimingCache(nullptr, 0));  // of another version, or damaged
    if (cache_) config.setTimingCache(*cache_, false);
  }
  void Keep(GpuMemo& memo) {
    const auto* cache = config_.getTimingCache();
    const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache != nullptr ? cache->serialize() : nullptr);
    if (!bytes || std::string_view(static_cast<const char*>(bytes->data()), bytes->size()) == memo.bytes) return;
    memo.bytes.assign(static_cast<const char*>(bytes->data()), bytes->size());
    memo.has_changed = true;
  }

 private:
  nvinfer1::IBuilderConfig& config_;
  std::unique_ptr<nvinfer1::ITimingCache> cache_;
};

class LoadMemory {
 public:
  LoadMemory(nvinfer1::ICudaEngine&, const GpuMemo&) {}
  nvinfer1::IExecutionContext* MakeContext(nvinfer1::ICudaEngine& engine) {
    return engine.createExecutionContext(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED);
  }
  void Keep(GpuMemo&) {}
};

inline std::string WhyInvalid(nvinfer1::IRuntime&, const std::string&) { return ""; }

#endif

}  // namespace reelmend::inference::flavour
