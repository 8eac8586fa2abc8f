"""What `plan` says of videos whose damage is known: the resolution that it names, and whether it tells heavy compression from light.

A video has four shots of different validation photographs, each of which begins with a key frame: the engine looks at four
pictures of a video. The words are those that a user sees (`condition`). A video depends only on the seed, the chain and its number.
"""
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ground import damage, degrade
from ground.damage_estimate import HEAVY, LIGHT
from ground.photos import photos, read_rgb
from PIL import Image

from . import clips

SEED = 78
SHOTS, FRAMES = 4, 3
SOURCE, TRUTH = (360, 480), (720, 960)  # (height, width) of the video, and of what is reduced to it
DRAWN = 6  # videos of each number with damage that is drawn as for the training, beside one of each chain
WITHIN = 0.2
COUNT = 24
CHAINS = (*damage.CHAINS, *['drawn'] * DRAWN)


@dataclass
class Known:
    scale: float        # the size of the recording, as a share of the nominal one
    effective: float    # the resolution that is left, the same
    compression: float | None  # RMS change by all encodes, 8-bit levels; None where noise hides it


def pictures():
    """The validation photographs that hold TRUTH."""
    return [path for path in photos('validation') if _share(path) <= 1]


def _share(path):
    """The reduction at which a photograph just holds TRUTH, with some room to move."""
    with Image.open(path) as opened:
        sides = sorted(opened.size)
    return max(TRUTH[0] / sides[0], TRUTH[1] / sides[1])


def plans(number):
    """[(name, plan)] of the videos of a number, as CHAINS names them."""
    rng = np.random.default_rng([SEED, number])
    found = [(name, damage.draw_plan(rng) if name == 'drawn' else damage.chain_plan(name, rng)) for name in CHAINS]
    return [(name, {**plan, 'interlaced': 'no', 'shown': list(range(FRAMES))}) for name, plan in found]


def _shot(path, motion, rng):
    """float32 [FRAMES, *TRUTH, 3] RGB of a window that moves over a photograph."""
    picture = read_rgb(path, min(1.0, max(1.06 * _share(path), 0.5)))
    if picture.shape[0] > picture.shape[1]:
        picture = picture.transpose(1, 0, 2)
    return clips.windows(picture, TRUTH, motion, FRAMES, rng)[0].astype(np.float32)


def make_video(paths, number, place, plan, folder):
    """(file, Known) of a damage plan."""
    rng = np.random.default_rng([SEED, number, place])
    last = {**(plan['codings'] or [clips.LOSSLESS])[-1], 'key_interval': FRAMES}
    video, before = [], []
    for shot in range(SHOTS):
        truth = _shot(paths[(number + shot * len(paths) // SHOTS) % len(paths)], plan['motion'], rng)
        pictures_of_shot, facts = damage.damaged(rng, truth, None, {**plan, 'codings': plan['codings'][:-1]}, SOURCE)
        video += pictures_of_shot
        before.append([coding['error'] ** 2 for coding in facts['coding']])
    data, extension = clips.encoded_file(video, last)
    file = Path(folder) / f'named{extension}'
    file.write_bytes(data)
    squares = [*np.mean(before, 0), damage.change(video, degrade.code(video, last)) ** 2]
    scale = damage.even_size(min(SOURCE), plan['true_size']) / min(SOURCE)
    blur = damage.width_of(plan['blur']) if plan['blur'] else 0.0
    return file, Known(scale, float(damage.effective(scale, blur)), None if plan['noise'] else float(np.sum(squares)) ** 0.5)


def named_resolution(condition, lines):
    """The resolution that the words name, as a share of the nominal one."""
    found = re.search(r'about (\d+)p', condition)
    if found:
        return int(found[1]) / lines
    return 0.72 if 'a little soft' in condition else 1.0  # the engine says so between 0.65 and 0.8


def row_of(name, known, condition):
    """What became of a video: {'chain', 'known', 'condition', 'near': the resolution is within 20 %, 'told': heavy
    compression is called so, and light compression is not, None for what is between; 'falsely': called enlarged, None for what was}."""
    says_heavy = 'compressed' in condition and 'lightly compressed' not in condition
    told = None
    if known.compression is not None and not LIGHT <= known.compression <= HEAVY:
        told = says_heavy == (known.compression > HEAVY)
    near = abs(named_resolution(condition, min(SOURCE)) / known.effective - 1) < WITHIN
    return {'chain': name, 'known': vars(known), 'condition': condition, 'near': bool(near), 'told': told,
            'falsely': 'enlarged before' in condition if known.scale == 1 else None}


def measure(count, folder, condition_of, say):
    """Yields a row for each video of `count` numbers. `condition_of`: the product's words for a file."""
    paths = pictures()
    for number in range(min(count, len(paths))):
        for place, (name, plan) in enumerate(plans(number)):
            file, known = make_video(paths, number, place, plan, folder)
            yield row_of(name, known, condition_of(file))
            file.unlink()
        say(f'named: {number + 1} of {count}')
