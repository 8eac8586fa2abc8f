"""The photographs: a list with a hash for each, split in training and validation by hash, kept as planes of Y', Cb, Cr."""
import hashlib
import json
import math
import os
from pathlib import Path

import numpy as np
from PIL import Image

from .resize import resize, to_bytes

HERE = Path(__file__).resolve().parent.parent
REPOSITORY = HERE.parent.parent
LIST = HERE / 'photos.json'
CACHE = Path(os.environ.get('REELMEND_TRAINING_CACHE', HERE / 'cache'))
# Photographs that validate are taken at these sizes: reduced, their finest detail is as sharp as pixels allow.
SIZES = (1.0, 0.6, 0.4)


class GroundError(Exception):
    """A sentence for the person who started the command."""


def photo_folders():
    """Where the photographs lie: the folders of REELMEND_TRAIN_PHOTOS (with : between them), or shared/train-photos and
    shared/train-photos-2 beside the repository."""
    shared = REPOSITORY.parent / 'shared'
    named = os.environ.get('REELMEND_TRAIN_PHOTOS')
    folders = [Path(f) for f in named.split(os.pathsep)] if named else [shared / 'train-photos', shared / 'train-photos-2']
    for folder in folders:
        if not folder.is_dir():
            raise GroundError(f'no_photos: {folder} is not a folder; set REELMEND_TRAIN_PHOTOS.')
    return folders


def split_of(sha256):
    """'validation' for about one photograph in ten, chosen by the hash of its bytes alone."""
    return 'validation' if int(sha256[:8], 16) % 10 == 0 else 'training'


def make_list(folders):
    """The list of some folders: [{'file', 'sha256', 'split'}], folder by folder and by name. Names are their own."""
    rows = {}
    for folder in folders:
        for path in sorted(p for p in folder.iterdir() if p.suffix.lower() in ('.jpg', '.png', '.webp')):
            if path.name in rows:
                raise GroundError(f'photo_twice: {path.name} is in more than one folder.')
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            rows[path.name] = {'file': path.name, 'sha256': sha256, 'split': split_of(sha256)}
    return list(rows.values())


def photos(split):
    """Paths of the listed photographs of a split. Throws GroundError when one is missing or has other bytes."""
    folders = photo_folders()
    paths = []
    for row in json.loads(LIST.read_text()):
        if row['split'] != split:
            continue
        path = next((f / row['file'] for f in folders if (f / row['file']).is_file()), None)
        if path is None:
            raise GroundError(f'photo_missing: {row["file"]} is in the list but in none of the folders.')
        if hashlib.sha256(path.read_bytes()).hexdigest() != row['sha256']:
            raise GroundError(f'photo_changed: {path} is not the file of the list (SHA-256 differs).')
        paths.append(path)
    return paths


def read_rgb(path, size=1.0, multiple=4):
    """uint8 [H, W, 3], reduced to `size` (Lanczos), cut to a multiple of `multiple` pixels."""
    with Image.open(path) as opened:
        picture = opened.convert('RGB')
    if size != 1.0:
        picture = picture.resize((round(picture.width * size), round(picture.height * size)), Image.LANCZOS)
    rgb = np.asarray(picture)
    return rgb[:rgb.shape[0] // multiple * multiple, :rgb.shape[1] // multiple * multiple]


def luma(rgb):
    """Y' of BT.601 in limited range (16..235), float32, from [..., 3] in 0..255: what the papers score on."""
    return 16 + np.asarray(rgb, np.float32) @ np.array([65.481, 128.553, 24.966], np.float32) / 255


def chroma(rgb):
    """(Cb, Cr) of BT.601 in limited range (16..240, neutral 128), float32."""
    rgb = np.asarray(rgb, np.float32)
    return (128 + rgb @ np.array([-37.797, -74.203, 112.0], np.float32) / 255,
            128 + rgb @ np.array([112.0, -93.786, -18.214], np.float32) / 255)


def mean_of_four(plane):
    """A plane [..., H, W] of even sides at half its size."""
    h, w = plane.shape[-2:]
    return plane.reshape(*plane.shape[:-2], h // 2, 2, w // 2, 2).mean((-3, -1))


def on_luma_grid(plane, height, width):
    """A plane of chroma, sited in the middle of its block of luma, enlarged by Lanczos-3 as the engine does; bytes."""
    return plane if plane.shape == (height, width) else to_bytes(resize(plane, height, width, 'lanczos3'))


def ycbcr(rgb):
    """Bytes [3, H, W] of BT.601 in limited range, nothing subsampled."""
    return to_bytes(np.stack([luma(rgb), *chroma(rgb)]))


def ycbcr_420(rgb):
    """The same after its chroma has been at half the size, as in nearly every video. Odd sides repeat their last pixel."""
    height, width = rgb.shape[:2]
    even = np.pad(rgb, ((0, height % 2), (0, width % 2), (0, 0)), 'edge')
    half = [to_bytes(mean_of_four(c)) for c in chroma(even)]
    whole = [to_bytes(luma(even)), *(on_luma_grid(c, *even.shape[:2]) for c in half)]
    return np.stack(whole)[:, :height, :width]


def bicubic_pair(rgb, scale=2):
    """(HR [3, H, W], LR) as bytes: LR is imresize'd in RGB, rounded, then turned to Y', as the papers do; its chroma has
    been at half the size."""
    small = to_bytes(resize(rgb, rgb.shape[0] // scale, rgb.shape[1] // scale))
    return ycbcr(rgb), ycbcr_420(small)


class PlaneStore:
    """Pairs of pictures (HR and LR, bytes [3, H, W]), memory-mapped from one file; made once, named by what made it."""

    def __init__(self, split, scale=2, sizes=SIZES):
        self.scale = scale
        self.path = self.path_of(split, sizes, scale)
        if not self.path.exists():
            self._make(photos(split), sizes)
        self.index = json.loads(self.path.with_suffix('.json').read_text())
        self.bytes = np.memmap(self.path, np.uint8, 'r')

    @staticmethod
    def path_of(split, sizes, scale=2):
        """The file, by the listed photographs and their sizes."""
        rows = [r for r in json.loads(LIST.read_text()) if r['split'] == split]
        key = hashlib.sha256(json.dumps([rows, scale, sizes, 2]).encode()).hexdigest()[:16]
        return CACHE / f'planes-{split}-x{scale}-{key}.bin'

    def _make(self, paths, sizes):
        CACHE.mkdir(parents=True, exist_ok=True)
        index, offset, part = [], 0, self.path.with_suffix('.part')
        with open(part, 'wb') as out:
            for number, path in enumerate(paths):
                for size in sizes:
                    pair = bicubic_pair(read_rgb(path, size), self.scale)
                    index.append({'photo': number, 'file': path.name, 'size': size, 'at': offset, 'hr': pair[0].shape,
                                  'lr': pair[1].shape})
                    for picture in pair:
                        out.write(picture.tobytes())
                        offset += picture.size
        self.path.with_suffix('.json').write_text(json.dumps(index))
        part.rename(self.path)

    def pair(self, row):
        """(HR, LR) of a row of the index: views, no copies."""
        high, low = row['hr'], row['lr']
        middle = row['at'] + math.prod(high)
        return (self.bytes[row['at']:middle].reshape(high),
                self.bytes[middle:middle + math.prod(low)].reshape(low))
