"""The results by chain and method, and the goals that a run reaches."""
import numpy as np

METRICS = ('vmaf', 'neg', 'psnr_y', 'jod', 'features', 'flicker', 'invented')
CLEAN, TEXT, BLURRED = 'clean', 'text', ('enlarged', 'blurred')
BASE, FAITHFUL = 'lanczos', 'fast'
PEERS = ('realesr-animevideov3', 'clearreality')


def table(clips):
    """Averages [{'chain', 'methods': {method: {metric: value}}}] to {chain: {method: {metric: mean}}}."""
    chains = {}
    for clip in clips:
        for method, row in clip['methods'].items():
            chains.setdefault(clip['chain'], {}).setdefault(method, []).append(row)
    return {chain: {m: means(rows) for m, rows in methods.items()} for chain, methods in chains.items()}


def means(rows):
    """{metric: mean} over the rows that have the metric."""
    kept = {metric: [row[metric] for row in rows if row.get(metric) is not None] for metric in (*METRICS, 'ms')}
    return {metric: float(np.mean(values)) for metric, values in kept.items() if values}


def damaged_means(clips):
    """{method: {metric: mean}} over all chains except the clean one; every chain has the same weight."""
    chains = [methods for chain, methods in table(clips).items() if chain != CLEAN]
    names = {name for methods in chains for name in methods}
    return {name: means([methods[name] for methods in chains if name in methods]) for name in names}


def goal(name, wanted, got, passed):
    """One goal. `passed` is None if the run did not measure it."""
    return {'goal': name, 'wanted': wanted, 'got': got, 'passed': passed}


def _least(name, wanted, got):
    return goal(name, f'≥ {wanted:g}', None if got is None else round(got, 3), None if got is None else bool(got >= wanted))


def _most(name, wanted, got):
    return goal(name, f'≤ {wanted:g}', None if got is None else round(got, 3), None if got is None else bool(got <= wanted))


def _gain(rows, metric, other=BASE, method='auto'):
    """The gain of `method` over `other` in one table; None if either was not measured."""
    a, b = (rows.get(name, {}).get(metric) for name in (method, other))
    return None if a is None or b is None else a - b


def _worst(gains):
    gains = [g for g in gains if g is not None]
    return min(gains) if gains else None


def _over_peers(rows, method):
    """Goals against each peer: at least its VMAF-NEG and PSNR-Y in a tenth of its time."""
    found = []
    for peer in PEERS:
        for metric, unit in (('neg', 'VMAF-NEG'), ('psnr_y', 'PSNR-Y')):
            found.append(_least(f'{unit} over {peer}', 0, _gain(rows, metric, peer, method)))
        times = [rows.get(name, {}).get('ms') for name in (method, peer)]
        found.append(_most(f'time as a share of that of {peer}', 0.1, times[0] / times[1] if all(times) else None))
    return found


def _clip_gains(clips, metric, method):
    return [_gain(clip['methods'], metric, BASE, method) for clip in clips]


def _flicker(clips, method):
    """Mean ratio to the flicker of Lanczos, which counts as at least one 8-bit level (an encoder that copies frames has none)."""
    ratios = [c['methods'][method]['flicker'] / max(1.0, c['methods'][BASE]['flicker']) for c in clips
              if all('flicker' in c['methods'].get(name, {}) for name in (method, BASE))]
    return float(np.mean(ratios)) if ratios else None


def _invented(chain):
    """The least invented detail of any peer in text; None if no peer ran."""
    found = [chain[p]['invented'] for p in PEERS if 'invented' in chain.get(p, {})]
    return min(found) if found else None


def goals(clips, method='auto'):
    """[{'goal', 'wanted', 'got', 'passed'}] of the measured clips: the goals of `method`."""
    rows, chains = damaged_means(clips), table(clips)
    damaged = {name: methods for name, methods in chains.items() if name != CLEAN}
    text = chains.get(TEXT, {})
    return [
        _least('VMAF over Lanczos, damaged chains', 20, _gain(rows, 'vmaf', BASE, method)),
        _least('VMAF-NEG over Lanczos, damaged chains', 15, _gain(rows, 'neg', BASE, method)),
        _least('PSNR-Y over Lanczos, damaged chains', 0, _gain(rows, 'psnr_y', BASE, method)),
        *(_least(f'VMAF-NEG over Lanczos, chain {chain}', 15, _gain(chains.get(chain, {}), 'neg', BASE, method))
          for chain in BLURRED),
        _least('VMAF-NEG over `fast`, worst chain', 0,
               _worst(_gain(methods, 'neg', FAITHFUL, method) for methods in damaged.values())),
        _least('JOD over Lanczos, worst clip', 0, _worst(_clip_gains(clips, 'jod', method))),
        *_over_peers(rows, method),
        _least('PSNR-Y over `fast`, clean sources', -0.05, _gain(chains.get(CLEAN, {}), 'psnr_y', FAITHFUL, method)),
        _most('flicker as a multiple of Lanczos’', 1.1, _flicker(clips, method)),
        _least('PSNR-Y over Lanczos, small text', 0, _gain(text, 'psnr_y', BASE, method)),
        _less_invented(text, method),
    ]


# What the words for known damage must say rightly: (goal, key of `named.row_of`, share of the videos).
NAMED = (('true resolution named within 20 %', 'near', 0.9), ('heavy compression told from light', 'told', 0.95))

# How often a judge must prefer the candidate to another method.
TAKEN = {FAITHFUL: 0.9, PEERS[0]: 0.5}


def judged_goals(shares):
    """Goals of `sheets.judged`: {other: {'share', …}}. Exactly half is not more than half."""
    found = []
    for other, least in TAKEN.items():
        share = shares.get(other, {}).get('share')
        passed = None if share is None else bool(share > least if least == 0.5 else share >= least)
        found.append(goal(f'preferred to {other}', f'{">" if least == 0.5 else "≥"} {least:g}', share, passed))
    return found


def named_goals(rows):
    """Goals of the words for known damage; `rows` of `named.measure`."""
    return [_least(f'{name}, share of videos', wanted, _share(rows, key)) for name, key, wanted in NAMED]


def named_as_markdown(rows):
    """Shares in per cent, by chain; all videos first."""
    lines = ['| damage | videos | resolution within 20 % | heavy compression told from light | falsely called enlarged |',
             '| --- | --- | --- | --- | --- |']
    for chain in (None, *dict.fromkeys(row['chain'] for row in rows)):
        here = [row for row in rows if chain in (None, row['chain'])]
        cells = [_cell(None if share is None else 100 * share, 0) for share in (_share(here, key) for key in ('near', 'told', 'falsely'))]
        lines.append(_line(chain or 'all', [str(len(here)), *cells]))
    return '\n'.join(lines) + '\n'


def _share(rows, key):
    """Of those that tell; None of none."""
    told = [row[key] for row in rows if row[key] is not None]
    return float(np.mean(told)) if told else None


def _less_invented(text, method):
    own, others = text.get(method, {}).get('invented'), _invented(text)
    passed = None if own is None or others is None else own < others
    wanted = 'less than the peers' if others is None else f'< {others:.3f}'
    return goal('invented detail, small text', wanted, None if own is None else round(own, 3), passed)


def as_markdown(clips, order):
    """The means of the damaged chains by method, and VMAF-NEG by chain, as two tables."""
    rows, chains = damaged_means(clips), table(clips)
    names = [name for name in order if name in rows]
    head = ('| method | VMAF | VMAF-NEG | PSNR-Y | JOD | features | flicker | invented | ms a frame |\n'
            '| --- | --- | --- | --- | --- | --- | --- | --- | --- |')
    lines = [head, *(_line(name, [_cell(rows[name].get(metric)) for metric in (*METRICS, 'ms')]) for name in names)]
    kinds = list(chains)
    lines += ['', _line('VMAF-NEG', kinds), _line('---', ['---'] * len(kinds))]
    lines += [_line(name, [_cell(chains[kind].get(name, {}).get('neg'), 1) for kind in kinds]) for name in order
              if any(name in chains[kind] for kind in kinds)]
    return '\n'.join(lines) + '\n'


def footage_as_markdown(clips, order):
    """VMAF, VMAF-NEG, PSNR-Y and the change of the error of real videos, by chain and method; their means first."""
    columns = ('vmaf', 'neg', 'psnr_y', 'flicker')
    tables = {'all': damaged_means(clips), **table(clips)}
    lines = ['| real motion | method | VMAF | VMAF-NEG | PSNR-Y | change of error |', '| --- | --- | --- | --- | --- | --- |']
    lines += [_line(chain, [name, *(_cell(rows[name].get(metric)) for metric in columns)])
              for chain, rows in tables.items() for name in order if name in rows]
    return '\n'.join(lines) + '\n'


def goals_as_markdown(found):
    """A table of goals: the wanted and the measured value."""
    labels = {True: 'yes', False: 'no', None: 'not measured'}
    lines = [f'| {g["goal"]} | {g["wanted"]} | {"" if g["got"] is None else g["got"]} | {labels[g["passed"]]} |' for g in found]
    return '\n'.join(['| goal | wanted | got | reached |', '| --- | --- | --- | --- |', *lines]) + '\n'


def _line(name, cells):
    return f'| {name} | ' + ' | '.join(cells) + ' |'


def _cell(value, digits=2):
    return '' if value is None else f'{value:.{digits}f}'
