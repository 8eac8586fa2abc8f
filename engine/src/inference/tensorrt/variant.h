// The differences between TensorRT and TensorRT-RTX. REELMEND_TENSORRT_RTX is defined for TensorRT-RTX.
#pragma once

#include <NvInfer.h>
#include <NvOnnxParser.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "inference/gpu_backend.h"
#include "inference/gpu_support.h"

namespace reelmend::inference::variant {

/// Networks are strongly typed. TensorRT 10 needs a flag for that (its number changed with 11); later versions and
/// TensorRT-RTX have no other mode.
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
inline constexpr std::string_view kBuilderParts;  ///< none

inline bool Supports(const GpuTarget& target) { return TensorRtRtxSupports(target); }
inline bool KnowsBlackwell(int, int) { return true; }

/// An engine serves all GPUs of a compute capability; kernels are compiled when it is loaded.
inline bool Aim(nvinfer1::IBuilderConfig& config, const GpuBuildOptions& options) {
  config.setFlag(nvinfer1::BuilderFlag::kREQUIRE_USER_ALLOCATION);  // otherwise a large network may refuse to be captured
  return config.setNbComputeCapabilities(1) &&
         config.setComputeCapability(static_cast<nvinfer1::ComputeCapability>(options.target.major * 10 + options.target.minor), 0);
}

/// Relaxes the configuration after a failed build; false if nothing is left to try. A network whose operators allocate
/// memory at run time cannot be captured, but can run without a graph.
inline bool Relax(nvinfer1::IBuilderConfig& config) {
  config.clearFlag(nvinfer1::BuilderFlag::kREQUIRE_USER_ALLOCATION);
  return true;
}

/// Nothing is timed while building.
class BuildMemory {
 public:
  BuildMemory(nvinfer1::IBuilderConfig&, BackendCache&) {}
  void Keep(BackendCache&) {}
};

/// The cache of kernels compiled for this GPU, so that the next process need not compile them again.
class LoadMemory {
 public:
  LoadMemory(nvinfer1::ICudaEngine& engine, const BackendCache& backend_cache) : config_(engine.createRuntimeConfig()) {
    if (!config_) return;
    config_->setExecutionContextAllocationStrategy(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED);
    cache_.reset(config_->createRuntimeCache());
    if (!cache_) return;
    if (!backend_cache.bytes.empty()) cache_->deserialize(backend_cache.bytes.data(), backend_cache.bytes.size());  // one that does not fit is ignored
    config_->setRuntimeCache(*cache_);
  }
  nvinfer1::IExecutionContext* MakeContext(nvinfer1::ICudaEngine& engine) { return engine.createExecutionContext(config_.get()); }
  void Keep(BackendCache& backend_cache) {
    const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache_ ? cache_->serialize() : nullptr);
    if (!bytes || bytes->size() == backend_cache.bytes.size()) return;
    backend_cache.bytes.assign(static_cast<const char*>(bytes->data()), bytes->size());
    backend_cache.has_changed = true;
  }

 private:
  std::unique_ptr<nvinfer1::IRuntimeConfig> config_;
  std::unique_ptr<nvinfer1::IRuntimeCache> cache_;
};

/// Why the engine cannot run here, from its header; empty if it can.
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
/// Prefix of the libraries that the builder opens by name on first use.
inline constexpr std::string_view kBuilderParts = "libnvinfer_builder_resource";

inline bool Supports(const GpuTarget& target) { return TensorRtSupports(target); }
/// Whether this version has kernels for compute capability 10.0 and higher.
inline bool KnowsBlackwell(int major, int minor) { return major > 10 || (major == 10 && minor >= 8); }

/// Tactics are timed on the current device, which is the only target.
inline bool Aim(nvinfer1::IBuilderConfig& config, const GpuBuildOptions& options) {
  config.setBuilderOptimizationLevel(options.level);
  config.setMaxAuxStreams(0);             // other contexts use the rest of the GPU
  return true;
}

inline bool Relax(nvinfer1::IBuilderConfig&) { return false; }

/// The cache of timed tactics.
class BuildMemory {
 public:
  BuildMemory(nvinfer1::IBuilderConfig& config, BackendCache& backend_cache)
      : config_(config), cache_(config.createTimingCache(backend_cache.bytes.data(), backend_cache.bytes.size())) {
    if (!cache_) cache_.reset(config.createTimingCache(nullptr, 0));  // from another version, or damaged
    if (cache_) config.setTimingCache(*cache_, false);
  }
  void Keep(BackendCache& backend_cache) {
    const auto* cache = config_.getTimingCache();
    const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache != nullptr ? cache->serialize() : nullptr);
    if (!bytes || std::string_view(static_cast<const char*>(bytes->data()), bytes->size()) == backend_cache.bytes) return;
    backend_cache.bytes.assign(static_cast<const char*>(bytes->data()), bytes->size());
    backend_cache.has_changed = true;
  }

 private:
  nvinfer1::IBuilderConfig& config_;
  std::unique_ptr<nvinfer1::ITimingCache> cache_;
};

class LoadMemory {
 public:
  LoadMemory(nvinfer1::ICudaEngine&, const BackendCache&) {}
  nvinfer1::IExecutionContext* MakeContext(nvinfer1::ICudaEngine& engine) {
    return engine.createExecutionContext(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED);
  }
  void Keep(BackendCache&) {}
};

inline std::string WhyInvalid(nvinfer1::IRuntime&, const std::string&) { return ""; }

#endif

}  // namespace reelmend::inference::variant
