"""Scores on held-out pictures with real damage, chain by chain, beside Lanczos-3."""
import json
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from . import damage
from .metrics import psnr
from .real import FRAMES, SIDE, RealSource
from .resize import resize, to_bytes
from .validate import upscale

MIDDLE = 3  # the picture of a clip that is scored where one is enough
# What a network that wants to be told the damage may be told; the best of them counts.
TOLD = (0.0, 0.02, 0.04, 0.06, 0.08, 0.11, 0.15, 0.2, 0.3)


@lru_cache(maxsize=1)
def validation_clips():
    """{chain: [[(delivered, clean, truth) of every picture] of every photograph]}, views of the validation shard."""
    source = RealSource(2, 'validation', colour=True)
    chains = {name: [] for name in damage.CHAINS}
    for first in range(0, len(source.rows), FRAMES):
        clip = [source.record(n)[:3] for n in range(first, first + FRAMES)]
        chains[source.plans[first]['chain']].append(clip)
    return chains


def chosen(clips, count):
    """So many clips of a list, spread over it."""
    return clips if count >= len(clips) else [clips[int(i)] for i in np.linspace(0, len(clips) - 1, count)]


@lru_cache(maxsize=8)
def lanczos_scores(count, scale=2):
    """{chain: mean PSNR-Y} of Lanczos-3, or at scale 1 of the source as it is."""
    return {chain: float(np.mean([psnr(plain(c[MIDDLE][0], scale), wanted(c[MIDDLE], scale)) for c in chosen(clips, count)]))
            for chain, clips in validation_clips().items()}


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
        scores = [max(psnr(upscale(net, c[MIDDLE][0], s)[0], wanted(c[MIDDLE], net.scale)) for s in told or (1.0,))
                  for c in chosen(clips, count)]
        found[chain] = float(np.mean(scores)) - base[chain]
    return found


def faithful_gain(net, count=24):
    """dB over Lanczos-3 on clean pairs at strength 0."""
    clips = chosen(validation_clips()['clean'], count)
    rows = []
    for clip in clips:
        _, clean, truth = clip[MIDDLE]
        grey = np.concatenate([clean, np.full((2, *clean.shape[1:]), 128, np.uint8)])
        rows.append(psnr(upscale(net, grey, 0.0)[0], truth[0]) - psnr(plain(clean, 2), truth[0]))
    return float(np.mean(rows))


def ffmpeg():
    import imageio_ffmpeg  # with libvmaf in it

    return imageio_ffmpeg.get_ffmpeg_exe()


def vmaf(pictures, truths):
    """{'vmaf', 'neg'} of luma planes [n, H, W] of bytes."""
    height, width = truths[0].shape
    with tempfile.TemporaryDirectory() as folder:
        for name, planes in (('made', pictures), ('truth', truths)):
            (Path(folder) / name).write_bytes(b''.join(np.ascontiguousarray(p).tobytes() for p in planes))
        log = Path(folder) / 'log.json'
        models = 'version=vmaf_v0.6.1\\\\:name=vmaf|version=vmaf_v0.6.1neg\\\\:name=neg'
        source = ['-f', 'rawvideo', '-pix_fmt', 'gray', '-s', f'{width}x{height}', '-r', '25']
        subprocess.run([ffmpeg(), '-v', 'error', *source, '-i', f'{folder}/made', *source, '-i', f'{folder}/truth', '-lavfi',
                        f'[0:v]format=yuv420p[a];[1:v]format=yuv420p[b];[a][b]libvmaf=model={models}:log_fmt=json:log_path={log}',
                        '-f', 'null', '-'], check=True, stdout=subprocess.DEVNULL)
        means = json.loads(log.read_text())['pooled_metrics']
    return {name: means[name]['mean'] for name in ('vmaf', 'neg')}


def vmaf_scores(make, count=4):
    """{chain: {'vmaf', 'neg'}} of what `make` makes of delivered pictures, on short clips of so many photographs."""
    found = {}
    for chain, clips in validation_clips().items():
        frames = [frame for clip in chosen(clips, count) for frame in clip]
        found[chain] = vmaf([make(f[0]) for f in frames], [f[2][0] for f in frames])
    return found


@lru_cache(maxsize=4)
def vmaf_of_lanczos(count=4):
    return vmaf_scores(lambda low: plain(low, 2), count)


def vmaf_gains(net, count=4, strength=1.0):
    """{chain: {'vmaf', 'neg'}} over Lanczos-3."""
    base, own = vmaf_of_lanczos(count), vmaf_scores(lambda low: upscale(net, low, strength)[0], count)
    return {chain: {m: own[chain][m] - base[chain][m] for m in row} for chain, row in own.items()}


def compared(networks, count=12, clips=4):
    """[{'network', 'psnr', 'vmaf', 'neg', 'faithful'}]: gains over Lanczos-3 by chain. `networks`: {name: (network, told)};
    `told` None for one that is blind."""
    rows = []
    for name, (net, told) in networks.items():
        row = {'network': name, 'psnr': gains(net, count, told), 'faithful': faithful_gain(net, count)}
        if clips:
            found = vmaf_gains_told(net, clips, told)
            row.update({m: {chain: r[m] for chain, r in found.items()} for m in ('vmaf', 'neg')})
        rows.append(row)
    return rows


def vmaf_gains_told(net, count, told):
    """`vmaf_gains`, at the strength that serves PSNR-Y best where the network wants to be told one."""
    if told is None:
        return vmaf_gains(net, count)
    base, found = vmaf_of_lanczos(count), {}
    for chain, clips in validation_clips().items():
        pictures, truths = [], []
        for clip in chosen(clips, count):
            low, _, high = clip[MIDDLE]
            best = max(told, key=lambda s: psnr(upscale(net, low, s)[0], high[0]))
            pictures += [upscale(net, f[0], best)[0] for f in clip]
            truths += [f[2][0] for f in clip]
        own = vmaf(pictures, truths)
        found[chain] = {m: own[m] - base[chain][m] for m in own}
    return found


def mean(table):
    return float(np.mean(list(table.values())))
