"""The log of a run as a picture."""
import json

import matplotlib

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402  (the backend comes first)


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def draw(log, out, title, levels=None):
    """PNG with the loss and every logged score over the steps; `levels` are named horizontal lines (dB)."""
    rows = read_log(log)
    names = sorted({k for r in rows for k in r if k.startswith('psnr') or k.endswith('_gain')})
    figure, axes = pyplot.subplots(1 + len(names), 1, figsize=(8, 3 * (1 + len(names))), sharex=True, squeeze=False)
    top, *others = axes[:, 0]
    top.plot([r['step'] for r in rows], [r['loss'] for r in rows], marker='.')
    top.set_ylabel('training loss')
    top.set_yscale('log')
    top.set_title(title)
    for axis, name in zip(others, names):
        some = [r for r in rows if name in r]
        axis.plot([r['step'] for r in some], [r[name] for r in some], marker='.')
        axis.set_ylabel(name.replace('_', ' ') + ('' if name in ('vmaf_gain', 'neg_gain') else ', dB'))
        for label, level in (levels or {}).get(name, {}).items():
            axis.axhline(level, color='grey', linestyle=':')
            axis.annotate(label, (some[0]['step'], level), fontsize=8)
    for axis in axes[:, 0]:
        axis.grid(alpha=0.3)
    axes[-1, 0].set_xlabel('step')
    figure.tight_layout()
    figure.savefig(out, dpi=80)
    pyplot.close(figure)
