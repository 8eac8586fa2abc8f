"""Alignment and the variant of `fast` that sees the pictures before and after."""
import numpy as np
import pytest
import torch

from ground.motion import BLOCK, aligned, doubled, vectors
from ground.metrics import unsteadiness
from ground.neighbours import NeighbourBatches, begun_as, variant
from ground.network import RestorationNet
from ground.release import MODELS, load_averaged, load_state


def scene(seed, side=120):
    """Smooth random bytes: low-pass noise."""
    rng = np.random.default_rng(seed)
    wide = rng.random((side // 4 + 8, side // 4 + 8)).repeat(8, 0).repeat(8, 1)
    for _ in range(12):
        wide = (wide + np.roll(wide, 1, 0) + np.roll(wide, 1, 1) + np.roll(wide, (1, 1), (0, 1))) / 4
    return (16 + 219 * (wide - wide.min()) / np.ptp(wide))[:2 * side, :2 * side]


def halved(picture):
    h, w = picture.shape
    return np.rint(picture.reshape(h // 2, 2, w // 2, 2).mean((1, 3))).astype(np.uint8)


@pytest.mark.parametrize('moved', [(0, 0), (2, -6), (3, 5), (-7, 1)])  # half pixels of the source
def test_vectors_of_a_moving_picture(moved):
    big, side = scene(5), 160
    here, there = (halved(big[y:y + side, x:x + side]) for y, x in ((20, 20), (20 + moved[0], 20 + moved[1])))
    found = vectors(here, there)[:, 1:-1, 1:-1]
    # A block seen at (y, x) in `here` lies at (y − moved / 2, …) in `there`.
    off = np.maximum(np.abs(found[0] + moved[0]), np.abs(found[1] + moved[1]))
    assert np.mean(off == 0) > 0.7 and np.mean(off <= 1) > 0.95
    inner = slice(BLOCK, -BLOCK)
    error = np.abs(aligned(here, there).astype(int) - here)[inner, inner].mean()
    assert error < 1
    if moved != (0, 0):
        assert error < 0.25 * np.abs(there.astype(int) - here)[inner, inner].mean()


def test_the_doubled_picture_keeps_its_samples_and_bytes():
    plane = np.random.default_rng(1).integers(16, 236, (24, 32)).astype(np.uint8)
    fine = doubled(plane)
    assert (fine[::2, ::2] == plane).all() and fine.min() >= 0 and fine.max() <= 255
    flat = doubled(np.full((16, 16), 77, np.uint8))
    assert (flat == 77).all()


def test_sides_that_are_no_blocks_are_refused():
    with pytest.raises(ValueError, match='multiples of 8'):
        vectors(np.zeros((20, 16), np.uint8), np.zeros((20, 16), np.uint8))


@pytest.mark.parametrize('shape', [{}, {'features': 16, 'layers': 7, 'fold': 1}])
def test_the_variant_begins_as_fast_and_its_new_planes_learn(shape):
    torch.manual_seed(2)
    small = RestorationNet(2, **shape).to(memory_format=torch.channels_last)
    net, x = begun_as(variant(small, 4), small), torch.rand(1, 4, 24, 24)
    assert torch.equal(net(x), small(x[:, :2]))
    net(x).sum().backward()
    assert net.head.direct.grad[:, 2:].abs().max() > 0 and net.head.widen.grad[:, 2:].abs().max() > 0


def test_the_experiment_begins_as_the_shipped_fast():
    start = load_averaged(load_state(MODELS / 'fast-x2.onnx'))
    net, x = begun_as(variant(start, 4), start), torch.rand(1, 4, 24, 24)
    assert torch.allclose(net(x), start(x[:, :2]), atol=1e-5)


def test_unsteadiness_follows_the_motion():
    big, places = scene(6), [(10, 30), (13, 26), (16, 22)]
    pictures = [big[y:y + 100, x:x + 100] for y, x in places]
    assert unsteadiness(pictures, (3, -4)) == 0
    assert unsteadiness(pictures, (0, 0)) > 1
    rng = np.random.default_rng(0)
    noisy = [p + rng.normal(0, 2, p.shape) for p in pictures]
    assert unsteadiness(noisy, (3, -4)) == pytest.approx(2 * 2**0.5, rel=0.05)


class Still:
    """A source of one record whose neighbours are told apart by their level."""
    rows = [None]

    def record(self, number):
        return np.stack([np.full((160, 160), v, np.uint8) for v in (100, 50, 200)]), np.full((320, 320), 100, np.uint8), 5.0


def test_the_control_gets_the_same_batches_without_the_planes():
    both = [NeighbourBatches(Still(), 3, 32, 1, planes).at(4) for planes in (2, 4)]
    assert torch.equal(both[0][0], both[1][0][:, :2]) and torch.equal(both[0][1], both[1][1])
    assert both[1][0].shape == (3, 4, 32, 32)
    assert (both[1][0][:, 2] < both[1][0][:, 0]).all() and (both[1][0][:, 3] > both[1][0][:, 0]).all()
