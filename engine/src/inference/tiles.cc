#include "inference/tiles.h"

#include <algorithm>

#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

constexpr int kSmallestPart = 16;

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

/// One axis cut into `parts`.
struct Axis {
  int length = 0;  ///< padded to the multiple
  int kept = 0;    ///< pixels of a part
  int tile = 0;

  static Axis Cut(int size, int parts, int multiple, int halo) {
    Axis axis;
    axis.length = RoundUp(size, multiple);
    axis.kept = RoundUp((size + parts - 1) / parts, multiple);
    axis.tile = parts == 1 ? axis.length : std::min(axis.length, axis.kept + 2 * RoundUp(halo, multiple));
    return axis;
  }
  int Origin(int from, int multiple, int halo) const {
    return std::clamp(from - RoundUp(halo, multiple), 0, length - tile);
  }
};

}  // namespace

TilePlan PlanTiles(int width, int height, int multiple, int halo, const std::function<bool(int, int)>& fits) {
  int columns = 1;
  int rows = 1;
  Axis x = Axis::Cut(width, columns, multiple, halo);
  Axis y = Axis::Cut(height, rows, multiple, halo);
  while (!fits(x.tile, y.tile)) {
    const int smallest = std::max(kSmallestPart, multiple);
    if (x.kept <= smallest && y.kept <= smallest) {
      throw Error(ErrorCode::kLimitExceeded, "The model needs more memory than is available, even for small tiles.");
    }
    // Cuts the longer side: squarer tiles have less overlap.
    if (x.kept >= y.kept) {
      x = Axis::Cut(width, ++columns, multiple, halo);
    } else {
      y = Axis::Cut(height, ++rows, multiple, halo);
    }
  }
  TilePlan plan{width, height, x.tile, y.tile, {}};
  for (int top = 0; top < height; top += y.kept) {
    for (int left = 0; left < width; left += x.kept) {
      plan.tiles.push_back({x.Origin(left, multiple, halo), y.Origin(top, multiple, halo), left, top,
                            std::min(x.kept, width - left), std::min(y.kept, height - top)});
    }
  }
  return plan;
}

TilePlan PlanParts(int width, int height, int multiple, int halo, int largest_part) {
  const int side = SideOfPart(largest_part, multiple, halo);
  return PlanTiles(width, height, multiple, halo, [&](int across, int down) { return std::max(across, down) <= side; });
}

}  // namespace reelmend::inference
