"""A shipped file as OpenVINO runs it, with the face of a PyTorch network, so that the same scores apply to both."""
import time

import numpy as np
import torch


class OpenVinoNet:
    """Callable [1, planes, H, W] → [1, outputs, s·H, s·W]; compiled anew for each size. precision: 'f32' or 'bf16'."""

    def __init__(self, data, scale, precision='f32', threads=2):
        import openvino  # here, because training alone needs none of it

        self.core, self.data, self.scale = openvino.Core(), data, scale
        model = self.core.read_model(data)
        self.planes, self.outputs = (end.get_partial_shape()[1].get_length() for end in (model.input(0), model.output(0)))
        self.options = {'INFERENCE_NUM_THREADS': threads, 'INFERENCE_PRECISION_HINT': precision,
                        'PERFORMANCE_HINT': 'LATENCY'}
        self.compiled = {}

    def request(self, height, width):
        if (height, width) not in self.compiled:
            model = self.core.read_model(self.data)
            model.reshape([1, self.planes, height, width])
            self.compiled[height, width] = self.core.compile_model(model, 'CPU', self.options).create_infer_request()
        return self.compiled[height, width]

    def __call__(self, x):
        x = np.ascontiguousarray(x.numpy())
        return torch.from_numpy(np.array(self.request(*x.shape[2:]).infer([x])[0]))

    def processor_ms(self, height=540, width=960, runs=5):
        """Milliseconds of processors, all threads together, that the fastest of several runs took."""
        request, times = self.request(height, width), []
        for _ in range(runs):
            begun = time.process_time()
            request.infer()
            times.append(1000 * (time.process_time() - begun))
        return min(times)

    def milliseconds(self, height=540, width=960, runs=20):
        """(fastest, median) of several runs on one frame."""
        request, times = self.request(height, width), []
        request.get_input_tensor().data[:] = np.random.default_rng(0).random((1, self.planes, height, width), np.float32)
        for _ in range(runs):
            begun = time.perf_counter()
            request.infer()
            times.append(1000 * (time.perf_counter() - begun))
        return min(times), sorted(times)[runs // 2]
