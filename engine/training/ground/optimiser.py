"""Muon (Jordan et al. 2024: momentum made orthogonal) for kernels, Adam for biases and for the skip.

On these networks it is where Adam is after three times as many steps (table in README.md).
"""
import torch


def orthogonal(matrix, rounds=5):
    """The nearest semi-orthogonal matrix, roughly: Newton-Schulz with the quintic of the Muon write-up."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(rounds):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.T if tall else x


class MuonAdam(torch.optim.Optimizer):
    """`kernels` (2 or more axes, taken as [outputs, rest]) by Muon at `factor` times the rate; `others` by Adam."""

    def __init__(self, kernels, others, rate, factor=4.0, momentum=0.95, betas=(0.9, 0.99)):
        groups = [{'params': kernels, 'kind': 'muon', 'factor': factor},
                  {'params': others, 'kind': 'adam', 'factor': 1.0}]
        super().__init__(groups, {'lr': rate, 'momentum': momentum, 'betas': betas})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            update = self._muon if group['kind'] == 'muon' else self._adam
            for parameter in group['params']:
                if parameter.grad is not None:
                    update(group, parameter, self.state[parameter])

    def _muon(self, group, parameter, state):
        if not state:
            state['momentum'] = torch.zeros_like(parameter)
        momentum, beta = state['momentum'], group['momentum']
        momentum.mul_(beta).add_(parameter.grad)
        flat = parameter.grad.add(momentum, alpha=beta).reshape(parameter.shape[0], -1)
        grow = max(1.0, flat.shape[0] / flat.shape[1]) ** 0.5
        parameter.add_(orthogonal(flat).reshape(parameter.shape), alpha=-group['lr'] * group['factor'] * grow)

    def _adam(self, group, parameter, state):
        if not state:
            state.update(count=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
        state['count'] += 1
        one, two = group['betas']
        state['mean'].lerp_(parameter.grad, 1 - one)
        state['square'].mul_(two).addcmul_(parameter.grad, parameter.grad, value=1 - two)
        scale = (1 - two ** state['count']) ** 0.5 / (1 - one ** state['count'])
        parameter.addcdiv_(state['mean'], state['square'].sqrt() + 1e-8, value=-group['lr'] * scale)


def optimiser_for(net, rate):
    """The two kinds of parameters of a network, told apart by name and shape."""
    named = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    kernels = [p for n, p in named if p.ndim >= 2 and not n.startswith('skip')]
    return MuonAdam(kernels, [p for n, p in named if p.ndim < 2 or n.startswith('skip')], rate)
