"""Converts PyTorch networks (.pth, .safetensors) to ONNX, with spandrel, which knows the common architectures.

The files are not trusted, so nothing in them is run: PyTorch reads only weights from a pickle.
"""
import hashlib
import re
import zipfile
from pathlib import Path

import numpy as np

from .ncnn import FormatError

OPSET = 17
SIDE = 64             # of the picture that the export is traced with
HALOS = (8, 16, 32, 64, 128)
TOLERANCE = 1 / 255   # between the ONNX file and PyTorch, and at the edge of a tile
PICKLES, SAFETENSORS = ('.pth', '.pt', '.ckpt'), '.safetensors'
# The largest networks in use have a tenth of it. An ONNX file can hold 2 GB.
MOST_BYTES, MOST_WEIGHTS = 1 << 30, 1 << 28


def first_line(error):
    """The message of an exception in one line; its type if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def check_file(path):
    """Throws FormatError unless the name and the size are acceptable."""
    name = path.name
    if path.suffix.lower() not in (*PICKLES, SAFETENSORS):
        raise FormatError(f'{name} is none of the files that are converted: {", ".join((*PICKLES, SAFETENSORS))}.')
    size = path.stat().st_size
    if zipfile.is_zipfile(path):  # a .pth may be packed
        with zipfile.ZipFile(path) as archive:
            size = max(size, sum(part.file_size for part in archive.infolist()))
    if size > MOST_BYTES:
        raise FormatError(f'{name} holds {size >> 20} MB; {MOST_BYTES >> 20} MB is the most that is converted.')


def why_not(error):
    """Why PyTorch did not read a pickle, without its advice to read it in an unsafe way."""
    named = re.search(r'GLOBAL (\S+)', str(error))
    if named:
        return f'it names {named[1]}, and a file that can name programs is not trusted'
    return 'it is a TorchScript program' if 'TorchScript' in str(error) else 'it is damaged, or of another kind'


def read_weights(path):
    """{name: tensor} of a file. Throws FormatError."""
    import spandrel
    import torch

    check_file(path)
    try:
        if path.suffix.lower() == SAFETENSORS:
            from safetensors.torch import load_file

            weights = load_file(path)
        else:
            weights = torch.load(path, map_location='cpu', weights_only=True)
    except Exception as error:  # both readers fail in many ways
        raise FormatError(f'No weights are read from {path.name}: {why_not(error)}.') from error
    weights = spandrel.canonicalize_state_dict(weights) if isinstance(weights, dict) else {}
    tensors = [value for value in weights.values() if isinstance(value, torch.Tensor)]
    if not tensors:
        raise FormatError(f'{path.name} holds no weights.')
    # A file of tensors that repeat one value is small.
    if sum(value.numel() for value in tensors) > MOST_WEIGHTS:
        raise FormatError(f'{path.name} holds more than {MOST_WEIGHTS >> 20} million weights, the most that is converted.')
    return weights


def load(path):
    """The network that a file holds, ready to run. Throws FormatError."""
    import spandrel

    path = Path(path)
    weights = read_weights(path)
    try:
        found = spandrel.ModelLoader().load_from_state_dict(weights)
    except Exception as error:  # each architecture that nearly fits fails in its own way
        raise FormatError(f'{path.name} holds no network that spandrel knows: {first_line(error)}') from error
    if not isinstance(found, spandrel.ImageModelDescriptor) or (found.input_channels, found.output_channels) != (3, 3):
        raise FormatError(f'{path.name} is no network that makes an RGB picture of an RGB picture.')
    if found.size_requirements.square:
        raise FormatError(f'{path.name} takes square pictures only, and no video is square.')
    return found


def stated_license(path):
    """The licence that a .safetensors file states; None if it states none. Other files never do."""
    if Path(path).suffix.lower() != SAFETENSORS:
        return None
    from safetensors import safe_open

    with safe_open(path, 'np') as opened:
        metadata = opened.metadata() or {}
    found = (metadata.get('modelspec.license') or metadata.get('license') or '').strip()
    return found if found.isprintable() and 0 < len(found) <= 100 else None


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
    except Exception as error:  # anything that ONNX cannot express
        raise FormatError(f'PyTorch cannot write this network as ONNX: {first_line(error)}') from error


def check(model, target, height, width):
    """Throws FormatError unless the file gives the same result as the network for a picture of another size, which a size
    fixed by tracing would prevent."""
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
    """(halo, error): the smallest of HALOS with which a tile differs by less than TOLERANCE from the whole picture, measured
    along one edge; and the difference with it."""
    import torch

    up = lambda side: -(-side // multiple) * multiple
    height, kept, most = up(max(SIDE, minimum)), up(max(16, minimum)), up(2 * HALOS[-1])
    strip = torch.from_numpy(picture(height, most + kept))
    whole = model(strip)[..., scale * most:].clamp(0, 1)
    for halo in HALOS:
        tile = model(strip[..., most - up(halo):])[..., scale * up(halo):].clamp(0, 1)
        error = float((tile - whole).abs().max())
        if error < TOLERANCE:
            break
    return up(halo), error


def convert(path, target, name):
    """Writes the network of `path` as the ONNX file `target`; → its entry of a manifest. Throws FormatError and then
    leaves no file."""
    import torch

    path, target = Path(path), Path(target)
    found = load(path)
    model = found.model.eval().float()
    multiple, minimum = max(1, found.size_requirements.multiple_of), found.size_requirements.minimum
    side = -(-max(SIDE, minimum) // multiple) * multiple
    try:
        with torch.no_grad():
            export(model, target, side)
            check(model, target, side + 2 * multiple, side + 5 * multiple)
            halo, error = halo_of(model, found.scale, multiple, minimum)
    except FormatError:
        target.unlink(missing_ok=True)
        raise
    stated = stated_license(path)
    return {
        'name': name, 'title': f'{found.architecture.name} ×{found.scale}, from {path.name}'[:200],
        'task': 'super-resolution' if found.scale > 1 else 'restoration', 'scale': found.scale, 'file': target.name,
        'precision': 'fp32', 'layout': 'rgb', 'input': 'x', 'output': 'y', 'multiple': multiple, 'halo': halo,
        'sha256': sha256(target), 'source_sha256': sha256(path),
        **({'license': stated} if stated else {}), **({'note': seams(halo, error)} if error >= TOLERANCE else {}),
    }


def seams(halo, error):
    return (f'Where a frame is cut into tiles, their edges differ from the whole frame by up to {255 * error:.0f} 8-bit levels: '
            f'this network looks further than {halo} pixels.')


def sha256(path):
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()
