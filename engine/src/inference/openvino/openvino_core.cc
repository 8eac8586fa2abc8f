#include "inference/openvino/openvino_core.h"

#include "reelmend/error.h"

namespace reelmend::inference {

ov::Core& Core() {
  static ov::Core core;
  return core;
}

void Refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

void RefuseUnknownShape() {
  Refuse("The model does not state the shape of its input; four dimensions are wanted: 1, planes, height, width.");
}

std::string UnsupportedOperator(const std::string& message) {
  for (const char* mark : {"No conversion rule found for operations: ", "Unsupported operation of type: ",
                           "OpenVINO does not support the following ONNX operations: "}) {
    const auto at = message.find(mark);
    if (at == std::string::npos) continue;
    const auto begin = at + std::string(mark).size();
    return message.substr(begin, message.find_first_of(" ,\n;", begin) - begin);
  }
  return "";
}

Shape ToShape(const ov::Shape& shape) {
  return {static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3])};
}

}  // namespace reelmend::inference
