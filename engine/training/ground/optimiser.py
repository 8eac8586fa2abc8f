"""Muon (Jordan et al. 2024: momentum made orthogonal) for kernels, Adam for biases and for the skip.

On these networks it is where Adam is after three times as many steps (table in README.md).
"""
import torch


def all_orthogonal(stacks, rounds=5):
    """The nearest semi-orthogonal matrices, roughly, of several stacks [n, rows, columns]: Newton-Schulz with the quintic of
    the Muon write-up, carried out on the Gram matrices (every round is a polynomial of them), which are small, and together
    for all of one size."""
    wide = [x.mT if x.shape[-2] > x.shape[-1] else x for x in stacks]
    wide = [x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7) for x in wide]
    sizes, found = {}, [None] * len(wide)
    for at, x in enumerate(wide):
        sizes.setdefault(x.shape[-2], []).append(at)
    for places in sizes.values():
        factors = _polynomial(torch.cat([wide[at] @ wide[at].mT for at in places]), rounds)
        for at, factor in zip(places, factors.split([len(wide[at]) for at in places])):
            made = factor @ wide[at]
            found[at] = made.mT if stacks[at].shape[-2] > stacks[at].shape[-1] else made
    return found


def _polynomial(gram, rounds):
    """What Newton-Schulz multiplies matrices of these Gram matrices with."""
    one = torch.eye(gram.shape[-1], device=gram.device)
    whole = one
    for _ in range(rounds):
        step = 3.4445 * one - 4.7750 * gram + 2.0315 * gram @ gram
        whole = step @ whole
        gram = step @ gram @ step
    return whole


class MuonAdam(torch.optim.Optimizer):
    """`kernels` (2 or more axes, taken as [outputs, rest]) by Muon at `factor` times the rate; `others` by Adam."""

    def __init__(self, kernels, others, rate, factor=4.0, momentum=0.95, betas=(0.9, 0.99)):
        groups = [{'params': kernels, 'kind': 'muon', 'factor': factor},
                  {'params': others, 'kind': 'adam', 'factor': 1.0}]
        super().__init__(groups, {'lr': rate, 'momentum': momentum, 'betas': betas})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            if group['kind'] == 'muon':
                self._muon(group)
                continue
            for parameter in group['params']:
                if parameter.grad is not None:
                    self._adam(group, parameter, self.state[parameter])

    def _muon(self, group):
        beta, alike = group['momentum'], {}
        for parameter in group['params']:
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if not state:
                state['momentum'] = torch.zeros_like(parameter)
            momentum = state['momentum'].mul_(beta).add_(parameter.grad)
            flat = parameter.grad.add(momentum, alpha=beta).reshape(parameter.shape[0], -1)
            alike.setdefault(tuple(flat.shape), []).append((parameter, flat))
        changes = all_orthogonal([torch.stack([flat for _, flat in pairs]) for pairs in alike.values()])
        for ((rows, columns), pairs), stack in zip(alike.items(), changes):
            grow = max(1.0, rows / columns) ** 0.5
            for (parameter, _), change in zip(pairs, stack):
                parameter.add_(change.reshape(parameter.shape), alpha=-group['lr'] * group['factor'] * grow)

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
