"""Shards of clips with real damage, and batches of them: the recipe `real`.

A shard is one file of records as `clips` writes them, [delivered LR (Y', Cb, Cr) | clean LR (Y') | truth (Y', Cb, Cr)], and
a list with a row for each: the plan (`damage.draw_plan`), and what came of it:

    clip      number of the clip in its photograph and shard; records of the same photo and clip belong together, in order
    frame     place in the clip; `shown[frame]` is the picture seen there, `motion` times that is how far it has moved
    coding    of each encode: root mean square of what it changed in luma (8-bit levels), bits a pixel
    error     root mean square of the delivered luma less the clean one (8-bit levels): all damage together

Clean LR is the truth reduced as MATLAB's imresize does. Both have the plan's levels.
"""
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from . import clips, damage, drawn
from .export import from_fp32
from .network import frozen
from .objective import ALONE
from .photos import HERE, GroundError, mean_of_four, on_luma_grid, read_rgb, ycbcr
from .resize import resize, to_bytes
from .samples import normalise, oriented
from .teacher import Beside, is_noisy

SIDE, FRAMES = clips.SIDE, damage.FRAMES
DRAWN = 24      # drawn pictures a shard, beside the photographs: letters and lines
PAGES = 240     # printed pages in a shard of pages
ROOM = 2 * SIDE + 24
DAMAGED = 8     # 8-bit levels: see `RealSource`
UNDAMAGED = 0.1  # of the pairs at any strength but 0


def paths_of(motion, shape, rng, halves=False):
    """Where the window of 2·SIDE lies in every picture and half a step later: (places, later), whole pixels; and the motion:
    even where `halves` of it are needed, and none where there is no room."""
    motion = [int(m) // 2 * 2 if halves else int(m) for m in motion]
    side, steps = 2 * SIDE, FRAMES
    room = [shape[i] - side - abs(motion[i]) * steps for i in (0, 1)]
    if min(room) < 0:
        motion, room = [0, 0], [shape[i] - side for i in (0, 1)]
    at = [int(rng.integers(room[i] + 1)) + (abs(motion[i]) * steps if motion[i] < 0 else 0) for i in (0, 1)]
    places = [(at[0] + motion[0] * f, at[1] + motion[1] * f) for f in range(FRAMES)]
    return places, [(y + motion[0] // 2, x + motion[1] // 2) for y, x in places], motion


def make_clip(rng, picture, plan, kept=range(FRAMES)):
    """[(delivered [3, …], clean luma, truth [3, …], row)] of the kept places of a clip, bytes; `plan['motion']` becomes
    what it really was."""
    combed = plan['interlaced'] == 'comb'
    places, later, plan['motion'] = paths_of(plan['motion'], picture.shape, rng, combed)

    def windows(corners):
        held = np.stack([picture[y:y + 2 * SIDE, x:x + 2 * SIDE] for y, x in corners]).astype(np.float32)
        return damage.faded(held, plan['levels']) if plan['levels'] else held

    high = windows(places)
    between = windows(later) if combed else None
    clip, facts = damage.damaged(rng, high, between, plan, (SIDE, SIDE))
    records = []
    for f in kept:
        truth = ycbcr(high[plan['shown'][f]])
        clean = to_bytes(resize(truth[0], SIDE, SIDE))
        low = np.stack([on_luma_grid(p, SIDE, SIDE) for p in clip[f]])
        error = float(np.sqrt(np.mean((low[0].astype(np.float32) - clean) ** 2)))
        records.append((low, clean, truth, {**plan, **facts, 'frame': f, 'error': error}))
    return records


@dataclass(frozen=True)
class Page:
    """A printed page among photographs (`drawn.page`)."""
    number: int

    @property
    def name(self):
        return f'page-{self.number}'


def picture_of(source, size):
    """RGB bytes of a photograph at a size, if it is large enough then; of a drawn picture by its number (grey, tinted by
    the number); or of a `Page`. None where it is too small."""
    if isinstance(source, Page):
        return drawn.page(source.number)
    if not isinstance(source, int):
        picture = read_rgb(source, size)
        if min(picture.shape[:2]) < ROOM and size < 1:
            picture = read_rgb(source)
        return picture if min(picture.shape[:2]) >= ROOM else None
    rng = np.random.default_rng([11, source])
    grey = drawn.picture(source)[..., None] / 255
    dark, light = rng.uniform(0, 100, 3), rng.uniform(140, 255, 3)
    return to_bytes(dark + grey * (light - dark))


def plans_of(split, count, rng):
    """The plans of a photograph's clips: drawn ones for training, every chain once for validation."""
    if split == 'validation':
        return [damage.chain_plan(name, rng) for name in damage.CHAINS]
    return [damage.draw_plan(rng) for _ in range(count)]


def _kept(split, rng):
    """The places of a clip that are kept: two that follow each other, or all for validation. The first picture of an encode
    is unlike all later ones and seldom in a video, so it is drawn less often."""
    if split == 'validation':
        return range(FRAMES)
    first = int(rng.choice(FRAMES - 1, p=[0.12, 0.22, 0.22, 0.22, 0.22]))
    return (first, first + 1)


def records_of(task):
    """(rows, bytes) of all clips of one picture in one shard."""
    split, source, number, count, seed = task
    rng = np.random.default_rng([seed, 7, number])
    # One size a picture and shard: photographs are sharper when reduced, and reading one takes as long as a clip.
    size = 0.75 if split == 'validation' else float(rng.choice([1.0, 0.75, 0.5], p=[0.4, 0.3, 0.3]))
    picture, rows, data = picture_of(source, size), [], []
    for clip, plan in enumerate(plans_of(split, count, rng) if picture is not None else []):
        plan['size'] = size
        for *planes, row in make_clip(rng, picture, plan, _kept(split, rng)):
            rows.append({**row, 'photo': getattr(source, 'name', f'drawn-{source}'), 'clip': clip})
            data += [p.tobytes() for p in planes]
    return rows, b''.join(data)


def make_shard(split, seed, count=3, workers=1):
    """Writes a shard of kind `real` unless it is there; returns its path. `count` clips a photograph (training)."""
    own = seed + (10_000 if split == 'validation' else 0)

    def tasks(paths):
        lettered = [seed * DRAWN + i for i in range(DRAWN)] if split == 'training' else []
        return [(split, source, number, count, own) for number, source in enumerate([*paths, *lettered])]
    return clips.write_shard(f'real-{split}-{seed:03d}', split, tasks, records_of, workers)


def make_pages(seed, count=3, workers=1):
    """Writes a shard of printed pages for training unless it is there; returns its path. `RealSource` reads it with the others."""
    def tasks(_):
        return [('training', Page(seed * PAGES + i), i, count, seed + 20_000) for i in range(PAGES)]
    return clips.write_shard(f'real-training-pages-{seed:03d}', 'training', tasks, records_of, workers)


@lru_cache(maxsize=2)
def faithful_network(file):
    """The shipped network whose result at strength 0 is the faithful one."""
    return frozen(from_fp32((HERE.parent / 'models' / file).read_bytes()))


@torch.no_grad()
def faithful(low, scale, file):
    """What a faithful enlargement makes of normalised planes [n, p, p], at scale 4 in two passes; at scale 1 they are it themselves."""
    if scale == 1:
        return low
    net = faithful_network(file)
    planes = np.concatenate([low[:1], np.zeros_like(low[:1]), low[1:]])[None, :net.planes]
    larger = net(torch.from_numpy(np.ascontiguousarray(planes)))[0].numpy()
    if len(larger) < len(low):  # a network of luma alone
        larger = np.concatenate([larger, _enlarged(low[1:], net.scale)])
    return larger if scale == net.scale else faithful(larger, scale // net.scale, file)


def _enlarged(planes, scale):
    """Chroma [n, h, w], enlarged by cubic interpolation."""
    return np.stack([resize(p.astype(np.float32), scale * p.shape[0], scale * p.shape[1]) for p in planes])


def trust_in_teacher(plan):
    """How much of its share a teacher gets, 0.3…1, by the resolution that blur and reduction left: it cleans compressed pictures
    well, and leaves soft ones softer than the truth teaches."""
    left = damage.effective(plan['true_size'], damage.width_of(plan['blur']) if plan['blur'] else 0.0)
    return 0.3 + 0.7 * min(1.0, max(0.0, (left - 0.5) / 0.3))


def _crop(planes, corner, patch, scale):
    """A crop of planes [n, h, w] that have `scale` times the size of the source; its corner in pixels of the source."""
    (y, x), s = corner, scale
    return planes[:, s * y:s * (y + patch), s * x:s * (x + patch)]


class RealSource(clips.ClipSource):
    """Patches of all `real` shards of a split: (low, wanted, strength).

    The strength says how much of the restoration is wanted, and nothing about the damage: the network finds that out.
    `way` 'full': strength 1, the truth. 'clean': strength 0, clean pairs, the truth: faithful enlargement. 'between': any
    strength s, wanted is s of the truth and the rest of what the faithful network makes of the damaged source. So
    one number leads from faithful to restored in steps of equal size. A tenth of either (`UNDAMAGED`) is clean pairs: a network
    that is asked for full restoration must see where there is nothing to restore.

    `sharpen` and `sharpen_sigma` (pixels of the truth): an unsharp mask on the truth of damaged pairs, because a
    network that cannot know gives the mean of what may be, which is soft. It is applied in full from an error of
    `DAMAGED` levels on, less to what has less, and not at all to what is well.

    `taught`: the share that a teacher's picture has in what is wanted of damaged pairs (×2 and ×4), where there is one (`teacher`).
    Soft sources get less of it (`trust_in_teacher`). At scale 4 the truth is the enlarged one: luma by `teacher.refine`, chroma by
    cubic interpolation, which is enough, because videos have it at half the size.
    """
    kind, SEEN, TRUTH = 'real', 0, 0

    def __init__(self, scale, split='training', colour=False, way='full', beside='fast-x2.onnx', sharpen=0.0,
                 sharpen_sigma=1.2, taught=0.0):
        super().__init__(scale, split, colour)
        self.taught = taught if scale > 1 else 0.0
        files = [Path(shard.filename) for shard in self.shards]
        self.teachers = [Beside(file, 'taught', scale) for file in files]
        self.chroma = [Beside(file, 'chroma', scale) for file in files] if colour else None
        self.finer = [Beside(file, 'finer', scale) for file in files] if scale == 4 else None
        short = [file.name for file, finer in zip(files, self.finer or ()) if len(finer.pictures) * clips.RECORD < file.stat().st_size]
        if short:
            raise GroundError(f'no_finer: the truth of {", ".join(short)} is not enlarged yet: ground.sh refine --shard …')
        self.trust = [trust_in_teacher(plan) for plan in self.plans] if self.taught else []
        self.way, self.beside, self.sharpen, self.sharpen_sigma = way, beside, sharpen, sharpen_sigma

    def _truth(self, number, corner, patch):
        """A crop of the truth; its corner in pixels of the source. At scale 4 chroma is enlarged."""
        high, scale = self.record(number)[2], max(2, self.scale)
        luma = high[0]
        if self.finer:
            shard, at, _ = self.rows[number]
            luma = self.finer[shard].pictures[at // self.size]
        luma = _crop(luma[None], corner, patch, scale)
        if self.kept == 1:
            return luma
        chroma = _crop(high[1:], corner, patch, 2)
        return np.concatenate([luma, chroma if scale == 2 else _enlarged(chroma, 2)])

    def _clean(self, number, corner, patch):
        """A crop of the source without damage; its corner in pixels of it."""
        _, clean, high, _ = self.record(number)
        if self.kept == 3:
            half = [to_bytes(mean_of_four(mean_of_four(c.astype(np.float32)))) for c in high[1:]]
            clean = np.stack([clean[0], *(on_luma_grid(c, SIDE, SIDE) for c in half)])
        return _crop(clean, corner, patch, 1)

    def _draw(self, rng, patch):
        number = int(rng.integers(len(self.rows)))
        corner = [2 * int(rng.integers((SIDE - patch) // 2 + 1)) for _ in 'yx']
        return _crop(self.record(number)[2][:1], corner, patch, 2), number, corner

    def _drawn(self, rng, patch):
        """Everything that chance decides of a sample: (record, corner, way to turn, whether undamaged, strength)."""
        _, number, corner = self._choose(rng, patch)
        best = number, corner
        way = int(rng.integers(8))
        if self.way == 'clean':
            return *best, way, True, 0.0
        undamaged = bool(rng.random() < UNDAMAGED)
        return *best, way, undamaged, 1.0 if self.way == 'full' else float(rng.random())

    def _made(self, number, corner, way, undamaged, strength, patch):
        """The sample."""
        turned = lambda planes: normalise(oriented(planes, way))
        is_clean = self.way == 'clean' or undamaged
        coded, _, _, error = self.record(number)
        clean = turned(self._clean(number, corner, patch)) if is_clean or self.scale == 1 else None
        wanted = clean if self.scale == 1 else turned(self._truth(number, corner, patch))
        if self.way == 'clean':
            return clean, wanted, 0.0
        if undamaged:
            coded = clean
        else:
            coded = turned(_crop(coded[:self.kept], corner, patch, 1))
            wanted = self._aimed_at(wanted, number, corner, way, error)
        if self.way == 'full':
            return coded, wanted, 1.0
        between = strength * wanted + np.float32(1 - strength) * faithful(coded, self.scale, self.beside)
        return coded, between, strength

    def _aimed_at(self, truth, number, corner, way, error):
        """What is wanted of a damaged pair: the truth, mixed with the teacher's picture, sharpened."""
        wanted = truth.copy()
        if self.taught:
            share = np.float32(self.taught * self.trust[number])
            for planes, taught in self._taught(number, corner, way, truth.shape[-1] // max(2, self.scale)):
                wanted[planes] += share * (taught - wanted[planes])
        if self.sharpen:
            wanted[0] = damage.unsharp(wanted[0], self.sharpen * min(1.0, error / DAMAGED), self.sharpen_sigma)
        return wanted

    def _taught(self, number, corner, way, patch):
        """(planes, the teacher's picture of them) of a crop, where there is one. Chroma of noisy pictures is not taught: a teacher
        for compressed pictures keeps its noise."""
        shard, at, _ = self.rows[number]
        luma = self.teachers[shard].picture(at // self.size)
        if luma is not None:
            yield slice(0, 1), normalise(oriented(_crop(luma[None], corner, patch, self.scale), way))
        chroma = self.chroma[shard].picture(at // self.size) if self.chroma and not is_noisy(self.plans[number]) else None
        if chroma is not None:
            chroma = _crop(chroma, corner, patch, 2)
            chroma = chroma if self.scale == 2 else _enlarged(chroma, 2)
            yield slice(1, 3), normalise(oriented(np.concatenate([chroma[:1], chroma]), way))[1:]

    def sample(self, rng, patch):
        return self._made(*self._drawn(rng, patch), patch)

    def pair(self, rng, patch):
        """(sample, sample, shift): the same square of a picture and of one beside it in its clip, and how far [down, right]
        the second shows what the first does not (`objective.unsteady`)."""
        number, *rest = self._drawn(rng, patch)
        other = self._beside(number)
        first, second = self.plans[number], self.plans[other]
        steps = second['shown'][second['frame']] - first['shown'][first['frame']]
        shift = [m * steps * self.scale // 2 if m * steps * self.scale % 2 == 0 else None for m in first['motion']]
        way = rest[1]
        if way & 4:
            shift = shift[::-1]
        for axis, bit in enumerate((2, 1)):
            if way & bit and shift[axis] is not None:
                shift[axis] = -shift[axis]
        shift = (ALONE, ALONE) if None in shift else tuple(shift)
        return self._made(number, *rest, patch), self._made(other, *rest, patch), shift

    def _beside(self, number):
        """The record of the next picture of the clip, or of the one before."""
        for other in (number + 1, number - 1):
            if 0 <= other < len(self.plans) and all(self.plans[other][k] == self.plans[number][k] for k in ('photo', 'clip')):
                return other
        return number


def rows_of(path):
    """The rows of a shard."""
    return json.loads(path.with_suffix('.json').read_text())
