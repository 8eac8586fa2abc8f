#include "inference/onnx_quantised.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "inference/onnx_fields.h"
#include "inference/wire.h"

namespace reelmend::inference {
namespace {

using namespace onnx;
using wire::Field;
using wire::Reader;

bool IsZero(std::string_view tensor) {
  bool all = true;
  Reader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (field.number != kRaw && field.number != kIntegers) continue;
    const bool is_single = field.type == wire::Type::kVarint;
    all = all && (is_single ? field.value == 0 : std::ranges::all_of(field.bytes, [](char byte) { return byte == 0; }));
  }
  return all;
}

/// Initializers by name.
std::map<std::string, std::string_view> Constants(std::string_view graph) {
  std::map<std::string, std::string_view> constants;
  Reader reader(graph);
  for (Field field; reader.Next(field);) {
    if (field.number == kInitializer) constants.emplace(Find(field.bytes, kTensorName), field.bytes);
  }
  return constants;
}

/// The integers of a field that repeats.
std::vector<std::uint64_t> Integers(std::string_view message, int number) {
  std::vector<std::uint64_t> integers;
  Reader reader(message);
  for (Field field; reader.Next(field);) {
    if (field.number != number) continue;
    if (field.type == wire::Type::kVarint) integers.push_back(field.value);
    // A packed list reads as a list of varints.
    std::uint64_t value = 0;
    for (std::size_t at = 0, shift = 0; field.type == wire::Type::kBytes && at < field.bytes.size(); ++at) {
      const auto byte = static_cast<std::uint8_t>(field.bytes[at]);
      if (shift < 64) value |= std::uint64_t{byte & 0x7FU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      integers.push_back(value);
      value = shift = 0;
    }
  }
  return integers;
}

std::vector<std::size_t> Dimensions(std::string_view tensor) {
  const auto integers = Integers(tensor, kDimensions);
  return {integers.begin(), integers.end()};
}

template <typename Number>
void AppendRaw(std::string_view bytes, std::vector<float>& values) {
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    values.push_back(static_cast<float>(number));
  }
}

/// The values of a tensor of float32 or integers of 8 to 32 bits; none of other tensors.
std::vector<float> Values(std::string_view tensor) {
  const std::string_view raw = Find(tensor, kRaw);
  std::vector<float> values;
  switch (FindInteger(tensor, kTensorType, 0)) {
    case kFloat: AppendRaw<float>(raw.empty() ? Find(tensor, kFloats) : raw, values); return values;
    case kUnsigned8: AppendRaw<std::uint8_t>(raw, values); break;
    case kSigned8: AppendRaw<std::int8_t>(raw, values); break;
    case kUnsigned16: AppendRaw<std::uint16_t>(raw, values); break;
    case kSigned16: AppendRaw<std::int16_t>(raw, values); break;
    case kSigned32: AppendRaw<std::int32_t>(raw, values); break;
    default: return values;
  }
  if (!raw.empty()) return values;
  for (const std::uint64_t integer : Integers(tensor, kIntegers)) values.push_back(static_cast<float>(static_cast<std::int32_t>(integer)));
  return values;
}

/// What a quantiser limits its input to.
struct Limits {
  float low;
  float high;
};

/// None if scale and zero point are no single constants.
std::optional<Limits> LimitsOf(const std::vector<std::string>& inputs, const std::map<std::string, std::string_view>& constants) {
  const auto find = [&](std::size_t at) { return at < inputs.size() && constants.count(inputs[at]) > 0 ? constants.at(inputs[at]) : std::string_view(); };
  const bool has_zero_point = inputs.size() > 2 && !inputs[2].empty();
  const std::vector<float> scale = Values(find(1));
  const std::vector<float> zero = has_zero_point ? Values(find(2)) : std::vector<float>{0};
  if (scale.size() != 1 || zero.size() != 1) return std::nullopt;
  const auto between = [&](float least, float most) { return Limits{(least - zero[0]) * scale[0], (most - zero[0]) * scale[0]}; };
  switch (has_zero_point ? FindInteger(find(2), kTensorType, 0) : kUnsigned8) {
    case kUnsigned8: return between(0, 255);
    case kSigned8: return between(-128, 127);
    case kUnsigned16: return between(0, 65535);
    case kSigned16: return between(-32768, 32767);
    default: return std::nullopt;
  }
}

/// Pairs of Q and DQ that are not of int8 around 0. A Q without a zero point is one of uint8.
struct UnsignedPairs {
  std::map<std::string, std::optional<Limits>> quantisers;  ///< by output
  std::map<std::string, std::string> stand_ins;             ///< for what a DQ gives: what its Q gives
};

UnsignedPairs FindUnsignedPairs(std::string_view graph) {
  const auto constants = Constants(graph);
  const auto is_signed = [&](const std::string& zero_point) {
    const auto found = constants.find(zero_point);
    return found != constants.end() && FindInteger(found->second, kTensorType, 0) != kUnsigned8 && IsZero(found->second);
  };
  UnsignedPairs pairs;
  Reader nodes(graph);
  for (Field field; nodes.Next(field);) {  // sorted: whoever makes a value stands before whoever takes it
    if (field.number != kNode) continue;
    const std::string_view kind = Find(field.bytes, kOperator);
    const auto inputs = FindAll(field.bytes, kNodeInput);
    if (inputs.empty()) continue;
    const std::string output(Find(field.bytes, kNodeOutput));
    if (kind == "QuantizeLinear" && (inputs.size() < 3 || !is_signed(inputs[2]))) {
      pairs.quantisers[output] = LimitsOf(inputs, constants);
    } else if (kind == "DequantizeLinear" && pairs.quantisers.count(inputs[0]) > 0) {
      pairs.stand_ins[output] = inputs[0];
    }
  }
  return pairs;
}

void PutNode(std::string& graph, std::string_view kind, const std::vector<std::string>& inputs, const std::string& output) {
  std::string node;
  for (const std::string& input : inputs) wire::PutBytes(node, kNodeInput, input);
  wire::PutBytes(node, kNodeOutput, output);
  wire::PutBytes(node, kOperator, kind);
  wire::PutBytes(graph, kNode, node);
}

void PutNumber(std::string& graph, const std::string& name, float number) {
  std::string tensor;
  wire::PutInteger(tensor, kTensorType, kFloat);
  wire::PutBytes(tensor, kTensorName, name);
  wire::PutBytes(tensor, kRaw, {reinterpret_cast<const char*>(&number), sizeof number});
  wire::PutBytes(graph, kInitializer, tensor);
}

/// What stands for a quantiser. Two nodes instead of a Clip, whose limits are attributes up to opset 10.
void PutLimits(std::string& graph, const std::string& input, const std::string& output, const std::optional<Limits>& limits) {
  if (!limits) return PutNode(graph, "Identity", {input}, output);
  PutNumber(graph, output + "_lowest", limits->low);
  PutNumber(graph, output + "_highest", limits->high);
  PutNode(graph, "Max", {input, output + "_lowest"}, output + "_from_below");
  PutNode(graph, "Min", {output + "_from_below", output + "_highest"}, output);
}

std::string WithoutUnsignedPairs(std::string_view graph) {
  const UnsignedPairs pairs = FindUnsignedPairs(graph);
  const auto stand_in = [&](const std::string& name) { return pairs.stand_ins.count(name) > 0 ? pairs.stand_ins.at(name) : name; };
  const auto take_stand_ins = [&](std::string& node, const Field& part) {
    if (part.number != kNodeInput) return false;
    wire::PutBytes(node, kNodeInput, stand_in(std::string(part.bytes)));
    return true;
  };
  std::set<std::string> ends;
  for (const std::string& end : FindAll(graph, kOutput)) ends.emplace(Find(end, kValueName));
  return wire::Rewrite(graph, [&](std::string& out, const Field& field) {
    if (field.number != kNode) return false;
    const std::string output(Find(field.bytes, kNodeOutput));
    if (const auto found = pairs.quantisers.find(output); found != pairs.quantisers.end()) {
      PutLimits(out, stand_in(std::string(Find(field.bytes, kNodeInput))), output, found->second);
    } else if (pairs.stand_ins.count(output) == 0) {
      wire::PutBytes(out, kNode, wire::Rewrite(field.bytes, take_stand_ins));
    } else if (ends.count(output) > 0) {
      PutNode(out, "Identity", {stand_in(output)}, output);
    }
    return true;
  });
}

/// The position of the scale for each dimension of a node's tensor; a negative one counts from the end.
std::size_t AxisOf(std::string_view node, std::size_t dimensions) {
  std::int64_t axis = 1;
  for (const std::string& attribute : FindAll(node, kAttribute)) {
    if (Find(attribute, kAttributeName) == "axis") axis = static_cast<std::int64_t>(FindInteger(attribute, kAttributeInt, 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dimensions) : axis);
}

/// What a DequantizeLinear makes of constants, as a float32 tensor of the output's name; empty if that cannot be told here.
std::string Dequantised(std::string_view node, const std::map<std::string, std::string_view>& constants) {
  const auto inputs = FindAll(node, kNodeInput);
  const auto find = [&](std::size_t at) { return at < inputs.size() && constants.count(inputs[at]) > 0 ? constants.at(inputs[at]) : std::string_view(); };
  const std::vector<float> steps = Values(find(0));
  const std::vector<float> scales = Values(find(1));
  const std::vector<float> zeros = Values(find(2));
  const std::vector<std::size_t> dimensions = Dimensions(find(0));
  const std::size_t axis = AxisOf(node, dimensions.size());
  if (steps.empty() || (inputs.size() > 2 && !inputs[2].empty() && zeros.empty())) return "";
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < dimensions.size(); ++i) inner *= dimensions[i];
  const std::size_t channels = axis < dimensions.size() ? dimensions[axis] : 1;
  const auto fits = [&](const std::vector<float>& values) { return values.size() == 1 || values.size() == channels; };
  if (!fits(scales) || (!zeros.empty() && !fits(zeros)) || inner * channels == 0 || steps.size() % (inner * channels) != 0) return "";
  const auto at = [&](const std::vector<float>& values, std::size_t channel) { return values[values.size() == 1 ? 0 : channel]; };
  std::string floats;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    const float value = (steps[i] - (zeros.empty() ? 0.0F : at(zeros, channel))) * at(scales, channel);
    floats.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string tensor;
  for (const std::size_t dimension : dimensions) wire::PutInteger(tensor, kDimensions, dimension);
  wire::PutInteger(tensor, kTensorType, kFloat);
  wire::PutBytes(tensor, kTensorName, Find(node, kNodeOutput));
  wire::PutBytes(tensor, kRaw, floats);
  return tensor;
}

bool HasNode(std::string_view graph, std::string_view kind) {
  Reader reader(graph);
  for (Field field; reader.Next(field);) {
    if (field.number == kNode && Find(field.bytes, kOperator) == kind) return true;
  }
  return false;
}

/// DequantizeLinear of constants computed: of all but int8 ones, and of all where nothing is quantised any more.
std::string WithFloatWeights(std::string_view graph) {
  const auto constants = Constants(graph);
  const bool takes_all = !HasNode(graph, "QuantizeLinear");
  const auto is_taken = [&](const std::string& weights) {
    return constants.count(weights) > 0 && (takes_all || FindInteger(constants.at(weights), kTensorType, 0) != kSigned8);
  };
  return wire::Rewrite(graph, [&](std::string& out, const Field& field) {
    const bool is_weights = field.number == kNode && Find(field.bytes, kOperator) == "DequantizeLinear" &&
                            is_taken(std::string(Find(field.bytes, kNodeInput)));
    const std::string tensor = is_weights ? Dequantised(field.bytes, constants) : "";
    if (tensor.empty()) return false;
    wire::PutBytes(out, kInitializer, tensor);
    return true;
  });
}

/// Without constants of 8 bits that no node takes any more.
std::string WithoutUnused(std::string_view graph) {
  std::set<std::string> taken;
  Reader nodes(graph);
  for (Field field; nodes.Next(field);) {
    if (field.number != kNode) continue;
    for (const std::string& input : FindAll(field.bytes, kNodeInput)) taken.insert(input);
  }
  return wire::Rewrite(graph, [&](std::string&, const Field& field) {
    const std::uint64_t type = field.number == kInitializer ? FindInteger(field.bytes, kTensorType, 0) : 0;
    const bool is_of_8_bits = type == kUnsigned8 || type == kSigned8;
    return is_of_8_bits && taken.count(std::string(Find(field.bytes, kTensorName))) == 0;
  });
}

}  // namespace

std::string ForSignedQuantisation(std::string_view graph) {
  if (!HasNode(graph, "DequantizeLinear")) return std::string(graph);
  return WithoutUnused(WithFloatWeights(WithoutUnsignedPairs(graph)));
}

}  // namespace reelmend::inference
