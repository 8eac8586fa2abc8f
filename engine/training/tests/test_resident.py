"""Batches made on the device: the same squares give the same tensors as the sources make of them."""
import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from test_real import moving, shards  # noqa: F401  (a fixture)

from ground import clips, photos, real
from ground.graph import GraphTrainer
from ground.objective import ALONE
from ground.photos import GroundError
from ground.recipes import RECIPES, Network
from ground.resident import EnlargedBatches, ResidentBatches, cut, squares
from ground.samples import Batches, DrawnSource, NoiseSource, PhotoSource, normalise, oriented, with_strength
from ground.trainer import Trainer, build

PATCH = 32


class Pictures:
    """Like `photos.PlaneStore`: three pictures of different sizes with their reductions."""
    path = 'pictures'

    def __init__(self):
        pairs = [photos.bicubic_pair(moving(seed, *size)) for seed, size in enumerate([(96, 120), (80, 132), (128, 88)])]
        self.bytes, self.index = np.concatenate([p.ravel() for pair in pairs for p in pair]), []
        at = 0
        for high, low in pairs:
            self.index.append({'at': at, 'hr': high.shape, 'lr': low.shape, 'size': 0.5})
            at += high.size + low.size

    def pair(self, row):
        high, low = (math.prod(row[k]) for k in ('hr', 'lr'))
        planes = self.bytes[row['at']:row['at'] + high + low]
        return planes[:high].reshape(row['hr']), planes[high:].reshape(row['lr'])


class Drawings:
    """Like `drawn.DrawnStore`."""
    path, index = 'drawings', range(4)

    def pair(self, number):
        high, low = photos.bicubic_pair(moving(number, 96, 96))
        return high[:1], low[:1]


def pictures(kind, scale, colour):
    source = kind.__new__(kind)
    source.store, source.scale, source.kept, source.odds = Pictures(), scale, 3 if colour else 1, np.array([0.2, 0.5, 0.3])
    return source


def batches(sources, shares=None, scale=2, colour=False, pairs=False, batch=12, **named):
    shares = shares or {name: 1 / len(sources) for name in sources}
    return ResidentBatches(sources, shares, batch, PATCH, scale, 5, colour, pairs, **named)


def planned(made, number):
    """(kind, its drawn numbers, first and end of its samples) of a batch."""
    plan = made.plan(number)
    return [(kind.source, drawn, *span) for kind, drawn, span in zip(made.kinds, plan['drawn'], plan['spans'])]


def squares_of(source, drawn, at, which):
    """(low, high) bytes of candidate `which` of a sample of pictures or records, turned; and the candidate's number."""
    number, y, x, way = (drawn[key][at, which] for key in ('picture', 'y', 'x', 'way'))
    scale = source.scale
    if hasattr(source, 'store'):
        high, low = source.store.pair(source.store.index[number])
        low = high if scale == 1 else low
    else:
        coded, clean, high, _ = source.record(number)
        low, high = coded, high if scale == 2 else clean
    take = lambda planes, k: oriented(planes[:source.kept, k * y:k * (y + PATCH), k * x:k * (x + PATCH)], way)
    return take(low, 1), take(high, scale), number


def taken(source, drawn, at):
    """The busier of both candidates."""
    first, second = (squares_of(source, drawn, at, which) for which in (0, 1))
    later = second[0][0].std() > first[0][0].std()
    return (*(second if later else first), int(later))


@pytest.mark.parametrize('way', range(8))
def test_squares_are_cut_and_turned_as_the_sources_do(way):
    planes = np.random.default_rng(1).integers(0, 256, (2, 3, 40, 28), np.uint8)
    places = squares(np.array([[3 * 40 * 28, 28, 40 * 28]]), np.array([6]), np.array([10]), 16, np.array([way]))
    made = cut(torch.from_numpy(planes.ravel()), torch.from_numpy(places), 3, 16)[0]
    assert np.array_equal(made.numpy(), oriented(planes[1, :, 6:22, 10:26], way))


@pytest.mark.parametrize('scale,colour', [(2, False), (2, True), (1, False)])
def test_photographs_are_those_of_their_source(scale, colour):
    made = batches({'bicubic': pictures(PhotoSource, scale, colour)}, scale=scale, colour=colour)
    seen = set()
    for number in range(4):
        (source, drawn, *_), = planned(made, number)
        x, y = made.at(number)
        for at in range(12):
            low, high, picture, later = taken(source, drawn, at)
            assert np.array_equal(x[at].numpy(), with_strength(normalise(low), 0.0)) and np.array_equal(y[at].numpy(), normalise(high))
            seen.add((int(picture), later, int(drawn['way'][at, 0])))
    assert {s[0] for s in seen} == {0, 1, 2} and {s[1] for s in seen} == {0, 1} and {s[2] for s in seen} == set(range(8))


@pytest.fixture
def coded(tmp_path, monkeypatch):
    """A shard of clips whose records are no pictures, but tell which byte is where."""
    monkeypatch.setattr(clips, 'CACHE', tmp_path)
    data = np.random.default_rng(2).integers(0, 256, 5 * clips.RECORD, np.uint8)
    data.tofile(tmp_path / 'coloured-training-000.bin')
    (tmp_path / 'coloured-training-000.json').write_text(str([{'error': float(e)} for e in (0, 3, 9, 20, 60)]).replace("'", '"'))


@pytest.mark.parametrize('scale,colour', [(2, False), (2, True), (1, False)])
def test_clips_are_those_of_their_source(scale, colour, coded):
    made, told = batches({'clips': clips.ClipSource(scale, colour=colour)}, scale=scale, colour=colour), []
    for number in range(4):
        (source, drawn, *_), = planned(made, number)
        x, y = made.at(number)
        for at in range(12):
            low, high, record, _ = taken(source, drawn, at)
            strength = x[at, 1, 0, 0].item()
            assert np.array_equal(x[at].numpy(), with_strength(normalise(low), np.float32(strength)))
            assert np.array_equal(y[at].numpy(), normalise(high))
            told.append((source.rows[record][2], 50 * strength))
    assert all(min(50, 0.8 * error) - 1e-4 <= t <= min(50, 1.2 * error) + 1e-4 for error, t in told)
    assert len({round(t / e, 3) for e, t in told if 0 < e < 60}) > 10


@pytest.mark.parametrize('colour', [False, True])
def test_noise_is_as_strong_as_it_is_told(colour):
    made, found = batches({'noise': pictures(NoiseSource, 2, colour)}, colour=colour), []
    for number in range(6):
        (source, drawn, *_), = planned(made, number)
        x, y = made.at(number)
        for at in range(12):
            low, high, *_ = taken(source, drawn, at)
            assert np.array_equal(y[at].numpy(), normalise(high))
            held = x[at, [0, 2, 3] if colour else [0]].numpy() * np.array([219, 224, 224])[:len(low), None, None]
            held += np.array([16, 128, 128])[:len(low), None, None]
            assert np.allclose(held, np.rint(held), atol=1e-3) and held.min() > -0.01 and held.max() < 255.01
            # Where nothing is cut off.
            deviation, inside = drawn['deviation'][at], [np.abs(p - 127.5) < 127 - 4 * drawn['deviation'][at] for p in low]
            if min(i.mean() for i in inside) > 0.3 and not drawn['photons'][at]:
                error = [(h - l)[i].std() for h, l, i in zip(held, low, inside)]
                found.append((deviation, error[0], drawn['weaker'][at], error[-1], x[at, 1, 0, 0].item()))
    assert len(found) > 8
    for deviation, luma, weaker, chroma, told in found:
        assert luma == pytest.approx(np.hypot(deviation, 0.29 if deviation > 0.5 else 0), rel=0.15, abs=0.3)
        assert told == pytest.approx(deviation / 50, rel=0.1001)
        if colour:  # half the size: the enlargement keeps about 0.85 of it
            assert chroma == pytest.approx(0.87 * weaker, rel=0.25, abs=0.5)


def test_noise_is_that_of_the_source_for_the_same_numbers(monkeypatch):
    """The source is led to draw what the batch has drawn."""
    class Led:
        def __init__(self, drawn, at, noise):
            self.drawn, self.at, self.noise = drawn, at, noise
            picture, y, x = (drawn[k][at] for k in ('picture', 'y', 'x'))
            self.picked, self.placed = iter(picture), iter([y[0] // 2, x[0] // 2, y[1] // 2, x[1] // 2, drawn['way'][at, 0]])
            self.shares = iter([(drawn['deviation'][at] / 50) ** 0.5, 0.0 if drawn['photons'][at] else 1.0])

        def choice(self, *_, **__): return next(self.picked)
        def integers(self, *_): return next(self.placed)
        def random(self): return next(self.shares)
        def uniform(self, *_): return 1.0
        def standard_normal(self, *_): return self.noise.copy()

    made = batches({'noise': pictures(NoiseSource, 2, False)})
    held, randn = [], torch.randn
    monkeypatch.setattr(torch, 'randn', lambda *a, **k: held.append(randn(*a, **k)) or held[-1])
    (source, drawn, *_), = planned(made, 3)
    x, _ = made.at(3)
    same = [x[at, 0].numpy() - source.sample(Led(drawn, at, held[0][at, 0].numpy()), PATCH)[0][0] for at in range(12)]
    assert (np.abs(same) < 1e-6).mean() > 0.999 and np.abs(same).max() < 1.01 / 219  # one rounds up where the other rounds down


@pytest.mark.parametrize('colour', [False, True])
def test_drawn_pictures_get_colours_of_their_luma(colour):
    source = DrawnSource(2, Drawings(), colour)
    made = batches({'drawn': source}, colour=colour)
    (_, drawn, *_), = planned(made, 1)
    x, y = made.at(1)
    for at in range(12):
        low, high, *_ = taken(SimpleNamespace(store=source.store, scale=2, kept=1), drawn, at)
        assert np.array_equal(x[at, 0].numpy(), normalise(low)[0]) and np.array_equal(y[at, 0].numpy(), normalise(high)[0])
        if colour:
            slopes, levels = drawn['slopes'][at], drawn['levels'][at]
            halved = photos.on_luma_grid(photos.mean_of_four(low[0].astype(np.float32)), PATCH, PATCH)
            for plane in (0, 1):
                assert np.allclose(y[at, 1 + plane], slopes[plane] * (normalise(high)[0] - 0.5) + levels[plane], atol=1e-6)
                expected = slopes[plane] * (normalise(halved) - 0.5) + levels[plane]
                assert np.abs(x[at, 2 + plane].numpy() - expected).max() < 0.6 * abs(slopes[plane]) / 219 + 1e-5 or halved.min() == 0


WAYS = {'real': 'full', 'real-between': 'between', 'real-clean': 'clean'}


@pytest.mark.parametrize('scale,colour', [(2, False), (2, True), (1, False)])
def test_real_damage_is_that_of_its_source(scale, colour, shards):  # noqa: F811
    beside = 'quality-x2.onnx' if colour else 'fast-x2.onnx'
    sources = {name: real.RealSource(scale, colour=colour, way=way, beside=beside) for name, way in WAYS.items()}
    made = batches(sources, scale=scale, colour=colour, pairs=True, batch=18)
    moved, undamaged = set(), 0
    for number in range(3):
        x, y, shifts = made.at(number)
        for source, drawn, first, end in planned(made, number):
            for at in range(0, end - first, 2):
                later = contrast(source, drawn, at, 1) > contrast(source, drawn, at, 0)
                record, row, column, way = (int(drawn[key][at, int(later)]) for key in ('picture', 'y', 'x', 'way'))
                rest = [row, column], way, bool(drawn['undamaged'][at]), float(drawn['strength'][at]), PATCH
                undamaged += rest[2]
                for place, held in ((first + at, record), (first + at + 1, source._beside(record))):
                    low, wanted, strength = source._made(held, *rest)
                    assert np.array_equal(x[place].numpy(), with_strength(low, np.float32(strength)))
                    assert np.allclose(y[place].numpy(), wanted, atol=2e-6)
                assert shifts[first + at].tolist() == [ALONE, ALONE]
                assert tuple(shifts[first + at + 1].tolist()) == shift_of(source, record, rest, drawn)
                moved.add(tuple(shifts[first + at + 1].tolist()))
    assert len(moved) > (3 if scale == 2 else 1) and undamaged  # at ×1 few move by whole pixels


def test_what_a_x4_network_wants_is_that_of_a_x2_one_enlarged(shards):  # noqa: F811
    sources = {name: real.RealSource(2, colour=True, way=way, beside='fast-x2.onnx') for name, way in WAYS.items()}
    small = batches(sources, scale=2, colour=True, pairs=True, batch=6)
    (x, wanted, shifts), (seen, large, moved) = small.at(1), EnlargedBatches(small, 'fast-x2.onnx').at(1)
    assert torch.equal(x, seen) and large.shape == (*wanted.shape[:2], 2 * wanted.shape[2], 2 * wanted.shape[3])
    inside = (torch.nn.functional.avg_pool2d(large, 2) - wanted)[..., 8:-8, 8:-8].abs()
    assert inside.mean() < 0.01 < (large[..., ::2, ::2] - wanted)[:, 0].abs().mean()
    alone = shifts == ALONE
    assert alone.any() and (moved[alone] == ALONE).all() and torch.equal(moved[~alone], 2 * shifts[~alone])


def contrast(source, drawn, at, which):
    """Of the luma that is wanted."""
    record, row, column = (drawn[key][at, which] for key in ('picture', 'y', 'x'))
    made = source._clean if source.scale == 1 else source._truth
    return made(record, [row, column], PATCH)[0].astype(np.float64).std()


def shift_of(source, record, rest, drawn):
    """As `RealSource.pair` says it, of a source that draws these numbers."""
    led = real.RealSource.__new__(real.RealSource)
    led.__dict__.update(source.__dict__)
    led._drawn = lambda rng, patch: (record, *rest[:-1])
    return led.pair(None, PATCH)[2]


def mixed():
    sources = {'bicubic': pictures(PhotoSource, 2, False), 'noise': pictures(NoiseSource, 2, False),
               'drawn': DrawnSource(2, Drawings())}
    return sources, {'bicubic': 0.55, 'noise': 0.3, 'drawn': 0.15}


def test_a_batch_of_a_number_is_always_the_same_and_another_of_another():
    first, second = batches(*mixed()), batches(*mixed())
    second.at(9)
    assert all(torch.equal(a, b) for a, b in zip(first.at(4), second.at(4)))
    assert not torch.equal(first.at(4)[0], first.at(5)[0])


def test_kinds_have_their_shares():
    made = batches(*mixed())
    counts = np.array([made.counts(np.random.default_rng(n)) for n in range(400)])
    assert (counts.sum(1) == 12).all() and (counts.max(0) - counts.min(0) <= 1).all()
    assert counts.mean(0) / 12 == pytest.approx([0.55, 0.3, 0.15], abs=0.01)


def test_pictures_are_drawn_by_their_odds():
    made = batches({'bicubic': pictures(PhotoSource, 2, False)}, batch=200)
    drawn = np.concatenate([made.plan(n)['drawn'][0]['picture'].ravel() for n in range(10)])
    assert np.bincount(drawn) / len(drawn) == pytest.approx([0.2, 0.5, 0.3], abs=0.03)


def test_a_trainer_learns_as_much_from_either():
    recipe = dataclasses.replace(RECIPES['mixed'], batch=12, patch=PATCH, warm_up=3)
    network = Network('', '', '', 2, 16, 2)
    sources, shares = mixed()
    plain = Batches(sources, shares, 12, PATCH, 2, 5)

    def last(kind, made):
        torch.manual_seed(3)
        t = kind(build(network), made, recipe)
        return np.mean([t.step()['loss'] for _ in range(30)][-10:])
    assert last(GraphTrainer, batches(sources, shares)) == pytest.approx(last(Trainer, plain), rel=0.2)


@pytest.mark.parametrize('change', [{'sharpen': 0.5}, {'taught': 0.3}])
def test_what_only_processes_make_is_refused(change, shards):  # noqa: F811
    with pytest.raises(GroundError, match='not_resident'):
        batches({'real': real.RealSource(2, **change)})
    with pytest.raises(GroundError, match='not_resident'):
        batches({'real': real.RealSource(2), 'bicubic': pictures(PhotoSource, 2, False)})
