/** GPUs with full TensorRT run networks only with engines that were compiled before: the log and `devices` say which are missing. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warnOfMissingEngines } from '../../src/app/warn-of-missing-engines.ts';
import { devicesCommand } from '../../src/cli/devices-command.ts';
import { atTerminal, terminal } from '../../src/cli/terminal.ts';
import { findMissingEngines } from '../../src/media/missing-engines.ts';
import type { InstalledModel } from '../../src/media/models.ts';
import type { DeviceInfo } from '../../src/media/types.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
const path = (...names: string[]) => join(folder.path, ...names);
afterAll(() => folder.remove());

const gpu = (simd: string, more: Partial<DeviceInfo> = {}): DeviceInfo =>
  ({ id: 'cuda:0', name: 'NVIDIA H100', usable: true, reason: '', threads: 0, simd, encoder: 'libx264', inference: [], ...more });
const cpu = gpu('avx2', { id: 'cpu', name: 'EPYC' });
const hex = (digit: string) => digit.repeat(64);
const model = (name: string, digit: string, more: Partial<InstalledModel> = {}): InstalledModel =>
  ({ name, title: name, path: path(`${name}.onnx`), task: 'super-resolution', scale: 2, precision: 'fp32', layout: 'rgb', sha256: hex(digit), ...more });
const models = [model('fast', 'a'), model('quality', 'b'), model('quality', 'c', { scale: 4 }), model('faces', 'd', { layout: 'face' }), model('fast', 'e', { precision: 'int8' })];
const engine = (digit: string, sm: string, size = 'any') => `tensorrt-${digit.repeat(12)}-${size}-fp16-${sm}-0123456789abcdef.engine`;

/** A folder with empty files; returns its path. */
function filled(name: string, files: string[]): string {
  mkdirSync(path(name), { recursive: true });
  for (const file of files) writeFileSync(path(name, file), '');
  return path(name);
}

let full: string;
let both: string;
beforeAll(() => {
  full = filled('full', ['reelmend_tensorrt.so', 'reelmend_tensorrt_rtx.so', 'libnvinfer.so.10']);
  both = filled('both', ['reelmend_tensorrt.so', 'reelmend_tensorrt_rtx.so', 'libtensorrt_rtx.so.1']);
});

const missing = async (simd: string, enginesDir: string | undefined, modulesDir: string, more: Partial<DeviceInfo> = {}) =>
  (await findMissingEngines({ devices: [cpu, gpu(simd, more)], models, enginesDir, modulesDir })).map(({ networks }) => networks);

describe('the networks that lack an engine', () => {
  it('are all in fp32 where nothing was compiled', async () => {
    expect(await missing('sm_90', undefined, full)).toEqual([['fast', 'quality', 'faces']]);
    expect(await missing('sm_90', path('absent'), full)).toEqual([['fast', 'quality', 'faces']]);
  });

  it('are those without an engine for this kind of GPU, of any size', async () => {
    const some = filled('some', [engine('a', 'sm90'), engine('b', 'sm90', '960x540'), engine('c', 'sm100'), engine('c', 'sm90').replace('.engine', '.new')]);
    expect(await missing('sm_90', some, full)).toEqual([['quality', 'faces']]);
    const all = filled('all', [engine('a', 'sm90'), engine('b', 'sm90'), engine('c', 'sm90'), engine('d', 'sm90', '256x256')]);
    expect(await missing('sm_90', all, full)).toEqual([]);
    expect(await missing('sm_80', all, full)).toEqual([['fast', 'quality', 'faces']]);
  });

  it('are none where TensorRT-RTX compiles them within a job, where full TensorRT was not built, and for a GPU that is not used', async () => {
    expect(await missing('sm_89', undefined, both)).toEqual([]);
    expect(await missing('sm_90', undefined, both)).toEqual([['fast', 'quality', 'faces']]);
    expect(await missing('sm_89', undefined, full)).toEqual([['fast', 'quality', 'faces']]);
    expect(await missing('sm_90', undefined, path('absent'))).toEqual([]);
    expect(await missing('sm_90', undefined, full, { usable: false })).toEqual([]);
  });
});

const media = { devices: async () => [cpu, gpu('sm_90')], speeds: async () => undefined };

it('a worker logs them at its start, with the command that compiles them', async () => {
  const warnings: unknown[][] = [];
  const logger = { warn: (...args: unknown[]) => void warnings.push(args) };
  await warnOfMissingEngines({ media, models, enginesDir: undefined, logger, modulesDir: full });
  expect(warnings).toEqual([
    [
      { device: 'cuda:0', networks: ['fast', 'quality', 'faces'] },
      'cuda:0 (NVIDIA H100) has no compiled engine of full TensorRT for fast, quality, faces (REELMEND_ENGINES_DIR is not set), so these networks run on the CPU: ' +
        'run “reelmend models compile --out DIR” and set REELMEND_ENGINES_DIR to that folder.',
    ],
  ]);
  const broken = { devices: () => Promise.reject(new Error('no driver')) };
  await warnOfMissingEngines({ media: broken, models, enginesDir: undefined, logger, modulesDir: full });
  expect(warnings).toHaveLength(2);
});

it('devices shows them, to people and to programs', async () => {
  const find = (devices: DeviceInfo[]) => findMissingEngines({ devices, models, enginesDir: path('absent'), modulesDir: full });
  const shown = async (json: boolean) => {
    let text = '';
    await atTerminal({ ...terminal(), stdout: (part) => void (text += part), isTerminal: true }, () => devicesCommand(media, find, { json }));
    return text;
  };
  expect(await shown(false)).toContain(`has no compiled engine of full TensorRT for fast, quality, faces (none in ${path('absent')}), so these networks run on the CPU`);
  expect(JSON.parse(await shown(true))).toMatchObject([{ id: 'cpu' }, { id: 'cuda:0', networksWithoutEngine: ['fast', 'quality', 'faces'] }]);
  expect((JSON.parse(await shown(true)) as object[])[0]).not.toHaveProperty('networksWithoutEngine');
});
