#include "cuda/network_source.h"

#include <utility>

#include "cuda/network_rate.h"
#include "device/cores.h"
#include "inference/onnx_face.h"
#include "inference/model_loader.h"

namespace reelmend::cuda {

namespace {

std::shared_ptr<inference::GpuModel> ModelOf(const Device& device, std::shared_ptr<inference::GpuBackend> backend, const NetworkRequest& request) {
  const DeviceFacts& facts = device.facts();
  const inference::TargetGpu gpu{{facts.compute_major, facts.compute_minor}, facts.name};
  return std::make_shared<inference::GpuModel>(std::move(backend), request.file, gpu,
                                               inference::EngineCache(request.engine_folder, request.may_write_engines));
}

NetworkOptions OptionsWith(const std::shared_ptr<inference::GpuModel>& model, const NetworkRequest& request) {
  NetworkOptions network;
  network.file = request.file;
  network.passes = request.passes;
  network.strength = request.strength;
  if (request.passes == 1) {  // as measured; a second pass would need engines for its own size
    network.concurrency = model->MeasuredConcurrency(request.picture.width, request.picture.height).value_or(network.concurrency);
  }
  network.is_stopped = request.is_stopped;
  network.load = [model](int width, int height, int batch) { return model->Load(width, height, batch); };
  return network;
}

}  // namespace

NetworkOptions NetworkSource::OptionsOf(const NetworkRequest& request) {
  std::shared_ptr<inference::GpuModel> model = std::exchange(prepared_, nullptr);
  if (!model || !(model->file() == request.file) || prepared_folder_ != request.engine_folder) model = ModelOf(*device_, backend_, request);
  NetworkOptions network = OptionsWith(model, request);
  network.made = [model] {
    model->LetGo();
    model->KeepBackendCache();
  };
  return network;
}

FaceOptions NetworkSource::FacesOf(const NetworkRequest& request, const faces::FinderOptions& finder) {
  const std::optional<PreparedFaces> prepared = std::exchange(prepared_faces_, std::nullopt);
  if (!prepared || !(prepared->file == request.file) || prepared->engine_folder != request.engine_folder) return MakeFaces(request, finder);
  faces::FinderOptions expected = prepared->options.finder->options();
  expected.strength = finder.strength;
  if (!(expected == finder)) return MakeFaces(request, finder);
  prepared->options.finder->set_strength(finder.strength);
  return prepared->options;
}

FaceOptions NetworkSource::MakeFaces(const NetworkRequest& request, const faces::FinderOptions& finder) const {
  FaceOptions faces;
  faces.max_change = request.file.max_change;
  faces.finder = faces.finder_threads.Watch([&] { return std::make_shared<faces::FaceFinder>(finder); });
  const int side = inference::FaceSide(inference::ReadModelFile(request.file));
  const FaceModel model{request.file, side, [&] { return ModelOf(*device_, backend_, request); }};
  faces.network = std::make_shared<FaceNetworkRunner>(device_, model, faces.finder->openvino(), finder.threads);
  return faces;
}

void NetworkSource::Prepare(const EnhanceOptions& options, const Expectation& expectation) {
  prepared_.reset();
  prepared_faces_.reset();
  if (expectation.picture.width < 1 || expectation.output.width < 1) return;
  PrepareNetwork(options, expectation);
  PrepareFaces(options, expectation);
}

void NetworkSource::PrepareNetwork(const EnhanceOptions& options, const Expectation& expectation) {
  if (expectation.model == "none") return;
  const auto fit = plan::FitNetwork(options.models, expectation.model, expectation.picture, expectation.output,
                                        plan::NetworkDevice::kGpu);
  if (!fit) return;
  NetworkRequest request;
  request.file = fit->file;
  request.passes = fit->passes;
  request.picture = fit->after_resize ? expectation.output : expectation.picture;
  request.engine_folder = options.engine_folder;
  request.may_write_engines = options.may_write_engines;
  const auto model = ModelOf(*device_, backend_, request);
  model->KeepEngine();
  NetworkOptions network = OptionsWith(model, request);
  network.concurrency.contexts = 1;  // with the batch size of the job
  network.may_cut = false;  // the job would not use the networks of tiles
  DeviceArena arena(device_);
  const Stream stream = MakeStream(device_);
  const Picture empty = MakeEmptyPicture(arena, request.file, request.picture);
  NetworkRunner runner(device_, network, empty);
  runner.Submit(0, empty, stream.get());
  runner.Wait(0, stream.get());
  device_->WaitForStream(stream.get());
  prepared_ = model;
  prepared_folder_ = options.engine_folder;
}

void NetworkSource::PrepareFaces(const EnhanceOptions& options, const Expectation& expectation) {
  const auto file = plan::FindFaceModel(options.models);
  if (!expectation.restores_faces || !file || !faces::CanDetectFaces()) return;
  NetworkRequest request;
  request.file = *file;
  request.engine_folder = options.engine_folder;
  request.may_write_engines = options.may_write_engines;
  const int threads = options.threads > 0 ? options.threads : device::AvailableCores();
  const FaceOptions faces = MakeFaces(request, faces::MakeFinderOptions(expectation.picture, expectation.output, 1, threads));
  const Stream stream = MakeStream(device_);
  faces.network->Run(stream.get());
  device_->WaitForStream(stream.get());
  prepared_faces_ = {*file, options.engine_folder, faces};
}

}  // namespace reelmend::cuda
