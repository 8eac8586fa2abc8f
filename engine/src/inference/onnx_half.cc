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

/// Sums over a whole picture and exponentials.
constexpr std::string_view kNeedFloat[] = {
    "Exp", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization",
    "Pow", "ReduceL2", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Softmax"};

[[noreturn]] void Refuse(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

std::uint64_t ElementType(std::string_view value_info) {
  return FindInteger(Find(Find(value_info, kValueType), kTensorOfType), kElementType, 0);
}

/// The message with the number at the end of the path set, where there is one; of repeated fields the first.
std::string WithNumber(std::string_view message, const std::vector<int>& path, std::uint64_t number, std::size_t depth = 0) {
  std::string out;
  bool is_found = false;
  Reader reader(message);
  for (Field field; reader.Next(field);) {
    if (is_found || field.number != path[depth]) {
      out += field.encoded;
      continue;
    }
    is_found = true;
    if (depth + 1 == path.size()) {
      wire::PutInteger(out, field.number, number);
    } else {
      wire::PutBytes(out, field.number, WithNumber(field.bytes, path, number, depth + 1));
    }
  }
  return out;
}
const std::vector<int> kTypeOfValue = {kValueType, kTensorOfType, kElementType};
const std::vector<int> kBatchOfValue = {kValueType, kTensorOfType, kShape, kDimension, kDimensionValue};

/// What must be known before anything is changed.
struct Survey {
  std::set<std::string> kept;  ///< tensors that stay float32: scales and regions of Resize
  std::vector<std::string> inputs;
  std::string output;
  bool is_quantised = false;
  std::string why_fp32;
};

bool FitsHalf(std::string_view tensor) {
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

void LookAtNode(std::string_view node, Survey& survey) {
  const std::string_view name = Find(node, kOperator);
  if (name == "QuantizeLinear" || name == "DequantizeLinear") survey.is_quantised = true;
  if (std::ranges::find(kNeedFloat, name) != std::end(kNeedFloat)) {
    survey.why_fp32 = "It uses the operator " + std::string(name) + ", which loses in fp16.";
  }
  if (name == "Resize" || name == "Upsample") {
    const auto inputs = FindAll(node, kNodeInput);
    for (std::size_t i = 1; i < inputs.size(); ++i) survey.kept.insert(inputs[i]);
  }
  for (const std::string& attribute : FindAll(node, kAttribute)) {
    if (!Find(attribute, kAttributeGraph).empty()) survey.why_fp32 = "It has branches or loops.";
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
    if (FindInteger(field.bytes, kTensorType, 0) == kFloat && !FitsHalf(field.bytes)) {
      survey.why_fp32 = "It has weights beyond the range of fp16.";
    }
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

/// Floats to halves; anything else stays.
std::string HalfTensor(std::string_view tensor) {
  if (FindInteger(tensor, kTensorType, 0) != kFloat) return std::string(tensor);
  std::string out;
  std::string halves;
  const auto convert = [&](std::string_view floats) {
    for (std::size_t at = 0; at + 4 <= floats.size(); at += 4) {
      float value = 0;
      std::memcpy(&value, floats.data() + at, 4);
      const std::uint16_t half = FloatToHalf(value);
      halves.append(reinterpret_cast<const char*>(&half), 2);
    }
  };
  Reader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (field.number == kTensorType) {
      wire::PutInteger(out, kTensorType, kHalf);
    } else if (field.number == kRaw || field.number == kFloats) {
      convert(field.bytes);
    } else {
      out += field.encoded;
    }
  }
  wire::PutBytes(out, kRaw, halves);
  return out;
}

/// Constants and casts to float32 become fp16.
std::string HalfNode(std::string_view node, const Survey& survey) {
  const bool is_cast = Find(node, kOperator) == "Cast";
  const auto outputs = FindAll(node, kNodeOutput);
  if (std::ranges::any_of(outputs, [&](const std::string& name) { return survey.kept.count(name) > 0; })) return std::string(node);
  std::string out;
  Reader reader(node);
  for (Field field; reader.Next(field);) {
    if (field.number != kAttribute) {
      out += field.encoded;
      continue;
    }
    std::string attribute;
    const bool is_target = is_cast && Find(field.bytes, kAttributeName) == "to";
    Reader inner(field.bytes);
    for (Field part; inner.Next(part);) {
      if (part.number == kAttributeTensor && part.type == wire::Type::kBytes) {
        wire::PutBytes(attribute, kAttributeTensor, HalfTensor(part.bytes));
      } else if (is_target && part.number == kAttributeInt && part.value == kFloat) {
        wire::PutInteger(attribute, kAttributeInt, kHalf);
      } else {
        attribute += part.encoded;
      }
    }
    wire::PutBytes(out, kAttribute, attribute);
  }
  return out;
}

std::string HalfGraph(std::string_view graph, const Survey& survey) {
  std::string out;
  Reader reader(graph);
  for (Field field; reader.Next(field);) {
    const bool is_kept = field.number == kInitializer && survey.kept.count(std::string(Find(field.bytes, kTensorName))) > 0;
    if (field.number == kInitializer && !is_kept) {
      wire::PutBytes(out, kInitializer, HalfTensor(field.bytes));
    } else if (field.number == kNode) {
      wire::PutBytes(out, kNode, HalfNode(field.bytes, survey));
    } else if (field.number == kInput || field.number == kOutput) {
      const bool is_float = ElementType(field.bytes) == kFloat;
      wire::PutBytes(out, field.number, is_float ? WithNumber(field.bytes, kTypeOfValue, kHalf) : std::string(field.bytes));
    } else if (field.number != kValueInfo) {  // types between: told anew by whoever reads the file
      out += field.encoded;
    }
  }
  return out;
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

/// The same graph between two casts.
std::string CastEnds(std::string_view graph, const Survey& survey) {
  const std::string input(Find(survey.inputs[0], kValueName));
  const std::string inner_input = input + "_float";
  const std::string inner_output = survey.output + "_float";
  const auto renamed = [&](std::string_view node) {
    std::string out;
    Reader reader(node);
    for (Field field; reader.Next(field);) {
      if (field.number == kNodeInput && field.bytes == input) {
        wire::PutBytes(out, kNodeInput, inner_input);
      } else if ((field.number == kNodeInput || field.number == kNodeOutput) && field.bytes == survey.output) {
        wire::PutBytes(out, field.number, inner_output);
      } else {
        out += field.encoded;
      }
    }
    return out;
  };
  std::string out;
  wire::PutBytes(out, kNode, CastNode(input, inner_input, kFloat));
  Reader reader(graph);
  for (Field field; reader.Next(field);) {
    if (field.number == kNode) {
      wire::PutBytes(out, kNode, renamed(field.bytes));
    } else if (field.number == kInput || field.number == kOutput) {
      wire::PutBytes(out, field.number, WithNumber(field.bytes, kTypeOfValue, kHalf));
    } else if (field.number != kValueInfo) {
      out += field.encoded;
    }
  }
  wire::PutBytes(out, kNode, CastNode(inner_output, survey.output, kHalf));
  return out;
}

/// The model with another graph in its place.
std::string WithGraph(const std::string& onnx, std::string_view graph) {
  std::string out;
  Reader reader(onnx);
  for (Field field; reader.Next(field);) {
    if (field.number == kModelGraph) {
      wire::PutBytes(out, kModelGraph, graph);
    } else {
      out += field.encoded;
    }
  }
  return out;
}

}  // namespace

HalfNetwork ToHalf(const std::string& onnx) {
  const std::string_view written = Find(onnx, kModelGraph);
  if (written.empty()) Refuse("The model file is not an ONNX network, or it is damaged.");
  const std::string graph = ForSignedQuantisation(written);
  const Survey survey = LookAt(graph);
  HalfNetwork result;
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
  std::string graph;
  Reader values(Find(onnx, kModelGraph));
  for (Field field; values.Next(field);) {
    if (field.number == kInput || field.number == kOutput) {
      wire::PutBytes(graph, field.number, WithNumber(field.bytes, kBatchOfValue, static_cast<std::uint64_t>(batch)));
    } else {
      graph += field.encoded;
    }
  }
  return WithGraph(onnx, graph);
}

}  // namespace reelmend::inference
