#include "inference/onnx_quantised.h"

#include <algorithm>
#include <cstring>
#include <map>
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

/// What stands for each value between a Q and a DQ that are not of int8 around 0, and for what the DQ gives: the Q's input. A Q
/// without a zero point is one of uint8.
std::map<std::string, std::string> FindUnsignedPairs(std::string_view graph) {
  const auto constants = Constants(graph);
  const auto is_signed = [&](const std::string& zero_point) {
    const auto found = constants.find(zero_point);
    return found != constants.end() && FindInteger(found->second, kTensorType, 0) != kUnsigned8 && IsZero(found->second);
  };
  std::map<std::string, std::string> stand_ins;
  const auto made_of = [&](const std::string& name) { return stand_ins.count(name) > 0 ? stand_ins.at(name) : name; };
  Reader nodes(graph);
  for (Field field; nodes.Next(field);) {  // sorted: whoever makes a value stands before whoever takes it
    if (field.number != kNode) continue;
    const std::string_view kind = Find(field.bytes, kOperator);
    const auto inputs = FindAll(field.bytes, kNodeInput);
    if (inputs.empty()) continue;
    const std::string output(Find(field.bytes, kNodeOutput));
    if (kind == "QuantizeLinear" && (inputs.size() < 3 || !is_signed(inputs[2]))) {
      stand_ins[output] = made_of(inputs[0]);
    } else if (kind == "DequantizeLinear" && stand_ins.count(inputs[0]) > 0) {
      stand_ins[output] = made_of(inputs[0]);
    }
  }
  return stand_ins;
}

std::string WithoutUnsignedPairs(std::string_view graph) {
  const auto stand_ins = FindUnsignedPairs(graph);
  const auto take_stand_ins = [&](std::string& node, const Field& part) {
    const auto stand_in = part.number == kNodeInput ? stand_ins.find(std::string(part.bytes)) : stand_ins.end();
    if (stand_in == stand_ins.end()) return false;
    wire::PutBytes(node, kNodeInput, stand_in->second);
    return true;
  };
  return wire::Rewrite(graph, [&](std::string& out, const Field& field) {
    if (field.number != kNode) return false;
    const bool is_of_pair = stand_ins.count(std::string(Find(field.bytes, kNodeOutput))) > 0;
    if (!is_of_pair) wire::PutBytes(out, kNode, wire::Rewrite(field.bytes, take_stand_ins));
    return true;
  });
}

/// The dimensions of a tensor.
std::vector<std::size_t> Dimensions(std::string_view tensor) {
  std::vector<std::size_t> dimensions;
  Reader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (field.number != kDimensions) continue;
    if (field.type == wire::Type::kVarint) dimensions.push_back(static_cast<std::size_t>(field.value));
    // A packed list reads as a list of varints.
    for (std::size_t at = 0, value = 0, shift = 0; field.type == wire::Type::kBytes && at < field.bytes.size(); ++at) {
      const auto byte = static_cast<std::uint8_t>(field.bytes[at]);
      value |= static_cast<std::size_t>(byte & 0x7F) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      dimensions.push_back(value);
      value = shift = 0;
    }
  }
  return dimensions;
}

/// The values of a tensor of 8 bits or float32 that are kept as raw bytes or as floats; none otherwise.
std::vector<float> Values(std::string_view tensor) {
  const std::uint64_t type = FindInteger(tensor, kTensorType, 0);
  const std::string_view raw = Find(tensor, kRaw);
  std::vector<float> values;
  if (type == kSigned8) {
    for (const char byte : raw) values.push_back(static_cast<signed char>(byte));
  } else if (type == kUnsigned8) {
    for (const char byte : raw) values.push_back(static_cast<unsigned char>(byte));
  } else if (type == kFloat) {
    const std::string_view bytes = raw.empty() ? Find(tensor, kFloats) : raw;
    values.resize(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), values.size() * 4);
  }
  return values;
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

bool HasQuantizer(std::string_view graph) {
  Reader reader(graph);
  for (Field field; reader.Next(field);) {
    if (field.number == kNode && Find(field.bytes, kOperator) == "QuantizeLinear") return true;
  }
  return false;
}

/// DequantizeLinear of constants computed: of uint8 ones, and of all where nothing is quantised any more.
std::string WithFloatWeights(std::string_view graph) {
  const auto constants = Constants(graph);
  const bool takes_all = !HasQuantizer(graph);
  const auto is_taken = [&](const std::string& weights) {
    return constants.count(weights) > 0 && (takes_all || FindInteger(constants.at(weights), kTensorType, 0) == kUnsigned8);
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
  const std::string paired = WithoutUnsignedPairs(graph);
  if (paired == graph && !HasQuantizer(graph)) return paired;
  return WithoutUnused(WithFloatWeights(paired));
}

}  // namespace reelmend::inference
