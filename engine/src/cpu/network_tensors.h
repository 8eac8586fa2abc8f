// Between working samples and the tensors of networks.
#pragma once

#include <memory>

#include "inference/frame_network.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"
#include "reelmend/model.h"

namespace reelmend::cpu {

/// One picture's way into a network and out of it. Values: 0 = black, 1 = white of the picture's range; what lies
/// outside (footroom, headroom) goes in and comes out as it is, as far as working samples hold it; of R′G′B′ nothing does.
class TensorBridge {
 public:
  virtual ~TensorBridge() = default;
  /// Subsampling of the pictures that Take fills.
  virtual pixel::Subsampling output_subsampling() const = 0;
  /// Called once a picture, before its areas are filled.
  virtual void Prepare(const pixel::Image& image, pixel::ThreadPool& pool) = 0;
  virtual void Fill(const pixel::Image& image, const inference::InputArea& area, pixel::ThreadPool& pool) = 0;
  virtual void Take(const inference::OutputArea& area, pixel::Image& out, pixel::ThreadPool& pool) = 0;
};

/// Whether the bridge of a layout knows OutputArea::shuffle.
bool TakesShuffled(ModelFile::Layout layout);

/// Layout kLumaStrength reads and writes plane 0 alone; kYcbcrStrength and kRgb all planes, chroma being interpolated
/// (Lanczos-3) to luma's grid on the way in. `strength` fills the second plane of the layouts that have one.
std::unique_ptr<TensorBridge> MakeBridge(ModelFile::Layout layout, int width, int height,
                                         pixel::Subsampling subsampling, pixel::ColorSpec color, float strength);

}  // namespace reelmend::cpu
