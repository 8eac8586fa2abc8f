/** The measured speed of the networks: when it is measured, what is kept, and what jobs get of it. The figures are fixed. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { installedModels, type InstalledModel } from '../../src/media/models.ts';
import type { SpeedOptions } from '../../src/media/plans.ts';
import { Speeds } from '../../src/media/speeds.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const shipped = installedModels();
const fastInt8 = (model: { name: string; precision: string; scale?: number }) => model.name === 'fast' && model.precision === 'int8' && model.scale === 2;
/** milliseconds for a megapixel, by the networks' files */
const costs = { fp32: 40, int8: 10 };

let file: string;
let trials: string[] = [];
let warnings: string[] = [];
let infos: string[] = [];
let failing: (name: string) => boolean = () => false;
/** each trial lasts until it is aborted */
let isHeld = false;
let round = 0;
beforeEach(() => {
  [trials, warnings, infos, failing, isHeld] = [[], [], [], () => false, false];
  file = join(folder.path, `round-${round++}`, 'data', 'speeds.json');
});

interface Machine {
  models?: readonly InstalledModel[];
  processor?: string;
  options?: Partial<SpeedOptions>;
  hasGpu?: boolean;
  engine?: string;
}

function machine({ models = shipped, processor = 'a processor', options = {}, hasGpu = false, engine }: Machine = {}): Speeds {
  return new Speeds({
    options: { file, sample: 'sample.mp4', threads: 2, encoder: { preset: 'fast', crf: 20 }, ...options },
    models,
    hasGpu,
    ...(engine === undefined ? {} : { engine }),
    processor: async () => ({ name: processor, generation: '25/17/1', features: ['avx2'] }),
    logger: { info: (_, message) => infos.push(message), warn: (_, message) => warnings.push(message) },
    checkModel: async ({ model, trial, signal }) => {
      trials.push(`${model.name} ×${model.scale} ${model.precision}`);
      if (isHeld) await new Promise((_resolve, reject) => signal!.addEventListener('abort', () => reject(signal!.reason as Error)));
      if (failing(model.name)) throw new Error('This network cannot run here.');
      const msPerFrame = (costs[model.precision] * trial!.width! * trial!.height!) / 1e6;
      return { precision: model.precision, msPerFrame } as never;
    },
    enhance: async ({ options: { model } }) => {
      trials.push(`model ${model}`);
      // Half a second for ten frames of two megapixels.
      return { wallSeconds: 0.7, startSeconds: 0.2, frames: 10, width: 2000, height: 1000 } as never;
    },
  });
}

const floor = { framesPerSecond: 25 };

describe('the speed of the networks', () => {
  it('is measured once, and kept for the processes that follow', async () => {
    const first = await machine().measure();
    // `quality` has the ×1 files of `fast`, and `detail-large` and `detail-best` those of `detail`. They are measured once; faces are not chosen by their speed.
    expect(trials.toSorted()).toEqual([
      ...['detail ×1 fp32', 'detail ×1 int8', 'detail ×2 fp32', 'detail ×2 int8'],
      ...['detail-best ×2 fp32', 'detail-best ×2 int8', 'detail-best ×4 fp32', 'detail-best ×4 int8'],
      ...['detail-large ×2 fp32', 'detail-large ×2 int8', 'detail-large ×4 fp32', 'detail-large ×4 int8'],
      ...['fast ×1 fp32', 'fast ×1 int8', 'fast ×2 fp32', 'fast ×2 int8', 'model none', 'quality ×2 fp32', 'quality ×2 int8'],
    ]);
    expect(first).toMatchObject({ processor: 'a processor', threads: 2, otherMsPerMegapixel: 25 });
    expect(first!.networks).toContainEqual({ name: 'quality', scale: 1, file: 'int8', precision: 'int8', msPerMegapixel: 10 });
    expect(readdirSync(join(file, '..'))).toEqual(['speeds.json']);
    expect(infos).toEqual([expect.stringContaining('takes up to a minute'), expect.stringContaining('was measured')]);
    [trials, infos] = [[], []];
    expect(await machine().measure()).toEqual(first);
    expect([...trials, ...infos]).toEqual([]);
  });

  it.each<[string, () => Machine | void]>([
    ['another processor', () => ({ processor: 'another' })],
    ['other threads', () => ({ options: { threads: 3 } })],
    ['another encoder', () => ({ options: { encoder: { preset: 'slow', crf: 20 } } })],
    ['another network', () => ({ models: shipped.map((model) => (fastInt8(model) ? { ...model, sha256: '0'.repeat(64) } : model)) })],
    ['half a file', () => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 300))],
    ['a file of another form', () => writeFileSync(file, '{"version": 2}')],
    ['a figure that is none', () => writeFileSync(file, readFileSync(file, 'utf8').replace(/"msPerMegapixel": 10/, '"msPerMegapixel": -1'))],
  ])('is measured again with %s', async (_, change) => {
    await machine().measure();
    trials = [];
    const changed = change() ?? {};
    await machine(changed).measure();
    expect(trials).toContain('model none');
    trials = [];
    await machine(changed).measure();
    expect(trials).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('is measured again on request, and the earlier figures stay if that fails', async () => {
    const first = await machine().measure();
    trials = [];
    const speeds = machine();
    const again = await speeds.measure({ again: true });
    expect(trials).toContain('model none');
    expect(again!.measuredAt > first!.measuredAt).toBe(true);
    expect(await machine().measure()).toEqual(again);
    trials = [];
    await speeds.measure({ again: true });
    expect(trials).toContain('model none');
    const kept = await machine().measure();
    failing = () => true;
    expect(await machine().measure({ again: true })).toEqual(kept);
    expect(warnings).not.toEqual([]);
  });

  it('of a new measurement is used by a running process from its next start, with the same number of threads', async () => {
    const rows = new Map<string, unknown>();
    const shared = { find: async (key: string) => rows.get(key), keep: async (key: string, speeds: object) => void (rows.has(key) || rows.set(key, speeds)) };
    const running = machine({ options: { shared } });
    const first = await running.measure();
    const again = await machine().measure({ again: true });
    expect(again).not.toEqual(first);
    expect(await running.measure()).toEqual(first);
    trials = [];
    expect(await machine({ options: { shared } }).measure()).toEqual(again);
    // A machine of the same kind with a folder of its own.
    expect(await machine({ options: { shared, file: join(file, '..', 'other', 'speeds.json') } }).measure()).toEqual(first);
    expect(trials).toEqual([]);
    await machine({ options: { shared, threads: 3 } }).measure();
    expect(trials).toContain('model none');
  });

  it('stays in the process where it cannot be kept, which is logged once', async () => {
    mkdirSync(join(file, '..', '..'), { recursive: true });
    writeFileSync(join(file, '..'), 'no folder');
    const speeds = machine({ options: { floor } });
    await speeds.measure();
    const count = trials.length;
    await Promise.all([speeds.measure(), speeds.settle({ model: 'auto' }), speeds.settle({})]);
    expect(trials).toHaveLength(count);
    expect(warnings).toEqual([expect.stringContaining('cannot be kept')]);
    expect(speeds.models().find(fastInt8)).toMatchObject({ msPerMegapixel: 10 });
  });

  it('is shared with machines of the same kind, whose folders are empty', async () => {
    const rows = new Map<string, unknown>();
    const shared = { find: async (key: string) => rows.get(key), keep: async (key: string, speeds: object) => void rows.set(key, structuredClone(speeds)) };
    const first = await machine({ options: { shared } }).measure();
    expect(rows.size).toBe(1);
    trials = [];
    for (const name of ['second', 'third']) {
      const own = join(file, '..', name, 'speeds.json');
      expect(await machine({ options: { shared, file: own, floor } }).measure()).toEqual(first);
      expect(existsSync(own)).toBe(true);
    }
    expect(trials).toEqual([]);
    await machine({ options: { shared, file: `${file}-of-another` }, processor: 'another' }).measure();
    expect(rows.size).toBe(2);
    expect(trials).not.toEqual([]);
  });

  it('is shared with machines that built the same engine at another time, and not with those of another engine', async () => {
    const rows = new Map<string, unknown>();
    const shared = { find: async (key: string) => rows.get(key), keep: async (key: string, speeds: object) => void rows.set(key, structuredClone(speeds)) };
    mkdirSync(join(file, '..'), { recursive: true });
    const built = (name: string, content: string, at: number) => {
      const engine = join(file, '..', `${name}.node`);
      writeFileSync(engine, content);
      utimesSync(engine, at, at);
      return { engine, options: { shared, file: join(file, '..', `${name}.json`) } };
    };
    const first = await machine(built('first', 'engine a', 1_000_000)).measure();
    trials = [];
    expect(await machine(built('second', 'engine a', 2_000_000)).measure()).toEqual(first);
    expect(trials).toEqual([]);
    await machine(built('third', 'engine b', 1_000_000)).measure();
    expect(trials).toContain('model none');
    expect(rows.size).toBe(2);
  });

  it('is measured where the shared results cannot be read or are of another form', async () => {
    const lost = async () => Promise.reject(new Error('no connection'));
    expect(await machine({ options: { shared: { find: lost, keep: lost } } }).measure()).toMatchObject({ threads: 2 });
    expect(warnings).toEqual([expect.stringContaining('cannot be read'), expect.stringContaining('cannot be shared')]);
    warnings = [];
    const other = { find: async () => ({ version: 2 }), keep: async () => {} };
    expect(await machine({ options: { shared: other, file: `${file}-2` } }).measure()).toMatchObject({ threads: 2 });
    expect(warnings).toEqual([]);
  });

  it('leaves out a network that cannot run', async () => {
    failing = (name) => name === 'quality';
    const measured = await machine().measure();
    expect(new Set(measured!.networks.map(({ name, scale }) => `${name} ×${scale}`))).toEqual(new Set(['detail ×2', 'detail ×1', 'detail-best ×4', 'detail-best ×2', 'detail-best ×1', 'detail-large ×4', 'detail-large ×2', 'detail-large ×1', 'fast ×2', 'fast ×1', 'quality ×1']));
  });

  it('is unknown where no network runs', async () => {
    failing = () => true;
    const speeds = machine({ options: { floor } });
    expect(await speeds.measure()).toBeUndefined();
    await speeds.settle({});
    expect(trials.filter((trial) => trial === 'fast ×2 int8')).toHaveLength(1);
    expect(existsSync(file)).toBe(false);
    expect(speeds.models().some((model) => 'msPerMegapixel' in model)).toBe(false);
  });
});

describe('a job', () => {
  it.each<[string, Parameters<Speeds['settle']>[0], Machine]>([
    ['no floor is set', { model: 'auto' }, {}],
    ['its network is named', { model: 'quality' }, { options: { floor } }],
    ['it runs on a GPU', { model: 'auto', device: 'cuda:0' }, { options: { floor } }],
    ['the machine has a GPU', { model: 'auto' }, { options: { floor }, hasGpu: true }],
    ['it is a segment of a plan', { model: 'auto', piece: { plan: '', index: 0 } }, { options: { floor } }],
  ])('measures nothing when %s', async (_, job, given) => {
    await machine(given).settle(job);
    expect(trials).toEqual([]);
  });

  it('waits for the figures when a floor decides its network', async () => {
    const speeds = machine({ options: { floor: { timesLength: 0.5 } } });
    await Promise.all([speeds.settle({ model: 'auto' }), speeds.settle({ device: 'cpu' })]);
    expect(trials.filter((trial) => trial === 'model none')).toHaveLength(1);
    expect(speeds.machine()).toEqual({ otherMsPerMegapixel: 25, minTimesLength: 0.5 });
    expect(speeds.models().find(fastInt8)).toMatchObject({ msPerMegapixel: 10 });
    expect(speeds.models().find(({ layout }) => layout === 'face')).not.toHaveProperty('msPerMegapixel');
  });

  it('waits for them on the CPU of a machine with a GPU', async () => {
    await machine({ options: { floor }, hasGpu: true }).settle({ device: 'cpu' });
    expect(trials).toContain('model none');
  });

  it('gets what an earlier process measured, without a floor, too', async () => {
    await machine().measure();
    const speeds = machine();
    await speeds.settle({ model: 'auto' });
    expect(speeds.machine()).toEqual({ otherMsPerMegapixel: 25 });
    expect(speeds.models().find(fastInt8)).toMatchObject({ msPerMegapixel: 10 });
  });
});

it('removes the folders of measurements that were killed, also when it measures nothing', async () => {
  await machine().measure();
  const temporary = join(folder.path, 'temporary');
  for (const name of ['reelmend-speed-killed', 'reelmend-speed-running', 'of-others']) mkdirSync(join(temporary, name), { recursive: true });
  writeFileSync(join(temporary, 'reelmend-speed-killed', 'out.mp4'), 'half');
  for (const name of ['reelmend-speed-killed', 'of-others']) utimesSync(join(temporary, name), 0, Date.now() / 1000 - 660);
  vi.stubEnv('TMPDIR', temporary);
  await machine().load();
  vi.unstubAllEnvs();
  expect(readdirSync(temporary).sort()).toEqual(['of-others', 'reelmend-speed-running']);
});

it('an aborted job does not wait for the measurement, which ends with the last job that waits for it', async () => {
  isHeld = true;
  const speeds = machine({ options: { floor } });
  const [first, second] = [new AbortController(), new AbortController()];
  const jobs = [first, second].map(({ signal }) => speeds.settle({ model: 'auto' }, signal));
  await vi.waitFor(() => expect(trials).toHaveLength(1));
  first.abort(new Error('first'));
  await expect(jobs[0]).rejects.toThrow('first');
  expect(trials).toHaveLength(1);
  second.abort(new Error('second'));
  await expect(jobs[1]).rejects.toThrow('second');
  expect(warnings).toEqual([]);
  isHeld = false;
  await speeds.settle({ model: 'auto' });
  expect(speeds.machine()).toMatchObject({ otherMsPerMegapixel: 25 });
});
