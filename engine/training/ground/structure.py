"""A loss on structure: the features of VMAF-NEG as differentiable functions of the restored luma.

Fidelity alone asks for the mean of what may be, which is soft. These features count how much of the truth's detail is there,
with its sign and no more than its contrast: nothing is gained by contrast that the truth does not have.

- detail (ADM, Li et al. 2011): of every coefficient of a wavelet transform the part that the truth has, weighted by the
  eye's contrast sensitivity, less what masks it.
- information (VIF, Sheikh and Bovik 2006): how much of what the truth tells is still told, at the two coarser of four
  scales; the finer ones say little about the score and take most of the time.

Both follow libvmaf (`adm_csf_mode` 0, enhancement gain limit 1) and agree with it within 0.01 (tests).
"""
from functools import lru_cache

import torch
import torch.nn.functional as F

SCALES = 4
# Points of VMAF-NEG for 1.0 of detail and of information at each scale, about: fitted to 1,200 pictures of the
# validation chains (Lanczos-3, networks, each sharpened in several ways).
POINTS = {'detail': 190.0, 'information': (40.0, 40.0)}
LOW = (0.482962913144534, 0.836516303737808, 0.224143868042013, -0.129409522551260)   # Daubechies, 4 taps
HIGH = (-0.129409522551260, -0.224143868042013, 0.836516303737808, -0.482962913144534)
NOISE = 2.0      # variance of the eye's own noise, in 8-bit levels²
BORDER = 0.1     # share of a side that detail leaves out
TINY = 1e-6


@lru_cache(maxsize=8)
def sensitivity(level):
    """The eye's (across and down, diagonal) at a level of the transform, at 3 heights from a picture of 1080 lines
    (Watson et al. 1997)."""
    amplitudes = ((0.67234, 0.72709), (0.41317, 0.49428), (0.22727, 0.28688), (0.11792, 0.15214))[level]
    degrees = 3.0 * 1080 * torch.pi / 180  # pixels a degree
    steps = []
    for amplitude, orientation in zip(amplitudes, (1.0, 0.534)):
        distance = torch.log10(torch.tensor(2.0 ** (level + 1) * 0.401 * orientation / degrees))
        steps.append(float(2 * 0.495 * 10 ** (0.466 * distance**2) / amplitude))
    return 1 / steps[0], 1 / steps[1]


@lru_cache(maxsize=64)
def _lines(device, length, taps, first, step=2):
    """The matrix that filters a line, mirrored at its ends, and keeps every `step`th place: place p takes `taps` from
    p + `first` on. As a product of matrices this is several times as fast as a convolution of one plane."""
    places = torch.arange(0, length, step)[:, None] + first + torch.arange(len(taps))[None]
    places = (length - 1 - (length - 1 - places.abs()).abs())
    matrix = torch.zeros(len(places), length)
    return matrix.scatter_add_(1, places, torch.tensor(taps).expand_as(places).contiguous()).to(device)


@lru_cache(maxsize=16)
def _weights(device, level):
    """`sensitivity` of the bands [3, 1, 1]. Kept on the device, as `_lines` are: a CUDA graph cannot fetch them."""
    return torch.tensor([sensitivity(level)[at] for at in (0, 0, 1)], device=device)[:, None, None]


@lru_cache(maxsize=4)
def _points(device):
    return torch.tensor(POINTS['information'], device=device)


def _filtered(x, taps, first, step):
    """[…, h, w] filtered down and across."""
    down, across = (_lines(x.device, side, taps, first, step) for side in x.shape[-2:])
    return down @ x @ across.mT


def _wavelet(x):
    """(coarse half, [across, down, diagonal]) of [n, 1, h, w]."""
    h, w = x.shape[-2:]
    down, across = (torch.cat([_lines(x.device, side, LOW, -1), _lines(x.device, side, HIGH, -1)]) for side in (h, w))
    bands, h, w = down @ x @ across.mT, (h + 1) // 2, (w + 1) // 2
    low, high = bands[..., :h, :], bands[..., h:, :]
    return low[..., :w], torch.cat([low[..., w:], high[..., :w], high[..., w:]], 1)


def _inner(x):
    """Without the border, [n, c, h, w]."""
    top, left = (max(0, int(side * BORDER - 0.5)) for side in x.shape[-2:])
    return x[..., top:x.shape[-2] - top, left:x.shape[-1] - left]


def _strength(x):
    """[n]: cubic mean of coefficients [n, 3, h, w], summed over the bands, with libvmaf's floor."""
    inner = _inner(x)
    floor = (inner.shape[-2] * inner.shape[-1] / 32) ** (1 / 3)
    return (inner.pow(3).sum((2, 3)) + TINY).pow(1 / 3).sum(1) + 3 * floor


def detail(made, truth):
    """[n], 0..1: the share of the truth's detail that is there. Both are luma [n, 1, h, w] in 8-bit levels."""
    there, whole = 0, 0
    for level in range(SCALES):
        (made, t), (truth, o) = _wavelet(made), _wavelet(truth)
        weights = _weights(t.device, level)
        restored = torch.minimum(torch.maximum(t, o.clamp(max=0)), o.clamp(min=0))
        added = ((t - restored) * weights).abs().sum(1, keepdim=True)
        masked = 0.3 * F.avg_pool2d(F.pad(added, (1, 1, 1, 1), 'reflect'), 3, 1) + added / 30
        there = there + _strength(((restored * weights).abs() - masked).clamp(min=0))
        whole = whole + _strength((o * weights).abs())
    return there / whole


@lru_cache(maxsize=8)
def _taps(level):
    """The Gaussian of a scale of the information."""
    count = 2 ** (SCALES - level) + 1
    taps = torch.exp(-0.5 * ((torch.arange(count) - count // 2) / (count / 5)) ** 2)
    return tuple((taps / taps.sum()).tolist())


def _smooth(x, level, step=1):
    return _filtered(x, _taps(level), -(len(_taps(level)) // 2), step)


def information(made, truth):
    """[n, 2], 0..1: the share of the truth's information that is there, at scales 2 and 3."""
    pair, shares = torch.cat([truth, made], 1) - 128, []
    for level in range(1, SCALES):
        pair = _smooth(pair, level, 2)
        if level == 1:
            continue
        a, b = pair[:, :1], pair[:, 1:]
        mean_a, mean_b, aa, bb, ab = _smooth(torch.cat([a, b, a * a, b * b, a * b], 1), level).split(1, 1)
        aa, bb, ab = (aa - mean_a**2).clamp(min=0), (bb - mean_b**2).clamp(min=0), ab - mean_a * mean_b
        gain = (ab / (aa + TINY)).clamp(min=0)
        noise = torch.where(ab > 0, bb - gain * ab, bb).clamp(min=TINY)
        there, whole = torch.log2(1 + gain.clamp(max=1)**2 * aa / (noise + NOISE)), torch.log2(1 + aa / NOISE)
        flat = aa < NOISE
        there, whole = torch.where(flat, 1 - bb * (4 / 255**2), there), torch.where(flat, 1.0, whole)
        shares.append(there.sum((1, 2, 3)) / whole.sum((1, 2, 3)))
    return torch.stack(shares, 1)


def missing(made, truth):
    """[n]: how much structure is missing, in hundreds of points of VMAF-NEG. Both are luma [n, 1, h, w], 0 black, 1 white."""
    made, truth = 219 * made + 16, 219 * truth + 16
    told = (1 - information(made, truth)) @ _points(made.device)
    return (POINTS['detail'] * (1 - detail(made, truth)) + told) / 100
