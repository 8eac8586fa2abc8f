"""Training data in pieces that can be carried to a rented machine: photographs and records of shards, compressed.

There they become the files of the cache that the sources read (`photos.PlaneStore`, `clips`, `real`), so everything trains
from them as it does here. Truths are compressed with a small loss (WebP, about 42 dB, far above what networks reach). What was
delivered is kept exactly, with its colours at half the size. Scores there are those of fewer pictures and of these truths: only
`release` gives scores to compare.
"""
import hashlib
import io
import json
import multiprocessing
import os
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from . import damage, real
from .clips import AREA, KEPT, RECORD, SIDE, ClipSource
from .drawn import DrawnStore
from .photos import CACHE, SIZES, GroundError, PlaneStore, bicubic_pair, mean_of_four, on_luma_grid, photos, read_rgb
from .resize import resize, to_bytes
from .samples import PhotoSource

PIECE = 48 << 20
PHOTO_SIZE, PHOTO_QUALITY = 0.75, 90   # photographs are sharp at three quarters of their size and below
CROP = 448                             # of a validation photograph (`validate.validation_pairs`)
TRUTH_QUALITY = 88
VALIDATION = {'photographs': 30, 'coloured': 80, 'real': 3}  # pictures at each size, records, photographs with all chains
RESERVE = 1 << 20                      # bytes of the zip's lists


def webp(planes, quality=None):
    """Bytes of a picture [H, W] or [H, W, 3]; without a quality exactly."""
    out = io.BytesIO()
    options = {'lossless': True} if quality is None else {'quality': quality}
    Image.fromarray(planes).save(out, 'WEBP', method=4, **options)
    return out.getvalue()


def opened(data, channels=1):
    picture = np.asarray(Image.open(io.BytesIO(data)).convert('RGB'))
    return picture if channels == 3 else picture[..., 1]


def packed_truth(luma):
    """WebP's own luma has limited range: as grey of full range a plane loses nothing but what is beyond black and white."""
    return webp(to_bytes((luma.astype(np.float32) - 16) * (255 / 219)), TRUTH_QUALITY)


def opened_truth(data):
    return to_bytes(16 + opened(data).astype(np.float32) * (219 / 255))


def halves(chroma):
    """Both planes of colour at half the size, side by side."""
    return np.concatenate([to_bytes(mean_of_four(plane.astype(np.float32))) for plane in chroma], 1)


def whole(sides):
    side = 2 * sides.shape[0]
    return np.stack([on_luma_grid(plane, side, side) for plane in np.split(sides, 2, 1)])


def packed_record(data, colour):
    """The pictures of a record of a shard: {name: bytes}."""
    coded, truth = data[:3 * AREA].reshape(3, SIDE, SIDE), data[4 * AREA:].reshape(3, 2 * SIDE, 2 * SIDE)
    found = {'coded': webp(coded[0]), 'truth': packed_truth(truth[0])}
    if colour:
        found.update({'coded-colour': webp(halves(coded[1:])), 'truth-colour': webp(halves(truth[1:]), TRUTH_QUALITY)})
    return found


def opened_record(found):
    """The record [RECORD] of these pictures; grey where no colour was packed. Its clean picture is the truth, reduced."""
    truth, coded = opened_truth(found['truth']), opened(found['coded'])
    grey = np.full((2, SIDE, SIDE), 128, np.uint8)
    low = whole(opened(found['coded-colour'])) if 'coded-colour' in found else grey
    high = whole(opened(found['truth-colour'])) if 'truth-colour' in found else grey.repeat(2, 1).repeat(2, 2)
    clean = to_bytes(resize(truth, SIDE, SIDE))
    return np.concatenate([plane.ravel() for plane in (coded, low, clean, truth, high)])


# ---- packing ----

def _photo_task(task):
    path, split, size = task
    rgb = read_rgb(path, size)
    if split == 'validation':
        h, w = (min(CROP, n) // 4 * 4 for n in rgb.shape[:2])
        y, x = ((n - kept) // 8 * 4 for n, kept in zip(rgb.shape[:2], (h, w)))
        return webp(rgb[y:y + h, x:x + w], 95)
    return webp(rgb, PHOTO_QUALITY)


def photo_tasks():
    """[(path, split, size)] of what is packed."""
    held = photos('validation')
    some = [held[int(at)] for at in np.linspace(0, len(held) - 1, min(len(held), VALIDATION['photographs'] // 2))]
    return [(path, 'validation', size) for path in some for size in SIZES if size < 1] + \
           [(path, 'training', PHOTO_SIZE) for path in photos('training')]


def spread(count, order):
    """Numbers 0 … count − 1 in an order in which every beginning is spread over all."""
    return np.random.default_rng(order).permutation(count)


def units(source, split):
    """[[numbers of records that stay together]]: a picture, of a clip of real damage two that follow each other, of a
    validation photograph of real damage all."""
    number = len(source.rows)
    if source.kind == 'coloured':
        step = KEPT if split == 'training' else 1  # both pictures of a clip are nearly the same
        return [[first] for first in range(0, number, step)]
    size = len(damage.CHAINS) * real.FRAMES if split == 'validation' else 2
    return [list(range(first, min(first + size, number))) for first in range(0, number, size)]


def _records_task(task):
    datas, colour = task
    return [packed_record(data, colour) for data in datas]


def source_of(kind, split):
    return ClipSource(2, split, True) if kind == 'coloured' else real.RealSource(2, split, True)


class Packer:
    """Writes pictures and a list of them into one zip, until no more bytes are left."""

    def __init__(self, path, limit, pool):
        self.zip, self.left, self.pool, self.index = zipfile.ZipFile(path, 'w'), limit - RESERVE, pool, []

    def add(self, facts, pictures):
        """Whether there was room."""
        row = {**facts, 'pictures': {name: f'{len(self.index):05d}-{name}.webp' for name in pictures}}
        size = sum(len(data) + 250 for data in pictures.values()) + len(json.dumps(row))
        if size > self.left:
            return False
        self.left -= size
        self.index.append(row)
        for name, data in pictures.items():
            self.zip.writestr(row['pictures'][name], data)
        return True

    def photographs(self):
        tasks = photo_tasks()
        for number, ((path, split, size), data) in enumerate(zip(tasks, self.pool.imap(_photo_task, tasks, 4))):
            if not self.add({'kind': 'photo', 'file': path.name, 'split': split, 'size': size, 'number': number}, {'rgb': data}):
                raise GroundError('no_room: the photographs alone need more pieces.')

    def records(self, kind, split, colour, limit=None):
        """Records of all shards, spread over them; as many as there is room for, or `limit` units. Returns how many."""
        source = source_of(kind, split)
        groups = units(source, split)
        order = spread(len(groups), len(split))[:limit]

        def tasks():
            for at in order:
                shards = [source.rows[number][:2] for number in groups[at]]
                yield [np.array(source.shards[shard][first:first + RECORD]) for shard, first in shards], colour
        count = 0
        for at, made in zip(order, self.pool.imap(_records_task, tasks(), 4)):
            for number, pictures in zip(groups[at], made):
                if not self.add({'kind': kind, 'split': split, 'order': int(number), 'row': source.plans[number]}, pictures):
                    return count
                count += 1
        return count

    def close(self):
        self.zip.writestr('index.json', json.dumps(self.index))
        self.zip.close()


def split_file(path, folder, name):
    """A file as pieces NAME.zip.NN with their checksums; returns the pieces."""
    pieces, sums = [], []
    with open(path, 'rb') as whole_file:
        while data := whole_file.read(PIECE):
            piece = folder / f'{name}.zip.{len(pieces):02d}'
            piece.write_bytes(data)
            pieces.append(piece)
            sums.append(f'{hashlib.sha256(data).hexdigest()}  {piece.name}\n')
    (folder / 'SHA256SUMS').write_text(''.join(sums))
    return pieces


def pack(name, folder, plan, colour, workers=1):
    """Packs the data of a network's plan into at most `plan.pieces` pieces; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob('*.zip.*'), *folder.glob('SHA256SUMS')):
        old.unlink()
    draft = folder / 'whole.part'
    with multiprocessing.get_context('fork').Pool(workers) as pool:
        packer = Packer(draft, plan.pieces * PIECE, pool)
        if plan.photographs:
            packer.photographs()
        validated = packer.records(plan.shard, 'validation', colour, VALIDATION[plan.shard])
        trained = packer.records(plan.shard, 'training', colour)
        pool.terminate()
    packer.close()
    print(f'{sum(row["kind"] == "photo" for row in packer.index)} photographs, {trained} records to train on, '
          f'{validated} to validate on', flush=True)
    pieces = split_file(draft, folder, name)
    draft.unlink()
    return pieces


# ---- unpacking ----

def joined(folder, name):
    """The zip of all pieces. Throws GroundError where one is missing or damaged."""
    listed = dict(reversed(line.split()) for line in (folder / 'SHA256SUMS').read_text().splitlines())
    whole_file = io.BytesIO()
    for piece in sorted(listed):
        path = folder / piece
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != listed[piece]:
            raise GroundError(f'piece_missing: {path} is not there, or damaged.')
        whole_file.write(path.read_bytes())
    if not listed or not all(piece.startswith(f'{name}.zip.') for piece in listed):
        raise GroundError(f'piece_missing: {folder} has no pieces of {name}.')
    return zipfile.ZipFile(whole_file)


def _photo_pairs(task):
    """[(size, HR, LR)] of a packed photograph."""
    row, data = task
    rgb = opened(data['rgb'], 3)
    if row['split'] == 'validation':
        return [(row['size'], *bicubic_pair(rgb))]
    found, picture = [], Image.fromarray(rgb)
    for size in PhotoSource.SIZES:
        share = size / row['size']
        if share > 1:
            continue
        small = picture if share == 1 else picture.resize([round(n * share) for n in picture.size], Image.LANCZOS)
        held = np.asarray(small)
        found.append((size, *bicubic_pair(held[:held.shape[0] // 4 * 4, :held.shape[1] // 4 * 4])))
    return found


def _record(task):
    return opened_record(task[1])


def write_planes(rows, pool, split, sizes):
    """The file of `photos.PlaneStore` of packed photographs."""
    path, index, at = PlaneStore.path_of(split, sizes), [], 0
    with open(path.with_suffix('.part'), 'wb') as out:
        for (row, _), pairs in zip(rows, pool.imap(_photo_pairs, rows, 2)):
            for size, high, low in pairs:
                index.append({'photo': row['number'], 'file': row['file'], 'size': size, 'at': at, 'hr': high.shape, 'lr': low.shape})
                for planes in (high, low):
                    out.write(planes.tobytes())
                    at += planes.size
    path.with_suffix('.json').write_text(json.dumps(index))
    path.with_suffix('.part').rename(path)


def write_records(rows, pool, kind, split):
    """A shard of packed records, in the order in which they lay."""
    rows = sorted(rows, key=lambda row: row[0]['order'])
    path = CACHE / f'{kind}-{split}-000.bin'
    with open(path.with_suffix('.part'), 'wb') as out:
        for record in pool.imap(_record, rows, 8):
            out.write(record.tobytes())
    path.with_suffix('.json').write_text(json.dumps([row['row'] for row, _ in rows]))
    path.with_suffix('.part').rename(path)


def unpack(name, folder, workers=None):
    """Makes the files of the cache from the pieces in a folder. Throws GroundError where the cache has such files already."""
    held = joined(folder, name)
    index = json.loads(held.read('index.json'))
    rows = [(row, {what: held.read(file) for what, file in row['pictures'].items()}) for row in index]
    CACHE.mkdir(parents=True, exist_ok=True)
    taken = [path.name for path in CACHE.glob('*.bin')]
    if taken:
        raise GroundError(f'cache_in_use: {CACHE} has {taken[0]}; REELMEND_TRAINING_CACHE names another folder.')
    with multiprocessing.get_context('fork').Pool(workers or os.cpu_count()) as pool:
        for kind, split in sorted({(row['kind'], row['split']) for row, _ in rows}):
            own = [row for row in rows if (row[0]['kind'], row[0]['split']) == (kind, split)]
            if kind == 'photo':
                write_planes(own, pool, split, SIZES if split == 'validation' else tuple(PhotoSource.SIZES))
            else:
                write_records(own, pool, kind, split)
    if any(row['kind'] == 'photo' for row, _ in rows):
        DrawnStore(workers=workers or os.cpu_count())
    return sorted(Path(path).name for path in CACHE.glob('*.bin'))
