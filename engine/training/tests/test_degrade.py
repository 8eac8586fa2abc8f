"""Degradations: repeatable by seed, and within the ranges they state."""
import numpy as np
import pytest

from ground import clips, degrade, photos
from ground.metrics import psnr, ssim
from ground.resize import KERNELS, resize, weights


def photo(height=700, width=720):
    """Something with edges, slopes and grain."""
    y, x = np.mgrid[:height, :width]
    wave = 128 + 60 * np.sin(x / 9 + y / 23) + 40 * ((x // 37 + y // 29) % 2)
    grain = np.random.default_rng(5).normal(0, 4, (height, width, 3))
    return np.clip(wave[..., None] + grain, 0, 255).astype(np.uint8)


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize('length,wanted', [(40, 20), (20, 40), (37, 11)])
def test_resampling_keeps_flat_pictures_flat(kernel, length, wanted):
    assert np.allclose(weights(length, wanted, kernel).sum(1), 1, atol=1e-5)
    assert np.allclose(resize(np.full((length, length), 77.0), wanted, wanted, kernel), 77, atol=1e-3)


def test_bicubic_halving_has_the_taps_of_imresize():
    row = weights(64, 32)[10]
    taps = np.array([-3, -9, 29, 111, 111, 29, -9, -3]) / 256
    assert np.allclose(row[np.nonzero(np.abs(row) > 1e-6)], taps, atol=1e-6)


def test_linear_light_there_and_back():
    levels = np.arange(256.0)
    assert np.abs(degrade.to_gamma(degrade.to_linear(levels)) - levels).max() < 1e-6


def test_blur_kernels_sum_to_one_and_stay_in_their_range():
    for seed in range(50):
        kernel = degrade.blur_kernel(np.random.default_rng(seed))
        y, x = np.mgrid[-3:4, -3:4]
        assert kernel.sum() == pytest.approx(1, abs=1e-5) and kernel.min() >= 0
        assert 0 < (kernel * (x**2 + y**2)).sum() / 2 < 1.3**2 + 0.1


@pytest.mark.parametrize('coarse', [False, True])
def test_sensor_noise_has_the_level_it_says(coarse):
    grey = np.full((200, 200, 3), 128.0, np.float32)
    noise = degrade.sensor_noise(np.random.default_rng(1), grey.shape, 6.0, grey, coarse)
    assert noise.std() == pytest.approx(6.0, rel=0.05)
    dark = degrade.sensor_noise(np.random.default_rng(1), grey.shape, 6.0, grey * 0, coarse)
    assert dark.std() < 0.7 * noise.std()


@pytest.mark.parametrize('codec', degrade.CODECS)
def test_every_codec_loses_more_at_its_worse_end(codec):
    picture = photo(160, 160)
    clip = [degrade.planes_of(np.roll(picture, f, 1)) for f in range(4)]
    errors = []
    for quality in degrade.CODECS[codec][1]:
        coded = degrade.code(clip, {'codec': codec, 'quality': quality, 'preset': 'veryfast'})
        assert [p.shape for p in coded[0]] == [p.shape for p in clip[0]]
        errors.append(np.mean([np.square(a[0].astype(float) - b[0]).mean() for a, b in zip(coded, clip)]))
    assert errors[1] > 2 * errors[0] > 0


def test_clips_repeat_by_seed_and_lie_in_range():
    picture = photo()
    for seed in range(4):
        made = []
        for _ in range(2):
            rng = np.random.default_rng(seed)
            plan = degrade_plan(rng)
            made.append(clips.make_clip(rng, picture, plan))
        for (a, b) in zip(*made):
            assert a[1].tobytes() == b[1].tobytes() and a[2].tobytes() == b[2].tobytes()
            # x264 decides a block otherwise now and then (one run in 40, the same bytes put in), one thread or not.
            assert psnr(a[0][0], b[0][0]) > 30 and a[3] == pytest.approx(b[3], rel=0.1)
        coded, clean, high, error = made[0][0]
        assert coded.shape == (3, *clean.shape) and clean.shape == (clips.SIDE, clips.SIDE)
        assert high.shape == (3, 2 * clips.SIDE, 2 * clips.SIDE)
        assert 0 < error < 60
        assert psnr(coded[0], clean) > 18


@pytest.mark.parametrize('full', [False, True])
def test_coded_chroma_lies_where_that_of_the_original_does(full):
    """A coloured disc off the middle: a grid shifted by half a pixel would show at its edge."""
    y, x = np.mgrid[:360, :360]
    disc = (np.hypot(y - 150, x - 200) < 90)[..., None]
    picture = np.where(disc, [200, 60, 40], [60, 110, 190]).astype(np.uint8)
    coding = {'codec': 'libx264', 'quality': 12, 'preset': 'fast'}
    plan = {'motion': [0, 0], 'blur': False, 'filter': 'bicubic', 'linear': False, 'noise': 0.0, 'coarse': False,
            'codings': [coding], 'full_chroma': full}
    coded, _, high, _ = clips.make_clip(np.random.default_rng(3), picture, plan)[0]
    for plane in (1, 2):
        wanted = resize(high[plane], clips.SIDE, clips.SIDE)
        off = [psnr(np.roll(coded[plane], shift, 1), wanted, 8) for shift in (-1, 0, 1)]
        assert off[1] > 34 and off[1] > max(off[0], off[2]) + 3


def test_colours_are_those_of_bt601():
    red = np.full((8, 8, 3), (255, 0, 0), np.uint8)
    assert photos.ycbcr(red)[:, 0, 0].tolist() == [81, 90, 240]
    assert photos.ycbcr_420(red)[:, 4, 4].tolist() == [81, 90, 240]
    odd = photos.ycbcr_420(red[:7, :5])
    assert odd.shape == (3, 7, 5) and odd[:, 6, 4].tolist() == [81, 90, 240]


def degrade_plan(rng):
    plan = clips.draw_plan(rng)
    low, high = degrade.CODECS[plan['codings'][0]['codec']][1]
    assert low <= plan['codings'][0]['quality'] <= high and plan['filter'] in degrade.DOWN_FILTERS
    return plan


def test_psnr_and_ssim_of_known_pictures():
    picture = photo(64, 64)[..., 0].astype(float)
    assert psnr(picture, picture + 1) == pytest.approx(48.1308, abs=1e-3)
    assert ssim(picture, picture) == pytest.approx(1)
    flat = ssim(np.full((32, 32), 100.0), np.full((32, 32), 150.0))
    assert flat == pytest.approx((2 * 100 * 150 + 6.5025) / (100**2 + 150**2 + 6.5025))
