#include "cuda/network_source.h"

#include <utility>

#include "cuda/network_rate.h"

namespace reelmend::cuda {

std::shared_ptr<inference::GpuModel> NetworkSource::ModelOf(const NetworkRequest& request) {
  const DeviceFacts& facts = device_->facts();
  const inference::TargetGpu gpu{{facts.compute_major, facts.compute_minor}, facts.name};
  return std::make_shared<inference::GpuModel>(backend_, request.file, gpu,
                                               inference::EngineCache(request.engine_folder, request.may_write_engines));
}

namespace {

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
  if (!model || !(model->file() == request.file) || prepared_folder_ != request.engine_folder) model = ModelOf(request);
  NetworkOptions network = OptionsWith(model, request);
  network.made = [model] {
    model->LetGo();
    model->KeepBackendCache();
  };
  return network;
}

void NetworkSource::Prepare(const EnhanceOptions& options, const Expectation& expectation) {
  prepared_.reset();
  if (expectation.model == "none" || expectation.picture.width < 1 || expectation.output.width < 1) return;
  const auto fit = plan::FitNetwork(options.models, expectation.model, expectation.picture, expectation.output,
                                        plan::NetworkDevice::kGpu);
  if (!fit) return;
  NetworkRequest request;
  request.file = fit->file;
  request.passes = fit->passes;
  request.picture = fit->after_resize ? expectation.output : expectation.picture;
  request.engine_folder = options.engine_folder;
  request.may_write_engines = options.may_write_engines;
  const auto model = ModelOf(request);
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

}  // namespace reelmend::cuda
