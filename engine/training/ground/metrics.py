"""PSNR and SSIM on luma as the papers take them: limited-range Y' in 0..255, the border of the scale cut off; unsteadiness."""
import numpy as np


def cropped(picture, border):
    return picture[border:-border, border:-border] if border else picture


def psnr(a, b, border=2):
    """dB between two [H, W] in 0..255."""
    difference = cropped(np.asarray(a, np.float64) - np.asarray(b, np.float64), border)
    return float(10 * np.log10(255**2 / max(np.mean(difference**2), 1e-10)))


def _gaussian(picture):
    """11 taps, sigma 1.5, inner part only."""
    taps = np.exp(-0.5 * ((np.arange(11) - 5) / 1.5) ** 2)
    taps /= taps.sum()
    for axis in (0, 1):
        length = picture.shape[axis] - 10
        picture = sum(t * np.take(picture, range(i, i + length), axis) for i, t in enumerate(taps))
    return picture


def ssim(a, b, border=2):
    """SSIM (Wang et al. 2004) of two [H, W] in 0..255."""
    a, b = (cropped(np.asarray(p, np.float64), border) for p in (a, b))
    ma, mb = _gaussian(a), _gaussian(b)
    va, vb, cov = _gaussian(a * a) - ma * ma, _gaussian(b * b) - mb * mb, _gaussian(a * b) - ma * mb
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    return float(np.mean((2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))))


def unsteadiness(pictures, motion):
    """Root mean square change between pictures in a row where the scene did not change, in 8-bit levels: each is compared
    with the one before, shifted by the clip's whole-pixel motion. The original has 0."""
    squares, border = [], 8
    for before, after in zip(pictures, pictures[1:]):
        (dy, dx), (h, w) = motion, before.shape
        top, left = max(0, -dy), max(0, -dx)
        bottom, right = h - max(0, dy), w - max(0, dx)
        still = after[top:bottom, left:right].astype(float) - before[top + dy:bottom + dy, left + dx:right + dx]
        squares.append(np.mean(still[border:-border, border:-border]**2))
    return float(np.sqrt(np.mean(squares)))
