"""Scores of a method's result against the known truth, on the middle of the frame (two thirds of each side)."""
import numpy as np
import torch
from ground.damage import gaussian
from ground.metrics import psnr, unsteadiness
from ground.perceptual import Features
from ground.real_scores import as_yuv420p, vmaf_of
from ground.resize import to_bytes

from .pictures import luma

SHARE = 2 / 3
JOD_SIDE = 256     # ColorVideoVDP takes a second per frame of this size on a CPU, so it scores only the middle
FEATURE_SIDE = 512
WINDOW = 48        # pixels: side of the windows in which the truth's detail is fitted to a picture's
DETAIL = 8.0       # pixels of the truth: sigma of the Gaussian that removes detail, such as letters and their strokes


def middle(shape, share=SHARE):
    """The slices of the scored part; its sides are multiples of four."""
    parts = []
    for side in shape[:2]:
        kept = int(side * share) // 4 * 4
        first = (side - kept) // 4 * 2
        parts.append(slice(first, first + kept))
    return tuple(parts)


def square(shape, side=JOD_SIDE):
    """The slices of the square in the middle, cut to the picture; their bounds are even."""
    firsts = [(n - min(n, side)) // 4 * 2 for n in shape[:2]]
    return tuple(slice(first, first + min(n, side)) for first, n in zip(firsts, shape))


def change_of_error(pictures, truths):
    """Root mean square change of the error from picture to picture, in 8-bit levels. The original has 0."""
    errors = [a.astype(np.float32) - b for a, b in zip(pictures, truths)]
    return float(np.sqrt(np.mean([np.mean((b - a)**2) for a, b in zip(errors, errors[1:])])))


def _detail(picture):
    picture = np.asarray(picture, np.float32)
    return picture - gaussian(picture.shape[0], DETAIL) @ picture @ gaussian(picture.shape[1], DETAIL).T


def invented(made, truth):
    """The detail of a picture that the truth does not have, as a share of the truth's detail. In every window the truth's detail
    is scaled to fit best and subtracted; the rest is invented. Soft letters leave little, false letters leave much."""
    found, wanted = (_windows(_detail(p)) for p in (made, truth))
    gain = np.clip((found * wanted).sum(-1) / np.maximum((wanted * wanted).sum(-1), 1e-6), 0, None)
    rest = found - gain[..., None] * wanted
    return float(np.sqrt(np.mean(rest**2) / max(np.mean(wanted**2), 1e-6)))


def _windows(picture):
    """Splits a picture into whole windows: [windows, pixels]."""
    h, w = (n // WINDOW for n in picture.shape)
    cut = picture[:h * WINDOW, :w * WINDOW].reshape(h, WINDOW, w, WINDOW)
    return cut.swapaxes(1, 2).reshape(h * w, -1)


class Scorer:
    """Holds the models of the metrics."""

    def __init__(self, has_jod=True):
        self.features, self.vdp = Features(), None
        if has_jod:
            import pycvvdp  # imported late: everything else works without it

            self.vdp = pycvvdp.cvvdp(display_name='standard_fhd', heatmap=None, device=torch.device('cpu'), quiet=True)

    def jod(self, made, truth, rate):
        """Quality of RGB frames [n, h, w, 3] in just-objectionable differences; 10 is no difference."""
        with torch.no_grad():
            return float(self.vdp.predict(made, truth, dim_order='FHWC', frames_per_second=rate)[0])

    def distance(self, made, truth):
        """Distance between the features of two luma pictures."""
        def tensor(p):
            return torch.from_numpy((p.astype(np.float32) - 16) / 219)[None, None]
        with torch.no_grad():
            return float(self.features.distance(tensor(made), tensor(truth))[0])

    def scores(self, made, clip, rate, has_jod=True):
        """{metric: value} of a `methods.Made`. A method with fewer frames is scored on those frames."""
        count = len(made.luma)
        part = middle(made.luma[0].shape)
        pictures = [p[part] for p in made.luma]
        truths = [to_bytes(luma(t[part])) for t in clip.truth[:count]]
        row = {'psnr_y': float(np.mean([psnr(a, b, 0) for a, b in zip(pictures, truths)])),
               **vmaf_of(*(b''.join(map(as_yuv420p, planes)) for planes in (pictures, truths)), truths[0].shape),
               'features': self.distance(*(p[count // 2][square(p[0].shape, FEATURE_SIDE)] for p in (pictures, truths))),
               'invented': invented(pictures[count // 2], truths[count // 2]),
               'frames': count}
        if count > 1:
            row['flicker'] = change_of_error(pictures, truths) if clip.motion is None else unsteadiness(pictures, clip.motion)
        if self.vdp is not None and has_jod:
            part = square(made.luma[0].shape)
            row['jod'] = self.jod(np.stack([made.rgb(n, part) for n in range(count)]), clip.truth[:count][(slice(None), *part)], rate)
        return row
