// The network among the pixel stages.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/tensor_converter.h"
#include "cpu/prepared_networks.h"
#include "inference/frame_network.h"
#include "pixel/change_map.h"
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
  bool reuses = true;                    ///< Note [Pictures that stay]
};

/// Enlarges or restores pictures with a network, in one or two passes. Submit and Retrieve as in FrameNetwork.
///
/// Note [Pictures that stay]
/// A sample of a network's output depends on the input within its halo only. In slides, screen recordings and repeated
/// frames most of that is what it was in the picture before, so the network runs for the tiles alone that see a change
/// (ChangeMap), and the rest of its output is kept from the picture before. A picture that is wholly the same costs a
/// comparison and two copies; one that differs all over, as all do that a camera took, costs the comparison up to where
/// that is clear: some microseconds.
/// - Nothing is kept of pictures that differ. The first picture of a still stretch goes through the network whole, its
///   output is kept, and the next one uses it.
/// - Tiles need a network compiled for their size, which takes as long as some frames. It is made when it would have been
///   of use kWorthCompiling times.
/// - Results must not depend on whether tiles are used, to the bit: segments of a video begin in different states. The
///   arithmetic of a convolution is the same for each sample, whatever the size of the picture, but nobody promises that. So
///   the first kTrials such pictures go through both, and one in kTrialEvery later on, for networks whose halo was stated too
///   small. If they differ, only pictures that are wholly the same are spared from then on.
/// - With two passes only pictures that are wholly the same are spared.
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

  /// `image` must not change until the matching Retrieve, nor until the next Submit.
  void Submit(const pixel::Image& image, pixel::ThreadPool& pool);
  /// Fills luma of `out` (or all planes), a picture of output() and the colour that went in.
  void Retrieve(pixel::Image& out, pixel::ThreadPool& pool);

  /// Whether MakeTiles is due. It starts threads, so the caller says when (device::LibraryThreads::Watch).
  bool wants_tiles() const { return reuse_.may_use_tiles && could_use_tiles_ >= kWorthCompiling && !tiles_; }
  /// Goes on without tiles where they cannot be made, because the file is not what it was.
  void MakeTiles();

  /// What was spared so far.
  struct Reuse {
    std::int64_t whole = 0;    ///< pictures that were the same as the one before
    std::int64_t partial = 0;  ///< pictures of which some tiles were made
    bool may_use_tiles = true; ///< false: with two passes, or where the tiles of this network differ from the whole
  };
  const Reuse& reuse() const { return reuse_; }

  static constexpr int kWorthCompiling = 8;
  static constexpr int kTrials = 3;
  static constexpr int kTrialEvery = 64;

 private:
  struct Pass {
    std::unique_ptr<inference::FrameNetwork> network;
    std::unique_ptr<TensorConverter> converter;
    pixel::Image between;  ///< what it makes, when another pass follows
  };
  /// A picture between Submit and Retrieve.
  struct Submitted {
    const pixel::Image* image = nullptr;
    bool is_whole = true;     ///< it goes through the network whole
    bool is_kept = false;     ///< its output is kept for the next one
    std::vector<int> tiles;   ///< those that differ from the picture before, if that is known
  };
  void SubmitPass(Pass& pass, const pixel::Image& image, pixel::ThreadPool& pool);
  void PlanTiles();
  Submitted Compare(const pixel::Image& image);
  std::optional<std::vector<int>> ChangedTiles() const;
  void RunTiles(const Submitted& submitted, pixel::ThreadPool& pool);
  void TryTiles(const Submitted& submitted, const pixel::Image& whole, pixel::ThreadPool& pool);
  void Copy(const pixel::Image& from, pixel::Image& to, pixel::ThreadPool& pool) const;
  bool IsKept(const pixel::Image& made) const;

  NetworkStageOptions options_;
  std::unique_ptr<inference::Backend> backend_;
  std::vector<Pass> passes_;

  pixel::ChangeMap changes_;
  std::deque<Submitted> submitted_;
  std::optional<pixel::PictureView> before_;  ///< the picture submitted last
  bool keeps_last_ = false;                   ///< Submitted::is_kept of that one
  pixel::Image kept_;                         ///< the output of the picture retrieved last, if that is kept
  int largest_part_ = 0;                      ///< of a tile
  inference::TilePlan tile_plan_;
  int could_use_tiles_ = 0;
  int trials_ = 0;
  std::unique_ptr<inference::FrameNetwork> tiles_;
  Reuse reuse_;
};

}  // namespace reelmend::cpu
