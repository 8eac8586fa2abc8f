// Speed of networks on this machine, from earlier measurements, and the best network that reaches an operator's floor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/network_choice.h"
#include "plan/restoration_choice.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// Note [Speed of this machine]
/// The caller measures the installed networks once and passes the figures (ModelFile::ms_per_megapixel, MachineSpeed).
/// Nothing is timed here, so the same figures give the same plan. The time of a frame is the time of its network, by its
/// input size in each pass, plus the time of everything else, by the output size. Stages overlap, but they share the cores,
/// so their times add up. Still pictures are faster: networks skip what has not changed. GPUs do not use any of this.

/// The networks for damaged sources that `auto` knows, the best first. Without a minimum speed a CPU takes the last one only.
inline constexpr const char* kNetworksForDamage[] = {"detail-best", "detail-large", "detail"};

/// Time of a frame of size `in` that becomes `out`; nothing if the network was not measured.
std::optional<double> FrameTime_ms(const NetworkFit& fit, Size in, Size out, const MachineSpeed& machine);

/// The required frames a second; 0: no floor. `frame_rate` is that of the video.
double FloorOf(const MachineSpeed& machine, double frame_rate);

struct SpeedChoice {
  std::string model;             ///< the network
  double frames_per_second = 0;  ///< expected; 0: not measured
  double floor = 0;              ///< required frames a second; 0: none
  std::string better;            ///< the best network that is slower than the floor; empty if there is none
  double better_frames_per_second = 0;

  bool keeps_floor() const { return frames_per_second >= floor; }
};

/// The first of `names` (best first) that reaches the floor, else the fastest; nothing without a floor, or if none was
/// measured. Never "none", because a plain resize was not requested.
std::optional<SpeedChoice> ChooseBySpeed(const std::vector<ModelFile>& models, const std::vector<std::string>& names, Size in, Size out,
                                         const MachineSpeed& machine, double frame_rate);

/// The names that `auto` may take on a CPU with a floor, the best first.
std::vector<std::string> NamesByQuality(const std::vector<ModelFile>& models, Size in, Size out, const RestorationChoice& restoration);

}  // namespace reelmend::plan
