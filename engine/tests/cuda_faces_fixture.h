// The fixture of tests of faces on the stand-in device, and the stage alone.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cuda/face_stage.h"
#include "cuda/network_source.h"
#include "cuda_network_fixture.h"
#include "faces_pictures.h"

namespace reelmend::cuda::testing {

/// Largest difference of a sample from the CPU's, in 8-bit levels: the network gets and makes fp16.
inline constexpr double kNear = 0.6;

/// The face stage of a device, for pictures in the host's memory.
class StageOnDevice {
 public:
  StageOnDevice(std::shared_ptr<StandInDevice> device, const FaceOptions& options, const pixel::Image& shape)
      : device_(std::move(device)),
        arena_(device_),
        stream_(MakeStream(device_)),
        picture_(arena_.MakePicture(shape.width(), shape.height(), shape.subsampling(), shape.color())),
        state_(arena_.MakeValues<TemporalState>(1)),
        stage_(device_, options, picture_) {}

  void Run(pixel::Image& image, std::int64_t number, bool is_cut, bool is_warm_up = false) {
    TemporalState state{};
    state.is_cut = is_cut ? 1 : 0;
    std::memcpy(state_, &state, sizeof state);  // a stand-in's memory is the host's
    for (int p = 0; p < 3; ++p) CopyRows(image.plane(p), picture_.planes[p], true);
    stage_.Run(picture_, picture_, state_, number, is_warm_up, stream_.get());
    device_->WaitForStream(stream_.get());
    for (int p = 0; p < 3; ++p) CopyRows(image.plane(p), picture_.planes[p], false);
  }
  std::int64_t restored() const { return stage_.restored(); }
  double HelperCpuSeconds() { return stage_.HelperCpuSeconds(); }

 private:
  static void CopyRows(const pixel::Plane& host, const Plane& device, bool is_upload) {
    for (int y = 0; y < host.height; ++y) {
      const auto bytes = static_cast<std::size_t>(host.width) * sizeof(std::uint16_t);
      is_upload ? std::memcpy(device.Row(y), host.Row(y), bytes) : std::memcpy(host.Row(y), device.Row(y), bytes);
    }
  }

  std::shared_ptr<StandInDevice> device_;
  DeviceArena arena_;
  Stream stream_;
  Picture picture_;
  TemporalState* state_;
  FaceStage stage_;
};

class CudaFaces : public CudaNetworkTest {
 protected:
  /// Restores the faces fully and does nothing else.
  static EnhanceOptions FacesAlone() {
    EnhanceOptions options = Options(faces::Shipped(), Target::kSource);
    options.model = "none";
    options.face_restoration = {Strength::Mode::kFixed, 1};
    return options;
  }
  void SetUp() override {
    NEEDS_OPENVINO();
    NEEDS_DETECTOR();
  }

  FaceOptions OptionsOf(const std::shared_ptr<StandInDevice>& device, const ModelFile& model, const pixel::Image& shape, float strength = 1) {
    NetworkSource source(device, std::make_shared<StandInBackend>(device, log_));
    NetworkRequest request;
    request.file = model;
    return source.FacesOf(request, faces::StageOptions(shape, model, strength).finder);
  }

  /// A network with an open size or a weight, as people share them: adds 0.2 × weight to red.
  ModelFile Reddening(std::vector<std::int64_t> weight_shape, std::int64_t side) {
    reelmend::testing::OnnxFile file;
    file.Input("input", {1, 3, side, side}).Input("weight", std::move(weight_shape)).Tensor("red", {1, 3, 1, 1}, {0.2F, 0, 0});
    file.Node("Mul", {"red", "weight"}, "weighted").Node("Add", {"input", "weighted"}, "output").Output("output", {1, 3, side, side});
    const std::string path = folder_.File("reddening.onnx");
    std::ofstream(path, std::ios::binary) << file.Bytes();
    return faces::FaceModel(path);
  }

  std::string PersonClip(double seconds) {
    const std::string file = folder_.File("person.mp4");
    reelmend::testing::Ffmpeg("-loop 1 -framerate 25 -t " + std::to_string(seconds) + " -i " + faces::kPerson +
           " -vf 'scale=250:-2,pad=400:320:(ow-iw)/2:(oh-ih)/2:gray,crop=iw-40:ih-40:20+12*sin(n/11):20+10*sin(n/7)' -c:v libx264 -crf 30 -pix_fmt yuv420p " + file);
    return file;
  }
};

}  // namespace reelmend::cuda::testing
