"""Pictures for visual comparison: sheets of crops side by side, and pairs for a blind test."""
import json
from pathlib import Path

import numpy as np
from ground.photos import GroundError
from PIL import Image, ImageDraw, ImageFont

CROP = (180, 240)        # height and width of a cell, pixels of the result
PAIR = (400, 480)        # height and width of a picture to judge
COLUMNS = ('lanczos', 'fast', 'detail', 'auto', 'realesr-animevideov3', 'realesrgan-x4plus', 'truth')
LABELS = {'lanczos': 'Lanczos', 'truth': 'truth'}
GAP, HEADER = 4, 22
PAPER, INK = (250, 250, 250), (20, 20, 20)


def most_textured(picture, size):
    """The slices of the part of a luma picture with the largest gradients."""
    p = np.asarray(picture, np.float32)
    energy = np.hypot(*np.gradient(p))
    total = np.pad(energy.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    (h, w), step = (min(n, side) for n, side in zip(size, p.shape)), 8
    sums = total[h:, w:] - total[:-h, w:] - total[h:, :-w] + total[:-h, :-w]
    y, x = np.unravel_index(np.argmax(sums[::step, ::step]), sums[::step, ::step].shape)
    return slice(y * step, y * step + h), slice(x * step, x * step + w)


def text(draw, at, line, fill=INK):
    draw.text(at, line, fill, ImageFont.load_default(14.0))


def shown(rows, columns=COLUMNS):
    """The columns that at least one row has."""
    return [c for c in columns if any(c in crops for _, crops in rows)]


def described(group, rows):
    """The alternative text of a sheet."""
    columns = ', '.join(LABELS.get(name, name) for name in shown(rows))
    return f'{group}: crops side by side, columns {columns}; rows {", ".join(label for label, _ in rows)}'


def sheet(rows, columns=COLUMNS):
    """A picture of labelled columns. rows: [(label, {column: RGB crop})]; columns that no row has are omitted."""
    names = shown(rows, columns)
    height, width = rows[0][1][names[0]].shape[:2]
    whole = Image.new('RGB', (len(names) * (width + GAP) - GAP, HEADER + len(rows) * (height + GAP) - GAP), PAPER)
    draw = ImageDraw.Draw(whole)
    for at, name in enumerate(names):
        text(draw, (at * (width + GAP) + 4, 2), LABELS.get(name, name))
        for row, (_, crops) in enumerate(rows):
            if name in crops:
                whole.paste(Image.fromarray(crops[name]), (at * (width + GAP), HEADER + row * (height + GAP)))
    for row, (label, _) in enumerate(rows):
        if not label:
            continue
        y = HEADER + row * (height + GAP)
        draw.rectangle([0, y, draw.textlength(label, ImageFont.load_default(14.0)) + 8, y + 18], PAPER)
        text(draw, (4, y + 1), label)
    return whole


def pairs_of(name, crops, candidate, others):
    """The pairs for the judge: [(clip, candidate, other, {method: crop})]."""
    return [(name, candidate, other, {m: crops[m] for m in (candidate, other)}) for other in others
            if candidate in crops and other in crops]


def blind_order(pairs, seed):
    """[(file name, A, B, pair)]: the pairs with random order, file names and sides."""
    rng = np.random.default_rng(seed)
    order = []
    for at in rng.permutation(len(pairs)):
        pair = pairs[at]
        sides = pair[1:3] if rng.random() < 0.5 else pair[2:0:-1]
        order.append((rng.bytes(4).hex(), *sides, pair))
    return order


def key_of(folder):
    """The path of a folder's key. It lies beside the folder, so that the judge can receive the folder without it."""
    folder = Path(folder).resolve()
    return folder.with_name(f'{folder.name}.key.json')


def write_blind(folder, pairs, seed=None):
    """Writes a PNG of every pair, A left and B right, and answers.json, which the judge fills in with A, B or = (`judged`).
    Writes the key beside the folder (`key_of`). Without a seed every call has a different order."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob('*.png'):
        old.unlink()
    key = {}
    for file, a, b, (name, candidate, other, crops) in blind_order(pairs, seed):
        sheet([('', {'A': crops[a], 'B': crops[b]})], ('A', 'B')).save(folder / f'{file}.png')
        key[file] = {'A': a, 'B': b, 'clip': name, 'candidate': candidate, 'other': other}
    key_of(folder).write_text(json.dumps(key, indent=1) + '\n')
    # Sorted by name, so that the order of creation reveals nothing.
    (folder / 'answers.json').write_text(json.dumps(dict.fromkeys(sorted(key), ''), indent=1) + '\n')


def _answers(folder):
    """Reads (key, answers) of a folder of pairs. Raises GroundError."""
    try:
        key, answers = (json.loads(path.read_text()) for path in (key_of(folder), Path(folder) / 'answers.json'))
    except (OSError, ValueError) as error:
        raise GroundError(f'no_answers: {folder} needs its answers.json and, beside it, {key_of(folder).name}: {error}') from error
    for file, answer in answers.items():
        if file not in key or answer not in ('A', 'B', '=', ''):
            raise GroundError(f'bad_answer: {file}: {answer!r} is not A, B, = or empty for one of the pairs.')
    return key, answers


def judged(folder):
    """{other: {'pairs', 'open', 'taken', 'share'}}: how often the judge preferred the candidate to each other method. Ties count
    half; `open` pairs have no answer yet and do not count."""
    key, answers = _answers(folder)
    found = {}
    for file, pair in key.items():
        answer = answers.get(file, '')
        row = found.setdefault(pair['other'], {'pairs': 0, 'open': 0, 'taken': 0.0})
        row['pairs' if answer else 'open'] += 1
        row['taken'] += 0.5 if answer == '=' else float(pair.get(answer) == pair['candidate'])
    return {other: {**row, 'share': row['taken'] / row['pairs'] if row['pairs'] else None} for other, row in found.items()}
