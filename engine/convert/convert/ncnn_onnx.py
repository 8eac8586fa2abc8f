"""Writes the layers of an ncnn network as ONNX.

One function for each kind of layer; the two formats differ in little but names. Pictures are [1, 3, H, W], RGB from
0 to 1, with H and W left open.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .ncnn import FormatError

OPSET = 17


class Graph:
    """Collects the nodes and constants of the ONNX graph."""

    def __init__(self):
        self.nodes, self.constants, self.names = [], [], {}

    def tensor(self, blob):
        """The ONNX tensor of a blob of ncnn: Split only adds names of a blob."""
        return self.names.get(blob, blob)

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output


def _input(graph, layer):
    pass


def _split(graph, layer):
    for output in layer.outputs:
        graph.names[output] = graph.tensor(layer.inputs[0])


def _activated(graph, layer, convolved):
    """Adds the activation that ncnn stores in a convolution: 0 none, 1 ReLU, 2 leaky ReLU."""
    kind, (output,) = layer.number(9), layer.outputs
    if kind == 1:
        graph.add('Relu', [convolved], output)
    elif kind == 2:
        graph.add('LeakyRelu', [convolved], output, alpha=float(layer.number(10)[0]))
    elif kind != 0:
        raise FormatError(f'The convolution {layer.name} has an activation that is not supported ({kind}).')


def _convolution(graph, layer):
    output = layer.outputs[0]
    kernel = layer.weights['kernel']
    inputs = [graph.tensor(layer.inputs[0]), graph.constant(f'{layer.name}.weight', kernel)]
    if 'bias' in layer.weights:
        inputs.append(graph.constant(f'{layer.name}.bias', layer.weights['bias']))
    left = layer.number(4)
    top = layer.number(14, left)
    right, bottom = layer.number(15, left), layer.number(16, top)
    stride, dilation = layer.number(3, 1), layer.number(2, 1)
    convolved = output if layer.number(9) == 0 else f'{output}.convolved'
    graph.add('Conv', inputs, convolved, kernel_shape=kernel.shape[2:], pads=[top, left, bottom, right],
              strides=[layer.number(13, stride), stride], dilations=[layer.number(12, dilation), dilation])
    _activated(graph, layer, convolved)


def _prelu(graph, layer):
    slope = graph.constant(f'{layer.name}.slope', layer.weights['slope'][:, None, None])
    graph.add('PRelu', [graph.tensor(layer.inputs[0]), slope], layer.outputs[0])


def _sigmoid(graph, layer):
    graph.add('Sigmoid', [graph.tensor(layer.inputs[0])], layer.outputs[0])


def _swish(graph, layer):
    x, output = graph.tensor(layer.inputs[0]), layer.outputs[0]
    graph.add('Mul', [x, graph.add('Sigmoid', [x], f'{output}.gate')], output)


def _concat(graph, layer):
    graph.add('Concat', [graph.tensor(name) for name in layer.inputs], layer.outputs[0], axis=1 + layer.number(0))


def _memory(graph, layer):
    data = layer.weights['data']
    # A line of C values stands for C planes of one value each.
    graph.constant(layer.outputs[0], data.reshape(1, *data.shape, *[1] * (3 - data.ndim)))


BINARY = {0: 'Add', 1: 'Sub', 2: 'Mul', 3: 'Div'}


def _binary(graph, layer):
    if layer.number(0) not in BINARY:
        raise FormatError(f'The layer {layer.name} has an operation that is not supported ({layer.number(0)}).')
    inputs = [graph.tensor(name) for name in layer.inputs]
    if layer.number(1):
        inputs.append(graph.constant(f'{layer.name}.scalar', np.float32(layer.number(2))))
    graph.add(BINARY[layer.number(0)], inputs, layer.outputs[0])


def _eltwise(graph, layer):
    """A weighted sum of two."""
    if layer.number(0) != 1 or len(layer.inputs) != 2:
        raise FormatError(f'The layer {layer.name} is no sum of two.')
    terms = [graph.tensor(name) for name in layer.inputs]
    for at, factor in enumerate(layer.number(1, [1.0, 1.0])):
        if factor != 1:
            factor = graph.constant(f'{layer.name}.factor{at}', np.float32(factor))
            terms[at] = graph.add('Mul', [terms[at], factor], f'{layer.outputs[0]}.term{at}')
    graph.add('Add', terms, layer.outputs[0])


def _shuffle(graph, layer):
    graph.add('DepthToSpace', [graph.tensor(layer.inputs[0])], layer.outputs[0], blocksize=layer.number(0), mode='CRD')


# Resizes like ncnn: the nearest pixel at or before a position; by pixel centres if it interpolates.
INTERPOLATION = {
    1: {'mode': 'nearest', 'coordinate_transformation_mode': 'asymmetric', 'nearest_mode': 'floor'},
    2: {'mode': 'linear', 'coordinate_transformation_mode': 'half_pixel'},
    3: {'mode': 'cubic', 'coordinate_transformation_mode': 'half_pixel', 'cubic_coeff_a': -0.75},
}


def _interpolation(graph, layer):
    kind, high, wide = layer.number(0), layer.number(1, 1.0), layer.number(2, 1.0)
    if kind not in INTERPOLATION or layer.number(3) or layer.number(6):
        raise FormatError(f'The layer {layer.name} resizes in a way that is not supported.')
    scales = graph.constant(f'{layer.name}.scales', np.array([1, 1, high, wide], np.float32))
    graph.add('Resize', [graph.tensor(layer.inputs[0]), '', scales], layer.outputs[0], **INTERPOLATION[kind])


WRITERS = {
    'Input': _input, 'Split': _split, 'Convolution': _convolution, 'PReLU': _prelu, 'Sigmoid': _sigmoid, 'Swish': _swish,
    'Concat': _concat, 'MemoryData': _memory, 'BinaryOp': _binary, 'Eltwise': _eltwise, 'PixelShuffle': _shuffle,
    'Interp': _interpolation,
}


def ends(layers):
    """(name of the input blob, name of the output blob). Throws FormatError unless there is exactly one of each."""
    used = {name for layer in layers for name in layer.inputs}
    inputs = [layer.outputs[0] for layer in layers if layer.kind == 'Input']
    outputs = [name for layer in layers for name in layer.outputs if name not in used]
    if len(inputs) != 1 or len(outputs) != 1:
        raise FormatError(f'The network has {len(inputs)} inputs and {len(outputs)} outputs; it must have one of each.')
    return inputs[0], outputs[0]


def to_onnx(layers, title):
    """The ONNX model of an ncnn network, from pictures [1, 3, H, W] to pictures [1, 3, s·H, s·W]."""
    graph = Graph()
    for layer in layers:
        if layer.kind not in WRITERS:
            raise FormatError(f'The layer {layer.name} is of a kind that is not supported ({layer.kind}).')
        WRITERS[layer.kind](graph, layer)
    source, result = ends(layers)
    picture = lambda name, high, wide: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, high, wide])
    made = helper.make_graph(graph.nodes, title, [picture(source, 'height', 'width')],
                             [picture(graph.tensor(result), 'out_height', 'out_width')], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid('', OPSET)], producer_name='reelmend')
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def halo(layers):
    """The receptive field around an output pixel, in input pixels: the longest path through the convolutions."""
    reach, scale = {}, {}
    for layer in layers:
        before = max((reach[name] for name in layer.inputs), default=0.0)
        factor = max((scale[name] for name in layer.inputs), default=1.0)
        if layer.kind == 'Convolution':
            before += (max(layer.number(1), layer.number(11)) - 1) / 2 * layer.number(2, 1) / factor
        elif layer.kind == 'PixelShuffle':
            factor *= layer.number(0)
        elif layer.kind == 'Interp':
            before += (layer.number(0) - 1) / factor
            factor *= layer.number(1, 1.0)
        for name in layer.outputs:
            reach[name], scale[name] = before, factor
    return int(np.ceil(max(reach.values())))
