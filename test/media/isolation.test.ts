import { chmodSync, mkdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:net';
import { execFileSync, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChildPlan, IsolationKind } from '../../src/media/isolation.ts';
import { childCommand } from '../../src/media/isolation.ts';
import { createMedia } from '../../src/media/index.ts';
import { seccompProgram } from '../../src/media/seccomp.ts';
import { runChild } from '../../src/media/child-session.ts';
import { canMapNobody, giveToChild, nobody } from '../../src/media/child-user.ts';
import type { ToChild } from '../../src/media/wire.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';
import type { Attempts, Findings } from './inspector.ts';
import { isAlive, isZombie, processTree, program } from './processes.ts';
import { wireMount } from './wire-mount.ts';

const script = fileURLToPath(new URL('inspector.ts', import.meta.url));
const findings = z.custom<Findings>((value) => Array.isArray((value as Findings).env));
const media = await createMedia();
const kinds: IsolationKind[] = media.isolation.kind === 'bubblewrap' ? ['bubblewrap', 'none'] : ['none'];
if (media.isolation.kind === 'none') {
  console.warn(`bubblewrap cannot run here (${media.isolation.reason}): its tests are skipped`);
}
const megabyte = 1024 * 1024;

const folder = temporaryFolder();
const input = join(folder.path, 'in', 'video.mp4');
const output = join(folder.path, 'out');
const canary = join(folder.path, 'canary');
let server: Server;
let connections = 0;

beforeAll(async () => {
  mkdirSync(join(folder.path, 'in'));
  mkdirSync(output);
  await giveToChild(output);
  writeFileSync(input, 'input');
  writeFileSync(canary, 'secret');
  process.env.REELMEND_CANARY = 'secret';
  server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  delete process.env.REELMEND_CANARY;
  server.close();
  folder.remove();
});

function planFor(kind: IsolationKind, timeoutMs = hangMs, more: Partial<ChildPlan['limits']> = {}): ChildPlan {
  const mounts = [
    wireMount,
    { from: input, to: '/in/source' },
    { from: output, to: '/out', writable: true },
  ];
  return { kind, script, mounts, limits: { memoryBytes: 256 * megabyte, outputBytes: megabyte, timeoutMs, ...more } };
}

function inspect(kind: IsolationKind, attempts: Partial<Attempts>, onStart?: (pid: number) => void, timeoutMs?: number) {
  const port = (server.address() as { port: number }).port;
  const message = { op: 'hello', read: [], write: [], port, mode: 'report', ...attempts } as unknown as ToChild;
  return runChild({ plan: planFor(kind, timeoutMs), message, result: findings, onStart });
}

function inspectAs(plan: ChildPlan, attempts: Partial<Attempts>, onStart?: (pid: number) => void) {
  const message = { op: 'hello', read: [], write: [], port: 1, mode: 'report', ...attempts } as unknown as ToChild;
  return runChild({ plan, message, result: findings, onStart });
}

function softLimit(limits: string, name: string): string | undefined {
  return new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1];
}

describe.each(kinds)('a child isolated by %s', (kind) => {
  it('has an empty environment', async () => {
    const { env } = await inspect(kind, {});
    expect(env.filter((name) => name !== 'PWD')).toEqual([]);
  });

  it('runs under resource limits and cannot gain privileges', async () => {
    const { limits, status } = await inspect(kind, {});
    expect(softLimit(limits, 'Max core file size')).toBe('0');
    expect(softLimit(limits, 'Max file size')).toBe(String(megabyte));
    expect(softLimit(limits, 'Max open files')).toBe('256');
    expect(Number(softLimit(limits, 'Max data size'))).toBeGreaterThan(256 * megabyte);
    expect(Number(softLimit(limits, 'Max cpu time'))).toBeGreaterThanOrEqual(20);
    expect(status.NoNewPrivs).toBe('1');
  });

  it('is ended when it uses more memory than allowed', async () => {
    await expect(inspect(kind, { mode: 'eat-memory' })).rejects.toMatchObject({
      code: 'processing_failed',
      message: expect.stringContaining('memory'),
    });
  });

  it('is ended at the time limit', async () => {
    let pid = 0;
    const ended = inspect(kind, { mode: 'sleep' }, (started) => (pid = started), 700);
    await expect(ended).rejects.toMatchObject({ code: 'processing_timeout' });
    expect(isAlive(pid) || isZombie(pid)).toBe(false);
  });

  it.each(['babble', 'flood', 'lie'] as const)('is not believed when it does: %s', async (mode) => {
    await expect(inspect(kind, { mode })).rejects.toMatchObject({ code: 'processing_failed' });
  });

  it('dies with its parent', async () => {
    const plan = JSON.stringify(planFor(kind));
    const parent = fork(fileURLToPath(new URL('orphan-maker.ts', import.meta.url)), [plan], { stdio: 'ignore' });
    const pid = await new Promise<number>((resolve) => parent.once('message', (message) => resolve(message as number)));
    // Whatever stands before the child (prlimit, setpriv, bubblewrap) has done its part when Node runs.
    await eventually(() => program(processTree(pid).at(-1)) === 'node', 'the child runs');
    const members = processTree(pid);
    parent.kill('SIGKILL');
    await eventually(() => !members.some(isAlive), 'the child is gone');
  });
});

describe.runIf(kinds.includes('bubblewrap'))('a child in bubblewrap', () => {
  it('reads its input and writes its output folder, and no other file', async () => {
    const outside = [canary, input, '/etc/passwd', '/root', '/usr/bin/env', '/app/.env', '/app/src/app/config.ts'];
    const readOnly = ['/in/made', '/in/source', '/app/made', '/app/src/media/child.ts', '/made', '/usr/lib/made'];
    const read = ['/in/source', ...outside];
    const write = ['/out/made', ...readOnly];
    const found = await inspect('bubblewrap', { read, write });
    expect(found.read).toEqual({
      '/in/source': 'done',
      ...Object.fromEntries(outside.map((path) => [path, 'ENOENT'])),
    });
    expect(found.write).toEqual({
      '/out/made': 'done',
      ...Object.fromEntries(readOnly.map((path) => [path, 'EROFS'])),
    });
  });

  /** Files that an ordinary user's child could not write to either: what this machine's root owns. */
  const ofTheKernel = ['/proc/sys/kernel/core_pattern', '/proc/sys/vm/overcommit_memory', '/proc/sysrq-trigger', '/proc/self/oom_score_adj'];

  it('writes to nothing but its output folder and /tmp, whatever it tries', async () => {
    const found = await inspectAs(planFor('bubblewrap'), { walk: true, write: ofTheKernel });
    expect(found.writable.filter((path) => !path.startsWith('/out/'))).toEqual(['/out', '/tmp']);
    expect(found.walked).toBeGreaterThan(500);
    expect(Object.values(found.write)).not.toContain('done');
  });

  it('with a GPU, can name its threads as CUDA does, and writes to nothing more that is not its own', async () => {
    const plan = { ...planFor('bubblewrap'), gpuFiles: ['/dev/null'] };
    const found = await inspectAs(plan, { walk: true, write: ['/proc/thread-self/comm', ...ofTheKernel] });
    expect(found.write['/proc/thread-self/comm']).toBe('done');
    expect(ofTheKernel.filter((path) => found.write[path] === 'done')).toEqual([]);
    expect(found.writable.filter((path) => !/^\/(out|proc\/\d+)\//.test(path))).toEqual(['/dev/shm', '/out', '/tmp']);
  });

  /** The user ids of the child on this machine: real, effective, saved, of the file system. */
  async function usersOf(plan: ChildPlan): Promise<string[] | undefined> {
    let uids: string | undefined;
    const running = inspectAs(plan, { mode: 'sleep' }, (pid) => {
      void eventually(() => program(processTree(pid).at(-1)) === 'node', 'the child runs').then(() => {
        uids = /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${processTree(pid).at(-1)}/status`, 'utf8'))?.[1];
        process.kill(-pid, 'SIGKILL');
      });
    });
    await expect(running).rejects.toThrow();
    return uids?.split('\t');
  }
  const nobodyOnly = Array(4).fill(String(nobody));

  it.runIf(process.getuid?.() === 0)('is nobody on this machine when root starts it', async () => {
    expect(canMapNobody()).toBe(true);
    expect(await usersOf(planFor('bubblewrap'))).toEqual(nobodyOnly);
    expect(statSync(input).uid).toBe(0);
  });

  describe('with a file that only its owner may read', () => {
    beforeAll(() => chmodSync(input, 0o600));
    afterAll(() => chmodSync(input, 0o644));

    it('reads it, and writes to nothing but its output folder and /tmp', async () => {
      const found = await inspectAs(planFor('bubblewrap'), { walk: true, read: ['/in/source'], write: ['/in/source', ...ofTheKernel] });
      expect(found.read).toEqual({ '/in/source': 'done' });
      expect(found.writable.filter((path) => !path.startsWith('/out/'))).toEqual(['/out', '/tmp']);
      expect(Object.values(found.write)).not.toContain('done');
    });

    it.runIf(process.getuid?.() === 0)('is nobody, with the capability to read it and no other', async () => {
      expect(await usersOf(planFor('bubblewrap'))).toEqual(nobodyOnly);
      const { status } = await inspectAs(planFor('bubblewrap'), {});
      const readSearch = 1n << 2n;
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(BigInt(`0x${status[set]}`), set).toBe(readSearch);
    });
  });

  it('cannot fill the memory of the machine with files', async () => {
    const plan = planFor('bubblewrap', hangMs, { outputBytes: 1024 * megabyte, memoryBytes: 1024 * megabyte });
    const { filled } = await inspectAs(plan, { fill: ['/dev/shm', '/dev', '/tmp', '/run', '/'] });
    expect(filled).toEqual({ '/dev/shm': 0, '/dev': 0, '/tmp': 64 * megabyte, '/run': 0, '/': 0 });
    const withGpu = await inspectAs({ ...plan, gpuFiles: ['/dev/null'] }, { fill: ['/dev/shm', '/dev'] });
    expect(withGpu.filled).toEqual({ '/dev/shm': 64 * megabyte, '/dev': 0 });
  });

  it('is charged for the files that it keeps in memory', async () => {
    const small = { outputBytes: 1024 * megabyte, memoryBytes: 120 * megabyte };
    const plan = { ...planFor('bubblewrap', hangMs, small), gpuFiles: ['/dev/null'] };
    const filling = inspectAs(plan, { mode: 'fill-and-stay', fill: ['/dev/shm', '/tmp'] });
    await expect(filling).rejects.toMatchObject({ code: 'processing_failed', message: expect.stringContaining('memory') });
  });

  describe('with a program that holds memory where none of its own shows', () => {
    const hog = join(folder.path, 'hidden-memory');
    beforeAll(() => {
      execFileSync('cc', ['-O1', '-o', hog, fileURLToPath(new URL('hidden-memory.c', import.meta.url))]);
    });

    /** Rejects when the child has ended. */
    function hold(method: string, megabytes: number) {
      const plan = planFor('bubblewrap', hangMs, { outputBytes: 1024 * megabyte });
      return inspectAs({ ...plan, mounts: [...plan.mounts, { from: hog, to: '/app/hog' }] }, { mode: 'run', run: ['/app/hog', method, String(megabytes)] });
    }

    it.each(['shared memory', '/dev/zero', 'secret memory', 'semaphores', 'messages'])('gets none by %s', async (method) => {
      await expect(hold(method, 300)).rejects.toMatchObject({
        code: 'processing_failed',
        cause: { message: expect.stringContaining('refused: ') },
      });
    });

    it.each(['page tables', 'empty files'])('is charged for %s', async (method) => {
      await expect(hold(method, 300)).rejects.toMatchObject({ code: 'processing_failed', message: expect.stringContaining('memory') });
    });
  });

  it('starts no process, and threads up to its limit', async () => {
    const plan = planFor('bubblewrap', hangMs, { memoryBytes: 8192 * megabyte, threads: 24 });
    const { started, limits } = await inspectAs(plan, { starts: 30 });
    expect(started.processes).toBe(0);
    expect(started.threads).toBeGreaterThan(2);
    expect(started.threads).toBeLessThan(24);
    expect(softLimit(limits, 'Max processes')).toBe('24');
    expect(Number(softLimit((await inspect('bubblewrap', {})).limits, 'Max processes'))).toBeLessThan(10_000);
  });

  it('is in namespaces of its own, that of the network among them', async () => {
    const { namespaces } = await inspect('bubblewrap', {});
    for (const [name, own] of Object.entries(namespaces)) {
      expect(own, name).toMatch(/^\w+:\[\d+\]$/);
      expect(own, name).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
    }
  });

  it('has no network', async () => {
    const before = connections;
    const found = await inspect('bubblewrap', {});
    expect(found.connect).toBe('EPERM');
    expect(connections).toBe(before);
    // The same attempt succeeds without isolation, so that the refusal comes from it.
    await expect(inspect('none', {})).resolves.toMatchObject({ connect: 'done' });
  });

  it('sees no other processes and starts none', async () => {
    const found = await inspect('bubblewrap', {});
    expect(found.processes).toBeLessThanOrEqual(2);
    expect(found.spawn).toBe('EPERM');
  });

  it('has no capabilities and a filter on system calls', async () => {
    const { status } = await inspect('bubblewrap', {});
    expect(BigInt(`0x${status.CapEff}`)).toBe(0n);
    expect(BigInt(`0x${status.CapBnd}`)).toBe(0n);
    expect(status.Seccomp).toBe(seccompProgram(process.arch) === undefined ? '0' : '2');
  });
});

describe('the choice of the isolation', () => {
  it('falls back with a warning where bubblewrap is not installed, unless it is required', async () => {
    const path = process.env.PATH;
    const warnings: string[] = [];
    const logger = { info() {}, warn: (_: object, message: string) => warnings.push(message) };
    process.env.PATH = folder.path;
    try {
      const plain = await createMedia({ logger });
      expect(plain.isolation).toEqual({ kind: 'none', reason: 'bwrap is not installed' });
      expect(warnings).toHaveLength(1);
      const required = createMedia({ requireIsolation: true });
      await expect(required).rejects.toThrow(/Isolation is required.*bwrap is not installed/);
    } finally {
      process.env.PATH = path;
    }
  });

  it('falls back where bubblewrap is installed and cannot run, and says why', async () => {
    const broken = temporaryFolder();
    const path = process.env.PATH;
    writeFileSync(join(broken.path, 'bwrap'), '#!/bin/sh\necho "bwrap: no permission" >&2\nexit 1\n', { mode: 0o755 });
    process.env.PATH = `${broken.path}:${path}`;
    try {
      const plain = await createMedia();
      expect(plain.isolation.kind).toBe('none');
      expect(plain.isolation.reason).toContain('no permission');
    } finally {
      process.env.PATH = path;
      broken.remove();
    }
  });

  it('passes no folder of this machine to a child beyond what it needs', () => {
    if (!kinds.includes('bubblewrap')) return;
    const { args } = childCommand(planFor('bubblewrap'));
    const writable = args.flatMap((arg, index) => (arg === '--bind' ? [args[index + 1]] : []));
    expect(writable).toEqual([output]);
    const flags = ['--unshare-all', '--clearenv', '--die-with-parent', '--new-session'];
    expect(args).toEqual(expect.arrayContaining(flags));
  });
});
