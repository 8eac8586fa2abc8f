"""Motion between two pictures by block matching, and a neighbour moved to where the current picture is.

The method is one that an engine can do in a few milliseconds a picture: blocks of 8×8, each judged by itself and half
of its four neighbours' error (overlapped matching, so that vectors are smooth), all whole displacements up to RADIUS,
then the eight half pixels around the best, by a window of 16×16 and the six taps of H.264 (ITU-T H.264, 8.4.2.2.1).
"""
import numpy as np

BLOCK, RADIUS = 8, 7
# 8-bit levels of error a pixel that a displacement of one pixel must save: flat blocks stay with the zero vector.
PRICE = 0.05


def _blocks(error):
    """[H, W] → [H/8, W/8]: sums of blocks, plus half of those beside, above and below."""
    h, w = error.shape
    own = error.reshape(h // BLOCK, BLOCK, w // BLOCK, BLOCK).sum((1, 3), dtype=np.float32)
    around = np.pad(own, 1, 'edge')
    return own + (around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]) / 2


def _spread(vectors):
    """[H/8, W/8] of a number a block → [H, W] a pixel."""
    return vectors.repeat(BLOCK, 0).repeat(BLOCK, 1)


def doubled(plane):
    """Bytes [H, W] at half pixels: float32 [2H, 2W], sample (2y, 2x) is (y, x); six taps, borders repeated."""
    def line(p):  # between rows y and y + 1
        q = np.pad(p, ((2, 3), (0, 0)), 'edge')
        n = len(p)
        return (q[:n] - 5 * q[1:n + 1] + 20 * q[2:n + 2] + 20 * q[3:n + 3] - 5 * q[4:n + 4] + q[5:n + 5]) / 32
    plane = plane.astype(np.float32)
    tall = np.empty((2 * plane.shape[0], plane.shape[1]), np.float32)
    tall[::2], tall[1::2] = plane, line(plane)
    wide = np.empty((tall.shape[0], 2 * plane.shape[1]), np.float32)
    wide[:, ::2], wide[:, 1::2] = tall, line(tall.T).T
    return np.clip(wide, 0, 255)


def whole_vectors(current, neighbour):
    """[2, H/8, W/8]: the whole displacement (down, right) of every block with the least error."""
    h, w = current.shape
    padded = np.pad(neighbour, RADIUS, 'edge').astype(np.int16)
    here, best, vectors = current.astype(np.int16), None, np.zeros((2, h // BLOCK, w // BLOCK), np.int32)
    for dy in range(-RADIUS, RADIUS + 1):
        for dx in range(-RADIUS, RADIUS + 1):
            moved = padded[RADIUS + dy:RADIUS + dy + h, RADIUS + dx:RADIUS + dx + w]
            cost = _blocks(np.abs(here - moved)) + PRICE * 3 * BLOCK**2 * np.hypot(dy, dx)
            if best is None:
                best = np.full_like(cost, np.inf)
            better = cost < best
            best[better] = cost[better]
            vectors[0][better], vectors[1][better] = dy, dx
    return vectors


def moved_by(fine, halves):
    """The picture at the displacements `halves` [2, H/8, W/8], in half pixels, from its doubled form."""
    h, w = (n // 2 for n in fine.shape)
    y = np.clip(2 * np.arange(h)[:, None] + _spread(halves[0]), 0, 2 * h - 1)
    x = np.clip(2 * np.arange(w)[None] + _spread(halves[1]), 0, 2 * w - 1)
    return fine[y, x]


def _windows(shape):
    """(rows [bh, 1, 16, 1], columns [1, bw, 1, 16]): where the window of 16×16 around every block lies, cut off at the
    borders by repeating them."""
    along = [np.clip(np.arange(0, n, BLOCK)[:, None] + np.arange(-BLOCK // 2, BLOCK + BLOCK // 2), 0, n - 1)
             for n in shape]
    return along[0][:, None, :, None], along[1][None, :, None, :]


def vectors(current, neighbour):
    """[2, H/8, W/8]: displacements in half pixels; where the block of `current` lies in `neighbour` (bytes, sides
    that are multiples of 8)."""
    if current.shape != neighbour.shape or current.shape[0] % BLOCK or current.shape[1] % BLOCK:
        raise ValueError(f'motion: sides must be multiples of {BLOCK} and equal, not {current.shape}, {neighbour.shape}')
    whole, fine = 2 * whole_vectors(current, neighbour), doubled(neighbour)
    (y, x), (h, w) = _windows(current.shape), fine.shape
    here, best, chosen = current[y, x].astype(np.float32), None, whole.copy()
    for dy, dx in sorted(((a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)), key=lambda v: v != (0, 0)):
        halves = whole + np.array([dy, dx])[:, None, None]
        there = fine[np.clip(2 * y + halves[0][:, :, None, None], 0, h - 1),
                     np.clip(2 * x + halves[1][:, :, None, None], 0, w - 1)]
        cost = np.abs(here - there).sum((2, 3))
        better = np.ones_like(cost, bool) if best is None else cost < best
        best = cost if best is None else np.minimum(best, cost)
        chosen[:, better] = halves[:, better]
    return chosen


def aligned(current, neighbour):
    """The neighbour moved block by block to where `current` is: bytes [H, W]."""
    return np.rint(moved_by(doubled(neighbour), vectors(current, neighbour))).astype(np.uint8)
