"""The commands of the training ground."""
import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import torch

from . import carry, photos, plans
from .chroma import fit_chroma
from .clips import make_shard
from .damage_estimate import damage_command
from .export import to_fp32
from .neighbours import compare
from .network import at_double, halved
from .photos import GroundError
from .plans import GPU_STEPS, PLANS
from .real import make_pages
from .real import make_shard as make_real_shard
from .real_scores import CLIP_SCORES, TOLD, compared, mean
from .recipes import NETWORKS, RECIPES, recipe
from .release import CALIBRATION, MODELS, device, load_averaged, load_state, quantised, release, state_of, training_of
from .resident import EnlargedBatches
from .samples import Batches
from .sets import score
from .tables import draw_curves, named_sets, write_tables
from .teacher import refine, teach, teach_chroma, teach_noisy
from .training import CLIPS, REAL_CLIPS, RUNS, SHAPE, WEIGHTS, sources_for, train

CHROMA_BATCHES = 600


def release_command(args):
    network = NETWORKS[args.network]
    folder = Path(args.run) if args.run else RUNS / args.network
    shipped = MODELS / network.file('fp32') if args.shipped else None
    torch.set_num_threads(1)
    state = load_state(shipped or state_of(folder))
    net = load_averaged(state)
    net = halved(net) if net.scale > network.scale else net
    chosen = recipe(args.recipe or network.recipe, rate=args.int8_rate, taught=args.taught)
    batches = release_batches(network, chosen)
    if network.colour and not shipped and not network.leaky:  # a compact network brings chroma that is learned already
        fit_chroma(net, (batches.at(3 * 10**6 + i) for i in range(CHROMA_BATCHES)))  # that no training has seen
    quant = quantised(net, batches, chosen, args.int8_steps, args.int8_batches)
    training = training_of(shipped.name) if shipped else trained_as(state, args)
    training = {**training, 'int8_steps': args.int8_steps}
    fp32 = shipped and shipped.read_bytes()
    for entry in release(network, net, quant, training, args.int8_limit, fp32):
        print(json.dumps({k: entry[k] for k in ('file', 'sha256', 'scores')}))
    if not shipped and (folder / 'log.jsonl').exists():
        draw_curves(folder, network)


def release_batches(network, chosen):
    """The samples that int8 is made on, and that chroma is fitted to. A compact network of ×4 has no truth of its own size (`resident`)."""
    enlarged = network.leaky and network.scale == 4
    data = replace(network, scale=2) if enlarged else network
    batches = Batches(sources_for(data, chosen), chosen.shares, chosen.batch, chosen.patch, data.scale, chosen.seed, data.colour)
    return EnlargedBatches(batches, network.beside) if enlarged else batches


def trained_as(state, args):
    """What the manifest says of a run."""
    command = args.command or f'bash engine/training/train {args.network} --recipe {state["label"]}'
    return {'recipe': state['label'], 'command': command, 'steps': state['number'],
            **({'teacher': args.taught_by} if args.taught_by else {}), 'device': state.get('device') or device(), 'hours': round(state['hours'], 2)}


def shard_name(text):
    """The number of a shard, or what its name ends with: pages-000."""
    return int(text) if text.isdigit() else text


def _train_parser(commands):
    p = commands.add_parser('train', help='trains a network, taking up its last checkpoint')
    p.add_argument('network', choices=NETWORKS)
    p.add_argument('--recipe', choices=RECIPES, help='default: that of the network')
    p.add_argument('--run', help='folder of checkpoints and log (default: runs/NETWORK)')
    p.add_argument('--start', help='checkpoint or shipped fp32 file to begin from (default: the last of the run)')
    p.add_argument('--fresh', action='store_true', help='take only weights of that checkpoint (those that fit)')
    p.add_argument('--grow', action='store_true', help='that checkpoint is of a smaller network: begin as it')
    p.add_argument('--device', help='cpu, cuda, cuda:1 … (default: a GPU where there is one)')
    p.add_argument('--loaders', type=int, help='processes that make batches (default: one a core for a GPU, else none)')
    p.add_argument('--resident', action='store_true',
                   help='all pictures in the memory of the device, every step one CUDA graph: for a GPU; writes weights.onnx too')
    p.add_argument('--plain', action='store_true', help='without the wide branches of the layers: a faster step, for the later part of a run')
    p.add_argument('--compile', action='store_true', help='by torch.compile: a minute at first, then faster on a GPU')
    p.add_argument('--hard', action='store_true', default=None, help='hard samples more often, but not the hardest twentieth')
    p.add_argument('--teacher', metavar='FILE',
                   help='a shipped fp32 file, or a compact network, to distil from; its share in what is wanted is --taught')
    p.add_argument('--squared-error', type=float, metavar='SHARE',
                   help='squared error over this last share of the falling rate (--finish, --timed, --decay)')
    p.add_argument('--finish', type=int, help='so many steps more, over which the rate falls to 0')
    p.add_argument('--timed', action='store_true',
                   help='the rate falls to 0 over --minutes, however many steps; stopped (SIGTERM), it goes on from there')
    p.add_argument('--workers', type=int, default=1, help='threads, each with a part of the batch')
    p.add_argument('--every', type=int, default=2000, help='steps between checkpoints')
    p.add_argument('--wait-for-scores', action='store_true',
                   help='score every checkpoint before the next step (default on a CPU: beside the training, at lower priority)')
    p.add_argument('--vmaf-every', type=int, default=10, help='checkpoints between scores by VMAF (recipe real; 0: none)')
    for name, kind in {'steps': int, 'rate': float, 'decay': int, 'batch': int, 'patch': int, 'seed': int,
                       'warm-up': int, 'minutes': float, 'average': float,
                       **{name.replace('_', '-'): float for name in WEIGHTS}}.items():
        p.add_argument(f'--{name}', type=kind)
    for name in SHAPE:
        p.add_argument(f'--{name}', type=int, help='another shape than that of the network, to compare')
    p.set_defaults(action=train)


def _clips_parser(commands):
    p = commands.add_parser('clips', help='makes shards of degraded clips')
    p.add_argument('--split', choices=('training', 'validation'), default='training')
    p.add_argument('--shards', type=int, nargs='+', default=[0])
    p.add_argument('--clips', type=int, help='clips a photograph (default: 24, or 3 with real damage)')
    p.add_argument('--kind', choices=('coloured', 'real', 'pages'), default='coloured',
                   help='real: shards of real damage; pages: the same of printed pages, for training alone')
    p.add_argument('--workers', type=int, default=1)
    p.set_defaults(action=make_shards)


def _on_gpu_parser(commands):
    p = commands.add_parser('on-gpu', help='training on a rented GPU machine: its data in pieces, the plan, the run, what comes back')
    p.add_argument('step', choices=GPU_STEPS, help='pack and release: here; unpack, train and collect: there; plan: what to do when')
    p.add_argument('network', choices=PLANS)
    p.add_argument('--folder', type=Path, help='of the pieces (pack, plan, unpack), or of what comes back (collect)')
    p.add_argument('--minutes', type=float, help='of training; over them the rate falls to 0')
    p.add_argument('--start', help='weights to begin a new run with (default: the shipped ones, where the shape is theirs)')
    p.add_argument('--run', type=Path, help='folder of the run (default: runs/NETWORK-gpu)')
    p.add_argument('--workers', type=int, default=os.cpu_count())
    p.epilog = 'Behind -- may follow further options of `train` or `release`.'
    p.set_defaults(action=on_gpu)


def _teach_parser(commands):
    p = commands.add_parser('teach', help='what a large RGB network makes of a shard of real damage, to distil from')
    p.add_argument('file', help='the network as an ONNX file (models add)')
    p.add_argument('--split', choices=('training', 'validation'), default='training')
    p.add_argument('--shard', type=shard_name, default=0)
    p.add_argument('--limit', type=int, help='at most so many pictures more')
    p.add_argument('--scale', type=int, choices=(2, 4), default=2, help='of the network that learns from it')
    p.add_argument('--bf16', action='store_true', help='in bfloat16: faster where the processor multiplies it')
    p.add_argument('--noisy', action='store_true', help='only the noisy pictures, in place of those of the teacher before')
    p.add_argument('--chroma', action='store_true', help='its Cb and Cr instead of its luma')
    p.set_defaults(action=teach_command)


def _refine_parser(commands):
    p = commands.add_parser('refine', help='the truth of a shard of real damage, enlarged by 2: a ×4 network needs it')
    p.add_argument('--split', choices=('training', 'validation'), default='training')
    p.add_argument('--shard', type=shard_name, default=0)
    p.set_defaults(action=lambda a: print(f'{refine(a.split, a.shard)} pictures'))


def _release_parser(commands):
    p = commands.add_parser('release', help='int8, export, scores, manifest')
    p.add_argument('network', choices=NETWORKS)
    p.add_argument('--run', help='folder of the run (default: runs/NETWORK)')
    p.add_argument('--shipped', action='store_true', help='not a run: int8 and scores anew from the shipped fp32 file')
    p.add_argument('--recipe', choices=RECIPES, help='of the samples that int8 is made on; default: that of the network')
    p.add_argument('--int8-steps', type=int, default=0, help='of training with rounding in the loop')
    p.add_argument('--int8-rate', type=float, default=1e-4)
    p.add_argument('--int8-batches', type=int, default=CALIBRATION, help='of samples that int8 is made on (24; fewer for a large network)')
    p.add_argument('--int8-limit', type=float, help='dB below fp32 beyond which no int8 file is shipped')
    p.add_argument('--command', help='how the weights were trained, for the manifest')
    p.add_argument('--taught', type=float, help='share of the teacher in the truth that the chroma of a run is fitted to')
    p.add_argument('--taught-by', help='whose outputs were mixed into the truth, and its licence, for the manifest')
    p.set_defaults(action=release_command)


def _papers_parser(commands):
    p = commands.add_parser('papers', help='scores a run of clean pairs on the sets of the papers, for the tables')
    p.add_argument('network', choices=NETWORKS)
    p.add_argument('--run', required=True, help='folder of the run')
    p.add_argument('--sets', nargs='+', required=True, metavar='NAME=FOLDER', help='sets of pictures to score on')
    p.set_defaults(action=lambda a: print(json.dumps(score(NETWORKS[a.network], a.run, named_sets(a.sets)))))


def _real_scores_parser(commands):
    p = commands.add_parser('real-scores', help='gains over Lanczos-3 on real damage, chain by chain, as JSON')
    p.add_argument('files', nargs='+', help='checkpoints or shipped fp32 files; TOLD=FILE: one that is told the best strength')
    p.add_argument('--strength', type=float, default=1, help='of those that are not told one (1)')
    p.add_argument('--count', type=int, default=12, help='photographs a chain')
    p.add_argument('--clips', type=int, default=4, help='photographs a chain whose clips are scored by VMAF (0: none)')
    p.set_defaults(action=score_real)


def _damage_parser(commands):
    p = commands.add_parser('damage', help='the measurement of damage: pictures, features, training, the engine\'s files, scores')
    p.add_argument('--minutes', type=float, help='at most so long on pictures, and on features; the rest is made by the next run')
    p.add_argument('--steps', type=int, default=3000)
    p.set_defaults(action=lambda a: damage_command(a.minutes, a.steps))


def _export_parser(commands):
    p = commands.add_parser('export', help='the averaged weights of a checkpoint as a file that the engine runs')
    p.add_argument('checkpoint')
    p.add_argument('file')
    p.set_defaults(action=lambda a: Path(a.file).write_bytes(to_fp32(load_averaged(load_state(Path(a.checkpoint))))))


def _tables_parser(commands):
    p = commands.add_parser('tables', help='writes engine/models/README.md and the curves from what is shipped')
    p.add_argument('--sets', nargs='*', default=[], metavar='NAME=FOLDER', help='sets of pictures to score on')
    p.add_argument('--benches', nargs='*', default=[], metavar='FILE', help='what bench:networks --json printed')
    p.set_defaults(action=lambda a: write_tables(a.sets, a.benches))


def _neighbours_parser(commands):
    p = commands.add_parser('neighbours', help='trains `fast` with the pictures before and after, and a control')
    p.add_argument('--start', default=str(MODELS / 'fast-x2.onnx'), help='checkpoint of `fast` (the shipped one)')
    p.add_argument('--run', default=str(RUNS / 'neighbours'), help='folder of checkpoints and logs')
    p.add_argument('--steps', type=int, default=8000, help='of either')
    p.add_argument('--rate', type=float, default=5e-4)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--workers', type=int, default=1, help='processes that make the clips')
    p.set_defaults(action=lambda a: print(json.dumps(compare(a)['rows'])))


def _list_photos_parser(commands):
    p = commands.add_parser('list-photos', help='writes photos.json anew')
    p.set_defaults(action=lambda a: list_photos())


PARSERS = (_train_parser, _clips_parser, _on_gpu_parser, _teach_parser, _refine_parser, _release_parser, _papers_parser,
           _real_scores_parser, _damage_parser, _export_parser, _tables_parser, _neighbours_parser, _list_photos_parser)


def parser():
    """Every command's parser sets `action`, a function of the arguments."""
    p = argparse.ArgumentParser(prog='engine/training/train')
    commands = p.add_subparsers(dest='command', required=True)
    for add in PARSERS:
        add(commands)
    return p


def on_gpu(args):
    """A step of training on a rented machine (`plans`)."""
    run_folder, plan = args.run or RUNS / f'{args.network}-gpu', PLANS[args.network]
    needed = {'pack': 'folder', 'plan': 'folder', 'unpack': 'folder', 'collect': 'folder', 'train': 'minutes'}.get(args.step)
    if needed and getattr(args, needed) is None:
        raise GroundError(f'no_{needed}: {args.step} needs --{needed}.')
    if args.step == 'pack':
        network = NETWORKS[args.network]
        sources_for(replace(network, scale=min(2, network.scale)), recipe(network.recipe))  # makes the planes and shards
        pieces = carry.pack(args.network, args.folder, plan, NETWORKS[args.network].colour, args.workers)
        print('\n'.join(f'{piece} {piece.stat().st_size / 2**20:.1f} MiB' for piece in pieces))
        print(plans.show(args.network, len(pieces)))
    elif args.step == 'plan':
        print(plans.show(args.network, len(list(args.folder.glob(f'{args.network}.zip.*')))))
    elif args.step == 'unpack':
        print(*carry.unpack(args.network, args.folder, args.workers))
    elif args.step == 'collect':
        print('\n'.join(f'{path.name} {path.stat().st_size / 2**20:.1f} MiB' for path in plans.collect(run_folder, args.folder)))
    else:
        words = plans.train_options(args.network, run_folder, args.minutes, args.start) if args.step == 'train' else \
            ['release', args.network, '--run', str(run_folder), '--command', f'bash engine/training/train-on-gpu train {args.network}']
        again = parser().parse_args([*words, *args.more])
        again.action(again)


def score_real(args):
    torch.set_num_threads(1)
    networks = {}
    for named in args.files:
        told, file = named.startswith('TOLD='), named.removeprefix('TOLD=')
        networks[file] = (at_double(load_averaged(load_state(Path(file)))), TOLD if told else (args.strength,))
    for row in compared(networks, args.count, args.clips):
        means = {f'mean {m}': round(mean(row[m]), 3) for m in ('psnr', *CLIP_SCORES) if m in row}
        print(json.dumps({**row, **means}), flush=True)


def make_shards(args):
    for seed in args.shards:
        if args.kind == 'real':
            make_real_shard(args.split, seed, args.clips or REAL_CLIPS, args.workers)
        elif args.kind == 'pages':
            make_pages(seed, args.clips or REAL_CLIPS, args.workers)
        else:
            make_shard(args.split, seed, args.clips or CLIPS, args.workers)


def teach_command(args):
    make = teach_noisy if args.noisy else teach_chroma if args.chroma else teach
    print(f'{make(args.file, args.split, args.shard, args.limit, args.scale, "bf16" if args.bf16 else "f32")} pictures')


def list_photos():
    photos.LIST.write_text(json.dumps(photos.make_list(photos.photo_folders()), indent=0) + '\n')


def parsed(words):
    """The arguments; `more` holds what stands behind --."""
    at = words.index('--') if '--' in words else len(words)
    args = parser().parse_args(words[:at])
    args.more = words[at + 1:]
    return args


def main():
    args = parsed(sys.argv[1:])
    try:
        args.action(args)
    except GroundError as error:
        print(f'training: {error}', file=sys.stderr)
        return 1
    return 0
