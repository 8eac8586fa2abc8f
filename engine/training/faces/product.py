"""What the stage of faces changes in the product: validation faces in damaged clips, enhanced without and with it."""
import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import torch
from PIL import Image

from ground.photos import REPOSITORY
from ground.structure import missing

from .samples import faces_of

SIDE = 512      # of the truth
FRAMES = 6
SMALLEST = 90   # pixels of a face in its photograph
# name → (side of the source in pixels, encoder)
CHAINS = {
    'light': (320, ['-c:v', 'libx264', '-crf', '22']),
    'web': (256, ['-c:v', 'libx264', '-crf', '30']),
    'phone': (256, ['-c:v', 'mpeg4', '-q:v', '9']),
    'small': (176, ['-c:v', 'libx264', '-crf', '27']),
}


def ffmpeg(*arguments):
    return subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), '-v', 'error', '-y', *arguments], check=True, capture_output=True).stdout


def truths():
    """[(picture of SIDE × SIDE, (left, top, right, bottom) of its face)]"""
    for picture, (left, top, right, bottom) in faces_of('validation'):
        if right - left < SMALLEST:
            continue
        side = min(int(1.8 * max(right - left, bottom - top)), *picture.size)
        x = int(np.clip((left + right - side) / 2, 0, picture.width - side))
        y = int(np.clip((top + bottom - side) / 2, 0, picture.height - side))
        scale = SIDE / side
        box = tuple(int(np.clip((v - o) * scale, 0, SIDE)) for v, o in ((left, x), (top, y), (right, x), (bottom, y)))
        yield picture.crop((x, y, x + side, y + side)).resize((SIDE, SIDE), Image.Resampling.LANCZOS), box


def last_luma(path):
    """[SIDE, SIDE] of 8-bit levels: the last frame, reduced."""
    frames = ffmpeg('-i', str(path), '-vf', f'scale={SIDE}:{SIDE}:flags=lanczos+accurate_rnd', '-pix_fmt', 'gray', '-f', 'rawvideo', '-')
    return np.frombuffer(frames, np.uint8)[-SIDE * SIDE:].reshape(SIDE, SIDE).astype(np.float32)


def score(made, truth, box):
    """(PSNR in dB, missing structure) of luma in the box."""
    left, top, right, bottom = box
    a, b = (p[top:bottom, left:right] for p in (made, truth))
    as_luma = [torch.from_numpy((p - 16) / 219)[None, None] for p in (a, b)]
    return 10 * np.log10(255**2 / np.square(a - b).mean()), float(missing(*as_luma).mean())


def measure(folder, picture, box, strengths):
    """{(chain, strength): score} of one face."""
    found, photo = {}, folder / 'photo.png'
    picture.save(photo)
    truth = last_luma(photo)
    for chain, (side, encoder) in CHAINS.items():
        source, made = folder / f'{chain}.mp4', folder / 'made.mp4'
        ffmpeg('-loop', '1', '-framerate', '25', '-i', str(photo), '-frames:v', str(FRAMES), '-vf', f'scale={side}:{side}:flags=area,format=yuv420p',
               *encoder, str(source))
        for strength in strengths:
            subprocess.run([REPOSITORY / 'scripts/reelmend', 'enhance', source, made, '--force', '--adaptive-contrast', 'off',
                            '--face-restoration', strength], check=True, capture_output=True)
            found[chain, strength] = score(last_luma(made), truth, box)
    return found


def report(strengths):
    """Prints a row of Markdown for each chain: PSNR-Y and missing structure without the stage, and what each strength changes."""
    with tempfile.TemporaryDirectory() as folder:
        faces = [measure(Path(folder), picture, box, ['off', *strengths]) for picture, box in truths()]
    print(f'{len(faces)} faces')
    for chain in CHAINS:
        means = {s: np.mean([face[chain, s] for face in faces], 0) for s in ('off', *strengths)}
        cells = [f'{means["off"][0]:.2f} dB, {means["off"][1]:.3f}', *('{:+.2f} dB, {:+.3f}'.format(*(means[s] - means['off'])) for s in strengths)]
        print('| ' + ' | '.join([chain, *cells]) + ' |')
