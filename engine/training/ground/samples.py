"""Batches for training. Batch number n of a seed is always the same, so a run can be taken up anywhere."""
import numpy as np
import torch

from .drawn import DrawnStore
from .objective import ALONE
from .photos import GroundError, PlaneStore, mean_of_four
from .resize import resize


# Of Y', Cb and Cr: the 8-bit level that is 0 (black, neutral) and how many levels are 1.
ZEROS, SPANS = np.array([16, 128, 128], np.float32), np.array([219, 224, 224], np.float32)


def normalise(planes):
    """Bytes of limited range [n, H, W] (Y', or Y', Cb and Cr) as networks have them, float32: luma 0 (black) .. 1 (white),
    chroma −0.5 .. 0.5 around neutral; what lies beyond is kept. A plane [H, W] is luma."""
    planes = np.asarray(planes, np.float32)
    if planes.ndim == 2:
        return (planes - ZEROS[0]) / SPANS[0]
    n = len(planes)
    return (planes - ZEROS[:n, None, None]) / SPANS[:n, None, None]


def to_levels(planes):
    """The inverse of `normalise`, in 8-bit levels, not rounded: [n, H, W]."""
    n = len(planes)
    return planes * SPANS[:n, None, None] + ZEROS[:n, None, None]


def oriented(patch, way):
    """One of the 8 ways to turn and mirror a square [..., p, p]."""
    if way & 4:
        patch = np.swapaxes(patch, -1, -2)
    if way & 2:
        patch = patch[..., ::-1, :]
    return patch[..., ::-1] if way & 1 else patch


def fitting(odds, sides, patch):
    """The odds of pictures of those sides, where the ones smaller than a patch are never drawn."""
    large = np.asarray(sides) >= patch
    if large.all():
        return odds
    if not large.any():
        raise GroundError(f'patch_too_large: no picture holds a patch of {patch}.')
    return odds * large / (odds * large).sum()


def cut(rng, low, high, patch, scale):
    """A random square of both, [n, p, p] and [n, s·p, s·p]. It begins at even places, as everything does in a video: there
    lie the blocks of four that share their chroma, and the pixels that the networks' heads take together."""
    y, x = (2 * rng.integers((side - patch) // 2 + 1) for side in low.shape[-2:])
    s = scale
    return low[:, y:y + patch, x:x + patch], high[:, s * y:s * (y + patch), s * x:s * (x + patch)]


def steepness(luma):
    """Mean absolute difference of neighbours, in 8-bit levels, of a plane of bytes: how hard a patch is. The loss of a trained
    network follows it closely, and contrast hardly at all (README.md, "Hard samples")."""
    luma = luma.astype(np.int16)
    return float(sum(np.abs(np.diff(luma, axis=axis)).mean() for axis in (0, 1)))


class Choosing:
    """A source that draws two places and takes one. By default the one with more contrast: flat patches teach little.

    `hard`: the one with steeper edges in the truth, but none of the steepest twentieth, much of which no network can restore. So the
    hard half is taken three times as often as the easy one. After online hard example mining (Shrivastava et al. 2016), with
    steepness for the loss: it takes no forward pass, and depends on nothing but the seed.
    """
    hard = False
    SEEN, TRUTH = 0, 1            # of what `_draw` gives: planes whose contrast counts, and those of the truth
    DRAWS, HARDEST = 400, 0.95    # places that are looked at to find the steepest twentieth

    def _choose(self, rng, patch):
        first, second = self._draw(rng, patch), self._draw(rng, patch)
        return second if self._worth(second, patch) > self._worth(first, patch) else first

    def _worth(self, place, patch):
        if not self.hard:
            return place[self.SEEN][0].std()
        steep = steepness(place[self.TRUTH][0])
        return steep if steep <= self._ceiling(patch) else -steep

    def _ceiling(self, patch):
        """The steepness of the steepest twentieth of all places."""
        held = self.__dict__.setdefault('ceilings', {})
        if patch not in held:
            rng = np.random.default_rng(1)
            drawn = [steepness(self._draw(rng, patch)[self.TRUTH][0]) for _ in range(self.DRAWS)]
            held[patch] = float(np.quantile(drawn, self.HARDEST))
        return held[patch]


class PhotoSource(Choosing):
    """Patches of photographs with their bicubic reduction (scale 2) or themselves (scale 1), strength 0.

    `colour`: chroma too.
    """

    # Sizes of the photographs and how often each is drawn: the smaller, the sharper.
    SIZES = {1.0: 0.15, 0.75: 0.2, 0.5: 0.25, 0.35: 0.25, 0.25: 0.15}

    def __init__(self, scale, colour=False):
        self.store = PlaneStore('training', sizes=tuple(self.SIZES))
        self.scale, self.kept = scale, 3 if colour else 1
        odds = np.array([self.SIZES[row['size']] for row in self.store.index])
        self.odds = odds / odds.sum()

    def odds_of(self, patch):
        """The odds of the pictures, without those that are smaller than a patch."""
        held = self.__dict__.setdefault('odds_by_patch', {})
        if patch not in held:
            held[patch] = fitting(self.odds, [self._side(row) for row in self.store.index], patch)
        return held[patch]

    def _side(self, row):
        """The shorter side of a picture in pixels of what the network sees."""
        return min(row['lr' if self.scale == 2 else 'hr'][1:])

    def _draw(self, rng, patch):
        row = self.store.index[rng.choice(len(self.odds), p=self.odds_of(patch))]
        high, low = self.store.pair(row)
        if self.scale == 1:
            low = high
        return cut(rng, low[:self.kept], high[:self.kept], patch, self.scale)

    def sample(self, rng, patch):
        """(low, high, strength): float32 [n, p, p], [n, s·p, s·p] as `normalise` has them, and a number in 0..1."""
        pair = self._choose(rng, patch)
        way = rng.integers(8)
        return normalise(oriented(pair[0], way)), normalise(oriented(pair[1], way)), 0.0


class DrawnSource(PhotoSource):
    """Patches of drawn pictures with their bicubic reduction or themselves, strength 0. They are grey; colours are
    made of the grey: every plane of chroma is another straight function of luma, so that edges lie where luma has them."""

    def __init__(self, scale, store=None, colour=False):
        self.store, self.scale, self.kept = store or DrawnStore(), scale, 1
        self.colour = colour
        self.odds = np.full(len(self.store.index), 1 / len(self.store.index))

    def _side(self, number):
        return min(self.store.pair(number)[1 if self.scale == 2 else 0].shape[1:])

    def sample(self, rng, patch):
        low, high, strength = super().sample(rng, patch)
        if not self.colour:
            return low, high, strength
        halved = resize(mean_of_four(low[0]), patch, patch, 'lanczos3')
        slopes, levels = rng.normal(0, 0.3, 2), rng.normal(0, 0.15, 2)
        slopes, levels = slopes.clip(-0.6, 0.6), levels.clip(-0.2, 0.2)
        tint = (lambda plane: [plane, *(np.float32(s) * (plane - 0.5) + np.float32(l) for s, l in zip(slopes, levels))])
        return np.stack([low[0], *tint(halved)[1:]]), np.stack(tint(high[0])), strength


class NoiseSource(PhotoSource):
    """The same with noise of a sensor or plain Gaussian noise on the low-resolution luma, rounded to bytes; in two of
    three on chroma (at half the size) as well, weaker.

    Strength is the noise's standard deviation in 8-bit levels / 50, given with an error of up to a tenth; small
    ones are drawn more often (50·u²).
    """

    def sample(self, rng, patch):
        low, high, _ = super().sample(rng, patch)
        deviation = 50 * rng.random() ** 2
        noise = rng.standard_normal(low[0].shape, np.float32)
        if rng.random() < 0.3:
            # Photon noise: grows with the light; the same power over the patch.
            noise *= np.sqrt(0.3 + 0.7 * np.clip(low[0], 0, 1) / max(0.05, float(low[0].mean())))
        told = float(min(1.0, deviation / 50 * rng.uniform(0.9, 1.1)))
        added = [deviation * noise]
        if len(low) == 3:
            weaker = deviation * rng.uniform(0.2, 0.8) * (rng.random() < 2 / 3)
            added += [weaker * resize(rng.standard_normal((patch // 2, patch // 2), np.float32), patch, patch, 'lanczos3')
                      for _ in range(2)]
        return normalise(np.clip(np.rint(to_levels(low) + np.stack(added)), 0, 255)), high, told


def with_strength(planes, strength):
    """What networks take, [n + 1, H, W]: luma, strength, and what chroma there is."""
    return np.stack([planes[0], np.full_like(planes[0], strength), *planes[1:]])


class Batches:
    """Mixes sources by their shares."""

    device = torch.device('cpu')  # where its batches lie

    def __init__(self, sources, shares, batch, patch, scale, seed, colour=False, pairs=False):
        self.sources = [sources[name] for name in shares]
        self.shares = np.array(list(shares.values()))
        if abs(self.shares.sum() - 1) > 1e-6:
            raise ValueError('the shares of a recipe do not sum to 1')
        self.batch, self.patch, self.scale, self.seed = batch, patch, scale, seed
        self.planes, self.pairs = 3 if colour else 1, pairs

    def at(self, number):
        """(input [N, 2 or 4, p, p], wanted [N, 1 or 3, s·p, s·p]) of batch `number`: luma, strength and perhaps chroma;
        luma and perhaps chroma. With `pairs` (N even) two that follow each other are pictures of one clip, and how far the
        second has moved stands beside them: [N, 2], ALONE for the first (`objective.unsteady`)."""
        rng = np.random.default_rng([self.seed, number])
        if self.pairs:
            return self._pairs(rng)
        p, s = self.patch, self.scale
        x = np.empty((self.batch, self.planes + 1, p, p), np.float32)
        y = np.empty((self.batch, self.planes, s * p, s * p), np.float32)
        # Every batch holds each kind by its share, the remainder by lot.
        counts = rng.multinomial(1, self.shares, self.batch).sum(0)
        for i, source in enumerate(np.repeat(np.arange(len(self.sources)), counts)):
            low, y[i], strength = self.sources[source].sample(rng, p)
            x[i] = with_strength(low, strength)
        return torch.from_numpy(x), torch.from_numpy(y)

    def _pairs(self, rng):
        counts = rng.multinomial(1, self.shares, self.batch // 2).sum(0)
        x, y, shifts = [], [], []
        for source in np.repeat(np.arange(len(self.sources)), counts):
            *samples, shift = self.sources[source].pair(rng, self.patch)
            for low, wanted, strength in samples:
                x.append(with_strength(low, strength))
                y.append(wanted)
            shifts += [(ALONE, ALONE), shift]
        return (*(torch.from_numpy(np.stack(planes).astype(np.float32)) for planes in (x, y)), torch.tensor(shifts))


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
