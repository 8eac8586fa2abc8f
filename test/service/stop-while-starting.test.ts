/** Signals to a service that is not up yet: it measures its networks, or its database does not answer. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { script } from '../helpers/command.ts';
import { startSilentServer } from '../helpers/silent-server.ts';

let dir: string;
let running: ChildProcess[];
beforeEach(async () => {
  running = [];
  dir = await mkdtemp(join(tmpdir(), 'reelmend-starting-'));
});
afterEach(async () => {
  for (const one of running) one.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

function start(command: string, env: Record<string, string>) {
  const own = { PATH: process.env['PATH']!, HOME: dir, REELMEND_DATA_DIR: dir, REELMEND_RESTART: '0', REELMEND_DEMO: '0', PORT: '0' };
  const child = spawn(script, [command], { env: { ...own, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  running.push(child);
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => child.once('exit', (status, signal) => resolve(status ?? signal)));
  return { child, ended, log: () => log };
}

/** Processes that have the folder in their environment, as all that a service starts. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const texts = await Promise.all(pids.map(async (pid) => {
    const [environment, working] = await Promise.all(['environ', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')));
    return `${pid} ${working} ${environment}`;
  }));
  return texts.filter((text) => text.includes(folder));
}

const seconds = (count: number) => new Promise<string>((resolve) => setTimeout(resolve, count * 1000, 'still running'));

it('ends a start that waits for a database that does not answer', async () => {
  const server = await startSilentServer();
  try {
    const { child, ended, log } = start('serve', { DATABASE_URL: `postgres://u:p@127.0.0.1:${server.port}/x` });
    await expect.poll(server.connections).toBeGreaterThan(0);
    child.kill('SIGTERM');
    expect(await Promise.race([ended, seconds(5)])).toBe(0);
    expect(log()).not.toContain('reelmend:');
  } finally {
    server.close();
  }
});

it('ends a start that measures the networks, with the embedded database and the children', async () => {
  const { child, ended, log } = start('work', { REELMEND_DEVICE: 'cpu', REELMEND_MIN_SPEED: '30fps' });
  await expect.poll(log, { timeout: 60_000 }).toContain('measures the speed of the networks');
  child.kill('SIGINT');
  expect(await Promise.race([ended, seconds(10)])).toBe(0);
  expect(log()).not.toContain('the speed of the networks was measured');
  await expect.poll(() => processesOf(dir)).toEqual([]);
});

it.each([['SIGINT', 130], ['SIGTERM', 143]] as const)('ends at a second %s, whatever it waits for', async (signal, status) => {
  await mkdir(join(dir, 'postgres'));
  const lock = spawn('flock', [`${dir}/postgres/lock`, 'sh', '-c', 'echo locked; exec cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  running.push(lock);
  await once(lock.stdout, 'data');
  const { child, ended } = start('serve', {});
  // The service's flock(1), which waits for the lock.
  await expect.poll(async () => (await processesOf(`${dir}/postgres/lock\0`)).length).toBe(2);
  child.kill(signal);
  expect(await Promise.race([ended, seconds(0.5)])).toBe('still running');
  child.kill(signal);
  expect(await Promise.race([ended, seconds(5)])).toBe(status);
  lock.stdin.end();
  await expect.poll(() => processesOf(dir)).toEqual([]);
});
