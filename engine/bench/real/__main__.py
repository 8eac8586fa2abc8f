"""The command line. scripts/bench-real passes the product's command line and the folder of open networks."""
import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

import av
import torch
from ground.photos import GroundError

from . import clips, footage, goals, methods, named, sheets
from .pictures import luma, to_rgb

# Files of the media folder beside the checkout: old cameras and phones, the web of 2005, videos compressed twice.
REAL = ('camera-mjpeg.avi', 'nasa-2v-2a-2s.mp4', 'wmv2.wmv', 'pancake-opus.mkv', 'file+with+data&streams.mp4', 'msmpeg4v2.avi',
        'weird-aspect-mpeg1.mpg', 'iphone-gps-mebx.mov')
VIDEOS = {'.mp4', '.mov', '.mkv', '.webm', '.avi', '.mpg', '.wmv', '.flv', '.3gp', '.ts', '.ogv', '.m4v'}
REAL_FRAMES, START_S = 3, 1.0
# A quick run: the most different kinds of damage, and the methods that the goals need.
QUICK_CHAINS = ('clean', 'phone', 'theora', 'enlarged', 'blurred', 'text')
QUICK_METHODS = ('lanczos', 'fast', 'detail', 'auto', 'realesr-animevideov3', 'clearreality')
AGAINST = ('fast', 'realesr-animevideov3')  # the methods that a judge compares the candidate with


def parser():
    p = argparse.ArgumentParser(prog='npm run bench:real --', description='Measures damaged videos after enhancement, compared with networks that are in common use.')
    p.add_argument('--quick', action='store_true', help='six chains, one picture, three frames, one real clip')
    p.add_argument('--detail', action='append', default=[], metavar='[NAME=]FILE', help='ONNX file of a network for damaged sources (detail, detail-large, detail-best) that is not shipped yet')
    p.add_argument('--clips', action='append', metavar='PATH', help='a real clip, or a folder of real clips (default: some of shared/media beside the repository)')
    p.add_argument('--limit', type=int, default=12, help='real clips per folder (12)')
    p.add_argument('--pictures', type=int, choices=range(len(clips.PICTURES) + 1), metavar='N', help='photographs per chain (2); 0: real clips only')
    p.add_argument('--footage', nargs='*', metavar='FILE', help='also real videos of good quality, reduced and encoded: these files (default: five of shared/media beside the repository)')
    p.add_argument('--named', nargs='?', type=int, const=named.COUNT, default=0, metavar='N', help=f'also what `plan` says of N ({named.COUNT}) times {len(named.CHAINS)} videos whose damage is known')
    p.add_argument('--frames', type=int, help='frames of each clip (6)')
    p.add_argument('--chains', nargs='+', choices=clips.CHAINS, help='only these chains')
    p.add_argument('--methods', nargs='+', help='only these methods')
    p.add_argument('--x4plus', type=int, default=0, metavar='N', help='also runs realesrgan-x4plus on N frames of each clip: half a minute per frame')
    p.add_argument('--candidate', default='auto', help='the method that the goals check and the judge compares (auto)')
    p.add_argument('--no-jod', action='store_true', help='skips ColorVideoVDP')
    p.add_argument('--no-times', action='store_true', help='does not time the product’s networks')
    p.add_argument('--sheets', metavar='DIR', help='writes sheets of crops side by side')
    p.add_argument('--blind', metavar='DIR', help='writes pairs of crops for a judge to DIR, and their key to DIR.key.json')
    p.add_argument('--judged', metavar='DIR', help='only counts the answers in DIR/answers.json, using DIR.key.json')
    p.add_argument('--documents', metavar='DIR', help='writes sheets as WebP and real.md; `ground.sh tables` reads engine/models/real')
    p.add_argument('--threads', type=int, default=2, help='threads of the peers (2)')
    p.add_argument('--product', nargs='+', default=['scripts/reelmend'], help=argparse.SUPPRESS)
    p.add_argument('--peers', default='build/bench-real/models', help=argparse.SUPPRESS)
    p.add_argument('--media', help=argparse.SUPPRESS)
    return p


def say(text):
    print(f'bench:real: {text}', file=sys.stderr, flush=True)


class Run:
    """One run: the methods, the scorer, and the results."""

    def __init__(self, args, work):
        self.args, self.work = args, work
        details = [methods.parse_detail(text) for text in args.detail]
        if details:
            methods.write_manifest(work, details)
        self.product = methods.Product(args.product, work if details else None)
        self.open_product = methods.Product(args.product, args.peers)
        installed = {r['name'] for r in json.loads((Path(args.peers) / 'manifest.json').read_text())['models']}
        wanted = args.methods or (QUICK_METHODS if args.quick else None)
        self.methods = [m for m in methods.chosen(self.product.networks(), installed, args.x4plus)
                        if wanted is None or m.name in wanted]
        self.peers = {m.name: methods.Peer(args.peers, m.peer, args.threads) for m in self.methods if m.peer}
        self.scorer, self.clips, self.real, self.footage, self.named = None, [], [], [], []
        self.rows, self.pairs = {}, []

    def made(self, clip, span=None):
        """Runs every method on a clip: {method: Made}."""
        found, sources = {}, []
        for method in self.methods:
            if not method.peer:
                found[method.name] = methods.made_by_product(self.open_product if method.open else self.product, method, clip, self.work, span)
                continue
            if not sources:
                frames, _ = self.product.enhance(clip.file, self.work / 'source.mp4', ('--model', 'none', *methods.OFF), 'source', span)
                sources = [to_rgb(f) for f in frames]
            shape = next(iter(found.values())).luma[0].shape
            found[method.name] = methods.made_by_peer(self.peers[method.name], method, sources, shape)
        return found

    def measure_footage(self, clip):
        """Scores a clip of a real video."""
        rows = {name: self.scorer.scores(made, clip, clips.RATE, False) for name, made in self.made(clip).items()}
        self.footage.append({'name': clip.name, 'chain': clip.chain, 'methods': rows})
        say(f'{clip.name}: done')

    def measure(self, clip):
        """Scores a clip with a known original."""
        begun = time.perf_counter()
        found = self.made(clip)
        with_jod = (goals.BASE, self.args.candidate, *(() if self.args.quick else AGAINST))
        rows = {name: self.scorer.scores(made, clip, clips.RATE, name in with_jod) for name, made in found.items()}
        with av.open(str(clip.file)) as opened:
            width, height = opened.streams.video[0].width, opened.streams.video[0].height
        for name, made in found.items():
            timed = made.product.milliseconds(made.network, width, height) if not made.ms and not self.args.no_times else None
            rows[name].update(network=made.network, ms=made.ms or timed)
        plan = self.product.plan(clip.file, methods.LEVELS_KEPT) if 'auto' in found else None
        self.clips.append({'name': clip.name, 'chain': clip.chain, 'source': [width, height], 'motion': clip.motion, 'plan': plan, 'methods': rows})
        self.keep(clip, found, clip.name.removeprefix(f'{clip.chain}-'), clip.chain)
        say(f'{clip.name}: {time.perf_counter() - begun:.0f} s')

    def watch(self, file):
        """Records the plan and the crops of a real clip."""
        clip, span = real_clip(file, min(REAL_FRAMES, self.args.frames or REAL_FRAMES))
        found = self.made(clip, span)
        self.real.append({'name': file.name, 'span_s': span, 'plan': self.product.plan(file),
                          'methods': {name: {'network': made.network} for name, made in found.items()}})
        self.keep(clip, found, 'real', file.name)
        say(f'{file.name}: done')

    def keep(self, clip, found, group, label):
        """Keeps crops of one frame for the sheets and the judge."""
        first, at = next(iter(found.values())), shown_frame(found)
        truth = None if clip.truth is None else clip.truth[at]
        reference = first.luma[at] if truth is None else luma(truth)
        for size in (sheets.CROP, sheets.PAIR):
            part = sheets.most_textured(reference, size)
            crops = {name: made.rgb(at, part) for name, made in found.items()}
            if size == sheets.PAIR:
                if clip.chain != goals.CLEAN:  # clean clips have no damage to judge
                    self.pairs += sheets.pairs_of(clip.name, crops, self.args.candidate, AGAINST)
            else:
                self.rows.setdefault(group, []).append((label, {**crops, **({} if truth is None else {'truth': truth[part]})}))

    def result(self):
        order = [m.name for m in self.methods]
        return {'seed': clips.SEED, 'candidate': self.args.candidate, 'methods': order, 'output': 'H.264, CRF 1',
                'means': goals.damaged_means(self.clips), 'chains': goals.table(self.clips), 'clips': self.clips, 'real': self.real, 'footage': self.footage,
                'named': self.named, 'goals': self.goals()}

    def goals(self):
        found = goals.goals(self.clips, self.args.candidate) if self.clips else []
        return found + (goals.named_goals(self.named) if self.named else [])


def shown_frame(found):
    """The index of the frame on the sheets: the middle one, or the last that every method made (slow methods make few)."""
    counts = [len(made.luma) for made in found.values()]
    return min(max(counts) // 2, min(counts) - 1)


def real_clip(file, frames):
    """(a Clip without truth, (start, end) in seconds of `frames` of its frames)."""
    with av.open(str(file)) as opened:
        rate = float(opened.streams.video[0].average_rate or clips.RATE)
        duration = (opened.duration or 0) / av.time_base
    start = min(START_S, duration / 2)
    return clips.Clip(file.name, 'real', file, None, None), (start, start + (frames - 0.5) / rate)


def real_files(args):
    """The real clips to run: those of --clips, files or folders, or REAL from the media folder."""
    if args.clips is None:
        found = [Path(args.media) / name for name in REAL] if args.media else []
        found = [file for file in found if file.is_file()][:args.limit]
    else:
        found = [file for path in args.clips for file in clips_at(Path(path), args.limit)]
    return found[:1] if args.quick else found


def clips_at(path, limit):
    """The path itself, or the videos of a folder. Raises GroundError if the path does not exist."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise GroundError(f'no_clips: {path} is neither a clip nor a folder.')
    return sorted(f for f in path.iterdir() if f.suffix.lower() in VIDEOS)[:limit]


def footage_files(args):
    """The videos of --footage; none without it."""
    if args.footage is None:
        return []
    found = [Path(file) for file in args.footage] or [Path(args.media) / name for name in footage.FOOTAGE]
    for file in found:
        if not file.is_file():
            raise GroundError(f'no_footage: {file} does not exist.')
    return found


def write_pictures(run):
    args = run.args
    if args.sheets:
        Path(args.sheets).mkdir(parents=True, exist_ok=True)
        for group, rows in run.rows.items():
            sheets.sheet(rows).save(Path(args.sheets) / f'{group}.png')
    if args.blind:
        sheets.write_blind(args.blind, run.pairs)
    if args.documents:
        write_documents(run, Path(args.documents))


def tables(run):
    """The tables of scores and goals; empty without clips that have a known original."""
    order = [m.name for m in run.methods]
    moving = f'\n{goals.footage_as_markdown(run.footage, order)}' if run.footage else ''
    words = f'\n{goals.named_as_markdown(run.named)}' if run.named else ''
    if not run.clips:
        return f'{moving}{words}'
    return f'{goals.as_markdown(run.clips, order)}\n{goals.goals_as_markdown(run.goals())}{moving}{words}'


def write_documents(run, folder):
    """Writes the sheets as small WebP files, and the tables as real.md."""
    folder.mkdir(parents=True, exist_ok=True)
    for group, rows in run.rows.items():
        sheets.sheet(rows).save(folder / f'{group}.webp', quality=82, method=6)
    (folder / 'real.md').write_text(tables(run) + ''.join(f'\n![{sheets.described(group, rows)}](real/{group}.webp)\n' for group, rows in run.rows.items()))


def stopped(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ignores further signals while the results are written
    raise KeyboardInterrupt


def measured(args, work):
    from .scores import Scorer  # imported late: it loads networks, which real clips do not need

    torch.set_num_threads(args.threads)
    run = Run(args, work)
    say(f'methods: {", ".join(m.name for m in run.methods)}')
    pictures, frames = (1, 3) if args.quick else (2, 6)
    pictures, frames = pictures if args.pictures is None else args.pictures, args.frames or frames
    files, moving = real_files(args), footage_files(args)  # before the measurements, so that a wrong path fails at once
    run.scorer = Scorer(not args.no_jod) if pictures or moving else None
    signal.signal(signal.SIGTERM, stopped)
    try:
        for clip in clips.clips_of(pictures, frames, work, args.chains or (QUICK_CHAINS if args.quick else None)):
            run.measure(clip)
        for clip in footage.footage_clips(moving, work, args.frames or footage.FRAMES):
            run.measure_footage(clip)
        for file in files:
            run.watch(file)
        words = lambda file: run.product.plan(file)['condition']
        for row in named.measure(args.named, work, words, say):
            run.named.append(row)
    except KeyboardInterrupt:
        say('stopped; the results so far follow')
    write_pictures(run)
    print(tables(run), file=sys.stderr)
    return run.result()


def main():
    args = parser().parse_args()
    try:
        if args.judged:
            shares = sheets.judged(args.judged)
            print(json.dumps({'judged': shares, 'goals': goals.judged_goals(shares)}))
            return 0
        with tempfile.TemporaryDirectory(prefix='bench-real-') as work:
            print(json.dumps(measured(args, Path(work))))
    except GroundError as error:
        print(f'bench:real: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
