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
  Size in;  ///< of the input picture
  pixel::Subsampling subsampling;
  pixel::ColorSpec color;
  float strength = 0;  ///< of the restoration, 0…1, in the first pass; a second pass gets 0
  int threads = 1;
  std::function<bool()> is_stopped;
  PreparedNetworks* prepared = nullptr;  ///< networks that fit are taken from it
  bool reuses = true;                    ///< Note [Still pictures]
};

/// Enlarges or restores pictures with a network, in one or two passes. Submit and Retrieve as in FrameNetwork.
///
/// Note [Still pictures]
/// A sample of a network's output depends only on the input within its halo. In slides, screen recordings and repeated
/// frames most of the input does not change. So the network runs only for the tiles that contain a change (ChangeMap), and
/// the rest of the output is kept from the previous picture. An unchanged picture costs a comparison and two copies. The
/// comparison stops as soon as too much differs, so for camera pictures it costs some microseconds.
/// - No output is kept for pictures that change too much. The first picture of a still stretch goes through the network
///   whole; its output is kept, and the next picture uses it.
/// - Tiles need a network compiled for their size, which takes as long as some frames. It is compiled once it could have
///   been used kWorthCompiling times.
/// - Results must not depend on whether tiles are used, to the bit: segments of a video begin in different states. A
///   convolution computes each sample alike whatever the size of the picture, but no backend promises that, and the halo
///   of a network may be declared too small. So the first kTrials such pictures, and later one in kTrialEvery, run both
///   ways. If the results differ, only unchanged pictures are skipped from then on.
/// - With two passes, only unchanged pictures are skipped.
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
  /// Fills luma of `out` (or all planes). `out` has the size of output() and the colour of the input.
  void Retrieve(pixel::Image& out, pixel::ThreadPool& pool);

  /// Whether MakeTiles is due. It starts threads, so the caller chooses when (device::LibraryThreads::Watch).
  bool wants_tiles() const { return reuse_.may_use_tiles && could_use_tiles_ >= kWorthCompiling && !tiles_; }
  /// Compiles the network for tiles. If that fails, because the file has changed, the stage goes on without tiles.
  void MakeTiles();

  /// What was skipped so far.
  struct Reuse {
    std::int64_t whole = 0;    ///< unchanged pictures
    std::int64_t partial = 0;  ///< pictures with only some of their tiles run
    bool may_use_tiles = true; ///< false: with two passes, or if tiles of this network do not equal the whole
  };
  const Reuse& reuse() const { return reuse_; }

  static constexpr int kWorthCompiling = 8;
  static constexpr int kTrials = 3;
  static constexpr int kTrialEvery = 64;

 private:
  struct Pass {
    std::unique_ptr<inference::FrameNetwork> network;
    std::unique_ptr<TensorConverter> converter;
    pixel::Image between;  ///< its output, if another pass follows
  };
  enum class Method {
    kWhole,         ///< through the network
    kWholeAndKeep,  ///< through the network; the output is kept for the next picture
    kTrial,         ///< the same, and the changed tiles, too, to compare both
    kTiles,         ///< only the changed tiles (none if nothing has changed); the rest is kept output
  };
  /// A picture between Submit and Retrieve.
  struct Submitted {
    const pixel::Image* image = nullptr;
    Method method = Method::kWhole;
    std::vector<int> tiles;  ///< those that differ from the previous picture; for kTrial and kTiles
  };
  inference::FrameNetworkOptions OptionsFor(Size size) const;
  void RunPasses(pixel::Image& out, pixel::ThreadPool& pool);
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
  std::optional<pixel::PictureView> before_;  ///< the last submitted picture
  bool keeps_last_ = false;                   ///< whether its output is or will be in kept_
  pixel::Image kept_;                         ///< the output of the last retrieved picture, if it is kept
  int largest_part_ = 0;                      ///< of a tile
  inference::TilePlan tile_plan_;
  int could_use_tiles_ = 0;
  int trials_ = 0;
  std::unique_ptr<inference::FrameNetwork> tiles_;
  Reuse reuse_;
};

}  // namespace reelmend::cpu
