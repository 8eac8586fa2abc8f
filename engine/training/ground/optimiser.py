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


def _bias_correction(betas, count):
    one, two = betas
    return (1 - two ** count) ** 0.5 / (1 - one ** count)


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
                    self._adam(group, parameter, self._state_of(group, parameter))

    def prepare(self):
        """Makes the state of every parameter, so that `apply` allocates none."""
        for group in self.param_groups:
            for parameter in group['params']:
                self._state_of(group, parameter)

    def _state_of(self, group, parameter):
        state = self.state[parameter]
        if not state and group['kind'] == 'muon':
            state['momentum'] = torch.zeros_like(parameter)
        elif not state:
            state.update(count=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
        return state

    def count_step(self):
        """Counts a step of `apply`; returns the factor of Adam's rate that corrects the bias of its young means."""
        scale = 1.0
        for group in self.param_groups:
            for parameter in group['params'] if group['kind'] == 'adam' else ():
                state = self._state_of(group, parameter)
                state['count'] += 1
                scale = _bias_correction(group['betas'], state['count'])
        return scale

    @torch.no_grad()
    def apply(self, rate, adam_rate):
        """The same as `step`, by operations that a CUDA graph can hold: the rates are tensors of one number on the device
        (Adam's with `count_step`'s factor in it), every parameter has a gradient and a state, and few kernels are started."""
        for group in self.param_groups:
            if group['kind'] == 'muon':
                for parameters, changes, factor in self._muon_changes(group):
                    changes = changes * (rate * -factor)
                    torch._foreach_add_(parameters, [c.reshape(p.shape) for p, c in zip(parameters, changes)])
            elif group['params']:
                self._apply_adam(group, adam_rate)

    def _apply_adam(self, group, rate):
        parameters, (one, two) = group['params'], group['betas']
        grads = [p.grad for p in parameters]
        means, squares = ([self.state[p][key] for p in parameters] for key in ('mean', 'square'))
        torch._foreach_lerp_(means, grads, 1 - one)
        torch._foreach_mul_(squares, two)
        torch._foreach_addcmul_(squares, grads, grads, 1 - two)
        widths = torch._foreach_sqrt(squares)
        torch._foreach_add_(widths, 1e-8)
        changes = torch._foreach_div(means, widths)
        torch._foreach_mul_(changes, -rate)
        torch._foreach_add_(parameters, changes)

    def _muon(self, group):
        for parameters, changes, factor in self._muon_changes(group):
            for parameter, change in zip(parameters, changes):
                parameter.add_(change.reshape(parameter.shape), alpha=-group['lr'] * factor)

    def _muon_changes(self, group):
        """Updates the momenta; [(parameters of one size, changes [n, rows, columns], factor of the rate)]."""
        beta, alike = group['momentum'], {}
        held = [p for p in group['params'] if p.grad is not None]
        if not held:
            return []
        grads, momenta = [p.grad for p in held], [self._state_of(group, p)['momentum'] for p in held]
        torch._foreach_mul_(momenta, beta)
        torch._foreach_add_(momenta, grads)
        for parameter, ahead in zip(held, torch._foreach_add(grads, momenta, alpha=beta)):
            flat = ahead.reshape(parameter.shape[0], -1)
            alike.setdefault(tuple(flat.shape), []).append((parameter, flat))
        changes = all_orthogonal([torch.stack([flat for _, flat in pairs]) for pairs in alike.values()])
        return [([p for p, _ in pairs], stack, group['factor'] * max(1.0, rows / columns) ** 0.5)
                for ((rows, columns), pairs), stack in zip(alike.items(), changes)]

    def _adam(self, group, parameter, state):
        state['count'] += 1
        one, two = group['betas']
        state['mean'].lerp_(parameter.grad, 1 - one)
        state['square'].mul_(two).addcmul_(parameter.grad, parameter.grad, value=1 - two)
        scale = _bias_correction(group['betas'], state['count'])
        parameter.addcdiv_(state['mean'], state['square'].sqrt() + 1e-8, value=-group['lr'] * scale)


def optimiser_for(net, rate):
    """The two kinds of parameters of a network, told apart by name and shape."""
    named = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    kernels = [p for n, p in named if p.ndim >= 2 and not n.startswith('skip')]
    return MuonAdam(kernels, [p for n, p in named if p.ndim < 2 or n.startswith('skip')], rate)
