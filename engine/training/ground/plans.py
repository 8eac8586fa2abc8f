"""Training on a GPU machine that is rented by the minute: one plan each for `detail`, `detail-best`, `fast`, `quality` and `best`.

Everything is prepared elsewhere (`carry.pack`), so that the first minute there is a minute of training.
"""
from dataclasses import dataclass

from .export import from_fp32
from .photos import GroundError
from .recipes import NETWORKS
from .release import MODELS, WEIGHTS
from .trainer import build

GPU_STEPS = ('pack', 'plan', 'unpack', 'train', 'collect', 'release')
BACK_PIECE, BACK_FILES = 15 << 20, 8  # what comes back: bytes of a file, and how many
MACHINE_MINUTES, CALL_SECONDS = 30, 570
# Seconds: start of the machine; a piece on its way; unpacking; start of a call until its first step; what comes back.
START, PIECE, UNPACK, BEGIN, FETCH = 60, 35, 75, 40, 30


@dataclass(frozen=True)
class Plan:
    """How a network is trained: samples a step, pixels of the source a side, and what its data are."""
    batch: int
    patch: int
    pieces: int              # of data, at most
    shard: str               # kind of its degraded clips
    photographs: bool = True
    every: int = 10_000      # steps between checkpoints and scores
    warm_up: int = 500
    rate: float | None = None  # default: that of the recipe


PLANS = {
    'fast': Plan(batch=128, patch=64, pieces=4, shard='coloured'),
    'quality': Plan(batch=32, patch=96, pieces=5, shard='coloured'),
    'best': Plan(batch=32, patch=64, pieces=5, shard='coloured', warm_up=2000),
    # Pairs of pictures, and a loss on structure: a step takes longer.
    'detail': Plan(batch=64, patch=64, pieces=5, shard='real', photographs=False, every=5000),
    # It begins with a compact network (--start), which travels beside the pieces.
    'detail-best': Plan(batch=64, patch=64, pieces=5, shard='real', photographs=False, every=2000, warm_up=100, rate=2e-4),
}


def beginning(name):
    """The options of a new run: with the shipped weights where their shape is that of the network, else from nothing."""
    network = NETWORKS[name]
    file = MODELS / network.file('fp32')
    if not file.exists():
        return []
    shapes = lambda net: {key: value.shape for key, value in net.state_dict().items()}
    same = shapes(from_fp32(file.read_bytes())) == shapes(build(network))
    return ['--fresh', '--start', str(file)] if same else []


def train_options(name, folder, minutes, begun=None):
    """What `train` is called with. A run that was stopped goes on from its own checkpoint; one whose weights came back from
    another machine begins with them (`begun`: the file)."""
    plan = PLANS[name]
    options = ['train', name, '--resident', '--timed', '--minutes', str(minutes), '--run', str(folder), '--batch', str(plan.batch),
               '--patch', str(plan.patch), '--every', str(plan.every), '--warm-up', str(plan.warm_up), '--vmaf-every', '0']
    options += ['--rate', str(plan.rate)] if plan.rate else []
    if (folder / 'last.pt').exists():
        return options
    return options + (['--fresh', '--start', str(begun)] if begun else beginning(name))


def collect(run, folder):
    """Copies what comes back of a run: the weights, what `release` has to know of them, the log; and where there is room the
    checkpoint in pieces (`cat last.pt.* >last.pt`), with which the run goes on as if it had not stopped."""
    if not (run / WEIGHTS).exists():
        raise GroundError(f'no_weights: {run / WEIGHTS} is not there.')
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: (run / name).read_bytes() for name in (WEIGHTS, 'weights.json', 'log.jsonl') if (run / name).exists()}
    state = (run / 'last.pt').read_bytes()
    pieces = [state[first:first + BACK_PIECE] for first in range(0, len(state), BACK_PIECE)]
    if len(files) + len(pieces) <= BACK_FILES:
        files.update({f'last.pt.{number:02d}': piece for number, piece in enumerate(pieces)})
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def timetable(name, pieces):
    """[(second at which it begins, what to do)] on the machine, and the minutes that are left for training."""
    rows, now = [], 0

    def add(seconds, what):
        nonlocal now
        rows.append((now, what))
        now += seconds

    add(START, 'start the machine, with a checkout of the same commit')
    for number in range(pieces):
        add(PIECE, f'send piece {number + 1} of {pieces} (with the first one SHA256SUMS)')
    add(UNPACK, f'train-on-gpu unpack {name} --folder FOLDER')
    left = 60 * MACHINE_MINUTES - now - FETCH
    calls = -(-left // CALL_SECONDS)
    minutes = int((left - calls * BEGIN) / 60)
    for number in range(calls):
        seconds = min(CALL_SECONDS, left - number * CALL_SECONDS)
        add(seconds, f'timeout {seconds - 10} train-on-gpu train {name} --minutes {minutes}' + (', which goes on' if number else ''))
    add(FETCH, f'train-on-gpu collect {name} --folder FOLDER; fetch {WEIGHTS}, weights.json and log.jsonl; give the machine back')
    return rows, minutes


def show(name, pieces):
    """The plan as text."""
    rows, minutes = timetable(name, pieces)
    lines = [f'{second // 60:2d}:{second % 60:02d}  {what}' for second, what in rows]
    return '\n'.join([*lines, f'{minutes} minutes of training; then, anywhere: train-on-gpu release {name}'])
