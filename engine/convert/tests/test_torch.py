"""Networks of PyTorch: what is made of them, and what is refused. Only `--long` tests need PyTorch."""
import hashlib
import json
import os
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from convert import torch_onnx
from convert.ncnn import FormatError
from pictures import by_openvino, picture

HERE = Path(__file__).resolve().parent.parent


def test_an_error_without_words_is_named_by_its_kind():
    assert torch_onnx.first_line(KeyError()) == 'KeyError' and torch_onnx.first_line(ValueError('one\ntwo')) == 'one'


@pytest.mark.parametrize('error, reason', [
    ('Weights only load failed.\n(1) In PyTorch 2.6 …\n\tWeightsUnpickler error: Unsupported global: GLOBAL posix.system was not', 'it names posix.system'),
    ('Cannot use `weights_only=True` with TorchScript archives', 'it is a TorchScript program'),
    ('Ran out of input', 'it is damaged'),
])
def test_what_is_not_read_is_answered_without_pytorchs_advice(error, reason):
    why = torch_onnx.why_not(ValueError(error))
    assert why.startswith(reason) and '\n' not in why and 'weights_only' not in why


def test_names_and_sizes_are_checked_before_a_file_is_opened(tmp_path, monkeypatch):
    for name in ('net.bin', 'net', 'net.onnx'):
        (tmp_path / name).write_bytes(b'')
        with pytest.raises(FormatError, match=f'^{name} is none of the files'):
            torch_onnx.check_file(tmp_path / name)
    for name in ('net.pth', 'net.PTH', 'net.pt', 'net.ckpt', 'net.safetensors'):
        (tmp_path / name).write_bytes(b'')
        torch_onnx.check_file(tmp_path / name)
    monkeypatch.setattr(torch_onnx, 'MOST_BYTES', 1 << 20)
    (tmp_path / 'large.pth').write_bytes(bytes((1 << 20) + 1))
    with zipfile.ZipFile(tmp_path / 'packed.pth', 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('data', bytes(3 << 20))
    assert (tmp_path / 'packed.pth').stat().st_size < 10_000
    for name, size in {'large.pth': 1, 'packed.pth': 3}.items():
        with pytest.raises(FormatError, match=f'{name} holds {size} MB; 1 MB is the most'):
            torch_onnx.check_file(tmp_path / name)


@pytest.mark.parametrize('python, kind', [(None, 'torch'), ('/bin/echo', 'torch')])
def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(python, kind, tmp_path):
    """`df` of a machine with 3 GB free; a Python that has the packages needs no space."""
    (tmp_path / 'bin').mkdir()
    df = tmp_path / 'bin' / 'df'
    df.write_text('#!/bin/sh\nprintf "Filesystem 1024-blocks Used Available\\n/dev/x 9 6 3000000\\n"\n')
    df.chmod(0o755)
    env = {'PATH': f'{df.parent}:{os.environ["PATH"]}', 'REELMEND_CONVERT_VENV': str(tmp_path / 'venv')}
    env |= {} if python is None else {'REELMEND_CONVERT_PYTHON': python}
    done = subprocess.run(['bash', str(HERE / 'run'), kind, 'net.pth'], env=env, capture_output=True, text=True)
    assert not (tmp_path / 'venv').exists()
    if python is None:
        assert done.returncode == 1 and done.stderr.startswith('convert: the Python packages need 7 GB, and 3000 MB are free')
    else:
        assert (done.returncode, done.stdout) == (0, '-m convert torch net.pth\n')


def compact(rng, features=8, scale=2):
    """The weights of a tiny network of the architecture `Compact`: three convolutions, then a shuffle."""
    shapes = {'body.0': (features, 3), 'body.2': (features, features), 'body.4': (3 * scale * scale, features)}
    weights = {}
    for name, (outputs, inputs) in shapes.items():
        weights[f'{name}.weight'] = rng.normal(0, 0.3 / inputs**0.5, (outputs, inputs, 3, 3)).astype(np.float32)
        weights[f'{name}.bias'] = rng.normal(0, 0.01, outputs).astype(np.float32)
    return weights | {f'body.{at}.weight': np.full(features, 0.25, np.float32) for at in (1, 3)}


def write_safetensors(path, weights, metadata=None):
    header, data = {'__metadata__': metadata} if metadata else {}, b''
    for name, values in weights.items():
        header[name] = {'dtype': 'F32', 'shape': list(values.shape), 'data_offsets': [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack('<Q', len(text)) + text + data)


def by_numpy(weights, x, scale=2):
    """What Compact does, [3, H, W] → [3, 2H, 2W]."""
    y = x
    for at in (0, 2, 4):
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(y, ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2))
        y = np.einsum('oikl,ihwkl->ohw', weights[f'body.{at}.weight'], windows) + weights[f'body.{at}.bias'][:, None, None]
        y = y if at == 4 else np.where(y > 0, y, 0.25 * y)
    height, width = x.shape[1:]
    shuffled = y.reshape(3, scale, scale, height, width).transpose(0, 3, 1, 4, 2).reshape(3, scale * height, scale * width)
    return shuffled + x.repeat(scale, 1).repeat(scale, 2)


def convert_torch(*words):
    return subprocess.run(['bash', str(HERE / 'run'), 'torch', *map(str, words)], capture_output=True, text=True)


def in_torch(script, folder, *arguments):
    """What a script prints, line by line, in the environment of PyTorch: for networks and files that only it can make."""
    convert_torch('nothing.pth', '--name', 'nothing', '--into', folder)  # makes the environment
    python = os.environ.get('REELMEND_CONVERT_PYTHON') or Path(os.environ.get('REELMEND_CONVERT_VENV', HERE.parent.parent / '.cache/convert/torch')) / 'bin/python'
    (folder / 'script.py').write_text(script)  # TorchScript reads the source of what it compiles
    done = subprocess.run([python, 'script.py', *map(str, arguments)], capture_output=True, text=True, cwd=folder, env={**os.environ, 'PYTHONPATH': str(HERE)})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.long
def test_a_network_of_pytorch_is_converted_and_checked(tmp_path):
    weights = compact(np.random.default_rng(2))
    write_safetensors(tmp_path / 'tiny.safetensors', weights, {'modelspec.license': 'CC0-1.0'})
    done = convert_torch(tmp_path / 'tiny.safetensors', '--name', 'tiny', '--into', tmp_path)
    assert done.returncode == 0, done.stderr
    entry, = json.loads(done.stdout)
    assert (entry['scale'], entry['halo'], entry['multiple'], entry['license']) == (2, 8, 1, 'CC0-1.0')
    x = picture()
    assert np.abs(by_openvino(tmp_path / entry['file'], x) - by_numpy(weights, x)).max() < 1e-4
    for key, file in {'sha256': 'tiny.onnx', 'source_sha256': 'tiny.safetensors'}.items():
        assert entry[key] == hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()


PICKLES = """
import sys
import numpy, torch
from convert import torch_onnx

weights = {name: torch.from_numpy(values) for name, values in numpy.load(sys.argv[1]).items()}
torch.save(weights, 'plain.pth')
torch.save({'params_ema': {f'module.{name}': values.half() for name, values in weights.items()}, 'iter': 5}, 'wrapped.ckpt')
torch.save(weights, 'old.pt', _use_new_zipfile_serialization=False)
for file in ('plain.pth', 'wrapped.ckpt', 'old.pt'):
    entry = torch_onnx.convert(file, file + '.onnx', 'tiny')
    print(entry['scale'], entry.get('license'), entry.get('note'))
"""


@pytest.mark.long
def test_pickles_are_read_as_they_are_traded(tmp_path):
    """Alone, wrapped with other things and in half precision, and in the format before the archives."""
    weights = compact(np.random.default_rng(2))
    np.savez(tmp_path / 'weights.npz', **weights)
    assert in_torch(PICKLES, tmp_path, 'weights.npz') == ['2 None None'] * 3
    x = picture()
    wanted = by_numpy(weights, x)
    for file, most in {'plain.pth': 1e-4, 'old.pt': 1e-4, 'wrapped.ckpt': 2e-2}.items():
        assert np.abs(by_openvino(tmp_path / f'{file}.onnx', x) - wanted).max() < most


REFUSALS = """
import os, torch
from convert import torch_onnx
from convert.ncnn import FormatError

class Command:
    def __reduce__(self):
        return os.system, ('touch was-run',)

class Twice(torch.nn.Module):
    def forward(self, x):
        return 2 * x

torch.save({'body.0.weight': torch.zeros(3), 'more': Command()}, 'command.pth')
torch.save(Command(), 'old-command.pth', _use_new_zipfile_serialization=False)
torch.jit.script(Twice()).save('script.pt')
torch.save({'weight': torch.zeros(1).expand(1 << 15, 1 << 14)}, 'repeated.pth')
torch.save(torch.zeros(3), 'tensor.pth')
torch.save({}, 'nothing.pth')
torch.save({'weight': torch.zeros(3)}, 'unknown.pth')
for file, data in {'empty.pth': b'', 'text.pth': b'no weights', 'text.safetensors': b'no weights at all'}.items():
    open(file, 'wb').write(data)
gray = {'body.0': (8, 1), 'body.2': (4, 8)}
torch.save({f'{name}.{part}': torch.zeros(shape) for name, (outputs, inputs) in gray.items()
            for part, shape in (('weight', (outputs, inputs, 3, 3)), ('bias', (outputs,)))} | {'body.1.weight': torch.zeros(8)}, 'gray.pth')
for file in ('command.pth', 'old-command.pth', 'script.pt', 'repeated.pth', 'tensor.pth', 'nothing.pth', 'unknown.pth', 'empty.pth', 'text.pth',
             'text.safetensors', 'gray.pth'):
    try:
        torch_onnx.convert(file, 'made.onnx', 'made')
    except FormatError as error:
        print(error)
"""


@pytest.mark.long
def test_files_that_are_no_network_are_refused_in_one_sentence_and_run_nothing(tmp_path):
    reported = in_torch(REFUSALS, tmp_path)
    starts = ['No weights are read from command.pth: it names posix.system, and', 'No weights are read from old-command.pth: it names posix.system, and',
              'No weights are read from script.pt: it is a TorchScript program.', 'repeated.pth holds more than 256 million weights',
              'tensor.pth holds no weights.', 'nothing.pth holds no weights.', 'unknown.pth holds no network that spandrel knows: ',
              *(f'No weights are read from {file}: it is damaged, or of another kind.' for file in ('empty.pth', 'text.pth', 'text.safetensors')),
              'gray.pth is no network that makes an RGB picture of an RGB picture.']
    assert len(reported) == len(starts), reported
    for line, start in zip(reported, starts):
        assert line.startswith(start) and line.endswith('.') or 'spandrel' in line, line
    assert not (tmp_path / 'was-run').exists() and not (tmp_path / 'made.onnx').exists()


MODELS = """
import torch
from convert import torch_onnx
from convert.ncnn import FormatError

class Fixed(torch.nn.Module):      # keeps the size it was traced with
    def forward(self, x):
        return x + torch.linspace(0, 1, x.numpy().shape[3])

class Refusing(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError

class Mean(torch.nn.Module):       # sees all of the picture
    def forward(self, x):
        return x * 0.5 + x.mean((2, 3), keepdim=True)

for model, step in ((Fixed(), 'check'), (Refusing(), 'export')):
    try:
        with torch.no_grad():
            torch_onnx.export(model, 'net.onnx', 64)
            torch_onnx.check(model, 'net.onnx', 66, 69)
    except FormatError as error:
        print(step, error)
halo, error = torch_onnx.halo_of(Mean(), 1, 4, 0)
print(torch_onnx.seams(halo, error))
"""


@pytest.mark.long
def test_a_network_that_cannot_be_exported_or_comes_out_different_is_refused_and_seams_are_told(tmp_path):
    """By the converter's own functions: models that no file can hold."""
    check, export, seams = in_torch(MODELS, tmp_path)
    assert check.startswith('check The ONNX file of this network') and export.endswith('as ONNX: RuntimeError')
    assert seams.endswith('this network looks further than 128 pixels.')
