"""Scores on folders of pairs as the papers' packs hold them: NAME_HR.png and NAME_LR.png, or pictures alone."""
import json
from pathlib import Path

import numpy as np
from PIL import Image

from .photos import HERE, GroundError, bicubic_pair, ycbcr, ycbcr_420
from .release import load_averaged, load_state
from .validate import photo_score, scores

PAPERS = HERE / 'papers.json'


def _rgb(path):
    with Image.open(path) as opened:
        return np.asarray(opened.convert('RGB'))


def pairs_of(folder):
    """[(name, HR, LR)] as bytes [3, H, W]. Without files named *_HR.* every picture is reduced (bicubic)."""
    folder = Path(folder)
    high = sorted(folder.glob('*_HR.*'))
    if high:
        files = [(p, p.with_name(p.name.replace('_HR.', '_LR.'))) for p in high]
        return [(h.name, ycbcr(_rgb(h)), ycbcr_420(_rgb(l))) for h, l in files]
    pictures = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in ('.png', '.jpg', '.bmp', '.webp')]
    if not pictures:
        raise GroundError(f'no_pictures: {folder} holds no pictures.')
    found = []
    for path in pictures:
        rgb = _rgb(path)
        rgb = rgb[:rgb.shape[0] // 2 * 2, :rgb.shape[1] // 2 * 2]
        found.append((path.name, *bicubic_pair(rgb)))
    return found


def score(network, run, wanted):
    """Scores a run that is not shipped on sets, [(name, folder)], strength 0, in float32; keeps them in PAPERS."""
    state = load_state(Path(run) / 'last.pt')
    net, found = load_averaged(state), {}
    for name, folder in wanted:
        pairs = pairs_of(folder)
        found[f'{name} ({len(pairs)})'] = {n: [round(float(v), 4) for v in row] for n, row in scores(net, pairs).items()}
    result = {'network': network.name, 'recipe': state['label'], 'steps': state['number'],
              'hours': round(state['hours'], 2), 'validation': round(photo_score(net), 3), 'sets': found}
    PAPERS.write_text(json.dumps(result, indent=1) + '\n')
    return result
