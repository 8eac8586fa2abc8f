#include "cuda/network_source.h"

#include <utility>

namespace framelift::cuda {

std::shared_ptr<inference::GpuModel> NetworkSource::ModelOf(const NetworkRequest& request) {
  const DeviceFacts& facts = device_->facts();
  const inference::GpuPlace place{{facts.compute_major, facts.compute_minor}, facts.name};
  return std::make_shared<inference::GpuModel>(backend_, request.file, place,
                                               inference::EngineCache(request.engine_folder, request.may_write_engines));
}

namespace {

NetworkOptions OptionsWith(const std::shared_ptr<inference::GpuModel>& model, const NetworkRequest& request) {
  NetworkOptions network;
  network.file = request.file;
  network.passes = request.passes;
  network.strength = request.strength;
  network.is_stopped = request.is_stopped;
  network.load = [model](int width, int height) { return model->Load(width, height); };
  return network;
}

}  // namespace

NetworkOptions NetworkSource::OptionsOf(const NetworkRequest& request) {
  std::shared_ptr<inference::GpuModel> model = std::exchange(prepared_, nullptr);
  if (!model || !(model->file() == request.file) || prepared_folder_ != request.engine_folder) model = ModelOf(request);
  NetworkOptions network = OptionsWith(model, request);
  network.made = [model] {
    model->LetGo();
    model->KeepMemo();
  };
  return network;
}

void NetworkSource::Prepare(const EnhanceOptions& options, const Expectation& expectation) {
  prepared_.reset();
  if (expectation.model == "none" || expectation.picture.width < 1 || expectation.output.width < 1) return;
  const auto fit = pipeline::FitNetwork(options.models, expectation.model, expectation.picture, expectation.output,
                                        pipeline::NetworkPlace::kGpu);
  if (!fit) return;
  NetworkRequest request;
  request.file = fit->file;
  request.passes = fit->passes;
  request.engine_folder = options.engine_folder;
  request.may_write_engines = options.may_write_engines;
  const auto model = ModelOf(request);
  model->Hold();
  NetworkOptions network = OptionsWith(model, request);
  network.contexts = 1;
  network.may_cut = false;  // a size that the job would not ask for is of no use
  const Size size = fit->after_resize ? expectation.output : expectation.picture;
  const bool is_rgb = request.file.layout == ModelFile::Layout::kRgb;
  const pixel::Subsampling subsampling = is_rgb ? pixel::Subsampling{0, 0} : pixel::Subsampling{1, 1};
  DeviceStore store(device_);
  const Stream stream = MakeStream(device_);
  const Picture empty = store.MakePicture(size.width, size.height, subsampling, {});
  for (const Plane& plane : empty.planes) {
    device_->ClearAsync(plane.data, sizeof(std::uint16_t) * static_cast<std::size_t>(plane.stride) * plane.height, stream.get());
  }
  NetworkRunner runner(device_, network, empty);
  runner.Begin(0, empty, stream.get());
  runner.Wait(0, stream.get());
  device_->WaitForStream(stream.get());
  prepared_ = model;
  prepared_folder_ = options.engine_folder;
}

}  // namespace framelift::cuda
