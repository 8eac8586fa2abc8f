#include "inference/gpu_model.h"

#include <cstdlib>
#include <utility>

#include "reelmend/error.h"
#include "inference/onnx_face.h"
#include "inference/model_loader.h"
#include "inference/onnx_half.h"
#include "inference/sha256.h"

namespace reelmend::inference {
namespace {

/// A loaded network and what it needs, so that it works without its model.
struct LoadedNetwork {
  std::shared_ptr<GpuBackend> backend;
  std::shared_ptr<BackendCache> backend_cache;
  std::unique_ptr<GpuNetwork> network;  // declared last: destroyed first
};

/// A network that its user and, while it keeps engines, its model own together.
class SharedNetwork : public GpuNetwork {
 public:
  explicit SharedNetwork(std::shared_ptr<GpuNetwork> network) : network_(std::move(network)) {}
  Shape input_shape() const override { return network_->input_shape(); }
  Shape output_shape() const override { return network_->output_shape(); }
  int batch() const override { return network_->batch(); }
  std::int64_t workspace_bytes() const override { return network_->workspace_bytes(); }
  std::unique_ptr<GpuContext> MakeContext(const GpuBinding& binding) override { return network_->MakeContext(binding); }

 private:
  std::shared_ptr<GpuNetwork> network_;
};

/// Runs `work`; its errors name the model.
template <typename Work>
auto Named(const ModelFile& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.rfind("Model “", 0) == 0 || error.code() == ErrorCode::kUnavailable) throw;
    throw Error(error.code(), "Model “" + file.name + "”: " + text);
  }
}

}  // namespace

GpuModel::GpuModel(std::shared_ptr<GpuBackend> backend, const ModelFile& file, TargetGpu gpu, EngineCache cache)
    : backend_(std::move(backend)), file_(file), gpu_(std::move(gpu)), cache_(std::move(cache)) {
  const std::string bytes = ReadModelFile(file);
  const bool is_for_faces = file.layout == ModelFile::Layout::kFace;
  HalfNetwork half = Named(file_, [&] { return ToHalf(is_for_faces ? WithConstantWeight(bytes) : bytes); });
  if (is_for_faces) face_side_ = FaceSide(bytes);
  // Otherwise engines of an older version of this conversion would be used again.
  sha256_ = Sha256(half.changes_quantisation ? half.onnx : bytes);
  onnx_ = std::move(half.onnx);
  precision_ = half.precision;
  backend_cache_ = std::make_shared<BackendCache>(cache_.FindBackendCache(*backend_, gpu_.target, gpu_.device));
}

EngineKey GpuModel::KeyOf(int width, int height, int batch) const {
  EngineKey key;
  key.batch = batch;
  key.model_sha256 = sha256_;
  key.backend = backend_->name();
  key.backend_version = backend_->version();
  key.target = gpu_.target;
  if (!backend_->builds_anywhere()) key.device = gpu_.device;
  key.input = {InputPlanes(file_.layout), height, width};
  key.precision = precision_;
  return key;
}

GpuBuildOptions GpuModel::BuildOptions(const EngineKey& key) const {
  const int level = BuilderLevel(std::getenv("REELMEND_TENSORRT_LEVEL"));
  if (!key.is_range()) return {key.input, key.target, {}, {}, key.batch, level};
  const auto shape = [&](int width, int height) { return Shape{key.input.channels, RoundedUp(height), RoundedUp(width)}; };
  return {shape(1280, 720), key.target, shape(kLeastSide, kLeastSide), shape(kMostWidth, kMostHeight), key.batch, level};
}

std::string GpuModel::Build(const EngineKey& key) {
  const std::string onnx = key.batch == 1 ? onnx_ : WithBatch(onnx_, key.batch);
  std::string engine = Named(file_, [&] { return backend_->Build(onnx, BuildOptions(key), *backend_cache_); });
  ++built_;
  KeepBackendCache();
  return engine;
}

void GpuModel::Check(const GpuNetwork& network, const EngineKey& key) const {
  const Shape& input = key.input;
  const Shape out = network.output_shape();
  const Shape wanted{OutputPlanes(file_.layout), input.height * file_.scale, input.width * file_.scale};
  if (network.input_shape() == input && out == wanted && network.batch() == key.batch) return;
  throw Error(ErrorCode::kInvalidArgument,
              "Model “" + file_.name + "”: It makes " + std::to_string(out.channels) + " planes of " + std::to_string(out.width) + "×" +
                  std::to_string(out.height) + " of " + std::to_string(input.width) + "×" + std::to_string(input.height) +
                  ", which is not what its description says.");
}

std::unique_ptr<GpuNetwork> GpuModel::Load(int width, int height, int batch) {
  const EngineKey key = KeyOf(width, height, batch);
  for (const auto& kept : kept_) {
    if (kept->input_shape() == key.input && kept->batch() == batch) return std::make_unique<SharedNetwork>(kept);
  }
  auto network = FindOrBuild(key);
  if (keeps_engines_) kept_.push_back(network);
  return std::make_unique<SharedNetwork>(std::move(network));
}

void GpuModel::LetGo() {
  keeps_engines_ = false;
  kept_.clear();
}

std::shared_ptr<GpuNetwork> GpuModel::LoadEngine(const std::string& engine, const EngineKey& wanted) {
  auto network = backend_->Load(engine, wanted.input, *backend_cache_);
  Check(*network, wanted);
  const auto loaded = std::make_shared<LoadedNetwork>(LoadedNetwork{backend_, backend_cache_, std::move(network)});
  return {loaded, loaded->network.get()};
}

std::shared_ptr<GpuNetwork> GpuModel::FromCache(const EngineKey& key, const EngineKey& wanted) {
  const auto cached = cache_.Find(key);
  if (!cached) return nullptr;
  try {
    return LoadEngine(*cached, wanted);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    cache_.Say("The cached engine " + key.file_name() + " does not fit this machine or picture; another is used.");
    return nullptr;
  }
}

std::shared_ptr<GpuNetwork> GpuModel::FindOrBuild(const EngineKey& key) {
  if (auto network = FromCache(key, key)) return network;
  if (!backend_->builds_anywhere() && key.batch == 1) {
    if (auto network = FromCache(KeyOf(0, 0), key)) return network;
  }
  // Without a writable cache, every job would build the engine again.
  if (!backend_->builds_anywhere() && !cache_.may_write()) {
    throw Error(ErrorCode::kNoEngine, "There is no engine of the model “" + file_.name + "” for pictures of " + std::to_string(key.input.width) + "×" +
                                          std::to_string(key.input.height) + " on this GPU; the command “models compile” builds engines.");
  }
  const std::string engine = Build(key);
  cache_.Keep(key, engine);
  return LoadEngine(engine, key);
}

std::string GpuModel::Compile(int width, int height, int batch) {
  const EngineKey key = KeyOf(width, height, batch);
  if (cache_.Find(key)) return key.file_name();
  const std::string why = cache_.Keep(key, Build(key));
  if (!why.empty()) throw Error(ErrorCode::kIo, "Model “" + file_.name + "”: Its engine cannot be written to the folder of engines (" + why + ").");
  return key.file_name();
}

std::optional<Concurrency> GpuModel::MeasuredConcurrency(int width, int height) const {
  const auto found = cache_.FindConcurrency(KeyOf(RoundedUp(width), RoundedUp(height)), gpu_.device);
  if (!found || found->batch == 1 || cache_.Find(KeyOf(RoundedUp(width), RoundedUp(height), found->batch))) return found;
  return std::nullopt;
}

void GpuModel::KeepConcurrency(int width, int height, const Concurrency& concurrency) const {
  cache_.KeepConcurrency(KeyOf(RoundedUp(width), RoundedUp(height)), gpu_.device, concurrency);
}

std::string GpuModel::CompileRange() { return Compile(0, 0); }

int BuilderLevel(const char* text) {
  if (text == nullptr) return kBestLevel;
  if (text[0] >= '0' && text[0] <= '0' + kBestLevel && text[1] == '\0') return text[0] - '0';
  throw Error(ErrorCode::kInvalidArgument, "REELMEND_TENSORRT_LEVEL must be a number from 0 to " + std::to_string(kBestLevel) + ".");
}

std::shared_ptr<GpuBackend> OpenGpuBackend(const GpuTarget& target) {
  const std::vector<std::string> names = GpuBackendsFor(target);
  if (names.empty()) throw Error(ErrorCode::kUnavailable, "No backend runs networks on GPUs of compute capability " + target.text() + ".");
  std::string reason;
  for (const std::string& name : names) {
    try {
      return CreateGpuBackend(name);
    } catch (const Error& error) {
      if (reason.empty()) reason = error.what();
    }
  }
  if (names.front() != "tensorrt-rtx") reason = "GPUs of compute capability " + target.text() + " need full TensorRT: " + reason;
  throw Error(ErrorCode::kUnavailable, reason);
}

}  // namespace reelmend::inference
