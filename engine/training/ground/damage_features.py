"""What a window of luma shows of its damage: the numbers that `damage_estimate` judges by.

`engine/src/pixel/damage_features.cc` and `damage_spectra.cc` compute the same from the same bytes;
`engine/tests/damage_witness.txt` holds what this file makes of a few windows, and the engine's tests compare. Whoever
changes one changes both, and trains anew.

A window is a plane of bytes (limited range), 96 to 256 pixels a side. Everything is a logarithm or a share, so that a fainter
picture moves the numbers and does not bend them.
"""
from functools import lru_cache

import numpy as np

TILE, BANDS = 32, 16
SEGMENT, HOP = 128, 64
LAGS, LAG_QUANTILES = (1, 2, 4, 8), (0.5, 0.75, 0.9, 0.97, 0.995)
RESIDUE_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
BLOCK_QUANTILES = (0.05, 0.15, 0.3, 0.5, 0.8)
CLIP = 24       # 8-bit levels that a gradient counts at most in a profile: one strong edge must not drown a weak grid
ROUNDED = 0.05  # power that the rounding to whole levels leaves in every coefficient
SMALL = 0.1     # 8-bit levels


@lru_cache
def dct_matrix():
    k, n = np.mgrid[:TILE, :TILE]
    matrix = np.cos(np.pi * (2 * n + 1) * k / (2 * TILE)) * np.sqrt(2 / TILE)
    matrix[0] /= np.sqrt(2)
    return matrix


def log(x):
    return np.log(np.maximum(x, 1e-12))


def quantile(counts, share):
    """The value below which a share of a histogram lies, linear within a bin."""
    sums = np.cumsum(counts)
    target = share * sums[-1]
    at = int(np.searchsorted(sums, target, 'left'))
    before = sums[at - 1] if at else 0
    return at + (target - before) / counts[at]


def of_sorted(values, share):
    """The element at a share of a sorted list, rounded down."""
    return values[min(len(values) - 1, int(share * len(values)))]


def differences(p):
    """(|across|, |down|) of neighbours, integers."""
    return np.abs(np.diff(p, axis=1)), np.abs(np.diff(p, axis=0))


def band_logs(power, axis_bands):
    """ln of the mean power of the coefficients whose larger index lies in each band."""
    k = np.arange(TILE)
    larger = np.maximum(k[:, None], k[None]) * axis_bands // TILE
    sums = np.array([power[:, larger == b].mean(1) for b in range(axis_bands)])
    return log(sums.T + ROUNDED)


def spectra(p, across, down):
    """Logarithms of power by band: of the busiest quarter of the tiles (mean, greatest), of the flattest quarter, and by axis."""
    rows, columns = p.shape[0] // TILE, p.shape[1] // TILE
    cut = lambda a: a[:rows * TILE, :columns * TILE].reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).reshape(-1, TILE, TILE)
    busy = cut(np.pad(across, ((0, 0), (0, 1)))).sum((1, 2)) + cut(np.pad(down, ((0, 1), (0, 0)))).sum((1, 2))
    order = np.argsort(busy, kind='stable')
    part = max(1, len(order) // 4)
    tiles = cut(p).astype(np.float64)
    tiles -= tiles.mean((1, 2), keepdims=True)
    power = lambda some: (dct_matrix() @ tiles[some] @ dct_matrix().T) ** 2
    textured, flat = power(order[-part:]), power(order[:part])
    logs = band_logs(textured, BANDS)
    by_axis = lambda axis: log(textured.mean(axis)[:, 4:].reshape(part, 7, 4).mean(2) + ROUNDED).mean(0)
    return [*logs.mean(0), *logs.max(0), *band_logs(flat, BANDS // 2).mean(0), *by_axis(1), *by_axis(2)]


def profiles(p, across):
    """By column: mean gradient, mean second difference, share of rows whose gradient is above that of both sides."""
    first = np.minimum(across, CLIP).mean(0)
    second = np.minimum(np.abs(p[:, :-2] - 2 * p[:, 1:-1] + p[:, 2:]), CLIP).mean(0)
    peaks = (across[:, 1:-1] > np.maximum(across[:, :-2], across[:, 2:])).mean(0)
    return first, second, peaks


def grid(first, peaks):
    """How far the gradient between blocks of 8 is above its neighbours: at the place where encoders have it, and at the
    strongest other place; the same of the peaks."""
    found = []
    for profile, offset in ((first[1:-1] - (first[:-2] + first[2:]) / 2, first.mean() + SMALL), (peaks - peaks.mean(), 1.0)):
        # Element i lies between pixels i + 1 and i + 2.
        phases = np.array([profile[phase::8].mean() for phase in range(8)]) / offset
        found += [phases[6], np.delete(phases, 6).max()]
    return found


@lru_cache
def fourier():
    """(window, cosines, sines [bins, SEGMENT]) of the bins 1 … SEGMENT / 2."""
    n = np.arange(SEGMENT)
    turns = 2 * np.pi * np.arange(1, SEGMENT // 2 + 1)[:, None] * n[None] / SEGMENT
    return 0.5 - 0.5 * np.cos(2 * np.pi * (n + 0.5) / SEGMENT), np.cos(turns), np.sin(turns)


def periodogram(profile):
    """Power of each bin of a profile less its local mean, relative to the profile's mean; segments averaged."""
    window, cosines, sines = fourier()
    values = (profile - profile.mean()) / (profile.mean() + SMALL)
    if len(values) < SEGMENT:
        values = np.concatenate([values, np.zeros(SEGMENT - len(values))])
    starts = range(0, len(values) - SEGMENT + 1, HOP)
    power = [(cosines @ (values[s:s + SEGMENT] * window)) ** 2 + (sines @ (values[s:s + SEGMENT] * window)) ** 2 for s in starts]
    return np.mean(power, 0)


def above_neighbours(logs, reach=6):
    """Each bin less the mean of those around it."""
    sums = np.concatenate([[0], np.cumsum(logs)])
    at = np.arange(len(logs))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(logs))
    return logs - (sums[high] - sums[low]) / (high - low)


def periods(across_profiles, down_profiles):
    """Lines in the spectra of gradient and second difference: grids of an encode before an enlargement, and the enlargement's
    own period. Two bins each, the stronger one."""
    found = []
    for a, b in zip(across_profiles, down_profiles):
        lines = above_neighbours(log(periodogram(a) + periodogram(b) + 1e-6))
        found += [*lines.reshape(-1, 2).max(1)]
    return found


def gradient_counts(p, lag):
    """Histogram of the differences over a distance, of every second row."""
    across, down = np.abs(p[::2, lag:] - p[::2, :-lag]), np.abs(p[lag::2] - p[:-lag:2])
    return np.bincount(across.ravel(), minlength=256) + np.bincount(down.ravel(), minlength=256)


def gradients(p):
    return [log(quantile(gradient_counts(p, lag), q)) for lag in LAGS for q in LAG_QUANTILES]


def residue_of(p):
    """|difference of Laplacians| (Immerkær)."""
    c = p[:, :-2] - 2 * p[:, 1:-1] + p[:, 2:]
    return np.minimum(np.abs(c[:-2] - 2 * c[1:-1] + c[2:]), 32767)  # 16 bits hold it


def halved(p):
    """Sums of 2×2."""
    h, w = p.shape[0] // 2 * 2, p.shape[1] // 2 * 2
    return p[:h:2, :w:2] + p[1:h:2, :w:2] + p[:h:2, 1:w:2] + p[1:h:2, 1:w:2]


def residues(p):
    found, scaled = [], p
    for level in range(3):
        counts = np.bincount((residue_of(scaled)[::2] >> 2 * level).ravel())
        found += [log(quantile(counts, q)) for q in RESIDUE_QUANTILES]
        scaled = halved(scaled)
    return found


def blocks(p, residue):
    """Deviation of blocks of 8 by quantile; the residue in the flattest tenth and quarter; the share of blocks without any."""
    rows, columns = p.shape[0] // 8 - 1, p.shape[1] // 8 - 1
    cut = lambda a: a[:rows * 8, :columns * 8].reshape(rows, 8, columns, 8).transpose(0, 2, 1, 3).reshape(-1, 64)
    inner = cut(p[1:, 1:])
    deviation = np.sqrt((64 * (inner**2).sum(1) - inner.sum(1) ** 2) / 4096)
    order = np.argsort(deviation, kind='stable')
    rough = cut(residue).mean(1)[order]
    tenth, quarter = max(1, len(order) // 10), max(1, len(order) // 4)
    deviation = deviation[order]
    return [*(log(of_sorted(deviation, q) + SMALL) for q in BLOCK_QUANTILES),
            log(rough[:tenth].mean() + SMALL), log(rough[:quarter].mean() + SMALL), float((deviation == 0).mean())]


def ringing(p, across, down, residue):
    """The residue in quiet cells of 4×4 beside an edge and in those far from one; how many are beside one."""
    rows, columns = p.shape[0] // 4 - 1, p.shape[1] // 4 - 1
    cut = lambda a: a[:rows * 4, :columns * 4].reshape(rows, 4, columns, 4).transpose(0, 2, 1, 3).reshape(rows, columns, 16)
    steps = np.maximum(cut(across[1:, 1:]), cut(down[1:, 1:])).max(2)
    threshold = max(10.0, quantile(gradient_counts(p, 1), 0.97))
    edge = np.pad(steps >= threshold, 1)
    beside = np.any([edge[i:i + rows, j:j + columns] for i in range(3) for j in range(3)], 0)
    quiet, rough = steps < threshold / 2, cut(residue).mean(2)
    mean = lambda chosen: rough[chosen].mean() if chosen.any() else rough.mean()
    near, far = mean(quiet & beside), mean(quiet & ~beside)
    return [log(near + SMALL), log(far + SMALL), log((near + SMALL) / (far + SMALL)), float((quiet & beside).mean())]


def lines(p, across, down):
    """Lines that comb or were made of their neighbours; the share of equal neighbours."""
    twice_across, twice_down = np.abs(p[:, 2:] - p[:, :-2]).mean() + SMALL, np.abs(p[2:] - p[:-2]).mean() + SMALL
    odd = np.abs(p[:-2:2] - 2 * p[1:-1:2] + p[2::2]).mean() + SMALL
    even = np.abs(p[1:-2:2] - 2 * p[2:-1:2] + p[3::2]).mean() + SMALL
    return [log((across.mean() + SMALL) / twice_across), log((down.mean() + SMALL) / twice_down), abs(log(odd / even)),
            float((across == 0).mean()), float((down == 0).mean())]


def levels(p):
    counts = np.bincount(p.ravel(), minlength=256)
    return [log(p.std() + SMALL), (quantile(counts, 0.99) - quantile(counts, 0.01)) / 219, p.mean() / 219]


def features_of(window):
    """float64 [COUNT] of bytes [H, W]."""
    p = window.astype(np.int64)
    across, down = differences(p)
    residue = residue_of(p)
    first, second, peaks = profiles(p, across)
    first_down, second_down, peaks_down = profiles(p.T, down.T)
    return np.array([
        *spectra(p, across, down), *grid(first, peaks), *grid(first_down, peaks_down),
        *periods((first, second), (first_down, second_down)), *gradients(p), *residues(p), *blocks(p, residue),
        *ringing(p, across, down, residue), *lines(p, across, down), *levels(p)])
