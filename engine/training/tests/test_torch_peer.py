"""The peer of bench:gpu, as far as it runs without a GPU."""
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))

import torch_peer  # noqa: E402


def test_the_peer_is_compiled_for_each_size_as_the_engine_is():
    """By default the second size of a network is compiled for all sizes, which is slower; and after eight sizes nothing is compiled."""
    seen = []

    def backend(graph, inputs):
        seen.append([tuple(i.shape) if isinstance(i, torch.Tensor) else 'open' for i in inputs])
        return graph.forward

    networks = [torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.ReLU()) for _ in range(4)]
    with torch.inference_mode():
        for network in networks:
            for width, height in ((96, 54), (128, 72), (192, 108)):
                torch_peer.compiled(network, backend=backend)(torch.rand(1, 2, height, width))
    assert len(seen) == 12 and all('open' not in inputs for inputs in seen), seen
