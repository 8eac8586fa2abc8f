// The kernels of faces against the same work on the CPU. They need neither a detector nor a network.
#include "cuda_twins.h"

#include "cuda/enqueue.h"
#include "cuda/face_calls.h"
#include "faces/face_picture.h"
#include "faces/restorer.h"

namespace reelmend::cuda {
namespace {

using faces::RgbPicture;
using faces::Similarity;

/// A picture in device memory, and results from there.
class OnDevice {
 public:
  explicit OnDevice(const Image& image)
      : device_(TestDevice()),
        arena(device_),
        stream(MakeStream(device_)),
        picture(arena.MakePicture(image.width(), image.height(), image.subsampling(), image.color())) {
    for (int p = 0; p < 3; ++p) {
      const pixel::ConstPlane from = image.plane(p);
      Copy(picture.planes[p].data, picture.planes[p].stride, from.data, from.stride, from.width, from.height);
    }
  }

  /// Runs a kernel on an output of so many values, and returns them.
  template <typename T, typename K>
  std::vector<T> Values(K kernel, T* K::*out, std::size_t count, Extent extent) {
    T* memory = static_cast<T*>(arena.MakeCleared(count * sizeof(T)));
    kernel.*out = memory;
    Enqueue(*device_, kernel, extent, stream.get());
    return Fetch(memory, count);
  }
  template <typename T>
  std::vector<T> Fetch(const T* memory, std::size_t count) {
    std::vector<T> values(count);
    CopyBytes(*device_, values.data(), memory, count * sizeof(T), stream.get());
    device_->WaitForStream(stream.get());
    return values;
  }
  Image Picture() {
    Image image(picture.width(), picture.height(), picture.subsampling(), picture.color);
    for (int p = 0; p < 3; ++p) {
      const pixel::Plane to = image.plane(p);
      Copy(to.data, to.stride, picture.planes[p].data, picture.planes[p].stride, to.width, to.height);
    }
    return image;
  }
  template <typename K>
  void Run(const K& kernel, Extent extent) {
    Enqueue(*device_, kernel, extent, stream.get());
  }

 private:
  void Copy(std::uint16_t* to, std::ptrdiff_t to_stride, const std::uint16_t* from, std::ptrdiff_t from_stride, int width, int height) {
    device_->CopyAsync({to, to_stride * 2, from, from_stride * 2, static_cast<std::size_t>(width) * 2, static_cast<std::size_t>(height)}, stream.get());
    device_->WaitForStream(stream.get());
  }

  std::shared_ptr<Device> device_;

 public:
  DeviceArena arena;
  Stream stream;
  cuda::Picture picture;
};

struct Shape {
  PictureSize size;
  pixel::Subsampling subsampling;
  pixel::ColorSpec color;
};
const Shape kShapes[] = {{{162, 90}, {1, 1}, {}},
                         {{121, 75}, {1, 1}, {pixel::Matrix::kBt601, pixel::Range::kFull}},
                         {{97, 64}, {1, 0}, {pixel::Matrix::kBt2020}},
                         {{64, 49}, {0, 0}, {}},
                         {{13, 12}, {1, 1}, {}}};

Image PictureOf(const Shape& shape) {
  return pixel::testing::RandomPicture(shape.size, shape.subsampling, 5, shape.color);
}

std::size_t Samples(const RgbPicture& picture) { return picture.planes[0].size(); }

/// `values`: three planes.
void ExpectNear(const std::vector<float>& values, const RgbPicture& expected, std::size_t first = 0) {
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < Samples(expected); ++i) {
      ASSERT_NEAR(values[first + p * Samples(expected) + i], expected.planes[p][i], 0.02) << "plane " << p << ", sample " << i;
    }
  }
}

TEST(CudaStages, ReductionsForTheSearchOfFacesAgree) {
  pixel::ThreadPool pool(1);
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(pixel::testing::Name(shape.size));
    const Image image = PictureOf(shape);
    for (const double ratio : {1.0, 2.0, 3.7}) {
      RgbPicture expected(std::max(1, static_cast<int>(shape.size.width / ratio)), std::max(1, static_cast<int>(shape.size.height / ratio)));
      faces::ReduceToRgb(image, expected, pool);
      OnDevice on(image);
      FaceReduceKernel reduce = MakeReduce(on.arena, on.picture, {expected.width, expected.height});
      reduce.in = on.picture;
      ExpectNear(on.Values(reduce, &FaceReduceKernel::out, 3 * Samples(expected), {expected.width, expected.height, 1}), expected);
    }
  }
}

/// Squares inside, at the edges and outside of the picture, smaller and larger than their crops.
TEST(CudaStages, SquaresThatMayHoldFacesAgree) {
  constexpr int kSide = 24;
  const std::vector<faces::Box> squares = {{10, 8, 34, 32}, {-20, -11, 40, 49}, {50, 30, 61.5F, 41.5F}, {-500, -500, -400, -400}, {-30, -30, 170, 170}};
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(pixel::testing::Name(shape.size));
    const Image image = PictureOf(shape);
    OnDevice on(image);
    std::vector<Similarity> transforms;
    for (const faces::Box& square : squares) transforms.push_back(faces::ToSquare(square, kSide));
    const FaceSquareKernel kernel{SamplerOf(on.picture, true), on.arena.Send(transforms), kSide, nullptr};
    const int count = static_cast<int>(squares.size());
    const auto values = on.Values(kernel, &FaceSquareKernel::out, squares.size() * 3 * kSide * kSide, {kSide, kSide, count});
    for (std::size_t i = 0; i < squares.size(); ++i) {
      RgbPicture expected(kSide, kSide);
      faces::Sample(image, transforms[i], true, expected);
      ExpectNear(values, expected, i * 3 * kSide * kSide);
    }
  }
}

/// From the picture to crops: turned, in the middle, over an edge, of faces smaller and larger than the crop.
const Similarity kToCrops[] = {{0.6F, 0.1F, 3, -4}, {2.3F, -0.5F, -40, 10}, {0.21F, 0, 12, 20}, {1, 0, -100, -50}};

TEST(CudaStages, CropsOfFacesAndTheirChangesAgree) {
  constexpr int kSide = 48;
  constexpr std::size_t kSamples = std::size_t{kSide} * kSide;
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(pixel::testing::Name(shape.size));
    const Image image = PictureOf(shape);
    for (const Similarity& to_crop : kToCrops) {
      const Similarity to_picture = to_crop.Inverse();
      RgbPicture expected(kSide, kSide);
      faces::Sample(image, to_picture, false, expected);
      OnDevice on(image);
      auto* halves = static_cast<Half*>(on.arena.MakeCleared(3 * kSamples * sizeof(Half)));
      const Tensor crop{halves, 3, kSide, kSide};
      on.Run(MakeFaceToTensor(on.picture, {image.width(), image.height()}, to_picture, crop), {kSide, kSide, 1});
      const auto packed = on.Fetch(halves, 3 * kSamples);
      for (std::size_t p = 0; p < 3; ++p) {
        for (std::size_t i = 0; i < kSamples; ++i) {
          ASSERT_NEAR((FromHalf(packed[p * kSamples + i]) + 1) * 127.5F, expected.planes[p][i], 0.08);
        }
      }
      // The network's result: brighter, darker, out of range, not a number.
      std::vector<Half> made(3 * kSamples);
      for (std::size_t i = 0; i < made.size(); ++i) {
        const float change = i % 5 == 4 ? std::numeric_limits<float>::quiet_NaN() : 0.4F * static_cast<float>(static_cast<int>(i % 5) - 2);
        made[i] = ToHalf(FromHalf(packed[i]) + change);
      }
      const Tensor result{const_cast<Half*>(on.arena.Send(made)), 3, kSide, kSide};
      constexpr float kMost = 32;
      const auto changes = on.Values(FaceChangeKernel{crop, result, kMost, nullptr}, &FaceChangeKernel::out, 3 * kSamples, {kSide, kSide, 3});
      const auto level = [](Half half) { return (FromHalf(half) + 1) * 127.5F; };
      for (std::size_t i = 0; i < changes.size(); ++i) {
        ASSERT_NEAR(changes[i], faces::LimitedChange(level(made[i]), level(packed[i]), kMost), 0.001) << i;
        ASSERT_LE(std::abs(changes[i]), kMost);
      }
    }
  }
}

/// The faces of a picture, cut out of its source of another size.
TEST(CudaStages, CropsOfTheSourceAgree) {
  constexpr int kSide = 48;
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(pixel::testing::Name(shape.size));
    const Image source = PictureOf(shape);
    for (const Size whole : {Size{source.width() * 3, source.height() * 2}, Size{(source.width() + 1) / 2, source.height()}}) {
      const Similarity to_picture = Similarity{0.6F, 0.1F, 3, -4}.Inverse();
      RgbPicture expected(kSide, kSide);
      faces::SampleScaled(source, whole, to_picture, expected);
      OnDevice on(source);
      auto* halves = static_cast<Half*>(on.arena.MakeCleared(std::size_t{3} * kSide * kSide * sizeof(Half)));
      on.Run(MakeFaceToTensor(on.picture, whole, to_picture, {halves, 3, kSide, kSide}), {kSide, kSide, 1});
      const auto packed = on.Fetch(halves, std::size_t{3} * kSide * kSide);
      for (std::size_t i = 0; i < packed.size(); ++i) {
        ASSERT_NEAR((FromHalf(packed[i]) + 1) * 127.5F, expected.planes[i / (kSide * kSide)][i % (kSide * kSide)], 0.08) << i;
      }
    }
  }
}

TEST(CudaStages, BlendsOfFacesAgree) {
  constexpr int kSide = 48;
  std::mt19937 random(3);
  std::vector<float> changes(std::size_t{3} * kSide * kSide);
  for (float& change : changes) change = std::uniform_real_distribution<float>(-60, 60)(random);
  pixel::ThreadPool pool(1);
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(pixel::testing::Name(shape.size));
    for (const Similarity& to_crop : kToCrops) {
      Image expected = PictureOf(shape);
      OnDevice on(expected);
      FaceBlendKernel blend = MakeBlend(on.picture, to_crop, kSide, on.arena.Send(changes), 0.8F);
      on.Run(blend, ExtentOf(blend));
      faces::FaceChange change = blend.change;
      for (int p = 0; p < 3; ++p) change.planes[p] = changes.data() + static_cast<std::ptrdiff_t>(p) * kSide * kSide;
      faces::Blend(expected, change, pool);
      const Image made = on.Picture();
      EXPECT_LE(pixel::testing::MaxDifference(made, expected), 2) << "in 1/256 of a level";
    }
  }
}

}  // namespace
}  // namespace reelmend::cuda
