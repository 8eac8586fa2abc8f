/** Children that wait for jobs: real ones, real clips; what they may see, what becomes of them. */
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createMedia } from '../../src/media/index.ts';
import { installedModels } from '../../src/media/models.ts';
import { planOf } from '../../src/media/plans.ts';
import { NotBegun, runChild } from '../../src/media/child-session.ts';
import { WarmPool, type WarmPoolOptions } from '../../src/media/warm-pool.ts';
import type { EnhanceRequest, WarmPoolHandle } from '../../src/media/types.ts';
import type { WarmUpProfile } from '../../src/media/warm-up-profile.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive, isZombie, killTree, processTree, program } from './processes.ts';
import { wireMount } from './wire-mount.ts';

const timeoutMs = hangMs;
const folder = temporaryFolder();
const clip = join(folder.path, 'clip.mp4');
const outputDir = join(folder.path, 'out');
const poolFolder = join(folder.path, 'warm-pool');
const options = { target: '1080p', device: 'cpu', threads: 2, model: 'none' } as const;
const models = installedModels();

/** pids of the children that were given work */
let used: number[] = [];
let onUse: (pid: number) => void = () => {};
const media = await createMedia({
  models,
  onChild: (pid) => {
    used.push(pid);
    onUse(pid);
  },
});
const isolated = media.isolation.kind === 'bubblewrap';
if (!isolated) console.warn(`bubblewrap cannot run here (${media.isolation.reason}): isolation is not tested`);

let pool: WarmPoolHandle | undefined;

beforeAll(async () => {
  mkdirSync(outputDir);
  await makeClip(clip, { seconds: 0.4, video: 'testsrc2=size=96x54:rate=25', args: ['-c:v', 'libx264'] });
});
afterEach(async () => {
  await pool?.close();
  pool = undefined;
  used = [];
  onUse = () => {};
});
afterAll(() => folder.remove());

async function startPool(count = 1, more: Partial<Parameters<typeof media.startWarmPool>[0]> = {}): Promise<WarmPoolHandle> {
  pool = media.startWarmPool({ count, folder: poolFolder, options, ...more });
  await ready(pool, count);
  return pool;
}

const ready = (set: WarmPoolHandle, count = 1) => eventually(() => set.ready === count, 'the children are ready');
const enhance = (more: Partial<EnhanceRequest> = {}) =>
  media.enhance({ input: clip, outputDir, outputName: 'out.mp4', options, timeoutMs, ...more });
const digest = () => createHash('sha256').update(readFileSync(join(outputDir, 'out.mp4'))).digest('hex');
/** Bubblewrap's own child is gone a moment after it. */
const gone = (members: number[]) => eventually(() => !members.some(isAlive), 'all its processes are gone');
const inner = (pid: number) => processTree(pid).at(-1)!;

describe('a warm child', () => {
  it('does the job that comes, as a new child would, and is gone afterwards', async () => {
    const cold = await enhance();
    expect(cold.wasReady).toBe(false);
    const wanted = digest();
    const set = await startPool();
    const [pid] = set.pids;
    const members = processTree(pid!);
    used = [];
    const result = await enhance();
    expect(used).toEqual([pid]);
    expect(result).toMatchObject({ wasReady: true, frames: cold.frames, width: cold.width, applied: cold.applied });
    expect(result.startMs).toBeGreaterThan(0);
    expect(digest()).toBe(wanted);
    expect(isAlive(pid!) || isZombie(pid!)).toBe(false);
    await gone(members);
    expect(readdirSync(outputDir)).toEqual(['out.mp4']);
  });

  it('reads from this process what it needs of a video that is no file here', async () => {
    await enhance();
    const wanted = digest();
    const bytes = readFileSync(clip);
    const input = { size: bytes.length, read: async (offset: number, length: number) => bytes.subarray(offset, offset + length) };
    await startPool();
    expect((await enhance({ input })).wasReady).toBe(true);
    expect(digest()).toBe(wanted);
  });

  it('is used once: another waits for the next job, and two jobs at once have two children', async () => {
    const set = await startPool();
    const [first] = set.pids;
    await enhance();
    await ready(set);
    const [second] = set.pids;
    expect(second).not.toBe(first);
    const both = await Promise.all([enhance({ outputName: 'a.mp4' }), enhance({ outputName: 'b.mp4' })]);
    expect(both.map(({ wasReady }) => wasReady).sort()).toEqual([false, true]);
    expect(new Set(used).size).toBe(3);
    expect(used[0]).toBe(first);
    expect(used).toContain(second);
  });

  it('is made ready for a job like the last one', async () => {
    await startPool();
    const like = { options: { ...options, model: 'fast', threads: 1 } };
    await enhance(like);
    await ready(pool!);
    const result = await enhance(like);
    expect(result).toMatchObject({ wasReady: true, applied: { model: 'fast' } });
    expect(result.stages.find(({ name }) => name === 'network')!.cpuSeconds).toBeGreaterThan(0);
  });

  it('is replaced when it is killed, and costs no job', async () => {
    const set = await startPool();
    const [pid] = set.pids;
    // All of it at once: of bubblewrap alone, the child behind it could live long enough to begin with the job.
    killTree(pid!);
    await expect(enhance()).resolves.toMatchObject({ frames: 10 });
    await ready(set);
    expect(set.pids).not.toContain(pid);
  });

  it('may die with the job in its hands, before it begins: a new child does the job', async () => {
    const set = await startPool();
    process.kill(inner(set.pids[0]!), 'SIGSTOP'); // it will not have read the job's message
    onUse = (pid) => {
      onUse = () => {};
      process.kill(-pid, 'SIGKILL');
    };
    await expect(enhance()).resolves.toMatchObject({ wasReady: false, frames: 10 });
    expect(used).toHaveLength(2);
    expect(readdirSync(outputDir).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('may die between being acquired and getting its job: a new child does the job', async () => {
    await startPool();
    const acquire = WarmPool.prototype.acquire;
    const spied = vi.spyOn(WarmPool.prototype, 'acquire').mockImplementation(function (this: WarmPool, key) {
      const child = acquire.call(this, key);
      if (child !== undefined) killTree(child.process.pid!);
      return child;
    });
    try {
      await expect(enhance()).resolves.toMatchObject({ wasReady: false, frames: 10 });
    } finally {
      spied.mockRestore();
    }
  });

  it('ends with its job when that is cancelled', async () => {
    const set = await startPool();
    const members = processTree(set.pids[0]!);
    const cancel = new AbortController();
    onUse = () => cancel.abort(new Error('deleted'));
    await expect(enhance({ signal: cancel.signal })).rejects.toThrow('deleted');
    await gone(members);
    await ready(set);
    expect(readdirSync(poolFolder)).toHaveLength(1);
  });

  it('runs out of time as the job says, not as it was started', async () => {
    await startPool();
    await expect(enhance({ timeoutMs: 1 })).rejects.toMatchObject({ code: 'processing_timeout' });
  });

  it.runIf(isolated && existsSync('/dev/shm'))('is pool for another job where files cannot be moved to and from it', async () => {
    const set = await startPool();
    const { pids } = set;
    const elsewhere = mkdtempSync('/dev/shm/reelmend-warm-pool-');
    try {
      await expect(enhance({ outputDir: elsewhere })).resolves.toMatchObject({ wasReady: false, frames: 10 });
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
    expect(set.pids).toEqual(pids);
  });

  it('gives back what was made ready when no job comes', async () => {
    const set = await startPool(1, { idleMs: 2000 });
    const [pid] = set.pids;
    await eventually(() => set.pids.length === 1 && set.pids[0] !== pid, 'the child is replaced');
    await eventually(() => !isAlive(pid!), 'the old one is gone');
    expect(set.ready).toBe(0);
  });

  it('ends with the set, and nothing of it is left', async () => {
    const set = await startPool(2);
    const members = set.pids.flatMap((pid) => processTree(pid));
    expect(members.length).toBeGreaterThanOrEqual(2);
    await set.close();
    await gone(members);
    expect(existsSync(poolFolder)).toBe(false);
    await expect(enhance()).resolves.toMatchObject({ wasReady: false });
  });

  it('dies with the process that keeps it', async () => {
    const parent = fork(fileURLToPath(new URL('warm-pool-keeper.ts', import.meta.url)), [join(folder.path, 'orphans')], { stdio: 'ignore' });
    const pid = await new Promise<number>((resolve) => parent.once('message', (message) => resolve(message as number)));
    const members = processTree(pid);
    expect(program(members.at(-1))).toBe('node');
    parent.kill('SIGKILL');
    await gone(members);
  });
});

describe('where bubblewrap cannot run', () => {
  it('a warm child waits and does the job all the same', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = folder.path;
    const plain = await createMedia().finally(() => (process.env['PATH'] = path));
    expect(plain.isolation.kind).toBe('none');
    const set = plain.startWarmPool({ count: 1, folder: poolFolder, options });
    try {
      await ready(set);
      const result = await plain.enhance({ input: clip, outputDir, outputName: 'plain.mp4', options, timeoutMs });
      expect(result).toMatchObject({ wasReady: true, frames: 10 });
      expect(readdirSync(outputDir)).toContain('plain.mp4');
    } finally {
      await set.close();
    }
  });
});

describe.runIf(isolated)('a warm child is isolated', () => {
  const proc = (pid: number, name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
  const field = (text: string, name: string) => new RegExp(`^${name}\\s*:?\\s+(\\S+)`, 'm').exec(text)?.[1];
  const mountPoints = (pid: number) => proc(pid, 'mountinfo').trim().split('\n').map((line) => line.split(' ')[4]!);
  const writable = (pid: number) =>
    proc(pid, 'mountinfo').trim().split('\n').filter((line) => line.split(' ')[5]!.split(',').includes('rw')).map((line) => line.split(' ')[4]!);

  interface Seen {
    status: Record<string, string | undefined>;
    limits: Record<string, string | undefined>;
    mounts: string[];
    writable: string[];
    environment: string;
  }
  function inspect(pid: number): Seen {
    const [status, limits] = [proc(pid, 'status'), proc(pid, 'limits')];
    const names = ['NoNewPrivs', 'Seccomp', 'CapEff', 'CapBnd', 'CapPrm', 'Uid'];
    const limited = ['Max core file size', 'Max file size', 'Max open files', 'Max data size'];
    return {
      status: Object.fromEntries(names.map((name) => [name, field(status, name)])),
      limits: Object.fromEntries(limited.map((name) => [name, field(limits, name)])),
      mounts: mountPoints(pid),
      writable: writable(pid),
      environment: proc(pid, 'environ').split('\0').filter((entry) => entry !== '' && !entry.startsWith('PWD=')).join(),
    };
  }
  const cpuSeconds = (pid: number) => Number(field(proc(pid, 'limits'), 'Max cpu time'));

  it('as a new one is, with an empty folder in the place of the input', async () => {
    let cold: Seen | undefined;
    let coldSeconds = 0;
    const see = (note: (pid: number) => void) => ({ timeoutMs: 30_000, onProgress: () => note(inner(used.at(-1)!)) });
    await enhance(see((pid) => {
      // Once, while it has most of its work before it.
      if (cold !== undefined || !isAlive(pid)) return;
      cold = inspect(pid);
      coldSeconds = cpuSeconds(pid);
    }));
    const set = await startPool();
    const pid = inner(set.pids[0]!);
    const waiting = inspect(pid);
    expect({ ...waiting, mounts: [] }).toEqual({ ...cold!, mounts: [] });
    expect(new Set(waiting.mounts)).toEqual(new Set(cold!.mounts.map((mount) => (mount === '/in/source' ? '/in' : mount))));
    expect(waiting.writable.filter((mount) => !/^\/(proc|dev|tmp)/.test(mount))).toEqual(['/out']);
    const [own] = readdirSync(poolFolder);
    for (const name of ['in', 'out']) expect(readdirSync(join(poolFolder, own!, name))).toEqual([]);
    for (const name of ['net', 'pid', 'mnt', 'user', 'ipc', 'uts']) {
      expect(readlinkSync(`/proc/${pid}/ns/${name}`), name).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
    }
    let seconds = 0;
    await enhance(see((worker) => {
      if (seconds > 0 || !isAlive(worker)) return;
      expect(worker).toBe(pid);
      seconds = cpuSeconds(worker);
    }));
    // Its own time so far, rounded up, comes on top.
    expect(seconds).toBeGreaterThanOrEqual(coldSeconds);
    expect(seconds).toBeLessThan(coldSeconds + 60);
  });
});

describe('a warm child that misbehaves', () => {
  const script = fileURLToPath(new URL('odd-warm-child.ts', import.meta.url));
  const profile = (model: string): WarmUpProfile => ({ key: model, message: { op: 'prepare', options: { target: '1080p' }, expectation: { model } } });
  let warnings: string[] = [];

  function poolOf(more: Partial<WarmPoolOptions> = {}): WarmPool {
    warnings = [];
    const logger = { info() {}, warn: (_: object, message: string) => warnings.push(message) };
    const plan: WarmPoolOptions['plan'] = (mounts) => ({ ...planOf({ memoryLimitMb: 256 }, media.isolation.kind, isolated ? [...mounts, wireMount] : [], 60_000), script });
    return new WarmPool({ count: 1, folder: join(folder.path, 'odd'), plan, logger, ...more });
  }

  it('that cannot be started leaves no folder', async () => {
    const plan = () => {
      throw new Error('no process can be started');
    };
    const set = poolOf({ plan });
    await eventually(() => warnings.includes('no warm media child could be started'), 'it was tried');
    expect(readdirSync(set.folder)).toEqual([]);
    await set.close();
  });

  it.each(['die', 'babble', 'answer', 'eat'])('is replaced by one that waits unprepared: %s', async (how) => {
    const set = poolOf();
    try {
      await eventually(() => set.idleProfileKeys.length === 1, 'it waits');
      const [pid] = set.pids;
      set.prepareFor(profile(how));
      expect(set.acquire(), 'one that is being made ready is not given to a job').toBeUndefined();
      await eventually(() => set.idleProfileKeys.length === 1 && set.pids[0] !== pid, 'another waits');
      expect(isAlive(pid!)).toBe(false);
      expect(set.idleProfileKeys).toEqual(['']);
      expect(warnings).toEqual(['a warm media child ended and is replaced']);
    } finally {
      await set.close();
    }
  });

  it('is replaced when it does not become ready', async () => {
    const set = poolOf({ readyLimitMs: 3000, idleMs: 2000 });
    try {
      await eventually(() => set.idleProfileKeys.length === 1, 'it waits');
      const [pid] = set.pids;
      set.prepareFor(profile('hang'));
      await eventually(() => set.idleProfileKeys.length === 1 && set.pids[0] !== pid, 'another waits');
      expect(isAlive(pid!)).toBe(false);
      expect(set.idleProfileKeys).toEqual(['']);
      expect(warnings).toContain('a warm media child ended and is replaced');
    } finally {
      await set.close();
    }
  });

  it('that ended after it was acquired ends the call that it gets', async () => {
    const set = poolOf();
    try {
      await eventually(() => set.idleProfileKeys.length === 1, 'it waits');
      const child = set.acquire()!;
      const ended = vi.spyOn(child, 'ended');
      killTree(child.process.pid!);
      await eventually(() => ended.mock.calls.length === 1, 'it ended');
      const plan = { ...child.process.plan, limits: { ...child.process.plan.limits, timeoutMs: 1000 } };
      const call = runChild({ plan, waiting: child.process, message: { op: 'hello' }, result: z.unknown() });
      await expect(call).rejects.toBeInstanceOf(NotBegun);
    } finally {
      await set.close();
    }
  });

  it('is not started again and again at once', async () => {
    const starts: number[] = [];
    const plain = planOf({}, 'none', [], 60_000);
    const set = poolOf({ plan: () => ({ ...plain, script: (starts.push(performance.now()), join(folder.path, 'absent.ts')) }) });
    try {
      await eventually(() => starts.length >= 3, 'a third try');
      expect(starts[2]! - starts[1]!).toBeGreaterThan(1500);
    } finally {
      await set.close();
    }
  });

  it('gives the one that was made ready for a job like this', async () => {
    const set = poolOf({ count: 2 });
    try {
      await eventually(() => set.idleProfileKeys.length === 2, 'both wait');
      const plain = set.acquire('other');
      expect(plain).toBeDefined();
      set.prepareFor(profile('wanted'));
      await eventually(() => set.idleProfileKeys.includes('wanted'), 'one is made ready');
      expect(set.acquire('wanted')!.profileKey).toBe('wanted');
      plain!.process.kill();
    } finally {
      await set.close();
    }
  });
});
