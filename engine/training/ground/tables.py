"""engine/models/README.md, written from the manifest, the logs and fresh measurements. Nothing in it is typed in."""
import hashlib
import json
from pathlib import Path

from . import sets
from .curves import draw
from .openvino_net import OpenVinoNet
from .photos import HERE, GroundError
from .release import MODELS, device
from .validate import filter_scores

INTRODUCTION = '''# Networks

Made by this project: trained by `engine/training` on the photographs listed below and on what that code makes of them. The
training of `detail-best` began with the weights of Real-ESRGAN's realesr-animevideov3 ([licence](detail-best.LICENSE.txt)); no
other weights come from elsewhere. This page is written by `engine/training/ground.sh tables`; the numbers are those of
the files in this folder as OpenVINO runs them. `manifest.json` says the same to programs.

Layout `luma+strength`, input `x`: float32 [1, 2, H, W], H and W even. Plane 0: luma, gamma-coded, 0 black, 1 white.
Plane 1: the strength of restoration, 0 to 1: the root mean square of what noise and coding added to the luma, in 8-bit
levels / 50 (0: enlarge only; 0.5: noise of sigma 25); for the blind networks (`detail`) how much of the restoration is wanted
(0: the faithful result, 1: all of it). Output `y`: float32 [1, 1, scale·H, scale·W], luma, not clipped.

Layout `ycbcr+strength`, input `x`: float32 [1, 4, H, W]: the same, and Cb and Cr on luma's grid, 0 neutral, −0.5 to 0.5.
Output `y`: float32 [1, 3, scale·H, scale·W], Y, Cb and Cr, not clipped.
'''


def _row(cells):
    return '| ' + ' | '.join(str(c) for c in cells) + ' |\n'


def _table(head, rows):
    return '\n' + _row(head) + _row(['---'] * len(head)) + ''.join(_row(r) for r in rows)


def _models():
    models = json.loads((MODELS / 'manifest.json').read_text())['models']
    # Faces have a page of their own; a file that serves under two names is shown once.
    models = list({m['file']: m for m in reversed(models) if m['layout'] != 'face'}.values())[::-1]
    for model in models:
        data = (MODELS / model['file']).read_bytes()
        if hashlib.sha256(data).hexdigest() != model['sha256']:
            raise GroundError(f'file_changed: {model["file"]} is not the file of the manifest.')
        model['bytes'] = data
    return models


def _files(models):
    rows = []
    for m in models:
        fast, median = OpenVinoNet(m['bytes'], m['scale']).milliseconds()
        rows.append([f'`{m["file"]}`', m['scale'], m['layout'], m['precision'], len(m['bytes']),
                     f'{fast:.1f} / {median:.1f}', m['scores'].get('loss_db', '')])
    return ('\n## Files\n\nTime: one frame of 960×540, 2 threads, fastest / median of 20 runs, on ' + device() + '.\n'
            + _table(['file', 'scale', 'layout', 'precision', 'bytes', 'ms', 'dB below fp32'], rows))


def _scores(model):
    """Tables of one file: photographs, clips, noise."""
    s, text = model['scores'], f'\n### `{model["file"]}`\n'
    if 'real' in s:
        return text + _real_scores(s, model['scale'])
    others = ['bicubic', 'lanczos3'] if model['scale'] == 2 else ['source']
    chroma = {k: name for k, name in CHROMA.items() if k in s.get('validation', {})}
    rows = []
    if 'validation' in s:
        v = s['validation']
        rows.append(['photographs, strength 0', '', v['psnr_y'], *(v[o] for o in others), *(v[c] for c in chroma)])
    for table in ('clips', 'noise'):
        for group, r in s[table].items():
            rows.append([group, r['pictures'], r['network'], *(r[o] for o in others), *(r.get(c, '') for c in chroma)])
    return text + _table(['validation data', 'pictures', 'network', *others, *chroma.values()], rows)


def _real_scores(scores, scale):
    """What a network of real damage gains by chain; flicker is a multiple."""
    over = 'the source' if scale == 1 else 'Lanczos-3'
    rows = [[chain, *(round(r[k], 2) for k in ('psnr_gain', 'vmaf', 'neg', 'flicker'))] for chain, r in scores['real'].items()]
    if 'faithful_gain' in scores:
        rows.append(['clean, strength 0', round(scores['faithful_gain'], 2), '', '', ''])
    return _table([f'damage, gains over {over}', 'PSNR-Y, dB', 'VMAF', 'VMAF-NEG', 'flicker, times'], rows)


def _on_sets(models, wanted):
    """PSNR-Y / SSIM-Y of the ×2 files on sets of pictures."""
    if not wanted:
        return ''
    text = ('\n## Sets of the papers\n\nPSNR-Y / SSIM-Y, ×2, strength 0; Y of BT.601, a border of 2 pixels cut off. '
            'The sets are not part of this project and were not trained on.\n')
    rows, head = [], ['set', 'bicubic', 'lanczos3']
    enlarging = [m for m in models if m['scale'] == 2]
    for name, folder in wanted:
        pairs, cells = sets.pairs_of(folder), []
        for model in enlarging:
            scores = sets.scores(OpenVinoNet(model['bytes'], 2), pairs)
            cells.append(scores['network'])
        cells = [scores['bicubic'], scores['lanczos3'], *cells]
        rows.append([f'{name} ({len(pairs)})', *(f'{p:.2f} / {q:.4f}' for p, q in cells)])
    return text + _table(head + [f'`{m["file"]}`' for m in enlarging], rows)


SCORES = '''
## Scores

PSNR-Y in dB on pictures that were not trained on; “chroma”: mean PSNR of Cb and Cr at half of luma's size, as videos carry
them (the networks of luma alone leave chroma to Lanczos-3). ×4 networks are scored at ×2, where the truth is known: their output is
reduced by means of 2 × 2 pixels. Gains by damage: PSNR-Y of a picture each of 12 validation photographs (strength 0: of 24), VMAF and
flicker of six pictures each of 4 of them.
'''
CHROMA = {'network_chroma': 'chroma, network', 'lanczos3_chroma': 'chroma, lanczos3'}
COLUMNS = {'psnr_y': 'PSNR-Y', 'psnr_cb': 'PSNR-Cb', 'psnr_cr': 'PSNR-Cr', 'ssim_y': 'SSIM-Y', 'gain_over_lanczos3_db': 'over Lanczos-3', 'worst_gain_db': 'worst',
           'vmaf': 'VMAF', 'flicker_ratio': 'flicker', 'ms_per_frame': 'ms', 'cpu_ms_per_frame': 'CPU ms'}


def _engine(files):
    """Tables of what `npm run bench:networks -- … --json` printed, a file each."""
    text = ''
    for file in files:
        rows = [json.loads(line) for line in Path(file).read_text().splitlines() if line.strip()]
        if not rows:
            raise GroundError(f'empty_bench: {file} holds no lines.')
        kind, count = rows[0].get('degrade', ''), rows[0].get('samples', 0)
        text += f'\n### ×{rows[0]["scale"]}, {kind}, {count} originals; times for {rows[0]["timed_size"]}\n'
        text += _table(['method', *COLUMNS.values()],
                       [[f'{r["method"]} {r["precision"]}', *(round(r[c], 3) if c in r else '' for c in COLUMNS)]
                        for r in rows])
    return text and (
        '\n## By the engine\n\nPrinted by `npm run bench:networks -- --hr DIR --degrade KIND --pan N --peer fsrcnn --json`: '
        'the first validation photographs by name (`--limit`) as moving pictures, through the engine\'s own inference. “over Lanczos-3” is the '
        'mean gain in dB, “worst” that of the worst original; flicker: differences between frames against those of '
        'Lanczos-3.\n' + text)


def _real_damage():
    """What `npm run bench:real -- --documents engine/models/real` wrote; nothing where it did not."""
    page = MODELS / 'real' / 'real.md'
    return '' if not page.exists() else (
        '\n## Damaged videos, enhanced\n\nMade by `npm run bench:real -- --documents engine/models/real` (method and columns: '
        '`engine/bench/real/README.md`); all are enhanced to 1080p. Group `real`: clips as people have them, whose truth nobody '
        'knows. Other groups and tables, where there are any: validation photographs as moving pictures through fixed chains of '
        'damage, means of all damaged chains. Crops are where the picture has most texture.\n\n'
        + page.read_text().lstrip())


def _training(models):
    rows = []
    for m in models:
        t = m['training']
        rows.append([f'`{m["file"]}`', t['steps'], t['int8_steps'] if m['precision'] == 'int8' else '', t['hours'],
                     t['device'], f'`{t["command"]}`'])
    return ('\n## Training\n\nHours are of the wall clock, on a machine that did other work as well, and include the runs that the last one began '
            'from (`command`). “On” is the machine of the last run alone.\n') + _table(
        ['file', 'steps', 'int8 steps', 'hours', 'on', 'command'], rows)


def _data(models):
    rows = [[d['source'], d['pictures'], d['licence']] for d in models[0]['data']]
    return ('\n## Data\n\nPhotographs trained on (`engine/training/photos.json` lists each with its SHA-256; one in '
            'ten is kept for validation):\n' + _table(['repository', 'pictures', 'licence as stated'], rows))


def _neighbours():
    """The experiment of `ground.sh neighbours`, from its file; nothing where it has not been made."""
    path = HERE / 'neighbours.json'
    if not path.exists():
        return ''
    result = json.loads(path.read_text())
    groups = sorted(result['rows'][0]['groups'])
    head = ['network', 'steps', *(f'{what}, {group}' for group in groups for what in ('dB', 'unsteadiness')),
            'CPU ms, 960×540, fp32']
    rows = [[r['name'], r['steps'], *(r['groups'][g][k] for g in groups for k in ('psnr_y', 'unsteadiness')),
             r.get('cpu_ms', '')] for r in result['rows']]
    clips = ', '.join(f'{result["rows"][0]["groups"][g]["clips"]} {g}' for g in groups)
    return ('\n## Pictures before and after\n\nMade by `bash engine/training/ground.sh neighbours`: `fast` of step '
            f'{result["start_step"]} trained on with the pictures before and after it as two more planes (aligned by block '
            'matching to half a pixel, weights starting at zero), beside a control trained on the same batches without '
            f'them; scores on clips of the validation photographs ({clips}). Unsteadiness: root mean square change from '
            'picture to picture where the scene does not change, along the known motion, in 8-bit levels (the original: 0). '
            f'Aligning takes {result["aligning_ms_160"]} ms a neighbour of 160×160 in NumPy and is not in the times.\n'
            + _table(head, rows))


def _papers():
    """What the same network reaches that learns nothing but clean pairs, from its file; nothing where there is none."""
    if not sets.PAPERS.exists():
        return ''
    result = json.loads(sets.PAPERS.read_text())
    rows = [[name, *(f'{p:.2f} / {q:.4f}' for p, q in (row['bicubic'], row['lanczos3'], row['network']))]
            for name, row in result['sets'].items()]
    return (f'\n### `{result["network"]}` of clean pairs alone\n\nNot shipped: what the papers train, `bash engine/training/'
            f'train {result["network"]} --recipe {result["recipe"]}` from the shipped weights on (step {result["steps"]}, '
            f'{result["hours"]} hours in all), as PyTorch runs it in float32; on the validation photographs '
            f'{result["validation"]} dB.\n' + _table(['set', 'bicubic', 'lanczos3', result['network']], rows))


def named_sets(wanted):
    """['NAME=FOLDER', …] → [[name, folder], …]"""
    named = [w.split('=', 1) for w in wanted]
    if any(len(n) != 2 for n in named):
        raise GroundError('bad_set: --sets takes NAME=FOLDER.')
    return named


def write_tables(wanted, benches=()):
    """Writes the page and, where a run's log is at hand, its curves. `wanted`: ['NAME=FOLDER', …];
    `benches`: files of what bench:networks printed."""
    named = named_sets(wanted)
    models = _models()
    text = INTRODUCTION + _files(models) + SCORES
    text += ''.join(_scores(m) for m in models) + _on_sets(models, named) + _papers()
    text += _engine(benches) + _real_damage() + _neighbours() + _training(models)
    for png in sorted(MODELS.glob('curves-*.png')):
        text += f'\n![{png.stem}]({png.name})\n'
    (MODELS / 'README.md').write_text(text + _data(models))


def draw_curves(run, network):
    """curves-NAME-xN.png from a run's log."""
    levels = {'psnr_photos': filter_scores()} if network.scale == 2 else {}
    draw(run / 'log.jsonl', MODELS / f'curves-{network.name}-x{network.scale}.png', network.title, levels)
