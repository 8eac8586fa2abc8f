"""Training steps as one CUDA graph: forward, loss, backward, clipping, optimiser and average are recorded once and started
with one call. Without it a step of these small networks starts about a thousand kernels one by one and waits for most of them.

On a CPU the same function runs without a graph, so the tests cover everything but the recording.
"""
import torch

from .objective import unsteady_at_once
from .photos import GroundError
from .trainer import Trainer


def cuda_graph(advance):
    """Records `advance` on the GPU; returns the function that repeats it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        advance()
    return graph.replay


class GraphTrainer(Trainer):
    """A `Trainer` whose step is a CUDA graph. Its checkpoints are those of `Trainer`.

    The first `WARM_UP` steps run without a graph: they choose the algorithms of the convolutions, and make the optimiser's
    state. The graph reads the batch and the rates from tensors that stay where they are. `capture`: what records a function
    (default: a CUDA graph on a GPU, nothing on a CPU).
    """
    WARM_UP = 3

    def __init__(self, net, batches, recipe, objective=None, device='cpu', half=None, capture=None):
        if recipe.adversarial_term:
            raise GroundError('no_graph: a discriminator cannot train inside a CUDA graph.')
        super().__init__(net, batches, recipe, 1, objective, device, half)
        self.objective.unsteady = unsteady_at_once
        self.capture = capture or (cuda_graph if self.device.type == 'cuda' else None)
        self.scalars, self.results = torch.zeros(3, device=self.device), torch.zeros(2, device=self.device)
        self.optimiser.prepare()

    def _forget(self):
        """Before other tensors take the place of those that a graph knows."""
        self.replay, self.buffers, self.warm = None, None, 0

    def start_average(self):
        self._forget()
        super().start_average()

    def restore(self, state, optimiser=True):
        self._forget()
        super().restore(state, optimiser)
        self.optimiser.prepare()

    def _enter_phase(self):
        before = self.objective.squared
        super()._enter_phase()
        if self.objective.squared != before:
            self._forget()  # the graph holds the other loss

    def _take(self, batch):
        """Copies a batch to where the graph reads it."""
        if self.buffers is None or any(b.shape != t.shape for b, t in zip(self.buffers, batch)):
            self._forget()
            self.buffers = [torch.empty_like(t, device=self.device) for t in batch]
            self.buffers[0] = self.buffers[0].contiguous(memory_format=torch.channels_last)
        for buffer, tensor in zip(self.buffers, batch):
            buffer.copy_(tensor, non_blocking=True)

    def _advance(self):
        """Everything that a step computes, of `buffers` and `scalars`; no value leaves the device."""
        loss, gradients = self._gradients(self.buffers)
        for parameter, gradient in zip(self.parameters, gradients):
            parameter.grad = gradient
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip)
        rate, adam_rate, taken = self.scalars.unbind()
        self.optimiser.apply(rate, adam_rate)
        with torch.no_grad():
            state = self.net.state_dict()
            average = [self.average[name] for name in state]
            change = torch._foreach_sub(list(state.values()), average)
            torch._foreach_mul_(change, taken)
            torch._foreach_add_(average, change)
            self.results.copy_(torch.stack([loss, norm]))

    def _run(self):
        if self.replay is None and self.capture and self.warm >= self.WARM_UP:
            self.replay = self.capture(self._advance)
        if self.replay:
            self.replay()
        elif self.device.type == 'cuda':
            self._run_aside()
        else:
            self._advance()
        self.warm += 1

    def _run_aside(self):
        """Steps before a recording run on another stream than the default one, as PyTorch asks for."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self._advance()
        torch.cuda.current_stream().wait_stream(aside)

    def step(self):
        self._enter_phase()
        self._take(self.batches.at(self.number))
        rate = self._rate()
        for at, value in enumerate((rate, rate * self.optimiser.count_step(), self._taken())):
            self.scalars[at].fill_(value)
        self._run()
        loss, norm = self.results.clone().unbind()
        loss = self._checked(loss)
        self.number += 1
        return {'loss': loss, 'norm': float(norm) if self.device.type == 'cpu' else norm, 'rate': rate}
