"""Real damage: what a plan says is what happens, truth and motion are known, and strengths mean what they say."""
import argparse
import hashlib
import json
import subprocess

import numpy as np
import pytest
import torch
from test_degrade import photo

from ground import clips, commands, damage, degrade, photos, real, real_scores, training
from ground.metrics import psnr
from ground.recipes import NETWORKS, RECIPES
from ground.resize import resize


def plan_with(**changes):
    return {**damage.plain_plan(), **changes}


def moving(seed=1, height=420, width=440):
    """RGB with detail that is nowhere alike."""
    grain = resize(np.random.default_rng(seed).normal(0, 60, (height // 4, width // 4)), height, width)
    return np.clip(photo(height, width) + grain[..., None], 0, 255).astype(np.uint8)


@pytest.mark.parametrize('codec', damage.ENCODERS)
def test_every_encoder_loses_more_at_its_worse_end(codec):
    clip = [degrade.planes_of(np.roll(photo(96, 104), f, 1)) for f in range(4)]
    errors = []
    for quality in damage.ENCODERS[codec][2]:
        coding = {'codec': codec, 'quality': quality, 'preset': 'veryfast'}
        coded, bits = degrade.code_sized(clip, coding)
        assert [p.shape for p in coded[0]] == [p.shape for p in clip[0]] and bits > 0
        errors.append(np.mean([np.square(a[0].astype(float) - b[0]).mean() for a, b in zip(coded, clip)]))
        # Limited range in, limited range out.
        assert abs(np.mean([a[0].mean() - b[0].mean() for a, b in zip(coded, clip)])) < 1
    assert errors[1] > 2 * errors[0] > 0


def test_pictures_that_an_encoder_leaves_out_are_there_again():
    still = [degrade.planes_of(photo(96, 96))] * 5
    coded, _ = degrade.code_sized(still, {'codec': 'libtheora', 'quality': 2, 'preset': ''})
    assert len(coded) == 5 and np.array_equal(coded[3][0], coded[4][0])


@pytest.mark.parametrize('kind', damage.BLURS)
def test_blurs_are_as_wide_as_they_say(kind):
    blur = {'kind': kind, 'sigma': [1.5, {'oval': 0.6, 'motion': 0.0}.get(kind, 1.5)], 'angle': 0.7, 'power': 2.0}
    kernel = damage.kernel_of(blur, 2)
    assert kernel.sum() == pytest.approx(1, abs=1e-5) and kernel.min() >= 0
    y, x = np.mgrid[:len(kernel), :len(kernel)] - len(kernel) // 2
    along, across = x * np.cos(0.7) + y * np.sin(0.7), y * np.cos(0.7) - x * np.sin(0.7)
    assert abs((kernel * x).sum()) < 0.02 and abs((kernel * y).sum()) < 0.02
    assert (kernel * along**2).sum() ** 0.5 == pytest.approx(3.0, rel=0.08)
    assert (kernel * across**2).sum() ** 0.5 == pytest.approx(max(0.45, 2 * blur['sigma'][1]), rel=0.15)


def test_blur_by_fourier_is_blur():
    spot = np.zeros((1, 50, 60, 3), np.float32)
    spot[0, 20, 30] = 1
    kernel = damage.kernel_of({'kind': 'oval', 'sigma': [1.2, 0.5], 'angle': 0.4, 'power': 2.0}, 2)
    made, r = damage.convolved(spot, kernel), len(kernel) // 2
    assert np.allclose(made[0, 20 - r:21 + r, 30 - r:31 + r, 1], kernel, atol=1e-5)
    flat = damage.convolved(np.full((1, 40, 40, 3), 90, np.float32), kernel)
    assert np.allclose(flat, 90, atol=1e-2)


def test_plans_are_plain_data_and_cover_what_they_name():
    plans = [damage.draw_plan(np.random.default_rng(seed)) for seed in range(600)]
    assert json.loads(json.dumps(plans)) == plans
    codecs = {c['codec'] for p in plans for c in p['codings']}
    assert codecs == set(damage.ENCODERS) and {len(p['codings']) for p in plans} == {0, 1, 2}
    assert {p['interlaced'] for p in plans} == {'no', 'comb', 'bob'}
    assert {p['blur']['kind'] for p in plans if p['blur']} == set(damage.BLURS)
    for plan in plans:
        assert 0.3 < plan['true_size'] <= 1 and (plan['up'] is None) == (plan['true_size'] == 1)
        assert all(c['size'] in (1.0, plan['true_size']) for c in plan['codings'])
        assert sorted(plan['shown']) == plan['shown'] and 0 <= plan['noise'] <= 18


def test_nothing_done_leaves_the_reduction():
    _, clean, truth, row = (made := real.make_clip(np.random.default_rng(1), moving(), plan_with()))[2]
    assert psnr(made[2][0][0], clean) > 45 and row['error'] < 1.5 and row['coding'] == []
    assert truth.shape == (3, 2 * real.SIDE, 2 * real.SIDE)


def test_the_truth_moves_as_the_row_says_and_has_its_levels():
    levels = {'black': 40.0, 'white': 200.0, 'gamma': 1.0, 'saturation': 1.0}
    made = real.make_clip(np.random.default_rng(2), moving(), plan_with(motion=[4, -5], levels=levels))
    motion = made[0][3]['motion']
    assert motion == [4, -5]
    first, second = made[1][2][0], made[2][2][0]
    assert np.array_equal(second[:-4, 5:], first[4:, :-5])
    assert 45 < first.min() and first.max() < 195  # 16 + 219/255 · (40 … 200) = 50 … 188


def test_frozen_pictures_keep_their_truth():
    made = real.make_clip(np.random.default_rng(3), moving(), plan_with(motion=[4, 2], shown=[0, 0, 2, 2, 4, 4]))
    assert np.array_equal(made[2][2], made[3][2]) and not np.array_equal(made[1][2], made[2][2])
    assert psnr(made[3][0][0], made[3][1]) > 45


def test_interlacing_leaves_the_first_field_and_changes_the_other():
    plain, comb, bob = (real.make_clip(np.random.default_rng(4), moving(), plan_with(motion=[0, 8], interlaced=way))[2][0][0]
                        for way in ('no', 'comb', 'bob'))
    assert np.abs(comb[::2].astype(int) - plain[::2]).max() <= 1 and np.abs(comb[1::2].astype(int) - plain[1::2]).mean() > 3
    assert np.abs(bob[::2].astype(int) - plain[::2]).max() <= 1
    between = (bob[0:-2:2].astype(float) + bob[2::2]) / 2
    assert np.abs(bob[1:-1:2] - between).max() <= 1.5


def test_an_enlarged_source_holds_nothing_beyond_its_true_size():
    def fine(luma):
        spectrum = np.abs(np.fft.fft2((luma - luma.mean()) * np.outer(*[np.hanning(len(luma))] * 2))) ** 2
        f = np.abs(np.fft.fftfreq(len(luma)))
        return spectrum[np.maximum(f[:, None], f[None]) > 0.3].sum() / spectrum.sum()
    rng, grain = np.random.default_rng(6), moving()
    grain = np.clip(grain + rng.normal(0, 30, grain.shape), 0, 255).astype(np.uint8)
    whole, small = (real.make_clip(np.random.default_rng(5), grain, plan_with(true_size=t, up=up))[1]
                    for t, up in ((1.0, None), (0.5, 'lanczos3')))
    assert fine(small[0][0]) < 0.2 * fine(whole[0][0]) and small[3]['error'] > whole[3]['error']
    assert np.array_equal(small[2], whole[2])


def test_a_camera_that_skips_samples_folds_fine_detail_into_coarse():
    """A wave finer than the recording can hold vanishes by a filter, and comes back as a coarse one without."""
    across = np.cos(2 * np.pi * 0.4 * np.arange(128))  # 0.4 of a pixel's rate; a quarter of the samples hold 0.125
    wave = np.broadcast_to((128 + 100 * across)[:, None, None], (128, 128, 1)).astype(np.float32)
    left = {name: damage.reduced(wave, 32, 32, name).std() for name in ('bicubic', 'lines', 'point')}
    assert left['bicubic'] < 8 and min(left['lines'], left['point']) > 25
    # Lines are skipped, pixels along a line are not.
    turned = wave.transpose(1, 0, 2)
    assert damage.reduced(turned, 32, 32, 'lines').std() < 25 < damage.reduced(turned, 32, 32, 'point').std()


@pytest.mark.parametrize('name', damage.SKIPPING)
def test_skipped_samples_lie_where_filtered_ones_do(name):
    slope = np.broadcast_to(np.arange(128, dtype=np.float32)[:, None, None], (128, 128, 1))
    for picture in (slope, slope.transpose(1, 0, 2)):
        apart = damage.reduced(picture, 32, 32, name) - damage.reduced(picture, 32, 32, 'bicubic')
        assert np.abs(apart[4:-4, 4:-4]).max() < 0.01


def test_rows_say_what_each_encode_changed():
    codings = [{'codec': 'mpeg4', 'quality': 6, 'preset': 'fast', 'size': 0.5},
               {'codec': 'libx264', 'quality': 36, 'preset': 'fast', 'size': 1.0}]
    row = real.make_clip(np.random.default_rng(7), moving(), plan_with(true_size=0.5, up='bilinear', codings=codings))[0][3]
    assert [c['error'] > 0.3 and 0 < c['bits_a_pixel'] < 3 for c in row['coding']] == [True, True]


def test_clips_repeat_by_seed():
    for seed in (11, 12, 13):
        twice = []
        for _ in range(2):
            rng = np.random.default_rng(seed)
            plan = damage.draw_plan(rng)
            twice.append(real.make_clip(rng, moving(), plan, kept=(1, 2)))
        for a, b in zip(*twice):
            assert np.array_equal(a[1], b[1]) and np.array_equal(a[2], b[2]) and psnr(a[0][0], b[0][0]) > 30


@pytest.fixture
def shards(tmp_path, monkeypatch):
    """A training and a validation shard of one made picture."""
    folder, cache = tmp_path / 'photos', tmp_path / 'cache'
    folder.mkdir()
    from PIL import Image
    Image.fromarray(moving()).save(folder / 'one.png')
    for module in (clips, photos):
        monkeypatch.setattr(module, 'CACHE', cache)
    monkeypatch.setattr(clips, 'photos', lambda split: [folder / 'one.png'])
    monkeypatch.setattr(real, 'DRAWN', 1)
    real.make_shard('training', 0, 2)
    monkeypatch.setattr(damage, 'CHAINS', {name: damage.CHAINS[name] for name in ('clean', 'blurred', 'twice')})
    real.make_shard('validation', 0)
    for cached in (real_scores.validation_clips, real_scores.lanczos_scores, real_scores.clips_of_lanczos):
        cached.cache_clear()
    yield cache
    for cached in (real_scores.validation_clips, real_scores.lanczos_scores, real_scores.clips_of_lanczos):
        cached.cache_clear()


def test_shards_hold_pairs_that_follow_each_other(shards):
    rows = real.rows_of(shards / 'real-training-000.bin')
    assert len(rows) == 8 and {r['photo'] for r in rows} == {'one.png', 'drawn-0'}
    assert all(b['frame'] == a['frame'] + 1 and a['clip'] == b['clip'] for a, b in zip(rows[::2], rows[1::2]))
    source = real.RealSource(2)
    assert len(source.rows) == 8
    coded, clean, high, error = source.record(3)
    assert np.sqrt(np.mean((coded[0].astype(float) - clean[0]) ** 2)) == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize('scale,colour', [(2, False), (1, False), (2, True)])
def test_strengths_mean_what_they_say(shards, scale, colour):
    def drawn(way, **changes):
        source = real.RealSource(scale, colour=colour, way=way, **changes)
        return source.sample(np.random.default_rng(8), 32)
    full, clean, between = drawn('full'), drawn('clean'), drawn('between')
    planes = 3 if colour else 1
    assert full[0].shape == (planes, 32, 32) and full[1].shape == (planes, 32 * scale, 32 * scale)
    assert (full[2], clean[2]) == (1.0, 0.0) and 0 < between[2] < 1
    assert np.array_equal(full[1][0], clean[1][0]) and not np.array_equal(full[0][0], clean[0][0])
    faithful = real.faithful(full[0], scale, 'fast-x2.onnx')
    halfway = between[2] * full[1][0] + (1 - between[2]) * faithful[0]
    assert np.allclose(between[1][0], halfway, atol=1e-5)
    sharper = drawn('full', sharpen=0.5)
    gradient = [np.abs(np.diff(p[0])).mean() for p in (sharper[1], full[1])]
    assert gradient[0] > 1.02 * gradient[1] and sharper[1].mean() == pytest.approx(full[1].mean(), abs=2e-3)


def test_some_pairs_at_full_strength_are_clean(shards):
    source, clean = real.RealSource(2, sharpen=0.5), real.RealSource(2, way='clean')
    pairs = [[s.sample(np.random.default_rng(seed), 16) for s in (source, clean)] for seed in range(120)]
    same = [np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in pairs]
    assert 3 <= sum(same) <= 30 and all(a[2] == 1.0 for a, _ in pairs)


def test_what_is_well_is_not_sharpened(shards):
    source = real.RealSource(2, sharpen=0.5)
    plain, full = real.RealSource(2), real.RealSource(2, sharpen=0.5)
    full.rows = [(shard, at, 0.0) for shard, at, _ in source.rows]
    for seed in range(3):
        made = [s.sample(np.random.default_rng(seed), 32)[1] for s in (plain, full)]
        assert np.array_equal(*made)


def test_chains_are_scored_beside_lanczos(shards):
    net = real.faithful_network('fast-x2.onnx')
    table, told = real_scores.gains(net, 1), real_scores.gains(net, 1, real_scores.TOLD)
    assert set(table) == {'clean', 'blurred', 'twice'}
    assert real_scores.faithful_gain(net, 1) > table['clean'] + 0.5
    # `fast` takes full strength for noise of sigma 50, and loses what it takes away.
    assert all(told[chain] > table[chain] for chain in table)
    low, _, high = real_scores.validation_clips()['twice'][0].frames[real_scores.MIDDLE]
    lanczos = resize(low[0], 2 * real.SIDE, 2 * real.SIDE, 'lanczos3')
    assert real_scores.lanczos_scores(1)['twice'] == pytest.approx(psnr(lanczos, high[0]), abs=0.02)


def test_networks_are_compared_and_checkpoints_scored(shards):
    net = real.faithful_network('fast-x2.onnx')
    rows = real_scores.compared({'blind': (net, None), 'told': (net, (0.0, 0.1))}, 1, 1)
    assert [r['network'] for r in rows] == ['blind', 'told'] and rows[1]['psnr']['clean'] > rows[0]['psnr']['clean']
    assert all(set(r['neg']) == set(r['psnr']) == set(r['flicker']) for r in rows)
    row = training.real_evaluator(NETWORKS['detail'], 1)(net)
    assert row['real_gain'] == pytest.approx(np.mean(list(row['gain'].values()))) and 'neg_gain' in row and row['flicker'] > 0
    json.dumps(row)


def test_networks_of_scale_1_are_scored_beside_the_source(shards):
    net = real.faithful_network('fast-x1.onnx')
    row, = real_scores.compared({'restore': (net, (0.0, 0.1))}, 1, 1)
    assert 'faithful' not in row and row['psnr']['twice'] > 0.05 > abs(row['psnr']['clean'])
    assert abs(row['neg']['clean']) < 1 and row['flicker']['twice'] < 1.05
    assert 'neg_gain' in training.real_evaluator(NETWORKS['detail-restore'], 1)(net)


def test_networks_of_scale_4_are_scored_at_double(shards, capsys):
    """Both files hold the same weights: the ×2 one makes the means of what the ×4 one makes."""
    files = [str(commands.MODELS / f'detail-large-x{scale}.onnx') for scale in (4, 2)]
    commands.score_real(commands.parsed(['real-scores', *files, '--count', '1', '--clips', '0']))
    large, small = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert large['psnr'] == pytest.approx(small['psnr'], abs=0.02) and large['faithful'] == pytest.approx(small['faithful'], abs=0.02)


@pytest.mark.parametrize('file', ['fast-x2.onnx', 'fast-x1.onnx'])
def test_a_release_is_scored_on_the_damage_it_was_trained_on(shards, file):
    from ground import release, tables
    network = NETWORKS['detail' if 'x2' in file else 'detail-restore']
    scores = release.scores_of((release.MODELS / file).read_bytes(), network, recipe='real')
    half = release.scores_of((release.MODELS / file).read_bytes(), network, 'bf16', 'real')
    net = real.faithful_network(file)
    assert scores['real']['twice']['psnr_gain'] == pytest.approx(real_scores.gains(net)['twice'], abs=0.02)
    assert set(scores['real']['clean']) == {'psnr_gain', 'vmaf', 'neg', 'flicker'} and set(half['real']['clean']) == {'psnr_gain'}
    assert ('faithful_gain' in scores) == (network.scale == 2) and abs(release.overall(scores) - release.overall(half)) < 0.1
    assert f'| blurred | {round(scores["real"]["blurred"]["psnr_gain"], 2)}' in tables._scores(
        {'file': file, 'scale': network.scale, 'scores': scores})
    json.dumps(scores)


@pytest.mark.parametrize('scale, over', [(1, 'the source'), (2, 'Lanczos-3'), (4, 'Lanczos-3')])
def test_a_table_of_gains_names_what_they_are_over(scale, over):
    """A ×4 network is scored at ×2 (`network.at_double`), so beside Lanczos-3."""
    from ground import tables
    scores = {'real': {'web': {'psnr_gain': -0.5, 'vmaf': 9.0, 'neg': 6.0, 'flicker': 1.3}}}
    assert f'gains over {over} |' in tables._scores({'file': 'net.onnx', 'scale': scale, 'scores': scores})


@pytest.mark.parametrize('name,start', [('detail', 'fast-x2.onnx'), ('detail-restore', 'fast-x1.onnx')])
def test_a_release_of_real_damage_is_a_blind_network_beside_the_others(tmp_path, monkeypatch, name, start):
    from ground import release
    from ground.quantise import QuantNet
    net = release.load_averaged(release.load_state(release.MODELS / start))
    quant = QuantNet(net)
    quant.calibrate([(torch.rand(2, 2, 32, 32, generator=torch.Generator().manual_seed(1)), None)])
    models = json.loads((release.MODELS / 'manifest.json').read_text())['models']
    shipped = [m for m in models if not m['name'].startswith('detail')]  # as if it were the first release
    (tmp_path / 'manifest.json').write_text(json.dumps({'version': 1, 'models': shipped}))
    monkeypatch.setattr(release, 'MODELS', tmp_path)
    monkeypatch.setattr(release, 'data_of', list)
    gain = {'f32': 1.0, 'bf16': 0.98}
    monkeypatch.setattr(release, 'scores_of', lambda data, network, precision='f32', recipe=None: {
        'real': {'twice': {'psnr_gain': gain[precision]}}})
    training = {'recipe': 'real', 'command': '', 'steps': 1, 'device': '', 'hours': 0}
    written = release.release(NETWORKS[name], net, quant, training)
    models = json.loads((tmp_path / 'manifest.json').read_text())['models']
    own = [m for m in models if m['name'] == 'detail']
    assert [m['precision'] for m in own] == ['fp32', 'int8']
    everywhere = [m for m in models if m['name'] in ('detail', *NETWORKS[name].also)]
    assert sorted(map(str, written)) == sorted(map(str, everywhere)) and len(everywhere) == len(own) * (1 + len(NETWORKS[name].also))
    assert all(m['blind'] is True and m['max_strength'] == 1 and m['scale'] == NETWORKS[name].scale for m in own)
    assert [m for m in models if m not in everywhere] == shipped and not any('blind' in m for m in shipped)
    for entry in own:
        data = (tmp_path / entry['file']).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry['sha256'] and entry['layout'] == 'luma+strength'
    assert own[0]['scores']['bf16_loss_db'] == 0.02 and own[1]['scores']['loss_db'] == 0


def test_flicker_follows_the_motion_of_the_rows(shards):
    chains = real_scores.validation_clips()
    assert any(clip.motion != [0, 0] for clips in chains.values() for clip in clips)
    truth = real_scores.clip_scores(lambda clip: [f[2][0] for f in clip.frames], 1)
    coded = real_scores.clips_of_lanczos(1)
    assert all(row['flicker'] == 0 for row in truth.values())
    assert coded['twice']['flicker'] > coded['clean']['flicker'] > 0


def test_vmaf_falls_with_blur():
    truths = [resize(moving(s).mean(-1), 192, 192).astype(np.uint8) for s in range(3)]
    soft = [resize(resize(t, 64, 64), 192, 192).clip(0, 255).astype(np.uint8) for t in truths]
    same, worse = real_scores.vmaf(truths, truths), real_scores.vmaf(soft, truths)
    assert same['neg'] > 90 and worse['neg'] < same['neg'] - 20 and set(worse) == {'vmaf', 'neg'}


def test_vmaf_is_that_of_a_video_file(tmp_path):
    truths = [resize(moving(s).mean(-1), 192, 192).clip(16, 235).astype(np.uint8) for s in range(3)]
    soft = [resize(resize(t, 96, 96), 192, 192).clip(16, 235).astype(np.uint8) for t in truths]
    files = [tmp_path / 'made.y4m', tmp_path / 'truth.y4m']
    for file, pictures in zip(files, (soft, truths)):
        frames = (b'FRAME\n' + p.tobytes() + bytes([128]) * (192 * 96) for p in pictures)
        file.write_bytes(b'YUV4MPEG2 W192 H192 F25:1 Ip A1:1 C420mpeg2\n' + b''.join(frames))
    log = tmp_path / 'log.json'
    wanted = {}
    for name, version in (('vmaf', 'vmaf_v0.6.1'), ('neg', 'vmaf_v0.6.1neg')):
        subprocess.run([real_scores.ffmpeg(), '-v', 'error', '-i', str(files[0]), '-i', str(files[1]), '-lavfi',
                        f'[0:v][1:v]libvmaf=model=version={version}:log_fmt=json:log_path={log}', '-f', 'null', '-'], check=True)
        wanted[name] = json.loads(log.read_text())['pooled_metrics']['vmaf']['mean']
    assert real_scores.vmaf(soft, truths) == pytest.approx(wanted, abs=1e-3)


def test_a_new_run_begins_with_the_shipped_weights_and_an_old_one_with_its_own(tmp_path):
    network = NETWORKS['detail']
    args = argparse.Namespace(start=None, fresh=False, grow=False, finish=None)
    assert training.first_state(network, args, tmp_path).name == 'detail-x2.onnx' and args.fresh and args.begins
    (tmp_path / 'last.pt').touch()
    args = argparse.Namespace(start=None, fresh=False, grow=False, finish=None)
    assert training.first_state(network, args, tmp_path) == tmp_path / 'last.pt' and not args.fresh and not args.begins
    assert training.first_state(NETWORKS['fast'], args, tmp_path / 'other') is None


@pytest.mark.parametrize('file', ['fast-x2.onnx', 'fast-x1.onnx', 'quality-x2.onnx'])
def test_a_rescaled_network_does_at_full_strength_what_it_did_at_a_small_one(file):
    from ground.network import rescaled_strength
    from ground.release import MODELS, load_averaged, load_state
    net = load_averaged(load_state(MODELS / file))
    x = torch.rand(1, net.planes, 32, 32, generator=torch.Generator().manual_seed(1))
    x[:, 1] = 0.06
    with torch.no_grad():
        wanted = net(x)
        rescaled_strength(net, 0.06)
        x[:, 1] = 1
        assert torch.allclose(net(x), wanted, atol=1e-5)


def test_every_shape_of_detail_takes_up_what_it_begins_with():
    from ground.release import MODELS, load_state
    from ground.trainer import Trainer, build
    for name in ('detail', 'detail-restore'):
        network = NETWORKS[name]
        net = build(network)
        before = load_state(MODELS / network.begins)['average']
        Trainer(net, None, RECIPES[network.recipe]).restore({'average': before}, optimiser=False)
        assert all(torch.equal(net.state_dict()[k], v) for k, v in before.items())


def test_the_list_holds_the_photographs_of_all_folders(tmp_path, monkeypatch):
    folders = [tmp_path / 'a', tmp_path / 'b']
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / f'{number}.png').write_bytes(bytes([number]))
    monkeypatch.setenv('REELMEND_TRAIN_PHOTOS', f'{folders[0]}:{folders[1]}')
    monkeypatch.setattr(photos, 'LIST', tmp_path / 'list.json')
    rows = photos.make_list(photos.photo_folders())
    (tmp_path / 'list.json').write_text(json.dumps([{**r, 'split': 'training'} for r in rows]))
    assert photos.photos('training') == [folders[0] / '0.png', folders[1] / '1.png']
    (folders[1] / '0.png').write_bytes(b'x')
    with pytest.raises(photos.GroundError, match='photo_twice'):
        photos.make_list(folders)


def test_an_unsharp_mask_leaves_slopes_and_lifts_edges():
    slope = np.repeat(np.arange(40, dtype=np.float32)[None] * 3, 30, 0)
    assert np.allclose(damage.unsharp(slope, 1.0, 1.2)[:, 8:-8], slope[:, 8:-8], atol=1e-3)
    step = np.where(np.arange(40) < 20, 50, 100).astype(np.float32) * np.ones((30, 1), np.float32)
    made = damage.unsharp(np.repeat(step[..., None], 3, 2), 0.5, 1.0)
    assert made.shape == (30, 40, 3) and made.max() > 105 and made.min() < 45 and made[5, 2, 1] == pytest.approx(50, abs=1e-3)
