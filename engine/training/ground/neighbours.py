"""Does it pay to show `fast` the pictures before and after? Both are aligned by `motion` and become two more planes,
whose weights start at zero: the variant starts as `fast`. Beside it trains a control, the same batches without the
planes, and both are held against `fast` itself on clips of the validation photographs.
"""
import json
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from .clips import FRAMES, SIDE, ClipSource, degraded, error_of, make_shard, records_of
from .degrade import luma
from .export import to_fp32
from .metrics import psnr, unsteadiness
from .motion import aligned
from .network import RestorationNet
from .openvino_net import OpenVinoNet
from .photos import HERE, GroundError
from .recipes import recipe
from .release import device, load_averaged, load_state
from .resize import to_bytes
from .samples import normalise, oriented
from .trainer import Run, Trainer

KIND, CLIPS, KEPT = 'neighbours', 5, 3  # shards' name; clips a photograph; pictures kept of a clip (training)
VALIDATION_CLIPS = 6
RECORD = SIDE * SIDE * 3 + 4 * SIDE * SIDE
RESULT = HERE / 'neighbours.json'


def with_neighbours(clip, number):
    """[current, before, after, HR] of picture `number`, luma as bytes; before and after aligned to it."""
    coded = [c[0][0] for c in clip]
    around = [aligned(coded[number], coded[n]) for n in (number - 1, number + 1)]
    return [coded[number], *around, to_bytes(luma(clip[number][3])), error_of(coded[number], clip[number][2])]


def some(rng, picture, plan):
    """KEPT of the pictures that have both neighbours."""
    clip = degraded(rng, picture, plan)
    return [with_neighbours(clip, n) for n in rng.choice(np.arange(1, FRAMES - 1), KEPT, replace=False)]


def every(rng, picture, plan):
    """All pictures that have both neighbours, in order."""
    clip = degraded(rng, picture, plan)
    return [with_neighbours(clip, n) for n in range(1, FRAMES - 1)]


def training_records(task):
    return records_of(task, some)


def validation_records(task):
    return records_of(task, every)


def make_shards(workers=1):
    make_shard('training', 0, CLIPS, workers, KIND, training_records)
    make_shard('validation', 0, VALIDATION_CLIPS, workers, KIND, validation_records)


class NeighbourSource(ClipSource):
    """Records [current, before, after | HR] of a split's shards."""
    kind, size = KIND, RECORD

    def record(self, number):
        """(planes [3, SIDE, SIDE], HR, root mean square error in 8-bit levels)."""
        shard, at, error = self.rows[number]
        data, area = self.shards[shard][at:at + RECORD], 3 * SIDE * SIDE
        return data[:area].reshape(3, SIDE, SIDE), data[area:].reshape(2 * SIDE, 2 * SIDE), error


class NeighbourBatches:
    """Batches [N, 4, p, p] (luma, strength, before, after); those of the control are the first two planes of them."""

    def __init__(self, source, batch, patch, seed, planes):
        self.source, self.batch, self.patch, self.seed, self.planes = source, batch, patch, seed, planes

    def at(self, number):
        rng, p = np.random.default_rng([self.seed, number]), self.patch
        x, y = np.empty((self.batch, 4, p, p), np.float32), np.empty((self.batch, 1, 2 * p, 2 * p), np.float32)
        for i in range(self.batch):
            planes, high, error = self.source.record(rng.integers(len(self.source.rows)))
            (t, l), way = rng.integers(0, SIDE - p + 1, 2), rng.integers(8)
            low = [normalise(oriented(plane[t:t + p, l:l + p], way)) for plane in planes]
            x[i, 0], x[i, 2:] = low[0], low[1:]
            x[i, 1] = min(1.0, error / 50 * rng.uniform(0.8, 1.2))
            y[i, 0] = normalise(oriented(high[2 * t:2 * (t + p), 2 * l:2 * (l + p)], way))
        return torch.from_numpy(x[:, :self.planes].copy()), torch.from_numpy(y)


@torch.no_grad()
def begun_as(net, small):
    """In place: `net` with more input planes computes what `small` does; the kernels of the new planes are zero."""
    state, own = small.state_dict(), net.state_dict()
    for name, value in own.items():
        if value.shape == state[name].shape:
            value.copy_(state[name])
        else:
            value.zero_()
            value[:, :state[name].shape[1]] = state[name]
    net.load_state_dict(own)
    return net


def variant(start, planes):
    """A network of the shape of `start` that takes so many planes."""
    net = RestorationNet(start.scale, start.features, len(start.body), planes, fold=start.fold)
    return net.to(memory_format=torch.channels_last)


@lru_cache(maxsize=1)
def sequences():
    """[(plan, [(planes, HR, error) …])] of the validation clips."""
    source, found = NeighbourSource(2, 'validation'), []
    length = FRAMES - 2
    for first in range(0, len(source.rows), length):
        found.append((source.plans[first], [source.record(n) for n in range(first, first + length)]))
    return found


@torch.no_grad()
def enlarged(net, planes, strength):
    """Bytes [2H, 2W] of one picture; a net of two planes sees no neighbours."""
    x = normalise(planes)
    x = np.stack([x[0], np.full_like(x[0], min(1.0, strength / 50)), *x[1:]])[None, :net.planes]
    y = net(torch.from_numpy(x).contiguous(memory_format=torch.channels_last))[0, 0].numpy()
    return to_bytes(y * 219 + 16)


def group_of(plan):
    return 'with sensor noise' if plan['noise'] else 'coded only'


def score(net):
    """{group: {'psnr_y', 'unsteadiness', 'clips'}} on the validation clips."""
    groups = {}
    for plan, clip in sequences():
        outputs = [enlarged(net, planes, error) for planes, _, error in clip]
        quality = np.mean([psnr(o, high) for o, (_, high, _) in zip(outputs, clip)])
        highs = [high for _, high, _ in clip]
        motion = plan['motion'] if unsteadiness(highs, plan['motion']) == 0 else (0, 0)
        groups.setdefault(group_of(plan), []).append((quality, unsteadiness(outputs, motion)))
    return {g: {'psnr_y': round(float(np.mean([r[0] for r in rows])), 3),
                'unsteadiness': round(float(np.mean([r[1] for r in rows])), 3), 'clips': len(rows)}
            for g, rows in sorted(groups.items())}


def trained(start, planes, steps, args):
    """`fast` of the checkpoint `start`, trained for `steps` at a falling rate; runs/neighbours-N (or -control) keeps
    its checkpoint and log, so that a run that was stopped goes on."""
    chosen = recipe('mixed', steps=steps, decay=steps, warm_up=100, rate=args.rate, seed=args.seed)
    batches = NeighbourBatches(NeighbourSource(2), chosen.batch, chosen.patch, chosen.seed, planes)
    trainer = Trainer(begun_as(variant(start, planes), start), batches, chosen)
    folder, worked = Path(args.run) / ('control' if planes == 2 else 'neighbours'), 0.0
    if (folder / 'last.pt').exists():
        state = load_state(folder / 'last.pt')
        trainer.restore(state)
        worked = state['hours']
    Run(trainer, folder, lambda net: {}, every=500, label=folder.name, worked=worked).train()
    if trainer.number != steps:
        raise GroundError(f'stopped: {folder.name} is at step {trainer.number} of {steps}; the same command goes on.')
    return trainer.averaged(), json.loads((folder / 'log.jsonl').read_text().splitlines()[-1])


def processor_ms(net):
    """Processor's milliseconds of a 960×540 frame, fp32 by OpenVINO with one thread; aligning is not in it."""
    return round(OpenVinoNet(to_fp32(net), 2, threads=1).processor_ms(), 1)


def compare(args):
    """The experiment: trains both, scores them, writes neighbours.json and prints it."""
    make_shards(args.workers)
    state = load_state(Path(args.start))
    start = load_averaged(state)
    rows = [{'name': 'fast', 'steps': 0, 'groups': score(start)}]
    for name, planes in (('control', 2), ('neighbours', 4)):
        net, log = trained(start, planes, args.steps, args)
        rows.append({'name': name, 'steps': log['step'], 'hours': round(log['hours'], 2), 'groups': score(net),
                     'cpu_ms': processor_ms(net)})
        print(json.dumps(rows[-1]), flush=True)
    result = {'start_step': state['number'], 'rate': args.rate, 'device': device(), 'aligning_ms_160': aligning(),
              'rows': rows}
    RESULT.write_text(json.dumps(result, indent=1) + '\n')
    return result


def aligning():
    """Milliseconds of a processor that aligning one neighbour of SIDE×SIDE takes here (numpy)."""
    (planes, _, _), begun = sequences()[0][1][0], time.process_time()
    for _ in range(5):
        aligned(planes[0], planes[1])
    return round(200 * (time.process_time() - begun), 1)
