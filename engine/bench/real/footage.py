"""Clips of real videos: good ones are reduced to a third of each side and encoded once, and are the truth themselves.

The windows over photographs (`clips`) move as a whole, so they cannot show what stages that follow the motion do to people, water
and grass. These clips can. Where the scene itself changes, the change between pictures says nothing; the change of the error does.
"""
from pathlib import Path

import av
import numpy as np
from ground import damage
from ground.photos import GroundError
from ground.resize import resize, to_bytes

from .clips import Clip, damaged_file

# In the media folder beside the checkout, sharp at their own size: an action camera over water and grass, a street and a wall by phones, a
# still life, a rendered film.
FOOTAGE = ('gopro-karma.mp4', 'hevc-portrait-1376x1840.mp4', 'portrait-4k60.mp4', '8k24-hevc.mp4', '1080p60-aac51.mp4')
CHAINS = {'x264': {'codings': [('libx264', 30)]}, 'mpeg4': {'codings': [('mpeg4', 10)]}, 'mjpeg': {'codings': [('mjpeg', 12)]}}
FRAMES = 8
SHORT_SIDE = 1080  # of the truth: the product's 1080p
REDUCTION = 3
MULTIPLE = 4 * REDUCTION  # the source's sides are whole fours, as every encoder takes them


def truth_shape(height, width):
    """(height, width) of the truth of a video: its shorter side is SHORT_SIDE, both are whole MULTIPLEs."""
    scale = SHORT_SIDE / min(height, width)
    return tuple(int(side * scale) // MULTIPLE * MULTIPLE for side in (height, width))


def truth_of(file, frames=FRAMES):
    """uint8 [frames, height, width, 3]: the first pictures of a video, in the truth's size. Raises GroundError if there are fewer than
    two."""
    found = []
    with av.open(str(file)) as opened:
        for frame in opened.decode(video=0):
            rgb = frame.to_ndarray(format='rgb24').astype(np.float32)
            found.append(to_bytes(resize(rgb, *truth_shape(*rgb.shape[:2]), 'lanczos3')))
            if len(found) == frames:
                break
    if len(found) < 2:
        raise GroundError(f'short_footage: {file} has fewer than two pictures.')
    return np.stack(found)


def footage_clips(files, folder, frames=FRAMES):
    """Yields a clip for each video and each chain. A file exists until the next clip."""
    for file in map(Path, files):
        truth = truth_of(file, frames)
        for chain in CHAINS:
            rng = np.random.default_rng(0)  # draws nothing that these chains use
            plan = {**damage.chain_plan(chain, rng, CHAINS), 'shown': list(range(len(truth)))}
            data, extension = damaged_file(truth, plan, tuple(side // REDUCTION for side in truth.shape[1:3]), rng)
            path = Path(folder) / f'{chain}-{file.stem}{extension}'
            path.write_bytes(data)
            yield Clip(f'{chain}-{file.stem}', chain, path, truth, None)
            path.unlink()
