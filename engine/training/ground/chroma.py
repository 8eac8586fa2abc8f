"""The last layer of chroma, fitted instead of trained: from what the body sees to Cb and Cr is a linear step, whose best
kernels are those of least squares. Gradients, made small beside luma's, do not find them in a run's time.
"""
import torch
import torch.nn.functional as F

from .network import skip_kernel, skip_size

RIDGE = 1e-3    # of the mean square of the inputs: how strongly kernels are held to interpolation where nothing asks for more
MARGIN = 2      # pixels of the body's resolution at the borders of a patch that say nothing of pictures
FLOOR = 1e-5    # mean square error (about 0.7 8-bit levels) below which a sample is no more important than others


@torch.no_grad()
def _seen(net, x):
    """What the last layer sees at every place inside, [N, d, places], the last of d being 1."""
    y = net.seen_by_tail(x)
    sides = [n // net.fold for n in x.shape[2:]]
    parts = [F.unfold(y, 3, padding=1), F.unfold(x, skip_size(net.fold), padding=2, stride=net.fold)]
    parts.append(torch.ones(len(x), 1, sides[0] * sides[1]))
    return _inside(torch.cat(parts, 1), sides)


def _inside(columns, sides):
    grid = columns.unflatten(2, sides)[..., MARGIN:-MARGIN, MARGIN:-MARGIN]
    return grid.flatten(2)


@torch.no_grad()
def fit_chroma(net, batches):
    """Sets the kernels of `net` (in place) that make Cb and Cr. `batches`: (input [N, 4, H, W], wanted [N, 3, 2H, 2W]).
    A sample counts by the inverse of the error that interpolation leaves of it, so that decibels are what is won."""
    blocks, size = (net.fold * net.scale) ** 2, skip_size(net.fold)
    cubic = skip_kernel(net.scale, net.planes, net.outputs, net.fold)[blocks:]
    moments, products = 0, 0
    for x, wanted in batches:
        seen = _seen(net, x)
        left = F.pixel_unshuffle(wanted[:, 1:], net.fold * net.scale) - F.conv2d(x, cubic, None, net.fold, 2)
        left = _inside(left.flatten(2), [n // net.fold for n in x.shape[2:]])
        weights = 1 / (left.square().mean((1, 2)) + FLOOR)
        weighted = seen * weights[:, None, None]
        moments = moments + torch.einsum('ndp,nep->de', weighted, seen).double()
        products = products + torch.einsum('ndp,nop->do', weighted, left).double()
    damping = RIDGE * moments.diag() + 1e-9 * moments.diag().mean()
    kernels = torch.linalg.solve(moments + torch.diag(damping), products).T.float() / net.gains[blocks:, None]
    inner = 9 * net.features
    net.tail.direct[blocks:] = kernels[:, :inner].unflatten(1, (net.features, 3, 3))
    for rows in (net.tail.narrow, net.tail.point):
        rows[blocks:] = 0
    net.tail.bias[blocks:] = kernels[:, -1]
    net.skip.weight[blocks:] = (cubic / net.gains[blocks:, None, None, None]
                                + kernels[:, inner:-1].unflatten(1, (net.planes, size, size)))
    net.skip.bias[blocks:] = 0
