"""The training loop: workers of one thread each or a GPU, averaged weights, checkpoints that resume to the same
numbers."""
import copy
import ctypes
import math
import platform
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from .network import RestorationNet, plain
from .objective import Objective
from .optimiser import optimiser_for
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


ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18  # of x86-64: asm/unistd_64.h, asm/prctl.h, the kernel's XFEATURE


def request_tiles(call=None):
    """Asks the kernel for the tile registers, which a process gets only on request (Linux 5.16 and later). False where the
    processor has none, the kernel is older, or a filter of system calls denies the request."""
    if platform.system() != 'Linux' or platform.machine() != 'x86_64':
        return False
    call = call or ctypes.CDLL(None, use_errno=True).syscall
    return call(*(ctypes.c_long(v) for v in (ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA))) == 0


def multiplies_bfloat16(cpuinfo=Path('/proc/cpuinfo'), request=request_tiles):
    """Whether this processor is faster in bfloat16, and PyTorch uses it: AMX where the kernel grants it, or AVX-512 BF16 of AMD's
    processors. A step then takes a half to a fifth of the time (AMX), or half to two thirds (AVX-512 BF16). Intel's AVX-512 BF16
    does no more products a cycle than float32: there a convolution of 32 channels, forward and backward, takes 1.6 times as long."""
    try:
        flags = cpuinfo.read_text()
    except OSError:
        return False
    if not torch.amp.is_autocast_available('cpu'):
        return False
    if ' amx_bf16' in flags and request():
        return True
    return ' avx512_bf16' in flags and 'AuthenticAMD' in flags


def runs_in_bfloat16(device, half=None):
    """Whether the network runs in bfloat16: on GPUs, and on processors that multiply it. On any other it is slower than float32."""
    if torch.device(device).type == 'cpu':
        return multiplies_bfloat16() if half is None else half
    return True


def for_processor(recipe, device, half=None):
    """The recipe with the batch that suits a processor that multiplies bfloat16, where it names one."""
    large = recipe.batch_bf16 and torch.device(device).type == 'cpu' and runs_in_bfloat16(device, half)
    return replace(recipe, batch=recipe.batch_bf16) if large else recipe


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


def run(trainer, folder, evaluate, minutes=None, every=2000, label='', worked=0.0, timed=False, clock=0.0, kept=None,
        written=None):
    """Trains until the recipe's last step, for `minutes`, or until SIGTERM; checkpoints, scores and logs every
    `every` steps and at the end. `evaluate`: a function of the averaged network that gives scores, or the future of them
    (`scoring.ScoredBeside`). `timed`: the rate falls to 0 over the minutes, however many steps they give.
    `clock`: minutes of them that are over already; a checkpoint says how many were. `kept`: what else checkpoints hold.
    `written`: called with the averaged network and {'number', 'hours', 'label'} at every checkpoint."""
    last, losses, log = time.time(), [], Log(folder / 'log.jsonl')
    begun, first = last - 60 * clock, last
    cpu = time.process_time()
    with asked_to_stop() as asked:
        while trainer.number < trainer.recipe.steps:
            trainer.spent = min(1.0, (time.time() - begun) / (60 * minutes)) if timed else 0.0
            losses.append(trainer.step())
            ends = bool(asked) or (minutes is not None and time.time() - begun > minutes * 60) \
                or trainer.number >= trainer.recipe.steps
            if trainer.number % every and not ends:
                continue
            hours = worked + (time.time() - first) / 3600
            # Before the scores: what they may fail of must not cost the steps.
            save(folder / 'last.pt', trainer.state(), hours=hours, label=label, **(kept or {}),
                 **({'clock': (time.time() - begun) / 60, 'minutes': minutes} if timed else {}))
            averaged = trainer.averaged()
            if written:
                written(averaged, {'number': trainer.number, 'hours': hours, 'label': label})
            row = {'step': trainer.number, 'recipe': label, 'loss': float(sum(r['loss'] for r in losses)) / len(losses),
                   'norm': float(sum(r['norm'] for r in losses)) / len(losses), 'rate': losses[-1]['rate'],
                   'ms': 1000 * (time.time() - last) / len(losses), 'hours': hours,
                   'cpu_hours': (time.process_time() - cpu) / 3600}
            if ends:
                log.wait()  # the last checkpoint is always scored
            log.add(row, evaluate(averaged))
            losses, last = [], time.time()
            if ends:
                break
        log.wait()
    return trainer
