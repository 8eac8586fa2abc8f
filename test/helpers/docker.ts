/** A Docker of its own for tests: scripts/setup-docker unpacks it, its images and containers are removed with its folder. */
import { execFile, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { eventually, hangMs } from './wait.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
/** Building an image compiles the engine. */
const buildLimitMs = 1_800_000;

export interface Docker {
  /** Runs a shell command in a folder, with this Docker. Resolves to its standard output; rejects with all that it printed. */
  shell(command: string, cwd?: string): Promise<string>;
  stop(): Promise<void>;
}

/** Rejects with the server's log if it cannot start. */
export async function startDocker(): Promise<Docker> {
  const tools = (await run('bash', ['scripts/setup-docker'], { cwd: root, timeout: hangMs, maxBuffer: 1 << 26 })).stdout.trim();
  // The path of a socket has at most 107 characters.
  const dir = await mkdtemp('/var/tmp/reelmend-docker-');
  const host = `unix://${dir}/socket`;
  // The builder that needs no image of its own from a registry.
  const env = { ...process.env, PATH: `${tools}/bin:${process.env['PATH']}`, DOCKER_HOST: host, DOCKER_CONFIG: `${tools}/config`, DOCKER_BUILDKIT: '0' };
  const log = openSync(join(dir, 'log'), 'a');
  const server = spawn('dockerd', ['--data-root', `${dir}/data`, '--exec-root', `${dir}/exec`, '--pidfile', `${dir}/pid`, '-H', host], { env, stdio: ['ignore', log, log] });
  const exited = new Promise<void>((done) => server.once('exit', () => done()));
  const shell = async (command: string, cwd = root) =>
    (await run('bash', ['--norc', '-euo', 'pipefail', '-c', command], { cwd, env, timeout: buildLimitMs, maxBuffer: 1 << 28 })).stdout;
  const stop = async () => {
    await shell('docker ps --quiet | xargs --no-run-if-empty docker kill').catch(() => '');
    server.kill();
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await eventually(async () => {
      if (server.exitCode !== null) throw new Error(readFileSync(join(dir, 'log'), 'utf8'));
      return shell('docker info').catch(() => undefined);
    }, 'Docker responds');
    return { shell, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
