// A fixture that runs networks written by OnnxFile on pictures of noise.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "inference/frame_network.h"
#include "inference/model_loader.h"
#include "reelmend/error.h"

namespace reelmend::inference {

/// Planes of floats, row by row.
struct Picture {
  int width = 0;
  int height = 0;
  int planes = 1;
  std::vector<float> data;
  float at(int plane, int x, int y) const {
    return data[(static_cast<std::size_t>(plane) * height + y) * width + x];
  }
};

inline Picture Noise(int width, int height, int planes, unsigned seed) {
  Picture picture{width, height, planes, std::vector<float>(static_cast<std::size_t>(width) * height * planes)};
  std::mt19937 random(seed);
  for (float& value : picture.data) value = static_cast<float>(random() >> 8) / static_cast<float>(1 << 24);
  return picture;
}

inline FrameNetwork::PackInput PackFrom(const Picture& picture) {
  return [&picture](const InputArea& area) {
    for (int p = 0; p < picture.planes; ++p) {
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          area.data[(static_cast<std::size_t>(p) * area.height + y) * area.width + x] =
              picture.at(p, std::min(area.x + x, picture.width - 1), std::min(area.y + y, picture.height - 1));
        }
      }
    }
  };
}

/// Index of a sample in the data of an OutputArea.
inline std::int64_t IndexOf(const OutputArea& area, int plane, int x, int y) {
  const int b = area.shuffle;
  plane = plane * b * b + b * (y % b) + x % b;
  return plane * area.plane + std::int64_t{y / b} * area.stride + x / b;
}

inline FrameNetwork::UnpackOutput UnpackInto(Picture& out) {
  return [&out](const OutputArea& area) {
    for (int p = 0; p < out.planes; ++p) {
      for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
          out.data[(static_cast<std::size_t>(p) * out.height + area.y + y) * out.width + area.x + x] =
              area.data[IndexOf(area, p, x, y)];
        }
      }
    }
  };
}

inline constexpr std::int64_t kMuchMemory = 1LL << 32;

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto available = AvailableBackends();
    if (std::find(available.begin(), available.end(), "openvino") == available.end()) {
      GTEST_SKIP() << "This build has no OpenVINO: inference is NOT tested (scripts/setup-openvino).";
    }
    backend_ = CreateBackend("openvino");
    folder_ = std::filesystem::temp_directory_path() / ("reelmend-models-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  ModelFile Save(const std::string& bytes, int scale, int halo, int multiple = 1) {
    ModelFile file;
    file.name = "test";
    file.path = folder_ / ("model" + std::to_string(++files_) + ".onnx");
    std::ofstream(file.path, std::ios::binary) << bytes;
    file.scale = scale;
    file.halo = halo;
    file.multiple = multiple;
    return file;
  }

  Picture Run(const ModelFile& file, const Picture& in, std::int64_t memory = 1LL << 30, int threads = 2,
              int* tiles = nullptr) {
    FrameNetwork network(*backend_, file, {in.width, in.height, threads, memory, {}});
    if (tiles != nullptr) *tiles = static_cast<int>(network.tiles().tiles.size());
    Picture out{network.output_width(), network.output_height(), OutputPlanes(file.layout), {}};
    out.data.assign(static_cast<std::size_t>(out.width) * out.height * out.planes, -1.0F);
    network.Submit(PackFrom(in));
    network.Retrieve(UnpackInto(out));
    return out;
  }

  /// Runs a network that leaves its last shuffle to the reader, in one tile unless `memory` is short, and expects the same as without.
  void ExpectTheSameShuffled(const ModelFile& file, const Picture& in, int shuffle, std::int64_t memory) {
    const Picture plain = Run(file, in, memory);
    FrameNetwork network(*backend_, file, {in.width, in.height, 2, memory, {}, true});
    EXPECT_EQ(network.tiles().tiles.size() > 1, memory < kMuchMemory);
    Picture out{network.output_width(), network.output_height(), plain.planes, std::vector<float>(plain.data.size(), -1.0F)};
    std::set<int> shuffles;
    network.Submit(PackFrom(in));
    network.Retrieve([&](const OutputArea& area) {
      shuffles.insert(area.shuffle);
      UnpackInto(out)(area);
    });
    EXPECT_EQ(shuffles, std::set<int>{shuffle});
    EXPECT_EQ(out.data, plain.data);
  }

  std::string Refusal(const ModelFile& file) {
    try {
      LoadModel(*backend_, file)->Compile({{InputPlanes(file.layout), 64, 64}, 1, 1, false});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "the file was accepted";
    return "";
  }

  std::unique_ptr<Backend> backend_;
  std::filesystem::path folder_;
  int files_ = 0;
};

}  // namespace reelmend::inference
