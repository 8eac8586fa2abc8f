// The fixture of tests of networks on the stand-in device: clips, models, options, processors.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cuda/cuda_processor.h"
#include "cuda_network_standin.h"
#include "device/processor.h"
#include "helpers/clips.h"
#include "helpers/networks.h"
#include "helpers/test_paths.h"
#include "helpers/onnx_file.h"
#include "inference/engine_cache.h"
#include "inference/gpu_model.h"

namespace reelmend::cuda::testing {

using reelmend::testing::FileExists;
using reelmend::testing::Ffmpeg;
using reelmend::testing::OnnxFile;
using reelmend::testing::PlainOptions;
using reelmend::testing::TemporaryFolder;
using reelmend::testing::ToneInput;
using reelmend::testing::VideoInput;

inline constexpr std::int64_t kOpen = OnnxFile::kOpen;

class CudaNetworkTest : public ::testing::Test {
 protected:
  /// The stand-in backend needs OpenVINO, which builds with sanitizers do not have.
  void SetUp() override { NEEDS_OPENVINO(); }

  std::string Clip(const std::string& size = "160x90", double seconds = 0.48) {
    const std::string file = folder_.File("in-" + size + "-" + std::to_string(seconds) + ".mp4");
    if (!FileExists(file))
      Ffmpeg(VideoInput(size, seconds) + " " + ToneInput(seconds) + " -c:v libx264 -crf 12 -pix_fmt yuv420p -c:a aac " + file);
    return file;
  }

  static ModelFile Fast() {
    ModelFile file;
    file.name = "fast";
    file.path = test_paths::SourceDir() + "/models/fast-x2.onnx";
    file.multiple = 2;
    file.halo = 12;
    return file;
  }

  ModelFile Save(const std::string& name, int scale, ModelFile::Layout layout, const std::string& bytes) {
    ModelFile file;
    file.name = name;
    file.scale = scale;
    file.layout = layout;
    file.halo = 1;
    file.path = folder_.File(name + ".onnx");
    std::ofstream(file.path, std::ios::binary) << bytes;
    return file;
  }

  /// An R′G′B′ ×2 network that repeats pixels and scales all planes by 0.9.
  ModelFile Rgb() {
    std::vector<float> weights(12 * 3, 0.0F);
    for (int out = 0; out < 12; ++out) weights[static_cast<std::size_t>(out) * 3 + out / 4] = 0.9F;
    return Save("rgb", 2, ModelFile::Layout::kRgb,
                OnnxFile().Input("x", {1, 3, kOpen, kOpen}).Conv("x", "c", 12, 3, 1, weights).DepthToSpace("c", "y", 2)
                    .Output("y", {1, 3, kOpen, kOpen}).Bytes());
  }

  /// A Y′CbCr ×2 network that repeats pixels, swaps Cb and Cr, scales them by 0.8, and adds 0.1 × strength to luma.
  ModelFile Ycbcr() {
    return Save("ycbcr", 2, ModelFile::Layout::kYcbcrStrength, reelmend::testing::SwappedChromaNetwork(2, 0.8F, 0.1F));
  }

  static EnhanceOptions Options(const ModelFile& model, Target target = Target::k1080p) {
    EnhanceOptions options = PlainOptions();
    options.model = model.name;
    options.models = {model};
    options.target = target;
    options.encoder.crf = 8;
    options.threads = 2;
    return options;
  }

  std::unique_ptr<device::Processor> ProcessorOn(const std::shared_ptr<StandInDevice>& device) {
    return MakeProcessor(device, MakeStream(device), nullptr, std::make_shared<StandInBackend>(device, log_));
  }

  static std::shared_ptr<StandInDevice> Late(int delay_us = 400, std::size_t memory = std::size_t{1} << 30) {
    StandInOptions options;
    options.longest_delay_us = delay_us;
    options.memory_bytes = memory;
    return std::make_shared<StandInDevice>(options);
  }

  std::shared_ptr<inference::GpuModel> Load(const std::shared_ptr<StandInDevice>& device, const ModelFile& file, const std::string& engines,
                                            const std::string& gpu = "stand-in") {
    const DeviceFacts& facts = device->facts();
    return std::make_shared<inference::GpuModel>(std::make_shared<StandInBackend>(device, log_), file,
                                                 inference::TargetGpu{{facts.compute_major, facts.compute_minor}, gpu}, inference::EngineCache(engines));
  }

  TemporaryFolder folder_;
  std::shared_ptr<NetworkLog> log_ = std::make_shared<NetworkLog>();
};

}  // namespace reelmend::cuda::testing
