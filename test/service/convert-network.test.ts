/**
 * `models convert` and `models add`: what they install, and what it leaves when something is wrong. Most tests have a converter of their own,
 * because the real one needs 5 GB of Python packages; `npm run test:long` has one with a network of PyTorch's.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { shippedModelsDir } from '../../src/media/models.ts';
import { runCommand } from '../helpers/command.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually } from '../helpers/wait.ts';
import { temporaryFolder } from '../media/folder.ts';

const scratch = temporaryFolder();
afterAll(() => scratch.remove());

let number = 0;
/** a folder of networks for each test */
let folder: string;
beforeEach(() => {
  folder = join(scratch.path, `networks-${++number}`);
});

/** Makes a copy of `fast` of any file; the file's text is further members of the manifest's entry, or an error. */
const converter = join(scratch.path, 'python');
writeFileSync(
  converter,
  `#!/bin/sh
# -m convert torch FILE --name NAME --into FOLDER
# -m convert add NAME --into FOLDER
touch '${scratch.path}/was-run'
if [ "$3" = add ]; then
  cp '${join(shippedModelsDir, 'fast-x2.onnx')}' "$6/$4.onnx"
  echo "[{\\"name\\":\\"$4\\",\\"title\\":\\"known\\",\\"task\\":\\"super-resolution\\",\\"scale\\":2,\\"file\\":\\"$4.onnx\\",\\"layout\\":\\"luma+strength\\",\\"multiple\\":2,\\"blind\\":true}]"
  exit
fi
if grep -q '^slow' "$4"; then echo $$ > '${scratch.path}/slow-pid'; exec sleep 600; fi
if grep -q '^convert: ' "$4"; then cat "$4" >&2; exit 1; fi
cp '${join(shippedModelsDir, 'fast-x2.onnx')}' "$8/$6.onnx"
echo "[{\\"name\\":\\"$6\\",\\"title\\":\\"made\\",\\"task\\":\\"super-resolution\\",\\"scale\\":2,\\"file\\":\\"$6.onnx\\",\\"layout\\":\\"luma+strength\\",\\"multiple\\":2$(cat "$4")}]"
`,
);
chmodSync(converter, 0o755);

const environment = (env: Record<string, string> = {}) => ({ PATH: process.env['PATH']!, HOME: scratch.path, REELMEND_CONVERT_PYTHON: converter, ...env });
const reelmend = (...args: string[]) => runCommand(args, { env: environment() });

function weights(name: string, text = ''): string {
  const path = join(scratch.path, name);
  writeFileSync(path, text);
  return path;
}
const convert = (file: string, ...options: string[]) => reelmend('models', 'convert', file, '--to', folder, ...options);
const manifest = () => JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as { models: Record<string, unknown>[] };
const list = async () => (await runCommand(['models', 'list'], { env: environment({ REELMEND_MODELS_DIR: folder }) })).stdout;

describe('models convert', () => {
  it('tries the network and installs it under the name of its file', async () => {
    const { status, stdout, stderr } = await convert(weights('2x Sharp(er).pth'));
    expect(stdout).toMatch(/^2x-sharp-er- ×2 fp32, licence unknown: good\. 128×96 → 256×192, [\d.]+ ms a frame in \w+ on openvino\.\n$/);
    expect(stderr).toBe('2x-sharp-er-: the file states no licence. Ask its author for one, and state it with --license.\n');
    expect(status).toBe(0);
    expect(readdirSync(folder).sort()).toEqual(['2x-sharp-er-.onnx', 'manifest.json']);
    expect(await list()).toContain('2x-sharp-er- ×2 fp32 luma+strength  licence unknown  made  (2x-sharp-er-.onnx)');
  });

  it('that is interrupted ends the converter and leaves nothing', async () => {
    const file = weights('slow.pth', 'slow');
    const ended = convert(file);
    await eventually(() => existsSync(join(scratch.path, 'slow-pid')));
    process.emit('SIGINT', 'SIGINT');
    expect(await ended).toEqual({ status: 130, stdout: '', stderr: 'reelmend: Interrupted.\n' });
    expect(readdirSync(folder)).toEqual([]);
    const pid = Number(readFileSync(join(scratch.path, 'slow-pid'), 'utf8'));
    await eventually(() => !existsSync(`/proc/${pid}`));
  });

  it('keeps the licence that the operator or the file states, the operator’s first', async () => {
    const stated = weights('stated.safetensors', ',"license":"MIT"');
    for (const [name, options, license] of [['one', [], 'MIT'], ['two', ['--license', 'CC-BY-NC-4.0'], 'CC-BY-NC-4.0']] as const) {
      const { stdout, stderr } = await convert(stated, '--name', name, ...options);
      expect(stdout).toContain(`${name} ×2 fp32, ${license}: good.`);
      expect(stderr).toBe('');
    }
    expect(manifest().models.map(({ license }) => license)).toEqual(['MIT', 'CC-BY-NC-4.0']);
    expect((await convert(stated, '--license', 'free for all!')).stderr).toContain('Expected an SPDX identifier');
  });

  it('states whether the operator says that it is made for damaged sources', async () => {
    await convert(weights('plain.pth'));
    await convert(weights('cleans.pth'), '--blind');
    expect(manifest().models.map(({ name, blind }) => ({ name, blind }))).toEqual([{ name: 'plain' }, { name: 'cleans', blind: true }]);
  });

  it('replaces a network of the same name and keeps all others as they are', async () => {
    mkdirSync(folder);
    const other = { name: 'other', task: 'super-resolution', scale: 2, file: 'other.onnx', layout: 'rgb', how: 'by hand' };
    writeFileSync(join(folder, 'other.onnx'), 'not read');
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ version: 1, models: [other] }));
    for (const title of ['first', 'second']) await convert(weights('net.pth', `,"title":"${title}"`));
    expect(manifest().models).toMatchObject([other, { name: 'net', title: 'second' }]);
  });

  it('passes on what the converter says of the network', async () => {
    expect((await convert(weights('far.pth', ',"license":"MIT","note":"Tiles show."'))).stderr).toBe('Tiles show.\n');
  });

  it('leaves nothing of a network that cannot run', async () => {
    await convert(weights('good.pth'));
    const before = readFileSync(join(folder, 'manifest.json'), 'utf8');
    const { status, stderr } = await convert(weights('bad.pth', ',"layout":"rgb"'));
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^reelmend: Model “bad”: .*takes 2 planes, but its layout has 3.*\n$/) as string });
    expect(readFileSync(join(folder, 'manifest.json'), 'utf8')).toBe(before);
    expect(readdirSync(folder).sort()).toEqual(['good.onnx', 'manifest.json']);
  });

  it('says in one sentence what the converter refused', async () => {
    const file = weights('evil.pth', 'noise\nconvert: No weights are read from evil.pth.\n');
    expect(await convert(file)).toEqual({ status: 1, stdout: '', stderr: 'reelmend: No weights are read from evil.pth.\n' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['a file that is not there', 'absent.pth', [], /^reelmend: There is no file .*absent\.pth\.\n$/],
    ['a folder', '.', [], /^reelmend: There is no file /],
    ['a name that jobs cannot use', 'net.pth', ['--name', 'auto'], /^reelmend: The name auto must be neither auto nor none\. Choose one with --name\.\n$/],
    ['a name with a space', 'net.pth', ['--name', 'my net'], /^reelmend: The name my net must consist of at most 64 lower-case letters, digits, dots, dashes and underscores\. Choose one with --name\.\n$/],
    ['a file name that leaves no name', '---.pth', [], /^reelmend: The name {2}must consist of at most 64 lower-case letters, .*--name\.\n$/],
  ])('asks for no conversion of %s', async (_, name, options, says) => {
    for (const file of ['net.pth', '---.pth']) weights(file);
    writeFileSync(join(scratch.path, 'was-run'), '');
    execFileSync('rm', [join(scratch.path, 'was-run')]);
    const { status, stderr } = await convert(join(scratch.path, name), ...options);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(says) as string });
    expect(existsSync(join(scratch.path, 'was-run'))).toBe(false);
  });

  it('leaves a broken manifest alone', async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'manifest.json'), '{"version":2}');
    const { status, stderr } = await convert(weights('net.pth'));
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^reelmend: .*manifest\.json: version: .*\n$/) as string });
    expect(readdirSync(folder)).toEqual(['manifest.json']);
  });
});

/** A .safetensors file: the size of the header, the header, the values. */
function safetensors(tensors: Record<string, { shape: number[]; values: Float32Array }>, metadata: Record<string, string>): Buffer {
  let end = 0;
  const described = Object.entries(tensors).map(([name, { shape, values }]) => {
    const begin = end;
    end += values.byteLength;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const header = Buffer.from(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(described) }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([size, header, ...Object.values(tensors).map(({ values }) => Buffer.from(values.buffer))]);
}

/** A network ×4 of the architecture `Compact` that repeats pixels and adds a quarter of the range to red. */
function redder(): Buffer {
  const layers: Record<string, [number, number]> = { 'body.0': [8, 3], 'body.2': [8, 8], 'body.4': [48, 8] };
  const tensors: Record<string, { shape: number[]; values: Float32Array }> = {};
  for (const [name, [outputs, inputs]] of Object.entries(layers)) {
    tensors[`${name}.weight`] = { shape: [outputs, inputs, 3, 3], values: new Float32Array(outputs * inputs * 9) };
    tensors[`${name}.bias`] = { shape: [outputs], values: new Float32Array(outputs) };
  }
  for (const at of [1, 3]) tensors[`body.${at}.weight`] = { shape: [8], values: new Float32Array(8) };
  tensors['body.4.bias']!.values.fill(0.25, 0, 16);
  return safetensors(tensors, { 'modelspec.license': 'CC0-1.0' });
}

describe.skipIf(!isLongRun)('a network of PyTorch', () => {
  it('is converted, listed with scale, licence and speed, and runs by its name', async () => {
    const real = process.env['REELMEND_CONVERT_PYTHON'];
    const env = { PATH: process.env['PATH']!, HOME: scratch.path, REELMEND_MODELS_DIR: folder, ...(real === undefined ? {} : { REELMEND_CONVERT_PYTHON: real }) };
    const file = join(scratch.path, '4xRedder.safetensors');
    writeFileSync(file, redder());
    const converted = await runCommand(['models', 'convert', file], { env });
    expect(converted).toEqual({ status: 0, stdout: expect.stringMatching(/^4xredder ×4 fp32, CC0-1\.0: good\. 128×96 → 512×384, /) as string, stderr: expect.any(String) as string });
    const listed = JSON.parse((await runCommand(['models', 'list', '--speed', '--json'], { env })).stdout) as Record<string, unknown>[];
    expect(listed.find(({ name }) => name === '4xredder')).toMatchObject({ scale: 4, license: 'CC0-1.0', layout: 'rgb', msPerFrame: expect.any(Number) as number });

    const [clip, out] = [join(scratch.path, 'gray.mkv'), join(scratch.path, 'out.mp4')];
    await makeClip(clip, { seconds: 0.2, video: 'color=0x404040:size=640x360:rate=10', args: ['-c:v', 'ffv1', '-colorspace', 'bt709'], audio: null });
    const off = ['denoise', 'sharpen', 'adaptive-contrast', 'face-restoration'].flatMap((stage) => [`--${stage}`, 'off']);
    const enhanced = await runCommand(['enhance', clip, out, '--resolution', '1080p', '--model', '4xredder', ...off], { env });
    expect(enhanced.stdout).toMatch(/640×360 → 1920×1080, 2 frames at .* model 4xredder\n$/);
    const pixel = execFileSync('ffmpeg', ['-v', 'error', '-i', out, '-vf', 'crop=2:2:960:540', '-frames:v', '1', '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-']);
    for (const [plane, value] of [128, 64, 64].entries()) expect(Math.abs(pixel[plane]! - value)).toBeLessThanOrEqual(4);
  });
});

describe('models add', () => {
  it('installs a known network under the name that auto prefers for damaged sources', async () => {
    const added = await reelmend('models', 'add', 'realesr-animevideov3', '--to', folder, '--name', 'detail-best');
    expect(added.stdout).toMatch(/^detail-best ×2 fp32, licence unknown: good\./);
    const lines = (await list()).split('\n').filter((line) => line.startsWith('detail-best '));
    expect(lines).toEqual(['detail-best ×2 fp32 luma+strength  licence unknown  known  (realesr-animevideov3.onnx)']);
  });
});
