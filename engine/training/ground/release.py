"""From a checkpoint to what is shipped: int8 training, export, scores through OpenVINO, manifest."""
import hashlib
import json
import platform
import re
from dataclasses import replace
from pathlib import Path

import torch

from .compact import from_compact, is_compact
from .export import OPSET, from_fp32, to_fp32
from .network import RestorationNet, at_double
from .openvino_net import OpenVinoNet
from .photos import HERE, LIST, GroundError, photo_folders
from .quantise import QuantNet
from .real_scores import clip_gains, faithful_gain, gains
from .trainer import Trainer
from .validate import clip_scores, filter_scores, noise_scores, photo_chroma, photo_score

MODELS = HERE.parent / 'models'
CALIBRATION, EVENINGS = 24, (0.25, 0.5, 0.75, 1.0)  # batches; see quantise
# The largest strength that a recipe's samples carry.
MAX_STRENGTH = {'bicubic': 0, 'mixed': 1, 'restore': 1, 'real': 1}


def sources_of(folder):
    """{file: (source, licence)} from the tables of a folder's SOURCES.md. A licence stands behind its file (six columns:
    file, repository, …, licence), or is that of the repository, in a table of their own (three columns)."""
    found, repositories = {}, {}
    for line in (folder / 'SOURCES.md').read_text().splitlines():
        cells = [c.strip() for c in line.strip().strip('|').split('|')]
        if len(cells) >= 6:
            found[cells[0]] = (cells[1], cells[5])
        elif len(cells) >= 3 and ':' in cells[1] and '/' in cells[1]:
            found[cells[0]] = (cells[1].split(':')[0], None)
        elif len(cells) == 3:
            repositories[cells[0]] = cells[2]
    return {f: (source, licence or repositories.get(source)) for f, (source, licence) in found.items()}


def data_of():
    """[{'source', 'licence', 'pictures'}] of the listed training photographs, from SOURCES.md of every folder."""
    listed = [r['file'] for r in json.loads(LIST.read_text()) if r['split'] == 'training']
    known, found = {}, {}
    for folder in photo_folders():
        known.update(sources_of(folder))
    for file in listed:
        if not known.get(file, (None, None))[1]:
            raise GroundError(f'no_licence: SOURCES.md does not name {file}.')
        found.setdefault(known[file], []).append(file)
    return [{'source': s, 'licence': l, 'pictures': len(f)} for (s, l), f in sorted(found.items())]


@torch.no_grad()
def apart(quant, net, inputs):
    """How far the outputs lie from each other: mean over the samples of the squared error in dB (signal 0..1)."""
    return float(torch.cat([10 * (quant(x) - net(x)).square().mean((1, 2, 3)).log10() for x in inputs]).mean())


def quantised(net, batches, recipe, steps=0, count=CALIBRATION):
    """The int8 network of a trained one, made on `count` batches that no training before has seen: of several degrees of
    evening out the one whose output is nearest to fp32 on other batches, trained for `steps` more."""
    inputs = [batches.at(10**6 + i) for i in range(count)]
    others = [batches.at(10**6 + CALIBRATION + i)[0] for i in range(4)]
    found = []
    for evening in EVENINGS:
        quant = QuantNet(net)
        quant.calibrate(inputs, evening)
        found.append((apart(quant, net, others), evening, quant))
        print(f'int8, channels evened out by {evening}: {found[-1][0]:.2f} dB from fp32', flush=True)
    _, evening, quant = min(found, key=lambda f: f[0])
    if steps:
        quant = QuantNet(net)
        quant.prepare(inputs, evening)
        quant = trained_further(quant, batches, recipe, steps)
        quant.round(inputs)
    return quant


def trained_further(quant, batches, recipe, steps):
    """`steps` with rounding in the loop; the rate falls from the recipe's to 0."""
    base = 2 * 10**6  # batches that no run before has seen
    trainer = Trainer(quant, batches, replace(recipe, steps=base + steps, decay=steps, warm_up=1))
    trainer.number = base
    for step in range(1, steps + 1):
        trainer.step()
        if step % 100 == 0:
            print(f'int8 step {step} of {steps}', flush=True)
    return trainer.averaged()


def real_scores_of(net, clips=4):
    """Scores of the recipe `real`, over Lanczos-3 or at ×1 the source: {'real': {chain: {'psnr_gain', 'vmaf', 'neg',
    'flicker'}}, 'faithful_gain' (×2)}. `clips`: photographs a chain scored by VMAF, 0: none."""
    psnr = gains(net)
    found = clip_gains(net, clips) if clips else {chain: {} for chain in psnr}
    scores = {'real': {chain: {'psnr_gain': psnr[chain], **found[chain]} for chain in psnr}}
    return {**scores, 'faithful_gain': faithful_gain(net)} if net.scale == 2 else scores


def scores_of(data, network, precision='f32', recipe=None):
    """Scores of ONNX bytes as OpenVINO runs them on the validation data: plain numbers, rounded. What was trained on real
    damage is scored on it."""
    net = at_double(OpenVinoNet(data, network.scale, precision))
    if recipe == 'real':
        return _rounded(real_scores_of(net, clips=4 if precision == 'f32' else 0))
    scores = {'clips': clip_scores(net), 'noise': noise_scores(net)}
    if network.scale == 2:
        scores['validation'] = {'psnr_y': photo_score(net), **filter_scores(), **photo_chroma(net)}
    return _rounded(scores)


def _rounded(value):
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def overall(scores):
    """One number a file: the mean of its PSNRs, or gains in PSNR, to tell how far int8 lies below fp32."""
    if 'real' in scores:
        numbers = [row['psnr_gain'] for row in scores['real'].values()]
        numbers += [scores['faithful_gain']] if 'faithful_gain' in scores else []
        return sum(numbers) / len(numbers)
    numbers = [row['network'] for table in ('clips', 'noise') for row in scores[table].values()]
    if 'validation' in scores:
        numbers.append(scores['validation']['psnr_y'])
    return sum(numbers) / len(numbers)


def device():
    """The GPU's name where there is one, else the processor's and how many cores it gives."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    text = open('/proc/cpuinfo').read() if platform.system() == 'Linux' else ''
    name = re.search(r'model name\s*:\s*(.*)', text)
    return f'{name.group(1) if name else platform.processor()}, {len(re.findall("^processor", text, re.M))} cores'


def release(network, net, quant, training, int8_limit=None, fp32=None):
    """Writes both files and their entries in manifest.json; returns the entries. An int8 file that lies more than
    `int8_limit` dB below fp32 is not shipped; without `quant` there is none. `fp32`: the bytes of that file, where it is there already."""
    MODELS.mkdir(exist_ok=True)
    files = {'fp32': fp32 or to_fp32(net), **({'int8': quant.to_int8()} if quant else {})}
    recipe = training['recipe']
    scores = {precision: scores_of(data, network, recipe=recipe) for precision, data in files.items()}
    if quant:
        scores['int8']['loss_db'] = round(overall(scores['fp32']) - overall(scores['int8']), 3)
    if quant and int8_limit is not None and scores['int8']['loss_db'] > int8_limit:
        print(f'int8 lies {scores["int8"]["loss_db"]} dB below fp32 and is not shipped', flush=True)
        del files['int8']
    half = scores_of(files['fp32'], network, 'bf16', recipe)
    scores['fp32']['bf16_loss_db'] = round(overall(scores['fp32']) - overall(half), 3)
    entries = []
    for precision, data in files.items():
        file = network.file(precision)
        (MODELS / file).write_bytes(data)
        entries.append({
            'name': network.name, 'title': network.title, 'task': network.task, 'scale': network.scale, 'file': file,
            'precision': precision, 'layout': network.layout, 'input': 'x', 'output': 'y', 'multiple': 2,
            'halo': net.halo(), 'max_strength': MAX_STRENGTH[recipe], **({'blind': True} if recipe == 'real' else {}),
            'sha256': hashlib.sha256(data).hexdigest(), 'license': network.license, 'opset': OPSET,
            'training': training, 'data': data_of(), 'scores': scores[precision]})
    path = MODELS / 'manifest.json'
    old = json.loads(path.read_text())['models'] if path.exists() else []
    own = {network.file(precision) for precision in ('fp32', 'int8')}
    for file in own - {e['file'] for e in entries}:
        (MODELS / file).unlink(missing_ok=True)
    kept = [m for m in old if m['file'] not in own]
    # What people wrote about a file stays.
    said = {(m['name'], m['file']): {k: m[k] for k in ('description', 'relative_cost', 'strength_gain') if k in m} for m in old}
    entries = [{**e, **said.get((e['name'], e['file']), {})} for e in entries]
    entries += [{**entry, 'name': name} for name in network.also for entry in entries]
    models = sorted(kept + entries, key=lambda m: (m['layout'] == 'face', m['name'], -m['scale'], m['precision']))
    path.write_text(json.dumps({'version': 1, 'models': models}, indent=1) + '\n')
    return entries


def load_averaged(state):
    """The averaged weights of a checkpoint as a network of their shapes."""
    net = RestorationNet.shaped_as(state['average']).to(memory_format=torch.channels_last)
    net.load_state_dict(state['average'])
    return net.eval()


def training_of(file):
    """What the manifest says of how a shipped fp32 file was trained. Throws GroundError."""
    entry = next((m for m in json.loads((MODELS / 'manifest.json').read_text())['models'] if m['file'] == file), None)
    if entry is None or entry['precision'] != 'fp32':
        raise GroundError(f'not_shipped: {file} is no fp32 file of the manifest.')
    return entry['training']


WEIGHTS = 'weights.onnx'  # in the folder of a run on a GPU: all that needs to come back from a machine that is rented


def write_weights(folder, net, facts):
    """Writes the averaged weights of a run as ONNX (a checkpoint is ten times as large), and beside it what `release` has to
    know: {'number', 'hours', 'label', 'device'}."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in ((Path(WEIGHTS).with_suffix('.json'), json.dumps({**facts, 'device': device()}).encode()),
                       (WEIGHTS, to_fp32(net))):
        (folder / f'{name}.part').write_bytes(data)
        (folder / f'{name}.part').rename(folder / name)


def state_of(folder):
    """The last checkpoint of a run, or the weights that came back from another machine."""
    return folder / WEIGHTS if (folder / WEIGHTS).exists() and not (folder / 'last.pt').exists() else folder / 'last.pt'


def load_state(path):
    """A checkpoint; or an fp32 file, shipped or of `write_weights`, or a compact network of others, as one without its optimiser's
    memory. Throws GroundError."""
    if not path.exists():
        raise GroundError(f'no_checkpoint: {path} is not there.')
    if path.suffix == '.onnx':
        if is_compact(path.read_bytes()):
            return {'average': from_compact(path.read_bytes()).state_dict(), 'number': 0, 'hours': 0.0, 'label': path.stem}
        own = path.with_suffix('.json')
        if own.exists():
            facts = json.loads(own.read_text())
        else:
            shipped = training_of(path.name)
            facts = {'number': shipped['steps'], 'hours': shipped['hours'], 'label': shipped['recipe']}
        return {'average': from_fp32(path.read_bytes()).state_dict(), **facts}
    return torch.load(path, weights_only=True, map_location='cpu')
