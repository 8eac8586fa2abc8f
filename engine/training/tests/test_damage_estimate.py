"""The measurement of damage: what is known of a picture is true, and estimates are read as they were written."""
import numpy as np
import pytest
import torch
from test_real import moving

from ground import damage, damage_estimate, damage_features, damage_frames


def made(**changes):
    plan = {**damage.plain_plan(), 'role': 'damaged', 'later': False, **changes}
    picture, known = damage_frames.made_of(np.random.default_rng(4), moving(3, 560, 600), plan)
    assert picture.shape == (damage_frames.SIDE,) * 2 and picture.dtype == np.uint8
    return picture, dict(zip(damage_frames.KNOWN, known))


def test_what_is_known_of_a_picture_is_true():
    _, clean = made()
    assert clean['compression'] == 0 and clean['scale'] == 1 and clean['blur'] == 0 and clean['error'] < 1
    _, coded = made(codings=[damage._coding('mjpeg', 20)])
    assert coded['compression'] == pytest.approx(coded['error'], rel=0.1) and coded['compression'] > 3
    _, noisy = made(noise=8.0)
    assert noisy['noise'] == pytest.approx(noisy['error'], rel=0.15) and noisy['compression'] < 0.2 * noisy['noise']
    _, smeared = made(noise=8.0, codings=[damage._coding('libx264', 36)])
    assert smeared['noise'] < 0.6 * noisy['noise'] and smeared['compression'] > 1
    _, small = made(true_size=0.5, up='bicubic')
    assert small['scale'] == 0.5 and small['compression'] == 0 and small['error'] > clean['error']
    blur = {'kind': 'round', 'sigma': [1.5, 1.5], 'angle': 0.0, 'power': 2.0}
    assert made(blur=blur)[1]['blur'] == pytest.approx(1.5, rel=0.1)


def test_features_show_what_was_done():
    names = ('plain', 'coded', 'small')
    pictures = made()[0], made(codings=[damage._coding('mjpeg', 26)])[0], made(true_size=0.4, up='bicubic')[0]
    plain, coded, small = (dict(zip(names, [damage_features.features_of(p) for p in pictures]))[n] for n in names)
    grid, top_band = 54, damage_features.BANDS - 1
    assert coded[grid] > plain[grid] + 0.1, 'blocks of 8'
    assert small[top_band] < plain[top_band] - 2, 'no fine detail'


def test_a_smaller_window_has_features_too():
    for shape in ((96, 96), (144, 176), (256, 240)):
        found = damage_features.features_of(damage_estimate.pattern(0, *shape[::-1]))
        assert len(found) == 181 and np.isfinite(found).all()


def test_estimates_are_read_as_they_were_written():
    known = np.array([[0.0, 1.0, 0.0, 0.0, 0.3, 1.0], [7.0, 0.5, 1.5, 4.0, 12.0, 0.33]])
    offsets = np.array(list(damage_estimate.TARGETS.values()))
    likely = np.log(damage_estimate.places(np.log(known + offsets)).numpy() + 1e-9)
    found = damage_estimate.medians(likely)
    for at, name in enumerate(damage_estimate.TARGETS):
        assert found[name] == pytest.approx(known[:, at], abs=0.25, rel=0.12), name


def test_more_windows_make_an_estimate_surer_and_an_empty_one_changes_little():
    one = np.log(np.full((1, 6, 16), 0.02) + 0.68 * (np.arange(16) == 4))
    blank = np.log(np.full((1, 6, 16), 1 / 16))
    alone, four = damage_estimate.pooled(one, [0]), damage_estimate.pooled(np.repeat(one, 4, 0), [0] * 4)
    assert np.ptp(four) == pytest.approx(2 * np.ptp(alone))
    with_blank = damage_estimate.medians(damage_estimate.pooled(np.concatenate([one, blank]), [0, 0]))
    assert with_blank['effective'] == pytest.approx(damage_estimate.medians(alone)['effective'], rel=0.1)


def test_the_network_learns_and_is_written_as_code():
    rng = np.random.default_rng(1)
    known = {name: rng.uniform(low, high, 400) for name, (low, high) in damage_estimate.RANGES.items()}
    known['natural'] = np.zeros(400)
    targets = np.stack([np.log(known[n] + o) for n, o in damage_estimate.TARGETS.items()], 1).astype(np.float32)
    features = np.concatenate([targets, rng.normal(0, 1, (400, 175))], 1).astype(np.float32)
    torch.set_num_threads(1)
    network = damage_estimate.trained(features, targets, known, steps=120, batch=128)
    found = damage_estimate.estimated(network, features)
    assert np.median(np.abs(found['effective'] - known['effective'])) < 0.12
    text = damage_estimate.header(network)
    assert text.count('F,') + text.count('F}') == sum(v.numel() for v in network.state_dict().values())
