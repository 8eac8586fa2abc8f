// Networks that take a picture and make a picture.
#pragma once

#include <memory>
#include <string>

#include "inference/backend.h"
#include "openvino/openvino.hpp"

namespace reelmend::inference {

/// `input` and `output` name the picture's ends; empty names mean the only ones. Throws Error{kInvalidArgument} if the model does not take
/// and make one picture.
std::unique_ptr<Model> MakePictureModel(std::shared_ptr<ov::Model> model, const std::string& input, const std::string& output);

}  // namespace reelmend::inference
