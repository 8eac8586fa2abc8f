// The network among the pixel stages.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cpu/tensor_converter.h"
#include "cpu/prepared_networks.h"
#include "inference/frame_network.h"
#include "pixel/image.h"
#include "pixel/thread_pool.h"
#include "plan/network_choice.h"
#include "reelmend/enhance.h"

namespace reelmend::cpu {

struct NetworkStageOptions {
  plan::NetworkFit fit;
  Size in;  ///< of the picture that goes in
  pixel::Subsampling subsampling;
  pixel::ColorSpec color;
  float strength = 0;  ///< of the restoration, 0…1; a second pass has nothing left to restore
  int threads = 1;
  std::function<bool()> is_stopped;
  PreparedNetworks* prepared = nullptr;  ///< networks that fit are taken out of it
};

/// Enlarges or restores pictures with a network, in one or two passes. Submit and Retrieve as in FrameNetwork.
class NetworkStage {
 public:
  /// Throws Error{kInvalidArgument, kUnavailable, kLimitExceeded}.
  explicit NetworkStage(const NetworkStageOptions& options);

  Size output() const;
  /// {0, 0} if the network makes all planes; else it makes luma only.
  pixel::Subsampling output_subsampling() const { return passes_.back().converter->output_subsampling(); }
  bool makes_chroma() const { return output_subsampling() == pixel::Subsampling{0, 0}; }
  int depth() const { return passes_.front().network->depth(); }
  std::string precision() const { return passes_.front().network->precision(); }

  /// `image` must not change until the matching Retrieve.
  void Submit(const pixel::Image& image, pixel::ThreadPool& pool);
  /// Fills luma of `out` (or all planes), a picture of output() and the colour that went in.
  void Retrieve(pixel::Image& out, pixel::ThreadPool& pool);

 private:
  struct Pass {
    std::unique_ptr<inference::FrameNetwork> network;
    std::unique_ptr<TensorConverter> converter;
    pixel::Image between;  ///< what it makes, when another pass follows
  };
  void SubmitPass(Pass& pass, const pixel::Image& image, pixel::ThreadPool& pool);

  std::unique_ptr<inference::Backend> backend_;
  std::vector<Pass> passes_;
};

}  // namespace reelmend::cpu
