// Reads and writes protocol buffers, to inspect and change ONNX files without a library for it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "reelmend/error.h"

namespace reelmend::inference::wire {

enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  int number = 0;
  Type type = Type::kVarint;
  std::uint64_t value = 0;   ///< of a varint
  std::string_view bytes;    ///< content of kBytes, the raw bytes of fixed ones
  std::string_view encoded;  ///< all of it, to be copied as it is
};

/// Reads the fields of one message in order. Throws Error{kInvalidArgument} for a truncated or invalid message.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  bool Next(Field& field) {
    if (rest_.empty()) return false;
    const char* begin = rest_.data();
    const std::uint64_t key = Varint();
    field.number = static_cast<int>(key >> 3);
    field.type = static_cast<Type>(key & 7);
    switch (field.type) {
      case Type::kVarint: field.value = Varint(); break;
      case Type::kFixed64: field.bytes = Take(8); break;
      case Type::kFixed32: field.bytes = Take(4); break;
      case Type::kBytes: field.bytes = Take(Varint()); break;
      default: Refuse();
    }
    field.encoded = {begin, static_cast<std::size_t>(rest_.data() - begin)};
    return true;
  }

 private:
  [[noreturn]] static void Refuse() {
    throw Error(ErrorCode::kInvalidArgument, "The model file is not an ONNX network, or it is damaged.");
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) Refuse();
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    Refuse();
  }
  std::string_view Take(std::uint64_t count) {
    if (count > rest_.size()) Refuse();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

inline void PutVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}
inline void PutInteger(std::string& out, int number, std::uint64_t value) {
  PutVarint(out, static_cast<std::uint64_t>(number) << 3);
  PutVarint(out, value);
}
inline void PutBytes(std::string& out, int number, std::string_view bytes) {
  PutVarint(out, (static_cast<std::uint64_t>(number) << 3) | 2);
  PutVarint(out, bytes.size());
  out += bytes;
}

/// The message with some of its fields changed. `replace(out, field)` appends what stands in the place of a field, or nothing, and
/// returns true. Where it returns false, the field is copied as it is.
template <typename Replace>
std::string Rewrite(std::string_view message, Replace replace) {
  std::string out;
  Reader reader(message);
  for (Field field; reader.Next(field);) {
    if (!replace(out, field)) out += field.encoded;
  }
  return out;
}

}  // namespace reelmend::inference::wire
