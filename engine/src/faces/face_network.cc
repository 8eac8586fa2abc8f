#include "faces/face_network.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "inference/onnx_face.h"
#include "inference/model_loader.h"
#include "reelmend/error.h"

namespace reelmend::faces {
namespace {

constexpr int kLargestSide = 2048;

[[noreturn]] void Refuse(const ModelFile& file, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, "Model “" + file.name + "”: " + sentence);
}

}  // namespace

FaceNetwork::FaceNetwork(inference::Backend& backend, const ModelFile& file, int threads) {
  const auto model = backend.LoadTensors(inference::ReadModelFile(file));
  const auto& inputs = model->inputs();
  const int weight = inference::FindEnd(inputs, inference::kFaceWeight);
  if (inputs.size() != (weight >= 0 ? 2U : 1U)) Refuse(file, "It has other inputs than a face and a weight.");
  picture_end_ = weight == 0 ? 1 : 0;
  const auto& dims = inputs[picture_end_].dims;
  if (dims.size() != 4 || (dims[0] != 1 && dims[0] != -1) || (dims[1] != 3 && dims[1] != -1) || dims[2] != dims[3]) {
    Refuse(file, "Its input is not one square picture of three planes.");
  }
  side_ = dims[2] > 0 ? static_cast<int>(std::min<std::int64_t>(dims[2], kLargestSide + 1)) : inference::kUsualFaceSide;
  if (side_ > kLargestSide || side_ < 16) Refuse(file, "The side of its input is not from 16 to 2048.");
  std::vector<std::vector<std::int64_t>> shapes(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes[i] = i == picture_end_ ? std::vector<std::int64_t>{1, 3, side_, side_}
                                  : std::vector<std::int64_t>(inputs[i].dims.size(), 1);
  }
  try {
    network_ = model->Compile(shapes, threads);
  } catch (const Error& error) {
    Refuse(file, error.what());
  }
  if (network_->outputs().empty() || network_->outputs()[0].dims != shapes[picture_end_]) {
    Refuse(file, "Its output does not have the size of its input.");
  }
  if (weight >= 0) *network_->Input(static_cast<std::size_t>(weight)) = inference::kUsualFaceWeight;
}

}  // namespace reelmend::faces
