"""python -m faces train [--minutes M] | release | product: see --help."""
import argparse
import hashlib
import json
import platform
import time

import numpy as np
import torch

from ground.optimiser import optimiser_for
from ground.photos import HERE

from .network import FaceNet
from .product import report
from .samples import Samples, faces_of, mark_all_as_shipped

RUN = HERE / 'runs' / 'faces'
MODELS = HERE.parent / 'models'
BATCH = 8


def batch(samples, first, count=BATCH):
    pairs = [samples.pair(first + i) for i in range(count)]
    return tuple(torch.from_numpy(np.stack(side)) for side in zip(*pairs))


def psnr(a, b):
    """Of values from -1 to 1, in dB."""
    return float(10 * torch.log10(4 / (a - b).square().mean((1, 2, 3)).clamp_min(1e-10)).mean())


def scores(net, samples, count=48):
    """(degraded, restored) against the good patches, dB."""
    with torch.no_grad():
        pairs = [batch(samples, i) for i in range(0, count, BATCH)]
        before = float(np.mean([psnr(bad, good) for bad, good in pairs]))
        after = float(np.mean([psnr(net(bad).clamp(-1, 1), good) for bad, good in pairs]))
    return round(before, 3), round(after, 3)


def train(options):
    """Until the minutes are over: constant rate, then falling over the last third; averaged weights are kept."""
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    torch.manual_seed(1)
    net = FaceNet().to(device)
    before = {'steps': 0, 'minutes': 0, 'command': ''}
    if options.resume:
        saved = torch.load(RUN / 'last.pt')
        net.load_state_dict(saved['net'])
        before = saved['facts']
    mean = FaceNet().to(device)
    mean.load_state_dict(net.state_dict())
    optimiser, samples = optimiser_for(net, options.rate), Samples('training', seed=1 + before['steps'], sheets=options.sheets)
    check = Samples('validation', seed=2, faces_share=1.0, sheets=2)
    start, step, spent = time.time(), 0, 0.0
    while spent < options.minutes * 60:
        share = spent / (options.minutes * 60)
        for group in optimiser.param_groups:
            group['lr'] = options.rate * min(1.0, (1 - share) / 0.35 + 0.01, (step + 1) / 100)
        bad, good = (side.to(device) for side in batch(samples, step * BATCH))
        loss = torch.sqrt((net(bad) - good).square() + 1e-6).mean()
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
            print(f'step {step}, {spent / 60:.1f} min, loss {loss.item():.4f}, validation (dB before, after) '
                  f'{scores(mean.cpu(), check, 24)}', flush=True)
            mean.to(device)
    RUN.mkdir(parents=True, exist_ok=True)
    command = f'bash engine/training/faces.sh train --minutes {options.minutes:g} --sheets {options.sheets}'
    if options.resume:
        command = f"{before['command']}, then --resume --minutes {options.minutes:g} --sheets {options.sheets}"
    facts = {'steps': before['steps'] + step, 'batch': BATCH, 'minutes': round(before['minutes'] + spent / 60, 1),
             'device': device, 'command': command}
    torch.save({'net': mean.cpu().state_dict(), 'facts': facts}, RUN / 'last.pt')
    print(f'{step} steps of {1000 * spent / step:.0f} ms in {spent / 60:.1f} min: {RUN / "last.pt"}')


def release(_):
    """Writes faces-256.onnx and its entry of the manifest, scored on faces that training never saw."""
    from ground.release import data_of
    saved = torch.load(RUN / 'last.pt')
    net = FaceNet()
    net.load_state_dict(saved['net'])
    path = MODELS / 'faces-256.onnx'
    torch.onnx.export(net.eval(), torch.zeros(1, 3, 256, 256), str(path), input_names=['input'], output_names=['output'],
                      opset_version=17, dynamo=False)
    check = Samples('validation', seed=3, faces_share=1.0, sheets=4)
    before, after = scores(net, check, 96)
    training = {**saved['facts'], 'faces': len(faces_of('training')),
                'device': f"{saved['facts']['device']}, {platform.processor() or platform.machine()}"}
    entry = {'name': 'faces', 'title': 'Aligned faces, 256 pixels', 'task': 'face-restoration', 'scale': 1,
             'file': path.name, 'precision': 'fp32', 'layout': 'face', 'max_change': 32,
             'sha256': hashlib.sha256(path.read_bytes()).hexdigest(), 'license': 'Apache-2.0', 'opset': 17, 'training': training,
             'data': data_of(),
             'scores': {'validation_faces': {'degraded_db': before, 'restored_db': after, 'faces': len(check.faces)}}}
    manifest = MODELS / 'manifest.json'
    whole = json.loads(manifest.read_text())
    whole['models'] = [m for m in whole['models'] if m['name'] != 'faces'] + [entry]
    manifest.write_text(json.dumps(whole, indent=1) + '\n')
    mark_all_as_shipped()
    print(json.dumps(entry['scores']))


def main():
    parser = argparse.ArgumentParser(prog='faces', description=__doc__)
    commands = parser.add_subparsers(required=True)
    trainer = commands.add_parser('train', help='train from scratch for so many minutes')
    trainer.add_argument('--minutes', type=float, default=15)
    trainer.add_argument('--rate', type=float, default=1e-3)
    trainer.add_argument('--sheets', type=int, default=60, help='sheets of 48 patches that x264 codes beforehand')
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
