"""Training: the same seed gives the same numbers, taking up a checkpoint too; workers do not change the result."""
import argparse
import dataclasses
import itertools
import json
import multiprocessing
import platform
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ground import training
from ground.training import clock_of
from ground.objective import TYPICAL, fidelity
from ground.optimiser import all_orthogonal
from ground.recipes import RECIPES, Network, Recipe
from ground.release import load_state
from ground.samples import Ahead
from ground.processor import for_processor, multiplies_bfloat16, request_tiles
from ground.trainer import Run, Trainer, build, rate_at, save

TINY = Network('', '', '', 2, 16, 2)
RECIPE = Recipe(steps=100, warm_up=3, decay=10, batch=4, patch=16)


class RandomBatches:
    """Noise and its blurred double: something to learn, with no files."""

    def at(self, number):
        rng = np.random.default_rng([9, number])
        x = rng.random((RECIPE.batch, 2, 16, 16), np.float32)
        y = np.repeat(np.repeat(x[:, :1], 2, 2), 2, 3) * 0.9
        return torch.from_numpy(x), torch.from_numpy(np.ascontiguousarray(y))


def trainer(workers=1):
    torch.manual_seed(3)
    return Trainer(build(TINY), RandomBatches(), RECIPE, workers, half=False)


def losses(t, steps):
    return [t.step()['loss'] for _ in range(steps)]


def test_the_same_seed_gives_the_same_losses():
    assert losses(trainer(), 6) == losses(trainer(), 6)


def test_a_checkpoint_resumes_to_the_same_losses(tmp_path):
    whole, first = losses(trainer(), 10), trainer()
    losses(first, 6)
    save(tmp_path / 'last.pt', first.state(), label='x')
    torch.manual_seed(99)
    again = Trainer(build(TINY), RandomBatches(), RECIPE, half=False)
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert losses(again, 4) == whole[6:]


def test_workers_split_the_batch_without_changing_the_sum():
    one, two = losses(trainer(), 4), losses(trainer(2), 4)
    assert np.allclose(one, two, rtol=1e-3)


def test_batches_made_ahead_are_the_same():
    t = trainer()
    t.batches = Ahead(t.batches, processes=2)
    assert losses(t, 5) == losses(trainer(), 5)


def test_training_lowers_the_loss():
    seen = losses(trainer(), 60)
    assert np.mean(seen[-5:]) < 0.5 * np.mean(seen[:5])


def test_a_loss_that_is_no_number_stops_the_run():
    t = trainer()
    with torch.no_grad():
        t.net.tail.bias.fill_(float('nan'))
    with pytest.raises(FloatingPointError):
        t.step()


@pytest.mark.parametrize('step,share', [(0, 1 / 3), (2, 1.0), (50, 1.0), (95, 0.5), (100, 0.0)])
def test_the_rate_warms_up_stays_and_falls(step, share):
    assert rate_at(step, RECIPE) == pytest.approx(share * RECIPE.rate)


def test_without_a_decay_the_rate_stays():
    assert rate_at(10**7, dataclasses.replace(RECIPE, decay=0)) == RECIPE.rate


@pytest.mark.parametrize('shape', [(16, 64), (64, 16), (8, 8)])
def test_muon_makes_singular_values_near_one(shape):
    torch.manual_seed(1)
    found = all_orthogonal([torch.randn(2, *shape), torch.randn(1, *shape)])
    values = torch.cat([torch.linalg.svdvals(stack) for stack in found])
    assert values.shape == (3, min(shape)) and values.max() < 1.4 and values.min() > 0.2


def test_a_finish_may_end_on_squared_error_and_resumes_to_the_same_losses(tmp_path):
    ending = dataclasses.replace(RECIPE, steps=12, decay=10, squared_error=0.5)

    def begun():
        torch.manual_seed(3)
        return Trainer(build(TINY), RandomBatches(), ending, half=False)
    t, phases, seen = begun(), [], []
    for _ in range(12):
        seen.append(t.step()['loss'])
        phases.append(t.objective.squared)
    assert phases == 8 * [False] + 4 * [True]  # 5 of the 10 steps of the fall: fewer than half of it left from step 8 on
    first, again = begun(), begun()
    losses(first, 9)
    save(tmp_path / 'last.pt', first.state(), label='x')
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert losses(again, 3) == seen[9:]


def test_a_timed_run_ends_on_squared_error_by_the_clock():
    t = trainer()
    t.recipe = dataclasses.replace(RECIPE, steps=10**9, decay=0, squared_error=0.25)
    for spent, squared in ((0.0, False), (0.74, False), (0.76, True)):
        t.spent = spent
        t.step()
        assert t.objective.squared == squared


def test_squared_error_is_what_psnr_measures_and_pulls_as_hard_at_a_typical_error():
    wanted = torch.zeros(1, 1, 64, 64)
    output = (TYPICAL * torch.randn(1, 1, 64, 64, generator=torch.Generator().manual_seed(1))).requires_grad_()
    pulls = [torch.autograd.grad(fidelity(output, wanted, Recipe(gradient_term=0.0), squared), output)[0].norm()
             for squared in (False, True)]
    assert pulls[1] == pytest.approx(pulls[0].item(), rel=0.1)
    assert fidelity(output, wanted, Recipe(), True).item() == pytest.approx(output.square().mean().item() / (2 * TYPICAL))


@pytest.fixture
def ticking(monkeypatch):
    """A clock on which every look takes 20 ms, however busy the machine."""
    now = itertools.count()
    monkeypatch.setattr('ground.trainer.time.time', lambda: 0.02 * next(now))


def test_a_timed_run_ends_with_its_minutes_and_a_rate_near_zero(tmp_path, ticking):
    t = trainer()
    t.recipe = dataclasses.replace(RECIPE, steps=10**9, decay=0)
    Run(t, tmp_path, lambda net: {}, minutes=1.5 / 60, every=10**6, timed=True).train()
    row = json.loads((tmp_path / 'log.jsonl').read_text())
    assert 30 < t.number < 45 and row['rate'] < 0.05 * RECIPE.rate
    again = trainer()
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert again.number == t.number


def test_a_timed_run_that_was_stopped_goes_on_with_its_clock(tmp_path, ticking):
    class Stopping(RandomBatches):
        def at(self, number):
            if number == 9:
                signal.raise_signal(signal.SIGTERM)
            return super().at(number)

    first = Trainer(build(TINY), Stopping(), dataclasses.replace(RECIPE, steps=10**9, decay=0))
    Run(first, tmp_path, lambda net: {}, minutes=1 / 60, every=10**6, timed=True).train()
    state = torch.load(tmp_path / 'last.pt', weights_only=True)
    assert first.number == 10 and 0.3 / 60 < state['clock'] < 0.6 / 60
    asked = argparse.Namespace(timed=True, fresh=False, grow=False, start=None, minutes=state['minutes'])
    assert clock_of(state, asked) == state['clock']
    assert clock_of(state, argparse.Namespace(**{**vars(asked), 'fresh': True})) == 0
    assert clock_of({**state, 'clock': 2 / 60}, asked) == 0  # that one had come to its end
    second = trainer()
    second.recipe = first.recipe
    second.restore(state)
    Run(second, tmp_path, lambda net: {}, asked.minutes, 10**6, timed=True, clock=state['clock']).train()
    assert 20 < second.number < 30
    rows = [json.loads(line) for line in (tmp_path / 'log.jsonl').read_text().splitlines()]
    assert rows[1]['rate'] < 0.1 * RECIPE.rate


def test_behind_a_run_sigterm_ends_processes_again(tmp_path):
    Run(trainer(), tmp_path, lambda net: {}, every=10**6).train()
    waiting = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))
    waiting.start()
    waiting.terminate()
    waiting.join(30)
    ended = waiting.exitcode
    waiting.kill()
    assert ended == -signal.SIGTERM


def test_a_finish_that_was_stopped_goes_on_to_the_same_end(tmp_path):
    class Stopping(RandomBatches):
        def at(self, number):
            if number == 6:
                signal.raise_signal(signal.SIGTERM)
            return super().at(number)

    def finishing(batches, name, start):
        args = argparse.Namespace(start=start, fresh=False, grow=False, finish=10)
        path = training.first_state(TINY, args, tmp_path / name)
        state = load_state(path)
        finish = training.finish_of(state, args)
        t = Trainer(build(TINY), batches, dataclasses.replace(RECIPE, steps=finish['end'], decay=finish['steps']))
        t.restore(state)
        Run(t, tmp_path / name, lambda net: {}, every=10**6, kept={'finish': finish}).train()
        return path, t

    begun = trainer()
    losses(begun, 3)
    save(tmp_path / 'start.pt', begun.state(), label='', hours=0.0)
    start = str(tmp_path / 'start.pt')
    _, whole = finishing(RandomBatches(), 'whole', start)
    _, first = finishing(Stopping(), 'stopped', start)
    path, second = finishing(RandomBatches(), 'stopped', start)
    assert first.number == 7 and path == tmp_path / 'stopped/last.pt' and second.number == whole.number == 13
    assert all(torch.equal(a, b) for a, b in zip(whole.net.state_dict().values(), second.net.state_dict().values()))
    assert finishing(RandomBatches(), 'stopped', start)[1].number == 13  # and no step more


def test_a_finish_may_begin_with_the_end_of_another(tmp_path):
    save(tmp_path / 'other.pt', trainer().state(), label='', hours=0.0, finish={'steps': 5, 'end': 5})
    args = argparse.Namespace(start=str(tmp_path / 'other.pt'), fresh=False, grow=False, finish=10)
    state = load_state(training.first_state(TINY, args, tmp_path / 'new'))
    assert training.finish_of(state, args) == {'steps': 10, 'end': 10}


def test_a_processor_that_is_faster_in_bfloat16_trains_in_it_with_its_own_batch(tmp_path):
    processors = {'amx': ('GenuineIntel', 'avx512f avx512_bf16 amx_bf16 amx_tile'), 'amd': ('AuthenticAMD', 'avx512f avx512_bf16'),
                  'intel': ('GenuineIntel', 'avx512f avx512_bf16'), 'plain': ('AuthenticAMD', 'avx512f avx512_vnni')}
    for name, (vendor, flags) in processors.items():
        (tmp_path / name).write_text(f'processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n')
    granted, denied = (lambda: True), (lambda: False)
    assert multiplies_bfloat16(tmp_path / 'amx', granted) and not multiplies_bfloat16(tmp_path / 'amx', denied)
    assert multiplies_bfloat16(tmp_path / 'amd', denied)  # needs no permission
    assert not any(multiplies_bfloat16(tmp_path / name, granted) for name in ('intel', 'plain', 'none'))
    wide = dataclasses.replace(RECIPE, batch_bf16=16)
    assert for_processor(wide, 'cpu', half=True).batch == 16 and for_processor(wide, 'cpu', half=False).batch == RECIPE.batch
    assert for_processor(RECIPE, 'cpu', half=True) == RECIPE
    assert RECIPES['real'].batch_bf16 > RECIPES['real'].batch


@pytest.mark.skipif(platform.system() != 'Linux' or platform.machine() != 'x86_64', reason='asks the kernel of x86-64')
def test_the_kernel_is_asked_for_the_tile_registers():
    asked = []
    assert request_tiles(lambda *words: asked.append([w.value for w in words]) or 0) and asked == [[158, 0x1023, 18]]
    assert not request_tiles(lambda *words: -1)
    held = 'amx_tile' in Path('/proc/cpuinfo').read_text()
    assert held or not request_tiles()


def test_bfloat16_learns_nearly_the_same():
    def seen(half):
        torch.manual_seed(3)
        t = Trainer(build(TINY), RandomBatches(), RECIPE, half=half)
        return losses(t, 30), t
    (exact, plain), (half, rounded) = seen(False), seen(True)
    assert exact != half and np.allclose(exact, half, rtol=0.1)
    assert rounded.half and not plain.half
    assert all(v.dtype == torch.float32 for v in rounded.net.state_dict().values())
