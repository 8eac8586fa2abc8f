// TensorRT and TensorRT-RTX: one source for both (variant.h has the differences), one module for each, opened when the first
// network runs on a GPU.
//
// Note [Libraries]
// TensorRT's libraries take hundreds of megabytes and a machine may have one kind, both or none. A module is linked with
// neither. It opens its library by name when a backend is created: beside itself, where TENSORRT_ROOT was when it was built,
// or among the system's. So all builds are alike, and a machine without the libraries gets one sentence.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "reelmend/error.h"
#include "inference/tensorrt/variant.h"
#include "inference/tensorrt/messages.h"

namespace reelmend::inference {
namespace {

constexpr std::int64_t kAlignment = 256;

[[noreturn]] void Refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

/// The functions that the libraries export; everything else goes through their objects.
struct Library {
  void* (*make_builder)(void* logger, std::int32_t version) = nullptr;
  void* (*make_runtime)(void* logger, std::int32_t version) = nullptr;
  void* (*make_parser)(void* network, void* logger, int version) = nullptr;
  std::string version;
  std::int32_t number = 0;  ///< in the library's and the headers' numbering
  bool knows_blackwell = true;

  /// The builder opens these libraries by name alone, and the loader does not search TensorRT's folder for TensorRT (it does
  /// for this module, by its RUNPATH). So they are opened here first; the loader then knows them by the same name. An open
  /// by path would not do: their SONAME is another. Costs address space, no memory.
  void OpenBuilderParts() const {
    Dl_info own = {};
    if (variant::kBuilderParts.empty() || dladdr(reinterpret_cast<const void*>(make_builder), &own) == 0) return;
    std::error_code failed;
    const auto folder = std::filesystem::canonical(own.dli_fname, failed).parent_path();
    if (failed) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(variant::kBuilderParts)) dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
  }

  static const Library& Get() {
    static const Library library = Open();  // tried again after a failure; never closed
    return library;
  }

 private:
  static void* OpenFile(const char* name) {
    void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    const char* reason = dlerror();
    const std::string text = reason != nullptr ? reason : "";
    if (text.find("No such file") != std::string::npos) {
      throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " is not on this machine (" + name +
                                               " was not found; the script setup-tensorrt fetches it).");
    }
    throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " cannot be loaded: " + text);
  }
  template <typename Function>
  static Function* Symbol(void* handle, const char* name) {
    if (void* symbol = dlsym(handle, name)) return reinterpret_cast<Function*>(symbol);
    throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " is of a version that this build does not know.");
  }

  static Library Open() {
    void* core = OpenFile(variant::kLibrary);
    void* parser = OpenFile(variant::kParserLibrary);
    Library library;
    library.make_builder = Symbol<void*(void*, std::int32_t)>(core, "createInferBuilder_INTERNAL");
    library.make_runtime = Symbol<void*(void*, std::int32_t)>(core, "createInferRuntime_INTERNAL");
    library.make_parser = Symbol<void*(void*, void*, int)>(parser, "createNvOnnxParser_INTERNAL");
    const auto part = [&](const char* name) { return Symbol<std::int32_t()>(core, name)(); };
    const int major = part("getInferLibMajorVersion");
    const int minor = part("getInferLibMinorVersion");
    const int patch = part("getInferLibPatchVersion");
    if (major != NV_TENSORRT_MAJOR) {
      throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " on this machine is version " + std::to_string(major) +
                                               ", but this build is for version " + std::to_string(NV_TENSORRT_MAJOR) + ".");
    }
    library.version = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) + "." +
                      std::to_string(part("getInferLibBuildVersion"));
    library.knows_blackwell = variant::KnowsBlackwell(major, minor);
    // Within a major version objects only grow at their ends. So a library older than the headers is called as one of its
    // own version, without the functions that it lacks.
    library.number = Symbol<std::int32_t()>(core, "getInferLibVersion")();
    return library;
  }
};

/// TensorRT 10 ends the process if it is asked for a builder on a machine without a usable GPU.
bool HasGpu() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return false;
  auto* initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto* count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int gpus = 0;
  return initialize != nullptr && count != nullptr && initialize(0) == 0 && count(&gpus) == 0 && gpus > 0;
}

/// One logger for the process (TheLogger): TensorRT uses the first one that it gets for all objects, and builders, runtimes
/// and their results may outlive each other.
class Logger : public nvinfer1::ILogger {
 public:
  void log(Severity severity, char const* message) noexcept override {
    if (severity > Severity::kWARNING || message == nullptr) return;
    if (prints_) std::fprintf(stderr, "%s: %s\n", variant::kTitle, message);
    try {
      const std::lock_guard lock(mutex_);
      messages_.Add(severity <= Severity::kERROR, message);
    } catch (const std::exception&) {  // no memory for a message
    }
  }
  /// Returns the messages since the last call.
  Messages Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, Messages());
  }

 private:
  const bool prints_ = std::getenv("REELMEND_TENSORRT_LOG") != nullptr;
  std::mutex mutex_;
  Messages messages_;
};

Logger& TheLogger() {
  static Logger* const logger = new Logger;  // never destroyed: the library's threads may still log at the end
  return *logger;
}

/// Replaces TensorRT's messages, which are long and name its sources, by one sentence.
[[noreturn]] void RefuseToBuild(const nvonnxparser::IParser& parser) {
  const nvonnxparser::IParserError* error = parser.getNbErrors() > 0 ? parser.getError(0) : nullptr;
  const std::string name = error != nullptr && error->nodeOperator() != nullptr ? error->nodeOperator() : "";
  using nvonnxparser::ErrorCode;
  const bool is_unsupported = error != nullptr && (error->code() == ErrorCode::kUNSUPPORTED_NODE || error->code() == ErrorCode::kUNSUPPORTED_GRAPH ||
                                                   error->code() == ErrorCode::kUNSUPPORTED_NODE_ATTR || error->code() == ErrorCode::kUNSUPPORTED_NODE_INPUT ||
                                                   error->code() == ErrorCode::kUNSUPPORTED_NODE_DATATYPE || error->code() == ErrorCode::kUNSUPPORTED_NODE_DYNAMIC);
  if (is_unsupported && !name.empty()) Refuse("The model uses the operator " + name + " in a way that " + variant::kTitle + " cannot run.");
  if (!name.empty()) Refuse(std::string(variant::kTitle) + " cannot read the model: its operator " + name + " is invalid.");
  Refuse(std::string("The model file is not an ONNX network that ") + variant::kTitle + " can read.");
}

Shape ToShape(const nvinfer1::Dims& dims) {
  if (dims.nbDims != 4) return {};
  return {static_cast<int>(dims.d[1]), static_cast<int>(dims.d[2]), static_cast<int>(dims.d[3])};
}

class TensorRtContext : public GpuContext {
 public:
  explicit TensorRtContext(std::unique_ptr<nvinfer1::IExecutionContext> context) : context_(std::move(context)) {}

  void Enqueue(void* stream) override {
    TheLogger().Take();
    if (context_->enqueueV3(static_cast<cudaStream_t>(stream))) return;
    const bool is_memory = TheLogger().Take().error_is_about_memory();
    if (is_memory) throw Error(ErrorCode::kLimitExceeded, "The GPU has too little free memory for the network.");
    throw Error(ErrorCode::kInternal, "The network failed while it ran.");
  }

 private:
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

/// Shared by a backend and everything that it made; the runtime outlives its engines.
struct Session {
  std::unique_ptr<nvinfer1::IRuntime> runtime;
};

class TensorRtNetwork : public GpuNetwork {
 public:
  TensorRtNetwork(std::shared_ptr<Session> session, const std::string& engine, const Shape& input, BackendCache& backend_cache)
      : session_(std::move(session)), backend_cache_(backend_cache) {
    TheLogger().Take();
    const std::string why = variant::WhyInvalid(*session_->runtime, engine);
    if (why.empty()) engine_.reset(session_->runtime->deserializeCudaEngine(engine.data(), engine.size()));
    if (!engine_) {
      if (TheLogger().Take().error_is_about_memory())
        throw Error(ErrorCode::kLimitExceeded, "The GPU has too little free memory for the network.");
      Refuse("The engine cannot be loaded: " + (why.empty() ? "it is damaged, or for another version or GPU" : why) + ".");
    }
    for (int i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      const bool is_input = engine_->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
      (is_input ? input_ : output_) = name;
      (is_input ? input_shape_ : output_shape_) = ToShape(engine_->getTensorShape(name));
      if (is_input) batch_ = static_cast<int>(engine_->getTensorShape(name).d[0]);
      if (engine_->getTensorDataType(name) != nvinfer1::DataType::kHALF) Refuse("The engine's inputs and outputs are not fp16.");
    }
    load_ = std::make_unique<variant::LoadMemory>(*engine_, backend_cache);
    workspace_bytes_ = engine_->getDeviceMemorySizeV2();
    is_range_ = input_shape_.width < 0 || input_shape_.height < 0;
    if (is_range_) {
      FitTo(input);
    } else if (!(input_shape_ == input)) {
      Refuse("The engine is for pictures of " + std::to_string(input_shape_.width) + "×" + std::to_string(input_shape_.height) + ".");
    }
    // (Dimensions that a range leaves open are unknown here.)
    if (!is_range_ && engine_->getTensorShape(output_.c_str()).d[0] != batch_) Refuse("The engine does not make as many pictures as it takes.");
  }

  Shape input_shape() const override { return input_shape_; }
  Shape output_shape() const override { return output_shape_; }
  int batch() const override { return batch_; }
  std::int64_t workspace_bytes() const override { return (workspace_bytes_ + kAlignment - 1) / kAlignment * kAlignment; }

  std::unique_ptr<GpuContext> MakeContext(const GpuBinding& binding) override {
    auto context = NewContext();
    context->setDeviceMemoryV2(binding.workspace, workspace_bytes());
    const bool is_bound = context->setTensorAddress(input_.c_str(), const_cast<void*>(binding.input)) &&
                          context->setTensorAddress(output_.c_str(), binding.output);
    if (!is_bound) throw Error(ErrorCode::kInternal, std::string(variant::kTitle) + " did not take the network's tensors.");
    load_->Keep(backend_cache_);
    return std::make_unique<TensorRtContext>(std::move(context));
  }

 private:
  /// An engine for a range, bound to one size for good.
  void FitTo(const Shape& input) {
    const auto end = [&](nvinfer1::OptProfileSelector which) { return ToShape(engine_->getProfileShape(input_.c_str(), 0, which)); };
    const Shape least = end(nvinfer1::OptProfileSelector::kMIN);
    const Shape most = end(nvinfer1::OptProfileSelector::kMAX);
    const bool is_within = input.channels == most.channels && input.width >= least.width && input.height >= least.height &&
                           input.width <= most.width && input.height <= most.height;
    if (!is_within) Refuse("The engine is for smaller or larger pictures.");
    input_shape_ = input;
    const auto context = NewContext();
    output_shape_ = ToShape(context->getTensorShape(output_.c_str()));
  }

  std::unique_ptr<nvinfer1::IExecutionContext> NewContext() {
    TheLogger().Take();
    std::unique_ptr<nvinfer1::IExecutionContext> context(load_->MakeContext(*engine_));
    if (!context) {
      if (TheLogger().Take().error_is_about_memory())
        throw Error(ErrorCode::kLimitExceeded, "The GPU has too little free memory for the network.");
      throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " could not prepare the network.");
    }
    const nvinfer1::Dims size{4, {batch_, input_shape_.channels, input_shape_.height, input_shape_.width}};
    if (!is_range_) return context;
    if (!context->setInputShape(input_.c_str(), size)) Refuse("The engine does not take pictures of that size.");
    // In each context: without a size, its workspace is laid out for the largest picture of the range.
    workspace_bytes_ = static_cast<std::int64_t>(context->updateDeviceMemorySizeForShapes());
    return context;
  }

  std::shared_ptr<Session> session_;
  BackendCache& backend_cache_;
  std::int64_t workspace_bytes_ = 0;
  bool is_range_ = false;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<variant::LoadMemory> load_;
  std::string input_;
  std::string output_;
  Shape input_shape_;
  Shape output_shape_;
  int batch_ = 1;
};

class TensorRtBackend : public GpuBackend {
 public:
  TensorRtBackend() : library_(Library::Get()), session_(std::make_shared<Session>()) {}

  std::string name() const override { return variant::kName; }
  std::string version() const override { return library_.version; }
  bool Supports(const GpuTarget& target) const override { return variant::Supports(target) && (target.major < 10 || library_.knows_blackwell); }
  bool builds_anywhere() const override { return variant::kBuildsAnywhere; }

  std::string Build(const std::string& onnx, const GpuBuildOptions& options, BackendCache& backend_cache) override {
    if (!Supports(options.target)) {
      throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " " + version() + " does not support GPUs of compute capability " + options.target.text() + ".");
    }
    static std::once_flag opened;
    std::call_once(opened, [&] { library_.OpenBuilderParts(); });
    TheLogger().Take();
    const auto builder = MakeBuilder();
    const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(variant::kNetworkFlags));
    const std::unique_ptr<nvonnxparser::IParser> parser(
        static_cast<nvonnxparser::IParser*>(library_.make_parser(network.get(), &TheLogger(), NV_ONNX_PARSER_VERSION)));
    if (!network || !parser) throw Error(ErrorCode::kInternal, std::string(variant::kTitle) + " could not be started.");
    if (!parser->parse(onnx.data(), onnx.size())) RefuseToBuild(*parser);
    SetShape(*network, options);
    const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
    if (config && options.is_range()) SetRange(*builder, *config, network->getInput(0)->getName(), options);
    if (!config || !variant::Aim(*config, options)) throw Error(ErrorCode::kInternal, std::string(variant::kTitle) + " could not be set up for that GPU.");
    variant::BuildMemory build(*config, backend_cache);
    const auto engine = BuildEngine(*builder, *network, *config, options.input);
    build.Keep(backend_cache);
    return {static_cast<const char*>(engine->data()), engine->size()};
  }

  std::unique_ptr<GpuNetwork> Load(const std::string& engine, const Shape& input, BackendCache& backend_cache) override {
    if (!session_->runtime) {
      if (variant::kBuildsAnywhere || HasGpu()) session_->runtime.reset(static_cast<nvinfer1::IRuntime*>(library_.make_runtime(&TheLogger(), library_.number)));
      if (!session_->runtime) throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " cannot run on this machine: it needs a working GPU.");
    }
    return std::make_unique<TensorRtNetwork>(session_, engine, input, backend_cache);
  }

 private:
  std::unique_ptr<nvinfer1::IBuilder> MakeBuilder() const {
    std::unique_ptr<nvinfer1::IBuilder> builder;
    if (variant::kBuildsAnywhere || HasGpu()) builder.reset(static_cast<nvinfer1::IBuilder*>(library_.make_builder(&TheLogger(), library_.number)));
    if (builder) return builder;
    const std::string library = MissingLibrary(TheLogger().Take().first_error());
    if (!library.empty()) throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " is incomplete on this machine: " + library + " is missing.");
    throw Error(ErrorCode::kUnavailable, std::string(variant::kTitle) + " cannot build engines on this machine: it needs a working GPU.");
  }

  static std::unique_ptr<nvinfer1::IHostMemory> BuildEngine(nvinfer1::IBuilder& builder, nvinfer1::INetworkDefinition& network,
                                                            nvinfer1::IBuilderConfig& config, const Shape& input) {
    std::unique_ptr<nvinfer1::IHostMemory> engine(builder.buildSerializedNetwork(network, config));
    if (!engine && variant::Relax(config)) engine.reset(builder.buildSerializedNetwork(network, config));
    if (engine && engine->size() > 0) return engine;
    if (TheLogger().Take().any_is_about_memory()) throw Error(ErrorCode::kLimitExceeded, "The GPU has too little free memory to build the network.");
    Refuse(std::string(variant::kTitle) + " cannot build an engine of the model for pictures of " + std::to_string(input.width) + "×" +
           std::to_string(input.height) + ".");
  }

  static nvinfer1::Dims ToDims(int batch, const Shape& shape) { return {4, {batch, shape.channels, shape.height, shape.width}}; }

  static void SetRange(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config, const char* input, const GpuBuildOptions& options) {
    using Selector = nvinfer1::OptProfileSelector;
    nvinfer1::IOptimizationProfile* profile = builder.createOptimizationProfile();  // belongs to the builder
    const bool is_set = profile != nullptr && profile->setDimensions(input, Selector::kMIN, ToDims(options.batch, options.least)) &&
                        profile->setDimensions(input, Selector::kOPT, ToDims(options.batch, options.input)) &&
                        profile->setDimensions(input, Selector::kMAX, ToDims(options.batch, options.most)) && config.addOptimizationProfile(profile) >= 0;
    if (!is_set) throw Error(ErrorCode::kInternal, std::string(variant::kTitle) + " did not take the range of sizes.");
  }

  static void SetShape(nvinfer1::INetworkDefinition& network, const GpuBuildOptions& options) {
    const Shape& shape = options.input;
    if (network.getNbInputs() != 1 || network.getNbOutputs() != 1) Refuse("The model must have one input and one output to run on a GPU.");
    const nvinfer1::Dims dimensions = network.getInput(0)->getDimensions();
    if (dimensions.nbDims != 4) Refuse("The model's input must have four dimensions: 1, planes, height, width.");
    if (options.is_range() && (dimensions.d[2] >= 0 || dimensions.d[3] >= 0)) Refuse("The model is for pictures of one size only.");
    nvinfer1::Dims wanted = ToDims(options.batch, shape);
    for (int i = 0; i < 4; ++i) {
      if (dimensions.d[i] >= 0 && dimensions.d[i] != wanted.d[i])
        Refuse("The model cannot take a picture of " + std::to_string(shape.width) + "×" + std::to_string(shape.height) + ".");
    }
    if (options.is_range()) wanted.d[2] = wanted.d[3] = -1;
    network.getInput(0)->setDimensions(wanted);
  }

  const Library& library_;
  std::shared_ptr<Session> session_;
};

}  // namespace
}  // namespace reelmend::inference

extern "C" {

__attribute__((visibility("default"))) int reelmend_gpu_interface() { return reelmend::inference::kGpuModuleInterface; }

/// Throws reelmend::Error{kUnavailable} if the libraries are missing.
__attribute__((visibility("default"))) reelmend::inference::GpuBackend* reelmend_gpu_create() {
  return new reelmend::inference::TensorRtBackend();
}
}
