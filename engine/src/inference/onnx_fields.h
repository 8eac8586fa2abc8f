// Fields of ONNX files, as far as they are inspected and changed here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inference/wire.h"

namespace reelmend::inference::onnx {

// Numbers of fields and types in onnx.proto.
enum Model : int { kModelGraph = 7 };
enum Graph : int { kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12, kValueInfo = 13 };
enum Node : int { kNodeInput = 1, kNodeOutput = 2, kOperator = 4, kAttribute = 5 };
enum Attribute : int {
  kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3, kAttributeTensor = 5, kAttributeGraph = 6, kAttributeFloats = 7, kAttributeType = 20
};
enum Tensor : int { kDimensions = 1, kTensorType = 2, kFloats = 4, kIntegers = 5, kTensorName = 8, kRaw = 9, kExternal = 13 };
enum ValueInfo : int { kValueName = 1, kValueType = 2, kTensorOfType = 1, kElementType = 1, kShape = 2, kDimension = 1, kDimensionValue = 1 };
inline constexpr std::uint64_t kFloat = 1;
inline constexpr std::uint64_t kUnsigned8 = 2;
inline constexpr std::uint64_t kSigned8 = 3;
inline constexpr std::uint64_t kUnsigned16 = 4;
inline constexpr std::uint64_t kSigned16 = 5;
inline constexpr std::uint64_t kSigned32 = 6;
inline constexpr std::uint64_t kHalf = 10;
inline constexpr std::uint64_t kDouble = 11;
inline constexpr std::uint64_t kAttributeIsInt = 2;
inline constexpr std::uint64_t kAttributeIsTensor = 4;

/// The first field of that number; empty when there is none.
inline std::string_view Find(std::string_view message, int number) {
  wire::Reader reader(message);
  for (wire::Field field; reader.Next(field);) {
    if (field.number == number && field.type == wire::Type::kBytes) return field.bytes;
  }
  return {};
}

inline std::uint64_t FindInteger(std::string_view message, int number, std::uint64_t otherwise) {
  wire::Reader reader(message);
  for (wire::Field field; reader.Next(field);) {
    if (field.number == number && field.type == wire::Type::kVarint) return field.value;
  }
  return otherwise;
}

inline std::vector<std::string> FindAll(std::string_view message, int number) {
  std::vector<std::string> found;
  wire::Reader reader(message);
  for (wire::Field field; reader.Next(field);) {
    if (field.number == number && field.type == wire::Type::kBytes) found.emplace_back(field.bytes);
  }
  return found;
}

}  // namespace reelmend::inference::onnx
