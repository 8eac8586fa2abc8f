"""Batches for training. Batch number n of a seed is always the same, so a run can be taken up anywhere."""
import numpy as np
import torch

from .drawn import DrawnStore
from .photos import PlaneStore


def normalise(plane):
    """Bytes of limited range to 0 (black) .. 1 (white), float32; below black and above white are kept."""
    return (np.asarray(plane, np.float32) - 16) / 219


def turned(patch, way):
    """One of the 8 ways to turn and mirror a square."""
    if way & 4:
        patch = patch.T
    if way & 2:
        patch = patch[::-1]
    return patch[:, ::-1] if way & 1 else patch


class PhotoSource:
    """Patches of photographs with their bicubic reduction (scale 2) or themselves (scale 1), strength 0.

    Of two places drawn, the one with more detail is taken: flat patches teach little.
    """

    # Sizes of the photographs and how often each is drawn: the smaller, the sharper.
    SIZES = {1.0: 0.15, 0.75: 0.2, 0.5: 0.25, 0.35: 0.25, 0.25: 0.15}

    def __init__(self, scale):
        self.store = PlaneStore('training', sizes=tuple(self.SIZES))
        self.scale = scale
        odds = np.array([self.SIZES[row['size']] for row in self.store.index])
        self.odds = odds / odds.sum()

    def _draw(self, rng, patch):
        row = self.store.index[rng.choice(len(self.odds), p=self.odds)]
        high, low = self.store.pair(row)
        if self.scale == 1:
            low = high
        y, x = rng.integers(low.shape[0] - patch + 1), rng.integers(low.shape[1] - patch + 1)
        s = self.scale
        return low[y:y + patch, x:x + patch], high[s * y:s * (y + patch), s * x:s * (x + patch)]

    def sample(self, rng, patch):
        """(low, high, strength): float32 [p, p], [s·p, s·p] in 0..1, and a number in 0..1."""
        pair, other = self._draw(rng, patch), self._draw(rng, patch)
        if other[0].std() > pair[0].std():
            pair = other
        way = rng.integers(8)
        return normalise(turned(pair[0], way)), normalise(turned(pair[1], way)), 0.0


class DrawnSource(PhotoSource):
    """Patches of drawn pictures with their bicubic reduction or themselves, strength 0."""

    def __init__(self, scale, store=None):
        self.store, self.scale = store or DrawnStore(), scale
        self.odds = np.full(len(self.store.index), 1 / len(self.store.index))


class NoiseSource(PhotoSource):
    """The same with noise of a sensor or plain Gaussian noise on the low-resolution luma, rounded to bytes.

    Strength is the noise's standard deviation in 8-bit codes / 50, told with an error of up to a tenth; small
    ones are drawn more often (50·u²).
    """

    def sample(self, rng, patch):
        low, high, _ = super().sample(rng, patch)
        deviation = 50 * rng.random() ** 2
        noise = rng.standard_normal(low.shape, np.float32)
        if rng.random() < 0.3:
            # Photon noise: grows with the light; the same power over the patch.
            noise *= np.sqrt(0.3 + 0.7 * np.clip(low, 0, 1) / max(0.05, float(low.mean())))
        codes = np.clip(np.rint(low * 219 + 16 + deviation * noise), 0, 255)
        return normalise(codes), high, float(min(1.0, deviation / 50 * rng.uniform(0.9, 1.1)))


class Batches:
    """Mixes sources by their shares."""

    def __init__(self, sources, shares, batch, patch, scale, seed):
        self.sources = [sources[name] for name in shares]
        self.shares = np.array(list(shares.values()))
        if abs(self.shares.sum() - 1) > 1e-6:
            raise ValueError('the shares of a recipe do not sum to 1')
        self.batch, self.patch, self.scale, self.seed = batch, patch, scale, seed

    def at(self, number):
        """(input [N, 2, p, p], wanted [N, 1, s·p, s·p]) of batch `number`."""
        rng = np.random.default_rng([self.seed, number])
        p, s = self.patch, self.scale
        x = np.empty((self.batch, 2, p, p), np.float32)
        y = np.empty((self.batch, 1, s * p, s * p), np.float32)
        # Every batch holds each kind by its share, the remainder by lot.
        counts = rng.multinomial(1, self.shares, self.batch).sum(0)
        for i, source in enumerate(np.repeat(np.arange(len(self.sources)), counts)):
            x[i, 0], y[i, 0], x[i, 1] = self.sources[source].sample(rng, p)
        return torch.from_numpy(x), torch.from_numpy(y)


class Ahead:
    """The same batches, made by processes of their own before they are asked for; to be read in order.

    A processor's step takes longer than its batch; a GPU's does not, and one process cannot feed it.
    """

    def __init__(self, batches, processes, pinned=False, depth=4):
        self.batches, self.processes, self.pinned, self.depth = batches, processes, pinned, depth
        self.next, self.stream = None, None

    def __len__(self):
        return 1 << 40

    def __getitem__(self, number):
        torch.set_num_threads(1)
        return self.batches.at(number)

    def at(self, number):
        if number != self.next:
            loader = torch.utils.data.DataLoader(
                self, batch_size=None, sampler=range(number, len(self)), num_workers=self.processes,
                prefetch_factor=self.depth, pin_memory=self.pinned, multiprocessing_context='fork')
            self.stream = iter(loader)
        self.next = number + 1
        return next(self.stream)
