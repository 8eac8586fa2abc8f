"""Distillation: what a large network of others makes of the delivered pictures, made once and kept beside the shard.

`taught-SPLIT-NNN.bin` holds for record n of `real-SPLIT-NNN.bin` the teacher's luma at twice the size of the delivered picture,
`taught-x4-SPLIT-NNN.bin` at four times, and `chroma-SPLIT-NNN.bin` its Cb and Cr at twice the size, one above the other. `finer-SPLIT-NNN.bin` holds the luma of the truth, enlarged by 2 with a faithful network:
shards have the truth at twice the delivered size only, and a ×4 network needs more. Each is written picture after picture, so
that the same command goes on where it was stopped; what is not there yet is not taught.

A teacher for compressed pictures can be a bad one for noisy pictures (realesr-animevideov3 takes noise for lines). `teach_noisy`
puts the pictures of a second teacher in place of those of the first, where the source is noisy.
"""
import json

import numpy as np

from . import clips
from .clips import SIDE
from .openvino_net import OpenVinoNet
from .photos import HERE, GroundError
from .resize import resize, to_bytes
from .validate import upscale

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
FAITHFUL = HERE.parent / 'models' / 'fast-x2.onnx'


def path_of(kind, split, seed, scale=2):
    """`kind`: taught, chroma or finer; `seed`: the number of the shard, or what stands behind the split in the name of another."""
    name = f'{seed:03d}' if isinstance(seed, int) else seed
    return clips.CACHE / f'{kind}{"-x4" if (kind, scale) == ("taught", 4) else ""}-{split}-{name}.bin'


def rgb_of(planes):
    """[1, 3, H, W], 0..1, of limited-range BT.601 Y', Cb, Cr [3, H, W]."""
    y, cb, cr = (planes.astype(np.float32) - np.array([16, 128, 128], np.float32)[:, None, None]) / np.array(
        [219, 224, 224], np.float32)[:, None, None]
    red, blue = y + 1.402 * cr, y + 1.772 * cb
    return np.stack([red, (y - 0.299 * red - 0.114 * blue) / 0.587, blue]).clip(0, 1)[None]


def _sized(plane, side):
    """Bytes [side, side]."""
    return to_bytes(plane if len(plane) == side else resize(plane, side, side))


def luma_of(rgb, side):
    """Limited-range luma as bytes [side, side] of RGB [3, H, W], 0..1."""
    return _sized(16 + 219 * np.tensordot(LUMA, rgb.clip(0, 1), 1), side)


def chroma_of(rgb, side):
    """Limited-range Cb above Cr as bytes [2 · side, side] of RGB [3, H, W], 0..1."""
    rgb = rgb.clip(0, 1)
    luma = np.tensordot(LUMA, rgb, 1)
    return np.concatenate([_sized(128 + 224 * (rgb[plane] - luma) / span, side) for plane, span in ((2, 1.772), (0, 1.402))])


class Teacher:
    """An RGB network as an ONNX file, of any scale from 2 on. `scale`: of what it returns. `precision`: OpenVINO's."""

    def __init__(self, file, threads=1, scale=2, precision='f32'):
        import openvino

        self.scale = scale
        self.run = openvino.Core().compile_model(str(file), 'CPU', {
            'INFERENCE_NUM_THREADS': threads, 'INFERENCE_PRECISION_HINT': precision})

    def __call__(self, delivered):
        """Luma [scale·SIDE, scale·SIDE] of what is delivered [3, SIDE, SIDE]; bytes."""
        return luma_of(self.run(rgb_of(delivered))[0][0], self.scale * SIDE)

    def chroma(self, delivered):
        """Its Cb above Cr [4·SIDE, 2·SIDE]; bytes."""
        return chroma_of(self.run(rgb_of(delivered))[0][0], 2 * SIDE)


def _written(kind, split, seed, scale, area, limit, make):
    """Writes what `make` gives of a shard's records, `area` bytes each, at most `limit` more of them; → how many there are
    now. Throws GroundError."""
    path = path_of(kind, split, seed, scale)
    shard = path_of('real', split, seed)
    if not shard.exists():
        raise GroundError(f'no_shard: {shard} is not there.')
    data = np.memmap(shard, np.uint8, 'r').reshape(-1, clips.RECORD)
    done = path.stat().st_size // area if path.exists() else 0
    end = len(data) if limit is None else min(len(data), done + limit)
    with open(path, 'r+b' if path.exists() else 'wb') as out:
        out.seek(done * area)
        for number in range(done, end):
            out.write(make(data[number]).tobytes())
            out.flush()
    return end


def teach(file, split, seed, limit=None, scale=2, precision='f32'):
    """Writes what the teacher makes of a shard's records, at most `limit` more of them; → how many there are now."""
    teacher = Teacher(file, scale=scale, precision=precision)
    return _written('taught', split, seed, scale, (scale * SIDE) ** 2, limit, lambda record: teacher(_delivered(record)))


def teach_chroma(file, split, seed, limit=None, scale=2, precision='f32'):
    """The same of its chroma."""
    teacher = Teacher(file, scale=scale, precision=precision)
    return _written('chroma', split, seed, scale, 8 * clips.AREA, limit, lambda record: teacher.chroma(_delivered(record)))


def _delivered(record):
    return record[:3 * clips.AREA].reshape(3, SIDE, SIDE)


NOISY = 2  # standard deviation at mid grey, in 8-bit levels


def is_noisy(plan):
    """Whether a picture shows noise: that of a sensor, or the grain that MJPEG makes of it."""
    return plan['noise'] > NOISY or bool(plan['codings']) and plan['codings'][-1]['codec'] == 'mjpeg'


def teach_noisy(file, split, seed, limit=None, scale=2, precision='f32'):
    """Writes what another teacher makes of the noisy records over what the first one made, at most `limit` more of them; → how many
    of its records are done. Throws GroundError."""
    path, shard, side = path_of('taught', split, seed, scale), path_of('real', split, seed), scale * SIDE
    if not path.exists() or path.stat().st_size * clips.RECORD < shard.stat().st_size * side**2:
        raise GroundError(f'no_teacher: {path} is not whole yet: first `teach` without --noisy.')
    plans = json.loads(shard.with_suffix('.json').read_text())
    records = [number for number, plan in enumerate(plans) if is_noisy(plan)]
    note = path.with_suffix('.noisy')
    done = int(note.read_text()) if note.exists() else 0
    end = len(records) if limit is None else min(len(records), done + limit)
    teacher, data = Teacher(file, scale=scale, precision=precision), np.memmap(shard, np.uint8, 'r').reshape(-1, clips.RECORD)
    with open(path, 'r+b') as out:
        for at in range(done, end):
            picture = teacher(_delivered(data[records[at]]))
            out.seek(records[at] * side**2)
            out.write(picture.tobytes())
            out.flush()
            note.write_text(str(at + 1))
    return end


def refine(split, seed, limit=None):
    """Writes the truth of a shard's records, enlarged by 2; → how many there are now."""
    net = OpenVinoNet(FAITHFUL.read_bytes(), 2, threads=1)

    def finer(record):
        return upscale(net, record[4 * clips.AREA:].reshape(3, 2 * SIDE, 2 * SIDE)[:1])[0]
    return _written('finer', split, seed, 4, (4 * SIDE) ** 2, limit, finer)


class Beside:
    """The pictures of a kind that lie beside a shard, as far as they are made."""

    def __init__(self, shard, kind, scale):
        split, _, seed = shard.stem.removeprefix('real-').partition('-')
        path = path_of(kind, split, seed, scale)
        shape = (2, 2 * SIDE, 2 * SIDE) if kind == 'chroma' else (scale * SIDE, scale * SIDE)
        count = path.stat().st_size // int(np.prod(shape)) if path.exists() else 0
        self.pictures = np.memmap(path, np.uint8, 'r', shape=(count, *shape)) if count else ()

    def picture(self, number):
        """Bytes [scale·SIDE, scale·SIDE], of chroma [2, 2·SIDE, 2·SIDE]; or None."""
        return self.pictures[number] if number < len(self.pictures) else None
