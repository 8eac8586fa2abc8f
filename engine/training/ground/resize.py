"""Separable resampling with the conventions of MATLAB's imresize (antialiasing kernels, borders mirrored)."""
from functools import lru_cache

import numpy as np


def _cubic(x):
    """Keys' cubic, a = -0.5 (R. Keys, 1981), the one of imresize(…, 'bicubic')."""
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _lanczos3(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


def _triangle(x):
    return np.maximum(0.0, 1 - np.abs(x))


def _box(x):
    return np.where((x >= -0.5) & (x < 0.5), 1.0, 0.0)


# name → (kernel, its support on either side of 0 in samples). `point` samples a smooth picture without a filter before it, as
# cameras do that skip lines: what is finer than the new samples folds into stair-steps (aliasing).
KERNELS = {'bicubic': (_cubic, 2.0), 'lanczos3': (_lanczos3, 3.0), 'bilinear': (_triangle, 1.0), 'area': (_box, 0.5),
           'point': (_cubic, 2.0)}


@lru_cache(maxsize=256)
def weights(length, wanted, kernel='bicubic', shift=0.0):
    """The matrix [wanted, length], float32, that resamples a line of samples; its rows sum to 1.

    `shift` moves the sampling grid by so many samples of the input. When shrinking, the kernel is widened
    by the ratio (antialiasing), unless it is `point`; beyond the borders the line is mirrored.
    """
    function, support = KERNELS[kernel]
    ratio = wanted / length
    widen = 1.0 if kernel == 'point' else max(1.0, 1.0 / ratio)
    centres = (np.arange(wanted) + 0.5) / ratio - 0.5 + shift
    taps = int(np.ceil(support * widen)) * 2 + 2
    first = np.floor(centres - taps / 2 + 1).astype(int)
    index = first[:, None] + np.arange(taps)[None, :]
    value = function((centres[:, None] - index) / widen)
    value /= value.sum(1, keepdims=True)
    mirrored = np.abs(index + 0.5) - 0.5
    mirrored = np.where(mirrored >= length, 2 * length - 1 - mirrored, mirrored).astype(int)
    mirrored = np.clip(mirrored, 0, length - 1)
    matrix = np.zeros((wanted, length), np.float32)
    np.add.at(matrix, (np.arange(wanted)[:, None].repeat(taps, 1), mirrored), value)
    return matrix


def resize(picture, height, width, kernel='bicubic', shift=(0.0, 0.0)):
    """Resamples [H, W] or [H, W, C] of any number type to float32 [height, width(, C)]; no clipping."""
    picture = np.asarray(picture, np.float32)
    down = weights(picture.shape[0], height, kernel, float(shift[0]))
    across = weights(picture.shape[1], width, kernel, float(shift[1]))
    rows = np.tensordot(down, picture, (1, 0))
    return np.ascontiguousarray(np.swapaxes(np.tensordot(across, rows, (1, 1)), 0, 1))


def to_bytes(picture):
    """Rounded to 0..255."""
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)
