// The network of a plan: which one, on which picture, how strong, and what follows from it for the other stages.
#pragma once

#include <string>
#include <vector>

#include "plan/network_choice.h"
#include "plan/plan.h"
#include "plan/restoration_choice.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"

namespace reelmend::plan {

/// Plans the network and all that depends on it: restoration, working size, strengths behind the network, edges. The plan has its source,
/// output, traits and strengths already. `stored` is the picture's size before rotation.
void PlanNetwork(const EnhanceOptions& options, Size stored, NetworkDevice device, Plan& plan);

/// What a network is chosen for.
struct NetworkTask {
  Size in;   ///< of the stored picture that the network gets
  Size out;  ///< of the output
  NetworkDevice device = NetworkDevice::kCpu;
  RestorationChoice restoration = {};
  double frame_rate = 0;  ///< of the video
};

/// The name of the network that `auto` means:
/// - on a CPU with a minimum speed, the choice of ChooseBySpeed
/// - for a damaged source `detail-best`, `detail-large` (both on a GPU only) or `detail`
/// - otherwise `quality` on a GPU, `fast` on a CPU
/// A name is skipped if no network of that name is installed for these sizes, except `fast`.
std::string AutomaticModel(const std::vector<ModelFile>& models, const NetworkTask& task, const MachineSpeed& machine = {});

/// Name of the network that `options` mean; "none" for the plain filter. `strength`: ChooseNetworkStrength. Throws Error{kUnavailable} if a
/// named network cannot run.
std::string ChooseModel(const EnhanceOptions& options, NetworkTask task, float strength);

/// Note [Edges of damaged sources]
/// A network for damaged sources straightens contours only in part, because it sees a few samples of the small picture, and it
/// leaves chroma nearly as soft and blotched as a plain resize does. So behind it luma is smoothed along its contours
/// (pixel/contours.cc), and chroma gets the edges of luma (pixel/guided_chroma.cc). Not behind a faithful network: its sources have
/// little to straighten, and texture and colours that would suffer. Not without an enlargement of at least 1.5 times: there are no
/// stair-steps.
EdgeRestoration ChooseEdges(const Plan& plan);

}  // namespace reelmend::plan
