/** REELMEND_RESTART=1, as `npm start` and the container image have it: the service is restarted when it dies. */
import { type ChildProcess, spawn } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { supervise } from '../../src/cli/supervise.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

const script = fileURLToPath(new URL('../../scripts/reelmend', import.meta.url));
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-supervised-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the pauses between starts', () => {
  /** A service whose n-th start runs the n-th line; `up` says that it came up. */
  const runs = async (lines: string[], healthyMs: number) => {
    const program = `
      const { appendFileSync, readFileSync } = require('node:fs');
      appendFileSync(${JSON.stringify(join(dir, 'starts'))}, 'x');
      const up = () => process.send('up');
      const line = ${JSON.stringify(lines)}[readFileSync(${JSON.stringify(join(dir, 'starts'))}).length - 1];
      eval(line);`;
    const logged: { pauseMs: number; msg: string }[] = [];
    const logger = pino({}, { write: (text: string) => void logged.push(JSON.parse(text) as (typeof logged)[number]) });
    const pauses = { firstMs: 10, longestMs: 40, healthyMs };
    const status = await supervise({ command: [process.execPath, '-e', program], logger, pauses });
    return { status, logged, starts: (await readFile(join(dir, 'starts'))).length };
  };
  const dies = 'up(); process.exitCode = 7';

  it('grow up to a ceiling, with the reason logged', async () => {
    const killed = 'up(); setImmediate(() => process.kill(process.pid, "SIGKILL"))';
    const { status, logged, starts } = await runs([dies, killed, dies, dies, 'up()'], 60_000);
    expect(logged.map((line) => line.pauseMs)).toEqual([10, 20, 40, 40]);
    expect(logged[0]!.msg).toBe('the service exited with status 7 and is restarted');
    expect(logged[1]!.msg).toBe('the service was killed by SIGKILL and is restarted');
    expect({ status, starts }).toEqual({ status: 0, starts: 5 });
  });

  it('begin anew after the service was healthy', async () => {
    const { logged } = await runs([dies, dies, dies, 'up()'], 0);
    expect(logged.map((line) => line.pauseMs)).toEqual([10, 10, 10]);
  });

  it('leave no listener behind', async () => {
    const add = vi.spyOn(AbortSignal.prototype, 'addEventListener');
    try {
      await runs([dies, dies, dies, 'up()'], 0);
      const signals = new Set(add.mock.contexts as AbortSignal[]);
      expect([...signals].map((signal) => getEventListeners(signal, 'abort').length)).toEqual([0]);
    } finally {
      add.mockRestore();
    }
  });

  it('do not follow a start that never came up, and follow a later one', async () => {
    expect(await runs(['process.exitCode = 1'], 60_000)).toMatchObject({ status: 1, starts: 1, logged: [] });
    await rm(join(dir, 'starts'));
    expect(await runs([dies, 'process.exitCode = 1', 'up()'], 60_000)).toMatchObject({ status: 0, starts: 3 });
  });
});

describe('reelmend serve with REELMEND_RESTART=1', () => {
  let database: TestDatabase;
  const running: ChildProcess[] = [];
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    for (const one of running.splice(0)) one.kill('SIGKILL');
    await database.drop();
  });

  function start(env: Record<string, string>, command = ['serve']) {
    const own = { REELMEND_DATA_DIR: dir, REELMEND_RESTART: '1', REELMEND_DEMO: '0', REELMEND_MIN_SPEED: 'none', DATABASE_URL: database.url };
    const child = spawn(script, command, {
      env: { PATH: process.env['PATH']!, HOME: dir, ...own, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running.push(child);
    let log = '';
    child.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const urls = () => [...log.matchAll(/"url":"([^"]+)","msg":"listening"/g)].map(([, url]) => url!);
    const comesUp = (times: number) => expect.poll(() => urls().length).toBe(times);
    return { child, ended, log: () => log, urls, comesUp };
  }

  /** of the service below the supervisor */
  const servicePid = async ({ pid }: ChildProcess) => Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'));
  const isHealthy = (url: string) => fetch(`${url}/healthz`).then(({ status }) => status, () => 0);
  const isAlive = (pid: number) => readFile(`/proc/${pid}/stat`, 'utf8').then((stat) => !/\) Z/.test(stat), () => false);

  it('starts the service again when it is killed, and ends with it at SIGTERM', async () => {
    const { child, ended, log, urls, comesUp } = start({ PORT: '0' });
    await comesUp(1);
    const first = await servicePid(child);
    process.kill(first, 'SIGKILL');
    await comesUp(2);
    expect(log()).toContain('the service was killed by SIGKILL and is restarted');
    const second = await servicePid(child);
    expect(second).not.toBe(first);
    expect(await isHealthy(urls()[1]!)).not.toBe(0);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(await isAlive(second)).toBe(false);
  });

  it('does not restart a worker that was to take one job', async () => {
    const { ended, log } = start({}, ['work', '--once']);
    expect(await ended).toBe(3);
    expect(log().match(/"msg":"worker started"/g)).toHaveLength(1);
    expect(log()).toContain('"msg":"worker stopped"');
  });

  it('leaves no service behind when the supervisor is killed', async () => {
    const { child, comesUp } = start({ PORT: '0' });
    await comesUp(1);
    const service = await servicePid(child);
    child.kill('SIGKILL');
    await expect.poll(() => isAlive(service)).toBe(false);
  });

  it('ends with the sentence of a start that cannot succeed', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const wrong = start({ PORT: 'eighty' });
    expect(await wrong.ended).toBe(1);
    expect(wrong.log()).toBe('reelmend: PORT: must be a whole number\n');
    const busy = start({ PORT: String(port) });
    expect(await busy.ended).toBe(1);
    expect(busy.log().match(/already in use/g)).toHaveLength(1);
    taken.close();
  });
});
