"""int8: channels evened out, steps of activations found on samples, if wanted some training with rounding in the loop
and straight-through gradients (Jacob et al. 2018), then layer after layer: the weights that come nearest to what the
plain layer makes of plain values (asymmetric calibration: GPTAQ, Li et al. 2025, arXiv 2504.02692), rounded one after the
other so that each makes up for the errors of those before it (GPTQ, Frantar et al. 2023, arXiv 2210.17323).
"""
import torch
import torch.nn.functional as F
from torch import nn

from .export import Quantised, collapsed_layers, make_model, skip_layer, slopes_of
from .network import skip_size

# (step, zero point) of the input's planes. 8-bit luma of limited range comes through exactly, below black and above white
# too (noise goes there, and cut off on one side only it would be a bias); strength in as many steps. So does chroma,
# whose zero lies in the middle: planes of one tensor share step and zero point, so it is a tensor of its own.
LUMA, CHROMA = (1 / 219, 16), (1 / 224, 128)
# Share of the mean square of the inputs that is added to their covariance, so that it can be inverted.
DAMPING = 0.003
# The same share, of how strongly weights are held to the plain ones where they are fitted to rounded inputs.
RIDGE = 0.03
# Mean square of what a network changes of a sample, below which that sample counts no more than others.
CHANGE_FLOOR = 1e-4
# How much more than with the largest value for a ceiling a sample may lose where values are cut off.
CUT_OFF = 2
THINNED = 3  # of so many places one is looked at: neighbours say nearly the same


class QuantNet(nn.Module):
    """The plain network as an int8 engine computes it: `prepare`, perhaps train, then `round`; or `calibrate` at once.
    Until `round` the weights keep their fractions, are rounded to the nearest on their way, and can be trained."""

    def __init__(self, net):
        super().__init__()
        layers = collapsed_layers(net)
        self.scale, self.planes, self.outputs, self.fold = net.scale, net.planes, net.outputs, net.fold
        self.strides = [stride for _, _, stride in layers]
        self.kernels = nn.ParameterList(torch.from_numpy(k) for k, _, _ in layers)
        self.biases = nn.ParameterList(torch.from_numpy(b) for _, b, _ in layers)
        self.slopes = None if net.slopes is None else nn.ParameterList(slope.detach().clone() for slope in net.slopes)
        self.bytes = (0, 255) if self.slopes is None else (-128, 127)  # what PReLU leaves has two signs
        skip = skip_layer(net)
        self.register_buffer('gains', torch.ones(len(layers[-1][1])))  # they are in the kernels already
        self.skip = None if skip is None else nn.Conv2d(skip[0].shape[1], len(skip[1]), skip_size(net.fold), net.fold, 2)
        if skip is not None:
            self.skip.load_state_dict({'weight': torch.from_numpy(skip[0]), 'bias': torch.from_numpy(skip[1])})
        # (planes from, to, step, zero point)
        self.inputs = [(0, net.planes, *LUMA)] if net.outputs == 1 else [(0, 2, *LUMA), (2, net.planes, *CHROMA)]
        self.register_buffer('steps', torch.zeros(len(layers)))  # of what lies between layers; the first is not used
        self.grids = [None] * len(layers)  # steps of each layer's weights, one an output channel

    def layer(self, at, y, kernel=None):
        """What convolution `at` makes of `y`, ReLU or PReLU and all."""
        kernel, stride = self.kernels[at] if kernel is None else kernel, self.strides[at]
        y = F.conv2d(y, kernel, self.biases[at], stride, (kernel.shape[-1] - stride) // 2)
        if at == len(self.kernels) - 1:
            return y
        return F.relu(y) if self.slopes is None else F.prelu(y, self.slopes[at])

    def rounded(self, at, y):
        """The values before convolution `at` as bytes hold them."""
        if at:
            return as_bytes(y, float(self.steps[at]), 0, self.bytes)
        return torch.cat([as_bytes(y[:, first:end], *grid) for first, end, *grid in self.inputs], 1)

    def before(self, x):
        """The values before every convolution, nothing rounded."""
        seen = [x]
        for at in range(len(self.kernels) - 1):
            seen.append(self.layer(at, seen[-1]))
        return seen

    @torch.no_grad()
    def _even_out(self, inputs, evening):
        """Brings the ceilings of the channels between two layers nearer to each other: what is taken from the kernel
        before a ReLU (or PReLU) is given to the one behind it, so that nothing changes (Nagel et al. 2019, arXiv 1906.04721).
        `evening`: 0 not at all … 1 wholly, which costs the weights more."""
        ceilings = None
        for x in inputs:
            tops = [v.abs().amax((0, 2, 3)) for v in self.before(x)[1:]]
            ceilings = tops if ceilings is None else [torch.maximum(*p) for p in zip(ceilings, tops)]
        for at, top in enumerate(ceilings):
            share = (top.clamp_min(1e-3 * top.max()) / top.max()) ** evening
            self.kernels[at] /= share[:, None, None, None]
            self.biases[at] /= share
            self.kernels[at + 1] *= share[None, :, None, None]

    @torch.no_grad()
    def _find_steps(self, inputs):
        """Of several ceilings below the largest value seen, the one with the smallest error: the mean of the samples' root
        mean squares, since by squares the noisiest, which have the largest values, would choose for all. No sample may lose
        more than `CUT_OFF` times as much as with the largest value for a ceiling: that would be the noisiest."""
        seen = [self.before(x)[1:] for x in inputs]
        for at, values in enumerate(zip(*seen), 1):
            top = max(float(v.abs().max()) for v in values)
            steps = [top * share / self.bytes[1] for share in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
            errors = torch.stack([torch.cat([(as_bytes(v, s, 0, self.bytes) - v).square().mean((1, 2, 3)).sqrt() for v in values])
                                  for s in steps])
            bearable = (errors <= CUT_OFF * errors[-1]).all(1)
            self.steps[at] = steps[int(errors.mean(1).where(bearable, torch.inf).argmin())]

    @torch.no_grad()
    def _weights(self, inputs):
        """How much the samples of each batch count, [N], 1 in the mean: the less, the more the network changes them, for
        there its own error is the larger."""
        found = []
        for x in inputs:
            y = self._finished(self.layer(len(self.kernels) - 1, self.before(x)[-1]), x)
            plain = F.interpolate(x[:, :1], scale_factor=self.scale, mode='bicubic')
            found.append(1 / ((y[:, :1] - plain).square().mean((1, 2, 3)) + CHANGE_FLOOR))
        mean = torch.cat(found).mean()
        return [weights / mean for weights in found]

    @torch.no_grad()
    def _round_weights(self, inputs):
        """Layer by layer, on what the layers before it give when they are rounded."""
        plain, weights = inputs, self._weights(inputs)
        for at, kernel in enumerate(self.kernels):
            inputs = [self.rounded(at, y) for y in inputs]
            shape = (kernel.shape[-1], self.strides[at])
            moments = second_moments(inputs, inputs, weights, *shape)
            rows = torch.cat([kernel.flatten(1), self.biases[at][:, None]], 1).double()
            rows = fitted(rows, moments, second_moments(inputs, plain, weights, *shape))
            plain = [self.layer(at, y) for y in plain]
            self.grids[at] = rows[:, :-1].abs().amax(1).clamp_min(1e-8).float() / 127
            rows = rounded_in_turn(rows, moments, self.grids[at].double()).float()
            kernel.copy_(rows[:, :-1].reshape(kernel.shape))
            self.biases[at].copy_(rows[:, -1])
            inputs = [self.layer(at, y) for y in inputs]

    def prepare(self, batches, evening=0.5):
        """Everything but the weights. `batches`: [(input [N, 2, H, W], …)] as in training, each kind by its share."""
        inputs = [batch[0] for batch in batches]
        self._even_out(inputs, evening)
        self._find_steps(inputs)

    def round(self, batches):
        """Rounds the weights for good."""
        self._round_weights([batch[0] for batch in batches])

    def calibrate(self, batches, evening=0.5):
        self.prepare(batches, evening)
        self.round(batches)

    def _kernel(self, at):
        """A kernel as it is computed with."""
        kernel = self.kernels[at]
        if self.grids[at] is not None:
            return kernel
        grid = kernel.detach().abs().flatten(1).amax(1).clamp_min(1e-8) / 127
        zeros = torch.zeros(len(grid), dtype=torch.int32, device=grid.device)
        return torch.fake_quantize_per_channel_affine(kernel, grid, zeros, 0, -127, 127)

    def forward(self, x):
        y = x
        for at in range(len(self.kernels)):
            y = self.layer(at, self.rounded(at, y), self._kernel(at))
        return self._finished(y, x)

    def _finished(self, y, x):
        """The picture that the last convolution's `y` and the input make."""
        if self.skip is not None:
            return F.pixel_shuffle(y + self.skip(x[:, :self.skip.in_channels]), self.fold * self.scale)
        return F.pixel_shuffle(y, self.fold) + x[:, :1]

    def to_int8(self):
        """ONNX bytes with QuantizeLinear/DequantizeLinear pairs."""
        layers = [(k.detach().numpy(), b.detach().numpy(), s) for k, b, s in zip(self.kernels, self.biases, self.strides)]
        grids = [g.numpy() for g in self.grids]
        quantised = Quantised(self.inputs, self.steps.tolist(), grids)
        return make_model(layers, skip_layer(self), self.scale, quantised, slopes_of(self)).SerializeToString()


def as_bytes(values, step, zero, ends=(0, 255)):
    """Values that are step · (ends[0] … ends[1], less `zero`), the nearest."""
    return torch.fake_quantize_per_tensor_affine(values, step, zero, *ends)


def second_moments(inputs, others, weights, kernel, stride):
    """[d + 1, d + 1], float64: means, over some of the places and by the samples' weights, of the products of what a
    convolution sees under its kernel (d values) and 1 with the same of `others`."""
    total, count = 0, 0
    for y, other, weight in zip(inputs, others, weights):
        seen = _columns(y, kernel, stride)
        weighted = (seen * weight[:, None, None]).flatten(0, 1)
        crossed = seen if other is y else _columns(other, kernel, stride)
        total = total + (weighted.T @ crossed.flatten(0, 1)).double()
        count += len(weighted)
    return total / count


def _columns(y, kernel, stride):
    """[N, places, d + 1]"""
    columns = F.unfold(y, kernel, padding=(kernel - stride) // 2, stride=stride)[..., ::THINNED].transpose(1, 2)
    return torch.cat([columns, torch.ones(*columns.shape[:2], 1)], 2)


def fitted(rows, moments, crossed):
    """Rows of weights that make of rounded inputs, by least squares, what `rows` make of plain ones. `moments`: of the
    rounded inputs; `crossed`: of those with the plain ones."""
    held = RIDGE * moments.diag().mean() * torch.eye(len(moments), dtype=moments.dtype)
    return torch.linalg.solve(moments + held, (crossed + held) @ rows.T).T


def rounded_in_turn(rows, moments, grid):
    """Rows [outputs, d + 1] of weights, the last of them the bias, with the first d rounded to `grid` · (−127 … 127).

    The error of each weight is made up for by those not yet rounded, as far as their inputs go together
    (`moments`); the large inputs first, the bias last and never rounded.
    """
    d = rows.shape[1] - 1
    order = torch.cat([moments.diag()[:d].argsort(descending=True), torch.tensor([d])])
    damped = moments + DAMPING * moments.diag().mean() * torch.eye(d + 1, dtype=moments.dtype)
    factor = torch.linalg.cholesky(torch.linalg.inv(damped[order][:, order]), upper=True)
    left = rows[:, order].clone()
    for at in range(d):
        whole = (left[:, at] / grid).round().clamp(-127, 127) * grid
        error = (left[:, at] - whole) / factor[at, at]
        left[:, at + 1:] -= error[:, None] * factor[at, at + 1:]
        left[:, at] = whole
    result = torch.empty_like(left)
    result[:, order] = left
    return result
