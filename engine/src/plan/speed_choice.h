// How fast networks are on this machine, by figures that were measured before, and which of them keep an operator's floor.
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
/// The caller measures the installed networks once and passes the figures (ModelFile::ms_per_megapixel, MachineSpeed). Nothing
/// is timed here: a plan made twice from the same figures is the same. A frame takes the time of its network, by the size
/// that the network gets in each pass, and the time of everything else, by the size of the output. Stages overlap, but they share
/// the cores, so their times add up. Pictures that stand still are faster: networks skip what has not changed.
/// On GPUs nothing of this counts.

/// Time of a frame of size `in` that becomes `out`; nothing where the network was not measured.
std::optional<double> FrameTime_ms(const NetworkFit& fit, Size in, Size out, const MachineSpeed& machine);

/// Frames a second that are asked for; 0: no floor. `frame_rate` is that of the video.
double FloorOf(const MachineSpeed& machine, double frame_rate);

struct SpeedChoice {
  std::string model;             ///< the network
  double frames_per_second = 0;  ///< that it gives; 0: not measured
  double floor = 0;              ///< frames a second that are asked for; 0: nothing is
  std::string better;            ///< the best network that falls below the floor; empty: none does
  double better_frames_per_second = 0;

  bool keeps_floor() const { return frames_per_second >= floor; }
};

/// The first of `names` (the best comes first) that keeps the floor, else the fastest; nothing without a floor, or where
/// none of them was measured. Never "none": a plain resize is not what was asked for.
std::optional<SpeedChoice> ChooseBySpeed(const std::vector<ModelFile>& models, const std::vector<std::string>& names, Size in, Size out,
                                         const MachineSpeed& machine, double frame_rate);

/// The names that `auto` may take on a CPU with a floor, the best first.
std::vector<std::string> NamesByQuality(const std::vector<ModelFile>& models, Size in, Size out, const RestorationChoice& restoration);

}  // namespace reelmend::plan
