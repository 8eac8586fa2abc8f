"""Scores on the validation photographs, beside those of bicubic and Lanczos-3."""
from functools import lru_cache

import numpy as np
import torch

from .clips import ClipSource
from .metrics import psnr, ssim
from .photos import PlaneStore, mean_of_four
from .resize import resize, to_bytes
from .samples import normalise, to_levels, with_strength


@lru_cache(maxsize=4)
def validation_pairs(side=448):
    """[(name, HR, LR)]: the middle of every validation photograph at its reduced sizes (bytes [3, H, W])."""
    store, pairs = PlaneStore('validation'), []
    for row in store.index:
        if row['size'] == 1.0:
            continue
        high, low = store.pair(row)
        h, w = (min(side, n) // 4 * 4 for n in high.shape[1:])
        y, x = ((n - kept) // 8 * 4 for n, kept in zip(high.shape[1:], (h, w)))
        pairs.append((f"{row['file']}@{row['size']}", np.array(high[:, y:y + h, x:x + w]),
                      np.array(low[:, y // 2:(y + h) // 2, x // 2:(x + w) // 2])))
    return pairs


def device_of(net):
    """Where a network's weights are (files run by OpenVINO: the processor)."""
    whole = getattr(net, 'net', net)  # `network.at_double`
    return next(whole.parameters()).device if isinstance(whole, torch.nn.Module) else torch.device('cpu')


@torch.no_grad()
def upscale(net, low, strength=0.0):
    """Bytes [3, H, W] of limited range through a network → bytes [1 or 3, s·H, s·W]. Odd sides are mirrored by one."""
    h, w = low.shape[1:]
    x = normalise(np.pad(low, ((0, 0), (0, h % 2), (0, w % 2)), 'edge'))
    x = with_strength(x, strength)[None, :net.planes]
    x = torch.from_numpy(x).to(device_of(net)).contiguous(memory_format=torch.channels_last)
    return to_bytes(to_levels(net(x)[0].cpu().numpy())[:, :net.scale * h, :net.scale * w])


def filters(low, scale=2):
    """What the networks are held against, luma: {'bicubic', 'lanczos3'} → bytes."""
    h, w = low.shape[1:]
    return {name: to_bytes(resize(low[0], h * scale, w * scale, name)) for name in ('bicubic', 'lanczos3')}


def chroma_scores(picture, low, high):
    """PSNR of chroma at half of luma's size, as it is delivered, the mean of both planes: of a picture and of Lanczos-3.
    Nothing for a picture of luma alone."""
    if len(picture) == 1:
        return {}
    def score(planes):
        # Bounded: a grey picture's chroma has no error at all, and one such would outweigh all others.
        return float(np.mean([min(60.0, psnr(mean_of_four(p.astype(float)), mean_of_four(h.astype(float))))
                              for p, h in zip(planes, high[1:])]))
    plain = [resize(p, *high.shape[1:], 'lanczos3') for p in low[1:]]
    return {'network_chroma': score(picture[1:]), 'lanczos3_chroma': score(plain)}


@lru_cache(maxsize=1)
def filter_scores():
    """Mean PSNR-Y of the filters on the validation pairs."""
    rows = [{n: psnr(p, high[0]) for n, p in filters(low).items()} for _, high, low in validation_pairs()]
    return {n: float(np.mean([r[n] for r in rows])) for n in rows[0]}


def photo_score(net):
    """Mean PSNR-Y of a ×2 network on the validation pairs, strength 0."""
    return float(np.mean([psnr(upscale(net, low)[0], high[0]) for _, high, low in validation_pairs()]))


def photo_chroma(net):
    """The same of chroma, of the network and of Lanczos-3; nothing of a network that makes luma alone."""
    rows = [chroma_scores(upscale(net, low), low, high) for _, high, low in validation_pairs() if net.outputs == 3]
    return {n: float(np.mean([r[n] for r in rows])) for n in (rows[0] if rows else ())}


def scores(net, pairs):
    """(PSNR, SSIM) of luma by network, bicubic and Lanczos-3 on pairs: {method: (dB, SSIM)}."""
    table = {}
    for _, high, low in pairs:
        for name, picture in {'network': upscale(net, low)[0], **filters(low)}.items():
            table.setdefault(name, []).append((psnr(picture, high[0]), ssim(picture, high[0])))
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


@lru_cache(maxsize=8)
def plain_clip_scores(scale, every=1):
    """[{method: PSNR-Y}] of the filters on the validation clips, at ×1 of the source as it is. They never change, and take as
    long as a small network."""
    rows = validation_clips()[::every]
    if scale == 1:
        return [{'source': psnr(coded[0], clean[0])} for _, coded, clean, *_ in rows]
    return [{n: psnr(p, high[0]) for n, p in filters(coded).items()} for _, coded, _, high, _ in rows]


def clip_scores(net, every=1):
    """PSNR-Y (and PSNR of chroma, of networks that make it) on the validation clips by codec: ×2 beside the filters, ×1
    beside the source as it is."""
    rows = []
    for others, (group, coded, clean, high, error) in zip(plain_clip_scores(net.scale, every), validation_clips()[::every]):
        picture, wanted = upscale(net, coded, min(1.0, error / 50)), high if net.scale == 2 else clean
        rows.append((group, {'network': psnr(picture[0], wanted[0]), **others, **chroma_scores(picture, coded, high)}))
    return _table(rows)


@lru_cache(maxsize=4)
def noisy_pairs(scale, deviations):
    """[(deviation, noisy source, wanted luma, {method: PSNR-Y})] of the validation photographs with Gaussian noise on their luma
    (fixed seed)."""
    rows, rng = [], np.random.default_rng(7)
    for _, high, low in validation_pairs():
        wanted = high if scale == 2 else low
        for deviation in deviations:
            noisy = np.array(low)
            noisy[0] = to_bytes(low[0] + deviation * rng.standard_normal(low[0].shape))
            others = filters(noisy) if scale == 2 else {'source': noisy[0]}
            rows.append((deviation, noisy, wanted[0], {n: psnr(p, wanted[0]) for n, p in others.items()}))
    return rows


def noise_scores(net, deviations=(10, 25, 50)):
    """PSNR-Y on the validation photographs with noise."""
    return _table([(f'sigma {deviation}', {'network': psnr(upscale(net, noisy, deviation / 50)[0], wanted), **others})
                   for deviation, noisy, wanted, others in noisy_pairs(net.scale, tuple(deviations))])
