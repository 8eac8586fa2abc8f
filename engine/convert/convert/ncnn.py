"""Reads ncnn's network files: the layers (.param, text) and their weights (.bin).

Source of the formats: ncnn's documentation, "param and model file structure" and "operators".
"""
from dataclasses import dataclass, field

import numpy as np

PARAM_MAGIC = '7767517'
# Tags before the weights of a layer.
FLOAT32_TAGS, FLOAT16_TAG = (0x00000000, 0x0002C056), 0x01306B47
# Arrays in a parameter list have their key subtracted from this.
ARRAY_KEY = -23300


class FormatError(ValueError):
    """An invalid file; the message is one sentence."""


@dataclass
class Layer:
    """One line of a .param file."""
    kind: str
    name: str
    inputs: list
    outputs: list
    numbers: dict                     # parameter number → int, float or a list of them
    weights: dict = field(default_factory=dict)

    def number(self, key, default=0):
        return self.numbers.get(key, default)


def _value(text):
    return float(text) if any(c in text for c in '.eEn') else int(text)


def _parameters(words):
    """{number: value} of `0=64 1=3 -23310=1,0.2`."""
    found = {}
    for word in words:
        key, text = word.split('=', 1)
        key = int(key)
        if key <= ARRAY_KEY:
            found[ARRAY_KEY - key] = [_value(v) for v in text.split(',')[1:]]
        else:
            found[key] = _value(text)
    return found


def read_layers(text):
    """The layers of a .param file in their order. Throws FormatError."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or lines[0].strip() != PARAM_MAGIC:
        raise FormatError('This is not a .param file of ncnn.')
    layers = []
    for line in lines[2:]:
        kind, name, inputs, outputs, *rest = line.split()
        inputs, outputs = int(inputs), int(outputs)
        layers.append(Layer(kind, name, rest[:inputs], rest[inputs:inputs + outputs],
                            _parameters(rest[inputs + outputs:])))
    if len(layers) != int(lines[1].split()[0]):
        raise FormatError(f'The .param file names {lines[1].split()[0]} layers and holds {len(layers)}.')
    return layers


class _Weights:
    """The .bin file, read from its beginning to its end."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def _bytes(self, count):
        part = self.data[self.at:self.at + count]
        if len(part) != count:
            raise FormatError('The .bin file ends before the weights of its layers do.')
        self.at += count
        return part

    def floats(self, count):
        """`count` float32 without a tag."""
        return np.frombuffer(self._bytes(4 * count), '<f4').copy()

    def tagged(self, count):
        """`count` weights as float32; a tag says how they are stored."""
        tag = int(np.frombuffer(self._bytes(4), '<u4')[0])
        if tag in FLOAT32_TAGS:
            return self.floats(count)
        if tag == FLOAT16_TAG:
            values = np.frombuffer(self._bytes(2 * count), '<f2').astype(np.float32)
            self.at += -2 * count % 4  # each array is padded to four bytes
            return values
        raise FormatError(f'The .bin file stores weights in a way that is not supported (tag {tag:#010x}).')


def _convolution(layer, weights):
    outputs, width = layer.number(0), layer.number(1)
    height, size = layer.number(11, width), layer.number(6)
    kernel = weights.tagged(size)
    layer.weights['kernel'] = kernel.reshape(outputs, size // (outputs * width * height), height, width)
    if layer.number(5):
        layer.weights['bias'] = weights.floats(outputs)


def _slopes(layer, weights):
    layer.weights['slope'] = weights.floats(layer.number(0))


def _memory(layer, weights):
    shape = [layer.number(key) for key in (2, 1, 0) if layer.number(key)]
    count = int(np.prod(shape))
    layer.weights['data'] = (weights.floats if layer.number(21, 1) else weights.tagged)(count).reshape(shape)


READERS = {'Convolution': _convolution, 'PReLU': _slopes, 'MemoryData': _memory}


def read_network(param, binary):
    """The layers of a network with their weights: text of the .param file, bytes of the .bin file. Throws FormatError."""
    layers, weights = read_layers(param), _Weights(binary)
    for layer in layers:
        if layer.kind in READERS:
            READERS[layer.kind](layer, weights)
    if weights.at != len(binary):
        raise FormatError(f'The .bin file holds {len(binary) - weights.at} bytes more than its layers ask for.')
    return layers
