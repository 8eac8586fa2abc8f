"""The network itself: collapse, skip, export, int8."""
import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from onnx import numpy_helper

from ground.export import from_fp32, to_fp32
from ground.network import CollapsibleConv, RestorationNet, at_double, doubled, grow, halved, parameters_when_collapsed
from ground.openvino_net import OpenVinoNet
from ground.quantise import QuantNet, fitted, rounded_in_turn
from ground.recipes import NETWORKS
from ground.release import MODELS, load_averaged, load_state
from ground.resize import resize
from ground.samples import with_strength


def net_of(scale, layers=3, colour=False, fold=2):
    torch.manual_seed(4)
    net = RestorationNet(scale, 16, layers, *((4, 3) if colour else (2, 1)), fold).eval()
    with torch.no_grad():  # a start of zero would hide mistakes
        for parameter in net.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return net


@pytest.mark.parametrize('inputs,outputs,kernel,stride', [(2, 16, 6, 2), (16, 16, 3, 1), (16, 4, 3, 1)])
def test_collapse_is_exact(inputs, outputs, kernel, stride):
    torch.manual_seed(2)
    conv = CollapsibleConv(inputs, outputs, kernel, stride).double()
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    x = torch.rand(2, inputs, 20, 24, dtype=torch.float64)
    assert (conv(x) - conv.branches(x)).abs().max() < 1e-10
    assert (conv.float()(x.float()) - conv.branches(x.float())).abs().max() < 1e-5


@pytest.mark.parametrize('fold', [1, 2])
def test_the_skip_of_x2_starts_as_cubic_interpolation(fold):
    net = RestorationNet(2, 16, 1, fold=fold)
    picture = np.random.default_rng(1).random((32, 40), np.float32)
    x = torch.from_numpy(np.stack([picture, np.ones_like(picture)])[None])
    skip = torch.nn.functional.pixel_shuffle(net.skip(x[:, :net.skip.in_channels]), 2 * fold)[0, 0].detach().numpy()
    wanted = resize(picture, 64, 80)
    assert np.abs(skip - wanted)[8:-8, 8:-8].max() < 1e-5


def test_the_skip_of_colour_enlarges_every_plane():
    net = RestorationNet(2, 16, 1, 4, 3)
    picture = np.random.default_rng(1).random((3, 32, 40), np.float32) - 0.5
    x = torch.from_numpy(with_strength(picture, 0.7)[None])
    skip = torch.nn.functional.pixel_shuffle(net.skip(x) * net.gains[:, None, None], 4)[0].detach().numpy()
    for made, plane in zip(skip, picture):
        assert np.abs(made - resize(plane, 64, 80))[8:-8, 8:-8].max() < 1e-5


@pytest.mark.parametrize('scale', [1, 2])
def test_bfloat16_leaves_the_skip_and_the_sum_exact(scale):
    net = net_of(scale, fold=1)  # its tail has no identity branch
    with torch.no_grad():
        for parameter in net.tail.parameters():
            parameter.zero_()
    x = 0.9 + 0.1 * torch.rand(1, 2, 32, 32)
    plain = net(x)
    with torch.autocast('cpu', torch.bfloat16):
        assert (net(x) - plain).abs().max() < 1e-6


KINDS = [(1, False, 2), (2, False, 2), (2, True, 2), (1, False, 1), (2, False, 1), (2, True, 1)]


@pytest.mark.parametrize('scale,colour,fold', KINDS)
@pytest.mark.parametrize('height,width', [(32, 48), (50, 34)])
def test_onnx_is_pytorch(scale, colour, fold, height, width):
    net = net_of(scale, colour=colour, fold=fold)
    x = torch.rand(1, net.planes, height, width)
    data = to_fp32(net)
    assert {n.op_type for n in onnx.load_from_string(data).graph.node} <= {'Conv', 'Relu', 'Add', 'Slice',
                                                                           'DepthToSpace'}
    y = OpenVinoNet(data, scale)(x)
    assert y.shape == (1, net.outputs, scale * height, scale * width)
    assert (y - net(x).detach()).abs().max() < 1e-5
    again = from_fp32(data)
    assert (again.planes, again.outputs) == (net.planes, net.outputs)
    assert (again(x) - net(x)).abs().max() < 1e-5
    assert RestorationNet.shaped_as(net.state_dict()).load_state_dict(net.state_dict())


@pytest.mark.parametrize('scale,colour,fold', KINDS)
def test_int8_file_is_the_quantised_network(scale, colour, fold):
    net = net_of(scale, colour=colour, fold=fold)
    quant = QuantNet(net)
    batches = [(torch.rand(2, net.planes, 32, 32), None)]
    quant.calibrate(batches)
    x = torch.round(torch.rand(1, net.planes, 40, 48) * 219) / 219
    wanted = quant(x).detach()
    step = (wanted - OpenVinoNet(quant.to_int8(), scale)(x)).abs()
    # Both round; where a value lies on an edge, one step of one activation may differ.
    assert step.mean() < 2e-4 and step.max() < 0.02
    plain = net(x).detach()
    assert (wanted - plain).abs().mean() < 0.1 * plain.std()


def test_bytes_of_videos_come_into_int8_networks_unchanged():
    quant = QuantNet(net_of(2, colour=True))
    luma, chroma = ((torch.arange(256) - zero) / span for zero, span in ((16, 219), (128, 224)))
    strength = torch.arange(220) / 219
    x = torch.stack([luma, torch.cat([strength, strength[-1:].expand(36)]), chroma, chroma.flip(0)]).view(1, 4, 16, 16)
    assert torch.allclose(quant.rounded(0, x), x, atol=1e-6)


def test_evening_out_changes_ranges_and_no_result():
    net = net_of(2)
    quant, x = QuantNet(net), torch.rand(2, 2, 32, 32)
    before = quant.before(x)
    quant._even_out([x], 0.5)
    after = quant.before(x)
    tops = [v.amax((0, 2, 3)) for v in (before[1], after[1])]
    assert tops[1].min() / tops[1].max() > 1.5 * tops[0].min() / tops[0].max()
    last = len(quant.kernels) - 1
    y = quant.layer(last, after[-1]) + quant.skip(x[:, :quant.skip.in_channels])
    assert torch.allclose(torch.nn.functional.pixel_shuffle(y, 4), net(x), atol=1e-5)


def test_weights_are_fitted_to_what_is_rounded():
    torch.manual_seed(4)
    ones = torch.ones(2000, 1).double()
    plain = torch.cat([torch.rand(2000, 6).double() @ torch.rand(6, 12).double(), ones], 1)
    seen = torch.cat([(plain[:, :-1] * 1.1).round(decimals=1), ones], 1)  # too large, and coarse
    rows = torch.randn(4, 13).double()
    made = fitted(rows, seen.T @ seen / 2000, seen.T @ plain / 2000)
    errors = [((seen @ r.T - plain @ rows.T) ** 2).mean() for r in (made, rows)]
    assert errors[0] < 0.2 * errors[1]
    same = plain.T @ plain / 2000
    assert torch.allclose(fitted(rows, same, same), rows)


def test_weights_rounded_in_turn_make_up_for_each_other():
    torch.manual_seed(3)
    # Neighbouring pixels are nearly the same, as in a picture: a smooth wave and a little noise.
    seen = torch.rand(500, 1).double() + 0.05 * torch.randn(500, 20).double()
    seen = torch.cat([seen, torch.ones(500, 1).double()], 1)
    rows = torch.randn(6, 21).double()
    grid = rows[:, :-1].abs().amax(1) / 7  # coarse, so that the errors count
    nearest = torch.cat([(rows[:, :-1] / grid[:, None]).round() * grid[:, None], rows[:, -1:]], 1)
    turned = rounded_in_turn(rows, seen.T @ seen / len(seen), grid)
    whole = turned[:, :-1] / grid[:, None]
    assert torch.allclose(whole, whole.round()) and whole.abs().max() <= 127
    errors = [((seen @ (r - rows).T) ** 2).mean() for r in (turned, nearest)]
    assert errors[0] < 0.2 * errors[1]


@pytest.mark.parametrize('fold', [1, 2])
def test_a_pixel_is_felt_no_further_than_the_halo(fold):
    net = net_of(2, fold=fold)
    x = torch.rand(1, 2, 96, 96)
    other = x.clone()
    other[0, 0, 48, 48] += 1
    changed = (net(x) - net(other)).abs()[0, 0].detach().numpy() > 0
    rows = np.nonzero(changed.any(1))[0] / 2
    assert 48 - rows.min() <= net.halo() and rows.max() - 48 <= net.halo()


def test_numbers_of_the_exported_network():
    net = net_of(2)
    exported = sum(int(np.prod(c.dims)) for c in onnx.load_from_string(to_fp32(net)).graph.initializer)
    assert exported == parameters_when_collapsed(net)


def test_a_grown_network_with_colour_has_the_luma_of_the_one_without():
    small = net_of(2)
    large = RestorationNet(2, 32, 6, 4, 3)
    grow(large, small)
    x = torch.rand(1, 4, 40, 32)
    y = large(x)
    assert (y[:, :1] - small(x[:, :2])).abs().max() < 1e-5
    for plane in (1, 2):
        wanted = resize(x[0, plane + 1].numpy(), 80, 64)
        assert np.abs(y[0, plane].detach().numpy() - wanted)[8:-8, 8:-8].max() < 1e-5
    y.sum().backward()
    # The new planes are alive: luma learns from them, and they from what the body sees.
    assert large.head.direct.grad[:16, 2:].abs().max() > 0
    assert large.tail.direct.grad[16:, :16].abs().max() > 0


@pytest.mark.parametrize('fold,planes,outputs', [(1, 2, 1), (2, 2, 1), (1, 4, 3)])
def test_a_network_of_twice_the_scale_has_the_smaller_one_as_its_means(fold, planes, outputs):
    torch.manual_seed(3)
    small = RestorationNet(2, 16, 2, planes, outputs, fold=fold).eval()
    small.skip.weight.data += 0.01 * torch.randn_like(small.skip.weight)
    x = torch.rand(1, planes, 12, 16)
    large = doubled(small)
    with torch.no_grad():
        wanted = small(x)
        assert large(x).shape[-2:] == (48, 64)
        assert torch.allclose(at_double(large)(x), wanted, atol=1e-5)
        assert torch.allclose(halved(large)(x), wanted, atol=1e-5)
        assert torch.allclose(from_fp32(to_fp32(large))(x), large(x), atol=1e-5)
        for layer in (large.tail, large.body[0]):
            layer.widen.data.normal_(0, 0.1)
            layer.narrow.data.normal_(0, 0.1)
        assert torch.allclose(halved(large)(x), at_double(large)(x), atol=1e-5)
    assert at_double(small) is small


def test_a_grown_network_begins_as_the_smaller_one():
    small, generator = net_of(2), torch.Generator().manual_seed(8)
    large = RestorationNet(2, 32, 6)
    grow(large, small)
    x = torch.rand(1, 2, 40, 32, generator=generator)
    assert (large(x) - small(x)).abs().max() < 1e-5
    large(x).sum().backward()
    # The new channels are alive: they learn and are heard of.
    assert large.body[0].direct.grad[:16, 16:].abs().max() > 0
    assert large.tail.direct.grad[:, 16:].abs().max() > 0


def halved_bytes(net, x):
    """The collapsed network in float16 throughout, as a GPU runs it, and its largest value."""
    largest, y = 0.0, x.half()
    layers = [(conv.collapsed(), conv.stride) for conv in [*net.layers(), net.tail]]
    for at, ((kernel, bias), stride) in enumerate(layers):
        y = F.conv2d(y, kernel.half(), bias.half(), stride, (kernel.shape[-1] - stride) // 2)
        if at < len(layers) - 1:
            y = F.relu(y) if net.slopes is None else F.prelu(y, net.slopes[at].half())
        largest = max(largest, float(y.abs().max()))
    seen = x[:, :net.skip.in_channels].half()
    y = (y + F.conv2d(seen, net.skip.weight.half(), net.skip.bias.half(), net.fold, 2)) * net.gains[:, None, None].half()
    return F.pixel_shuffle(y, net.fold * net.scale), largest


def saturated_inputs():
    """Pictures that drive a network hardest: black, white, both side by side in several grains, at every strength."""
    generator = torch.Generator().manual_seed(5)
    even = torch.arange(64)
    for strength in (0.0, 0.5, 1.0):
        pictures = [torch.zeros(64, 64), torch.full((64, 64), 1.09), torch.full((64, 64), -0.07)]
        pictures += [((even[:, None] // n + even[None] // n) % 2).float() * 1.16 - 0.07 for n in (1, 2, 4)]
        pictures += [(torch.rand(64, 64, generator=generator) > 0.5).float()]
        for picture in pictures:
            # Chroma as far as it goes, where luma is bright one way and where it is dark the other.
            chroma = picture.sub(0.5).clamp(-0.57, 0.57)
            yield torch.stack([picture, torch.full_like(picture, strength), chroma, -chroma])[None]


SHIPPED = [name for name, network in NETWORKS.items() if (MODELS / network.file('fp32')).exists()]


@pytest.mark.parametrize('name', SHIPPED)
def test_a_shipped_file_is_taken_up_as_it_is(name):
    data = (MODELS / NETWORKS[name].file('fp32')).read_bytes()
    net = load_averaged(load_state(MODELS / NETWORKS[name].file('fp32')))
    again = numpy_helper.to_array(onnx.load_from_string(to_fp32(net)).graph.initializer[2])
    assert np.allclose(again, numpy_helper.to_array(onnx.load_from_string(data).graph.initializer[2]), atol=1e-6)
    assert sum(c.narrow.abs().sum() for c in net.layers()) == 0 and net.head.widen.abs().sum() > 0


@pytest.mark.parametrize('name', SHIPPED)
@torch.no_grad()
def test_shipped_weights_are_safe_in_float16(name):
    if NETWORKS[name].scale != 2:
        pytest.skip('runs on the processor alone')
    net = load_averaged(load_state(MODELS / NETWORKS[name].file('fp32')))
    for x in saturated_inputs():
        x = x[:, :net.planes]
        y, largest = halved_bytes(net, x)
        assert largest < 65504 / 64 and torch.isfinite(y).all()
        assert (y.float() - net(x)).abs().mean() < 0.5 / 219
