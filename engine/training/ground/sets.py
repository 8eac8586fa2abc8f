"""Scores on folders of pairs as the papers' packs hold them: NAME_HR.png and NAME_LR.png, or pictures alone."""
from pathlib import Path

import numpy as np
from PIL import Image

from .photos import GroundError, bicubic_pair, luma
from .resize import to_bytes
from .validate import scores


def _rgb(path):
    with Image.open(path) as opened:
        return np.asarray(opened.convert('RGB'))


def pairs_of(folder):
    """[(name, HR luma, LR luma)] as bytes. Without files named *_HR.* every picture is reduced (bicubic)."""
    folder = Path(folder)
    high = sorted(folder.glob('*_HR.*'))
    if high:
        files = [(p, p.with_name(p.name.replace('_HR.', '_LR.'))) for p in high]
        return [(h.name, to_bytes(luma(_rgb(h))), to_bytes(luma(_rgb(l)))) for h, l in files]
    pictures = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in ('.png', '.jpg', '.bmp', '.webp')]
    if not pictures:
        raise GroundError(f'no_pictures: {folder} holds no pictures.')
    found = []
    for path in pictures:
        rgb = _rgb(path)
        rgb = rgb[:rgb.shape[0] // 2 * 2, :rgb.shape[1] // 2 * 2]
        found.append((path.name, *bicubic_pair(rgb)))
    return found


def table(net, folders):
    """{folder's name: {method: (PSNR-Y, SSIM-Y)}}."""
    return {Path(f).name: scores(net, pairs_of(f)) for f in folders}
