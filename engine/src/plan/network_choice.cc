#include "plan/network_choice.h"

#include <algorithm>
#include <cmath>

#include "inference/backend.h"

namespace reelmend::plan {
namespace {

constexpr double kEnlargesFrom = 1.05;
constexpr double kReducesFrom = 0.95;
constexpr double kEnough = 0.9;  ///< of the target that the passes must reach
constexpr double kLittleLeft = 1.6;  ///< that the resize may enlarge by after one pass
constexpr double kInt8Loss_db = 0.1;
constexpr double kBf16Above_db = 0.05;  ///< above this loss of int8, bfloat16 is worth its time
constexpr double kBf16Times = 3;        ///< of int8's time that it may take

bool IsInt8(const ModelFile& file) { return file.precision == ModelFile::Precision::kInt8; }
bool IsMeasured(const ModelFile& file) { return file.ms_per_megapixel > 0; }

/// Measured int8 files are compared by time; without figures the processor's instructions decide.
bool Serves(const ModelFile& file, NetworkDevice device) {
  if (!IsInt8(file)) return true;
  return device == NetworkDevice::kCpu && file.loss_db <= kInt8Loss_db && (IsMeasured(file) || inference::HasFastInt8());
}

/// Whether a file in bfloat16 replaces an int8 file that loses more than a little.
bool OutdoesInt8(const ModelFile& file, const ModelFile& int8) {
  const bool is_slow = IsMeasured(file) && IsMeasured(int8) && file.ms_per_megapixel > kBf16Times * int8.ms_per_megapixel;
  return file.allow_bf16 && int8.loss_db > kBf16Above_db && !is_slow && inference::HasFastBf16();
}

/// Orders files, best first: usable ones; of these bfloat16 if int8 loses too much; the faster one if both were measured;
/// otherwise int8 before fp32.
bool IsBetter(const ModelFile& a, const ModelFile& b, NetworkDevice device) {
  if (Serves(a, device) != Serves(b, device)) return Serves(a, device);
  if (IsInt8(a) == IsInt8(b)) return false;
  if (device == NetworkDevice::kCpu && OutdoesInt8(IsInt8(a) ? b : a, IsInt8(a) ? a : b)) return !IsInt8(a);
  const bool by_time = device == NetworkDevice::kCpu && IsMeasured(a) && IsMeasured(b);
  if (by_time && a.ms_per_megapixel != b.ms_per_megapixel) return a.ms_per_megapixel < b.ms_per_megapixel;
  return IsInt8(a);
}

double RatioOf(Size in, Size out) {
  return std::max(static_cast<double>(out.width) / in.width, static_cast<double>(out.height) / in.height);
}

/// The passes of Note [Any ratio]. `files` have rising scales.
std::optional<NetworkFit> FitEnlarging(const std::vector<ModelFile>& files, double ratio) {
  const ModelFile& largest = files.back();
  if (largest.scale == 1) return std::nullopt;
  const auto least = [&](int passes) -> std::optional<NetworkFit> {
    for (const ModelFile& file : files) {
      if (file.scale > 1 && std::pow(file.scale, passes) >= kEnough * ratio) return NetworkFit{file, passes, false};
    }
    return std::nullopt;
  };
  if (const auto once = least(1)) return once;
  // A second pass would end farther from the target than this.
  const bool is_nearer = ratio / largest.scale <= std::sqrt(largest.scale);
  if (is_nearer && ratio / largest.scale <= kLittleLeft) return NetworkFit{largest, 1, false};
  return least(2).value_or(NetworkFit{largest, 2, false});
}

}  // namespace

std::vector<ModelFile> BestOfEachScale(const std::vector<ModelFile>& models, const std::string& name, NetworkDevice device) {
  std::vector<ModelFile> best;
  for (const ModelFile& file : models) {
    if (file.name != name || file.layout == ModelFile::Layout::kFace) continue;
    const auto same = std::ranges::find(best, file.scale, &ModelFile::scale);
    if (same == best.end()) {
      best.push_back(file);
    } else if (IsBetter(file, *same, device)) {
      *same = file;
    }
  }
  std::ranges::sort(best, {}, &ModelFile::scale);
  return best;
}

Size WorkingSize(Size source, float share) {
  if (share >= 1) return source;
  const auto even = [&](int side) { return std::max(2, 2 * static_cast<int>(std::lround(static_cast<float>(side) * share / 2))); };
  return {even(source.width), even(source.height)};
}

bool IsInstalled(const std::vector<ModelFile>& models, const std::string& name) {
  return std::ranges::any_of(models, [&](const ModelFile& file) {
    return file.name == name && file.layout != ModelFile::Layout::kFace;
  });
}

std::string OwnName(const std::vector<ModelFile>& models, const ModelFile& file) {
  const auto first = std::ranges::find(models, file.path, &ModelFile::path);
  return file.path.empty() || first == models.end() ? file.name : first->name;
}

std::optional<ModelFile> FindFaceModel(const std::vector<ModelFile>& models) {
  std::optional<ModelFile> found;
  for (const ModelFile& file : models) {
    if (file.layout == ModelFile::Layout::kFace) found = file;
  }
  return found;
}

bool IsEnlarged(Size in, Size out) { return RatioOf(in, out) >= kEnlargesFrom; }

std::optional<NetworkFit> FitNetwork(const std::vector<ModelFile>& models, const std::string& name, Size in, Size out,
                                     NetworkDevice device) {
  const std::vector<ModelFile> files = BestOfEachScale(models, name, device);
  if (files.empty()) return std::nullopt;
  const double ratio = RatioOf(in, out);
  if (ratio >= kEnlargesFrom) return FitEnlarging(files, ratio);
  if (files.front().scale == 1) return NetworkFit{files.front(), 1, ratio <= kReducesFrom};
  // A network of an operator that only enlarges was requested by name: its output is reduced afterwards.
  if (files.front().layout == ModelFile::Layout::kRgb) return NetworkFit{files.front(), 1, ratio <= kReducesFrom};
  return std::nullopt;
}

}  // namespace reelmend::plan
