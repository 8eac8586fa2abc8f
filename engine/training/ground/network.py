"""The networks. A body of plain 3×3 convolutions and ReLU, at half the resolution (fold 2: space to depth 2) or at full
resolution (fold 1).

In training every convolution is a sum of linear branches, collapsed to one kernel before it is applied (as SESR,
Bhardwaj et al. 2022, does): a step costs hardly more than that of the plain network, and what is
exported is the plain network.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .resize import KERNELS


class CollapsibleConv(nn.Module):
    """k×k + expand (k×k to more channels, then 1×1 back) + 1×1 + identity where shapes allow; one kernel in effect."""

    def __init__(self, inputs, outputs, kernel=3, stride=1, expand=2, gain=1.0):
        super().__init__()
        self.stride, self.padding = stride, (kernel - stride) // 2
        self.is_plain = False  # see `plain`
        wide = expand * outputs
        self.direct = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel))
        self.widen = nn.Parameter(torch.empty(wide, inputs, kernel, kernel))
        self.narrow = nn.Parameter(torch.empty(outputs, wide))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.centred = kernel % 2 == 1
        self.identity = self.centred and inputs == outputs
        self.point = nn.Parameter(torch.zeros(outputs, inputs)) if self.centred else None
        fan = inputs * kernel * kernel
        # Half of the wanted variance from either branch; where there is an identity, it brings its own.
        deviation = gain * (1.0 if self.identity else 2.0) ** 0.5 / fan**0.5 * 0.5**0.5
        nn.init.normal_(self.direct, 0, deviation)
        nn.init.normal_(self.widen, 0, fan**-0.5)
        nn.init.normal_(self.narrow, 0, deviation * fan**0.5 / wide**0.5)

    def collapsed(self):
        """(kernel [outputs, inputs, k, k], bias [outputs]) that do what all branches do together."""
        if self.is_plain:
            return self.direct + self._identity_kernel(), self.bias
        kernel = self.direct + torch.einsum('ow,wikl->oikl', self.narrow, self.widen)
        if self.centred:
            point = self.point
            if self.identity:
                point = point + torch.eye(point.shape[0], dtype=point.dtype, device=point.device)
            middle = kernel.shape[-1] // 2
            kernel = kernel + F.pad(point[:, :, None, None], [middle] * 4)
        return kernel, self.bias

    @torch.no_grad()
    def set_collapsed(self, kernel, bias):
        """The direct branch alone makes this kernel; the wide one begins anew behind zeros."""
        self.direct.copy_(kernel - self._identity_kernel())
        self.bias.copy_(bias)
        for branch in (self.narrow, self.point):
            if branch is not None:
                branch.zero_()

    def _identity_kernel(self):
        """The kernel of the identity branch; 0 where there is none."""
        if not self.identity:
            return 0
        eye = torch.eye(len(self.bias), dtype=self.direct.dtype, device=self.direct.device)
        return F.pad(eye[:, :, None, None], [self.direct.shape[-1] // 2] * 4)

    @torch.no_grad()
    def become_plain(self):
        """The direct branch takes over what the others do, and is the only one that learns from now on."""
        self.set_collapsed(*self.collapsed())
        self.is_plain = True
        for branch in (self.widen, self.narrow, self.point):
            if branch is not None:
                branch.requires_grad_(False)

    def forward(self, x):
        kernel, bias = self.collapsed()
        return F.conv2d(x, kernel, bias, self.stride, self.padding)

    def branches(self, x):
        """The same, branch by branch (what the collapsed kernel is held against)."""
        y = F.conv2d(x, self.direct, self.bias, self.stride, self.padding)
        y = y + F.conv2d(F.conv2d(x, self.widen, None, self.stride, self.padding), self.narrow[:, :, None, None])
        if self.centred:
            y = y + F.conv2d(x, self.point[:, :, None, None])
        return y + x if self.identity else y


# Which plane of the input each plane of the output is an enlargement of: luma, strength, Cb, Cr → luma, Cb, Cr.
SOURCES = (0, 2, 3)
# What is left to learn of chroma is about a quarter of what it is of luma, and the optimisers' steps do not know: so its
# kernels are learned four times as large as they act.
CHROMA_GAIN = 0.25


def skip_size(fold):
    """Length of the skip's kernel: a block of fold × fold pixels and two more on either side."""
    return fold + 4


def skip_planes(planes, outputs, fold):
    """How many of the input's planes the skip sees. At full resolution luma alone: there it costs a tenth of the network, and
    half of that with the strength, which the body sees anyway."""
    return 1 if fold == 1 and outputs == 1 else planes


def skip_kernel(scale, planes=2, outputs=1, fold=2):
    """[outputs·(fold·scale)², planes, k, k], k = `skip_size`: cubic interpolation of the planes as a convolution of stride
    `fold`, before the shuffle."""
    cubic, size = KERNELS['bicubic'][0], skip_size(fold)
    at = (np.arange(fold * scale) + 0.5) / scale - 0.5
    line = cubic(at[:, None] - (np.arange(size) - 2)[None, :])
    plane = np.einsum('ai,bj->abij', line, line).reshape(-1, size, size)
    kernel = np.zeros((outputs, (fold * scale) ** 2, planes, size, size), np.float32)
    for output in range(outputs):
        kernel[output, :, SOURCES[output]] = plane
    return torch.from_numpy(kernel.reshape(-1, planes, size, size))


def made_by_tail(channels, fold):
    """(scale, output planes) of a network whose tail has so many channels: outputs · (fold · scale)², and outputs is 1 or 3."""
    outputs = 3 if channels % 3 == 0 else 1
    return math.isqrt(channels // outputs) // fold, outputs


class RestorationNet(nn.Module):
    """Luma and strength [N, 2, H, W] (H, W even) → luma [N, 1, scale·H, scale·W]; 0 black, 1 white. Scales are 1, 2 and 4.

    More `planes` come behind those two: Cb and Cr on luma's grid (0 neutral, ±0.5), which then come out as well
    (`outputs` 3); or pictures before and after, aligned (`neighbours`). `fold` 2: the body works at half the resolution, on
    blocks of 2 × 2 pixels; 1: at full resolution. `leaky`: PReLU instead of ReLU (He et al. 2015), with a slope for each
    layer and channel, at first 0.
    """

    def __init__(self, scale=2, features=32, layers=8, planes=2, outputs=1, fold=2, leaky=False):
        super().__init__()
        self.scale, self.features, self.planes, self.outputs, self.fold = scale, features, planes, outputs, fold
        if scale == 1 and outputs > 1:
            raise ValueError('a network of scale 1 makes luma alone')
        block = (fold * scale) ** 2
        self.head = CollapsibleConv(planes, features, kernel=3 * fold, stride=fold)
        self.body = nn.ModuleList(CollapsibleConv(features, features) for _ in range(layers))
        self.slopes = nn.ParameterList(nn.Parameter(torch.zeros(features)) for _ in range(layers + 1)) if leaky else None
        self.tail = CollapsibleConv(features, outputs * block, gain=0.1)
        gains = torch.full((outputs, block), CHROMA_GAIN)
        gains[0] = 1
        self.register_buffer('gains', gains.flatten(), persistent=False)
        # ×2: a learned filter that starts as cubic interpolation. ×1: the picture itself.
        seen = skip_planes(planes, outputs, fold)
        self.skip = nn.Conv2d(seen, outputs * block, skip_size(fold), fold, 2) if scale > 1 else None
        if self.skip is not None:
            with torch.no_grad():
                self.skip.weight.copy_(skip_kernel(scale, seen, outputs, fold) / self.gains[:, None, None, None])
                self.skip.bias.zero_()

    @classmethod
    def shaped_as(cls, state):
        """A network of the shapes of a state (`state_dict`)."""
        features, planes = state['head.direct'].shape[:2]
        layers = sum(key.startswith('body.') and key.endswith('.direct') for key in state)
        fold = state['head.direct'].shape[-1] // 3
        scale, outputs = made_by_tail(len(state['tail.bias']), fold)
        return cls(scale, features, layers, planes, outputs, fold, 'slopes.0' in state)

    def like(self, scale):
        """A new network of another scale, else of the same shape."""
        return RestorationNet(scale, self.features, len(self.body), self.planes, self.outputs, self.fold, self.slopes is not None)

    def layers(self):
        """The convolutions with a ReLU behind, in order."""
        return [self.head, *self.body]

    def seen_by_tail(self, x):
        """What the body makes of the input, [N, features, H / fold, W / fold]."""
        y = x
        for at, layer in enumerate(self.layers()):
            y = layer(y)
            y = F.relu(y) if self.slopes is None else F.prelu(y, self.slopes[at].to(y.dtype))
        return y

    def forward(self, x):
        y = self.tail(self.seen_by_tail(x)).float()
        # In bfloat16 the skip and the sum would be up to a level off near white.
        with torch.autocast(x.device.type, enabled=False):
            if self.skip is not None:
                return F.pixel_shuffle((y + self.skip(x[:, :self.skip.in_channels])) * self.gains[:, None, None], self.fold * self.scale)
            return F.pixel_shuffle(y, self.fold) + x[:, :1]

    def halo(self):
        """How far a pixel of the source is felt, in pixels of the source; even."""
        reach = self.fold * (len(self.body) + 2) + 2
        return reach + reach % 2


def frozen(net):
    """In place: the network as it is, without gradients, its kernels collapsed once and not at every call; returns it."""
    net.eval().requires_grad_(False)
    for conv in [*net.layers(), net.tail]:
        whole = conv.collapsed()
        conv.collapsed = lambda whole=whole: whole
    return net


def _grown_conv(large, small):
    """In place: the channels that `small` has do in `large` what they did, and the new ones do not reach them yet."""
    outputs, inputs = small.direct.shape[:2]
    wide = small.widen.shape[0]
    large.direct[:outputs] = 0
    large.direct[:outputs, :inputs] = small.direct
    large.widen[:wide] = 0
    large.widen[:wide, :inputs] = small.widen
    large.narrow[:outputs] = 0
    large.narrow[:outputs, :wide] = small.narrow
    large.bias[:outputs] = small.bias
    if small.centred:
        own = torch.eye(outputs) if small.identity and not large.identity else 0
        large.point[:outputs, :inputs] = small.point + own


@torch.no_grad()
def grow(large, small):
    """Makes a wider and deeper network, or one of more planes, compute what a trained one does (Net2Net, Chen et al.
    2016), in place.

    More channels: the old ones keep their kernels and take nothing from the new. More layers: the identity branch
    alone, which changes nothing behind a ReLU. The new channels start at random, so that they can learn. More planes
    in: not looked at yet. More planes out: cubic interpolation.
    """
    _grown_conv(large.head, small.head)
    for at, layer in enumerate(large.body):
        if at < len(small.body):
            _grown_conv(layer, small.body[at])
        else:
            for rows in (layer.direct, layer.narrow, layer.point, layer.bias):
                rows[:small.features] = 0
    _grown_conv(large.tail, small.tail)
    known = len(small.tail.bias)
    for rows in (large.tail.direct, large.tail.narrow, large.tail.point, large.tail.bias):
        rows[known:] = 0
    if large.skip is not None:
        large.skip.weight[:known] = 0
        large.skip.weight[:known, :small.skip.in_channels] = small.skip.weight
        large.skip.bias[:known] = small.skip.bias


def _every_pixel_twice(rows, block):
    """Rows that make blocks of `block` × `block` pixels → rows that make each of these pixels 2 × 2 times."""
    split = rows.reshape(-1, block, 1, block, 1, *rows.shape[1:])
    return split.expand(-1, -1, 2, -1, 2, *rows.shape[1:]).reshape(-1, *rows.shape[1:])


def _mean_of_pixels(rows, block):
    """Rows that make blocks of `block` × `block` pixels → rows that make the means of their 2 × 2 pixels."""
    return rows.reshape(-1, block // 2, 2, block // 2, 2, *rows.shape[1:]).mean((2, 4)).reshape(-1, *rows.shape[1:])


@torch.no_grad()
def doubled(net):
    """A network of twice the scale whose output, reduced by means of 2 × 2 pixels, is that of `net`."""
    block = net.fold * net.scale
    large = net.like(2 * net.scale)
    _copy_but_tail(large, net)
    kernel, bias = net.tail.collapsed()
    large.tail.set_collapsed(_every_pixel_twice(kernel, block), _every_pixel_twice(bias, block))
    # Its skip is cubic interpolation to the larger size, and what is to be added for the means to be those of the smaller one.
    missing = net.skip.weight - _mean_of_pixels(large.skip.weight, 2 * block)
    large.skip.weight += _every_pixel_twice(missing, block)
    large.skip.bias.copy_(_every_pixel_twice(net.skip.bias, block))
    return large


@torch.no_grad()
def halved(net):
    """The network of half the scale that makes the means of 2 × 2 pixels of what `net` makes: the same body, a smaller tail."""
    block = net.fold * net.scale
    small = net.like(net.scale // 2)
    _copy_but_tail(small, net)
    kernel, bias = net.tail.collapsed()
    small.tail.set_collapsed(_mean_of_pixels(kernel, block), _mean_of_pixels(bias, block))
    small.skip.weight.copy_(_mean_of_pixels(net.skip.weight, block))
    small.skip.bias.copy_(_mean_of_pixels(net.skip.bias, block))
    return small.to(net.skip.weight.device).eval()


class _Reduced:
    """Means of 2 × 2 pixels of what a network makes."""

    def __init__(self, net):
        self.net, self.scale, self.planes, self.outputs = net, net.scale // 2, net.planes, net.outputs

    def __call__(self, x):
        return F.avg_pool2d(self.net(x), 2)


def at_double(net):
    """A ×4 network as it is judged: at twice the size of the source, where the truth is known. Others are judged as they are."""
    return _Reduced(net) if net.scale == 4 else net


def _copy_but_tail(to, net):
    state = net.state_dict()
    to.load_state_dict({k: state[k] if not k.startswith(('tail', 'skip')) else v for k, v in to.state_dict().items()})


@torch.no_grad()
def rescaled_strength(net, told):
    """In place: at strength 1 the network does what it did at `told`. For `fast`, 1 is noise of sigma 50 and takes nearly
    all detail away, which is a bad place to begin from."""
    sees = net.skip is not None and net.skip.in_channels > 1
    for weights in (net.head.direct, net.head.widen, *([net.skip.weight] if sees else [])):
        weights[:, 1] *= told


def plain(net):
    """In place: the network computes the same and learns without its wide branches, whose steps cost as much as all the rest of a
    step of 64 × 16 on a CPU. For the later part of a run."""
    for conv in [*net.layers(), net.tail]:
        conv.become_plain()


def parameters_when_collapsed(net):
    """How many numbers the exported network has."""
    convs = [*net.layers(), net.tail]
    count = sum(c.direct.numel() + c.bias.numel() for c in convs)
    others = [m for m in (net.skip, net.slopes) if m is not None]
    return count + sum(p.numel() for m in others for p in m.parameters())
