"""Scores on the validation photographs, beside those of bicubic and Lanczos-3."""
from functools import lru_cache

import numpy as np
import torch

from .clips import ClipSource
from .metrics import psnr, ssim
from .photos import PlaneStore
from .resize import resize, to_bytes
from .samples import normalise


@lru_cache(maxsize=4)
def validation_pairs(side=448):
    """[(name, HR, LR)]: the middle of every validation photograph at its reduced sizes (bytes)."""
    store, pairs = PlaneStore('validation'), []
    for row in store.index:
        if row['size'] == 1.0:
            continue
        high, low = store.pair(row)
        h, w = (min(side, n) // 4 * 4 for n in high.shape)
        y, x = (high.shape[0] - h) // 4 * 2, (high.shape[1] - w) // 4 * 2
        pairs.append((f"{row['file']}@{row['size']}", np.array(high[y:y + h, x:x + w]),
                      np.array(low[y // 2:(y + h) // 2, x // 2:(x + w) // 2])))
    return pairs


def device_of(net):
    """Where a network's weights are (files run by OpenVINO: the processor)."""
    return next(net.parameters()).device if isinstance(net, torch.nn.Module) else torch.device('cpu')


@torch.no_grad()
def upscale(net, low, strength=0.0):
    """Bytes [H, W] of limited range through a network → bytes [s·H, s·W]. Odd sides are mirrored by one."""
    h, w = low.shape
    x = normalise(np.pad(low, ((0, h % 2), (0, w % 2)), 'edge'))
    x = np.stack([x, np.full_like(x, strength)])[None]
    x = torch.from_numpy(x).to(device_of(net)).contiguous(memory_format=torch.channels_last)
    y = net(x)[0, 0].cpu().numpy() * 219 + 16
    return to_bytes(y[:net.scale * h, :net.scale * w])


def filters(low, scale=2):
    """What the networks are held against: {'bicubic', 'lanczos3'} → bytes."""
    h, w = low.shape
    return {name: to_bytes(resize(low, h * scale, w * scale, name)) for name in ('bicubic', 'lanczos3')}


@lru_cache(maxsize=1)
def filter_scores():
    """Mean PSNR-Y of the filters on the validation pairs."""
    rows = [{n: psnr(p, high) for n, p in filters(low).items()} for _, high, low in validation_pairs()]
    return {n: float(np.mean([r[n] for r in rows])) for n in rows[0]}


def photo_score(net):
    """Mean PSNR-Y of a ×2 network on the validation pairs, strength 0."""
    return float(np.mean([psnr(upscale(net, low), high) for _, high, low in validation_pairs()]))


def scores(net, pairs):
    """(PSNR, SSIM) of network, bicubic and Lanczos-3 on pairs: {method: (dB, SSIM)}."""
    table = {}
    for _, high, low in pairs:
        for name, picture in {'network': upscale(net, low), **filters(low)}.items():
            table.setdefault(name, []).append((psnr(picture, high), ssim(picture, high)))
    return {name: tuple(np.mean(rows, 0)) for name, rows in table.items()}


@lru_cache(maxsize=1)
def validation_clips():
    """Rows of the validation shard: [(group, coded LR, clean LR, HR, error)]; empty without a shard."""
    source, rows = ClipSource(2, 'validation'), []
    for number in range(len(source.rows)):
        coded, clean, high, error = source.record(number)
        plan = source.plans[number]
        if plan['blur'] or plan['noise'] or len(plan['codings']) > 1:
            group = 'blurred, noisy or coded twice'
        else:
            group = plan['codings'][0]['codec']
        rows.append((group, coded, clean, high, error))
    return rows


def _table(rows):
    """[(group, {method: dB})] → {group: {method: mean dB, 'pictures'}}."""
    groups = {}
    for group, values in rows:
        groups.setdefault(group, []).append(values)
    return {g: {**{m: float(np.mean([v[m] for v in vs])) for m in vs[0]}, 'pictures': len(vs)}
            for g, vs in sorted(groups.items())}


def mean_of(table, method='network'):
    """The mean over all pictures of a table of groups."""
    return sum(r[method] * r['pictures'] for r in table.values()) / max(1, sum(r['pictures'] for r in table.values()))


def clip_scores(net, every=1):
    """PSNR-Y on the validation clips by codec: ×2 beside the filters, ×1 beside the source as it is."""
    rows = []
    for group, coded, clean, high, error in validation_clips()[::every]:
        picture, wanted = upscale(net, coded, min(1.0, error / 50)), high if net.scale == 2 else clean
        others = filters(coded) if net.scale == 2 else {'source': coded}
        rows.append((group, {n: psnr(p, wanted) for n, p in {'network': picture, **others}.items()}))
    return _table(rows)


def noise_scores(net, deviations=(10, 25, 50)):
    """PSNR-Y on the validation photographs with Gaussian noise on their luma (fixed seed)."""
    rows, rng = [], np.random.default_rng(7)
    for _, high, low in validation_pairs():
        wanted = high if net.scale == 2 else low
        for deviation in deviations:
            noisy = to_bytes(low + deviation * rng.standard_normal(low.shape))
            others = filters(noisy) if net.scale == 2 else {'source': noisy}
            pictures = {'network': upscale(net, noisy, deviation / 50), **others}
            rows.append((f'sigma {deviation}', {n: psnr(p, wanted) for n, p in pictures.items()}))
    return _table(rows)
