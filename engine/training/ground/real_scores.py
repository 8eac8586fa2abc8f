"""Scores on held-out pictures with real damage, chain by chain, beside Lanczos-3."""
import json
import subprocess
import tempfile
from collections import namedtuple
from functools import lru_cache
from pathlib import Path

import numpy as np

from . import damage
from .metrics import psnr, unsteadiness
from .real import FRAMES, SIDE, RealSource
from .resize import resize, to_bytes
from .validate import upscale

MIDDLE = 3  # the picture of a clip that is scored where one is enough
# What a network that wants to be told the damage may be told; the best of them counts.
CLIP_SCORES = ('vmaf', 'neg', 'flicker')
TOLD = (0.0, 0.02, 0.04, 0.06, 0.08, 0.11, 0.15, 0.2, 0.3)


Clip = namedtuple('Clip', 'frames motion')  # [(delivered, clean, truth)] of its pictures; [down, right], pixels of the truth


@lru_cache(maxsize=1)
def validation_clips():
    """{chain: [Clip of every photograph]}, views of the validation shard."""
    source = RealSource(2, 'validation', colour=True)
    chains = {name: [] for name in damage.CHAINS}
    for first in range(0, len(source.rows), FRAMES):
        plan = source.plans[first]
        frames = [source.record(n)[:3] for n in range(first, first + FRAMES)]
        chains[plan['chain']].append(Clip(frames, plan['motion']))
    return chains


def chosen(clips, count):
    """So many clips of a list, spread over it."""
    return clips if count >= len(clips) else [clips[int(i)] for i in np.linspace(0, len(clips) - 1, count)]


@lru_cache(maxsize=8)
def lanczos_scores(count, scale=2):
    """{chain: mean PSNR-Y} of Lanczos-3, or at scale 1 of the source as it is."""
    found = {}
    for chain, clips in validation_clips().items():
        frames = [c.frames[MIDDLE] for c in chosen(clips, count)]
        found[chain] = float(np.mean([psnr(plain(f[0], scale), wanted(f, scale)) for f in frames]))
    return found


def plain(low, scale):
    """Luma of Lanczos-3, or of the source itself."""
    return to_bytes(resize(low[0], 2 * SIDE, 2 * SIDE, 'lanczos3')) if scale == 2 else low[0]


def wanted(record, scale):
    return record[2][0] if scale == 2 else record[1][0]


def gains(net, count=12, told=None):
    """{chain: dB of PSNR-Y over Lanczos-3}, the mean of so many photographs; at strength 1, or at the best of `told` for
    each."""
    base, found = lanczos_scores(count, net.scale), {}
    for chain, clips in validation_clips().items():
        frames = [c.frames[MIDDLE] for c in chosen(clips, count)]
        scores = [max(psnr(upscale(net, f[0], s)[0], wanted(f, net.scale)) for s in told or (1.0,)) for f in frames]
        found[chain] = float(np.mean(scores)) - base[chain]
    return found


def faithful_gain(net, count=24):
    """dB over Lanczos-3 on clean pairs at strength 0, of a ×2 network."""
    clips = chosen(validation_clips()['clean'], count)
    rows = []
    for clip in clips:
        _, clean, truth = clip.frames[MIDDLE]
        grey = np.concatenate([clean, np.full((2, *clean.shape[1:]), 128, np.uint8)])
        rows.append(psnr(upscale(net, grey, 0.0)[0], truth[0]) - psnr(plain(clean, 2), truth[0]))
    return float(np.mean(rows))


def ffmpeg():
    import imageio_ffmpeg  # with libvmaf in it

    return imageio_ffmpeg.get_ffmpeg_exe()


def as_yuv420p(luma):
    """Bytes of a raw yuv420p picture of limited-range luma [H, W] (even sides) without colour. `gray` would not do: FFmpeg
    takes it as full range and squeezes it."""
    return np.ascontiguousarray(luma).tobytes() + bytes([128]) * (luma.size // 2)


def vmaf(pictures, truths):
    """{'vmaf', 'neg'} of luma planes [n, H, W] of bytes."""
    return vmaf_of(*(b''.join(map(as_yuv420p, planes)) for planes in (pictures, truths)), truths[0].shape)


def vmaf_of(made, truth, shape):
    """The same of raw yuv420p pictures, one behind the other, of luma's shape."""
    height, width = shape
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (('made', made), ('truth', truth)):
            (Path(folder) / name).write_bytes(data)
        log = Path(folder) / 'log.json'
        models = 'version=vmaf_v0.6.1\\\\:name=vmaf|version=vmaf_v0.6.1neg\\\\:name=neg'
        source = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', f'{width}x{height}', '-r', '25']
        graph = f'[0:v][1:v]libvmaf=model={models}:log_fmt=json:log_path={log}'
        inputs = [*source, '-i', f'{folder}/made', *source, '-i', f'{folder}/truth']
        subprocess.run([ffmpeg(), '-v', 'error', *inputs, '-lavfi', graph, '-f', 'null', '-'], check=True,
                       stdout=subprocess.DEVNULL)
        means = json.loads(log.read_text())['pooled_metrics']
    return {name: means[name]['mean'] for name in ('vmaf', 'neg')}


def clip_scores(make, count, scale=2):
    """{chain: {'vmaf', 'neg', 'flicker'}} of what `make` makes of the delivered pictures of a clip, on so many photographs.
    Flicker: root mean square change of what does not change, along the known motion, in 8-bit levels."""
    found = {}
    for chain, clips in validation_clips().items():
        some = chosen(clips, count)
        made = [make(clip) for clip in some]
        # At scale 1 every second picture: it has moved by whole pixels of the source.
        flicker = [unsteadiness(pictures[::3 - scale], clip.motion) for pictures, clip in zip(made, some)]
        truths = [wanted(f, scale) for clip in some for f in clip.frames]
        found[chain] = {**vmaf([p for pictures in made for p in pictures], truths),
                        'flicker': float(np.mean(flicker))}
    return found


@lru_cache(maxsize=4)
def clips_of_lanczos(count, scale=2):
    """Of Lanczos-3, or at scale 1 of the source as it is."""
    return clip_scores(lambda clip: [plain(f[0], scale) for f in clip.frames], count, scale)


def clip_gains(net, count=4, told=None):
    """{chain: {'vmaf', 'neg', 'flicker'}}: over Lanczos-3, flicker as a multiple of its (of one level where
    that is less: an encoder that copies leaves none). At strength 1, or for each clip at
    the one of `told` that serves PSNR-Y best."""
    def make(clip):
        middle = clip.frames[MIDDLE]
        best = max(told, key=lambda s: psnr(upscale(net, middle[0], s)[0], wanted(middle, net.scale))) if told else 1.0
        return [upscale(net, f[0], best)[0] for f in clip.frames]

    base, own = clips_of_lanczos(count, net.scale), clip_scores(make, count, net.scale)
    return {chain: {'flicker': row['flicker'] / max(1.0, base[chain]['flicker']),
                    **{m: row[m] - base[chain][m] for m in ('vmaf', 'neg')}} for chain, row in own.items()}


def compared(networks, count=12, clips=4):
    """[{'network', 'psnr', 'faithful' (×2), 'vmaf', 'neg', 'flicker'}]: `gains`, `faithful_gain` and `clip_gains` by chain.
    `networks`: {name: (network, told)}; `told` None for one that is blind."""
    rows = []
    for name, (net, told) in networks.items():
        row = {'network': name, 'psnr': gains(net, count, told)}
        if net.scale == 2:
            row['faithful'] = faithful_gain(net, count)
        if clips:
            found = clip_gains(net, clips, told)
            row.update({m: {chain: r[m] for chain, r in found.items()} for m in CLIP_SCORES})
        rows.append(row)
    return rows


def mean(table):
    return float(np.mean(list(table.values())))
