"""Chroma's last layer by least squares."""
import pytest
import torch
import torch.nn.functional as F

from ground.chroma import fit_chroma
from ground.network import RestorationNet


def coloured_net(fold=2):
    torch.manual_seed(6)
    return RestorationNet(2, 16, 2, 4, 3, fold).eval()


@pytest.mark.parametrize('fold', [1, 2])
@torch.no_grad()
def test_what_a_network_could_make_is_found(fold):
    """The samples' chroma is what another network with the same body makes: nothing else has to be learned."""
    wanted, net, luma = coloured_net(fold), coloured_net(fold), (2 * fold) ** 2
    wanted.tail.direct[luma:] += 0.3 * torch.randn_like(wanted.tail.direct[luma:])
    wanted.skip.weight[luma:] += 0.3 * torch.randn_like(wanted.skip.weight[luma:])
    wanted.tail.bias[luma:] += 0.1
    inputs = [torch.rand(4, 4, 32, 32) - torch.tensor([0, 0, 0.5, 0.5])[:, None, None] for _ in range(12)]
    x = inputs.pop()
    before, begun = net(x)[:, 0], F.mse_loss(net(x)[:, 1:], wanted(x)[:, 1:])
    fit_chroma(net, ((i, wanted(i)) for i in inputs))
    assert torch.equal(net(x)[:, 0], before)
    assert F.mse_loss(net(x)[:, 1:], wanted(x)[:, 1:]) < 0.01 * begun


@torch.no_grad()
def test_where_there_is_nothing_to_learn_chroma_is_interpolated():
    net = coloured_net()
    plain = RestorationNet(2, 16, 2, 4, 3).eval()
    for rows in (plain.tail.direct, plain.tail.narrow, plain.tail.point):
        rows[16:] = 0
    x = torch.rand(2, 4, 32, 32) - torch.tensor([0, 0, 0.5, 0.5])[:, None, None]
    fit_chroma(net, [(i, plain(i)) for i in torch.rand(8, 2, 4, 32, 32) - 0.25])
    assert (net(x)[:, 1:] - plain(x)[:, 1:]).abs().max() < 1e-3
