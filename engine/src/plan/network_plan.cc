#include "plan/network_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "inference/backend.h"
#include "inference/model_loader.h"
#include "plan/speed_choice.h"
#include "reelmend/error.h"

namespace reelmend::plan {
namespace {

NetworkTask TaskOf(const Plan& plan, Size in, NetworkDevice device) {
  return {in, plan.output, device, plan.restoration, av_q2d(plan.frame_rate)};
}

/// Whether a network for damaged sources would serve this size, however long it takes.
bool IsServedBlind(const EnhanceOptions& options, Size in, const Plan& plan) {
  if (options.model != "auto") return false;
  const auto best = FitNetwork(options.models, NamesByQuality(options.models, in, plan.output, plan.restoration).front(), in, plan.output);
  return best && best->file.is_blind;
}

/// The size that the network gets, Note [Working size]; `size` is that of the upright source.
Size PlanWorkingSize(const EnhanceOptions& options, Size size, float strength, NetworkDevice device, Plan& plan) {
  if (plan.restoration.working_share >= 1 || Resolve(options.denoise, 1) <= 0) return size;
  const auto fit = [&](Size in) {
    const std::string model = ChooseModel(options, TaskOf(plan, in, device), strength);
    return FitNetwork(options.models, model, in, plan.output, device);  // nothing for "none"
  };
  const auto for_nominal_size = fit(size);
  if (for_nominal_size && for_nominal_size->file.is_blind) return size;
  const Size working = WorkingSize(size, plan.restoration.working_share);
  // At this size the floor of speed has ruled that one out. It would keep the floor at the smaller size, which it is not made for.
  if (IsServedBlind(options, size, plan)) plan.restoration.strength = 0;
  if (!fit(working)) return size;
  plan.working_share = plan.restoration.working_share;
  return working;
}

/// Expected speed of the chosen network here; `in` is the size that it gets.
SpeedChoice ExpectedSpeed(const EnhanceOptions& options, Size in, const Plan& plan) {
  const double rate = av_q2d(plan.frame_rate);
  SpeedChoice expected{plan.model, 0, FloorOf(options.machine, rate), "", 0};
  const auto fit = FitNetwork(plan.models, plan.model, in, plan.output);
  const auto time_ms = fit ? FrameTime_ms(*fit, in, plan.output, options.machine) : std::nullopt;
  if (time_ms) expected.frames_per_second = 1000 / *time_ms;
  if (options.model != "auto") return expected;
  const RestorationChoice wanted = Resolve(options.denoise, 1) > 0 ? plan.restoration : RestorationChoice{};
  const auto names = NamesByQuality(options.models, in, plan.output, wanted);
  const auto chosen = ChooseBySpeed(options.models, names, in, plan.output, options.machine, rate);
  return chosen && chosen->model == plan.model ? *chosen : expected;
}

}  // namespace

void PlanNetwork(const EnhanceOptions& options, Size stored, NetworkDevice device, Plan& plan) {
  constexpr float kSharpenAfterNetwork = 0.4F;  // the network's output is sharp already
  if (plan.orientation.transpose) std::swap(stored.width, stored.height);
  float strength = ChooseNetworkStrength(options, plan.traits);
  Damage damage = DamageOf(plan.traits);
  damage.lines = std::min(stored.width, stored.height);
  damage.keeps_size = !IsEnlarged(stored, plan.output);
  plan.restoration = ChooseRestoration(damage);
  stored = PlanWorkingSize(options, stored, strength, device, plan);
  plan.model = ChooseModel(options, TaskOf(plan, stored, device), strength);
  if (plan.model == "none") return;
  plan.models = BestOfEachScale(options.models, plan.model, device);
  if (device == NetworkDevice::kCpu) plan.speed = ExpectedSpeed(options, stored, plan);
  const ModelFile file = FitNetwork(options.models, plan.model, stored, plan.output, device)->file;
  plan.restores_luma = file.max_strength > 0 && (inference::TakesStrength(file.layout) || file.is_blind);
  plan.is_blind = file.is_blind;
  if (file.is_blind) strength = ChooseBlindStrength(options, plan.restoration, file);
  plan.network_strength = std::min(strength, file.max_strength);
  plan.edges = ChooseEdges(plan);
  // Such a network makes faces look painted, the more the stronger it works.
  if (file.is_blind && options.face_restoration.mode == Strength::Mode::kAuto) {
    plan.strengths.face_restoration = std::min(kMostFaceRestoration, (1 + plan.network_strength) * plan.strengths.face_restoration);
  }
  if (options.sharpen.mode != Strength::Mode::kAuto) return;
  plan.strengths.sharpen *= kSharpenAfterNetwork * (file.is_blind ? 1 - plan.network_strength : 1.0F);
}

std::string AutomaticModel(const std::vector<ModelFile>& models, const NetworkTask& task, const MachineSpeed& machine) {
  const auto& [in, out, device, restoration, frame_rate] = task;
  if (device == NetworkDevice::kCpu) {
    const auto chosen = ChooseBySpeed(models, NamesByQuality(models, in, out, restoration), in, out, machine, frame_rate);
    if (chosen) return chosen->model;
  }
  const bool has_time = device == NetworkDevice::kGpu;
  for (const char* name : kNetworksForDamage) {
    if (restoration.strength <= 0 || (std::string(name) != "detail" && !has_time)) continue;
    const auto fit = FitNetwork(models, name, in, out, device);
    if (fit && fit->file.is_blind) return name;
  }
  return has_time && FitNetwork(models, "quality", in, out, device) ? "quality" : "fast";
}

std::string ChooseModel(const EnhanceOptions& options, NetworkTask task, float strength) {
  constexpr float kWorthIt = 0.08F;
  if (options.model == "none") return "none";
  const bool is_automatic = options.model == "auto";
  if (Resolve(options.denoise, 1) <= 0) task.restoration = {};
  const std::string name = is_automatic ? AutomaticModel(options.models, task, options.machine) : options.model;
  const auto fit = FitNetwork(options.models, name, task.in, task.out, task.device);
  if (!fit) return "none";
  const bool enlarges = task.out.width > task.in.width || task.out.height > task.in.height;
  if (is_automatic && !enlarges && !fit->file.is_blind && std::min(strength, fit->file.max_strength) < kWorthIt) return "none";
  const std::string own_name = OwnName(options.models, fit->file);
  if (task.device == NetworkDevice::kGpu) return own_name;  // only its processor knows whether it runs networks
  try {
    inference::CreateBackend("openvino");
  } catch (const Error&) {
    if (is_automatic) return "none";
    throw;
  }
  return own_name;
}

EdgeRestoration ChooseEdges(const Plan& plan) {
  constexpr float kLeastEnlargement = 1.5F;
  const float enlargement = static_cast<float>(plan.output.width) / (static_cast<float>(plan.source.width) * plan.working_share);
  if (!plan.is_blind || plan.network_strength <= 0 || enlargement < kLeastEnlargement) return {};
  return {1, enlargement};
}

}  // namespace reelmend::plan
