// Networks of any inputs and outputs, such as those that find faces.
#pragma once

#include <memory>

#include "inference/tensor_network.h"
#include "openvino/openvino.hpp"

namespace reelmend::inference {

/// Throws Error{kInvalidArgument} if an end of the model does not hold numbers or states no shape.
std::unique_ptr<TensorModel> MakeTensorModel(std::shared_ptr<ov::Model> model);

}  // namespace reelmend::inference
