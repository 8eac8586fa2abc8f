// Converts between working samples and the tensors of networks.
#pragma once

#include <memory>

#include "inference/frame_network.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"
#include "reelmend/model.h"

namespace reelmend::cpu {

/// Packs pictures into a network's input and unpacks its output. Values: 0 = black, 1 = white of the picture's range.
/// Values outside (footroom, headroom) are kept as far as working samples hold them; R′G′B′ is clipped.
class TensorConverter {
 public:
  virtual ~TensorConverter() = default;
  /// Subsampling of the pictures that UnpackOutput fills.
  virtual pixel::Subsampling output_subsampling() const = 0;
  /// Called once per picture, before its areas are packed.
  virtual void Prepare(const pixel::Image& image, pixel::ThreadPool& pool) = 0;
  virtual void PackInput(const pixel::Image& image, const inference::InputArea& area, pixel::ThreadPool& pool) = 0;
  virtual void UnpackOutput(const inference::OutputArea& area, pixel::Image& out, pixel::ThreadPool& pool) = 0;
};

/// Whether the converter of a layout supports OutputArea::shuffle.
bool TakesShuffled(ModelFile::Layout layout);

/// kLumaStrength converts plane 0 only. kYcbcrStrength and kRgb convert all planes, with chroma interpolated
/// (Lanczos-3) to luma's resolution. `strength` fills the second plane of layouts that have one.
std::unique_ptr<TensorConverter> MakeTensorConverter(ModelFile::Layout layout, int width, int height,
                                         pixel::Subsampling subsampling, pixel::ColorSpec color, float strength);

}  // namespace reelmend::cpu
