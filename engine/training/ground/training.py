"""A training run: its samples, what it begins with, what scores its checkpoints, when it ends."""
import itertools
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import torch

from .clips import ClipSource, make_shard
from .distil import TaughtBatches
from .graph import GraphTrainer
from .network import at_double, doubled, grow, rescaled_strength
from .photos import HERE, GroundError
from .processor import for_processor
from .real import RealSource
from .real import make_shard as make_real_shard
from .real_scores import clip_gains, faithful_gain, gains, mean
from .recipes import NETWORKS, recipe
from .release import MODELS, load_averaged, load_state, write_weights
from .resident import EnlargedBatches, ResidentBatches
from .samples import Ahead, Batches, DrawnSource, NoiseSource, PhotoSource
from .scoring import ScoredBeside
from .trainer import Run, Trainer, build
from .validate import clip_scores, filter_scores, mean_of, noise_scores, photo_score

RUNS = HERE / 'runs'
REAL_CLIPS = 3  # a photograph and shard
REAL_WAYS = {'real': 'full', 'real-between': 'between', 'real-clean': 'clean'}
# Numbers of a recipe that a run may change, to compare.
WEIGHTS = ('sharpen', 'sharpen_sigma', 'taught', 'structure_term', 'perceptual_term', 'adversarial_term', 'matching', 'steady_term',
           'chroma_term')
SHAPE = ('features', 'layers', 'fold')  # of a network that a run may change, to compare
CLIPS, VALIDATION_CLIPS = 24, 10  # a photograph; about six minutes of one core for the first shards


def sources_for(network, chosen):
    """The sources that a recipe's shares name."""
    made, scale, colour = {}, network.scale, network.colour
    for name in chosen.shares:
        if name.startswith('real'):
            make_real_shard('training', 0, REAL_CLIPS)
            make_real_shard('validation', 0)
            made[name] = RealSource(scale, 'training', colour, REAL_WAYS[name], network.beside, chosen.sharpen,
                                    chosen.sharpen_sigma, chosen.taught)
        elif name == 'bicubic':
            made[name] = PhotoSource(scale, colour=colour)
        elif name == 'drawn':
            made[name] = DrawnSource(scale, colour=colour)
        elif name == 'noise':
            made[name] = NoiseSource(scale, colour=colour)
        elif name == 'clips':
            make_shard('training', 0, CLIPS)
            make_shard('validation', 0, VALIDATION_CLIPS)
            made[name] = ClipSource(scale, colour=colour)
        else:
            raise GroundError(f'unknown_source: there is no kind of samples called {name}.')
    for source in made.values():
        source.hard = chosen.hard
    return made


def real_evaluator(network, vmaf_every):
    """Scores of the recipe `real`: dB of PSNR-Y over Lanczos-3 by chain, and every so many checkpoints VMAF over it."""
    calls = itertools.count()

    def scores(net):
        net = at_double(net)
        table = gains(net)
        row = {'real_gain': mean(table), 'gain': table}
        if network.scale > 1:
            row['faithful_gain'] = faithful_gain(net)
        if vmaf_every and next(calls) % vmaf_every == 0:
            found = clip_gains(net)
            row.update({f'{m}_gain': mean({c: r[m] for c, r in found.items()}) for m in ('vmaf', 'neg')},
                       flicker=mean({c: r['flicker'] for c, r in found.items()}), clips=found)
        return row
    return scores


def evaluator(network, shares, vmaf_every=0):
    """What is scored at every checkpoint: a part of what `release` scores."""
    if 'real' in shares:
        return real_evaluator(network, vmaf_every)

    def scores(net):
        row = {'psnr_photos': photo_score(net)} if network.scale == 2 else {}
        if 'clips' in shares:
            clips = clip_scores(net, every=4)
            row['psnr_clips'] = mean_of(clips)
            if network.colour:
                row['chroma_clips_gain'] = mean_of(clips, 'network_chroma') - mean_of(clips, 'lanczos3_chroma')
            row['psnr_noise_25'] = mean_of(noise_scores(net, (25,)))
        return row
    return scores


def prepared(args):
    """The device; on a GPU the settings under which it is fast."""
    name = args.device or ('cuda' if torch.cuda.is_available() else 'cpu')
    if name.startswith('cuda') and not torch.cuda.is_available():
        raise GroundError('no_gpu: PyTorch finds no GPU here.')
    torch.set_num_threads(1)  # one thread a worker: two that wait for each other lose more than they gain
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision('high')
    return torch.device(name)


def begin(trainer, state, args, start):
    """Takes a checkpoint up as the arguments say; returns the hours already worked on it."""
    if state is None:
        return 0.0
    if args.grow:
        small = load_averaged(state).to(trainer.device)
        small = doubled(small) if small.scale < trainer.net.scale else small
        grow(trainer.net, small)
        trainer.start_average()
        if (small.features, len(small.body)) == (trainer.net.features, len(trainer.net.body)):
            trainer.number = state['number']  # colour came to it and nothing else: the same run goes on
    else:
        trainer.restore(state, optimiser=not args.fresh and 'optimiser' in state)
        trainer.number = 0 if args.fresh else state['number']
        if args.begins:
            rescaled_strength(trainer.net, NETWORKS[args.network].told)
            trainer.start_average()
    print(f'began with {start} of step {state["number"]}', flush=True)
    return state['hours']


def first_state(network, args, folder):
    """What a run begins with: the checkpoint asked for, its own last one, the shipped weights that the network names, or
    None. Weights of another network begin at step 0. A finish that was stopped goes on from its own, whatever it began with."""
    own, args.begins = folder / 'last.pt', False
    args.goes_on = bool(args.finish and own.exists() and not (args.fresh or args.grow) and 'finish' in load_state(own))
    if args.start and not args.goes_on:
        return Path(args.start)
    if own.exists():
        return own
    if network.begins is None:
        return None
    args.fresh = args.begins = True
    return MODELS / network.begins


def shaped(network, args):
    """The network, in another shape where the arguments name one: it then begins from nothing."""
    changes = {name: getattr(args, name) for name in SHAPE if getattr(args, name) is not None}
    return replace(network, begins=None, **changes) if changes else network


def train(args):
    network = shaped(NETWORKS[args.network], args)
    name = args.recipe or network.recipe
    chosen = recipe(name, steps=args.steps, rate=args.rate, decay=args.decay, batch=args.batch,
                    patch=args.patch, seed=args.seed, warm_up=args.warm_up, average=args.average, hard=args.hard,
                    squared_error=args.squared_error,
                    **{name: getattr(args, name) for name in WEIGHTS})
    folder = Path(args.run) if args.run else RUNS / args.network
    start = first_state(network, args, folder)
    state = load_state(start) if start else None
    if args.timed:
        if not args.minutes:
            raise GroundError('no_minutes: --timed needs --minutes.')
        chosen = replace(chosen, steps=10**9, decay=0)
    finish = finish_of(state, args)
    if finish:
        chosen = replace(chosen, steps=finish['end'], decay=finish['steps'])
    torch.manual_seed(chosen.seed)
    place = prepared(args)
    if args.batch is None:
        chosen = for_processor(chosen, place)
    check(network, chosen, args)
    trainer = trainer_for(network, chosen, args, place)
    worked = begin(trainer, state, args, start)
    if args.plain:
        trainer.become_plain()
    if args.compile:
        trainer.forward = torch.compile(trainer.net)
    if network.scale == 2 and 'real' not in chosen.shares:
        print('validation: ' + ', '.join(f'{n} {v:.3f} dB' for n, v in filter_scores().items()), flush=True)
    if finish and trainer.number >= finish['end']:
        print(f'finished at step {finish["end"]}; --fresh or another --run begins a new one', flush=True)
    with scored_by(evaluator, network, chosen.shares, args.vmaf_every, beside=place.type == 'cpu' and not args.wait_for_scores) as scores:
        Run(trainer, folder, scores, args.minutes, args.every, label=name, worked=worked, timed=args.timed, clock=clock_of(state, args),
            kept={'finish': finish} if finish else {},
            written=(lambda net, facts: write_weights(folder, net, facts)) if args.resident else None).train()


def scored_by(evaluator, *arguments, beside):
    """What scores checkpoints: a process beside the training, or the training itself between two steps (on a GPU, where
    networks are scored on it)."""
    return ScoredBeside(evaluator, *arguments) if beside else nullcontext(evaluator(*arguments))


def check(network, chosen, args):
    """Throws where options do not go together."""
    if chosen.steady_term and (chosen.batch % 2 or not all(name.startswith('real') for name in chosen.shares)):
        raise GroundError('no_pairs: steadiness needs the recipe real and an even batch.')
    if args.teacher and network.scale != 4 and (args.resident or network.scale == 1 or 'real' in chosen.shares):
        raise GroundError('no_teacher: --teacher is for ×2 and its clean or plainly degraded samples, without --resident, and for ×4. '
                          '`ground.sh teach` is for all of the recipe real.')
    if args.teacher and not chosen.taught:
        raise GroundError('no_share: --teacher needs --taught, its share in what is wanted.')
    if chosen.squared_error and not (chosen.decay or args.timed):
        raise GroundError('no_fall: --squared-error needs a rate that falls (--finish, --timed or --decay).')


def batches_for(net, network, chosen, args, place):
    """The batches of a recipe: made on the device (`--resident`), or one after the other on the CPU."""
    device, data = place if args.resident else torch.device('cpu'), network
    if args.teacher:
        data = replace(data, colour=True)
    if args.resident and network.scale == 4:
        data = replace(data, scale=2)
    sources = sources_for(data, replace(chosen, taught=0.0) if args.teacher else chosen)
    mix = (chosen.shares, chosen.batch, chosen.patch, data.scale, chosen.seed, data.colour, bool(chosen.steady_term))
    batches = ResidentBatches(sources, *mix, device=device) if args.resident else Batches(sources, *mix)
    if data.scale < network.scale:
        batches = EnlargedBatches(batches, network.beside)
    if args.teacher:
        batches = TaughtBatches(batches, args.teacher, chosen.taught, net.planes, net.outputs, 'real' in chosen.shares, device)
    return batches


def trainer_for(network, chosen, args, place):
    """The trainer of a recipe with its batches. On a GPU processes make these, unless they are resident."""
    net, on_gpu = build(network), place.type == 'cuda'
    batches = batches_for(net, network, chosen, args, place)
    if args.resident:
        return GraphTrainer(net, batches, chosen, device=place)
    loaders = args.loaders if args.loaders is not None else max(1, (os.cpu_count() or 2) - 1) if on_gpu else 0
    if loaders:
        batches = Ahead(batches, loaders, pinned=on_gpu)
    return Trainer(net, batches, chosen, args.workers, device=place)


def finish_of(state, args):
    """None, or over how many steps the rate falls and at which it is 0 (kept in checkpoints, so that a finish that was
    stopped ends where it would have ended)."""
    if not args.finish:
        return None
    if args.goes_on:
        return state['finish']
    begun = 0 if args.fresh or args.grow or state is None else state['number']
    return {'steps': args.finish, 'end': begun + args.finish}


def clock_of(state, args):
    """Minutes that are over of a timed run that goes on; 0 for one that begins (or has come to its end)."""
    goes_on = args.timed and state is not None and not (args.fresh or args.grow or args.start)
    if not goes_on or state.get('minutes') != args.minutes or state['clock'] >= args.minutes:
        return 0.0
    print(f'{state["clock"]:.1f} of {args.minutes} minutes are over', flush=True)
    return state['clock']
