"""Real damage: what a video suffers from the lens to the last of its encodes, drawn at random, and carried out.

The order is that of life, and everything before the first encode happens at the true size of the recording, which may
be smaller than the size that the file states:

    levels → blur → reduction to the true size → noise → sharpening → interlacing → encode
           → enlargement to the nominal size → sharpening → encode

A plan is plain data, drawn first and written beside what it made; every number in it is in the unit that its name states
(`draw_plan`). The truth has the plan's levels: a network restores structure, and levels are adaptive contrast's duty.
"""
from functools import lru_cache

import numpy as np
import torch

from . import degrade
from .photos import chroma, luma, mean_of_four
from .resize import resize, to_bytes

FRAMES = 6
BLUR_OF_NYQUIST = 0.68  # standard deviation, in pixels, of a blur that leaves a tenth at the highest frequency
# encoder → (odds as the first of two, odds as the only or last one, quality numbers from best to worst)
ENCODERS = {
    'mjpeg': (0.12, 0.05, (3, 26)),
    'mpeg1video': (0.08, 0.03, (2, 24)),
    'mpeg2video': (0.12, 0.07, (2, 24)),
    'h263p': (0.08, 0.05, (2, 22)),
    'mpeg4': (0.18, 0.14, (2, 24)),
    'flv': (0.09, 0.05, (2, 22)),
    'libtheora': (0.06, 0.06, (9, 1)),
    'libvpx': (0.07, 0.06, (10, 58)),
    'libvpx-vp9': (0.04, 0.11, (22, 60)),
    'libx264': (0.14, 0.28, (18, 41)),
    'libx265': (0.02, 0.10, (18, 42)),
}
# `area` repeats pixels.
UP_FILTERS = {'bicubic': 0.4, 'bilinear': 0.28, 'lanczos3': 0.22, 'area': 0.1}
# Cameras that read some pixels of their sensor only: every so many pixels, or every so many lines.
SKIPPING = {'point': 0.5, 'lines': 0.5}
BLURS = {'round': 0.35, 'oval': 0.2, 'general': 0.15, 'motion': 0.15, 'lens': 0.15}
# The chains that validate: what is fixed of a plan, the rest being that of an undamaged video.
CHAINS = {
    'clean': {},
    'web': {'codings': [('libx264', 30)]},
    'phone': {'noise': 3.0, 'codings': [('mpeg4', 14)]},
    'h263': {'codings': [('h263p', 11)]},
    'theora': {'codings': [('libtheora', 4)]},
    'enlarged': {'true_size': 0.5, 'up': 'bicubic', 'codings': [('libx264', 26)]},
    'blurred': {'blur': {'kind': 'round', 'sigma': [1.5, 1.5], 'angle': 0.0, 'power': 2.0},
                'codings': [('libx264', 24)]},
    'noisy': {'noise': 10.0, 'codings': [('libx264', 27)]},
    'twice': {'codings': [('mpeg4', 9), ('libx264', 30)]},
    'camera': {'true_size': 0.6, 'filter': 'lines', 'up': 'bilinear', 'sharpened_after': {'amount': 0.8, 'sigma': 1.0},
               'codings': [('mjpeg', 7)]},
}


def _coding(codec, quality, size=1.0):
    return {'codec': codec, 'quality': int(quality), 'preset': 'fast', 'size': size}


def draw_coding(rng, last, size=1.0):
    """{'codec', 'quality', 'preset', 'size'}: size is that of the encoded picture, 1 the nominal one."""
    codec = degrade.pick(rng, {name: e[1 if last else 0] for name, e in ENCODERS.items()})
    best, worst = ENCODERS[codec][2]
    coding = _coding(codec, np.rint(best + (worst - best) * rng.random() ** 1.25), size)
    return {**coding, 'preset': str(rng.choice(['veryfast', 'fast', 'medium']))}


def draw_blur(rng):
    """{'kind', 'sigma', 'angle', 'power'}: the standard deviations along and across the angle, in nominal pixels."""
    kind = degrade.pick(rng, BLURS)
    # More small ones than large ones: a large one is soon more than anyone can undo.
    long = 0.3 + 2.5 * rng.random() ** 1.5
    across = {'oval': rng.uniform(0.25, 1), 'general': rng.uniform(0.5, 1), 'motion': 0.0}.get(kind, 1.0) * long
    power = float(rng.choice([rng.uniform(0.6, 2), rng.uniform(2, 6)])) if kind == 'general' else 2.0
    return {'kind': kind, 'sigma': [float(long), float(across)], 'angle': float(rng.uniform(0, np.pi)), 'power': power}


def plain_plan():
    """The plan of a video that nothing happened to."""
    return {'size': 1.0, 'motion': [0, 0], 'shown': list(range(FRAMES)), 'levels': None, 'blur': None, 'true_size': 1.0,
            'filter': 'bicubic', 'linear': False, 'up': None, 'noise': 0.0, 'noise_chroma': 0.0, 'coarse': False,
            'sharpened': None, 'sharpened_after': None, 'interlaced': 'no', 'codings': [], 'chain': 'drawn'}


def _levels(rng):
    return {'black': float(rng.uniform(0, 60)), 'white': float(rng.uniform(150, 255)),
            'gamma': float(np.exp(rng.normal(0, 0.15))), 'saturation': float(rng.uniform(0.2, 1.1))}


def _halo(rng):
    return {'amount': float(rng.uniform(0.3, 2.0)), 'sigma': float(rng.uniform(0.6, 1.8))}


def _shown(rng):
    """Which picture each place of the clip shows: some are frozen, or come at half the rate."""
    if rng.random() < 0.5:
        return [f // 2 * 2 for f in range(FRAMES)]
    frozen = int(rng.integers(1, FRAMES))
    return [f - 1 if f == frozen else f for f in range(FRAMES)]


def _codings(rng, true_size):
    """One encode in most videos; two where it was passed on, the first at the true size; sometimes none."""
    if true_size < 1:
        first = [draw_coding(rng, False, true_size)] if rng.random() < 0.7 else []
        return first + ([draw_coding(rng, True)] if rng.random() < 0.9 else [])
    number = rng.choice([0, 1, 2], p=[0.08, 0.62, 0.3])
    return [draw_coding(rng, last=at == number - 1) for at in range(number)]


def draw_plan(rng):
    """Everything that happens to a clip.

    size: of the photograph before the clip was cut out of it (`real` draws it). motion: [down, right] of the window from
    picture to picture, in pixels of the truth. shown: the picture at each position. levels: black and white in 8-bit levels,
    gamma, saturation. blur: `draw_blur`. true_size: of the recording, 1 the nominal size. filter, linear: of the reduction
    to it; `SKIPPING` leaves stair-steps. up: filter of the enlargement to the nominal size. noise: standard deviation in
    8-bit levels at mid grey and at the true size; noise_chroma: its share in colours; coarse: spread over neighbours.
    sharpened, sharpened_after: unsharp masks at the true size, and behind the enlargement. interlaced: no, comb or bob.
    codings: `draw_coding`.
    """
    motion = [int(v) for v in np.rint(rng.normal(0, 3, 2) * (rng.random() < 0.8))]
    if rng.random() < 0.15:  # nothing but one encode, or not even that: what is well must stay well
        return {**plain_plan(), 'motion': motion, 'filter': degrade.pick(rng, degrade.DOWN_FILTERS),
                'codings': [draw_coding(rng, True)] if rng.random() < 0.75 else []}
    t = float(rng.uniform(0.33, 0.95)) if rng.random() < 0.35 else 1.0
    plan = {
        **plain_plan(),
        'motion': motion,
        'shown': _shown(rng) if rng.random() < 0.08 else list(range(FRAMES)),
        'levels': _levels(rng) if rng.random() < 0.25 else None,
        'blur': draw_blur(rng) if rng.random() < 0.45 else None,
        'true_size': t,
        'filter': degrade.pick(rng, degrade.DOWN_FILTERS),
        'linear': bool(rng.random() < 0.1),
        'up': degrade.pick(rng, UP_FILTERS) if t < 1 else None,
        'sharpened': _halo(rng) if rng.random() < 0.2 else None,
        'sharpened_after': _halo(rng) if rng.random() < (0.2 if t < 1 else 0.05) else None,
        'interlaced': degrade.pick(rng, {'no': 0.92, 'comb': 0.04, 'bob': 0.04}),
        'codings': _codings(rng, t),
    }
    if rng.random() < 0.35:
        plan.update(noise=float(1 + 17 * rng.random() ** 1.7), noise_chroma=float(rng.uniform(0, 1)),
                    coarse=bool(rng.random() < 0.4))
    if rng.random() < (0.3 if t < 1 else 0.08):
        plan.update(filter=degrade.pick(rng, SKIPPING), linear=False)
    return plan


def chain_plan(name, rng, chains=CHAINS):
    """The plan of a chain (those that validate): its damage is fixed, the motion is drawn."""
    fixed = dict(chains[name])
    codings = fixed.pop('codings', [])
    t = fixed.get('true_size', 1.0)
    plan = {**plain_plan(), 'motion': [int(v) for v in rng.integers(-4, 5, 2)], 'chain': name, **fixed}
    return {**plan, 'codings': [_coding(*c, t if at == 0 and len(codings) > 1 else 1.0) for at, c in enumerate(codings)]}


def kernel_of(blur, scale):
    """[k, k] of sum 1, centred, for pixels `scale` times as fine as nominal ones."""
    along, across = (max(s * scale, 1e-3) for s in blur['sigma'])
    r = int(np.ceil(3.5 * along)) + 1
    fine = 3  # places within a pixel, a side: edges of lenses and lines need it
    at = (np.arange((2 * r + 1) * fine) - fine // 2) / fine - r
    y, x = at[:, None], at[None, :]
    u = x * np.cos(blur['angle']) + y * np.sin(blur['angle'])
    v = y * np.cos(blur['angle']) - x * np.sin(blur['angle'])
    if blur['kind'] == 'lens':  # a disc of radius R has the standard deviation R / 2 along any line
        kernel = (np.hypot(u, v) <= 2 * along).astype(float)
    elif blur['kind'] == 'motion':  # a line of length L: L / √12
        kernel = (np.abs(u) <= along * 3**0.5) * np.exp(-0.5 * (v / 0.35) ** 2)
    else:
        kernel = np.exp(-0.5 * ((u / along) ** 2 + (v / across) ** 2) ** (blur['power'] / 2))
    kernel = kernel.reshape(2 * r + 1, fine, 2 * r + 1, fine).sum((1, 3))
    return (kernel / kernel.sum()).astype(np.float32)


def convolved(pictures, kernel):
    """[N, H, W, C] with a kernel of any size by the fast Fourier transform; borders repeated."""
    r, (h, w) = kernel.shape[0] // 2, pictures.shape[1:3]
    planes = torch.from_numpy(np.pad(pictures, ((0, 0), (r, r), (r, r), (0, 0)), 'edge')).permute(0, 3, 1, 2)
    sides = [-(-n // 32) * 32 for n in planes.shape[-2:]]  # of small factors: twice as fast
    spectrum = torch.fft.rfft2(planes, s=sides) * torch.fft.rfft2(torch.from_numpy(kernel), s=sides)
    whole = torch.fft.irfft2(spectrum, s=sides)[..., 2 * r:2 * r + h, 2 * r:2 * r + w]
    return whole.permute(0, 2, 3, 1).contiguous().numpy()


@lru_cache(maxsize=64)
def gaussian(length, sigma):
    """The matrix [length, length] that blurs a line; borders repeated."""
    at = np.arange(length)
    taps = np.exp(-0.5 * ((at[:, None] - np.arange(-length, 2 * length)[None]) / sigma) ** 2)
    taps /= taps.sum(1, keepdims=True)
    taps[taps < 1e-9] = 0  # products with numbers near the smallest take a hundred times as long
    matrix = taps[:, length:2 * length].copy()
    matrix[:, 0] += taps[:, :length].sum(1)
    matrix[:, -1] += taps[:, 2 * length:].sum(1)
    return matrix.astype(np.float32)


def unsharp(picture, amount, sigma):
    """[H, W] or [H, W, C] and `amount` times what a Gaussian takes away from it."""
    picture = np.asarray(picture, np.float32)
    planes = np.moveaxis(picture, -1, 0) if picture.ndim == 3 else picture
    soft = gaussian(picture.shape[0], sigma) @ planes @ gaussian(picture.shape[1], sigma).T
    return picture + np.float32(amount) * (picture - (np.moveaxis(soft, 0, -1) if picture.ndim == 3 else soft))


def faded(rgb, levels):
    """RGB 0..255 with other levels: what a flat or faded recording has."""
    shaped = 255 * (np.clip(rgb, 0, 255) / 255) ** levels['gamma']
    grey = shaped @ np.array([0.299, 0.587, 0.114], np.float32)
    shaped = grey[..., None] + levels['saturation'] * (shaped - grey[..., None])
    return np.clip(levels['black'] + (levels['white'] - levels['black']) / 255 * shaped, 0, 255).astype(np.float32)


def noise_of(rng, picture, plan):
    """Noise of a sensor: partly the same in all colours, partly their own."""
    own = degrade.sensor_noise(rng, picture.shape, plan['noise'], picture, plan['coarse'])
    grey = degrade.sensor_noise(rng, (*picture.shape[:2], 1), plan['noise'], picture.mean(-1, keepdims=True), plan['coarse'])
    share = plan['noise_chroma']
    return (grey * (1 - share**2) ** 0.5 + own * share).astype(np.float32)


def even_size(side, share):
    """A side at a share of its length, in whole fours, as every encoder here takes it."""
    return max(32, int(round(side * share / 4)) * 4)


def combed(now, later):
    """The even lines of one picture and the odd ones of a later one."""
    woven = now.copy()
    woven[1::2] = later[1::2]
    return woven


def bobbed(picture, parity):
    """Every other line, and those between made of their neighbours."""
    out = picture.copy()
    lines = np.arange(picture.shape[0])
    missing = lines[lines % 2 != parity]
    above, below = np.clip(missing - 1, parity, None), missing + 1
    below = np.where(below < len(lines), below, above)
    out[missing] = (picture[above] + picture[below]) / 2
    return out


def reduced(picture, height, width, name):
    """A picture at the size of the recording, by the filter of a plan."""
    if name == 'lines':
        return resize(resize(picture, height, picture.shape[1], 'point'), height, width, 'area')
    return resize(picture, height, width, name)


def recorded(rng, pictures, plan, shape):
    """High-resolution RGB [N, H, W, 3] as recorded at the true size, before any encode. `shape`: the nominal size
    (height, width) of the video."""
    if plan['blur']:
        scale = pictures.shape[1] / shape[0]
        pictures = convolved(pictures, kernel_of(plan['blur'], scale))
    small = []
    wanted = [even_size(side, plan['true_size']) for side in shape]
    for picture in pictures:
        source = degrade.to_linear(picture) if plan['linear'] else picture
        low = reduced(source, *wanted, plan['filter'])
        low = np.clip(degrade.to_gamma(low) if plan['linear'] else low, 0, 255).astype(np.float32)
        if plan['noise']:
            low = low + noise_of(rng, low, plan)
        if plan['sharpened']:
            low = unsharp(low, **plan['sharpened'])
        small.append(np.clip(low, 0, 255))
    return small


def yuv(rgb):
    """[Y', Cb, Cr] of limited range as bytes, chroma at half the size."""
    return [to_bytes(luma(rgb)), *(to_bytes(mean_of_four(c)) for c in chroma(rgb))]


def enlarged(planes, shape, kernel):
    height, width = shape
    return [to_bytes(resize(planes[0], height, width, kernel)),
            *(to_bytes(resize(c, height // 2, width // 2, kernel)) for c in planes[1:])]


def change(before, after):
    """What an encode changed: root mean square of luma, 8-bit levels."""
    return float(np.sqrt(np.mean([(a[0].astype(np.float32) - b[0]) ** 2 for a, b in zip(after, before)])))


def damaged(rng, pictures, between, plan, shape):
    """(clip [[Y', Cb, Cr], …] as delivered, facts). `pictures` and `between` (those half a step later, or None) are RGB
    [N, H, W, 3] float32 with the plan's levels, larger than `shape`, the nominal size (height, width) of the video. facts:
    'coding' of each encode, the root mean square of what it changed in luma (8-bit levels) and the bits a pixel it took."""
    small = recorded(rng, pictures, plan, shape)
    if plan['interlaced'] == 'comb':
        small = [combed(a, b) for a, b in zip(small, recorded(rng, between, plan, shape))]
    elif plan['interlaced'] == 'bob':
        small = [bobbed(p, f % 2) for f, p in enumerate(small)]
    clip, facts = [yuv(small[s]) for s in plan['shown']], {'coding': []}
    at_true_size = [c for c in plan['codings'] if c['size'] < 1]
    clip = _encoded(clip, at_true_size, facts)
    if clip[0][0].shape != tuple(shape):
        clip = [enlarged(planes, shape, plan['up']) for planes in clip]
    if plan['sharpened_after']:
        clip = [[to_bytes(unsharp(p[0].astype(np.float32), **plan['sharpened_after'])), *p[1:]] for p in clip]
    return _encoded(clip, [c for c in plan['codings'] if c['size'] == 1], facts), facts


def _encoded(clip, codings, facts):
    for coding in codings:
        coded, bits = degrade.code_sized(clip, coding)
        facts['coding'].append({'error': change(clip, coded),
                                'bits_a_pixel': bits / (len(clip) * clip[0][0].size)})
        clip = coded
    return clip


def width_of(blur):
    """Standard deviation of a blur in nominal pixels, measured on its kernel."""
    kernel = kernel_of(blur, 2)
    at = np.arange(len(kernel)) - len(kernel) // 2
    return float(np.sqrt((kernel.sum(0) @ at**2 + kernel.sum(1) @ at**2) / 2)) / 2


def effective(scale, blur):
    """The resolution that is left, 1 the nominal one: of the recording, and of a blur by where it leaves a tenth."""
    return 1 / np.sqrt(1 / scale**2 + (blur / BLUR_OF_NYQUIST) ** 2)
