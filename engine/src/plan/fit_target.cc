#include <algorithm>
#include <cmath>

#include "reelmend/enhance.h"

namespace reelmend {
namespace {

/// The nearest even number, at least 2.
int Even(double value) { return std::max(2, 2 * static_cast<int>(std::lround(value / 2))); }

}  // namespace

Size FitTarget(Size displayed, Target target) {
  displayed.width = std::max(1, displayed.width);
  displayed.height = std::max(1, displayed.height);
  // Rounded up, so that no row or column of the source is lost.
  if (target == Target::kSource) return {(displayed.width + 1) / 2 * 2, (displayed.height + 1) / 2 * 2};
  Size box = target == Target::k4k ? Size{3840, 2160} : Size{1920, 1080};
  if (displayed.height > displayed.width) std::swap(box.width, box.height);
  const double scale = std::min(static_cast<double>(box.width) / displayed.width,
                                static_cast<double>(box.height) / displayed.height);
  return {std::min(box.width, Even(displayed.width * scale)), std::min(box.height, Even(displayed.height * scale))};
}

}  // namespace reelmend
