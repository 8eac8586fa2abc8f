"""Networks of PyTorch (.pth, .safetensors) as ONNX, by spandrel, which knows the architectures that people trade."""
import hashlib
from pathlib import Path

from .ncnn import FormatError

OPSET = 17


def load(path):
    """The network that a file holds, ready to run. Throws FormatError."""
    import spandrel

    try:
        found = spandrel.ModelLoader().load_from_file(path)
    except Exception as error:  # spandrel's readers fail in ways of their own
        raise FormatError(f'{Path(path).name} holds no network that spandrel knows: {str(error).splitlines()[0]}') from error
    if not isinstance(found, spandrel.ImageModelDescriptor) or (found.input_channels, found.output_channels) != (3, 3):
        raise FormatError(f'{Path(path).name} is no network that makes an RGB picture of an RGB picture.')
    return found


def convert(path, target, name):
    """Writes the network of `path` as the ONNX file `target`; → its entry of a manifest, without a licence."""
    import torch

    found = load(path)
    model = found.model.eval().float()
    axes = {'x': {2: 'height', 3: 'width'}, 'y': {2: 'out_height', 3: 'out_width'}}
    multiple = max(1, found.size_requirements.multiple_of)
    side = -(-64 // multiple) * multiple
    with torch.no_grad():
        torch.onnx.export(model, (torch.rand(1, 3, side, side),), target, input_names=['x'], output_names=['y'],
                          dynamic_axes=axes, opset_version=OPSET, dynamo=False)
    return {
        'name': name, 'title': f'{found.architecture.name} ×{found.scale}, from {Path(path).name}',
        'task': 'super-resolution' if found.scale > 1 else 'restoration', 'scale': found.scale, 'file': Path(target).name,
        'precision': 'fp32', 'layout': 'rgb', 'input': 'x', 'output': 'y', 'multiple': multiple, 'halo': 32,
        'sha256': hashlib.sha256(Path(target).read_bytes()).hexdigest(), 'license': 'unknown',
    }
