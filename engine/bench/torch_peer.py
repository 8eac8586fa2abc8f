"""Runs the same ONNX networks under torch.compile (fp16, channels_last), for comparison with bench_gpu_networks.

python3 engine/bench/torch_peer.py engine/models/fast-x2.onnx …   prints one JSON object per line as soon as it is measured:
the frames per second of a model at one size. Compiling takes most of the time.
Supports the operators of the shipped networks (Conv, Relu, Add, DepthToSpace, Slice of planes); any other operator is an
error. Needs torch with CUDA, and onnx.
"""

import json
import statistics
import sys
import time

import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional

SIZES = [(960, 540), (1280, 720), (1920, 1080)]
ROUNDS, FRAMES = 7, 60
MODE = "compile max-autotune, fp16, channels_last"


class Network(torch.nn.Module):
    """An ONNX graph of plain layers; [1, planes, height, width] in and out."""

    def __init__(self, path: str):
        super().__init__()
        graph = onnx.load(path).graph
        self.input, self.output = graph.input[0].name, graph.output[0].name
        for tensor in graph.initializer:
            self.register_buffer("w_" + tensor.name, torch.from_numpy(numpy_helper.to_array(tensor).copy()))
        self.nodes = []
        for node in graph.node:
            if node.op_type not in ("Conv", "Relu", "Add", "DepthToSpace", "Slice"):
                sys.exit(f"torch_peer: {path} uses the operator {node.op_type}, which is not supported.")
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Slice":  # slices planes: [data, from, to, axis 1]
                attributes["planes"] = slice(*(int(getattr(self, "w_" + name)) for name in node.input[1:3]))
            self.nodes.append((node.op_type, list(node.input), node.output[0], attributes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = {self.input: x}
        for kind, inputs, output, attributes in self.nodes:
            if kind == "Conv":
                weights = [getattr(self, "w_" + name) for name in inputs[1:]]
                pads = attributes.get("pads", [0, 0, 0, 0])
                values[output] = functional.conv2d(
                    values[inputs[0]], *weights, stride=attributes.get("strides", [1, 1]), padding=pads[:2]
                )
            elif kind == "Relu":
                values[output] = functional.relu(values[inputs[0]])
            elif kind == "Add":
                values[output] = values[inputs[0]] + values[inputs[1]]
            elif kind == "Slice":
                values[output] = values[inputs[0]][:, attributes["planes"]]
            else:
                values[output] = functional.pixel_shuffle(values[inputs[0]], attributes["blocksize"])
        return values[self.output]


def rate(network: torch.nn.Module, planes: int, width: int, height: int) -> float:
    """Frames per second: the median of the rounds."""
    x = torch.rand(1, planes, height, width, device="cuda", dtype=torch.float16).to(memory_format=torch.channels_last)
    rates = []
    with torch.inference_mode():
        for i in range(-3, ROUNDS):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(FRAMES):
                network(x)
            torch.cuda.synchronize()
            if i >= 0:
                rates.append(FRAMES / (time.perf_counter() - start))
    return statistics.median(rates)


def compiled(network: torch.nn.Module, **options) -> torch.nn.Module:
    """The network as torch.compile makes it for the one size that it is called with, without what was compiled before."""
    torch.compiler.reset()
    return torch.compile(network, dynamic=False, **options)


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("torch_peer: torch finds no GPU.")
    torch.backends.cudnn.benchmark = True
    for path in sys.argv[1:]:
        network = Network(path).half().cuda().to(memory_format=torch.channels_last).eval()
        planes = next(len(b[0]) for n, b in network.named_buffers() if b.dim() == 4)
        for width, height in SIZES:
            fps = round(rate(compiled(network, mode="max-autotune"), planes, width, height), 1)
            print(json.dumps({"torch": torch.__version__, "mode": MODE, "model": path, "from": f"{width}x{height}", "fps": fps}), flush=True)


if __name__ == "__main__":
    main()
