"""Networks of PyTorch (.pth, .safetensors) as ONNX, by spandrel, which knows the architectures that people trade."""
import hashlib
from pathlib import Path

import numpy as np

from .ncnn import FormatError

OPSET = 17
SIDE = 64             # of the picture that the export is traced with
HALOS = (8, 16, 32, 64, 128)
TOLERANCE = 1 / 255   # between the ONNX file and PyTorch, and at the edge of a tile


def first_line(error):
    """What an exception says, in one line; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def load(path):
    """The network that a file holds, ready to run. Throws FormatError."""
    import spandrel

    try:
        found = spandrel.ModelLoader().load_from_file(path)
    except Exception as error:  # spandrel's readers fail in ways of their own
        raise FormatError(f'{Path(path).name} holds no network that spandrel knows: {first_line(error)}') from error
    if not isinstance(found, spandrel.ImageModelDescriptor) or (found.input_channels, found.output_channels) != (3, 3):
        raise FormatError(f'{Path(path).name} is no network that makes an RGB picture of an RGB picture.')
    if found.size_requirements.square:
        raise FormatError(f'{Path(path).name} takes square pictures only, and no video is square.')
    return found


def picture(height, width):
    """Smooth shapes, edges and a little noise, [1, 3, H, W], 0..1: what a network sees in a photograph."""
    rng = np.random.default_rng(1)
    blocks = np.kron(rng.random((3, -(-height // 8), -(-width // 8))), np.ones((1, 8, 8)))[:, :height, :width]
    slope = np.linspace(0, 1, width)[None, None] * np.ones((3, height, 1))
    return (0.5 * blocks + 0.4 * slope + 0.05 * rng.random(blocks.shape)).astype(np.float32)[None]


def export(model, target, side):
    """Writes the ONNX file. Throws FormatError."""
    import torch

    axes = {'x': {2: 'height', 3: 'width'}, 'y': {2: 'out_height', 3: 'out_width'}}
    try:
        torch.onnx.export(model, (torch.from_numpy(picture(side, side)),), str(target), input_names=['x'], output_names=['y'],
                          dynamic_axes=axes, opset_version=OPSET, dynamo=False)
    except Exception as error:  # whatever an architecture does that ONNX cannot say
        raise FormatError(f'PyTorch cannot write this network as ONNX: {first_line(error)}') from error


def check(model, target, height, width):
    """Throws FormatError unless the file makes of a picture of another size what the network makes of it: a size that was
    fixed while tracing shows nowhere else."""
    import openvino
    import torch

    x = picture(height, width)
    wanted = model(torch.from_numpy(x)).numpy()
    try:
        made = openvino.Core().compile_model(str(target), 'CPU', {'INFERENCE_PRECISION_HINT': 'f32'})(x)[0]
    except Exception as error:
        raise FormatError(f'The ONNX file of this network does not run: {first_line(error)}') from error
    apart = float(np.abs(made.clip(0, 1) - wanted.clip(0, 1)).max()) if made.shape == wanted.shape else np.inf
    if not apart <= TOLERANCE:
        raise FormatError(f'The ONNX file of this network makes another picture than PyTorch at {width}×{height} pixels.')


def halo_of(model, scale, multiple, minimum):
    """How many pixels around a tile the network needs: the fewest of HALOS with which a tile differs by less than an 8-bit
    level from the whole picture, measured along one edge."""
    import torch

    up = lambda side: -(-side // multiple) * multiple
    height, kept, most = up(max(SIDE, minimum)), up(max(16, minimum)), up(2 * HALOS[-1])
    strip = torch.from_numpy(picture(height, most + kept))
    whole = model(strip)[..., scale * most:].clamp(0, 1)
    for halo in HALOS:
        tile = model(strip[..., most - up(halo):])[..., scale * up(halo):].clamp(0, 1)
        if (tile - whole).abs().max() < TOLERANCE:
            break
    return up(halo)


def convert(path, target, name):
    """Writes the network of `path` as the ONNX file `target`; → its entry of a manifest, without a licence. Throws
    FormatError, and leaves no file then."""
    import torch

    found = load(path)
    model = found.model.eval().float()
    multiple, minimum = max(1, found.size_requirements.multiple_of), found.size_requirements.minimum
    side = -(-max(SIDE, minimum) // multiple) * multiple
    try:
        with torch.no_grad():
            export(model, target, side)
            check(model, target, side + 2 * multiple, side + 5 * multiple)
            halo = halo_of(model, found.scale, multiple, minimum)
    except FormatError:
        Path(target).unlink(missing_ok=True)
        raise
    return {
        'name': name, 'title': f'{found.architecture.name} ×{found.scale}, from {Path(path).name}',
        'task': 'super-resolution' if found.scale > 1 else 'restoration', 'scale': found.scale, 'file': Path(target).name,
        'precision': 'fp32', 'layout': 'rgb', 'input': 'x', 'output': 'y', 'multiple': multiple, 'halo': halo,
        'sha256': hashlib.sha256(Path(target).read_bytes()).hexdigest(), 'license': 'unknown',
    }
