// Makes the kernels of faces for a picture and a face in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "cuda/device_arena.h"
#include "cuda/kernels.h"
#include "faces/sampling.h"
#include "reelmend/enhance.h"

namespace reelmend::cuda {

/// `black_outside`: else edges are repeated.
inline faces::FaceSampler<Plane> SamplerOf(const Picture& picture, bool black_outside) {
  faces::FaceSampler<Plane> sampler;
  std::copy(std::begin(picture.planes), std::end(picture.planes), std::begin(sampler.planes));
  sampler.chroma = faces::PlacementOf(picture.subsampling(), picture.color);
  sampler.conversion = faces::RgbConversion(picture.color);
  sampler.black_outside = black_outside;
  return sampler;
}

/// Cuts an aligned face out of a picture. The transform leads to a picture of size `whole`, of which `picture` may be a smaller or
/// larger version.
inline FaceToTensorKernel MakeFaceToTensor(const Picture& picture, Size whole, const faces::Similarity& transform, const Tensor& out) {
  FaceToTensorKernel pack{SamplerOf(picture, false), transform, 1, out};
  pack.in.scale_x = static_cast<float>(picture.width()) / static_cast<float>(whole.width);
  pack.in.scale_y = static_cast<float>(picture.height()) / static_cast<float>(whole.height);
  pack.samples = pack.in.SamplesPerSide(transform);
  return pack;
}

/// For pictures of that shape; `in` and `out` remain to be set.
inline FaceReduceKernel MakeReduce(DeviceArena& arena, const Picture& shape, Size reduced) {
  const auto send = [&](int from, int to) {
    const faces::AreaWeights weights(from, to);
    return AreaTaps{arena.Send(weights.first), arena.Send(weights.weights), weights.taps};
  };
  FaceReduceKernel reduce;
  for (int i = 0; i < 2 && reduced.width > 0; ++i) {
    reduce.across[i] = send(shape.planes[i].width, reduced.width);
    reduce.down[i] = send(shape.planes[i].height, reduced.height);
  }
  reduce.conversion = faces::RgbConversion(shape.color);
  reduce.width = reduced.width;
  reduce.height = reduced.height;
  return reduce;
}

/// `change`: [3, side, side].
inline FaceBlendKernel MakeBlend(const Picture& picture, const faces::Similarity& to_crop, int side, const float* change, float strength) {
  FaceBlendKernel blend;
  for (int p = 0; p < 3; ++p) blend.change.planes[p] = change + static_cast<std::ptrdiff_t>(p) * side * side;
  blend.change.side = side;
  blend.change.to_crop = to_crop;
  blend.change.samples = faces::SamplesPerSide(to_crop.scale());
  blend.change.strength = strength;
  blend.change.conversion = faces::RgbConversion(picture.color);
  blend.picture = picture;
  const faces::Area whole = faces::AreaOf(to_crop.Inverse(), side, picture.width(), picture.height());
  const Plane& chroma = picture.planes[1];
  blend.areas[0] = whole;
  blend.areas[1] = faces::OfPlane(whole, 1 << picture.log2_x, 1 << picture.log2_y, chroma.width, chroma.height);
  return blend;
}

inline Extent ExtentOf(const FaceBlendKernel& blend) {
  const faces::Area& luma = blend.areas[0];
  return {std::max(0, luma.right - luma.left), std::max(0, luma.bottom - luma.top), 2};
}

}  // namespace reelmend::cuda
