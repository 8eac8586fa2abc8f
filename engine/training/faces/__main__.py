"""python -m faces train [--minutes M] | release: see --help."""
import argparse
import hashlib
import json
import platform
import time

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from ground.optimiser import optimiser_for
from ground.photos import HERE
from ground.structure import missing

from .network import FaceNet
from .product import report
from .samples import SIDE, as_tensors, faces_of, make_pairs

RUN = HERE / 'runs' / 'faces'
MODELS = HERE.parent / 'models'
SHIPPED = MODELS / 'faces-256.onnx'
BATCH = 8
CUT = 128
CHECK = {'split': 'validation', 'clips': 90, 'seed': 2}  # ten clips of each face


def luma(x):
    """[N, 1, H, W], 0 black and 1 white, of R'G'B' from -1 to 1."""
    weights = torch.tensor([0.299, 0.587, 0.114], device=x.device)[:, None, None]
    return ((x + 1) / 2 * weights).sum(1, keepdim=True)


def psnr(a, b):
    """[N] of R'G'B' from -1 to 1, in dB of luma."""
    return -10 * torch.log10((luma(a) - luma(b)).square().mean((1, 2, 3)).clamp_min(1e-10))


def scores(net, pairs):
    """{'degraded': (PSNR-Y in dB, missing structure), 'restored': …}, means of the pairs."""
    found = {'degraded': [], 'restored': []}
    with torch.no_grad():
        for at in range(0, len(pairs), BATCH):
            bad, good = (torch.from_numpy(side) for side in as_tensors(pairs[at:at + BATCH]))
            for name, made in (('degraded', bad), ('restored', net(bad).clamp(-1, 1))):
                found[name].append(torch.stack([psnr(made, good), missing(luma(made), luma(good))]))
    return {name: [round(float(v), 3) for v in torch.cat(rows, 1).mean(1)] for name, rows in found.items()}


def shipped_weights():
    """The state of the network that is shipped."""
    return {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in onnx.load(SHIPPED).graph.initializer}


def started(options):
    """(network, facts of the run before) to begin with: the last run, the shipped network, or nothing."""
    net = FaceNet()
    if options.resume:
        saved = torch.load(RUN / 'last.pt')
        net.load_state_dict(saved['net'])
        return net, saved['facts']
    if options.from_shipped:
        net.load_state_dict(shipped_weights(), strict=False)  # blocks that it lacks change nothing yet
    return net, {'steps': 0, 'minutes': 0, 'command': ''}


def loss_of(made, good, structure):
    """Charbonnier's, and what structure is missing (ground/structure.py): fidelity alone asks for the mean of what may be, which is soft."""
    fidelity = torch.sqrt((made - good).square() + 1e-6).mean()
    return fidelity + structure * missing(luma(made), luma(good)).mean()


def rate_at(options, share, step):
    """Warm-up, constant, then falling over the last third."""
    return options.rate * min(1.0, (1 - share) / 0.35 + 0.01, (step + 1) / 100)


def batch_of(pairs, rng, device):
    """BATCH pairs of CUT × CUT pixels: a step costs less than with whole patches, and sees as many of them."""
    y, x = (int(v) for v in rng.integers(SIDE - CUT + 1, size=2))
    chosen = pairs[np.sort(rng.integers(len(pairs), size=BATCH)), :, y:y + CUT, x:x + CUT]
    return tuple(torch.from_numpy(side).to(device) for side in as_tensors(chosen))


def save(mean, options, before, steps, spent, device):
    RUN.mkdir(parents=True, exist_ok=True)
    asked = f'--minutes {options.minutes:g} --rate {options.rate:g} --clips {options.clips} --structure {options.structure:g}'
    command = f"bash engine/training/faces.sh train {asked}{' --from-shipped' if options.from_shipped else ''}"
    if options.resume:
        command = f"{before['command']}, then --resume {asked}"
    facts = {'steps': before['steps'] + steps, 'batch': BATCH, 'minutes': round(before['minutes'] + spent / 60, 1),
             'device': device, 'command': command}
    torch.save({'net': mean.state_dict(), 'facts': facts}, RUN / 'last.pt')


def train(options):
    """Until the minutes are over; averaged weights are kept, at each report too."""
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    torch.manual_seed(1)
    net, before = started(options)
    mean = FaceNet()
    mean.load_state_dict(net.state_dict())
    net, mean = net.to(device), mean.to(device)
    optimiser, rng = optimiser_for(net, options.rate), np.random.default_rng(1 + before['steps'])
    pairs, check = make_pairs('training', options.clips), make_pairs(**CHECK)
    print(f'{len(pairs)} pairs; validation (dB, missing structure): {scores(mean.cpu(), check)}', flush=True)
    mean.to(device)
    start, step, spent = time.time(), 0, 0.0
    while spent < options.minutes * 60:
        for group in optimiser.param_groups:
            group['lr'] = rate_at(options, spent / (options.minutes * 60), step)
        bad, good = batch_of(pairs, rng, device)
        loss = loss_of(net(bad), good, options.structure)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            keep = min(0.998, step / (step + 50))
            for averaged, current in zip(mean.parameters(), net.parameters()):
                averaged.lerp_(current, 1 - keep)
        step, spent = step + 1, time.time() - start
        if step % options.report == 0:
            print(f'step {step}, {spent / 60:.1f} min, loss {loss.item():.4f}, validation {scores(mean.cpu(), check[::3])}', flush=True)
            save(mean, options, before, step, spent, device)
            mean.to(device)
    save(mean.cpu(), options, before, step, spent, device)
    print(f'{step} steps of {1000 * spent / step:.0f} ms in {spent / 60:.1f} min: {RUN / "last.pt"}')


def release(_):
    """Writes faces-256.onnx and its entry of the manifest, scored on faces that training never saw."""
    from ground.release import data_of
    saved = torch.load(RUN / 'last.pt')
    net = FaceNet()
    net.load_state_dict(saved['net'])
    torch.onnx.export(net.eval(), torch.zeros(1, 3, 256, 256), str(SHIPPED), input_names=['input'], output_names=['output'],
                      opset_version=17, dynamo=False)
    found = scores(net, make_pairs(**CHECK))
    training = {**saved['facts'], 'faces': len(faces_of('training')),
                'device': f"{saved['facts']['device']}, {platform.processor() or platform.machine()}"}
    entry = {'name': 'faces', 'title': 'Aligned faces, 256 pixels', 'task': 'face-restoration', 'scale': 1,
             'file': SHIPPED.name, 'precision': 'fp32', 'layout': 'face', 'max_change': 32,
             'sha256': hashlib.sha256(SHIPPED.read_bytes()).hexdigest(), 'license': 'Apache-2.0', 'opset': 17, 'training': training,
             'data': data_of(),
             'scores': {'validation_faces': {'degraded_db': found['degraded'][0], 'restored_db': found['restored'][0],
                                             'faces': len(faces_of('validation'))}}}
    manifest = MODELS / 'manifest.json'
    whole = json.loads(manifest.read_text())
    whole['models'] = [m for m in whole['models'] if m['name'] != 'faces'] + [entry]
    manifest.write_text(json.dumps(whole, indent=1) + '\n')
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(prog='faces', description=__doc__)
    commands = parser.add_subparsers(required=True)
    trainer = commands.add_parser('train', help='train from scratch for so many minutes')
    trainer.add_argument('--minutes', type=float, default=15)
    trainer.add_argument('--rate', type=float, default=1e-3)
    trainer.add_argument('--clips', type=int, default=2000, help='damaged clips, made beforehand, of two pairs each')
    trainer.add_argument('--structure', type=float, default=0.0, help='weight of the missing structure')
    trainer.add_argument('--from-shipped', action='store_true', help='begin with the shipped network')
    trainer.add_argument('--resume', action='store_true', help='go on from the last run')
    trainer.add_argument('--report', type=int, default=200, help='steps between lines of the log')
    trainer.set_defaults(run=train)
    product = commands.add_parser('product', help='measure the stage in `reelmend enhance` with the installed network')
    product.add_argument('--strengths', nargs='+', default=['auto', '1'])
    product.set_defaults(run=lambda o: report(o.strengths))
    commands.add_parser('release', help='export and describe the last run').set_defaults(run=release)
    options = parser.parse_args()
    options.run(options)


if __name__ == '__main__':
    main()
