"""Pairs of a degraded and a good patch, half of them of faces, half of anything that the photographs show."""
import io
import json
import subprocess
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from ground.photos import photos

LIST = Path(__file__).with_name('faces.json')  # `shipped` is false in the rows of faces that came after the shipped weights
SIDE = 128


def faces_of(split):
    """[(picture, box)]: faces that the engine's detector found (reelmend-faces), those of the split's photographs."""
    listed, found = json.loads(LIST.read_text()), []
    for path in photos(split):
        boxes = [row['box'] for row in listed if row['file'] == path.name]
        if boxes:
            picture = Image.open(path).convert('RGB')
            found += [(picture, box) for box in boxes]
    return found


def mark_all_as_shipped():
    """The weights that are released now were trained, and scored, on every face of the list."""
    rows = [{key: value for key, value in row.items() if key != 'shipped'} for row in json.loads(LIST.read_text())]
    LIST.write_text('[\n' + ',\n'.join(json.dumps(row) for row in rows) + '\n]\n')


def degrade(good, rng):
    """What a small, compressed, noisy video leaves of a picture [H, W, 3] of bytes; the same size."""
    picture, side = Image.fromarray(good), good.shape[0]
    ratio = float(np.exp(rng.uniform(0, np.log(4)))) if rng.random() < 0.8 else 1.0
    if rng.random() < 0.4:
        picture = picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.3, 1.6))))
    small = max(16, round(side / ratio))
    picture = picture.resize((small, small), Image.Resampling.BOX if rng.random() < 0.5 else Image.Resampling.BICUBIC)
    values = np.asarray(picture, np.float32)
    if rng.random() < 0.5:
        values = values + rng.normal(0, rng.uniform(1, 12), values.shape)
    picture = Image.fromarray(np.clip(values, 0, 255).round().astype(np.uint8))
    if rng.random() < 0.8:
        coded = io.BytesIO()
        picture.save(coded, 'JPEG', quality=int(rng.integers(20, 95)), subsampling=2)
        picture = Image.open(coded)
    # The engine's resize, or its network's, is what a crop is taken from.
    up = Image.Resampling.LANCZOS if rng.random() < 0.5 else Image.Resampling.BILINEAR
    return np.asarray(picture.resize((side, side), up))


def coded(goods, rng):
    """x264's own of patches [N, SIDE, SIDE, 3] of bytes, laid out on one picture: reduced, coded, enlarged again."""
    columns = 8
    rows = len(goods) // columns
    sheet = goods.reshape(rows, columns, SIDE, SIDE, 3).transpose(0, 2, 1, 3, 4).reshape(rows * SIDE, columns * SIDE, 3)
    height, width = sheet.shape[:2]
    ratio = float(rng.choice([1.0, 1.5, 2.0, 2.0, 3.0]))
    small = f'{round(width / ratio / 2) * 2}:{round(height / ratio / 2) * 2}'
    noise = f',noise=alls={int(rng.integers(2, 14))}:allf=t' if rng.random() < 0.4 else ''
    raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24']
    coder = subprocess.run(
        ['ffmpeg', '-v', 'error', *raw, '-s', f'{width}x{height}', '-i', '-', '-vf',
         f'loop=4:1:0,scale={small}:flags={rng.choice(["area", "bicubic"])}{noise},format=yuv420p', '-c:v', 'libx264',
         '-preset', str(rng.choice(['veryfast', 'medium'])), '-crf', str(int(rng.integers(18, 35))), '-f', 'matroska', '-'],
        input=np.ascontiguousarray(sheet).tobytes(), capture_output=True, check=True)
    back = subprocess.run(
        ['ffmpeg', '-v', 'error', '-i', '-', '-vf', f'scale={width}:{height}:flags={rng.choice(["lanczos", "bicubic", "bilinear"])}',
         *raw, '-'], input=coder.stdout, capture_output=True, check=True).stdout
    frames = np.frombuffer(back, np.uint8).reshape(-1, height, width, 3)
    frame = frames[int(rng.integers(len(frames)))]
    return frame.reshape(rows, SIDE, columns, SIDE, 3).transpose(0, 2, 1, 3, 4).reshape(goods.shape)


class Samples:
    """Reproducible: pair `index` of a seed is always the same one."""

    def __init__(self, split, seed=1, faces_share=0.6, sheets=0):
        self.faces, self.seed, self.share = faces_of(split), seed, faces_share
        self.pictures = [Image.open(path).convert('RGB') for path in photos(split)]
        self.coded = []
        for sheet in range(sheets):
            rng = np.random.default_rng((seed, sheet, 1))
            goods = np.stack([self.good(rng) for _ in range(48)])
            self.coded += list(zip(coded(goods, rng), goods))

    def good(self, rng):
        """A patch [SIDE, SIDE, 3] of bytes, as sharp as its pixels allow."""
        if self.faces and rng.random() < self.share:
            picture, (left, top, right, bottom) = self.faces[rng.integers(len(self.faces))]
            face = max(right - left, bottom - top)
            # The face's place in the engine's crop is about 0.66 of its side; larger windows reduce it.
            window = min(max(SIDE, int(rng.uniform(0.5, 1.6) * face)), *picture.size)
            x = (left + right) / 2 - window * rng.uniform(0.3, 0.7)
            y = (top + bottom) / 2 - window * rng.uniform(0.3, 0.7)
        else:
            picture = self.pictures[rng.integers(len(self.pictures))]
            window = min(int(SIDE * np.exp(rng.uniform(0, np.log(3)))), *picture.size)
            x, y = rng.uniform(0, picture.width), rng.uniform(0, picture.height)
        x = int(np.clip(x, 0, picture.width - window))
        y = int(np.clip(y, 0, picture.height - window))
        patch = picture.crop((x, y, x + window, y + window)).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        values = np.asarray(patch)
        return values[:, ::-1] if rng.random() < 0.5 else values

    def pair(self, index):
        """(degraded, good), each [3, SIDE, SIDE] of float32 from −1 to 1."""
        rng = np.random.default_rng((self.seed, index))
        if self.coded and rng.random() < 0.6:
            pair = self.coded[rng.integers(len(self.coded))]
            if rng.random() < 0.5:
                pair = tuple(side[:, ::-1] for side in pair)
        else:
            good = self.good(rng)
            pair = degrade(np.ascontiguousarray(good), rng), good
        return tuple(np.ascontiguousarray(p.transpose(2, 0, 1), np.float32) / 127.5 - 1 for p in pair)
