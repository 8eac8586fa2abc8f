"""The commands of the training ground."""
import argparse
import sys
from pathlib import Path

import torch

from . import photos
from .photos import HERE, GroundError
from .recipes import NETWORKS, RECIPES, recipe
from .samples import Batches, PhotoSource
from .trainer import Trainer, build, run
from .validate import bicubic_score, filter_scores

RUNS = HERE / 'runs'


def sources_for(shares, scale):
    """The sources that a recipe's shares name."""
    made = {}
    for name in shares:
        if name == 'bicubic':
            made[name] = PhotoSource(scale)
        else:
            raise GroundError(f'unknown_source: there is no kind of samples called {name}.')
    return made


def evaluator(network):
    """What is scored at every checkpoint."""
    return lambda net: {'psnr_bicubic': bicubic_score(net)} if network.scale == 2 else {}


def train(args):
    network = NETWORKS[args.network]
    chosen = recipe(args.recipe, steps=args.steps, rate=args.rate, decay=args.decay, batch=args.batch,
                    patch=args.patch, seed=args.seed, warm_up=args.warm_up)
    folder = Path(args.run) if args.run else RUNS / args.network
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(1)  # one thread a worker: two that wait for each other lose more than they gain
    net = build(network)
    batches = Batches(sources_for(chosen.shares, network.scale), chosen.shares, chosen.batch, chosen.patch,
                      network.scale, chosen.seed)
    trainer = Trainer(net, batches, chosen, args.workers)
    worked = 0.0
    start = Path(args.start) if args.start else folder / 'last.pt'
    if start.exists():
        state = torch.load(start, weights_only=True)
        trainer.restore(state, optimiser=not args.fresh)
        worked = state.get('hours', 0.0)
        print(f'resumed {start} at step {state["number"]}', flush=True)
    elif args.start:
        raise GroundError(f'no_checkpoint: {start} is not there.')
    if network.scale == 2:
        print('validation: ' + ', '.join(f'{n} {v:.3f} dB' for n, v in filter_scores().items()), flush=True)
    run(trainer, folder, evaluator(network), args.minutes, args.every, network, args.recipe, worked)


def parser():
    p = argparse.ArgumentParser(prog='engine/training/train')
    commands = p.add_subparsers(dest='command', required=True)
    t = commands.add_parser('train', help='trains a network, taking up its last checkpoint')
    t.add_argument('network', choices=NETWORKS)
    t.add_argument('--recipe', choices=RECIPES, default='mixed')
    t.add_argument('--run', help='folder of checkpoints and log (default: runs/NETWORK)')
    t.add_argument('--start', help='checkpoint to begin from (default: the last of the run)')
    t.add_argument('--fresh', action='store_true', help='take only the weights of that checkpoint')
    t.add_argument('--workers', type=int, default=1, help='threads, each with a part of the batch')
    t.add_argument('--every', type=int, default=2000, help='steps between checkpoints')
    for name, kind in {'steps': int, 'rate': float, 'decay': int, 'batch': int, 'patch': int, 'seed': int,
                       'warm-up': int, 'minutes': float}.items():
        t.add_argument(f'--{name}', type=kind)
    t.set_defaults(action=train)
    lister = commands.add_parser('list-photos', help='writes photos.json anew')
    lister.set_defaults(action=lambda a: list_photos())
    return p


def list_photos():
    import json
    photos.LIST.write_text(json.dumps(photos.make_list(photos.photo_folder()), indent=0) + '\n')


def main():
    args = parser().parse_args()
    try:
        args.action(args)
    except GroundError as error:
        print(f'training: {error}', file=sys.stderr)
        return 1
    return 0
