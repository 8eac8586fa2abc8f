"""Real-ESRGAN's compact network (SRVGGNetCompact, Wang et al. 2021) as one of ours: convolutions with PReLU, then a shuffle onto
the nearest pixels. Its R'G'B' becomes Y'CbCr of BT.601 in the first kernel and the last, so it computes the same, and has a
strength that it does not look at yet.
"""
import numpy as np
import onnx
import torch
from onnx import numpy_helper

from .network import SOURCES, RestorationNet, made_by_tail

FROM_YCC = np.array([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]], np.float32)  # R', G', B' of Y', Cb, Cr


def is_compact(data):
    """Whether an ONNX file is of that shape: as many PRelu as Conv but the last, and one shuffle."""
    kinds = [node.op_type for node in onnx.load_from_string(data).graph.node]
    return kinds.count('PRelu') == kinds.count('Conv') - 1 > 0 and kinds[-3:] == ['DepthToSpace', 'Resize', 'Add']


@torch.no_grad()
def from_compact(data):
    """The network of a converted compact network (ONNX bytes; `is_compact`), to be trained on."""
    graph = onnx.load_from_string(data).graph
    held = {c.name: torch.from_numpy(numpy_helper.to_array(c).copy()) for c in graph.initializer}
    convs = [tuple(held[name] for name in node.input[1:]) for node in graph.node if node.op_type == 'Conv']
    slopes = [held[node.input[1]].flatten() for node in graph.node if node.op_type == 'PRelu']
    scale, outputs = made_by_tail(len(convs[-1][1]), 1)
    net = RestorationNet(scale, len(slopes[0]), len(convs) - 2, 4, outputs, 1, leaky=True)
    colours = torch.from_numpy(FROM_YCC)
    first = torch.einsum('orkl,rc->ockl', convs[0][0], colours)
    head = torch.zeros_like(net.head.direct)
    head[:, list(SOURCES)] = first
    kernels = [head, *(kernel for kernel, _ in convs[1:-1]), _in_ycc(convs[-1][0], scale) / net.gains[:, None, None, None]]
    biases = [*(bias for _, bias in convs[:-1]), _in_ycc(convs[-1][1], scale) / net.gains]
    for conv, kernel, bias in zip([*net.layers(), net.tail], kernels, biases):
        conv.set_collapsed(kernel, bias)
    for own, slope in zip(net.slopes, slopes):
        own.copy_(slope)
    _set_nearest(net)
    return net


def _in_ycc(rows, scale):
    """Rows that make R', G', B' → rows that make Y', Cb, Cr."""
    return torch.einsum('cr,rb...->cb...', torch.from_numpy(np.linalg.inv(FROM_YCC)), rows.unflatten(0, (3, scale * scale))).flatten(0, 1)


def _set_nearest(net):
    """The skip repeats each pixel."""
    net.skip.weight.zero_()
    rows = net.skip.weight.unflatten(0, (net.outputs, -1))
    for output, plane in enumerate(SOURCES):
        rows[output, :, plane, 2, 2] = 1
    net.skip.weight /= net.gains[:, None, None, None]
    net.skip.bias.zero_()
