#include "cpu/network_stage.h"

namespace reelmend::cpu {

NetworkStage::NetworkStage(const NetworkStageOptions& options) : backend_(inference::CreateBackend("openvino")) {
  Size size = options.in;
  pixel::Subsampling subsampling = options.subsampling;
  for (int i = 0; i < options.fit.passes; ++i) {
    Pass pass;
    inference::FrameNetworkOptions network;
    network.width = size.width;
    network.height = size.height;
    network.threads = options.threads;
    network.is_stopped = options.is_stopped;
    network.takes_shuffled = TakesShuffled(options.fit.file.layout);
    if (options.prepared != nullptr) pass.network = options.prepared->TakeNetwork(options.fit.file, network);
    if (!pass.network) pass.network = std::make_unique<inference::FrameNetwork>(*backend_, options.fit.file, network);
    pass.converter = MakeTensorConverter(options.fit.file.layout, size.width, size.height, subsampling, options.color,
                             i == 0 ? options.strength : 0.0F);
    size = {pass.network->output_width(), pass.network->output_height()};
    subsampling = pass.converter->output_subsampling();
    if (i + 1 < options.fit.passes) pass.between = pixel::Image(size.width, size.height, subsampling, options.color);
    passes_.push_back(std::move(pass));
  }
}

Size NetworkStage::output() const {
  return {passes_.back().network->output_width(), passes_.back().network->output_height()};
}

void NetworkStage::SubmitPass(Pass& pass, const pixel::Image& image, pixel::ThreadPool& pool) {
  pass.network->Submit([&pass, &image, &pool, prepared = false](const inference::InputArea& area) mutable {
    if (!prepared) pass.converter->Prepare(image, pool);
    prepared = true;
    pass.converter->PackInput(image, area, pool);
  });
}

void NetworkStage::Submit(const pixel::Image& image, pixel::ThreadPool& pool) { SubmitPass(passes_.front(), image, pool); }

void NetworkStage::Retrieve(pixel::Image& out, pixel::ThreadPool& pool) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    Pass& pass = passes_[i];
    const bool is_last = i + 1 == passes_.size();
    pixel::Image& target = is_last ? out : pass.between;
    pass.network->Retrieve([&](const inference::OutputArea& area) { pass.converter->UnpackOutput(area, target, pool); });
    if (!is_last) SubmitPass(passes_[i + 1], target, pool);
  }
}

}  // namespace reelmend::cpu
