#include "inference/engine_compiler.h"

#include <chrono>
#include <string>

#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

CompiledEngine Compile(const std::shared_ptr<GpuBackend>& backend, const ModelFile& model, const TargetGpu& gpu,
                       const CompileRequest& request, bool is_range) {
  CompiledEngine engine;
  engine.backend = backend->name() + " " + backend->version();
  engine.target = gpu.target.text();
  engine.device = gpu.device;
  GpuModel compiler(backend, model, gpu, EngineCache(request.folder));
  if (compiler.face_side() > 0) {
    engine.width = engine.height = compiler.face_side();
  } else if (!is_range) {
    engine.width = compiler.RoundedUp(request.width);
    engine.height = compiler.RoundedUp(request.height);
  }
  engine.precision = compiler.precision();
  const auto start = std::chrono::steady_clock::now();
  try {
    engine.file = is_range ? compiler.CompileRange() : compiler.Compile(engine.width, engine.height);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kLimitExceeded) throw;
    engine.not_built = error.what();
  }
  if (compiler.built() > 0) {
    engine.build_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return engine;
}

}  // namespace

std::vector<CompiledEngine> CompileEngines(const std::shared_ptr<GpuBackend>& backend, const ModelFile& model,
                                           const TargetGpu& gpu, const CompileRequest& request) {
  std::vector<CompiledEngine> engines = {Compile(backend, model, gpu, request, false)};
  // Networks for faces know one size only.
  if (!backend->builds_anywhere() && model.layout != ModelFile::Layout::kFace) engines.push_back(Compile(backend, model, gpu, request, true));
  for (const CompiledEngine& engine : engines) {
    if (engine.not_built.empty()) return engines;
  }
  throw Error(ErrorCode::kLimitExceeded, engines.back().not_built);
}

}  // namespace reelmend::inference
