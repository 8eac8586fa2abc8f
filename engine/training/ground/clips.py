"""Shards of degraded clips: windows that move over photographs, degraded and encoded, kept on disk as bytes.

Made once by a job of its own, because encoders are too slow to feed a trainer; a shard is named by its seed.
A shard is one file of records, [coded LR (Y', Cb, Cr) | clean LR (Y') | HR (Y', Cb, Cr)] planes without subsampling, and a
list of what was done to each.
"""
import json
import multiprocessing
import os

import numpy as np

from . import degrade
from .photos import CACHE, on_luma_grid, photos, read_rgb, ycbcr
from .resize import to_bytes
from .samples import Choosing, cut, normalise, oriented

SIDE, FRAMES, KEPT = 160, 6, 2  # low-resolution pixels a side; pictures a clip; pictures kept of it
AREA = SIDE * SIDE
RECORD = 3 * AREA + AREA + 3 * 4 * AREA


def draw_plan(rng):
    """Everything that happens to a clip: plain data, written beside it."""
    codings = [degrade.draw_coding(rng) for _ in range(2 if rng.random() < 0.2 else 1)]
    return {
        'size': float(rng.choice([1.0, 0.75, 0.5])),
        'motion': [int(v) for v in np.rint(rng.normal(0, 3, 2))],
        'blur': bool(rng.random() < 0.25),
        'filter': degrade.pick(rng, degrade.DOWN_FILTERS),
        'linear': bool(rng.random() < 0.15),
        'noise': float(rng.uniform(1, 12)) if rng.random() < 0.35 else 0.0,
        'coarse': bool(rng.random() < 0.3),
        'codings': codings,
        'full_chroma': bool(all(c['codec'] == 'libx264' for c in codings) and rng.random() < 0.15),
    }


def windows(rng, picture, motion):
    """FRAMES windows of 2·SIDE that move by whole high-resolution pixels (half ones of the source)."""
    side = 2 * SIDE
    room = [picture.shape[i] - side - abs(motion[i]) * (FRAMES - 1) for i in (0, 1)]
    if min(room) < 0:
        motion, room = (0, 0), [picture.shape[i] - side for i in (0, 1)]
    at = [int(rng.integers(room[i] + 1)) + (abs(motion[i]) * (FRAMES - 1) if motion[i] < 0 else 0) for i in (0, 1)]
    places = [(at[0] + motion[0] * f, at[1] + motion[1] * f) for f in range(FRAMES)]
    return [picture[y:y + side, x:x + side].astype(np.float32) for y, x in places]


def degraded(rng, picture, plan):
    """(coded planes, clean LR, seen LR, HR) of every picture of a clip: what an encoder made of `seen` (blurred, before
    noise), the reduction without any of that, and the original; planes as bytes, the other RGB."""
    high = windows(rng, picture, plan['motion'])
    kernel = degrade.blur_kernel(rng) if plan['blur'] else None
    clean = [degrade.reduce(f, plan['filter'], plan['linear']) for f in high]
    seen = [degrade.reduce(degrade.convolve(f, kernel), plan['filter'], plan['linear']) for f in high] \
        if plan['blur'] else clean
    low = seen
    if plan['noise']:
        low = [f + degrade.sensor_noise(rng, f.shape, plan['noise'], f, plan['coarse']) for f in low]
    clip = [degrade.planes_of(np.clip(f, 0, 255), not plan['full_chroma']) for f in low]
    for coding in plan['codings']:
        clip = degrade.code(clip, coding)
    return [(planes, clean[k], seen[k], high[k]) for k, planes in enumerate(clip)]


def error_of(coded, seen):
    """Root mean square of what noise and compression (not blur) changed in the luma, in 8-bit levels."""
    return float(np.sqrt(np.mean((coded - degrade.luma(seen)) ** 2)))


def make_clip(rng, picture, plan):
    """[(coded LR [3, …], clean LR, HR [3, …], error)] of the pictures kept: bytes of limited range, and `error_of` each."""
    clip = degraded(rng, picture, plan)
    kept = [clip[k] for k in rng.choice(FRAMES, KEPT, replace=False)]
    return [(np.stack([on_luma_grid(p, SIDE, SIDE) for p in coded]), to_bytes(degrade.luma(clean)), ycbcr(high),
             error_of(coded[0], seen)) for coded, clean, seen, high in kept]


def records_of(task, make=make_clip):
    """(rows, bytes) of all clips of one photograph in one shard; `make` gives planes, the error last."""
    path, photo, clips, seed = task
    rng = np.random.default_rng([seed, photo])
    picture, size, rows, data = None, None, [], []
    for plan in sorted((draw_plan(rng) for _ in range(clips)), key=lambda p: p['size']):
        if plan['size'] != size:
            size = plan['size']
            picture = read_rgb(path, size)
        if min(picture.shape[:2]) < 2 * SIDE:
            continue
        for *planes, error in make(rng, picture, plan):
            rows.append({**plan, 'photo': path.name, 'error': error})
            data.append(b''.join(p.tobytes() for p in planes))
    return rows, b''.join(data)


def make_shard(split, seed, clips=12, workers=1, kind='coloured', records=records_of):
    """Writes a shard unless it is there; returns its path. `clips` a photograph; `records` makes those of one."""
    def tasks(paths):
        return [(p, i, clips, seed + (10_000 if split == 'validation' else 0)) for i, p in enumerate(paths)]
    return write_shard(f'{kind}-{split}-{seed:03d}', split, tasks, records, workers)


def write_shard(name, split, tasks, records, workers):
    """Writes a shard unless it is there; returns its path. `tasks` makes the list of tasks of the split's photographs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f'{name}.bin'
    if path.exists():
        return path
    listed = tasks(photos(split))
    rows, part = [], path.with_suffix('.part')
    with open(part, 'wb') as out, multiprocessing.get_context('fork').Pool(workers) as pool:
        for done, (more, data) in enumerate(pool.imap(records, listed)):
            rows += more
            out.write(data)
            if done % 20 == 19:
                print(f'{path.name}: {done + 1} of {len(listed)} pictures', flush=True)
    path.with_suffix('.json').write_text(json.dumps(rows))
    os.rename(part, path)
    return path


class ClipSource(Choosing):
    """Patches of all shards of a split: (low, wanted, strength) as `samples.PhotoSource` gives them.

    Strength is the root mean square of what compression and noise changed, in 8-bit levels / 50. The network gets it
    with an error of up to a fifth, because a service can only estimate it.
    """

    kind, size = 'coloured', RECORD

    def __init__(self, scale, split='training', colour=False):
        self.scale, self.kept = scale, 3 if colour else 1
        self.rows, self.shards, self.plans = [], [], []
        for path in sorted(CACHE.glob(f'{self.kind}-{split}-*.bin')):
            shard = np.memmap(path, np.uint8, 'r')
            rows = json.loads(path.with_suffix('.json').read_text())
            self.rows += [(len(self.shards), at * self.size, row['error']) for at, row in enumerate(rows)]
            self.plans += rows
            self.shards.append(shard)

    def record(self, number):
        """(coded LR [3, …], clean LR [1, …], HR [3, …], root mean square error in 8-bit levels)."""
        shard, at, error = self.rows[number]
        data = self.shards[shard][at:at + RECORD]
        return (data[:3 * AREA].reshape(3, SIDE, SIDE), data[3 * AREA:4 * AREA].reshape(1, SIDE, SIDE),
                data[4 * AREA:].reshape(3, 2 * SIDE, 2 * SIDE), error)

    def _draw(self, rng, patch):
        coded, clean, high, error = self.record(rng.integers(len(self.rows)))
        wanted = high if self.scale == 2 else clean
        return *cut(rng, coded[:self.kept], wanted[:self.kept], patch, self.scale), error

    def sample(self, rng, patch):
        best = self._choose(rng, patch)
        way = rng.integers(8)
        strength = min(1.0, best[2] / 50 * rng.uniform(0.8, 1.2))
        return normalise(oriented(best[0], way)), normalise(oriented(best[1], way)), strength
