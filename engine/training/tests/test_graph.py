"""Steps as one CUDA graph: what is recorded computes what `Trainer.step` does, asks for no number and fetches none."""
import dataclasses

import numpy as np
import pytest
import torch
from test_training import RECIPE, TINY, RandomBatches, losses, trainer
from torch.utils._python_dispatch import TorchDispatchMode

from ground.graph import GraphTrainer
from ground.objective import ALONE, unsteady, unsteady_at_once
from ground.photos import GroundError
from ground.recipes import Recipe
from ground.trainer import Trainer, build, save

REAL = dataclasses.replace(RECIPE, structure_term=0.2, steady_term=1.0)


class Pairs(RandomBatches):
    """The same at full strength, two by two pictures that follow each other; large enough for structure."""

    def at(self, number):
        rng = np.random.default_rng([9, number])
        x = torch.from_numpy(rng.random((4, 2, 32, 32), np.float32))
        x[:, 1] = 1.0
        shifts = torch.tensor([(ALONE, ALONE), rng.integers(-4, 5, 2).tolist()] * 2)
        return x, x[:, :1].repeat_interleave(2, 2).repeat_interleave(2, 3) * 0.9, shifts


def graphed(batches=None, recipe=RECIPE, **named):
    torch.manual_seed(3)
    return GraphTrainer(build(TINY), batches or RandomBatches(), recipe, half=False, **named)


@pytest.mark.parametrize('batches,recipe', [(RandomBatches(), RECIPE), (Pairs(), REAL)])
def test_steps_are_those_of_the_plain_trainer(batches, recipe):
    torch.manual_seed(3)
    plain, recorded = Trainer(build(TINY), batches, recipe, half=False), graphed(batches, recipe)
    rows = [(plain.step(), recorded.step()) for _ in range(6)]
    for a, b in rows:
        assert b['loss'] == pytest.approx(a['loss'], rel=1e-3) and b['norm'] == pytest.approx(a['norm'], rel=1e-2)
        assert a['rate'] == b['rate']
    apart = [(a - b).abs().max().item() for a, b in zip(plain.averaged().parameters(), recorded.averaged().parameters())]
    moved = [(a - b).abs().max().item() for a, b in zip(plain.averaged().parameters(), graphed().net.parameters())]
    assert max(apart) < 0.01 * max(moved)
    assert recorded.state().keys() == plain.state().keys()


def test_the_phase_on_squared_error_is_recorded_anew():
    recorded, ending = [], dataclasses.replace(RECIPE, steps=20, decay=20, squared_error=0.5)

    def capture(advance):
        recorded.append(t.objective.squared)
        return advance
    t = graphed(recipe=ending, capture=capture)
    torch.manual_seed(3)
    plain = Trainer(build(TINY), RandomBatches(), ending, half=False)
    assert losses(t, 20) == pytest.approx(losses(plain, 20), rel=1e-2) and recorded == [False, True]


def test_a_checkpoint_of_either_trainer_is_taken_up_by_the_other(tmp_path):
    whole, first, plain, again = losses(trainer(), 8), graphed(), trainer(), graphed()
    own = losses(graphed(), 8)
    losses(first, 4)
    save(tmp_path / 'last.pt', first.state(), label='x')
    again.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert losses(again, 4) == own[4:]  # the same numbers as if it had not stopped
    plain.restore(torch.load(tmp_path / 'last.pt', weights_only=True))
    assert losses(plain, 4) == pytest.approx(whole[4:], rel=1e-3)
    begun = trainer()
    losses(begun, 4)
    again.restore(begun.state())
    assert losses(again, 4) == pytest.approx(whole[4:], rel=1e-3)


def test_a_step_is_recorded_once_and_again_after_other_tensors_took_their_place():
    recorded = []

    def capture(advance):
        recorded.append(1)
        return advance
    t, plain = graphed(capture=capture), graphed()
    assert losses(t, 3) == losses(plain, 3) and not recorded  # what comes first chooses algorithms
    assert losses(t, 3) == losses(plain, 3) and len(recorded) == 1
    held = [b.data_ptr() for b in t.buffers]
    losses(t, 2)
    assert [b.data_ptr() for b in t.buffers] == held and len(recorded) == 1
    t.restore(t.state())
    losses(t, 3)
    assert len(recorded) == 1
    losses(t, 2)
    assert len(recorded) == 2


class Transfers(TorchDispatchMode):
    """Notes operations that bring a number to the host, make tensors of numbers of the host, or have results whose sizes depend
    on values: a CUDA graph can hold none of these."""
    WORDS = ('_local_scalar_dense', 'nonzero', 'masked_select', 'lift_fresh', 'is_nonzero', 'equal.default', 'unique')

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(word in str(func) for word in self.WORDS):
            self.seen.add(str(func))
        return func(*args, **(kwargs or {}))


def test_nothing_in_a_step_waits_for_the_device_or_comes_from_the_host():
    t = graphed(Pairs(), REAL)
    losses(t, 1)  # makes what is kept
    with Transfers() as transfers:
        t._advance()
    assert not transfers.seen
    with Transfers() as transfers:  # and it would have been seen
        x, y, shifts = t.buffers
        unsteady(y, y * 0, shifts, REAL)
        x.new_tensor([1.0])
    assert any('_local_scalar' in name or 'lift_fresh' in name for name in transfers.seen)


@pytest.mark.parametrize('shifts', [[(ALONE, ALONE), (0, 0), (ALONE, ALONE), (5, -7)], [(ALONE, ALONE), (-3, 2), (1, 1), (60, 0)],
                                    [(2, 2), (ALONE, ALONE), (0, -40), (-31, 31)]])
def test_steadiness_at_once_is_that_of_the_pairs(shifts):
    rng = torch.Generator().manual_seed(1)
    made, wanted = (torch.rand(4, 1, 48, 56, generator=rng) for _ in range(2))
    grads, found = [], []
    for weigh in (unsteady, unsteady_at_once):
        output = made.clone().requires_grad_()
        loss = weigh(output, wanted, torch.tensor(shifts), Recipe())
        found.append(loss.item())
        grads.append(torch.autograd.grad(loss, output)[0])
    assert found[0] > 0 and found[1] == pytest.approx(found[0], rel=1e-5) and torch.allclose(*grads, atol=1e-7)


def test_a_loss_that_is_no_number_stops_the_run():
    t = graphed()
    with torch.no_grad():
        t.net.tail.bias.fill_(float('nan'))
    with pytest.raises(FloatingPointError):
        t.step()


def test_a_discriminator_trains_without_a_graph():
    with pytest.raises(GroundError, match='no_graph'):
        graphed(recipe=dataclasses.replace(RECIPE, adversarial_term=0.1))
