"""A compact network of Real-ESRGAN, taken up as a network of ours: held against the same network by PyTorch's operations."""
import json

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

from test_real import shards  # noqa: F401  (a fixture)

from ground import commands, release, teacher, training
from ground.compact import FROM_YCC, from_compact, is_compact
from ground.export import from_fp32, to_fp32
from ground.network import RestorationNet, halved, plain
from ground.openvino_net import OpenVinoNet
from ground.quantise import QuantNet
from ground.release import load_averaged, load_state


def made(scale=4, features=8, convs=4, seed=1):
    """(ONNX bytes, the same as a function of R'G'B' [N, 3, H, W])."""
    rng = np.random.default_rng(seed)
    channels = [3, *[features] * (convs - 1), 3 * scale**2]
    kernels = [rng.normal(0, (9 * i) ** -0.5, (o, i, 3, 3)).astype(np.float32) for i, o in zip(channels, channels[1:])]
    biases = [rng.normal(0, 0.05, len(k)).astype(np.float32) for k in kernels]
    slopes = [rng.uniform(-0.5, 1, (features, 1, 1)).astype(np.float32) for _ in kernels[1:]]
    nodes, held, y = [], [], 'data'
    for at, (kernel, bias) in enumerate(zip(kernels, biases)):
        held += [numpy_helper.from_array(kernel, f'w{at}'), numpy_helper.from_array(bias, f'b{at}')]
        nodes.append(helper.make_node('Conv', [y, f'w{at}', f'b{at}'], [f'c{at}'], pads=[1] * 4))
        y = f'c{at}'
        if at < len(slopes):
            held.append(numpy_helper.from_array(slopes[at], f's{at}'))
            nodes.append(helper.make_node('PRelu', [y, f's{at}'], [f'p{at}']))
            y = f'p{at}'
    held.append(numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), 'scales'))
    nodes += [helper.make_node('DepthToSpace', [y], ['fine'], blocksize=scale, mode='CRD'),
              helper.make_node('Resize', ['data', '', 'scales'], ['near'], mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor'),
              helper.make_node('Add', ['fine', 'near'], ['y'])]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, None, None])
    model = helper.make_model(helper.make_graph(nodes, 'g', [value('data')], [value('y')], held), opset_imports=[helper.make_opsetid('', 17)])

    def run(rgb):
        y = rgb
        for at, (kernel, bias) in enumerate(zip(kernels, biases)):
            y = F.conv2d(y, torch.from_numpy(kernel), torch.from_numpy(bias), padding=1)
            y = F.prelu(y, torch.from_numpy(slopes[at].flatten())) if at < len(slopes) else y
        return F.pixel_shuffle(y, scale) + rgb.repeat_interleave(scale, 2).repeat_interleave(scale, 3)
    return model.SerializeToString(), run


def planes_of(rgb, strength=0.7):
    ycc = torch.einsum('cr,nrhw->nchw', torch.from_numpy(np.linalg.inv(FROM_YCC)), rgb)
    return torch.cat([ycc[:, :1], torch.full_like(ycc[:, :1], strength), ycc[:, 1:]], 1)


@pytest.mark.parametrize('scale', [2, 4])
def test_it_computes_the_same(scale):
    data, run = made(scale)
    rgb = torch.rand(2, 3, 12, 14, generator=torch.Generator().manual_seed(3))
    net = from_compact(data).eval()
    with torch.no_grad():
        out = torch.einsum('rc,nchw->nrhw', torch.from_numpy(FROM_YCC), net(planes_of(rgb)))
        assert (out - run(rgb)).abs().max() < 2e-5
        plain(net)
        assert (torch.einsum('rc,nchw->nrhw', torch.from_numpy(FROM_YCC), net(planes_of(rgb))) - run(rgb)).abs().max() < 2e-5


def test_it_goes_through_our_files_and_at_half_the_scale():
    net = from_compact(made()[0]).eval()
    x = planes_of(torch.rand(1, 3, 8, 10, generator=torch.Generator().manual_seed(4)))
    with torch.no_grad():
        assert torch.equal(from_fp32(to_fp32(net)).eval()(x), net(x))
        assert torch.allclose(halved(net)(x), F.avg_pool2d(net(x), 2), atol=1e-5)
        assert torch.equal(RestorationNet.shaped_as(net.state_dict()).eval().slopes[0], torch.zeros(8))


def test_the_int8_file_is_the_quantised_network():
    """Its values have two signs, so its bytes do."""
    net = from_compact(made()[0]).eval()
    quant = QuantNet(net)
    quant.calibrate([(planes_of(torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(n))), None) for n in range(2)])
    data, x = quant.to_int8(), torch.round(planes_of(torch.rand(1, 3, 40, 48, generator=torch.Generator().manual_seed(8))) * 219) / 219
    zeros = {numpy_helper.to_array(c).dtype.name for c in onnx.load_from_string(data).graph.initializer if c.name.startswith('zero')}
    assert zeros == {'uint8', 'int8'}  # of the picture, of what lies between layers
    with torch.no_grad():
        wanted, plain = quant(x), net(x)
    step = (wanted - OpenVinoNet(data, 4)(x)).abs()
    assert step.mean() < 2e-4 and step.max() < 0.02
    assert (wanted - plain).abs().mean() < 0.1 * plain.std()


def test_the_slopes_learn():
    net = from_compact(made()[0])
    net(planes_of(torch.rand(1, 3, 8, 8))).square().mean().backward()
    assert all(slope.grad.abs().max() > 0 for slope in net.slopes)


def test_other_files_are_not_taken_for_one():
    assert is_compact(made()[0])
    assert not is_compact(to_fp32(RestorationNet(2, 8, 2, 4, 3, 1)))
    assert not is_compact(to_fp32(from_compact(made()[0])))
    assert onnx.load_from_string(to_fp32(from_compact(made()[0]))).graph.node[1].op_type == 'PRelu'


@pytest.mark.parametrize('where', [[], ['--resident']])
def test_a_run_begins_with_it_and_is_taught_by_it(where, shards, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(training, 'evaluator', lambda *_: lambda net: {})
    monkeypatch.setattr(training, 'make_real_shard', lambda *_: None)
    if not where:
        teacher.refine('training', 0)
    file = tmp_path / 'x4.onnx'
    file.write_bytes(made()[0])
    words = ['train', 'detail-best', '--features', '8', '--layers', '2', '--plain', '--fresh', '--start', str(file), '--teacher', str(file),
             '--taught', '0.5', '--batch', '4', '--patch', '32', '--steps', '3', '--warm-up', '1', '--device', 'cpu', '--wait-for-scores',
             '--run', str(tmp_path / 'run'), *where]
    args = commands.parser().parse_args(words)
    args.action(args)
    begun, now = from_compact(file.read_bytes()), load_averaged(load_state(tmp_path / 'run/last.pt'))
    x = planes_of(torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(5)))
    with torch.no_grad():
        change = (now(x) - begun.eval()(x)).abs().mean()
    assert 0 < change < 0.05
    assert any(not torch.equal(a, b) for a, b in zip(now.slopes, begun.slopes))


@pytest.mark.parametrize('name,scale', [('detail-best', 4), ('detail-best-x2', 2)])
def test_a_run_is_released_at_both_scales_with_both_licences(name, scale, shards, tmp_path, monkeypatch):  # noqa: F811
    net = from_compact(made()[0]).eval()
    release.write_weights(tmp_path / 'run', net, {'number': 1, 'hours': 0.0, 'label': 'real'})
    monkeypatch.setattr(training, 'make_real_shard', lambda *_: None)
    monkeypatch.setattr(release, 'MODELS', tmp_path)
    monkeypatch.setattr(release, 'data_of', list)
    monkeypatch.setattr(release, 'scores_of', lambda *_, **__: {'real': {'twice': {'psnr_gain': 1.0}}})
    args = commands.parser().parse_args(['release', name, '--run', str(tmp_path / 'run'), '--int8-batches', '1'])
    args.action(args)
    entry, small = json.loads((tmp_path / 'manifest.json').read_text())['models']
    assert (entry['file'], entry['precision'], entry['layout'], entry['blind']) == (f'detail-best-x{scale}.onnx', 'fp32', 'ycbcr+strength', True)
    assert (small['file'], small['precision']) == (f'detail-best-x{scale}-int8.onnx', 'int8')
    assert entry['license'] == small['license'] == 'Apache-2.0 AND BSD-3-Clause'
    assert sorted(path.name for path in tmp_path.glob('*.onnx')) == [f'detail-best-x{scale}-int8.onnx', f'detail-best-x{scale}.onnx']
    x = planes_of(torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(6)))
    with torch.no_grad():
        wanted = net(x) if scale == 4 else F.avg_pool2d(net(x), 2)
    assert (OpenVinoNet((tmp_path / entry['file']).read_bytes(), scale)(x) - wanted).abs().max() < 1e-4
