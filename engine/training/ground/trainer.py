"""The training loop: workers of one thread each or a GPU, averaged weights, checkpoints that resume to the same
numbers."""
import copy
import math
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from .network import RestorationNet, plain
from .objective import Objective
from .optimiser import optimiser_for
from .processor import runs_in_bfloat16
from .scoring import Log


def build(network):
    """A network of `recipes.Network` in the memory layout that convolutions on CPUs like best."""
    planes, outputs = (4, 3) if network.colour else (2, 1)
    net = RestorationNet(network.scale, network.features, network.layers, planes, outputs, network.fold, network.leaky)
    return net.to(memory_format=torch.channels_last)


def fall_at(step, recipe):
    """The share of the rate that the fall over the last `decay` steps has left: from 1 to 0."""
    return max(0.0, min(1.0, (recipe.steps - step) / recipe.decay)) if recipe.decay else 1.0


def rate_at(step, recipe):
    """Learning rate of a step: linear warm-up, constant, linear fall over the last `decay` steps."""
    rise = min(1.0, (step + 1) / max(1, recipe.warm_up))
    return recipe.rate * rise * fall_at(step, recipe)


class Trainer:
    """Holds a network, its optimiser and the averaged weights; `step` advances by one batch.

    On a GPU and on a processor that multiplies it the network runs in bfloat16 (weights, loss and optimiser stay float32). On a GPU a
    loss that is no number is noticed within `CHECKED` steps, so that no step waits for the one before.
    """
    CHECKED = 100

    def __init__(self, net, batches, recipe, workers=1, objective=None, device='cpu', half=None):
        self.device = torch.device(device)
        self.half = runs_in_bfloat16(self.device, half)
        self.net, self.batches, self.recipe = net.to(self.device), batches, recipe
        self.workers, self.objective = workers, objective or Objective(recipe, self.device, self.half, net.scale)
        self.forward = self.net
        self.parameters = [p for p in net.parameters() if p.requires_grad]
        self.optimiser = optimiser_for(net, recipe.rate)
        self.start_average()
        self.number = 0
        self.spent = 0.0  # share of the time given, where the rate falls with the clock and not with the steps
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def _gradients(self, part):
        """Loss and gradients of a part of the batch; parts run side by side (torch lets go of Python's lock)."""
        x, y, *shifts = part
        x = x.to(self.device, non_blocking=True).to(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            output = self.forward(x)
        loss = self.objective(output.float(), y.to(self.device, non_blocking=True), self.recipe, x[:, 1, 0, 0], *shifts)
        return loss.detach(), torch.autograd.grad(loss, self.parameters)

    def step(self):
        """One step. → {'loss', 'norm', 'rate'} (the first two tensors on a GPU); throws FloatingPointError when the
        loss is no number."""
        self._enter_phase()
        batch = self.batches.at(self.number)
        parts = list(zip(*(tensor.chunk(self.workers) for tensor in batch)))
        results = list(self.pool.map(self._gradients, parts)) if self.pool else [self._gradients(parts[0])]
        sizes = [len(p[0]) / len(batch[0]) for p in parts]
        loss = sum(r[0] * s for r, s in zip(results, sizes))
        loss = self._checked(loss)
        for at, parameter in enumerate(self.parameters):
            parameter.grad = sum(r[1][at] * s for r, s in zip(results, sizes)) if self.pool else results[0][1][at]
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip)
        rate = self._rate()
        for group in self.optimiser.param_groups:
            group['lr'] = rate
        self.optimiser.step()
        self.objective.learn()
        self._average()
        self.number += 1
        return {'loss': loss, 'norm': float(norm) if self.device.type == 'cpu' else norm,
                'rate': rate}

    def _rate(self):
        return rate_at(self.number, self.recipe) * (1 - self.spent)

    def _enter_phase(self):
        """Squared error over the last share of the falling rate, as entries of the NTIRE 2022 challenge on efficient
        super-resolution end their training (Li et al. 2022). The step's number, or the clock, says where a run is, so one that
        is taken up is in the same phase."""
        left = fall_at(self.number, self.recipe) * (1 - self.spent)
        self.objective.squared = left < self.recipe.squared_error

    def _taken(self):
        """The share of the network's weights that the average takes at this step. Young averages forget faster, so that the
        random start is soon out of them."""
        return 1 - min(self.recipe.average, (1 + self.number) / (10 + self.number))

    def _checked(self, loss):
        """The loss: a number on a CPU, a tensor on a GPU. Throws FloatingPointError."""
        if self.device.type == 'cpu':
            loss = float(loss)
        if (self.device.type == 'cpu' or self.number % self.CHECKED == 0) and not math.isfinite(loss):
            raise FloatingPointError(f'the loss of step {self.number} is {loss}')
        return loss

    @torch.no_grad()
    def _average(self):
        state = self.net.state_dict()
        torch._foreach_lerp_([self.average[n] for n in state], list(state.values()), self._taken())

    def start_average(self):
        """The averaged weights begin anew with what the network holds."""
        self.average = {k: v.detach().clone() for k, v in self.net.state_dict().items()}

    def become_plain(self):
        """Learns on without the wide branches (`network.plain`). The optimiser keeps what it knows of the others."""
        averaged = self.averaged()
        plain(averaged)
        plain(self.net)
        self.average = averaged.state_dict()
        self.parameters = [p for p in self.net.parameters() if p.requires_grad]

    def averaged(self):
        """A copy of the network with the averaged weights."""
        net = copy.deepcopy(self.net)
        net.load_state_dict(self.average)
        return net.eval()

    def state(self):
        return {'number': self.number, 'net': self.net.state_dict(), 'optimiser': self.optimiser.state_dict(),
                'average': self.average, 'objective': self.objective.state()}

    def restore(self, state, optimiser=True):
        """Takes a state up; without `optimiser` only those of its averaged weights that fit (another run begins)."""
        if not optimiser:
            own = self.net.state_dict()
            fitting = {k: v for k, v in state['average'].items() if k in own and own[k].shape == v.shape}
            self.net.load_state_dict({**own, **fitting})
            self.start_average()
            return
        self.net.load_state_dict(state['net'])
        self.average = {k: v.to(self.device, torch.float32, copy=True) for k, v in state['average'].items()}
        self.optimiser.load_state_dict(state['optimiser'])
        self.objective.restore(state.get('objective', {}))
        self.number = state['number']


def save(path, state, **more):
    """Writes a checkpoint whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({**state, **more}, path.with_suffix('.part'))
    path.with_suffix('.part').rename(path)


@contextmanager
def asked_to_stop():
    """A list that stays empty until SIGTERM comes. Behind it SIGTERM does again what it did: processes that are forked inherit
    that, and a pool could not end workers that only make a note of it."""
    asked = []
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass
class Run:
    """A training with its checkpoints, scores and log.

    `evaluate`: a function of the averaged network that gives scores, or the future of them (`scoring.ScoredBeside`).
    `written`: called with the averaged network and {'number', 'hours', 'label'} at every checkpoint.
    """
    trainer: Trainer
    folder: Path
    evaluate: Callable
    minutes: float | None = None   # after which it ends; None: it ends with the recipe's last step
    every: int = 2000              # steps between checkpoints
    label: str = ''                # name of the recipe
    worked: float = 0.0            # hours that were worked before
    timed: bool = False            # the rate falls to 0 over the minutes, however many steps they give
    clock: float = 0.0             # minutes of a timed run that are over already; checkpoints say how many were
    kept: dict = field(default_factory=dict)  # what else checkpoints hold
    written: Callable | None = None

    def train(self):
        """Until the recipe's last step, for `minutes`, or until SIGTERM; checkpoints, scores and logs every `every` steps and
        at the end. Returns the trainer."""
        trainer, losses, log = self.trainer, [], Log(self.folder / 'log.jsonl')
        last = self._start = time.time()
        self._begun, self._processor_start = last - 60 * self.clock, time.process_time()
        with asked_to_stop() as asked:
            while trainer.number < trainer.recipe.steps:
                trainer.spent = min(1.0, self._seconds() / (60 * self.minutes)) if self.timed else 0.0
                losses.append(trainer.step())
                ends = bool(asked) or self._is_over()
                if trainer.number % self.every and not ends:
                    continue
                averaged, row = self._checkpoint(losses, last)
                if ends:
                    log.wait()  # the last checkpoint is always scored
                log.add(row, self.evaluate(averaged))
                losses, last = [], time.time()
                if ends:
                    break
            log.wait()
        return trainer

    def _seconds(self):
        """That the run has taken, with those on its clock."""
        return time.time() - self._begun

    def _is_over(self):
        in_time = self.minutes is None or self._seconds() <= 60 * self.minutes
        return not in_time or self.trainer.number >= self.trainer.recipe.steps

    def _checkpoint(self, losses, last):
        """Writes it. → (averaged network, row of the log) for the steps since `last`."""
        trainer, hours = self.trainer, self.worked + (time.time() - self._start) / 3600
        timed = {'clock': self._seconds() / 60, 'minutes': self.minutes} if self.timed else {}
        # Before the scores: what they may fail of must not cost the steps.
        save(self.folder / 'last.pt', trainer.state(), hours=hours, label=self.label, **self.kept, **timed)
        averaged = trainer.averaged()
        if self.written:
            self.written(averaged, {'number': trainer.number, 'hours': hours, 'label': self.label})
        mean = lambda name: float(sum(step[name] for step in losses)) / len(losses)
        return averaged, {'step': trainer.number, 'recipe': self.label, 'loss': mean('loss'), 'norm': mean('norm'),
                          'rate': losses[-1]['rate'], 'ms': 1000 * (time.time() - last) / len(losses), 'hours': hours,
                          'cpu_hours': (time.process_time() - self._processor_start) / 3600}
