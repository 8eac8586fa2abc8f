#include "inference/onnx_half.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "reelmend/error.h"
#include "inference/half.h"
#include "inference/onnx_fields.h"
#include "inference/onnx_quantised.h"
#include "inference/wire.h"

namespace reelmend::inference {
namespace {

using namespace onnx;
using wire::Field;
using wire::Reader;

/// Operators that sum over a whole picture, and exponentials.
constexpr std::string_view kNeedFloat[] = {
    "Exp", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization",
    "Pow", "ReduceL2", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Softmax"};

[[noreturn]] void Refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

std::uint64_t ElementType(std::string_view value_info) {
  return FindInteger(Find(Find(value_info, kValueType), kTensorOfType), kElementType, 0);
}

/// Sets the number at the end of the path, if it exists, and returns the message; of repeated fields, the first.
std::string WithNumber(std::string_view message, const std::vector<int>& path, std::uint64_t number, std::size_t depth = 0) {
  bool is_found = false;
  return wire::Rewrite(message, [&](std::string& out, const Field& field) {
    if (is_found || field.number != path[depth]) return false;
    is_found = true;
    if (depth + 1 == path.size()) {
      wire::PutInteger(out, field.number, number);
    } else {
      wire::PutBytes(out, field.number, WithNumber(field.bytes, path, number, depth + 1));
    }
    return true;
  });
}
const std::vector<int> kTypeOfValue = {kValueType, kTensorOfType, kElementType};
const std::vector<int> kBatchOfValue = {kValueType, kTensorOfType, kShape, kDimension, kDimensionValue};

/// Facts to collect before anything is changed.
struct Survey {
  std::set<std::string> kept;  ///< tensors that stay float32: scales and regions of Resize
  std::vector<std::string> inputs;
  std::string output;
  bool is_quantised = false;
  std::string why_fp32;
};

/// Whether the values of a float32 tensor do.
bool FitsHalf(std::string_view tensor) {
  if (FindInteger(tensor, kTensorType, 0) != kFloat) return true;
  const auto fits = [](float value) { return !(std::abs(value) > kLargestHalf); };
  bool all = true;
  Reader reader(tensor);
  for (Field field; reader.Next(field);) {
    const bool is_raw = field.number == kRaw && field.type == wire::Type::kBytes;
    const bool is_packed = field.number == kFloats && field.type == wire::Type::kBytes;
    const bool is_single = field.number == kFloats && field.type == wire::Type::kFixed32;
    if (!is_raw && !is_packed && !is_single) continue;
    for (std::size_t at = 0; at + 4 <= field.bytes.size(); at += 4) {
      float value = 0;
      std::memcpy(&value, field.bytes.data() + at, 4);
      all = all && fits(value);
    }
  }
  return all;
}

/// Replaces the number or the list of numbers of a Constant by a tensor, which is what the functions below convert.
std::string WithTensorOfNumbers(std::string_view node) {
  if (Find(node, kOperator) != "Constant") return std::string(node);
  return wire::Rewrite(node, [](std::string& out, const Field& field) {
    const std::string_view name = field.number == kAttribute ? Find(field.bytes, kAttributeName) : std::string_view();
    if (name != "value_float" && name != "value_floats") return false;
    std::string floats;
    Reader parts(field.bytes);
    for (Field part; parts.Next(part);) {
      if (part.number == kAttributeFloat || part.number == kAttributeFloats) floats += part.bytes;
    }
    std::string tensor;
    if (name == "value_floats") wire::PutInteger(tensor, kDimensions, floats.size() / sizeof(float));
    wire::PutInteger(tensor, kTensorType, kFloat);
    wire::PutBytes(tensor, kRaw, floats);
    std::string attribute;
    wire::PutBytes(attribute, kAttributeName, "value");
    wire::PutBytes(attribute, kAttributeTensor, tensor);
    wire::PutInteger(attribute, kAttributeType, kAttributeIsTensor);
    wire::PutBytes(out, kAttribute, attribute);
    return true;
  });
}

std::string WithTensorsOfNumbers(std::string_view graph) {
  return wire::Rewrite(graph, [](std::string& out, const Field& field) {
    if (field.number == kNode) wire::PutBytes(out, kNode, WithTensorOfNumbers(field.bytes));
    return field.number == kNode;
  });
}

constexpr const char* kBeyondHalf = "It has weights beyond the range of fp16.";

void LookAtNode(std::string_view node, Survey& survey) {
  const std::string_view name = Find(node, kOperator);
  if (name == "QuantizeLinear" || name == "DequantizeLinear") survey.is_quantised = true;
  if (std::ranges::find(kNeedFloat, name) != std::end(kNeedFloat)) {
    survey.why_fp32 = "It uses the operator " + std::string(name) + ", which is inaccurate in fp16.";
  }
  if (name == "Resize" || name == "Upsample") {
    const auto inputs = FindAll(node, kNodeInput);
    for (std::size_t i = 1; i < inputs.size(); ++i) survey.kept.insert(inputs[i]);
  }
  for (const std::string& attribute : FindAll(node, kAttribute)) {
    if (!Find(attribute, kAttributeGraph).empty()) survey.why_fp32 = "It has branches or loops.";
    if (!FitsHalf(Find(attribute, kAttributeTensor))) survey.why_fp32 = kBeyondHalf;
  }
}

Survey LookAt(std::string_view graph) {
  Survey survey;
  std::set<std::string> weights;
  std::vector<std::string> outputs;
  Reader reader(graph);
  for (Field field; reader.Next(field);) {
    if (field.number == kNode) LookAtNode(field.bytes, survey);
    if (field.number == kInput) survey.inputs.emplace_back(field.bytes);
    if (field.number == kOutput) outputs.emplace_back(field.bytes);
    if (field.number != kInitializer) continue;
    weights.emplace(Find(field.bytes, kTensorName));
    if (!Find(field.bytes, kExternal).empty()) Refuse("The model keeps weights in other files, which are not read.");
    if (!FitsHalf(field.bytes)) survey.why_fp32 = kBeyondHalf;
  }
  // Old files list their weights among the inputs.
  std::erase_if(survey.inputs, [&](const std::string& value) { return weights.count(std::string(Find(value, kValueName))) > 0; });
  if (survey.inputs.size() != 1 || outputs.size() != 1) Refuse("The model must have one input and one output to run on a GPU.");
  for (const std::string& end : {survey.inputs[0], outputs[0]}) {
    const std::uint64_t type = ElementType(end);
    if (type != kFloat && type != kHalf) Refuse("The model's input and output are not of a kind that holds a picture.");
  }
  survey.output = Find(outputs[0], kValueName);
  return survey;
}

/// Converts floats to halves; copies everything else.
std::string HalfTensor(std::string_view tensor) {
  if (FindInteger(tensor, kTensorType, 0) != kFloat) return std::string(tensor);
  std::string halves;
  const auto convert = [&](std::string_view floats) {
    for (std::size_t at = 0; at + 4 <= floats.size(); at += 4) {
      float value = 0;
      std::memcpy(&value, floats.data() + at, 4);
      const std::uint16_t half = FloatToHalf(value);
      halves.append(reinterpret_cast<const char*>(&half), 2);
    }
  };
  std::string converted = wire::Rewrite(tensor, [&](std::string& out, const Field& field) {
    const bool has_values = field.number == kRaw || field.number == kFloats;
    if (has_values) convert(field.bytes);
    if (field.number == kTensorType) wire::PutInteger(out, kTensorType, kHalf);
    return has_values || field.number == kTensorType;
  });
  wire::PutBytes(converted, kRaw, halves);
  return converted;
}

/// Constants and casts to float32 become fp16.
std::string HalfNode(std::string_view node, const Survey& survey) {
  const bool is_cast = Find(node, kOperator) == "Cast";
  const auto outputs = FindAll(node, kNodeOutput);
  if (std::ranges::any_of(outputs, [&](const std::string& name) { return survey.kept.count(name) > 0; })) return std::string(node);
  return wire::Rewrite(node, [&](std::string& out, const Field& field) {
    if (field.number != kAttribute) return false;
    const bool is_target = is_cast && Find(field.bytes, kAttributeName) == "to";
    wire::PutBytes(out, kAttribute, wire::Rewrite(field.bytes, [&](std::string& attribute, const Field& part) {
      const bool is_tensor = part.number == kAttributeTensor && part.type == wire::Type::kBytes;
      const bool is_float = is_target && part.number == kAttributeInt && part.value == kFloat;
      if (is_tensor) wire::PutBytes(attribute, kAttributeTensor, HalfTensor(part.bytes));
      if (is_float) wire::PutInteger(attribute, kAttributeInt, kHalf);
      return is_tensor || is_float;
    }));
    return true;
  });
}

std::string HalfGraph(std::string_view graph, const Survey& survey) {
  return wire::Rewrite(graph, [&](std::string& out, const Field& field) {
    switch (field.number) {
      case kInitializer:
        if (survey.kept.count(std::string(Find(field.bytes, kTensorName))) > 0) return false;
        wire::PutBytes(out, kInitializer, HalfTensor(field.bytes));
        return true;
      case kNode: wire::PutBytes(out, kNode, HalfNode(field.bytes, survey)); return true;
      case kInput:
      case kOutput:
        if (ElementType(field.bytes) != kFloat) return false;
        wire::PutBytes(out, field.number, WithNumber(field.bytes, kTypeOfValue, kHalf));
        return true;
      case kValueInfo: return true;  // intermediate types are left out: readers of the file infer them anew
      default: return false;
    }
  });
}

std::string CastNode(const std::string& from, const std::string& to, std::uint64_t type) {
  std::string attribute;
  wire::PutBytes(attribute, kAttributeName, "to");
  wire::PutInteger(attribute, kAttributeInt, type);
  wire::PutInteger(attribute, kAttributeType, kAttributeIsInt);
  std::string node;
  wire::PutBytes(node, kNodeInput, from);
  wire::PutBytes(node, kNodeOutput, to);
  wire::PutBytes(node, kOperator, "Cast");
  wire::PutBytes(node, kAttribute, attribute);
  return node;
}

/// Wraps the graph in two casts.
std::string CastEnds(std::string_view graph, const Survey& survey) {
  const std::string input(Find(survey.inputs[0], kValueName));
  const std::string inner_input = input + "_float";
  const std::string inner_output = survey.output + "_float";
  const auto rename = [&](std::string& out, const Field& field) {
    const bool is_input = field.number == kNodeInput && field.bytes == input;
    const bool is_output = !is_input && (field.number == kNodeInput || field.number == kNodeOutput) && field.bytes == survey.output;
    if (is_input) wire::PutBytes(out, kNodeInput, inner_input);
    if (is_output) wire::PutBytes(out, field.number, inner_output);
    return is_input || is_output;
  };
  std::string cast;
  wire::PutBytes(cast, kNode, CastNode(input, inner_input, kFloat));
  cast += wire::Rewrite(graph, [&](std::string& out, const Field& field) {
    const bool is_end = field.number == kInput || field.number == kOutput;
    if (field.number == kNode) wire::PutBytes(out, kNode, wire::Rewrite(field.bytes, rename));
    if (is_end) wire::PutBytes(out, field.number, WithNumber(field.bytes, kTypeOfValue, kHalf));
    return field.number == kNode || is_end || field.number == kValueInfo;
  });
  wire::PutBytes(cast, kNode, CastNode(inner_output, survey.output, kHalf));
  return cast;
}

/// The model with another graph.
std::string WithGraph(const std::string& onnx, std::string_view graph) {
  return wire::Rewrite(onnx, [&](std::string& out, const Field& field) {
    if (field.number != kModelGraph) return false;
    wire::PutBytes(out, kModelGraph, graph);
    return true;
  });
}

}  // namespace

HalfNetwork ToHalf(const std::string& onnx) {
  const std::string_view written = Find(onnx, kModelGraph);
  if (written.empty()) Refuse("The model file is not an ONNX network, or it is damaged.");
  const std::string requantised = ForSignedQuantisation(written);
  const std::string graph = WithTensorsOfNumbers(requantised);
  const Survey survey = LookAt(graph);
  HalfNetwork result;
  result.changes_quantisation = requantised != written;
  result.precision = survey.is_quantised ? "int8" : survey.why_fp32.empty() ? "fp16" : "fp32";
  if (result.precision == "fp32") result.why_fp32 = survey.why_fp32;
  const bool is_half_already = ElementType(survey.inputs[0]) == kHalf;
  const std::string changed = result.precision == "fp16" ? HalfGraph(graph, survey)
                              : is_half_already          ? graph
                                                         : CastEnds(graph, survey);
  result.onnx = WithGraph(onnx, changed);
  return result;
}

std::string WithBatch(const std::string& onnx, int batch) {
  return WithGraph(onnx, wire::Rewrite(Find(onnx, kModelGraph), [&](std::string& out, const Field& field) {
    if (field.number != kInput && field.number != kOutput) return false;
    wire::PutBytes(out, field.number, WithNumber(field.bytes, kBatchOfValue, static_cast<std::uint64_t>(batch)));
    return true;
  }));
}

}  // namespace reelmend::inference
