#include "cpu/prepared_networks.h"

#include <algorithm>
#include <utility>

#include "cpu/tensor_converter.h"
#include "device/cores.h"
#include "faces/detector.h"
#include "plan/network_choice.h"

namespace reelmend::cpu {
namespace {

bool IsSame(const inference::FrameNetworkOptions& a, const inference::FrameNetworkOptions& b) {
  return a.width == b.width && a.height == b.height && a.threads == b.threads && a.memory_bytes == b.memory_bytes &&
         a.takes_shuffled == b.takes_shuffled;
}

}  // namespace

PreparedNetworks::PreparedNetworks(const EnhanceOptions& options, const Expectation& expectation)
    : threads_(options.threads > 0 ? options.threads : device::AvailableCores()) {
  const auto backend = inference::CreateBackend("openvino");  // loads the libraries, even where nothing else is known
  if (expectation.picture.width < 1 || expectation.output.width < 1) return;
  network_threads_.Watch([&] { MakeNetworks(*backend, options, expectation); });
  if (expectation.restores_faces) face_threads_.Watch([&] { MakeFaces(options, expectation); });
}

void PreparedNetworks::MakeNetworks(inference::Backend& backend, const EnhanceOptions& options, const Expectation& expectation) {
  if (expectation.model == "none") return;
  const auto fit = plan::FitNetwork(options.models, expectation.model, expectation.picture, expectation.output);
  if (!fit) return;
  Size size = fit->after_resize ? expectation.output : expectation.picture;
  for (int i = 0; i < fit->passes; ++i) {
    Made made{fit->file, {}, nullptr};
    made.options.width = size.width;
    made.options.height = size.height;
    made.options.threads = threads_;
    made.options.takes_shuffled = TakesShuffled(made.file.layout);
    made.network = std::make_unique<inference::FrameNetwork>(backend, made.file, made.options);
    size = {made.network->output_width(), made.network->output_height()};
    networks_.push_back(std::move(made));
  }
}

void PreparedNetworks::MakeFaces(const EnhanceOptions& options, const Expectation& expectation) {
  const auto model = plan::FindFaceModel(options.models);
  if (!model || !faces::CanDetectFaces()) return;
  face_options_ = {*model, faces::MakeFinderOptions(expectation.picture, expectation.output, 1, threads_)};
  faces_ = std::make_unique<faces::FaceStage>(face_options_);
}

std::unique_ptr<inference::FrameNetwork> PreparedNetworks::TakeNetwork(const ModelFile& file, const inference::FrameNetworkOptions& options) {
  const auto found = std::ranges::find_if(networks_, [&](const Made& made) { return made.file == file && IsSame(made.options, options); });
  if (found == networks_.end()) return nullptr;
  auto network = std::move(found->network);
  networks_.erase(found);
  network->set_is_stopped(options.is_stopped);
  return network;
}

std::unique_ptr<faces::FaceStage> PreparedNetworks::TakeFaces(const faces::FaceStageOptions& options) {
  faces::FaceStageOptions same = face_options_;
  same.finder.strength = options.finder.strength;
  if (!faces_ || !(same == options)) return nullptr;
  faces_->set_strength(options.finder.strength);
  return std::move(faces_);
}

}  // namespace reelmend::cpu
