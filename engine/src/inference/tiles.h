// Cutting a frame into parts that overlap, so that a network's memory stays in bounds.
#pragma once

#include <functional>
#include <vector>

namespace reelmend::inference {

/// One tile. The network gets tile_width × tile_height input pixels from (x, y) on; only the output that belongs to
/// the rectangle `keep` is used.
struct Tile {
  int x = 0;
  int y = 0;
  int keep_x = 0;  ///< in the frame, input pixels
  int keep_y = 0;
  int keep_width = 0;
  int keep_height = 0;

  bool operator==(const Tile&) const = default;
};

/// Note [Tiles]
/// All tiles of a frame have one size, because a network is compiled for fixed shapes; the last ones of a row or column are
/// moved back to end with the frame. Every kept pixel is at least `halo` pixels away from each edge of its tile that is not
/// an edge of the frame. So the tiles together equal the frame processed whole: outside the frame the network pads as it was
/// trained to, inside it sees the true neighbours. Origins and sizes are multiples of the model's `multiple`, which keeps
/// the phases of a space-to-depth. The frame is padded to such a multiple by repeating its last row and column, whether it
/// is cut or not.
struct TilePlan {
  int width = 0;   ///< of the frame
  int height = 0;
  int tile_width = 0;
  int tile_height = 0;
  std::vector<Tile> tiles;

  bool operator==(const TilePlan&) const = default;
};

/// Cuts as little as `fits(tile_width, tile_height)` allows. Throws Error{kLimitExceeded} if not even parts of 16 kept
/// pixels fit.
TilePlan PlanTiles(int width, int height, int multiple, int halo, const std::function<bool(int, int)>& fits);

/// Side of the largest tile whose kept part has about `largest_part` pixels a side.
inline int SideOfPart(int largest_part, int multiple, int halo) { return largest_part + 2 * (halo + multiple); }
/// Cuts into tiles of that size.
TilePlan PlanParts(int width, int height, int multiple, int halo, int largest_part);

}  // namespace reelmend::inference
