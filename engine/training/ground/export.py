"""The collapsed network as ONNX, built node by node: fp32, or int8 as QuantizeLinear/DequantizeLinear pairs.

Operators used: Conv, Relu or PRelu, Add, Slice (×1, full resolution, and int8 with colour), DepthToSpace, and in int8 files QuantizeLinear and
DequantizeLinear. Input `x` [1, 2, H, W], output `y` [1, 1, scale·H, scale·W], H and W free and even; of networks with
colour [1, 4, H, W] and [1, 3, scale·H, scale·W] (`network.RestorationNet`).
"""
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from .network import RestorationNet, made_by_tail

OPSET = 17


def collapsed_layers(net):
    """[(kernel, bias, stride)] of head, body and tail as float32 arrays; ReLU behind all but the last."""
    layers = []
    for conv in [*net.layers(), net.tail]:
        kernel, bias = conv.collapsed()
        if conv is net.tail:
            kernel, bias = _at_full_gain(net, kernel, bias)
        layers.append((kernel.detach().cpu().numpy().copy(), bias.detach().cpu().numpy().copy(), conv.stride))
    return layers


def _at_full_gain(net, kernel, bias):
    """What makes the output, as it acts (`network.CHROMA_GAIN`)."""
    return kernel * net.gains[:, None, None, None], bias * net.gains


def skip_layer(net):
    """(kernel, bias) of the ×2 skip, or None."""
    if net.skip is None:
        return None
    return tuple(p.detach().cpu().numpy() for p in _at_full_gain(net, net.skip.weight, net.skip.bias))


class _Graph:
    def __init__(self):
        self.nodes, self.constants, self.named = [], [], set()

    def constant(self, name, value):
        if name not in self.named:
            self.named.add(name)
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def quantised(self, x, scale, zero, signed=False):
        """x rounded to scale · (0 … 255, less `zero`), or if `signed` to scale · (−128 … 127), `zero` being 0."""
        held = self.constant('zero_signed', np.int8(0)) if signed else self.constant(f'zero{zero}', np.uint8(zero))
        pair = [self.constant(f'{x}_scale', np.float32(scale)), held]
        self.add('QuantizeLinear', [x, *pair], f'{x}_q')
        return self.add('DequantizeLinear', [f'{x}_q', *pair], f'{x}_d')

    def kernel(self, name, kernel, scales):
        if scales is None:
            return self.constant(f'{name}_w', kernel.astype(np.float32))
        whole = np.clip(np.rint(kernel / scales[:, None, None, None]), -127, 127).astype(np.int8)
        inputs = [self.constant(f'{name}_w', whole), self.constant(f'{name}_ws', scales),
                  self.constant(f'{name}_wz', np.zeros(len(scales), np.int8))]
        return self.add('DequantizeLinear', inputs, f'{name}_wd', axis=0)

    def planes(self, name, first, end):
        """Some of the input."""
        bounds = [self.constant(f'plane{at}', np.array([at], np.int64)) for at in (first, end)]
        return self.add('Slice', ['x', *bounds, self.constant('axis', np.array([1], np.int64))], name)

    def first_conv(self, name, kernel, bias, stride, quantised):
        """Of the input: what has a step of its own is a tensor and a convolution of its own, and they are added up."""
        parts = []
        for first, end, *grid in quantised.inputs:
            whole = end - first == kernel.shape[1]
            x = 'x' if whole else self.planes(f'planes{first}', first, end)
            own = bias if first == 0 else np.zeros_like(bias)
            parts.append(self.conv(self.quantised(x, *grid), name if whole else f'{name}_{first}',
                                   kernel[:, first:end], own, stride, quantised.grids[0]))
        return parts[0] if len(parts) == 1 else self.add('Add', parts, name)

    def conv(self, x, name, kernel, bias, stride, scales=None):
        size = kernel.shape[-1]
        inputs = [x, self.kernel(name, kernel, scales), self.constant(f'{name}_b', bias.astype(np.float32))]
        return self.add('Conv', inputs, name, kernel_shape=[size] * 2, strides=[stride] * 2,
                        pads=[(size - stride) // 2] * 4)


@dataclass(frozen=True)
class Quantised:
    """How an int8 file rounds."""
    inputs: list   # of the network's input: (planes from, to, step, zero point)
    steps: list    # of the values before each convolution, from the second on
    grids: list    # of the weights of each convolution (symmetric, ±127), one an output channel


def make_model(layers, skip, scale, quantised=None, slopes=None):
    """ONNX of the plain network, fp32 or int8 (`Quantised`). `slopes`: of PReLU, for each layer but the last; None: ReLU."""
    graph, y = _Graph(), 'x'
    fold = layers[0][2]
    outputs = len(layers[-1][1]) // (fold * scale) ** 2
    for at, (kernel, bias, stride) in enumerate(layers):
        last = at == len(layers) - 1
        name = 'tail' if last else f'conv{at}'
        if quantised is None:
            y = graph.conv(y, name, kernel, bias, stride)
        elif at == 0:
            y = graph.first_conv(name, kernel, bias, stride, quantised)
        else:
            y = graph.conv(graph.quantised(y, quantised.steps[at], 0, signed=slopes is not None), name, kernel, bias, stride, quantised.grids[at])
        if not last and slopes is None:
            y = graph.add('Relu', [y], f'relu{at}')
        elif not last:
            y = graph.add('PRelu', [y, graph.constant(f'slope{at}', slopes[at][:, None, None])], f'relu{at}')
    if skip is not None:
        seen = skip[0].shape[1]
        x = 'x' if seen == layers[0][0].shape[1] else graph.planes('luma', 0, seen)
        y = graph.add('Add', [y, graph.conv(x, 'skip', skip[0], skip[1], fold)], 'sum')
        graph.add('DepthToSpace', [y], 'y', blocksize=fold * scale, mode='CRD')
    else:
        y = graph.add('DepthToSpace', [y], 'change', blocksize=fold, mode='CRD')
        graph.add('Add', [y, graph.planes('luma', 0, 1)], 'y')
    free = helper.make_tensor_value_info
    onnx_graph = helper.make_graph(
        graph.nodes, 'reelmend', [free('x', TensorProto.FLOAT, [1, layers[0][0].shape[1], 'height', 'width'])],
        [free('y', TensorProto.FLOAT, [1, outputs, 'out_height', 'out_width'])], graph.constants)
    model = helper.make_model(onnx_graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=8,
                              producer_name='reelmend-training')
    onnx.checker.check_model(model, full_check=True)
    return model


def slopes_of(net):
    """Those of PReLU, one array a layer; None with ReLU."""
    return None if net.slopes is None else [slope.detach().cpu().numpy() for slope in net.slopes]


def to_fp32(net):
    """The ONNX bytes of a trained network."""
    return make_model(collapsed_layers(net), skip_layer(net), net.scale, slopes=slopes_of(net)).SerializeToString()


@torch.no_grad()
def from_fp32(data):
    """The network of what `to_fp32` wrote, to be trained on: its kernels in the direct branch, the wide ones begin anew
    behind zeros, so that it computes the same."""
    held = {c.name: torch.from_numpy(numpy_helper.to_array(c).copy()) for c in onnx.load_from_string(data).graph.initializer}
    features, planes = held['conv0_w'].shape[:2]
    body = sum(name.startswith('conv') and name.endswith('_w') for name in held) - 1
    fold = held['conv0_w'].shape[-1] // 3
    scale, outputs = made_by_tail(len(held['tail_b']), fold)
    net = RestorationNet(scale, features, body, planes, outputs, fold, 'slope0' in held)
    for at, slope in enumerate(net.slopes or ()):
        slope.copy_(held[f'slope{at}'].flatten())
    for name, conv in [*((f'conv{at}', conv) for at, conv in enumerate(net.layers())), ('tail', net.tail)]:
        conv.set_collapsed(held[f'{name}_w'], held[f'{name}_b'])
    net.tail.direct /= net.gains[:, None, None, None]
    net.tail.bias /= net.gains
    if net.skip is not None:
        net.skip.load_state_dict({'weight': held['skip_w'] / net.gains[:, None, None, None], 'bias': held['skip_b'] / net.gains})
    return net
