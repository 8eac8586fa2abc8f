"""Which places are drawn: hard ones more often, and only pictures that hold a patch; what a teacher of ours adds."""
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from test_real import shards  # noqa: F401  (a fixture)
from test_resident import Drawings, Pictures, batches, pictures
from test_training import losses

from ground import commands, photos, real, training
from ground.distil import TaughtBatches
from ground.export import to_fp32
from ground.network import RestorationNet
from ground.photos import GroundError
from ground.recipes import Network, Recipe
from ground.release import load_state
from ground.samples import Batches, DrawnSource, PhotoSource, steepness, to_levels
from ground.trainer import Trainer, build, save

SHARES = {'bicubic': 1.0}


def sources(hard=False):
    source = pictures(PhotoSource, 2, False)
    source.hard = hard
    return {'bicubic': source}


def test_steepness_counts_edges_and_not_contrast():
    ramp, stripes = np.tile(np.arange(0, 256, 8, dtype=np.uint8), (32, 1)), np.tile(np.uint8([110, 140]), (32, 16))
    assert ramp.std() > 4 * stripes.std() and steepness(stripes) == 30 > 3 * steepness(ramp)


def test_hard_places_are_drawn_more_often_without_the_hardest_twentieth():
    found = {}
    for hard in (False, True):
        source, rng = sources(hard)['bicubic'], np.random.default_rng(3)
        found[hard] = np.array([steepness(to_levels(source.sample(rng, 16)[1])[0].round()) for _ in range(600)])
    source, rng = sources()['bicubic'], np.random.default_rng(4)
    every = np.array([steepness(source._draw(rng, 16)[1][0]) for _ in range(2000)])
    half, ceiling = np.quantile(every, [0.5, 0.95])
    assert (found[True] > half).mean() == pytest.approx(0.7, abs=0.06)  # of 0.5 · 0.95 + ½ · 0.05 … 3/4 without a ceiling
    assert (found[True] > 1.02 * ceiling).mean() < 0.01 < (every > 1.02 * ceiling).mean()


def test_hard_batches_are_the_same_for_a_seed_wherever_a_run_is_taken_up(shards):  # noqa: F811
    shares = {'bicubic': 0.5, 'real': 0.5}

    def made(hard=True):
        held = {**sources(hard), 'real': real.RealSource(2)}
        held['real'].hard = hard
        return Batches(held, shares, 6, 16, 2, 1)
    whole = made()
    first = [whole.at(number) for number in range(4)]
    assert all(torch.equal(a, b) for a, b in zip(made().at(3), first[3]))
    assert not torch.equal(made(False).at(3)[1], first[3][1])


def test_a_run_on_hard_samples_resumes_to_the_same_losses(tmp_path):
    def begun():
        torch.manual_seed(3)
        return Trainer(build(Network('', '', '', 2, 16, 2)), Batches(sources(True), SHARES, 4, 16, 2, 1), Recipe(), half=False)
    whole, first, again = losses(begun(), 6), begun(), begun()
    losses(first, 4)
    save(tmp_path / 'last.pt', first.state(), label='x')
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert losses(again, 2) == whole[4:]


def test_hard_samples_are_not_made_on_the_device():
    with pytest.raises(GroundError, match='not_resident'):
        batches(sources(True))


def test_patches_come_from_pictures_that_hold_them():
    source = pictures(PhotoSource, 2, False)  # reductions of 48 × 60, 40 × 66 and 64 × 44
    assert source.odds_of(32) is source.odds
    assert source.odds_of(42).tolist() == pytest.approx([0.4, 0, 0.6])
    for seed in range(20):
        x, y, _ = source.sample(np.random.default_rng(seed), 46)
        assert x.shape == (1, 46, 46) and y.shape == (1, 92, 92)
    with pytest.raises(GroundError, match='patch_too_large'):
        source.sample(np.random.default_rng(1), 50)
    drawn = DrawnSource(2, Drawings())
    assert drawn.sample(np.random.default_rng(1), 48)[0].shape == (1, 48, 48)
    with pytest.raises(GroundError, match='patch_too_large'):
        drawn.sample(np.random.default_rng(1), 50)


def test_patches_on_the_device_come_from_pictures_that_hold_them():
    made = batches({'bicubic': pictures(PhotoSource, 2, False)})
    rng = np.random.default_rng(1)
    for patch, held in ((32, {0, 1, 2}), (42, {0, 2}), (46, {0})):
        assert set(made.kinds[0].draw(rng, 200, patch)['picture'].ravel()) == held


def teacher_file(path, planes=4, outputs=3):
    torch.manual_seed(1)
    net = RestorationNet(2, 16, 2, planes, outputs, 1)
    path.write_bytes(to_fp32(net))
    return net.eval()


@pytest.mark.parametrize('planes,outputs', [(4, 3), (2, 1)])
def test_a_teacher_of_ours_has_a_share_in_wanted_luma(planes, outputs, tmp_path):
    teacher = teacher_file(tmp_path / 'teacher.onnx', planes, outputs)
    plain = Batches({'bicubic': pictures(PhotoSource, 2, True)}, SHARES, 4, 16, 2, 1, colour=True)
    taught = TaughtBatches(plain, tmp_path / 'teacher.onnx', 0.25, 2, 1)
    x, wanted = plain.at(5)
    seen, mixed = taught.at(5)
    with torch.no_grad():
        expected = 0.75 * wanted[:, :1] + 0.25 * teacher(x[:, :planes])[:, :1]
    assert torch.equal(seen, x[:, :2]) and torch.allclose(mixed, expected, atol=0.01)  # the teacher may run in bfloat16
    assert all(torch.equal(a, b) for a, b in zip(taught.at(5), (seen, mixed)))


def test_the_teacher_of_a_blind_network_teaches_as_much_as_restoration_is_wanted(tmp_path):
    teacher = teacher_file(tmp_path / 'teacher.onnx', 4, 3)
    wanted = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    x = torch.rand(2, 4, 8, 8, generator=torch.Generator().manual_seed(2))
    x[:, 1] = torch.tensor([0.0, 0.6])[:, None, None]
    shifts = torch.zeros(2, 2)
    batches = SimpleNamespace(at=lambda _: (x, wanted.clone(), shifts))
    _, mixed, kept = TaughtBatches(batches, tmp_path / 'teacher.onnx', 0.5, 4, 3, blind=True).at(0)
    with torch.no_grad():
        taught = teacher(x)
    assert torch.equal(mixed[0], wanted[0]) and kept is shifts
    assert torch.allclose(mixed[1], 0.7 * wanted[1] + 0.3 * taught[1], atol=0.01)


def test_the_command_ends_a_run_on_larger_hard_patches_squared_error_and_a_teacher(tmp_path, monkeypatch):
    monkeypatch.setattr(training, 'evaluator', lambda *_: lambda net: {})
    monkeypatch.setattr(training, 'filter_scores', lambda: {})
    monkeypatch.setattr(training, 'PhotoSource', lambda scale, colour: pictures(PhotoSource, scale, colour))
    monkeypatch.setattr(training, 'DrawnSource', lambda scale, colour: DrawnSource(scale, Drawings(), colour))
    teacher_file(tmp_path / 'teacher.onnx')
    words = ['train', 'fast', '--recipe', 'bicubic', '--batch', '2', '--device', 'cpu', '--wait-for-scores']

    def trained(*more):
        args = commands.parser().parse_args([*words, *more])
        args.action(args)
    trained('--run', str(tmp_path / 'run'), '--patch', '16', '--steps', '3', '--decay', '0')
    ending = ['--start', str(tmp_path / 'run/last.pt'), '--finish', '6', '--patch', '32', '--hard', '--squared-error', '0.5',
              '--teacher', str(tmp_path / 'teacher.onnx'), '--taught', '0.5']
    trained('--run', str(tmp_path / 'whole'), *ending)
    trained('--run', str(tmp_path / 'stopped'), *ending, '--minutes', '0')  # stops after a step
    assert load_state(tmp_path / 'stopped/last.pt')['number'] == 4
    trained('--run', str(tmp_path / 'stopped'), *ending)
    whole, stopped = (load_state(tmp_path / name / 'last.pt') for name in ('whole', 'stopped'))
    assert whole['number'] == stopped['number'] == 9
    assert all(torch.equal(whole['net'][key], stopped['net'][key]) for key in whole['net'])
    assert [json.loads(line)['step'] for line in (tmp_path / 'stopped/log.jsonl').read_text().splitlines()] == [4, 9]


TEACHER = ['--teacher', 'x.onnx']


@pytest.mark.parametrize('code,words', [
    ('no_teacher', ['detail', *TEACHER, '--taught', '0.5']), ('no_teacher', ['fast-restore', *TEACHER]),
    ('no_teacher', ['fast', '--resident', *TEACHER]), ('no_share', ['fast', *TEACHER]),
    ('no_fall', ['fast', '--decay', '0', '--squared-error', '0.2']), ('no_fall', ['detail', '--squared-error', '0.2'])])
def test_options_that_do_not_go_together_are_refused(code, words, tmp_path):
    args = commands.parser().parse_args(['train', *words, '--run', str(tmp_path), '--device', 'cpu'])
    with pytest.raises(GroundError, match=code):
        args.action(args)


def test_the_manifest_counts_the_faces_that_were_trained_on():
    """Faces of validation photographs are in the list, too, and score the network. So are faces that came after the shipped weights."""
    split = {row['file']: row['split'] for row in json.loads(photos.LIST.read_text())}
    rows = json.loads((photos.HERE / 'faces' / 'faces.json').read_text())
    listed = [split[row['file']] for row in rows if row.get('shipped', True)]
    models = json.loads((photos.HERE.parent / 'models' / 'manifest.json').read_text())['models']
    entry, = (model for model in models if model['layout'] == 'face')
    assert entry['training']['faces'] == listed.count('training')
    assert entry['scores']['validation_faces']['faces'] == listed.count('validation')
