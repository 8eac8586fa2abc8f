"""Drawn pictures: what photographs hold too little of and films are full of, sharp edges, letters, fine lines, gratings.

Leaves that cover each other ("dead leaves"; Achddou et al. 2021 trained networks of restoration on nothing else), with
writing and lines among them, at three times the size and then reduced. Nothing comes from outside: the font is Pillow's own.
"""
import multiprocessing
import string

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .photos import CACHE
from .resize import resize, to_bytes

PICTURES, SIDE, FINER = 300, 448, 3
EDITION = 1  # part of the cache's name: raise it when a picture's seed gives another picture


def _gray(rng):
    return int(rng.integers(256))


def _texture(rng, side):
    """A ramp or a grating of any direction, uint8 [side, side]."""
    y, x = np.mgrid[:side, :side] / side - 0.5
    angle = rng.uniform(0, 2 * np.pi)
    along = x * np.cos(angle) + y * np.sin(angle)
    level, height = rng.uniform(0, 255), rng.uniform(-160, 160)
    if rng.random() < 0.5:
        return to_bytes(level + height * along)
    periods = side / FINER / np.exp(rng.uniform(np.log(2.5), np.log(40)))
    wave = np.sin(2 * np.pi * (periods * along + rng.random()))
    return to_bytes(level + height / 2 * (np.sign(wave) if rng.random() < 0.4 else wave))


def _outline(rng, radius):
    """Corners of a leaf around 0: a circle, a rectangle or a jagged thing."""
    kind = rng.integers(3)
    if kind == 0:
        angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        return radius * np.stack([np.cos(angles), np.sin(angles) * rng.uniform(0.4, 1)], 1)
    if kind == 1:
        turn, flat = rng.uniform(0, np.pi), rng.uniform(0.1, 1)
        corners = np.array([[-1, -flat], [1, -flat], [1, flat], [-1, flat]]) * radius
        return corners @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    angles = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 9)))
    return radius * rng.uniform(0.3, 1, len(angles))[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)


def _leaves(rng, picture):
    """Leaves over each other, as many small as large ones by the logarithm of their radius: detail of every size."""
    draw, side = ImageDraw.Draw(picture), picture.width
    for radius in np.exp(rng.uniform(np.log(3.0), np.log(side / 4), rng.integers(200, 600))):
        middle = rng.uniform(0, side, 2)
        outline = _outline(rng, radius)
        if rng.random() < 0.7 or radius < 12:
            draw.polygon([tuple(p) for p in outline + middle], _gray(rng))
            continue
        size = 2 * int(radius) + 2
        mask = Image.new('L', (size, size))
        ImageDraw.Draw(mask).polygon([tuple(p) for p in outline + radius], 255)
        picture.paste(Image.fromarray(_texture(rng, size)), tuple(int(v - radius) for v in middle), mask)


def _writing(rng, picture):
    letters = string.ascii_letters * 2 + string.digits + '.,:;!?()+-=/%&'
    for _ in range(rng.integers(2, 9)):
        font = ImageFont.load_default(int(FINER * np.exp(rng.uniform(np.log(8), np.log(64)))))
        text = ' '.join(''.join(rng.choice(list(letters), rng.integers(1, 9))) for _ in range(rng.integers(1, 6)))
        line = Image.new('L', [int(v) + 8 for v in font.getbbox(text)[2:]])
        ImageDraw.Draw(line).text((4, 4), text, 255, font)
        if rng.random() < 0.4:
            line = line.rotate(rng.uniform(-180, 180), Image.BICUBIC, expand=True)
        at = tuple(int(v) for v in rng.uniform(-0.1, 0.8, 2) * picture.width)
        picture.paste(_gray(rng), (*at, at[0] + line.width, at[1] + line.height), line)


def _lines(rng, picture):
    draw, side = ImageDraw.Draw(picture), picture.width
    for _ in range(rng.integers(3, 25)):
        ends = [tuple(p) for p in rng.uniform(0, side, (rng.integers(2, 5), 2))]
        draw.line(ends, _gray(rng), int(FINER * rng.uniform(0.7, 4)), 'curve')


def picture(seed):
    """uint8 [SIDE, SIDE], 0..255; the same for a seed."""
    rng = np.random.default_rng([2026, seed])
    drawn = Image.fromarray(_texture(rng, FINER * SIDE))
    for layer in rng.permutation([_leaves, _writing, _lines]):
        if layer is _leaves or rng.random() < 0.6:
            layer(rng, drawn)
    return np.asarray(drawn.resize((SIDE, SIDE), Image.LANCZOS if rng.random() < 0.5 else Image.BOX))


def _page_colours(rng):
    """(paper, ink) in RGB, far enough apart to be read; a third are light on dark."""
    light, dark = rng.uniform(150, 255, 3), rng.uniform(0, 90, 3)
    light, dark = (v.mean() + (v - v.mean()) * rng.random() for v in (light, dark))
    pair = [tuple(int(c) for c in v) for v in (light, dark)]
    return pair if rng.random() < 0.67 else pair[::-1]


def _words(rng, count):
    letters = list(string.ascii_lowercase * 6 + string.ascii_uppercase + string.digits)
    return ' '.join(''.join(rng.choice(letters, rng.integers(1, 10))) + str(rng.choice(list(' ' * 12 + '.,:;!?')))
                    for _ in range(count)).replace('  ', ' ')


def _type_line(rng, height, ink, paper, width):
    """A line of letters of a height in pixels, wider or narrower, slanted or bold by chance: one font gives many faces."""
    font = ImageFont.load_default(float(height))
    line = Image.new('RGB', (2 * width, int(1.5 * height)), paper)
    bold = int(rng.random() < 0.25) * max(1, round(height / 18))
    ImageDraw.Draw(line).text((bold, 0), _words(rng, max(2, int(60 * FINER / height * 8))), ink, font, stroke_width=bold)
    stretch = np.exp(rng.uniform(np.log(0.75), np.log(1.4)))
    slant = rng.uniform(-0.25, 0.25) if rng.random() < 0.25 else 0.0
    return line.transform((width, line.height), Image.AFFINE, (1 / stretch, slant, 0, 0, 1, 0), Image.BICUBIC, fillcolor=paper)


def page(seed):
    """A printed page, uint8 [SIDE, SIDE, 3], RGB; the same for a seed. Letters are 6 to 60 pixels high: down to what cannot
    be read after the reduction to a source of half the size, where nothing may be invented."""
    rng = np.random.default_rng([2027, seed])
    paper, ink = _page_colours(rng)
    side = FINER * SIDE
    sheet = Image.new('RGB', (side, side), paper)
    y, height = 0, FINER * np.exp(rng.uniform(np.log(6), np.log(40)))
    while y < side:
        if rng.random() < 0.3:
            height = FINER * np.exp(rng.uniform(np.log(6), np.log(60)))
        line = _type_line(rng, height, ink, paper, side)
        sheet.paste(line, (int(rng.uniform(-0.1, 0.15) * side) if rng.random() < 0.3 else 0, y))
        y += int(line.height * rng.uniform(0.85, 1.3))
    if rng.random() < 0.3:
        sheet = sheet.rotate(rng.uniform(-8, 8), Image.BICUBIC, fillcolor=paper)
    return np.asarray(sheet.resize((SIDE, SIDE), Image.LANCZOS if rng.random() < 0.5 else Image.BOX))


class DrawnStore:
    """Drawn pictures with their bicubic reduction, in limited range; like `photos.PlaneStore`, of scale 2."""

    def __init__(self, pictures=PICTURES, workers=1):
        self.path = CACHE / f'drawn-{pictures}-{SIDE}-{EDITION}.npz'
        if not self.path.exists():
            self._make(pictures, workers)
        held = np.load(self.path)
        self.high, self.low = held['high'], held['low']
        self.index = range(pictures)

    def _make(self, pictures, workers):
        CACHE.mkdir(parents=True, exist_ok=True)
        with multiprocessing.get_context('fork').Pool(workers) as pool:
            high = np.stack([to_bytes(16 + made * (219 / 255)) for made in pool.imap(picture, range(pictures), 4)])
        low = np.stack([to_bytes(resize(plane, SIDE // 2, SIDE // 2)) for plane in high])
        part = self.path.with_suffix('.part.npz')
        np.savez(part, high=high, low=low)
        part.rename(self.path)

    def pair(self, number):
        """(HR, LR) of a picture, [1, H, W]: luma alone."""
        return self.high[number][None], self.low[number][None]
