// Writes ONNX files: networks with a known result, and faulty files. Supports only the parts of the format that these need
// (protocol buffers with the field numbers of onnx.proto, ONNX 1.17).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace reelmend::testing {

/// Writes one protocol buffer message.
class Message {
 public:
  Message& Int(int field, std::int64_t value) {
    Varint(static_cast<std::uint64_t>(field) << 3);
    Varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& Bytes(int field, const std::string& value) {
    Varint(static_cast<std::uint64_t>(field) << 3 | 2);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& Float(int field, float value) {
    Varint(static_cast<std::uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

struct Attribute {
  std::string name;
  std::vector<std::int64_t> ints;
  bool is_list = true;
  std::string text;  ///< text value; empty: the attribute has numbers
  std::vector<float> floats = {};  ///< not empty: it has these numbers instead
  bool is_tensor = false;          ///< as a tensor without dimensions
};

class OnnxFile {
 public:
  static constexpr std::int64_t kOpen = -1;  ///< a dimension without a fixed size
  static constexpr std::int64_t kOpenAsNumber = -2;  ///< the same, written as the number −1

  OnnxFile& Input(const std::string& name, const std::vector<std::int64_t>& shape) {
    graph_.Bytes(11, ValueInfo(name, shape));
    return *this;
  }
  /// An input whose number of dimensions is not stated.
  OnnxFile& InputOfAnyShape(const std::string& name) {
    graph_.Bytes(11, Value(name, Message().Int(1, 1)));
    return *this;
  }
  OnnxFile& Output(const std::string& name, const std::vector<std::int64_t>& shape) {
    graph_.Bytes(12, ValueInfo(name, shape));
    return *this;
  }
  OnnxFile& Tensor(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
    Message tensor;
    for (const std::int64_t side : shape) tensor.Int(1, side);
    tensor.Int(2, 1).Bytes(8, name).Bytes(9, Raw(values));
    graph_.Bytes(5, tensor.bytes());
    return *this;
  }
  enum class EightBits { kUnsigned = 2, kSigned = 3 };
  OnnxFile& Tensor8(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& bytes, EightBits type) {
    Message tensor;
    for (const std::int64_t side : shape) tensor.Int(1, side);
    tensor.Int(2, static_cast<int>(type)).Bytes(8, name).Bytes(9, bytes);
    graph_.Bytes(5, tensor.bytes());
    return *this;
  }
  /// 8 or 32 bits (3: int8, 2: uint8, 6: int32), kept as a list of numbers.
  OnnxFile& Integers(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values, int type) {
    Message tensor;
    for (const std::int64_t side : shape) tensor.Int(1, side);
    tensor.Int(2, type).Bytes(8, name);
    for (const std::int64_t value : values) tensor.Int(5, value);
    graph_.Bytes(5, tensor.bytes());
    return *this;
  }
  OnnxFile& Node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
                 const std::vector<Attribute>& attributes = {}) {
    Message node;
    for (const std::string& input : inputs) node.Bytes(1, input);
    node.Bytes(2, output).Bytes(3, output).Bytes(4, type);
    for (const Attribute& attribute : attributes) node.Bytes(5, Encode(attribute));
    graph_.Bytes(1, node.bytes());
    return *this;
  }
  /// A square convolution that keeps the size; zeros outside of the picture.
  OnnxFile& Conv(const std::string& input, const std::string& output, int out_planes, int in_planes, int side,
                 const std::vector<float>& weights) {
    Tensor(output + "_w", {out_planes, in_planes, side, side}, weights);
    const int pad = side / 2;
    return Node("Conv", {input, output + "_w"}, output,
                {{"kernel_shape", {side, side}, true, ""}, {"pads", {pad, pad, pad, pad}, true, ""}});
  }
  OnnxFile& DepthToSpace(const std::string& input, const std::string& output, int block) {
    return Node("DepthToSpace", {input}, output, {{"blocksize", {block}, false, ""}, {"mode", {}, false, "CRD"}});
  }

  std::string Bytes() const {
    Message graph = graph_;
    graph.Bytes(2, "graph");
    Message opset;
    opset.Bytes(1, "").Int(2, 13);
    Message model;
    model.Int(1, 8).Bytes(2, "reelmend tests").Bytes(7, graph.bytes()).Bytes(8, opset.bytes());
    return model.bytes();
  }

 private:
  static std::string ValueInfo(const std::string& name, const std::vector<std::int64_t>& shape) {
    Message dims;
    for (const std::int64_t side : shape) {
      Message dim;
      if (side == kOpen) {
        dim.Bytes(2, "open");
      } else {
        dim.Int(1, side == kOpenAsNumber ? -1 : side);
      }
      dims.Bytes(1, dim.bytes());
    }
    return Value(name, Message().Int(1, 1).Bytes(2, dims.bytes()));
  }
  static std::string Value(const std::string& name, const Message& tensor) {
    Message type;
    type.Bytes(1, tensor.bytes());
    Message value;
    value.Bytes(1, name).Bytes(2, type.bytes());
    return value.bytes();
  }
  static std::string Raw(const std::vector<float>& values) {
    std::string raw(values.size() * sizeof(float), '\0');
    if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return raw;
  }
  static std::string Encode(const Attribute& attribute) {
    Message message;
    message.Bytes(1, attribute.name);
    if (attribute.is_tensor) {
      Message tensor;
      tensor.Int(2, 1).Bytes(9, Raw(attribute.floats));
      message.Bytes(5, tensor.bytes()).Int(20, 4);
    } else if (!attribute.floats.empty()) {
      const bool is_one = !attribute.is_list;
      if (is_one) message.Float(2, attribute.floats.at(0));
      if (!is_one) message.Bytes(7, Raw(attribute.floats));
      message.Int(20, is_one ? 1 : 6);
    } else if (!attribute.text.empty()) {
      message.Bytes(4, attribute.text).Int(20, 3);
    } else if (attribute.is_list) {
      for (const std::int64_t value : attribute.ints) message.Int(8, value);
      message.Int(20, 7);
    } else {
      message.Int(3, attribute.ints.at(0)).Int(20, 2);
    }
    return message.bytes();
  }

  Message graph_;
};

/// Input: luma and strength. Output: luma enlarged by `scale` with nearest neighbour, each pixel `gain` × luma +
/// `strength_gain` × strength.
inline std::string NearestNetwork(int scale, float gain = 1, float strength_gain = 0) {
  const std::int64_t open = OnnxFile::kOpen;
  std::vector<float> weights;
  for (int i = 0; i < scale * scale; ++i) weights.insert(weights.end(), {gain, strength_gain});
  OnnxFile file;
  file.Input("x", {1, 2, open, open}).Conv("x", "planes", scale * scale, 2, 1, weights);
  file.DepthToSpace("planes", "y", scale).Output("y", {1, 1, open, open});
  return file.Bytes();
}

/// NearestNetwork(scale) after a mean over side × side pixels; zeros outside of the picture.
inline std::string BoxNetwork(int scale, int side) {
  const std::int64_t open = OnnxFile::kOpen;
  std::vector<float> weights;
  for (int i = 0; i < scale * scale; ++i) {
    weights.insert(weights.end(), side * side, 1.0F / static_cast<float>(side * side));
    weights.insert(weights.end(), side * side, 0.0F);
  }
  OnnxFile file;
  file.Input("x", {1, 2, open, open}).Conv("x", "planes", scale * scale, 2, side, weights);
  file.DepthToSpace("planes", "y", scale).Output("y", {1, 1, open, open});
  return file.Bytes();
}

/// Random 3 × 3 layers with ReLU, as expensive as a real network. Its receptive field reaches `layers` pixels in each direction.
/// The default planes are luma and strength in, luma out.
inline std::string DeepNetwork(int scale, int layers, int planes, unsigned seed = 1, int planes_in = 2, int planes_out = 1) {
  const std::int64_t open = OnnxFile::kOpen;
  std::mt19937 random(seed);
  const auto weights = [&](int out, int in) {
    std::normal_distribution<float> normal(0.0F, 1.4F / std::sqrt(static_cast<float>(in * 9)));
    std::vector<float> values(static_cast<std::size_t>(out) * in * 9);
    for (float& value : values) value = normal(random);
    return values;
  };
  OnnxFile file;
  file.Input("x", {1, planes_in, open, open});
  std::string last = "x";
  int in = planes_in;
  for (int i = 0; i + 1 < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    file.Conv(last, name + "c", planes, in, 3, weights(planes, in)).Node("Relu", {name + "c"}, name);
    last = name;
    in = planes;
  }
  file.Conv(last, "planes", planes_out * scale * scale, in, 3, weights(planes_out * scale * scale, in));
  file.DepthToSpace("planes", "y", scale).Output("y", {1, planes_out, open, open});
  return file.Bytes();
}

/// Input: luma, strength, Cb and Cr. Output, enlarged by `scale` with nearest neighbour: luma + `strength_gain` × strength,
/// `chroma_gain` × Cr, `chroma_gain` × Cb. Cb and Cr are swapped so that tests notice a wrong order of planes.
inline std::string SwappedChromaNetwork(int scale, float chroma_gain = 1, float strength_gain = 0) {
  const std::int64_t open = OnnxFile::kOpen;
  std::vector<float> weights;
  const auto plane = [&](std::initializer_list<float> of_inputs) {
    for (int i = 0; i < scale * scale; ++i) weights.insert(weights.end(), of_inputs);
  };
  plane({1, strength_gain, 0, 0});
  plane({0, 0, 0, chroma_gain});
  plane({0, 0, chroma_gain, 0});
  OnnxFile file;
  file.Input("x", {1, 4, open, open}).Conv("x", "planes", 3 * scale * scale, 4, 1, weights);
  file.DepthToSpace("planes", "y", scale).Output("y", {1, 3, open, open});
  return file.Bytes();
}

/// R′G′B′ enlarged by `scale` with nearest neighbour. Red and blue are swapped so that tests notice a wrong order of planes.
inline std::string SwappedRgbNetwork(int scale) {
  const std::int64_t open = OnnxFile::kOpen;
  std::vector<float> weights;
  for (int plane = 0; plane < 3; ++plane) {
    for (int i = 0; i < scale * scale; ++i) {
      for (int in = 0; in < 3; ++in) weights.push_back(in == 2 - plane ? 1.0F : 0.0F);
    }
  }
  OnnxFile file;
  file.Input("in", {1, 3, open, open}).Conv("in", "planes", 3 * scale * scale, 3, 1, weights);
  file.DepthToSpace("planes", "out", scale).Output("out", {1, 3, open, open});
  return file.Bytes();
}

/// R′G′B′ enlarged by `scale` with nearest neighbour after a mean over 3 × 3 pixels (zeros outside of the picture). The middle
/// layer has `planes` planes; those beyond three only take memory.
inline std::string WideRgbNetwork(int scale, int planes) {
  const std::int64_t open = OnnxFile::kOpen;
  std::vector<float> mean(static_cast<std::size_t>(planes) * 3 * 9);
  for (int plane = 0; plane < 3; ++plane) {
    for (int i = 0; i < 9; ++i) mean[static_cast<std::size_t>(plane * 3 + plane) * 9 + i] = 1.0F / 9;
  }
  std::vector<float> repeat(static_cast<std::size_t>(3) * scale * scale * planes);
  for (int i = 0; i < 3 * scale * scale; ++i) repeat[static_cast<std::size_t>(i) * planes + i / (scale * scale)] = 1;
  OnnxFile file;
  file.Input("x", {1, 3, open, open}).Conv("x", "wide", planes, 3, 3, mean);
  file.Conv("wide", "planes", 3 * scale * scale, planes, 1, repeat);
  file.DepthToSpace("planes", "y", scale).Output("y", {1, 3, open, open});
  return file.Bytes();
}

}  // namespace reelmend::testing
