"""What a step makes smaller: fidelity, and what else a recipe weighs in (see its `*_term`)."""
import torch
import torch.nn.functional as F

from .adversary import Adversary
from .perceptual import Features
from .structure import missing

TYPICAL = 0.025  # root mean square error at 32 dB
FRAME = 8  # pixels of the output at a patch's border, where the network sees less: left out of steadiness
ALONE = -(1 << 15)  # in place of a shift: this picture has none before it in the batch


def charbonnier(error, recipe):
    return torch.sqrt(error * error + recipe.charbonnier**2).mean() - recipe.charbonnier


def fidelity(output, wanted, recipe, squared=False):
    """Charbonnier, plus the same on the differences of neighbours (edges count twice). `squared`: squared error alone, which
    is what PSNR measures, scaled so that a typical error pulls as hard as before; the other terms and the ceiling of the
    gradient's norm keep their weight."""
    error = output - wanted
    if squared:
        return (error * error).mean() / (2 * TYPICAL)
    if error.device.type == 'cpu':
        return _WithGradient.apply(error, _fidelity_of_parts, recipe)
    return fidelity_at_once(error, recipe)


def fidelity_at_once(error, recipe):
    """The same by operations on the whole batch: for a GPU, and what the parts are held against."""
    term = charbonnier(error, recipe)
    if recipe.gradient_term:
        across, down = error[..., 1:] - error[..., :-1], error[..., 1:, :] - error[..., :-1, :]
        term = term + recipe.gradient_term * (charbonnier(across, recipe) + charbonnier(down, recipe))
    return term


class _WithGradient(torch.autograd.Function):
    """A term that gives its gradient together with its value. On a CPU the operations of such a term, one by one over a whole batch
    and once more backward, took longer than the network: they wait for memory. Sample by sample they stay in the cache."""

    @staticmethod
    def forward(ctx, error, term, *rest):
        value, gradient = term(error.detach(), *rest)
        ctx.save_for_backward(gradient)
        return value

    @staticmethod
    def backward(ctx, outer):
        gradient, = ctx.saved_tensors
        return (gradient.mul_(outer), *[None] * (len(ctx.needs_input_grad) - 1))


def _charbonnier_sum(error, recipe):
    """(sum of Charbonnier's penalties, its gradient)."""
    root = (error * error).add_(recipe.charbonnier**2).sqrt_()
    total = root.sum() - recipe.charbonnier * root.numel()
    return total, torch.div(error, root, out=root)


def _fidelity_of_parts(error, recipe):
    """(value, gradient) of `fidelity_at_once`."""
    height, width = error.shape[-2:]
    count, value, gradient = error.numel(), 0.0, torch.empty_like(error)
    shares = [recipe.gradient_term / (count // side * (side - 1)) for side in (width, height)]
    for part, held in zip(error, gradient):
        total, slope = _charbonnier_sum(part, recipe)
        torch.mul(slope, 1 / count, out=held)
        value = value + total / count
        for axis, share in zip((2, 1), shares):
            if share:
                length = part.shape[axis] - 1
                ahead, behind = (held.narrow(axis, at, length) for at in (1, 0))
                total, slope = _charbonnier_sum(part.narrow(axis, 1, length) - part.narrow(axis, 0, length), recipe)
                ahead.add_(slope, alpha=share)
                behind.sub_(slope, alpha=share)
                value = value + total * share
    return value, gradient


def unsteady(output, wanted, shifts, recipe):
    """How much what is wrong changes from a picture to the next, along the known motion; the mean over the batch. Place p of
    a picture shows what place p + shift [down, right] of the one before it in the batch showed."""
    return _WithGradient.apply(output[:, 0] - wanted[:, 0], _unsteady_of_parts, shifts, recipe)


def _unsteady_of_parts(error, shifts, recipe):
    """(value, gradient) of `unsteady`."""
    value, gradient = error.new_zeros(()), torch.zeros_like(error)
    for at, (down, right) in enumerate(shifts.tolist()):
        if at == 0 or down == ALONE:
            continue
        h, w = (side - 2 * FRAME - abs(shift) for side, shift in zip(error.shape[1:], (down, right)))
        if min(h, w) <= 0:
            continue
        top, left = FRAME + max(0, -down), FRAME + max(0, -right)
        now = (at, slice(top, top + h), slice(left, left + w))
        before = (at - 1, slice(top + down, top + down + h), slice(left + right, left + right + w))
        total, slope = _charbonnier_sum(error[now] - error[before], recipe)
        share = 1 / (h * w * len(error))
        value = value + total * share
        gradient[now].add_(slope, alpha=share)
        gradient[before].sub_(slope, alpha=share)
    return value, gradient


def unsteady_at_once(output, wanted, shifts, recipe):
    """The same by operations of fixed sizes, whatever the shifts are: a CUDA graph can hold it, and no step waits for them."""
    error = (output - wanted)[:, 0]
    n, height, width = error.shape
    follows = (shifts[:, 0] != ALONE) & (torch.arange(n, device=error.device) > 0)
    moves = torch.where(follows[:, None], shifts, 0)
    (rows, in_rows), (columns, in_columns) = (_moved(side, move) for side, move in zip((height, width), moves.unbind(1)))
    places = rows[:, :, None] * width + columns[:, None]
    before = error.roll(1, 0).flatten(1).gather(1, places.flatten(1)).reshape(error.shape)
    inside = (in_rows[:, :, None] & in_columns[:, None] & follows[:, None, None]).float()
    change = torch.sqrt((error - before).square() + recipe.charbonnier**2) - recipe.charbonnier
    return ((change * inside).sum((1, 2)) / inside.sum((1, 2)).clamp(min=1)).sum() / n


def _moved(side, move):
    """Where the places of a line [n, side] were, kept inside; and which lie inside of the border in both pictures."""
    place = torch.arange(side, device=move.device)[None]
    was = place + move[:, None]
    inside = (place >= FRAME) & (place < side - FRAME) & (was >= FRAME) & (was < side - FRAME)
    return was.clamp(0, side - 1), inside


class Objective:
    """The loss of a recipe. Called with the output and what was wanted [n, planes, h, w], the strengths [n] and, where the
    batch holds pictures that follow each other, their `shifts` [n, 2]. Structure, features and the discriminator see luma."""

    def __init__(self, recipe, device='cpu', half=False, scale=2):
        self.scale = scale
        self.unsteady = unsteady  # `graph` sets the one of fixed sizes
        self.squared = False      # the trainer sets it for the last phase (`Recipe.squared_error`)
        self.features = Features().to(device) if recipe.perceptual_term else None
        self.adversary = Adversary(device=device, seed=recipe.seed, half=half) if recipe.adversarial_term else None

    def __call__(self, output, wanted, recipe, strength=None, shifts=None):
        luma, truth = output[:, :1], wanted[:, :1]
        loss = fidelity(luma, truth, recipe, self.squared)
        if output.shape[1] > 1:
            loss = loss + recipe.chroma_term * fidelity(output[:, 1:], wanted[:, 1:], recipe, self.squared)
        # What follows counts as much as restoration is wanted: at strength 0 the network stays faithful.
        if recipe.structure_term:
            loss = loss + recipe.structure_term * (strength * missing(*self._at_double(luma, truth))).mean()
        if self.features:
            loss = loss + recipe.perceptual_term * (strength * self.features.distance(luma, truth)).mean()
        if recipe.steady_term and shifts is not None:
            loss = loss + recipe.steady_term * self.unsteady(output, wanted, shifts, recipe)
        full = strength == 1 if self.adversary else None
        if self.adversary and full.any():
            told_apart = self.adversary.loss(luma[full], truth[full], recipe.matching)
            loss = loss + recipe.adversarial_term * full.float().mean() * told_apart
        return loss

    def _at_double(self, *pictures):
        """At twice the size of the source. Of what a ×4 network makes besides, no truth is known."""
        return [F.avg_pool2d(p, 2) for p in pictures] if self.scale == 4 else pictures

    def learn(self):
        """After the network's step: that of the discriminator."""
        if self.adversary:
            self.adversary.learn()

    def state(self):
        return {'adversary': self.adversary.state()} if self.adversary else {}

    def restore(self, state):
        if self.adversary and 'adversary' in state:
            self.adversary.restore(state['adversary'])
