"""Frames of videos as planes and as RGB; the product's output is BT.709 in limited range."""
import av
import numpy as np
from ground.resize import resize, to_bytes

RED, GREEN, BLUE = 0.2126, 0.7152, 0.0722  # BT.709


def luma(rgb):
    """Y' of BT.709 in limited range (16..235), float32, of R'G'B' in 0..255."""
    return 16 + np.asarray(rgb, np.float32) @ np.array([RED, GREEN, BLUE], np.float32) * (219 / 255)


def decode(path, frames=None):
    """[[Y', Cb, Cr], …] of bytes: the frames of a video as 4:2:0, at most `frames` of them."""
    found = []
    with av.open(str(path)) as source:
        for frame in source.decode(video=0):
            found.append([_plane(p) for p in frame.reformat(format='yuv420p').planes])
            if len(found) == frames:
                break
    return found


def _plane(plane):
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:plane.height, :plane.width].copy()


def cut(planes, part):
    """Cuts a part out of 4:2:0 planes: (rows, columns), slices with even bounds."""
    half = tuple(slice(side.start // 2, side.stop // 2) for side in part)
    return [planes[0][part], *(c[half] for c in planes[1:])]


def to_rgb(planes):
    """Converts 4:2:0 planes (BT.709, chroma sited left) to R'G'B' bytes [H, W, 3]."""
    y = (planes[0].astype(np.float32) - 16) * (255 / 219)
    blue, red = ((resize(c, *planes[0].shape, 'bicubic', (0, 0.25)) - 128) * (255 / 224) for c in planes[1:])
    parts = (y + 2 * (1 - RED) * red,
             y - (2 * BLUE * (1 - BLUE) * blue + 2 * RED * (1 - RED) * red) / GREEN,
             y + 2 * (1 - BLUE) * blue)
    return to_bytes(np.stack(parts, -1))
