"""A picture, and what the engine's runtime makes of it."""
import numpy as np


def picture(height=40, width=56):
    """Smooth shapes with a little noise, [3, H, W], 0..1."""
    rng = np.random.default_rng(1)
    blocks = np.kron(rng.random((3, height // 8, width // 8)), np.ones((1, 8, 8)))
    return (0.8 * blocks + 0.1 + 0.05 * rng.standard_normal(blocks.shape)).clip(0, 1).astype(np.float32)


def by_openvino(path, x):
    import openvino

    compiled = openvino.Core().compile_model(str(path), 'CPU', {'INFERENCE_PRECISION_HINT': 'f32'})
    return compiled(x[None])[0][0]
