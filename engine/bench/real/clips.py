"""Test clips: moving windows over validation photographs at 1080p, damaged by each chain into small video files.

The product reads files, so the last encode of a chain is kept as the file: the enhancement sees its codec and quantisers.
A clip depends only on the seed, the chain and the picture.
"""
import string
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ground import damage, degrade
from ground.photos import GroundError, photos, read_rgb
from PIL import Image, ImageDraw, ImageFont

RATE = 25  # frames per second
SEED = 19
# The ten chains of the training ground's validation, and a chain with small text.
CHAINS = {**damage.CHAINS, 'text': {'codings': [('libx264', 28)]}}
LOSSLESS = {'codec': 'ffv1', 'quality': 0}
# Validation photographs of at least 1440×1080 (or 1080×1440): people, a shop at night, a book, leaves.
PICTURES = ('mdx-panasonic-dmc-fz18.jpg', 'immich-japanese-shop.jpg', 'immich-book-beside-flowers.webp', 'mdx-apple-iphone-6.webp')
# (width, height) of the damaged video and of the truth (the product's 1080p) in landscape; portrait pictures swap them.
SOURCES = ((480, 360), (352, 264))
TRUTH = (1440, 1080)
LETTERS = (12, 44)  # heights of small text in pixels of the truth; 3 to 11 pixels in the source


@dataclass
class Clip:
    name: str
    chain: str
    file: Path        # the damaged video
    truth: object     # uint8 [frames, height, width, 3] RGB, or None where it is unknown
    motion: object    # [down, right] of the window from frame to frame, in pixels of the truth; None without truth
    start_s: float = 0.0


def shapes_of(picture, number):
    """((height, width) of the source, (height, width) of the truth) for PICTURES[number]."""
    source, truth = SOURCES[number % len(SOURCES)], TRUTH
    portrait = picture.shape[0] > picture.shape[1]
    return tuple(size if portrait else size[::-1] for size in (source, truth))


def _words(rng, count):
    letters = string.ascii_lowercase + string.ascii_uppercase[:4] + '   '
    return ''.join(rng.choice(list(letters), count))


def with_text(picture, rng):
    """A copy of an RGB picture with a printed page in the middle: each line of text is smaller than the one before."""
    page = Image.fromarray(picture)
    width, height = page.size
    left, top, right, bottom = width // 8, height // 8, width * 7 // 8, height * 7 // 8
    draw = ImageDraw.Draw(page)
    draw.rectangle([left, top, right, bottom], fill=(236, 232, 220))
    y, heights = top + 20, np.geomspace(LETTERS[1], LETTERS[0], 16)
    for size in np.tile(heights, 3):
        font = ImageFont.load_default(float(size))
        if y + 1.6 * size > bottom:
            break
        draw.text((left + 20, y), _fitting(_words(rng, 200), font, right - left - 40), (30, 28, 34), font)
        y += int(1.5 * size)
    return np.asarray(page)


def _fitting(line, font, width):
    """The beginning of a line, cut to `width` pixels."""
    while font.getlength(line) > width:
        line = line[:-1]
    return line


def windows(picture, shape, motion, frames, rng):
    """(uint8 [frames, *shape, 3], motion): a window that moves over a picture by whole pixels, within its borders."""
    room = [picture.shape[i] - shape[i] for i in (0, 1)]
    if min(room) < 0:
        raise GroundError(f'small_picture: {picture.shape[:2]} does not hold {shape}.')
    steps = max(1, frames - 1)
    motion = [int(np.clip(motion[i], -(room[i] // steps), room[i] // steps)) for i in (0, 1)]
    spare = [room[i] - abs(motion[i]) * (frames - 1) for i in (0, 1)]
    at = [int(rng.integers(spare[i] + 1)) + (abs(motion[i]) * (frames - 1) if motion[i] < 0 else 0) for i in (0, 1)]
    corners = [(at[0] + motion[0] * f, at[1] + motion[1] * f) for f in range(frames)]
    return np.stack([picture[y:y + shape[0], x:x + shape[1]] for y, x in corners]), motion


def damaged_file(truth, plan, shape, rng):
    """(bytes, extension) of the video that a damage plan makes from RGB frames. `shape`: (height, width) of the video."""
    before, last = plan['codings'][:-1], (plan['codings'] or [LOSSLESS])[-1]
    clip, _ = damage.damaged(rng, truth.astype(np.float32), None, {**plan, 'codings': before}, shape)
    return encoded_file(clip, last)


def encoded_file(clip, coding):
    """(bytes, extension) of pictures [[Y', Cb, Cr], …] in a container that the product reads."""
    # The training ground uses NUT for these codecs.
    container = {'h263p': 'avi', 'flv': 'flv'}.get(coding['codec'], 'matroska')
    return degrade.encoded(clip, coding, RATE, container), '.mkv' if container == 'matroska' else f'.{container}'


def make_clip(chain, picture, number, frames, folder, name, seed=SEED):
    """Makes the clip of a chain and an RGB picture, PICTURES[number], and writes its file to `folder`."""
    rng = np.random.default_rng([seed, list(CHAINS).index(chain), number])
    plan = {**damage.chain_plan(chain, rng, CHAINS), 'shown': list(range(frames))}
    if chain == 'text':
        picture = with_text(picture, rng)
    source, shape = shapes_of(picture, number)
    truth, motion = windows(picture, shape, plan['motion'], frames, rng)
    data, extension = damaged_file(truth, plan, source, rng)
    file = Path(folder) / f'{chain}-{name}{extension}'
    file.write_bytes(data)
    return Clip(f'{chain}-{name}', chain, file, truth, motion)


def clips_of(count, frames, folder, chains=None):
    """Yields a clip for each of `count` pictures and each chain (all by default). A file exists until the next clip."""
    paths = {path.name: path for path in photos('validation')}
    for number, file in enumerate(PICTURES[:count]):
        picture = read_rgb(paths[file])
        for chain in chains or CHAINS:
            clip = make_clip(chain, picture, number, frames, folder, Path(file).stem)
            yield clip
            clip.file.unlink()
