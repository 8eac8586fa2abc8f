// reelmend::CompileModel. It needs this machine's GPUs as well as the backends.
#include <algorithm>
#include <iterator>
#include <optional>

#include "cuda/device.h"
#include "cuda/network_rate.h"
#include "inference/engine_compiler.h"
#include "inference/gpu_model.h"
#include "reelmend/error.h"
#include "reelmend/model.h"

namespace reelmend {
namespace {

using inference::TargetGpu;
using inference::GpuTarget;

/// Compute capabilities of the generations from Turing to Blackwell.
constexpr GpuTarget kGenerations[] = {{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}, {12, 1}};

/// Target of a build: a kind of GPU, and the device for backends that time on it.
struct Site {
  TargetGpu gpu;
  std::optional<int> device;
};

GpuTarget TargetOf(const cuda::DeviceFacts& facts) { return {facts.compute_major, facts.compute_minor}; }

/// GPUs of this machine, one of each kind.
std::vector<cuda::DeviceFacts> KindsHere() {
  std::vector<cuda::DeviceFacts> kinds;
  for (const cuda::DeviceFacts& facts : cuda::FindCudaDevices().devices) {
    const auto is_same = [&](const cuda::DeviceFacts& kind) { return kind.name == facts.name && TargetOf(kind) == TargetOf(facts); };
    if (std::ranges::none_of(kinds, is_same)) kinds.push_back(facts);
  }
  return kinds;
}

std::vector<Site> SitesOf(const inference::GpuBackend& backend) {
  std::vector<Site> sites;
  if (backend.builds_anywhere()) {
    for (const GpuTarget& target : kGenerations) {
      if (backend.Supports(target)) sites.push_back({{target, ""}, std::nullopt});
    }
    return sites;
  }
  for (const cuda::DeviceFacts& facts : KindsHere()) {
    if (backend.Supports(TargetOf(facts))) sites.push_back({{TargetOf(facts), facts.name}, facts.index});
  }
  return sites;
}

/// Measures on each kind of GPU here that runs the engine; the first one's figures are reported. A failure does not affect
/// the engine.
void Measure(const ModelFile& model, const CompileRequest& request, CompiledEngine& engine) {
  const std::string backend_name = engine.backend.substr(0, engine.backend.find(' '));
  for (const cuda::DeviceFacts& facts : KindsHere()) {
    if (engine.target != TargetOf(facts).text() || (!engine.device.empty() && engine.device != facts.name)) continue;
    try {
      const auto device = cuda::OpenCudaDevice(facts.index);
      const std::shared_ptr<inference::GpuBackend> backend = inference::CreateGpuBackend(backend_name);  // its runtime uses this device
      const auto loaded = std::make_shared<inference::GpuModel>(backend, model, TargetGpu{TargetOf(facts), facts.name}, inference::EngineCache(request.folder));
      const auto measured = cuda::MeasureConcurrency(device, loaded, {request.width, request.height});
      if (!measured) throw Error(ErrorCode::kUnavailable, "The GPU has too little free memory for two pictures at once.");
      loaded->KeepConcurrency(request.width, request.height, *measured);
      if (engine.contexts == 0) engine.contexts = measured->contexts, engine.batch = measured->batch;
    } catch (const std::exception& error) {
      if (engine.not_measured.empty()) engine.not_measured = error.what();
    }
  }
}

std::vector<CompiledEngine> CompileWith(const std::shared_ptr<inference::GpuBackend>& backend, const ModelFile& model, const CompileRequest& request) {
  std::vector<CompiledEngine> engines;
  for (const Site& site : SitesOf(*backend)) {
    if (site.device) cuda::OpenCudaDevice(*site.device)->MakeCurrent();
    std::ranges::move(inference::CompileEngines(backend, model, site.gpu, request), std::back_inserter(engines));
  }
  // Last, so that a failing GPU costs no engine.
  for (CompiledEngine& engine : engines) {
    if (engine.width > 0 && engine.not_built.empty() && model.layout != ModelFile::Layout::kFace) Measure(model, request, engine);
  }
  return engines;
}

}  // namespace

std::vector<CompiledEngine> CompileModel(const ModelFile& model, const CompileRequest& request) {
  CheckModelDescription(model);
  if (request.folder.empty() || request.width < 16 || request.height < 16 || request.width > 16384 || request.height > 16384) {
    throw Error(ErrorCode::kInvalidArgument, "Engines are built into a folder, for pictures of 16 to 16384 pixels a side.");
  }
  std::vector<CompiledEngine> engines;
  std::string reason = "No backend for GPUs can build engines on this machine.";
  for (const char* name : {"tensorrt-rtx", "tensorrt"}) {
    std::shared_ptr<inference::GpuBackend> backend;
    try {
      backend = inference::CreateGpuBackend(name);
    } catch (const Error& error) {
      if (reason.starts_with("No backend")) reason = error.what();
      continue;
    }
    std::ranges::move(CompileWith(backend, model, request), std::back_inserter(engines));
  }
  if (engines.empty()) throw Error(ErrorCode::kUnavailable, reason);
  return engines;
}

}  // namespace reelmend
