"""The methods to compare. The product's methods run its command line on the damaged file, so that its own plan is measured.
Peers are ONNX files that `models add` installed; OpenVINO runs them on the frames that the product decodes.

The product's output is H.264 at CRF 1, the highest quality of the High profile (CRF 0 is lossless and needs another profile).
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from ground.export import from_fp32, to_fp32
from ground.network import halved
from ground.openvino_net import OpenVinoNet
from ground.photos import GroundError
from ground.resize import resize, to_bytes

from .pictures import cut, decode, luma, to_rgb

OFF = ('--denoise', 'off', '--sharpen', 'off', '--face-restoration', 'off', '--adaptive-contrast', 'off')
# A known truth has the levels of the source, so adaptive contrast would count as an error.
LEVELS_KEPT = ('--adaptive-contrast', 'off')
QUALITY = ('--crf', '1', '--preset', 'superfast')
PASSES = {2: 2, 4: 1}  # by scale: passes of a network from 264 or 360 lines to 1080


@dataclass(frozen=True)
class Method:
    name: str
    arguments: tuple = ()    # options of the product's command line
    network: str = ''        # the product's network whose time is reported; '': the plan's choice
    peer: str = ''           # name of an installed ×4 network, which runs without the product
    open: bool = False       # the product runs an open network, from the folder of the peers
    frames: int = 0          # frames of each clip; 0: all


# Every method of the product. `chosen` skips those whose network is not installed.
PRODUCT = (
    Method('lanczos', ('--model', 'none', *OFF), 'none'),
    Method('fast', ('--model', 'fast'), 'fast'),
    Method('quality', ('--model', 'quality'), 'quality'),
    Method('detail', ('--model', 'detail', '--denoise', '1'), 'detail'),
    Method('detail-large', ('--model', 'detail-large', '--denoise', '1'), 'detail-large'),
    Method('detail-best', ('--model', 'detail-best', '--denoise', '1'), 'detail-best'),
    Method('auto'),
    # With a minimum speed that `detail-best` does not reach on two cores.
    Method('auto:6fps', ('--min-speed', '6fps')),
)
DETAIL = ('detail', 'detail-large', 'detail-best')  # networks for damaged sources
# Open networks inside the product: what the stages around a network are worth.
OPEN = (Method('engine:realesr-animevideov3', ('--model', 'realesr-animevideov3'), 'realesr-animevideov3', open=True),)
PEERS = ('realesr-animevideov3', 'clearreality', 'realesrgan-x4plus')
SLOW_PEERS = {'realesrgan-x4plus'}  # half a minute per 352×264 frame on two cores, so they only run if a number of frames is given


def chosen(installed, peers, slow_frames=0):
    """The methods of a run, in the order of the tables. `installed`: names of the product's networks; `peers`: names of the
    installed open networks; `slow_frames`: frames of each clip for slow peers (0: skips them)."""
    own = [m for m in PRODUCT if m.network in ('', 'none', *installed)] + [m for m in OPEN if m.network in peers]
    others = [Method(name, peer=name, frames=slow_frames if name in SLOW_PEERS else 0)
              for name in PEERS if name in peers and (slow_frames or name not in SLOW_PEERS)]
    return own + others


def entry_of(name, net, file):
    """The manifest entry of a `detail` network that is not installed yet."""
    return {'name': name, 'task': 'super-resolution', 'scale': net.scale, 'file': file, 'precision': 'fp32',
            'layout': {2: 'luma+strength', 4: 'ycbcr+strength'}[net.planes], 'multiple': 2, 'halo': net.halo(), 'blind': True}


def parse_detail(text):
    """Parses NAME=FILE or FILE to (name, path)."""
    name, equals, file = text.rpartition('=')
    path = Path(file)
    if name not in ('', *DETAIL) or not path.is_file():
        raise GroundError(f'no_detail: {text} is neither FILE nor {{{",".join(DETAIL)}}}=FILE of a file that exists.')
    return (name if equals else 'detail'), path


def write_manifest(folder, details):
    """Fills a model folder for the product with the networks [(name, path)]. A ×4 network serves at ×2, too."""
    entries = []
    for name, path in details:
        net = from_fp32(path.read_bytes())
        for own in [net, halved(net)] if net.scale == 4 else [net]:
            file = f'{name}-x{own.scale}.onnx'
            (folder / file).write_bytes(to_fp32(own))
            entries.append(entry_of(name, own, file))
    (folder / 'manifest.json').write_text(json.dumps({'version': 1, 'models': entries}))


class Product:
    """The product's command line. `command`: the program and its first arguments; `models`: a folder of additional networks."""

    def __init__(self, command, models=None):
        self.command = list(command)
        self.environment = {**os.environ, **({'REELMEND_MODELS_DIR': str(models)} if models else {})}
        self.times = {}

    def run(self, *arguments):
        done = subprocess.run([*self.command, *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise GroundError(f'product: {" ".join(arguments[:2])}: {done.stderr.strip().splitlines()[-1:]}')
        return done.stdout

    @cache
    def installed(self):
        """The installed networks for whole frames: one row per file."""
        return [row for row in json.loads(self.run('models', 'list', '--json')) if row['layout'] != 'face']

    def networks(self):
        """The names of the installed networks."""
        return {row['name'] for row in self.installed()}

    def enhance(self, file, out, arguments, resolution='1080p', span=None):
        """Enhances a file: (frames as planes, name of the network that ran). `span`: (start, end) in seconds."""
        part = () if span is None else ('--from', f'{span[0]:.4f}', '--to', f'{span[1]:.4f}')
        report = self.run('enhance', str(file), str(out), '--resolution', resolution, *QUALITY, *part, *arguments)
        frames = decode(out)
        Path(out).unlink()
        return frames, re.search(r'model (\S+)', report).group(1)

    def plan(self, file, arguments=()):
        """The plan of `auto` for a file, with its reasons."""
        plan = json.loads(self.run('plan', str(file), '--resolution', '1080p', '--json', *arguments))
        return {'model': plan['model'], 'condition': plan['condition'], 'stages': [[s['name'], round(s['strength'], 3), s['why']] for s in plan['stages']]}

    def milliseconds(self, network, width, height):
        """Milliseconds of one frame through a ×4 network, or both passes of a ×2 one, timed by the engine in the product's process;
        0 without a network."""
        if network == 'none':
            return 0.0
        width, height = max(width, height), min(width, height)
        scale = max(row['scale'] for row in self.installed() if row['name'] == network)
        return sum(self._pass_ms(network, f'{width << n}x{height << n}') for n in range(PASSES[scale]))

    def _pass_ms(self, network, size):
        if (network, size) not in self.times:
            rows = [row for row in self.installed() if row['name'] == network]
            with tempfile.TemporaryDirectory() as folder:
                write_timed(Path(folder), rows)
                report = Product(self.command, folder).run('models', 'bench', network, '--size', size, '--json')
            self.times[network, size] = min(json.loads(line)['msPerFrame'] for line in report.splitlines())
        return self.times[network, size]


def write_timed(folder, rows):
    """Fills a model folder with one file only, of the largest scale, the fastest: int8 if there is one. Timing all files of a
    network takes minutes."""
    enlarging = [row for row in rows if row['scale'] == max(other['scale'] for other in rows)]
    row = next((r for r in enlarging if r['precision'] == 'int8'), enlarging[0])
    shutil.copyfile(row['path'], folder / Path(row['path']).name)
    kept = {key: row[key] for key in ('name', 'task', 'scale', 'precision', 'layout', 'multiple', 'halo') if key in row}
    (folder / 'manifest.json').write_text(json.dumps({'version': 1, 'models': [{**kept, 'file': Path(row['path']).name}]}))


class Peer:
    """A third-party ×4 network in its usual way: it enlarges by 4, then the result is reduced to the wanted size."""

    def __init__(self, folder, name, threads):
        rows = json.loads((Path(folder) / 'manifest.json').read_text())['models']
        file = next(row['file'] for row in rows if row['name'] == name and row['scale'] == 4)
        self.net = OpenVinoNet((Path(folder) / file).read_bytes(), 4, threads=threads)
        self.ms = {}  # by (height, width), because clips have several sizes

    def __call__(self, rgb, shape):
        """Enlarges R'G'B' bytes [h, w, 3] to [*shape, 3]."""
        h, w = rgb.shape[:2]
        x = np.ascontiguousarray(rgb.transpose(2, 0, 1)[None].astype(np.float32) / 255)
        request = self.net.request(h, w)  # compiles the network for the first frame of a size
        begun = time.perf_counter()
        large = np.array(request.infer([x])[0])[0]
        self.ms.setdefault((h, w), []).append(1000 * (time.perf_counter() - begun))
        return to_bytes(resize(255 * np.clip(large, 0, 1).transpose(1, 2, 0), *shape, 'lanczos3'))

    def milliseconds(self, height, width):
        """Milliseconds per frame of this size: the median, so that a slow first frame does not count."""
        return float(np.median(self.ms[height, width]))


@dataclass
class Made:
    """The result of a method for a clip."""
    luma: list         # [H, W] bytes each, BT.709
    rgb: object        # function: frame index, (rows, columns) as slices with even bounds → R'G'B' bytes
    network: str = ''
    ms: float = 0.0    # milliseconds of one frame in networks, of a peer
    product: Product | None = None  # that made it; it times its networks itself


def made_by_product(product, method, clip, work, span=None):
    levels = LEVELS_KEPT if clip.truth is not None and '--adaptive-contrast' not in method.arguments else ()
    frames, network = product.enhance(clip.file, work / 'made.mp4', (*method.arguments, *levels), span=span)
    return Made([f[0] for f in frames], lambda n, part: to_rgb(cut(frames[n], part)), network, product=product)


def made_by_peer(peer, method, sources, shape):
    """`sources`: RGB frames as the product decodes them."""
    pictures = [peer(rgb, shape) for rgb in sources[:method.frames or None]]
    return Made([to_bytes(luma(p)) for p in pictures], lambda n, part: pictures[n][part], method.peer, peer.milliseconds(*sources[0].shape[:2]))
