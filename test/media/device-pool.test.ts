/** Several GPUs: jobs go where the fewest are, and never to one that is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { crashed, failureFromChild, isDeviceFault, misbehaved, timedOut } from '../../src/media/failures.ts';
import { DevicePool, namesSeveral } from '../../src/media/device-pool.ts';
import type { DeviceInfo } from '../../src/media/types.ts';

const gpu = (index: number, usable = true): DeviceInfo => ({
  id: `cuda:${index}`,
  name: 'made up',
  usable,
  reason: usable ? '' : 'It fell off the bus.',
  threads: 0,
  simd: 'sm_90',
  encoder: 'libx264',
  inference: [],
});
const cpu: DeviceInfo = { ...gpu(0), id: 'cpu' };
const fault = () => failureFromChild({ code: 'unavailable', message: 'The GPU stopped working while it processed the video (x).' });

function machine(device: string, count = 3, pollIntervalMs = 60_000) {
  const gpus = Array.from({ length: count }, (_, index) => gpu(index));
  const notes: { device: string; reason: string; message: string }[] = [];
  const seen = { polls: 0 };
  const pool = new DevicePool({
    device,
    pollIntervalMs,
    hasGpu: true,
    poll: async () => {
      seen.polls += 1;
      return [cpu, ...gpus];
    },
    warn: (details, message) => notes.push({ ...(details as { device: string; reason: string }), message }),
  });
  const lose = (index: number) => (gpus[index] = gpu(index, false));
  const mend = (index: number) => (gpus[index] = gpu(index));
  return { pool, notes, seen, lose, mend };
}

/** Starts jobs that run until their `end` is called. */
function jobs(pool: DevicePool) {
  const running: { device: string; end: () => void; done: Promise<unknown> }[] = [];
  const start = async () => {
    let end = () => {};
    const over = new Promise<void>((resolve) => (end = resolve));
    let begun = (_: string) => {};
    const device = new Promise<string>((resolve) => (begun = resolve));
    const done = pool.run((on) => (begun(on), over));
    running.push({ device: await device, end, done });
    return running.at(-1)!;
  };
  return { start, running };
}

describe('several GPUs', () => {
  it.each([
    ['cuda:all', true],
    ['cuda:0,cuda:1', true],
    ['cuda:0', false],
    ['auto', false],
    ['cpu', false],
  ])('are asked for by %s: %s', (device, several) => expect(namesSeveral(device)).toBe(several));

  it('share the jobs evenly, and the first free one gets the next', async () => {
    const { pool, seen } = machine('cuda:all');
    const { start, running } = jobs(pool);
    for (let i = 0; i < 6; i += 1) await start();
    expect(running.map(({ device }) => device)).toEqual(['cuda:0', 'cuda:1', 'cuda:2', 'cuda:0', 'cuda:1', 'cuda:2']);
    running[1]!.end();
    await running[1]!.done;
    expect(await pool.next()).toBe('cuda:1');
    expect((await start()).device).toBe('cuda:1');
    expect(seen.polls).toBe(1);
    for (const { end } of running) end();
  });

  it('of a list are used alone', async () => {
    const { pool } = machine('cuda:2,cuda:0');
    const { start, running } = jobs(pool);
    for (let i = 0; i < 4; i += 1) await start();
    expect(running.map(({ device }) => device)).toEqual(['cuda:2', 'cuda:0', 'cuda:2', 'cuda:0']);
    for (const { end } of running) end();
  });

  it('do the job of a device that is lost, which gets no more', async () => {
    const { pool, lose, notes } = machine('cuda:all');
    const tried: string[] = [];
    const result = await pool.run((device) => {
      tried.push(device);
      if (device !== 'cuda:0') return Promise.resolve(device);
      lose(0);
      return Promise.reject(fault());
    });
    expect(tried).toEqual(['cuda:0', 'cuda:1']);
    expect(result).toBe('cuda:1');
    expect(notes).toEqual([{ device: 'cuda:0', reason: 'It fell off the bus.', message: 'a GPU cannot be used and gets no jobs' }]);
    const after: string[] = [];
    for (let i = 0; i < 4; i += 1) await pool.run(async (device) => after.push(device));
    expect(after).not.toContain('cuda:0');
  });

  it('that are all lost leave the job to another worker, with the last fault, and the next with one sentence', async () => {
    const { pool, lose } = machine('cuda:all', 2);
    const all = (device: string) => (lose(Number(device.slice(5))), Promise.reject(fault()));
    await expect(pool.run(all)).rejects.toMatchObject({ code: 'service_unavailable', message: expect.stringContaining('stopped working') as string });
    const refusal = await pool.run(() => Promise.resolve()).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'service_unavailable', message: 'No GPU of this worker can be used.' });
    expect(isDeviceFault(refusal)).toBe(true);
  });

  it('are not lost by a video that crashes the decoder, which is tried on two of them at most', async () => {
    const { pool, notes } = machine('cuda:all');
    let attempts = 0;
    const crash = () => ((attempts += 1), Promise.reject(crashed({ code: null, signal: 'SIGSEGV' }, '')));
    await expect(pool.run(crash)).rejects.toMatchObject({ code: 'processing_failed' });
    expect(attempts).toBe(2);
    expect(notes).toEqual([]);
    expect(await pool.run((device) => Promise.resolve(device))).toBe('cuda:0');
  });

  it.each([
    ['a failure of the job’s own', misbehaved(new Error('x')), undefined],
    ['a fault after it was cancelled', fault(), AbortSignal.abort()],
  ])('are not tried again after %s', async (_, error, signal) => {
    const { pool, seen } = machine('cuda:all');
    let attempts = 0;
    await expect(pool.run(() => ((attempts += 1), Promise.reject(error)), signal)).rejects.toBe(error);
    expect([attempts, seen.polls]).toEqual([1, 1]);
  });

  it('that cannot be asked for make no video the reason', async () => {
    const poll = () => Promise.reject(timedOut(30_000));
    const pool = new DevicePool({ device: 'cuda:all', hasGpu: true, poll, warn: () => {} });
    await expect(pool.run(() => Promise.resolve())).rejects.toMatchObject({ code: 'service_unavailable', message: 'No GPU of this worker can be used.' });
  });

  it('are usable as long as one of them is, and again when one answers', async () => {
    const { pool, lose, mend } = machine('cuda:all', 2, 20);
    const loses = (gpu: number) => () => (lose(gpu), Promise.reject(fault()));
    expect(await pool.isUsable()).toBe(true);
    await pool.run((device) => (device === 'cuda:0' ? loses(0)() : Promise.resolve()));
    expect(await pool.isUsable()).toBe(true);
    await expect(pool.run(loses(1))).rejects.toThrow();
    expect(await pool.isUsable()).toBe(false);
    expect(pool.lost).toContainEqual({ id: 'cuda:0', reason: 'It fell off the bus.' });
    mend(1);
    await expect.poll(() => pool.isUsable()).toBe(true);
    expect(pool.lost.length).toBeLessThan(2);
  });

  it('come back when they answer again', async () => {
    const { pool, lose, mend, notes } = machine('cuda:all', 2, 20);
    lose(1);
    const used = async () => {
      const devices = new Set<string>();
      const { start, running } = jobs(pool);
      await Promise.all([start(), start()]);
      for (const { device, end } of running) {
        end();
        devices.add(device);
      }
      return devices;
    };
    expect(await used()).toEqual(new Set(['cuda:0']));
    mend(1);
    await sleep(40);
    await used(); // notices in passing that a poll is due
    await sleep(5);
    expect(await used()).toEqual(new Set(['cuda:0', 'cuda:1']));
    expect(notes.map(({ message }) => message)).toEqual(['a GPU cannot be used and gets no jobs', 'a GPU can be used again']);
  });

  it('that are all lost are waited for by each job that comes while they are polled', async () => {
    const { pool, lose, mend } = machine('cuda:all', 1, 10);
    lose(0);
    await expect(pool.run(() => Promise.resolve())).rejects.toThrow('No GPU of this worker can be used');
    mend(0);
    await sleep(20);
    const used = () => pool.run((device) => Promise.resolve(device));
    expect(await Promise.all([used(), used()])).toEqual(['cuda:0', 'cuda:0']);
  });

  it('that the driver does not list are not used', async () => {
    const { pool, notes } = machine('cuda:0,cuda:7', 1);
    for (let i = 0; i < 3; i += 1) expect(await pool.run((device) => Promise.resolve(device))).toBe('cuda:0');
    expect(notes[0]).toMatchObject({ device: 'cuda:7', reason: 'The driver does not list it.' });
  });
});

describe('a single GPU', () => {
  it('that is lost leaves its job to another worker, and gets no more until it answers', async () => {
    const { pool, lose, mend, notes, seen } = machine('cuda:1', 2, 20);
    expect(await pool.isUsable()).toBe(true);
    const failure = await pool.run(() => (lose(1), Promise.reject(fault()))).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'service_unavailable', message: expect.stringContaining('stopped working') as string });
    expect(isDeviceFault(failure)).toBe(true);
    expect(seen.polls).toBe(1);
    expect(await pool.isUsable()).toBe(false);
    expect(pool.lost).toEqual([{ id: 'cuda:1', reason: 'It fell off the bus.' }]);
    mend(1);
    await expect.poll(() => pool.isUsable()).toBe(true);
    expect(notes.map(({ message }) => message)).toEqual(['a GPU cannot be used and gets no jobs', 'a GPU can be used again']);
    expect(await pool.run((device) => Promise.resolve(device))).toBe('cuda:1');
    await expect(pool.run(() => Promise.reject(fault()))).rejects.toMatchObject({ code: 'processing_failed' });
  });

  it('that cannot be asked for is lost', async () => {
    const poll = () => Promise.reject(timedOut(30_000));
    const pool = new DevicePool({ device: 'cuda:0', hasGpu: true, poll, warn: () => {} });
    await expect(pool.run(() => Promise.reject(fault()))).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await pool.isUsable()).toBe(false);
    expect(pool.lost).toEqual([{ id: 'cuda:0', reason: 'The driver does not list it.' }]);
  });
});

describe('a piece of a video that GPUs make', () => {
  const noEngine = () => failureFromChild({ code: 'no_engine', message: 'There is no engine of the network for this GPU.' });
  it.each([
    ['a GPU of auto fails', 'auto', fault],
    ['the GPU has no engine of the network', 'cuda:0', noEngine],
    ['none of several has one', 'cuda:all', noEngine],
  ])('is never made by the CPU, even if %s', async (_, device, failure) => {
    const tried: string[] = [];
    const job = (on: string) => (tried.push(on), on === 'cpu' ? Promise.resolve(on) : Promise.reject(failure()));
    await expect(machine(device, 1).pool.run(job, undefined, { onGpusOnly: true })).rejects.toMatchObject({ code: 'processing_failed' });
    expect(tried).not.toContain('cpu');
    // A whole video may be.
    expect(await machine(device, 1).pool.run(job)).toBe('cpu');
  });
});
