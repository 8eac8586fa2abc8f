"""The measurement of damage: a small network on `damage_features`, that says how likely every value is.

Trained on pictures with known damage (`damage_frames`), scored on validation photographs, exported as a C++ header for
the engine, which runs it without any library.
"""
import hashlib
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from . import damage_features
from .damage import effective, even_size, width_of
from .damage_features import features_of
from .damage_frames import FOLDER, KNOWN, make_files
from .photos import HERE, GroundError
from .real import SIDE, RealSource

ENGINE = HERE.parent
HEADER = ENGINE / 'src/plan/damage_weights.inc'
WITNESS = ENGINE / 'tests/damage_witness.txt'
# Levels of compression error: what is called heavy and light, and where the line between them is drawn.
HEAVY, LIGHT, BETWEEN = 6.0, 2.5, 3.9
ENLARGED_BELOW, UNSHARP_BELOW = 0.75, 0.65  # as engine/src/plan/damage_description.cc
# What is judged, and between which values; each as ln(value + offset) on a scale of BINS places.
TARGETS = {'compression': 0.5, 'scale': 0.0, 'blur': 0.3, 'noise': 0.5, 'error': 0.5, 'effective': 0.0}
RANGES = {'compression': (0, 20), 'scale': (0.2, 1), 'blur': (0, 4), 'noise': (0, 20), 'error': (0, 40), 'effective': (0.15, 1)}
BINS = 16
HIDDEN = (64, 32)
FARTHEST = 4.0  # standard deviations beyond which a feature counts no more


def windows_of(rng, picture):
    """The whole picture and a part of it: small videos have small windows, and not all begin with a block."""
    side = picture.shape[-1]
    height, width = (int(rng.integers(12, side // 8 + 1)) * 8 for _ in 'hw')
    step = 1 if rng.random() < 0.1 else 8
    y, x = (int(rng.integers((side - n) // step + 1)) * step for n in (height, width))
    return [picture, picture[y:y + height, x:x + width]]


def version():
    """Of the features: those of another are made anew."""
    return hashlib.sha256(Path(damage_features.__file__).read_bytes()).hexdigest()[:12]


def make_features(minutes=None):
    """Features of the pictures that are there; returns how many files are left."""
    end, left = time.monotonic() + 60 * minutes if minutes else None, 0
    for path in sorted(FOLDER.glob('*.npz')):
        made = FOLDER / 'features' / version() / path.name
        if made.exists():
            continue
        if end and time.monotonic() > end:
            left += 1
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        held, rng, rows, known, chains, clips = np.load(path), np.random.default_rng(5), [], [], [], []
        for at, picture in enumerate(held['pictures']):
            windows = windows_of(rng, picture)
            rows += [features_of(window) for window in windows]
            known += [held['known'][at]] * len(windows)
            chains += [str(held['chains'][at])] * len(windows)
            clips += [at] * len(windows)
        np.savez(made, features=np.array(rows, np.float32), known=np.array(known), chains=np.array(chains, str),
                 clips=np.array(clips, int))
    return left


def known_of(row):
    """What a shard's row tells, as `damage_frames` has it; NaN for what it does not."""
    blur = width_of(row['blur']) if row['blur'] else 0.0
    coded = float(np.sqrt(sum(c['error'] ** 2 for c in row['coding'])))
    noise, compression = (np.nan, np.nan) if row['noise'] else (0.0, coded)
    return [compression, even_size(SIDE, row['true_size']) / SIDE, blur, noise, row['error'], 0.0]


def make_shard_features(split, every=1):
    """Features of the delivered pictures of the shards of real damage: patches of 160, from more plans."""
    made = FOLDER / 'features' / version() / f'{split}-shards.npz'
    if made.exists():
        return
    source = RealSource(2, split)
    some = [n for n in range(0, len(source.plans), every) if source.plans[n]['interlaced'] != 'comb']
    made.parent.mkdir(parents=True, exist_ok=True)
    np.savez(made, features=np.array([features_of(source.record(n)[0][0]) for n in some], np.float32),
             known=np.array([known_of(source.plans[n]) for n in some], np.float32),
             chains=np.array([source.plans[n]['chain'] for n in some], str),
             clips=np.unique([f"{source.plans[n]['photo']} {source.plans[n]['clip']}" for n in some], return_inverse=True)[1])


def table(split, which='*'):
    """(features [n, COUNT], targets [n, len(TARGETS)] as logarithms, known {name: [n]}, chains [n], clips [n]: windows of one
    have the same number)."""
    held = [np.load(p) for p in sorted((FOLDER / 'features' / version()).glob(f'{split}-{which}.npz'))]
    held = [h for h in held if len(h['features'])]
    if not held:
        raise GroundError('no_features: make pictures with known damage first (ground.sh damage).')
    features, values, chains = (np.concatenate([h[k] for h in held]) for k in ('features', 'known', 'chains'))
    known = dict(zip(KNOWN, values.T.astype(np.float64)))
    known['effective'] = effective(known['scale'], known['blur'])
    targets = np.stack([np.log(known[name] + offset) for name, offset in TARGETS.items()], 1)
    clips, count = [], 0
    for h in held:
        clips.append(count + h['clips'])
        count = int(clips[-1].max()) + 1
    return features.astype(np.float32), targets.astype(np.float32), known, chains, np.concatenate(clips)


class DamageNetwork(nn.Module):
    """features → [n, len(TARGETS), BINS]: how likely each place of each scale is (before softmax). A number alone could not say
    "either not enlarged, or from a half", which is what a blurred picture looks like."""

    def __init__(self, mean, deviation):
        super().__init__()
        self.register_buffer('mean', torch.as_tensor(mean))
        self.register_buffer('deviation', torch.as_tensor(deviation))
        sizes = [len(mean), *HIDDEN, BINS * len(TARGETS)]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x, dropped=0.0):
        x = ((x - self.mean) / self.deviation).clamp(-FARTHEST, FARTHEST)
        x = nn.functional.dropout(x, dropped, self.training)
        for at, layer in enumerate(self.layers):
            x = layer(x if at == 0 else torch.relu(x))
        return x.unflatten(1, (len(TARGETS), BINS))


def places(targets):
    """[n, len(TARGETS), BINS]: each logarithm as weights of the two places beside it."""
    found = np.zeros((*targets.shape, BINS), np.float32)
    for i, (name, offset) in enumerate(TARGETS.items()):
        low, high = (np.log(v + offset) for v in RANGES[name])
        at = np.clip((np.nan_to_num(targets[:, i]) - low) / (high - low), 0, 1) * (BINS - 1)
        below = np.minimum(at.astype(int), BINS - 2)
        rows = np.arange(len(at))
        found[rows, i, below] = 1 - (at - below)
        found[rows, i, below + 1] = at - below
    return torch.from_numpy(found)


def weights_of(known):
    """[n, len(TARGETS)]: nobody knows the sharpness of crops at their own size, so they count for little there. What a row
    does not tell counts for nothing."""
    weights = np.stack([np.isfinite(known[name]) for name in TARGETS], 1).astype(np.float32)
    for name in ('scale', 'blur', 'effective'):
        weights[known['natural'] > 0, list(TARGETS).index(name)] *= 0.3
    return torch.from_numpy(weights)


def trained(features, targets, known, steps=800, batch=512, seed=1):
    torch.manual_seed(seed)
    deviation = features.std(0)
    network = DamageNetwork(features.mean(0), np.maximum(deviation, 1e-3))
    x, y, w = torch.from_numpy(features), places(targets), weights_of(known)
    optimiser = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, steps)
    for _ in range(steps):
        some = torch.randint(len(x), (batch,))
        optimiser.zero_grad()
        likely = torch.log_softmax(network(x[some], 0.1), 2)
        (-(y[some] * likely).sum(2) * w[some]).mean().backward()
        optimiser.step()
        schedule.step()
    return network.eval()


def pooled(likely, clips):
    """Logarithms of likelihood [n, targets, BINS] of windows → of clips: means, sharper the more windows there are, but not as if
    they were independent."""
    _, inverse = np.unique(clips, return_inverse=True)
    count = np.bincount(inverse)
    sums = np.zeros((len(count), *likely.shape[1:]))
    np.add.at(sums, inverse, likely)
    return sums / count[:, None, None] ** 0.5


def medians(likely):
    """{name: value [n]}: the middle of each distribution."""
    share = np.exp(likely - likely.max(2, keepdims=True))
    share /= share.sum(2, keepdims=True)
    sums = np.cumsum(share, 2)
    at = (sums < 0.5).sum(2)
    before = np.take_along_axis(sums - share, at[..., None], 2)[..., 0]
    within = (0.5 - before) / np.take_along_axis(share, at[..., None], 2)[..., 0]
    # A place stands for what is nearest to it; the first and last for half of that.
    at = np.clip(at + within - 0.5, 0, BINS - 1) / (BINS - 1)
    found = {}
    for i, (name, offset) in enumerate(TARGETS.items()):
        low, high = (np.log(v + offset) for v in RANGES[name])
        found[name] = np.exp(low + at[:, i] * (high - low)) - offset
    return found


@torch.no_grad()
def likelihoods(network, features):
    """float64 [n, len(TARGETS), BINS], logarithms."""
    return torch.log_softmax(network(torch.from_numpy(features)), 2).numpy().astype(np.float64)


def estimated(network, features):
    return medians(likelihoods(network, features))


def share(marks):
    """Of those that are true; None of none."""
    return float(np.mean(marks)) if len(marks) else None


def middle(errors):
    """The median of those that are known; None of none."""
    errors = errors[np.isfinite(errors)]
    return float(np.median(errors)) if len(errors) else None


def scored(likely, known, chains, clips):
    """How good the estimates are, windows of a clip taken together: [{'chain', 'clips', median error of each estimate, shares}],
    the first row of all chains. How sharp crops at their own size are nobody knows: they count among the false calls alone."""
    found = medians(pooled(likely, clips))
    _, first = np.unique(clips, return_index=True)
    known, chains = {k: v[first] for k, v in known.items()}, chains[first]
    rows = []
    for chain in [None, *sorted(set(chains))]:
        here = chains == chain if chain else chains != ''
        sure = here & (known['natural'] == 0)
        near = {n: np.abs(found[n] / np.maximum(known[n], 1e-9) - 1)[sure] < 0.2 for n in ('scale', 'effective')}
        heavy, light = here & (known['compression'] > HEAVY), here & (known['compression'] < LIGHT)
        sharp, soft = here & (known['effective'] >= 0.9), here & (known['effective'] < 0.55)
        small = here & (known['scale'] < 0.6)
        rows.append({
            'chain': chain or 'all', 'clips': int(here.sum()),
            **{n: middle(np.abs(found[n] - known[n])[sure]) for n in TARGETS},
            'scale_near': share(near['scale']), 'effective_near': share(near['effective']),
            'told': share(np.r_[found['compression'][heavy] > BETWEEN, found['compression'][light] <= BETWEEN]),
            'enlarged_found': share(found['scale'][small] < ENLARGED_BELOW),
            'enlarged_falsely': share(found['scale'][sharp] < ENLARGED_BELOW),
            'unsharp_found': share(found['effective'][soft] < UNSHARP_BELOW),
            'unsharp_falsely': share(found['effective'][sharp] < UNSHARP_BELOW)})
    return rows


def pattern(number, width, height):
    """A window made by whole numbers alone, the same in every language: `engine/tests/pixel_damage_test.cc` has its twin."""
    y, x = np.mgrid[:height, :width].astype(np.uint32)
    mixed = (x * np.uint32(2654435761) ^ y * np.uint32(40503)) * np.uint32(1664525) + np.uint32(1013904223)
    noise = mixed >> np.uint32(24)
    kinds = [(x * 3 + y * 5) % 160 + (noise >> 4) + 30, 40 + (x // 8 * 37 + y // 8 * 91) % 150 + x * y % 7,
             60 + (x * x + y * y) // 300 % 120, noise]
    return kinds[number].astype(np.uint8)


PATTERNS = ((0, 256, 256), (1, 176, 144), (2, 240, 136), (3, 96, 96))


def witness(network):
    """Text for the engine's test: of each pattern its number, size, features and estimates."""
    lines = []
    for number, width, height in PATTERNS:
        features = features_of(pattern(number, width, height))
        estimates = medians(likelihoods(network, features[None].astype(np.float32)))
        lines += [f'{number} {width} {height}', ' '.join(f'{v:.6g}' for v in features),
                  ' '.join(f'{estimates[n][0]:.5g}' for n in TARGETS)]
    return '\n'.join(lines) + '\n'


def header(network):
    """The network as C++."""
    def array(name, values):
        values = [f'{v:.6g}' for v in np.asarray(values).ravel()]
        values = [v if '.' in v or 'e' in v else f'{v}.0' for v in values]
        rows = [', '.join(f'{v}F' for v in values[i:i + 16]) for i in range(0, len(values), 16)]
        return f'constexpr float {name}[] = {{\n' + ',\n'.join(rows) + '};\n'

    scales = ', '.join(f'{{{float(RANGES[n][0])!r}, {float(RANGES[n][1])!r}, {offset!r}}}' for n, offset in TARGETS.items())
    text = ('// Made by `ground.sh damage` (engine/training/ground/damage_estimate.py); not to be edited.\n'
            '// Scales of the estimates: lowest value, highest value, and the offset in front of the logarithm.\n'
            'struct Scale {\n  double low;\n  double high;\n  double offset;\n};\n'
            f'constexpr Scale kScales[] = {{{scales}}};\n')
    text += array('kMean', network.mean) + array('kDeviation', network.deviation)
    for at, layer in enumerate(network.layers):
        text += array(f'kWeights{at}', layer.weight.detach()) + array(f'kBias{at}', layer.bias.detach())
    return text


def damage_command(minutes=None, steps=3000):
    """Makes pictures and features (for so many minutes each, or until they are there), trains, writes the engine's files, and
    prints the scores of validation photographs as JSON, a row a chain."""
    torch.set_num_threads(1)
    print(f'{make_files(minutes)} photographs without pictures', flush=True)
    make_shard_features('training')
    make_shard_features('validation', 3)
    print(f'{make_features(minutes)} photographs without features', flush=True)
    features, targets, known, _, _ = table('training')
    network = trained(features, targets, known, steps)
    export(network)
    for which in ('shards', '[0-9]*'):
        features, _, known, chains, clips = table('validation', which)
        for row in scored(likelihoods(network, features), known, chains, clips):
            print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}))


def export(network):
    HEADER.write_text(header(network))
    WITNESS.write_text(witness(network))
