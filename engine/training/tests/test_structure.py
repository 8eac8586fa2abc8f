"""The loss on structure: it agrees with libvmaf, and its gradient leads to more of the truth's detail."""
import json
import subprocess

import numpy as np
import pytest
import torch
from test_real import moving

from ground import real_scores, structure
from ground.damage import unsharp
from ground.objective import Objective
from ground.recipes import Recipe
from ground.resize import resize, to_bytes


def pictures(side=240):
    """{name: bytes [side, side]}: a truth, and what less and more of its detail makes of it."""
    rng = np.random.default_rng(4)
    truth = to_bytes(moving(3).mean(-1)[:side, :side].clip(16, 235))
    half = resize(truth, side // 2, side // 2)
    return {'truth': truth, 'soft': to_bytes(resize(half, side, side)), 'sharp': to_bytes(unsharp(truth, 0.8, 1.5)),
            'noisy': to_bytes(truth + rng.normal(0, 8, truth.shape))}


def tensor(picture):
    return torch.from_numpy(np.asarray(picture, np.float32))[None, None]


def by_libvmaf(made, truth, folder):
    files = [folder / name for name in ('made', 'truth')]
    for file, picture in zip(files, (made, truth)):
        file.write_bytes(real_scores.as_yuv420p(picture))
    log, side = folder / 'log.json', len(truth)
    source = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', f'{side}x{side}']
    graph = f'libvmaf=model=version=vmaf_v0.6.1neg:log_fmt=json:log_path={log}'
    subprocess.run([real_scores.ffmpeg(), '-v', 'error', *source, '-i', files[0], *source, '-i', files[1], '-lavfi', graph,
                    '-f', 'null', '-'], check=True)
    return json.loads(log.read_text())['frames'][0]['metrics']


@pytest.mark.parametrize('name', ['soft', 'sharp', 'noisy'])
def test_detail_and_information_are_those_of_libvmaf(name, tmp_path):
    found = pictures()
    wanted = by_libvmaf(found[name], found['truth'], tmp_path)
    made, truth = tensor(found[name]), tensor(found['truth'])
    one = {key.replace('_egl_1', '').removeprefix('integer_'): value for key, value in wanted.items()}
    assert float(structure.detail(made, truth)) == pytest.approx(one['adm2'], abs=2e-3)
    assert structure.information(made, truth)[0].tolist() == pytest.approx([one['vif_scale2'], one['vif_scale3']], abs=5e-3)


def test_nothing_is_missing_of_the_truth_and_nothing_is_gained_beyond_it():
    found = {name: (tensor(p) - 16) / 219 for name, p in pictures().items()}
    missing = {name: float(structure.missing(p, found['truth'])) for name, p in found.items()}
    assert abs(missing['truth']) < 0.02 < min(missing['soft'], missing['sharp'], missing['noisy'])
    assert missing['soft'] > 0.05


def test_the_gradient_brings_detail_back():
    found = {name: (tensor(p) - 16) / 219 for name, p in pictures(96).items()}
    made, recipe = found['soft'].clone().requires_grad_(), Recipe(structure_term=1.0)
    before = structure.missing(made, found['truth']).item()
    for _ in range(20):
        gradient, = torch.autograd.grad(Objective(recipe)(made, found['truth'], recipe, torch.ones(1)), made)
        made = (made - 0.01 * gradient / gradient.abs().mean() * 0.1).detach().requires_grad_()
    assert torch.isfinite(gradient).all() and structure.missing(made, found['truth']).item() < 0.7 * before


def test_structure_counts_as_much_as_restoration_is_wanted():
    found = {name: (tensor(p) - 16) / 219 for name, p in pictures(96).items()}
    made, truth, recipe = found['soft'], found['truth'], Recipe(structure_term=0.1)
    losses = [float(Objective(recipe)(made, truth, recipe, torch.tensor([s]))) for s in (0.0, 0.5, 1.0)]
    assert losses[0] == pytest.approx(float(Objective(Recipe())(made, truth, Recipe())))
    assert losses[2] - losses[1] == pytest.approx(losses[1] - losses[0], rel=1e-4) and losses[1] > losses[0]
