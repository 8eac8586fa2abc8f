"""Drawn pictures: the same for a seed, full of edges, with the reduction that the papers use."""
import numpy as np

from ground import drawn
from ground.resize import resize, to_bytes
from ground.samples import DrawnSource


def test_a_seed_names_one_picture():
    first, again, other = drawn.picture(4), drawn.picture(4), drawn.picture(5)
    assert first.shape == (drawn.SIDE, drawn.SIDE) and first.dtype == np.uint8
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_pictures_have_sharp_edges_and_use_the_whole_range():
    for seed in range(3):
        picture = drawn.picture(seed).astype(int)
        assert picture.min() < 20 and picture.max() > 235
        # Photographs have about one step in a thousand as high as this.
        assert (np.abs(np.diff(picture, axis=1)) > 60).mean() > 0.01


def test_a_page_has_letters_of_one_ink_on_one_paper():
    for seed in range(4):
        page, again = drawn.page(seed), drawn.page(seed)
        assert page.shape == (drawn.SIDE, drawn.SIDE, 3) and np.array_equal(page, again)
        luma = page.astype(float).mean(2)
        paper = np.median(luma)
        assert (np.abs(luma - paper) < 12).mean() > 0.35  # most of a page is paper
        assert (np.abs(luma - paper) > 60).mean() > 0.03  # and something is written on it


def test_samples_are_pictures_and_their_bicubic_reduction(tmp_path, monkeypatch):
    monkeypatch.setattr(drawn, 'CACHE', tmp_path)
    store = drawn.DrawnStore(2)
    again = drawn.DrawnStore(2)  # from the file
    high, low = store.pair(1)
    assert np.array_equal(again.pair(1)[0], high)
    assert high.min() >= 16 and high.max() <= 235
    assert np.array_equal(low[0], to_bytes(resize(high[0], drawn.SIDE // 2, drawn.SIDE // 2)))
    x, y, strength = DrawnSource(2, store).sample(np.random.default_rng(1), 48)
    assert x.shape == (1, 48, 48) and y.shape == (1, 96, 96) and strength == 0
    assert abs(x.mean() - y.mean()) < 0.02


def test_coloured_samples_have_edges_where_luma_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr(drawn, 'CACHE', tmp_path)
    source = DrawnSource(2, drawn.DrawnStore(2), colour=True)
    for seed in range(5):
        x, y, _ = source.sample(np.random.default_rng(seed), 48)
        assert x.shape == (3, 48, 48) and y.shape == (3, 96, 96) and np.abs(x[1:]).max() < 0.75
        for plane in (1, 2):
            low, high = np.ptp(y[0]), np.corrcoef(y[0].ravel(), y[plane].ravel())[0, 1]
            assert low > 0.1 and abs(high) > 0.999
            assert abs(x[plane].mean() - y[plane].mean()) < 0.02
