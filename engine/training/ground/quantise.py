"""int8 by quantisation-aware training: the collapsed network with rounded weights and activations in the forward
pass and straight-through gradients in the backward pass (Jacob et al. 2018)."""
import torch
import torch.nn.functional as F
from torch import nn

from .export import collapsed_layers, make_model, skip_layer

# Luma of 8-bit limited range comes through exactly; strength in as many steps.
INPUT_STEP = 1 / 219


class QuantNet(nn.Module):
    """The plain network as an int8 engine computes it. Steps of activations are found by `calibrate`, then fixed."""

    def __init__(self, net):
        super().__init__()
        layers = collapsed_layers(net)
        self.scale = net.scale
        self.strides = [stride for _, _, stride in layers]
        self.kernels = nn.ParameterList(torch.from_numpy(k) for k, _, _ in layers)
        self.biases = nn.ParameterList(torch.from_numpy(b) for _, b, _ in layers)
        skip = skip_layer(net)
        self.skip = None if skip is None else nn.Conv2d(2, len(skip[1]), 6, 2, 2)
        if skip is not None:
            self.skip.load_state_dict({'weight': torch.from_numpy(skip[0]), 'bias': torch.from_numpy(skip[1])})
        self.register_buffer('steps', torch.full((len(layers),), INPUT_STEP))
        self.active = True

    def rounded_kernel(self, kernel):
        scales = kernel.detach().abs().flatten(1).max(1).values.clamp_min(1e-8) / 127
        return torch.fake_quantize_per_channel_affine(kernel, scales, torch.zeros(len(scales), dtype=torch.int32, device=scales.device), 0,
                                                      -127, 127)

    def before(self, x):
        """The values before every convolution, without rounding (for calibration), and the output."""
        seen, y = [], x
        for at, (kernel, bias, stride) in enumerate(zip(self.kernels, self.biases, self.strides)):
            seen.append(y)
            y = F.conv2d(y, kernel, bias, stride, (kernel.shape[-1] - stride) // 2)
            y = F.relu(y) if at < len(self.kernels) - 1 else y
        return seen

    @torch.no_grad()
    def calibrate(self, batches):
        """Of several ceilings below the largest value seen, takes the one with the smallest squared error."""
        seen = None
        for x, _ in batches:
            parts = [v.flatten()[:: max(1, v.numel() // 100_000)] for v in self.before(x)]
            seen = parts if seen is None else [torch.cat(p) for p in zip(seen, parts)]
        for at, values in enumerate(seen[1:], 1):
            top = values.max()
            steps = [float(top) * share / 255 for share in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
            errors = [(torch.fake_quantize_per_tensor_affine(values, s, 0, 0, 255) - values).square().mean()
                      for s in steps]
            self.steps[at] = steps[int(torch.stack(errors).argmin())]

    def forward(self, x):
        y = x
        for at, (kernel, bias, stride) in enumerate(zip(self.kernels, self.biases, self.strides)):
            y = torch.fake_quantize_per_tensor_affine(y, float(self.steps[at]), 0, 0, 255)
            kernel = self.rounded_kernel(kernel)
            y = F.conv2d(y, kernel, bias, stride, (kernel.shape[-1] - stride) // 2)
            y = F.relu(y) if at < len(self.kernels) - 1 else y
        if self.skip is not None:
            return F.pixel_shuffle(y + self.skip(x), 2 * self.scale)
        return F.pixel_shuffle(y, 2) + x[:, :1]

    def to_int8(self):
        """ONNX bytes with QuantizeLinear/DequantizeLinear pairs."""
        layers = [(k.detach().cpu().numpy(), b.detach().cpu().numpy(), s)
                  for k, b, s in zip(self.kernels, self.biases, self.strides)]
        return make_model(layers, skip_layer(self), self.scale, self.steps.tolist()).SerializeToString()
