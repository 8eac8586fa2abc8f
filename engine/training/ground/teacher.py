"""Distillation: what a large network of others makes of the delivered pictures, made once and kept beside the shard.

`taught-SPLIT-NNN.bin` holds for record n of `real-SPLIT-NNN.bin` the teacher's luma at the truth's size. It is written picture
after picture, so that the same command goes on where it was stopped; what is not there yet is not taught.
"""
import numpy as np

from . import clips
from .clips import SIDE
from .photos import GroundError
from .resize import resize, to_bytes

HIGH = 4 * SIDE * SIDE  # bytes of a picture


def path_of(split, seed):
    return clips.CACHE / f'taught-{split}-{seed:03d}.bin'


def rgb_of(planes):
    """[1, 3, H, W], 0..1, of limited-range BT.601 Y', Cb, Cr [3, H, W]."""
    y, cb, cr = (planes.astype(np.float32) - np.array([16, 128, 128], np.float32)[:, None, None]) / np.array(
        [219, 224, 224], np.float32)[:, None, None]
    red, blue = y + 1.402 * cr, y + 1.772 * cb
    return np.stack([red, (y - 0.299 * red - 0.114 * blue) / 0.587, blue]).clip(0, 1)[None]


def luma_of(rgb, side):
    """Limited-range luma as bytes [side, side] of RGB [3, H, W], 0..1."""
    luma = 16 + 219 * np.tensordot(np.array([0.299, 0.587, 0.114], np.float32), rgb.clip(0, 1), 1)
    return to_bytes(luma if len(luma) == side else resize(luma, side, side))


class Teacher:
    """An RGB network as an ONNX file, of any scale from 2 on."""

    def __init__(self, file, threads=1):
        import openvino

        self.run = openvino.Core().compile_model(str(file), 'CPU', {
            'INFERENCE_NUM_THREADS': threads, 'INFERENCE_PRECISION_HINT': 'f32'})

    def __call__(self, delivered):
        """Luma [2·SIDE, 2·SIDE] of what is delivered [3, SIDE, SIDE]; bytes."""
        return luma_of(self.run(rgb_of(delivered))[0][0], 2 * SIDE)


def teach(file, split, seed, limit=None):
    """Writes what the teacher makes of a shard's records, at most `limit` more of them; → how many there are now."""
    shard = clips.CACHE / f'real-{split}-{seed:03d}.bin'
    if not shard.exists():
        raise GroundError(f'no_shard: {shard} is not there.')
    data, path = np.memmap(shard, np.uint8, 'r').reshape(-1, clips.RECORD), path_of(split, seed)
    done, teacher = (path.stat().st_size // HIGH if path.exists() else 0), Teacher(file)
    end = len(data) if limit is None else min(len(data), done + limit)
    with open(path, 'r+b' if path.exists() else 'wb') as out:
        out.seek(done * HIGH)
        for number in range(done, end):
            out.write(teacher(data[number, :3 * SIDE * SIDE].reshape(3, SIDE, SIDE)).tobytes())
            out.flush()
    return end


class Taught:
    """The teacher's pictures of a shard, as far as they are made."""

    def __init__(self, shard):
        path = shard.with_name(shard.name.replace('real-', 'taught-'))
        count = path.stat().st_size // HIGH if path.exists() else 0
        self.pictures = np.memmap(path, np.uint8, 'r', shape=(count, 2 * SIDE, 2 * SIDE)) if count else ()

    def picture(self, number):
        """Bytes [2·SIDE, 2·SIDE], or None."""
        return self.pictures[number] if number < len(self.pictures) else None
