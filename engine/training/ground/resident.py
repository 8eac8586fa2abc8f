"""Batches made on the device from bytes that stay in its memory: a GPU trains faster than processes can make batches.

Every picture of the sources lies in one tensor of bytes. The host decides what chance decides (a few numbers a sample, number n
of a seed always the same); the device cuts, turns, adds noise and normalises, for the whole batch at once. The samples are those
of `samples`, `clips` and `real`: the same square gives the same tensors. Which squares are drawn is another matter: the numbers
of chance are drawn for a batch at once, so a batch holds other squares than `samples.Batches` of the same seed.

A square is four numbers [begin, down, across, plane]: the place of its first pixel in that tensor, and the steps to the next row,
column and plane. Turned and mirrored squares are squares with other steps.
"""
from dataclasses import dataclass

import numpy as np
import torch

from .clips import AREA, SIDE, ClipSource
from .export import from_fp32
from .objective import ALONE
from .photos import HERE, GroundError, mean_of_four, on_luma_grid
from .real import UNDAMAGED, RealSource
from .resize import to_bytes, weights
from .samples import SPANS, ZEROS, DrawnSource, NoiseSource, fitting

CHUNK = 1 << 28  # bytes that go to the device at once


class Memory:
    """Bytes on their way to the device: `add` says where an array will lie, `load` moves them all into one tensor."""

    def __init__(self):
        self.parts, self.places, self.size = [], {}, 0

    def add(self, key, array):
        """Where an array of bytes (one of a name is kept once) will begin."""
        if key not in self.places:
            self.places[key] = self.size
            self.parts.append(array)
            self.size += array.size
        return self.places[key]

    def load(self, device):
        whole, at = torch.empty(self.size, dtype=torch.uint8, device=device), 0
        for part in self.parts:
            flat = part.reshape(-1)
            for first in range(0, flat.size, CHUNK):
                piece = np.array(flat[first:first + CHUNK])
                whole[at + first:at + first + len(piece)].copy_(torch.from_numpy(piece))
            at += flat.size
        return whole


@dataclass
class Places:
    """Where the pictures of a source lie, [pictures, 3] each: begin, width, bytes of a plane."""
    low: np.ndarray
    high: np.ndarray
    sides: np.ndarray            # of the low pictures [pictures, 2]
    odds: np.ndarray | None = None
    clean: np.ndarray | None = None   # low pictures without damage (`real`)


def squares(pictures, y, x, side, way):
    """[n, 4] of squares of `side` pixels at [y, x] of pictures [n, 3], each turned as `samples.oriented` does."""
    begin, width, plane = pictures.T
    ones = np.ones_like(width)
    begin = begin + y * width + x
    down, across = np.where(way & 4, ones, width), np.where(way & 4, width, ones)
    for steps, bit in ((down, 2), (across, 1)):
        back = (way & bit) > 0
        begin = begin + np.where(back, (side - 1) * steps, 0)
        steps[back] *= -1
    return np.stack([begin, down, across, plane], -1)


def cut(memory, places, planes, side):
    """Bytes [n, planes, side, side] of squares [n, 4]."""
    begin, down, across, plane = (places[:, at, None, None, None] for at in range(4))
    line = torch.arange(side, device=memory.device)
    steps = torch.arange(planes, device=memory.device)[None, :, None, None]
    return memory[begin + plane * steps + down * line[:, None] + across * line]


def busier(memory, places, side):
    """[n]: whether of two squares of luma [n, 2, 4] the second has more contrast. In whole numbers, so exactly."""
    held = cut(memory, places.flatten(0, 1), 1, side).long().flatten(1)
    spread = held.shape[1] * held.square().sum(1) - held.sum(1).square()
    first, second = spread.reshape(-1, 2).unbind(1)
    return second > first


def picture_places(source, memory):
    """`Places` of a source of pictures (`samples.PhotoSource` and those that are made of it)."""
    store, low, high, sides = source.store, [], [], []
    drawn = not hasattr(store, 'bytes')
    begin = None if drawn else memory.add(store.path, store.bytes)
    for row in store.index:
        if drawn:
            pair = store.pair(row)
            starts = [memory.add((store.path, name, row), plane) for name, plane in zip(('high', 'low'), pair)]
            shapes = [plane.shape for plane in pair]
        else:
            shapes = [row['hr'], row['lr']]
            starts = [begin + row['at'], begin + row['at'] + int(np.prod(row['hr']))]
        # Drawn pictures are luma alone: their other planes are that one again, until they get colours.
        facts = [(start, shape[2], 0 if drawn else shape[1] * shape[2]) for start, shape in zip(starts, shapes)]
        high.append(facts[0])
        low.append(facts[1 if source.scale == 2 else 0])
        sides.append(shapes[1 if source.scale == 2 else 0][1:])
    return Places(*(np.array(rows, np.int64) for rows in (low, high, sides)), source.odds)


def record_places(source, memory):
    """`Places` of the records of shards (`clips.ClipSource`, `real.RealSource`)."""
    begins = [memory.add(str(shard.filename), shard) for shard in source.shards]
    at = np.array([begins[shard] + place for shard, place, _ in source.rows], np.int64)
    facts = lambda first, width, plane: np.stack([first, np.full_like(at, width), np.full_like(at, plane)], 1)
    low, clean, truth = facts(at, SIDE, AREA), facts(at + 3 * AREA, SIDE, AREA), facts(at + 4 * AREA, 2 * SIDE, 4 * AREA)
    if isinstance(source, RealSource) and source.kept == 3:
        key = 'clean planes'
        begin = memory.places[key] if key in memory.places else memory.add(key, clean_colours(source))
        clean = facts(begin + 3 * AREA * np.arange(len(at)), SIDE, AREA)
    wanted = truth if source.scale == 2 else facts(at + 3 * AREA, SIDE, AREA)
    return Places(low, wanted, np.full((len(at), 2), SIDE), None, clean)


def clean_colours(source):
    """The clean planes of all records with their chroma, as `RealSource._clean` makes them: bytes [records, 3, SIDE, SIDE]."""
    made = np.empty((len(source.rows), 3, SIDE, SIDE), np.uint8)
    for number, planes in enumerate(made):
        _, clean, high, _ = source.record(number)
        planes[0] = clean[0]
        for plane, chroma in zip(planes[1:], high[1:]):
            plane[:] = on_luma_grid(to_bytes(mean_of_four(mean_of_four(chroma.astype(np.float32)))), SIDE, SIDE)
    return made


class Held:
    """A source whose pictures are on the device; draws what chance decides."""

    def __init__(self, source, memory):
        self.source, self.real = source, isinstance(source, RealSource)
        if self.real and (source.sharpen or source.taught):
            raise GroundError('not_resident: truths that are sharpened or taught are made by processes (without --resident).')
        if source.hard:
            raise GroundError('not_resident: hard samples are chosen by processes (without --resident).')
        clips = isinstance(source, ClipSource)
        self.places = record_places(source, memory) if clips else picture_places(source, memory)
        self.errors = np.array([error for *_, error in source.rows]) if clips else None
        if self.real:
            self._pair_up()

    def _pair_up(self):
        """For each record the one of the picture beside it, and how far that one has moved (`RealSource.pair`)."""
        source = self.source
        self.beside = np.array([source._beside(number) for number in range(len(source.plans))])
        self.shifts = np.full((len(source.plans), 2), ALONE)
        for number, other in enumerate(self.beside):
            first, second = source.plans[number], source.plans[other]
            steps = (second['shown'][second['frame']] - first['shown'][first['frame']]) * source.scale
            moved = [m * steps for m in first['motion']]
            if all(m % 2 == 0 for m in moved):
                self.shifts[number] = [m // 2 for m in moved]

    def draw(self, rng, count, patch):
        """What chance decides of `count` samples: which pictures, where (two squares each, of which the busier is taken) and how
        turned; and for real damage whether undamaged and how strong."""
        low, sides = self.places.low, self.places.sides
        odds = self.places.odds if self.places.odds is None else fitting(self.places.odds, sides.min(1), patch)
        picture = rng.choice(len(low), (count, 2), p=odds)
        y, x = (2 * (rng.random((count, 2)) * ((sides[picture, axis] - patch) // 2 + 1)).astype(np.int64) for axis in (0, 1))
        drawn = {'picture': picture, 'y': y, 'x': x, 'way': rng.integers(8, size=(count, 1)).repeat(2, 1)}
        if not self.real:
            return drawn
        way = self.source.way
        drawn['undamaged'] = np.ones(count, bool) if way == 'clean' else rng.random(count) < UNDAMAGED
        drawn['strength'] = {'clean': np.zeros(count), 'full': np.ones(count), 'between': rng.random(count)}[way]
        return drawn

    def squares(self, drawn, patch):
        """[count, 2 candidates, 2 (low, high), 4]."""
        picture, y, x, way = (drawn[key].ravel() for key in ('picture', 'y', 'x', 'way'))
        low = self.places.low[picture]
        if self.real:
            low = np.where(drawn['undamaged'].repeat(2)[:, None], self.places.clean[picture], low)
        scale = self.source.scale
        pair = [squares(low, y, x, patch, way), squares(self.places.high[picture], scale * y, scale * x, scale * patch, way)]
        return np.stack(pair, 1).reshape(-1, 2, 2, 4)

    def pairs(self, drawn):
        """`drawn` with each sample followed by its neighbour, and how far that one shows the scene moved [2 · count, 2
        candidates, 2]."""
        picture, way = drawn['picture'], drawn['way']
        doubled = {key: np.repeat(value, 2, 0) for key, value in drawn.items()}
        doubled['picture'][1::2] = self.beside[picture]
        shifts = self.shifts[picture]
        shifts = np.where((way & 4)[..., None] > 0, shifts[..., ::-1], shifts)
        signs = np.stack([np.where(way & bit, -1, 1) for bit in (2, 1)], -1)
        shifts = np.where(shifts == ALONE, ALONE, shifts * signs)
        return doubled, np.stack([np.full_like(shifts, ALONE), shifts], 1).reshape(-1, 2, 2)


def faithful_on(device, file):
    """The shipped network whose result at strength 0 is the faithful one, on the device."""
    return from_fp32((HERE.parent / 'models' / file).read_bytes()).to(device).eval().requires_grad_(False)


class ResidentBatches:
    """Like `samples.Batches`, with tensors of the device. Every batch holds each kind by its share, rounded up or down by lot."""

    def __init__(self, sources, shares, batch, patch, scale, seed, colour=False, pairs=False, device='cpu'):
        memory, self.device = Memory(), torch.device(device)
        self.kinds = [Held(sources[name], memory) for name in shares]
        if len({kind.real for kind in self.kinds}) > 1:
            raise GroundError('not_resident: real damage does not mix with other samples.')
        self.real = self.kinds[0].real
        self.memory = memory.load(self.device)
        self.shares = np.cumsum(list(shares.values()))
        if abs(self.shares[-1] - 1) > 1e-6:
            raise ValueError('the shares of a recipe do not sum to 1')
        self.batch, self.patch, self.scale, self.seed = batch, patch, scale, seed
        self.planes, self.paired = 3 if colour else 1, pairs
        self.beside = {kind.source.beside for kind in self.kinds if self.real and kind.source.way == 'between'} - {None}
        self.faithful = [faithful_on(self.device, file) for file in self.beside]
        to = lambda values: torch.tensor(values[:self.planes], device=self.device)[:, None, None]
        self.zeros, self.spans = to(ZEROS), to(SPANS)
        self.enlarge = torch.from_numpy(weights(patch // 2, patch, 'lanczos3')).to(self.device) if colour else None
        self.generator = torch.Generator(self.device)

    def counts(self, rng):
        """How many samples (pairs of them) of each kind."""
        units = self.batch // 2 if self.paired else self.batch
        ends = np.floor(self.shares * units + rng.random()).astype(int)
        ends[-1] = units
        return np.diff(ends, prepend=0).clip(0)

    def plan(self, number):
        """What chance decides of batch `number`: arrays of the host. `spans`: which samples are of which kind."""
        rng = np.random.default_rng([self.seed, number])
        plan = {'squares': [], 'strength': [], 'shifts': [], 'drawn': [], 'spans': [], 'noise': int(rng.integers(1 << 62))}
        at = 0
        for kind, count in zip(self.kinds, self.counts(rng)):
            drawn = kind.draw(rng, count, self.patch)
            if self.paired:
                drawn, shifts = kind.pairs(drawn)
                plan['shifts'].append(shifts)
            more = len(drawn['way'])
            plan['squares'].append(kind.squares(drawn, self.patch))
            plan['strength'].append(self._strength(kind, drawn, rng))
            plan['drawn'].append(drawn)
            plan['spans'].append((at, at + more))
            at += more
        return {key: np.concatenate(value) if key in ('squares', 'strength', 'shifts') and value else value
                for key, value in plan.items()}

    @staticmethod
    def _strength(kind, drawn, rng):
        """What the network is told [count, 2 candidates]; draws the noise's numbers, and those of drawn pictures' colours."""
        count = len(drawn['way'])
        if kind.real:
            return drawn['strength'][:, None].repeat(2, 1)
        if kind.errors is not None:
            return np.minimum(1.0, kind.errors[drawn['picture']] / 50 * rng.uniform(0.8, 1.2, (count, 1)))
        if isinstance(kind.source, NoiseSource):
            drawn['deviation'] = 50 * rng.random(count) ** 2
            drawn['photons'] = rng.random(count) < 0.3
            drawn['weaker'] = drawn['deviation'] * rng.uniform(0.2, 0.8, count) * (rng.random(count) < 2 / 3)
            told = np.minimum(1.0, drawn['deviation'] / 50 * rng.uniform(0.9, 1.1, count))
            return told[:, None].repeat(2, 1)
        if isinstance(kind.source, DrawnSource):
            drawn['slopes'] = rng.normal(0, 0.3, (count, 2)).clip(-0.6, 0.6)
            drawn['levels'] = rng.normal(0, 0.15, (count, 2)).clip(-0.2, 0.2)
        return np.zeros((count, 2))

    def at(self, number):
        """As `samples.Batches.at`, on the device."""
        with torch.no_grad():
            return self.make(self.plan(number))

    def _sent(self, array, kind=None):
        """An array of the host on the device, without waiting for it."""
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        tensor = tensor.to(kind) if kind else tensor
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == 'cuda' else tensor

    def _normalised(self, planes):
        return (planes - self.zeros) / self.spans

    def make(self, plan):
        places, told = self._sent(plan['squares']), self._sent(plan['strength'], torch.float32)
        # As the sources do: real damage is judged by what is wanted, the others by what is delivered.
        judged = self.scale * self.patch if self.real else self.patch
        second = busier(self.memory, places[:, :, 1 if self.real else 0], judged)
        if self.paired:
            second = second[::2].repeat_interleave(2)  # the neighbour shows the same square
        chosen = torch.where(second[:, None, None], places[:, 1], places[:, 0])
        strength = torch.where(second, told[:, 1], told[:, 0])
        low = cut(self.memory, chosen[:, 0], self.planes, self.patch).float()
        wanted = self._normalised(cut(self.memory, chosen[:, 1], self.planes, self.scale * self.patch).float())
        self.generator.manual_seed(plan['noise'])
        for kind, drawn, (first, end) in zip(self.kinds, plan['drawn'], plan['spans']):
            if isinstance(kind.source, NoiseSource) and end > first:
                low[first:end] = self._noisy(low[first:end], drawn)
        low = self._normalised(low)
        for kind, drawn, (first, end) in zip(self.kinds, plan['drawn'], plan['spans']):
            if end > first:
                self._finish(kind, drawn, low[first:end], wanted[first:end], strength[first:end])
        x = torch.cat([low[:, :1], strength[:, None, None, None].expand(-1, 1, self.patch, self.patch), low[:, 1:]], 1)
        if not self.paired:
            return x, wanted
        shifts = self._sent(plan['shifts'])
        return x, wanted, torch.where(second[:, None], shifts[:, 1], shifts[:, 0])

    def _finish(self, kind, drawn, low, wanted, strength):
        """In place: what is wanted in between of faithful and restored; the colours of drawn pictures."""
        if self.real and kind.source.way == 'between':
            share = strength[:, None, None, None]
            wanted.copy_(share * wanted + (1 - share) * self._faithful(low))
        elif isinstance(kind.source, DrawnSource) and self.planes == 3:
            slopes, levels = (self._sent(drawn[key], torch.float32)[:, :, None, None] for key in ('slopes', 'levels'))
            halved = torch.nn.functional.avg_pool2d(low[:, :1], 2)
            low[:, 1:] = slopes * (self.enlarge @ halved @ self.enlarge.T - 0.5) + levels
            wanted[:, 1:] = slopes * (wanted[:, :1] - 0.5) + levels

    def _faithful(self, low):
        if self.scale == 1:
            return low
        x = torch.cat([low[:, :1], torch.zeros_like(low[:, :1]), low[:, 1:]], 1)
        return self.faithful[0](x[:, :self.faithful[0].planes])

    def _noisy(self, low, drawn):
        """8-bit levels with the noise of `samples.NoiseSource`."""
        deviation, weaker, photons = (self._sent(drawn[key], torch.float32)[:, None, None, None]
                                      for key in ('deviation', 'weaker', 'photons'))
        noise = torch.randn(len(low), 1, self.patch, self.patch, device=self.device, generator=self.generator)
        luma = self._normalised(low)[:, :1]
        mean = luma.mean((2, 3), keepdim=True).clamp(min=0.05)
        noise = torch.where(photons > 0, noise * torch.sqrt(0.3 + 0.7 * luma.clamp(0, 1) / mean), noise)
        added = deviation * noise
        if self.planes == 3:
            half = torch.randn(len(low), 2, self.patch // 2, self.patch // 2, device=self.device, generator=self.generator)
            added = torch.cat([added, weaker * (self.enlarge @ half @ self.enlarge.T)], 1)
        return (low + added).round().clamp(0, 255)


class EnlargedBatches:
    """Batches of a ×4 network, of those of a ×2 one: what is wanted is enlarged by 2 on the device, luma by the faithful network
    `file` as `teacher.refine` does, chroma by cubic interpolation. Near the border of a patch luma is that of a picture that ends there."""

    def __init__(self, batches, file):
        self.batches, self.net = batches, faithful_on(batches.device, file)

    @torch.no_grad()
    def at(self, number):
        """As `samples.Batches.at`."""
        x, wanted, *shifts = self.batches.at(number)
        seen = torch.cat([wanted[:, :1], torch.zeros_like(wanted[:, :1]), wanted[:, 1:]], 1)[:, :self.net.planes]
        large = torch.nn.functional.interpolate(wanted, scale_factor=2, mode='bicubic', align_corners=False)
        large[:, :1] = self.net(seen.contiguous(memory_format=torch.channels_last))[:, :1]
        return x, large, *(torch.where(shift == ALONE, ALONE, 2 * shift) for shift in shifts)
