"""What a recipe weighs in beside fidelity: steadiness along the known motion, features, a discriminator."""
import dataclasses
import json

import numpy as np
import onnx
import pytest
import torch
from test_real import shards  # noqa: F401  (a fixture)
from test_training import RECIPE, TINY, RandomBatches, losses

from ground import commands, objective, real, teacher, training
from ground.adversary import Adversary
from ground.objective import ALONE, unsteady
from ground.perceptual import Features
from ground.photos import GroundError
from ground.recipes import Recipe
from ground.release import load_state
from ground.resize import resize
from ground.samples import Batches, normalise, oriented
from ground.trainer import Trainer, build, save


@pytest.mark.parametrize('scale', [2, 1])
def test_pairs_show_the_same_moved_as_their_shift_says(shards, scale):  # noqa: F811
    source, moved, ways = real.RealSource(scale), 0, set()
    for seed in range(150):
        (_, a, one), (_, b, two), shift = source.pair(np.random.default_rng(seed), 64)
        assert one == two == 1.0
        if shift == (ALONE, ALONE):
            assert scale == 1
            continue
        truths = torch.from_numpy(np.stack([a, b]))
        apart = [unsteady(truths, 0 * truths, torch.tensor([(ALONE, ALONE), s]), Recipe()) for s in (shift, (shift[0], shift[1] + 1))]
        assert apart[0] < 1e-6 or scale == 1  # a reduced picture is not quite the same after a move
        assert apart[0] < 0.5 * apart[1]
        moved += shift != (0, 0)
        ways.add(tuple(np.sign(shift)))
    assert moved > 10 and len(ways) > 2


def test_batches_of_pairs_say_what_belongs_together(shards):  # noqa: F811
    ways = {'real': 'full', 'real-clean': 'clean'}
    sources = {name: real.RealSource(2, way=way) for name, way in ways.items()}
    batches = Batches(sources, {'real': 0.5, 'real-clean': 0.5}, 8, 32, 2, 1, pairs=True)
    x, y, shifts = batches.at(3)
    assert x.shape == (8, 2, 32, 32) and y.shape == (8, 1, 64, 64) and x.dtype == y.dtype == torch.float32
    assert all(s == [ALONE, ALONE] for s in shifts[::2].tolist()) and all(s != [ALONE, ALONE] for s in shifts[1::2].tolist())
    assert torch.equal(x[::2, 1, 0, 0], x[1::2, 1, 0, 0])
    assert all(torch.equal(a, b) for a, b in zip(batches.at(3), (x, y, shifts)))


def test_what_stays_wrong_in_the_same_way_is_steady():
    wanted, error = torch.zeros(4, 1, 48, 48), torch.randn(52, 52, generator=torch.Generator().manual_seed(1))
    output = torch.stack([error[:48, :48], error[3:51, 2:50], error[:48, :48], error[:48, :48].flip(0)])[:, None]
    alone = (ALONE, ALONE)
    assert unsteady(output, wanted, torch.tensor([alone, (3, 2), alone, alone]), Recipe()) < 1e-6
    assert unsteady(output, wanted, torch.tensor([alone, (0, 0), alone, alone]), Recipe()) > 0.1
    assert unsteady(output, wanted, torch.tensor([alone, (3, 2), alone, (0, 0)]), Recipe()) > 0.1


def test_features_are_those_of_the_trained_network():
    found = Features()(torch.linspace(0, 1, 32 * 32).reshape(1, 1, 32, 32))
    assert [tuple(f.shape) for f in found] == [(1, 16, 16, 16), (1, 24, 8, 8), (1, 40, 4, 4)]
    # As efficientnet_lite_pytorch 0.1.0 gives them.
    assert [f.mean().item() for f in found] == pytest.approx([0.0283, 0.25944, 1.3737], abs=1e-3)
    assert [f.std().item() for f in found] == pytest.approx([5.53798, 9.0109, 10.03691], abs=1e-3)


def test_a_perceptual_distance_grows_with_blur():
    truth = torch.rand(1, 1, 64, 64, generator=torch.Generator().manual_seed(2)).repeat_interleave(2, 2).repeat_interleave(2, 3)
    blurred = [torch.nn.functional.avg_pool2d(truth, side, 1, side // 2) for side in (1, 3, 5)]
    distances = [Features().distance(b, truth).item() for b in blurred]
    assert distances[0] == 0 and distances[1] < distances[2]


def test_a_discriminator_learns_to_tell_apart():
    adversary, rng = Adversary(rate=1e-3), torch.Generator().manual_seed(1)
    seen = []
    for _ in range(25):
        truth = torch.rand(4, 1, 32, 32, generator=rng)
        made = torch.nn.functional.avg_pool2d(truth, 3, 1, 1).requires_grad_()
        assert torch.autograd.grad(adversary.loss(made, truth, 1.0), made)[0].abs().sum() > 0
        seen.append(adversary.learn())
    assert np.mean(seen[-5:]) < 0.7 * np.mean(seen[:3]) and adversary.learn() is None


def full_strength(number):
    x, y = RandomBatches().at(number)
    x[:, 1] = 1.0
    return x, y


def test_a_run_with_a_discriminator_resumes_to_the_same_losses(tmp_path):
    recipe = dataclasses.replace(RECIPE, adversarial_term=0.05, perceptual_term=0.05)
    batches = type('', (), {'at': staticmethod(full_strength)})()

    def begun():
        torch.manual_seed(3)
        return Trainer(build(TINY), batches, recipe)
    whole, first, again = losses(begun(), 6), begun(), begun()
    losses(first, 3)
    save(tmp_path / 'last.pt', first.state(), label='x')
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert losses(again, 3) == whole[3:] and whole != losses(Trainer(build(TINY), batches, RECIPE), 6)


def test_terms_give_the_gradient_that_autograd_finds():
    chosen = Recipe(gradient_term=0.3)
    generator = torch.Generator().manual_seed(0)
    wanted = torch.rand(5, 3, 48, 56, generator=generator)
    made = wanted + 0.05 * torch.randn(wanted.shape, generator=generator)
    shifts = torch.tensor([[objective.ALONE] * 2, [2, -4], [objective.ALONE] * 2, [-3, 0], [40, 40]])
    pairs = [(lambda y: objective.fidelity(y, wanted, chosen), lambda y: objective.fidelity_at_once(y - wanted, chosen)),
             (lambda y: objective.unsteady(y, wanted, shifts, chosen), lambda y: objective.unsteady_at_once(y, wanted, shifts, chosen))]
    for by_parts, at_once in pairs:
        found = []
        for term in (by_parts, at_once):
            y = made.clone().requires_grad_()
            value = term(y)
            (2 * value).backward()
            found.append((value.detach(), y.grad))
        assert torch.allclose(found[0][0], found[1][0], rtol=1e-5) and found[1][1].abs().max() > 0
        assert torch.allclose(found[0][1], found[1][1], rtol=1e-4, atol=1e-9)


def nearest(path, scale=4, share=1.0):
    """An ONNX file of an RGB network that repeats every pixel, at a share of its light."""
    free = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3, None, None])
    scales = onnx.numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), 'scales')
    factor = onnx.numpy_helper.from_array(np.array(share, np.float32), 'factor')
    nodes = [onnx.helper.make_node('Mul', ['x', 'factor'], ['light']),
             onnx.helper.make_node('Resize', ['light', '', 'scales'], ['y'], mode='nearest', nearest_mode='floor',
                                   coordinate_transformation_mode='asymmetric')]
    graph = onnx.helper.make_graph(nodes, 'nearest', [free('x')], [free('y')], [scales, factor])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', 17)], ir_version=8), str(path))


@pytest.mark.parametrize('scale', [2, 4])
def test_a_teacher_is_mixed_in_as_far_as_it_has_come(scale, shards, tmp_path):  # noqa: F811
    nearest(tmp_path / 'x4.onnx')
    assert teacher.teach(tmp_path / 'x4.onnx', 'training', 0, limit=3, scale=scale) == 3
    assert teacher.teach(tmp_path / 'x4.onnx', 'training', 0, limit=2, scale=scale) == 5  # and goes on
    if scale == 4:
        teacher.refine('training', 0)
    plain, taught = real.RealSource(scale), real.RealSource(scale, taught=0.25)
    drawn = lambda number: (number, [10, 20], 6, False, 1.0, 32)
    for number in range(6):
        (coded, truth, _), (same, mixed, _) = (s._made(*drawn(number)) for s in (plain, taught))
        assert np.array_equal(coded, same)
        share = 0.25 * real.trust_in_teacher(taught.plans[number]) if number < 5 else 0
        expected = (1 - share) * truth[0] + share * coded[0].repeat(scale, 0).repeat(scale, 1).clip(0, 1)
        # A colour that no RGB has is cut off on the way; nearly all are the same.
        assert np.quantile(np.abs(mixed[0] - expected), 0.9) < 0.01


@pytest.mark.parametrize('scale', [2, 4])
def test_the_chroma_of_a_teacher_is_mixed_in(scale, shards, tmp_path):  # noqa: F811
    nearest(tmp_path / 'x4.onnx')
    teacher.teach(tmp_path / 'x4.onnx', 'training', 0, scale=scale)
    teacher.teach_chroma(tmp_path / 'x4.onnx', 'training', 0, limit=3, scale=scale)
    count = teacher.teach_chroma(tmp_path / 'x4.onnx', 'training', 0, scale=scale)
    if scale == 4:
        teacher.refine('training', 0)
    plain, taught = real.RealSource(scale, colour=True), real.RealSource(scale, colour=True, taught=0.5)
    seen = 0
    for number in range(count):
        drawn = (number, [10, 20], 6, False, 1.0, 32)
        (coded, truth, _), (_, mixed, _) = (s._made(*drawn) for s in (plain, taught))
        share = 0 if teacher.is_noisy(taught.plans[number]) else 0.5 * taught.trust[number]
        larger = np.stack([resize(p, 64, 64, 'area') for p in coded[1:]])
        larger = larger if scale == 2 else np.stack([resize(p, 128, 128) for p in larger])
        expected = (1 - share) * truth[1:] + share * larger
        assert np.quantile(np.abs(mixed[1:] - expected), 0.9) < 0.012
        seen += share > 0 and np.abs(mixed[1:] - truth[1:]).max() > 0.02
    assert seen


def test_a_second_teacher_takes_over_the_noisy_pictures(shards, tmp_path):  # noqa: F811
    nearest(tmp_path / 'x4.onnx')
    nearest(tmp_path / 'dark.onnx', share=0.5)
    with pytest.raises(GroundError, match='no_teacher'):
        teacher.teach_noisy(tmp_path / 'dark.onnx', 'training', 0)
    teacher.teach(tmp_path / 'x4.onnx', 'training', 0, limit=1)
    with pytest.raises(GroundError, match='no_teacher'):  # not whole
        teacher.teach_noisy(tmp_path / 'dark.onnx', 'training', 0)
    teacher.teach(tmp_path / 'x4.onnx', 'training', 0)
    pictures = real.RealSource(2, taught=0.5).teachers[0].pictures
    before = pictures.copy()
    noisy = [number for number, plan in enumerate(real.RealSource(2).plans) if teacher.is_noisy(plan)]
    assert 2 < len(noisy) < len(before)
    assert teacher.teach_noisy(tmp_path / 'dark.onnx', 'training', 0, limit=2) == 2
    assert teacher.teach_noisy(tmp_path / 'dark.onnx', 'training', 0) == len(noisy)  # and goes on
    changed = [number for number in range(len(before)) if not np.array_equal(pictures[number], before[number])]
    assert changed == noisy
    assert np.abs((before[noisy[0]] - 16.0) / 2 - (pictures[noisy[0]] - 16.0)).max() <= 1.5


def test_a_network_of_scale_4_wants_the_truth_enlarged(shards):  # noqa: F811
    with pytest.raises(GroundError, match='no_finer'):
        real.RealSource(4)
    count = teacher.refine('training', 0)
    source = real.RealSource(4)
    for way, strength in (('full', 1.0), ('clean', 0.0)):
        source.way = way
        coded, wanted, _ = source._made(count - 1, [8, 2], 3, False, strength, 32)
        truth = oriented(normalise(source.record(count - 1)[2][:1])[:, 16:80, 4:68], 3)
        assert coded.shape == (1, 32, 32) and wanted.shape == (1, 128, 128)
        assert np.abs(wanted.reshape(1, 64, 2, 64, 2).mean((2, 4)) - truth).mean() < 0.01


def test_a_network_of_scale_4_may_want_colour(shards):  # noqa: F811
    count = teacher.refine('training', 0)
    luma, colour = real.RealSource(4), real.RealSource(4, colour=True)
    for way, strength in (('full', 1.0), ('clean', 0.0), ('between', 0.5)):
        luma.way = colour.way = way
        drawn = (count - 1, [8, 2], 3, False, strength, 32)
        (grey, wanted_luma, _), (coded, wanted, _) = luma._made(*drawn), colour._made(*drawn)
        assert coded.shape == (3, 32, 32) and wanted.shape == (3, 128, 128)
        assert np.array_equal(coded[:1], grey) and np.array_equal(wanted[:1], wanted_luma)
        assert np.abs(wanted[1:]).max() > 0.01
        if way != 'between':
            truth = oriented(normalise(colour.record(count - 1)[2])[1:, 16:80, 4:68], 3)
            assert np.abs(wanted[1:].reshape(2, 64, 2, 64, 2).mean((2, 4)) - truth).mean() < 0.01


@pytest.mark.parametrize('true_size,sigma,trust', [(1.0, None, 1.0), (0.8, None, 1.0), (0.5, None, 0.3), (1.0, 1.5, 0.3)])
def test_a_teacher_of_soft_sources_is_trusted_less(true_size, sigma, trust):
    blur = sigma and {'kind': 'gaussian', 'sigma': [sigma, sigma], 'angle': 0.0, 'power': 2.0}
    assert real.trust_in_teacher({'true_size': true_size, 'blur': blur}) == pytest.approx(trust, abs=0.02)


@pytest.mark.parametrize('network,options', [('detail', []), ('detail-restore', []), ('detail-large', ['--batch', '2', '--features', '16', '--layers', '2']),
                                             ('detail', ['--resident']), ('detail-restore', ['--resident']),
                                             ('detail', ['--perceptual-term', '0.1', '--adversarial-term', '0.01'])])
def test_the_command_trains_with_all_that_the_recipe_weighs_in(network, options, shards, tmp_path, monkeypatch):  # noqa: F811
    if network == 'detail-large':
        teacher.refine('training', 0)
    monkeypatch.setattr(training, 'evaluator', lambda *_: lambda net: {})
    words = ['train', network, '--run', str(tmp_path), '--steps', '3', '--batch', '4', '--patch', '32', '--device', 'cpu',
             '--wait-for-scores', *options]
    args = commands.parser().parse_args(words)
    args.action(args)
    row = json.loads((tmp_path / 'log.jsonl').read_text())
    state = load_state(tmp_path / 'last.pt')
    assert row['step'] == state['number'] == 3 and np.isfinite(row['loss'])
    assert ('adversary' in state['objective']) == ('--adversarial-term' in options)


@pytest.mark.parametrize('words', [['fast', '--steady-term', '1'], ['detail', '--batch', '3']])
def test_steadiness_needs_pairs(words, tmp_path):
    args = commands.parser().parse_args(['train', *words, '--run', str(tmp_path), '--device', 'cpu'])
    with pytest.raises(GroundError, match='no_pairs'):
        args.action(args)
