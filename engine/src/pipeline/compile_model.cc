// Engines ahead of time. In this room since it asks the GPUs as well as the backends.
#include <chrono>
#include <utility>

#include "cuda/device.h"
#include "cuda/network_rate.h"
#include "framelift/error.h"
#include "framelift/model.h"
#include "inference/gpu_model.h"

namespace framelift {
namespace {

using inference::GpuPlace;
using inference::GpuTarget;

/// Compute capabilities of the generations from Turing to Blackwell.
constexpr GpuTarget kGenerations[] = {{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}, {12, 1}};

std::vector<GpuPlace> PlacesOf(const inference::GpuBackend& backend) {
  std::vector<GpuPlace> places;
  if (backend.builds_anywhere()) {
    for (const GpuTarget& target : kGenerations) {
      if (backend.Supports(target)) places.push_back({target, ""});
    }
    return places;
  }
  for (const cuda::DeviceFacts& facts : cuda::FindCudaDevices().devices) {
    const GpuTarget target{facts.compute_major, facts.compute_minor};
    if (backend.Supports(target)) places.push_back({target, facts.name});
  }
  return places;
}

/// On the first GPU of this machine that the engine is for. Nothing: there is none, or it cannot be measured there now,
/// which keeps nobody from the engine.
inference::Occupancy MeasureHere(const std::shared_ptr<inference::GpuBackend>& backend, const ModelFile& model, const GpuPlace& place, const CompileRequest& request) {
  for (const cuda::DeviceFacts& facts : cuda::FindCudaDevices().devices) {
    const bool is_for_it = place.target == GpuTarget{facts.compute_major, facts.compute_minor} && (place.device.empty() || place.device == facts.name);
    if (!is_for_it) continue;
    const auto loaded = std::make_shared<inference::GpuModel>(backend, model, GpuPlace{place.target, facts.name}, inference::EngineCache(request.folder));
    if (const auto known = loaded->MeasuredOccupancy(request.width, request.height)) return *known;
    try {
      const inference::Occupancy measured = cuda::MeasureOccupancy(cuda::OpenCudaDevice(facts.index), loaded, {request.width, request.height});
      loaded->KeepOccupancy(request.width, request.height, measured);
      return measured;
    } catch (const Error&) {
      break;
    }
  }
  return {0, 0};
}

CompiledEngine Compile(const std::shared_ptr<inference::GpuBackend>& backend, const ModelFile& model, const GpuPlace& place,
                       const CompileRequest& request, bool is_range) {
  const auto round = [&](int side) { return (side + model.multiple - 1) / model.multiple * model.multiple; };
  CompiledEngine engine;
  engine.backend = backend->name() + " " + backend->version();
  engine.target = place.target.text();
  if (!backend->builds_anywhere()) engine.device = place.device;
  engine.width = round(request.width);
  engine.height = round(request.height);
  inference::GpuModel compiler(backend, model, place, inference::EngineCache(request.folder));
  engine.precision = compiler.precision();
  const auto start = std::chrono::steady_clock::now();
  if (is_range) engine.width = engine.height = 0;
  engine.file = is_range ? compiler.CompileRange() : compiler.Compile(engine.width, engine.height);
  if (compiler.built() > 0) {
    engine.build_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  if (is_range) return engine;
  const inference::Occupancy measured = MeasureHere(backend, model, place, request);
  engine.contexts = measured.contexts;
  engine.batch = measured.batch;
  return engine;
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
    for (const GpuPlace& place : PlacesOf(*backend)) {
      engines.push_back(Compile(backend, model, place, request, false));
      // Where an engine takes minutes, a job of another size must not wait for its own.
      if (!backend->builds_anywhere()) engines.push_back(Compile(backend, model, place, request, true));
    }
  }
  if (engines.empty()) throw Error(ErrorCode::kUnavailable, reason);
  return engines;
}

}  // namespace framelift
