#include "inference/onnx_face.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "inference/onnx_fields.h"
#include "inference/wire.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

using namespace onnx;
using wire::Field;

std::string_view GraphOf(const std::string& onnx) {
  const std::string_view graph = Find(onnx, kModelGraph);
  if (graph.empty()) throw Error(ErrorCode::kInvalidArgument, "The model file is not an ONNX network, or it is damaged.");
  return graph;
}

std::string_view TensorTypeOf(std::string_view value_info) { return Find(Find(value_info, kValueType), kTensorOfType); }

std::vector<std::string> DimensionsOf(std::string_view value_info) { return FindAll(Find(TensorTypeOf(value_info), kShape), kDimension); }

/// Names of the tensors that have a value. Files may list them among the inputs, too.
std::set<std::string, std::less<>> NamesOfConstants(std::string_view graph) {
  std::set<std::string, std::less<>> names;
  for (const std::string& tensor : FindAll(graph, kInitializer)) names.emplace(Find(tensor, kTensorName));
  return names;
}

/// A tensor of that input's type and number of dimensions, with one value.
std::string ConstantOf(std::string_view value_info, double value) {
  std::string tensor;
  for (std::size_t i = 0; i < DimensionsOf(value_info).size(); ++i) wire::PutInteger(tensor, kDimensions, 1);
  const std::uint64_t type = FindInteger(TensorTypeOf(value_info), kElementType, 0);
  wire::PutInteger(tensor, kTensorType, type);
  wire::PutBytes(tensor, kTensorName, Find(value_info, kValueName));
  const auto narrow = static_cast<float>(value);
  const bool is_wide = type == kDouble;
  wire::PutBytes(tensor, kRaw, {is_wide ? reinterpret_cast<const char*>(&value) : reinterpret_cast<const char*>(&narrow),
                                is_wide ? sizeof value : sizeof narrow});
  return tensor;
}

}  // namespace

std::string WithConstantWeight(const std::string& onnx) {
  const std::string_view written = GraphOf(onnx);
  if (NamesOfConstants(written).contains(kFaceWeight)) return onnx;  // it keeps its value
  const auto is_weight = [](const Field& field) {
    if (field.number != kInput || Find(field.bytes, kValueName) != kFaceWeight) return false;
    const std::uint64_t type = FindInteger(TensorTypeOf(field.bytes), kElementType, 0);
    return type == kFloat || type == kDouble;
  };
  const std::string graph = wire::Rewrite(written, [&](std::string& out, const Field& field) {
    if (!is_weight(field)) return false;
    wire::PutBytes(out, kInitializer, ConstantOf(field.bytes, kUsualFaceWeight));
    return true;
  });
  return wire::Rewrite(onnx, [&](std::string& out, const Field& field) {
    if (field.number != kModelGraph) return false;
    wire::PutBytes(out, kModelGraph, graph);
    return true;
  });
}

int FaceSide(const std::string& onnx) {
  const std::string_view graph = GraphOf(onnx);
  const auto constants = NamesOfConstants(graph);
  for (const std::string& input : FindAll(graph, kInput)) {
    const std::string_view name = Find(input, kValueName);
    const std::vector<std::string> dimensions = DimensionsOf(input);
    if (name == kFaceWeight || constants.contains(name) || dimensions.size() != 4) continue;
    const auto side = static_cast<std::int64_t>(FindInteger(dimensions[3], kDimensionValue, 0));  // some files write −1 for an open one
    return side > 0 ? static_cast<int>(std::min<std::int64_t>(side, 1 << 20)) : kUsualFaceSide;
  }
  return kUsualFaceSide;
}

}  // namespace reelmend::inference
