"""Pictures with known damage, for the measurement of damage (`damage_estimate`): larger than the patches of the shards, one a
clip, and luma alone, so that many are soon made. One file a photograph; a command that was stopped goes on where it was.

What is known of a picture (a row of 'known'), in 8-bit levels of luma and pixels of the nominal size:

    compression  root mean square of what all encodes together changed, less the noise that they took away
    scale        true size, 1 the nominal one
    blur         standard deviation of the blur, root mean square of both axes; 0 where parts are sharp (depth of field)
    noise        root mean square of the sensor's noise that is left: by how much the delivered picture goes with the
                 noise that was put in
    error        root mean square of the delivered luma less the clean one
    natural      1 for a crop of the photograph at its own size, whose sharpness nobody knows
"""
import time

import numpy as np

from . import damage, degrade
from .photos import CACHE, luma, photos, read_rgb
from .real import DRAWN, picture_of
from .resize import resize, to_bytes

FOLDER = CACHE.parent / 'damage'
SIDE = 256
KNOWN = ('compression', 'scale', 'blur', 'noise', 'error', 'natural')
CLIPS = 10
# clean: nothing, or one encode at its best. depth: a part is out of focus. natural: not reduced, however soft it is.
ROLES = {'damaged': 0.68, 'clean': 0.12, 'depth': 0.12, 'natural': 0.08}
LATER = 0.35  # of the clips: the second picture of an encode and not the first, which is the one that a service looks at


def draw_plan(rng):
    """`damage.draw_plan` with more enlargements, and of smaller recordings."""
    plan, role = damage.draw_plan(rng), degrade.pick(rng, ROLES)
    if role == 'clean':
        plan = {**damage.plain_plan(), 'filter': plan['filter'], 'levels': plan['levels']}
        if rng.random() < 0.6:
            codec = degrade.pick(rng, {name: e[1] for name, e in damage.ENCODERS.items()})
            best, worst = damage.ENCODERS[codec][2]
            plan['codings'] = [damage._coding(codec, np.rint(best + 0.15 * (worst - best) * rng.random()))]
    elif role == 'damaged' and (plan['true_size'] < 1 or rng.random() < 0.15):
        t = float(np.exp(rng.uniform(np.log(0.2), np.log(0.97))))
        plan.update(true_size=t, up=degrade.pick(rng, damage.UP_FILTERS), codings=damage._codings(rng, t))
    elif role != 'damaged':
        plan.update(true_size=1.0, blur=None, codings=[{**c, 'size': 1.0} for c in plan['codings'][:1]])
    if plan['interlaced'] == 'comb':
        plan['interlaced'] = 'no'
    return {**plan, 'role': role, 'later': bool(rng.random() < LATER)}


def out_of_focus(rng, high):
    """Pictures [N, H, W, 1] softened by a mask that changes slowly and leaves a part sharp."""
    side = high.shape[1]
    mask = resize(rng.uniform(-1.5, 2, (5, 5)).astype(np.float32), side, side).clip(0, 1)[..., None].astype(np.float32)
    blur = {'kind': 'lens', 'sigma': [float(rng.uniform(1, 4))] * 2, 'angle': 0.0, 'power': 2.0}
    return high + mask * (damage.convolved(high, damage.kernel_of(blur, 2)) - high)


def _recorded(rng, high, plan):
    """(without noise, with noise), pictures [N, H, W] in 8-bit levels as recorded at the true size."""
    if plan['role'] == 'natural':
        small = [p[:SIDE, :SIDE, 0] for p in high]
    else:
        small = [p[..., 0] for p in damage.recorded(rng, high, {**plan, 'noise': 0.0, 'sharpened': None}, (SIDE, SIDE))]
    level = plan['noise'] * (1 - 0.4 * plan['noise_chroma'])  # luma has less of the noise that each colour has alone
    noisy = [p + degrade.sensor_noise(rng, (*p.shape, 1), level, p[..., None], plan['coarse'])[..., 0] if level else p
             for p in small]
    pair = [small, noisy]
    if plan['sharpened']:
        pair = [[damage.unsharp(p, **plan['sharpened']) for p in s] for s in pair]
    if plan['interlaced'] == 'bob':
        pair = [[damage.bobbed(p, f % 2) for f, p in enumerate(s)] for s in pair]
    return [[np.clip(p, 0, 255) for p in s] for s in pair]


def _delivered(pictures, plan, codings):
    """The last luma plane [SIDE, SIDE] through the encodes and the enlargement."""
    clip = []
    for p in pictures:
        grey = np.full((p.shape[0] // 2, p.shape[1] // 2), 128, np.uint8)
        clip.append([to_bytes(16 + p * (219 / 255)), grey, grey])
    clip = damage._encoded(clip, [c for c in codings if c['size'] < 1], {'coding': []})
    if clip[0][0].shape[0] != SIDE:
        clip = [damage.enlarged(planes, (SIDE, SIDE), plan['up']) for planes in clip]
    if plan['sharpened_after']:
        clip = [[to_bytes(damage.unsharp(p[0].astype(np.float32), **plan['sharpened_after'])), *p[1:]] for p in clip]
    return damage._encoded(clip, [c for c in codings if c['size'] == 1], {'coding': []})[-1][0]


def _rms(x):
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64))))


def _parted(made, quiet, noisy):
    """(noise, compression): how much of the noise that was put in is in the delivered picture, and all else that changed."""
    put_in = noisy.astype(np.float64) - quiet
    change = made.astype(np.float64) - quiet
    left = np.clip((change * put_in).sum() / max((put_in**2).sum(), 1e-9), 0, 1) * put_in
    return _rms(left), _rms(change - left)


def _window(rng, picture, plan):
    """Grey [N, 2·SIDE, 2·SIDE, 1] in 0..255 of one clip with the plan's levels; two pictures where the later one is wanted."""
    side, count = 2 * SIDE, 1 + plan['later']
    step = [int(m) for m in plan['motion']]
    room = [picture.shape[i] - side - abs(step[i]) for i in (0, 1)]
    if min(room) < 0:
        step, room = [0, 0], [picture.shape[i] - side for i in (0, 1)]
    y, x = (int(rng.integers(r + 1)) + max(0, -s) for r, s in zip(room, step))
    high = np.stack([picture[a:a + side, b:b + side] for a, b in ((y, x), (y + step[0], x + step[1]))][:count]).astype(np.float32)
    high = damage.faded(high, plan['levels']) if plan['levels'] else high
    return (luma(high)[..., None] - 16) * np.float32(255 / 219)


def made_of(rng, picture, plan):
    """(luma [SIDE, SIDE] as delivered, what is known of it [len(KNOWN)]) of RGB bytes."""
    high = _window(rng, picture, plan)
    if plan['role'] == 'depth':
        high = out_of_focus(rng, high)
    natural = plan['role'] == 'natural'
    clean = 16 + (high[-1, :SIDE, :SIDE, 0] if natural else resize(high[-1, ..., 0], SIDE, SIDE)) * (219 / 255)
    quiet, noisy = _recorded(rng, high, plan)
    made = _delivered(noisy, plan, plan['codings'])
    uncoded = _delivered(noisy, plan, []) if plan['codings'] else made
    noise, compression = _parted(made, _delivered(quiet, plan, []) if plan['noise'] else uncoded, uncoded)
    scale = damage.even_size(SIDE, plan['true_size']) / SIDE
    blur = damage.width_of(plan['blur']) if plan['blur'] else 0.0
    return made, np.array([compression, scale, blur, noise, _rms(made - clean), natural], np.float32)


def _source_of(source, rng):
    """RGB bytes at a size at which a window fits into it; None where it is too small at all."""
    if isinstance(source, int):
        picture = picture_of(source, 1.0)
        return picture if picture is not None and min(picture.shape[:2]) >= 2 * SIDE else None
    for size in (float(rng.choice([0.5, 0.75, 1.0], p=[0.35, 0.35, 0.3])), 0.75, 1.0):
        picture = read_rgb(source, size)
        if min(picture.shape[:2]) >= 2 * SIDE:
            return picture
    return None


def plans_for(split, rng):
    """Drawn plans; validation photographs go through every validation chain besides."""
    plans = [draw_plan(rng) for _ in range(CLIPS)]
    if split == 'validation':
        plans += [{**damage.chain_plan(name, rng), 'role': 'damaged', 'later': False} for name in damage.CHAINS]
    return plans


def make_file(split, number, source):
    """Writes the pictures of one photograph (or drawn picture) unless they are there."""
    import av  # here, because training on finished features needs none of it

    path = FOLDER / f'{split}-{number:04d}.npz'
    if path.exists():
        return
    rng = np.random.default_rng([12, number, split == 'validation'])
    picture = _source_of(source, rng)
    plans, made = plans_for(split, rng) if picture is not None else [], []
    for at in range(len(plans)):
        while len(made) <= at:
            try:
                made.append(made_of(rng, picture, plans[at]))
            except (av.FFmpegError, RuntimeError) as error:  # an encoder that gives up on a clip of one or two pictures
                print(f'{path.name}: {error}, {plans[at]["codings"]}', flush=True)
                plans[at] = draw_plan(rng)
    part = path.with_suffix('.part')
    with open(part, 'wb') as out:
        np.savez(out, pictures=np.array([m[0] for m in made], np.uint8), known=np.array([m[1] for m in made], np.float32),
                 chains=np.array([p['chain'] if p['role'] == 'damaged' else p['role'] for p in plans], str))
    part.rename(path)


def sources_of(split):
    """Photographs, and for training some drawn pictures: letters and lines."""
    return [*photos(split), *(range(1000, 1000 + DRAWN) if split == 'training' else [])]


def make_files(minutes=None):
    """Makes what is missing; returns how many files are missing still. Spread over both lists, so that what is there after
    a while is a fair part of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes if minutes else None
    tasks = []
    for split in ('training', 'validation'):
        sources = sources_of(split)
        order = np.random.default_rng(3).permutation(len(sources))
        tasks += [(at / len(sources), split, int(number), sources[number]) for at, number in enumerate(order)]
    missing = 0
    for _, split, number, source in sorted(tasks, key=lambda task: task[0]):
        if end and time.monotonic() > end:
            missing += not (FOLDER / f'{split}-{number:04d}.npz').exists()
        else:
            make_file(split, number, source)
    return missing
