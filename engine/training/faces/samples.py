"""Pairs of a damaged and a good patch, most of them of faces, the others of anything that the photographs show.

The damaged one is what the engine cuts out of a decoded video (faces/restorer.h): a clip of the patch with real damage
(ground/damage.py), enlarged to the crop's pixels by bilinear sampling.
"""
import hashlib
import json
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from ground import damage, degrade
from ground.photos import CACHE, photos
from ground.resize import resize, to_bytes
from ground.teacher import rgb_of

LIST = Path(__file__).with_name('faces.json')
SIDE = 192         # of a patch: three quarters of the crop's side
FACE = 0.66        # of the crop's side is about the side of a face's box
FACES_SHARE = 0.7  # of the clips
SMALLEST_X265 = 64  # x265 crashes with smaller pictures
MOST_REDUCED = 5   # a face of 170 pixels in the crop has 34 or more in the source
BETTER = 0.6       # of an encoder's qualities: the worse ones leave nothing of a face that a network could restore


def faces_of(split):
    """[(path, [left, top, right, bottom])]: faces that the engine's detector found (reelmend-faces), those of the split's photographs."""
    listed = json.loads(LIST.read_text())
    return [(path, row['box']) for path in photos(split) for row in listed if row['file'] == path.name]


def window_of(rng, size, box=None):
    """(left, top, side) of a patch in a photograph of `size` (width, height), with a face's box or anywhere. No patch is enlarged."""
    if box is None:
        side = min(int(SIDE * np.exp(rng.uniform(0, np.log(3)))), *size)
        middle = rng.uniform(0, size[0]), rng.uniform(0, size[1])
    else:
        left, top, right, bottom = box
        as_cropped = 0.75 / FACE * max(right - left, bottom - top)
        side = min(max(SIDE, int(as_cropped * rng.uniform(0.8, 1.3))), *size)
        middle = (left + right) / 2 + side * rng.uniform(-0.15, 0.15), (top + bottom) / 2 + side * rng.uniform(-0.15, 0.15)
    corner = (int(np.clip(m - side / 2, 0, s - side)) for m, s in zip(middle, size))
    return (*corner, side)


def clip_of(rng, picture, window, motion):
    """Good patches [FRAMES, SIDE, SIDE, 3] of bytes: the window moves by `motion` pixels of the patch (down, right) from picture to picture."""
    left, top, side = window
    step, patches = side / SIDE, []
    for f in range(damage.FRAMES):
        x = int(np.clip(left + motion[1] * step * f, 0, picture.width - side))
        y = int(np.clip(top + motion[0] * step * f, 0, picture.height - side))
        patches.append(np.asarray(picture.crop((x, y, x + side, y + side)).resize((SIDE, SIDE), Image.Resampling.LANCZOS)))
    return np.stack(patches)


def sampled(planes):
    """[SIDE, SIDE, 3] of bytes from Y', Cb, Cr of a damaged picture (chroma at half the size)."""
    whole = np.stack([resize(p.astype(np.float32), SIDE, SIDE, 'bilinear') for p in planes])
    return to_bytes(255 * rgb_of(whole)[0].transpose(1, 2, 0))


def draw_coding(rng, last, size=1.0):
    """As damage.draw_coding, without the worst qualities."""
    coding = damage.draw_coding(rng, last, size)
    best, worst = damage.ENCODERS[coding['codec']][2]
    return {**coding, 'quality': int(np.rint(best + BETTER * (coding['quality'] - best)))}


def draw_plan(rng):
    """What happens to most videos: less than by damage.draw_plan, whose clips taught a network to smooth the faces of all others."""
    t = float(rng.uniform(0.5, 0.95)) if rng.random() < 0.15 else 1.0
    number = rng.choice([0, 1, 2], p=[0.08, 0.77, 0.15])
    plan = {**damage.plain_plan(), 'motion': [int(v) for v in np.rint(rng.normal(0, 3, 2) * (rng.random() < 0.8))],
            'filter': degrade.pick(rng, degrade.DOWN_FILTERS), 'true_size': t, 'up': degrade.pick(rng, damage.UP_FILTERS) if t < 1 else None,
            'codings': [draw_coding(rng, last=at == number - 1) for at in range(number)]}
    if rng.random() < 0.3:
        blur = damage.draw_blur(rng)
        plan['blur'] = {**blur, 'sigma': [s / 2 for s in blur['sigma']]}
    if rng.random() < 0.35:
        plan.update(noise=float(1 + 9 * rng.random() ** 1.7), noise_chroma=float(rng.uniform(0, 1)), coarse=bool(rng.random() < 0.4))
    return plan


def pairs_of(rng, picture, box=None):
    """Two pairs (damaged, good) [SIDE, SIDE, 3] of bytes, of two pictures of one clip."""
    plan = draw_plan(rng)
    goods = clip_of(rng, picture, window_of(rng, picture.size, box), plan['motion'])
    if rng.random() < 0.5:
        goods = goods[:, :, ::-1]
    side = max(32, round(SIDE / np.exp(rng.uniform(0, np.log(MOST_REDUCED))) / 4) * 4)
    plan['codings'] = [{**c, 'codec': 'libx264'} if c['codec'] == 'libx265' and side * c['size'] < SMALLEST_X265 else c for c in plan['codings']]
    clip, _ = damage.damaged(rng, goods.astype(np.float32), None, plan, (side, side))
    first = int(rng.integers(damage.FRAMES - 1))
    return [(sampled(clip[f]), np.ascontiguousarray(goods[plan['shown'][f]])) for f in (first, first + 1)]


def _task(task):
    """Pairs of one photograph: [2n, 2, SIDE, SIDE, 3]."""
    path, boxes, seed, number = task
    picture, pairs = Image.open(path).convert('RGB'), []
    rng = np.random.default_rng([seed, number])
    for box in boxes:
        pairs += pairs_of(rng, picture, box)
    return np.array(pairs, np.uint8)


def _tasks(split, seed, clips):
    """One for each photograph, which is opened once. Faces take turns, so that each is seen equally often."""
    faces, paths, boxes = faces_of(split), photos(split), {}
    rng = np.random.default_rng([seed, 9])
    for n in range(clips):
        path, box = faces[n % len(faces)] if rng.random() < FACES_SHARE or split == 'validation' else (paths[rng.integers(len(paths))], None)
        boxes.setdefault(path, []).append(box)
    return [(path, held, seed, number) for number, (path, held) in enumerate(sorted(boxes.items()))]


def make_pairs(split, clips, seed=1, workers=2):
    """Memory-mapped pairs [2·clips, 2, SIDE, SIDE, 3] of bytes, made once and kept in the cache. Validation has faces alone."""
    code = hashlib.sha256(Path(__file__).read_bytes() + LIST.read_bytes()).hexdigest()[:8]
    path = CACHE / f'faces-{split}-{clips}-{seed}-{code}.npy'
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with get_context('spawn').Pool(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:  # a fork of PyTorch's threads hangs
            made = np.concatenate(pool.map(_task, _tasks(split, seed, clips), chunksize=1))
        np.save(path, made)
    return np.load(path, mmap_mode='r')


def as_tensors(pairs):
    """(damaged, good), each [N, 3, SIDE, SIDE] of float32 from −1 to 1."""
    values = np.ascontiguousarray(pairs.transpose(1, 0, 4, 2, 3), np.float32) / 127.5 - 1
    return values[0], values[1]
