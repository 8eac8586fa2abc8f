#include "cuda/face_stage.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "cuda/enqueue.h"
#include "cuda/face_calls.h"
#include "faces/face_picture.h"

namespace reelmend::cuda {

/// A picture on the device, as the detector sees it. Only the constructor allocates.
class FaceStage::SearchedPicture : public faces::FacePicture {
 public:
  SearchedPicture(const std::shared_ptr<Device>& device, const Picture& shape, Size reduced)
      : arena_(device),
        most_floats_(3 * std::max(static_cast<std::size_t>(reduced.width) * reduced.height, kMostInCrops)),
        values_(MakePinnedMemory(device, most_floats_ * sizeof(float))),
        transforms_(MakePinnedMemory(device, kMostSquares * sizeof(faces::Similarity))),
        reduce_(MakeReduce(arena_, shape, reduced)) {
    device_values_ = static_cast<float*>(arena_.Make(most_floats_ * sizeof(float)));
    device_transforms_ = static_cast<faces::Similarity*>(arena_.Make(kMostSquares * sizeof(faces::Similarity)));
  }

  /// What the next calls look at.
  void Set(const Picture& picture, StreamHandle stream) {
    picture_ = picture;
    stream_ = stream;
  }

  void Reduce(faces::RgbPicture& out) override {
    reduce_.in = picture_;
    reduce_.out = device_values_;
    Enqueue(device(), reduce_, {out.width, out.height, 1}, stream_);
    Fetch({&out, 1});
  }

  void Crop(std::span<const faces::Box> squares, std::span<faces::RgbPicture> out) override {
    auto* transforms = static_cast<faces::Similarity*>(transforms_.get());
    for (std::size_t i = 0; i < squares.size(); ++i) transforms[i] = faces::ToSquare(squares[i], out[i].width);
    CopyBytes(device(), device_transforms_, transforms, squares.size() * sizeof(faces::Similarity), stream_);
    const int side = out.front().width;
    const FaceSquareKernel crop{SamplerOf(picture_, true), device_transforms_, side, device_values_};
    Enqueue(device(), crop, {side, side, static_cast<int>(squares.size())}, stream_);
    Fetch(out);
  }

 private:
  static constexpr std::size_t kMostSquares = faces::kRefineBatch;
  static constexpr std::size_t kMostInCrops = kMostSquares * 48 * 48;  ///< samples of a plane

  Device& device() { return *arena_.device(); }

  /// Waits for the kernel, whose results lie one after the other.
  void Fetch(std::span<faces::RgbPicture> out) {
    std::size_t count = 0;
    for (const faces::RgbPicture& picture : out) count += 3 * picture.planes[0].size();
    CopyBytes(device(), values_.get(), device_values_, count * sizeof(float), stream_);
    device().WaitForStream(stream_);
    const auto* values = static_cast<const float*>(values_.get());
    for (faces::RgbPicture& picture : out) {
      for (auto& plane : picture.planes) {
        std::copy_n(values, plane.size(), plane.data());
        values += plane.size();
      }
    }
  }

  DeviceArena arena_;
  std::size_t most_floats_;
  PinnedMemory values_;
  PinnedMemory transforms_;
  FaceReduceKernel reduce_;
  float* device_values_ = nullptr;
  faces::Similarity* device_transforms_ = nullptr;
  Picture picture_;
  StreamHandle stream_;
};

FaceStage::FaceStage(std::shared_ptr<Device> device, const FaceOptions& options, const Picture& shape)
    : options_(options),
      arena_(device),
      pool_(options.finder->options().threads),
      searched_(std::make_unique<SearchedPicture>(device, shape, options.finder->searched_size())),
      is_cut_(MakePinnedMemory(device, sizeof(int))),
      crop_(options.network->crop()),
      change_(static_cast<float*>(arena_.Make(static_cast<std::size_t>(3 * crop_.plane_samples()) * sizeof(float)))) {
  crop_.data = static_cast<Half*>(arena_.MakeCleared(static_cast<std::size_t>(3 * crop_.plane_samples()) * sizeof(Half)));
}

FaceStage::~FaceStage() = default;

bool FaceStage::IsCut(const TemporalState* state, StreamHandle stream) {
  CopyBytes(*arena_.device(), is_cut_.get(), &state->is_cut, sizeof state->is_cut, stream);
  arena_.device()->WaitForStream(stream);
  int is_cut = 0;
  std::memcpy(&is_cut, is_cut_.get(), sizeof is_cut);
  return is_cut != 0;
}

void FaceStage::Run(const Picture& picture, const Picture& source, const TemporalState* state, std::int64_t number, bool is_warm_up, StreamHandle stream) {
  const bool is_cut = IsCut(state, stream);
  searched_->Set(picture, stream);
  const std::vector<faces::FoundFace> found = options_.finder->Find(*searched_, number, is_cut, pool_);
  if (is_warm_up) return;
  for (const faces::FoundFace& face : found) Restore(picture, source, face, stream);
  restored_ += static_cast<std::int64_t>(found.size());
}

void FaceStage::Restore(const Picture& picture, const Picture& source, const faces::FoundFace& face, StreamHandle stream) {
  Device& device = *arena_.device();
  FaceNetworkRunner& network = *options_.network;
  const int side = network.crop().width;
  const auto to_crop = faces::ToCrop(face.points, side);
  if (!to_crop) return;
  const faces::Similarity to_picture = to_crop->Inverse();
  const Size whole{picture.width(), picture.height()};
  Enqueue(device, MakeFaceToTensor(source, whole, to_picture, network.crop()), {side, side, 1}, stream);
  network.Run(stream);
  Enqueue(device, MakeFaceToTensor(picture, whole, to_picture, crop_), {side, side, 1}, stream);
  Enqueue(device, FaceChangeKernel{crop_, network.made(), options_.max_change, change_}, {side, side, 3}, stream);
  const FaceBlendKernel blend = MakeBlend(picture, *to_crop, side, change_, face.strength);
  Enqueue(device, blend, ExtentOf(blend), stream);
}

}  // namespace reelmend::cuda
