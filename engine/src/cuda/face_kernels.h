// Kernels that cut faces out of a picture and blend them back; faces/face_kernel.h has what they share with the CPU.
#pragma once

#include "cuda/launch.h"
#include "cuda/views.h"
#include "faces/face_kernel.h"

namespace reelmend::cuda {

/// faces::AreaWeights in device memory.
struct AreaTaps {
  const int* first = nullptr;
  const float* weights = nullptr;
  int taps = 0;
};

/// Averages a left-sited picture over areas to R′G′B′ in 0…255.
struct FaceReduceKernel {
  Picture in;
  AreaTaps across[2];  ///< of luma and of chroma
  AreaTaps down[2];
  faces::RgbConversion conversion;
  int width = 0;  ///< of the result
  int height = 0;
  float* out = nullptr;  ///< [3, height, width]

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= width || y >= height) return;
    float c[3];
    for (int p = 0; p < 3; ++p) c[p] = Mean(in.planes[p], across[p > 0], down[p > 0], x, y);
    conversion.ToRgb(c);
    for (int p = 0; p < 3; ++p) out[(static_cast<std::ptrdiff_t>(p) * height + y) * width + x] = c[p];
  }

 private:
  REELMEND_HD static float Mean(const Plane& plane, const AreaTaps& columns, const AreaTaps& rows, int x, int y) {
    float sum = 0;
    for (int i = 0; i < rows.taps; ++i) {
      const float* weights = columns.weights + static_cast<std::ptrdiff_t>(x) * columns.taps;
      const std::uint16_t* line = plane.Row(Min(rows.first[y] + i, plane.height - 1));
      float row = 0;
      for (int j = 0; j < columns.taps; ++j) row = Fma(weights[j], line[Min(columns.first[x] + j, plane.width - 1)], row);
      sum = Fma(rows.weights[static_cast<std::ptrdiff_t>(y) * rows.taps + i], row, sum);
    }
    return sum;
  }
};

/// Resamples squares of a picture to R′G′B′ in 0…255.
struct FaceSquareKernel {
  faces::FaceSampler<Plane> in;
  const faces::Similarity* to_picture = nullptr;  ///< one for each square
  int side = 0;
  float* out = nullptr;  ///< [squares, 3, side, side]

  REELMEND_HD void operator()(int x, int y, int z) const {
    if (x >= side || y >= side) return;
    float c[3];
    const faces::Similarity& transform = to_picture[z];
    in.At(transform, in.SamplesPerSide(transform), x, y, c);
    for (int p = 0; p < 3; ++p) out[((static_cast<std::ptrdiff_t>(z) * 3 + p) * side + y) * side + x] = c[p];
  }
};

/// Packs an aligned face: R′G′B′ from −1 to 1.
struct FaceToTensorKernel {
  faces::FaceSampler<Plane> in;
  faces::Similarity to_picture;
  int samples = 1;  ///< FaceSampler::SamplesPerSide
  Tensor out;

  REELMEND_HD void operator()(int x, int y, int) const {
    if (x >= out.width || y >= out.height) return;
    float c[3];
    in.At(to_picture, samples, x, y, c);
    for (int p = 0; p < 3; ++p) out.PlaneAt(p)[static_cast<std::ptrdiff_t>(y) * out.width + x] = ToHalf(c[p] / 127.5F - 1);
  }
};

/// The change of a face: what the network made, less the crop of the finished picture. Both are tensors, so that equal ones have no effect.
struct FaceChangeKernel {
  Tensor crop;
  Tensor made;
  float most = 255;  ///< ModelFile::max_change
  float* out = nullptr;  ///< [3, side, side], in 8-bit levels

  REELMEND_HD void operator()(int x, int y, int p) const {
    if (x >= crop.width || y >= crop.height) return;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(y) * crop.width + x;
    const auto level = [](Half value) { return (FromHalf(value) + 1) * 127.5F; };
    out[static_cast<std::ptrdiff_t>(p) * crop.width * crop.height + at] =
        faces::LimitedChange(level(made.PlaneAt(p)[at]), level(crop.PlaneAt(p)[at]), most);
  }
};

/// Adds the change of a face to the picture, in place; (x, y) counts from the area's corner. z: luma, then both chroma planes.
struct FaceBlendKernel {
  faces::FaceChange change;
  Picture picture;
  faces::Area areas[2];  ///< of luma and of chroma

  REELMEND_HD void operator()(int x, int y, int z) const {
    const int column = areas[z].left + x;
    const int row = areas[z].top + y;
    if (column >= areas[z].right || row >= areas[z].bottom) return;
    const int step_x = z == 0 ? 1 : 1 << picture.log2_x;
    const int step_y = z == 0 ? 1 : 1 << picture.log2_y;
    const faces::Point at = faces::PlaceOf(column, row, step_x, step_y);
    float c[3];
    if (!change.At(at.x, at.y, static_cast<float>(step_x), c)) return;
    for (int p = z == 0 ? 0 : 1; p <= z * 2; ++p) {
      std::uint16_t& sample = picture.planes[p].At(column, row);
      sample = faces::Added(sample, c[p]);
    }
  }
};

}  // namespace reelmend::cuda
