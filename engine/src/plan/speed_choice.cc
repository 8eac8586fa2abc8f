#include "plan/speed_choice.h"

#include <algorithm>

namespace reelmend::plan {
namespace {

constexpr double kUsualFrameRate = 25;

double Megapixels(Size size) { return static_cast<double>(size.width) * size.height / 1e6; }

}  // namespace

std::optional<double> FrameTime_ms(const NetworkFit& fit, Size in, Size out, const MachineSpeed& machine) {
  if (fit.file.ms_per_megapixel <= 0) return std::nullopt;
  double time_ms = machine.other_ms_per_megapixel * Megapixels(out);
  Size size = fit.after_resize ? out : in;
  for (int pass = 0; pass < fit.passes; ++pass) {
    time_ms += fit.file.ms_per_megapixel * Megapixels(size);
    size = {size.width * fit.file.scale, size.height * fit.file.scale};
  }
  return time_ms;
}

double FloorOf(const MachineSpeed& machine, double frame_rate) {
  const double rate = frame_rate > 0 ? frame_rate : kUsualFrameRate;
  return std::max(machine.min_frames_per_second, machine.min_times_length * rate);
}

std::optional<SpeedChoice> ChooseBySpeed(const std::vector<ModelFile>& models, const std::vector<std::string>& names, Size in, Size out,
                                         const MachineSpeed& machine, double frame_rate) {
  const double floor = FloorOf(machine, frame_rate);
  if (floor <= 0) return std::nullopt;
  std::vector<SpeedChoice> measured;
  for (const std::string& name : names) {
    const auto fit = FitNetwork(models, name, in, out);
    const auto time_ms = fit ? FrameTime_ms(*fit, in, out, machine) : std::nullopt;
    if (time_ms) measured.push_back({name, 1000 / *time_ms, floor, "", 0});
  }
  if (measured.empty()) return std::nullopt;
  auto chosen = std::ranges::find_if(measured, &SpeedChoice::keeps_floor);
  if (chosen == measured.end()) chosen = std::ranges::max_element(measured, {}, &SpeedChoice::frames_per_second);
  SpeedChoice choice = *chosen;
  if (chosen != measured.begin()) {
    choice.better = measured.front().model;
    choice.better_frames_per_second = measured.front().frames_per_second;
  }
  return choice;
}

std::vector<std::string> NamesByQuality(const std::vector<ModelFile>& models, Size in, Size out, const RestorationChoice& restoration) {
  std::vector<std::string> names;
  for (const char* name : kNetworksForDamage) {
    const auto fit = restoration.strength > 0 ? FitNetwork(models, name, in, out) : std::nullopt;
    if (fit && fit->file.is_blind) names.emplace_back(name);
  }
  // A faithful network keeps the damage, whatever its size. So after the networks for damaged sources only speed counts.
  const auto quality = names.empty() ? FitNetwork(models, "quality", in, out) : std::nullopt;
  if (quality && OwnName(models, quality->file) == "quality") names.emplace_back("quality");
  names.emplace_back("fast");
  return names;
}

}  // namespace reelmend::plan
