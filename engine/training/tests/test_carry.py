"""What is carried to a rented machine: packed, taken apart, sent, unpacked there, trained on, and released from what comes back."""
import argparse
import json

import numpy as np
import pytest
import torch
from test_real import moving, shards  # noqa: F401  (a fixture)

from ground import carry, clips, commands, drawn, photos, plans, real, real_scores, release, samples, training, validate
from ground.metrics import psnr
from ground.photos import GroundError
from ground.recipes import NETWORKS


def record(seed=1):
    """A record as `clips` writes them, with colours that have been at half the size."""
    rgb = moving(seed, 2 * clips.SIDE, 2 * clips.SIDE)
    high, low = photos.bicubic_pair(rgb)
    return np.concatenate([low.ravel(), low[0].ravel(), high.ravel()])


@pytest.mark.parametrize('colour', [True, False])
def test_a_record_comes_back_nearly_as_it_was(colour):
    data = record()
    found = carry.packed_record(data, colour)
    again, area = carry.opened_record(found), clips.AREA
    assert again.shape == (clips.RECORD,) and again.dtype == np.uint8
    assert np.array_equal(again[:area], data[:area])  # what was delivered, exactly
    truth, back = (d[4 * area:8 * area].reshape(320, 320) for d in (data, again))
    assert psnr(back, truth) > 36 and abs(back.mean() - truth.mean()) < 0.3
    rows = lambda planes, first, end: planes[first:end].reshape(-1, clips.SIDE)
    assert psnr(rows(again, 3 * area, 4 * area), rows(data, 3 * area, 4 * area)) > 36
    for first, end in ((area, 3 * area), (8 * area, 16 * area)):
        assert (psnr(rows(again, first, end), rows(data, first, end)) > 30) if colour else (again[first:end] == 128).all()
    assert sum(map(len, found.values())) < 0.45 * clips.RECORD


def test_black_and_white_are_carried():
    plane = np.repeat(np.array([16, 235], np.uint8), 64 * 32).reshape(64, 64)
    assert np.abs(carry.opened_truth(carry.packed_truth(plane)).astype(int) - plane).max() <= 1


@pytest.fixture
def here(shards, tmp_path, monkeypatch):  # noqa: F811
    """A machine with two training photographs, one to validate on, and shards of either kind."""
    from PIL import Image
    folder = tmp_path / 'photos'
    names = ['two.png', 'three.png']
    for seed, name in enumerate(names):
        Image.fromarray(moving(seed + 2, 700, 720)).save(folder / name)
    rows = [{**row, 'split': split} for row, split in zip(photos.make_list([folder]), ('validation', 'training', 'training'))]
    (tmp_path / 'list.json').write_text(json.dumps(rows))
    monkeypatch.setenv('REELMEND_TRAIN_PHOTOS', str(folder))
    monkeypatch.setattr(photos, 'LIST', tmp_path / 'list.json')
    data = [record(seed) for seed in range(4)]
    plan = {'blur': False, 'noise': 0.0, 'codings': [{'codec': 'mpeg4'}]}
    for split in ('training', 'validation'):
        np.concatenate(data).tofile(shards / f'coloured-{split}-000.bin')
        (shards / f'coloured-{split}-000.json').write_text(json.dumps([{**plan, 'error': 4.0 + n} for n in range(4)]))
    monkeypatch.setattr(drawn, 'CACHE', tmp_path / 'none')
    return tmp_path


def sent_to(there, monkeypatch):
    """From here on the cache is that of the other machine, which has no photographs."""
    for module in (carry, clips, photos, drawn):
        monkeypatch.setattr(module, 'CACHE', there)
    monkeypatch.setattr(drawn, 'PICTURES', 2)
    monkeypatch.setattr(drawn.DrawnStore.__init__, '__defaults__', (2, 1))
    monkeypatch.delenv('REELMEND_TRAIN_PHOTOS', raising=False)
    for cached in (validate.validation_clips, validate.validation_pairs, validate.filter_scores, validate.plain_clip_scores,
                   validate.noisy_pairs, real_scores.validation_clips, real_scores.lanczos_scores):
        cached.cache_clear()


def command(*words):
    args = commands.parsed(['on-gpu', *words])
    args.action(args)


def test_photographs_and_clips_are_carried_trained_on_and_come_back(here, monkeypatch, capsys):
    monkeypatch.setattr(carry, 'PIECE', 100_000)
    monkeypatch.setattr(carry, 'RESERVE', 10_000)
    monkeypatch.setattr(commands, 'sources_for', lambda *_: None)
    monkeypatch.setattr(carry, 'CACHE', here / 'cache')
    plans_here = {'fast': plans.Plan(batch=4, patch=32, pieces=40, shard='coloured', every=2, warm_up=1)}
    monkeypatch.setattr(plans, 'PLANS', plans_here)
    monkeypatch.setattr(commands, 'PLANS', plans_here)
    command('pack', 'fast', '--folder', str(here / 'pieces'), '--workers', '1')
    pieces = sorted((here / 'pieces').glob('fast.zip.*'))
    assert len(pieces) > 2 and all(p.stat().st_size <= 100_000 for p in pieces)
    # Two to train on, one to validate on at two sizes; of either clip one picture, as its pictures are nearly the same.
    assert '4 photographs, 2 records to train on, 4 to validate on' in capsys.readouterr().out
    monkeypatch.undo()

    sent_to(here / 'there', monkeypatch)
    monkeypatch.setattr(photos, 'LIST', here / 'list.json')
    monkeypatch.setattr(plans, 'PLANS', plans_here)
    monkeypatch.setattr(commands, 'PLANS', plans_here)
    command('unpack', 'fast', '--folder', str(here / 'pieces'), '--workers', '1')
    with pytest.raises(GroundError, match='cache_in_use'):
        command('unpack', 'fast', '--folder', str(here / 'pieces'))
    store = samples.PhotoSource(2).store
    assert {row['size'] for row in store.index} == {0.75, 0.5, 0.35, 0.25} and len(store.index) == 8
    high, low = store.pair(store.index[1])
    original, _ = photos.bicubic_pair(photos.read_rgb(here / 'photos' / store.index[1]['file'], 0.5))
    assert psnr(high[0], original[0]) > 27 and low.shape[1] == high.shape[1] // 2
    assert len(clips.ClipSource(2).rows) == 2 and len(validate.validation_pairs()) == 2 and len(validate.validation_clips()) == 4

    run = ['--run', str(here / 'run')]
    # On a GPU, too, the process that trains makes the scores; another one would have the caches of this machine.
    tiny = ['--device', 'cpu', '--wait-for-scores', '--features', '8', '--layers', '1', '--patch', '32', '--every', '2']
    command('train', 'fast', '--minutes', '0.03', *run, '--', *tiny, '--steps', '4')
    rows = [json.loads(line) for line in (here / 'run/log.jsonl').read_text().splitlines()]
    assert rows[0]['psnr_photos'] > 5 and rows[0]['psnr_clips'] > 5 and np.isfinite(rows[-1]['loss'])
    command('collect', 'fast', '--folder', str(here / 'back'), *run)
    names = {p.name for p in (here / 'back').iterdir()}
    assert {'weights.onnx', 'weights.json', 'log.jsonl', 'last.pt.00'} == names
    held, back = release.load_state(here / 'run/last.pt'), release.load_state(here / 'back/weights.onnx')
    assert back['number'] == held['number'] == rows[-1]['step'] and back['label'] == 'mixed' and back['device']
    assert release.state_of(here / 'back').name == 'weights.onnx' and release.state_of(here / 'run').name == 'last.pt'
    x = torch.rand(1, 2, 16, 16, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.allclose(release.load_averaged(held)(x), release.load_averaged(back)(x), atol=1e-5)
    args = argparse.Namespace(command=None, taught_by=None, network='fast')
    assert commands.trained_as(back, args)['device'] == back['device'] and 'teacher' not in commands.trained_as(back, args)
    args.taught_by = 'a network, MIT'
    assert commands.trained_as(back, args)['teacher'] == 'a network, MIT'


def test_clips_of_real_damage_are_carried_whole(here, monkeypatch):
    monkeypatch.setattr(carry, 'CACHE', here / 'cache')
    monkeypatch.setattr(carry, 'RESERVE', 1000)
    kept = real.RealSource(2)
    before = [row['error'] for row in kept.plans]
    carry.pack('detail', here / 'pieces', plans.PLANS['detail'], False)
    sent_to(here / 'there', monkeypatch)
    carry.unpack('detail', here / 'pieces', 1)
    source = real.RealSource(2)
    assert [row['error'] for row in source.plans] == before
    assert all(source.plans[n]['clip'] == source.plans[source._beside(n)]['clip'] and n != source._beside(n) for n in range(len(before)))
    table = real_scores.gains(real.faithful_network('fast-x2.onnx'), 1)
    assert set(table) == {'clean', 'blurred', 'twice'} and all(np.isfinite(v) for v in table.values())
    real_scores.validation_clips.cache_clear()
    real_scores.lanczos_scores.cache_clear()


def test_a_piece_that_is_missing_or_damaged_is_noticed(here, monkeypatch):
    monkeypatch.setattr(carry, 'CACHE', here / 'cache')
    pieces = carry.pack('detail', here / 'pieces', plans.PLANS['detail'], False)
    pieces[0].write_bytes(pieces[0].read_bytes()[:-1] + b'x')
    with pytest.raises(GroundError, match='piece_missing'):
        carry.joined(here / 'pieces', 'detail')
    pieces[0].unlink()
    with pytest.raises(GroundError, match='piece_missing'):
        carry.joined(here / 'pieces', 'detail')


def test_no_more_is_packed_than_there_is_room_for(here, monkeypatch):
    monkeypatch.setattr(carry, 'CACHE', here / 'cache')
    monkeypatch.setattr(carry, 'RESERVE', 2000)
    monkeypatch.setattr(carry, 'VALIDATION', {**carry.VALIDATION, 'coloured': 1})
    monkeypatch.setattr(carry, 'PIECE', 150_000)
    packer = plans.Plan(batch=4, patch=32, pieces=1, shard='coloured', photographs=False)
    piece, = carry.pack('fast', here / 'pieces', packer, False)
    assert piece.stat().st_size <= 150_000


@pytest.mark.parametrize('name', plans.PLANS)
def test_every_plan_fits_the_machine_and_trains_what_the_network_is(name):
    rows, minutes = plans.timetable(name, plans.PLANS[name].pieces)
    assert minutes >= 15 and rows[-1][0] + plans.FETCH <= 60 * plans.MACHINE_MINUTES
    assert sum('train-on-gpu train' in what for _, what in rows) <= 3 and f'train {name} --minutes {minutes}' in plans.show(name, 4)
    network, args = NETWORKS[name], commands.parser().parse_args(plans.train_options(name, plans.MODELS / 'nowhere', minutes))
    assert args.resident and args.timed and args.minutes == minutes and args.batch % 2 == 0
    halo = training.build(network).halo()
    assert args.patch > 2 * halo or name == 'quality'


def test_a_new_run_begins_with_the_shipped_weights_of_its_shape(tmp_path, monkeypatch):
    assert plans.beginning('best') == [] and plans.beginning('quality')[0] == '--fresh'
    monkeypatch.setitem(plans.NETWORKS, 'quality', training.shaped(NETWORKS['quality'], argparse.Namespace(features=8, layers=2, fold=1)))
    assert plans.beginning('quality') == []
    assert plans.train_options('best', tmp_path, 17, 'weights.onnx')[-2:] == ['--start', 'weights.onnx']
    (tmp_path / 'last.pt').touch()
    assert '--start' not in plans.train_options('best', tmp_path, 17, 'weights.onnx')


def test_best_is_a_large_network_at_full_resolution():
    from ground.network import parameters_when_collapsed
    net = training.build(NETWORKS['best'])
    assert net.fold == 1 and 1.5e6 < parameters_when_collapsed(net) < 4e6


def test_what_a_step_needs_is_said():
    for words, code in ((['pack', 'fast'], 'no_folder'), (['train', 'fast'], 'no_minutes')):
        with pytest.raises(GroundError, match=code):
            command(*words)
