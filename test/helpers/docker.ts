/**
 * A Docker of its own for tests, which scripts/setup-docker unpacks. It leaves the machine's firewall and its forwarding of packets
 * alone: containers reach each other, and their published ports are reached through Docker's proxy. They do not reach other machines;
 * a build needs `--network host` for that.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './wait.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
/** Building an image compiles the engine. */
const buildLimitMs = 1_800_000;

export interface Docker {
  /** Runs a shell command in a folder, with this Docker. Resolves to its standard output; rejects with all that it printed. */
  shell(command: string, cwd?: string): Promise<string>;
  stop(): Promise<void>;
}

/** The first set-up compiles Docker Compose, which takes minutes of an idle machine. */
const setUpMs = 14 * 60_000;

/** Rejects with the server's log if it cannot start. */
export async function startDocker(): Promise<Docker> {
  const tools = (await run('bash', ['scripts/setup-docker'], { cwd: root, timeout: setUpMs, maxBuffer: 1 << 26 })).stdout.trim();
  // The path of a socket has at most 107 characters.
  const dir = await mkdtemp('/var/tmp/reelmend-docker-');
  const host = `unix://${dir}/socket`;
  // The builder that needs no image of its own from a registry.
  const env = { ...process.env, PATH: `${tools}/bin:${process.env['PATH']}`, DOCKER_HOST: host, DOCKER_CONFIG: `${tools}/config`, DOCKER_BUILDKIT: '0' };
  const log = openSync(join(dir, 'log'), 'a');
  const folders = ['--data-root', `${dir}/data`, '--exec-root', `${dir}/exec`, '--pidfile', `${dir}/pid`];
  const network = ['--bridge', 'none', '--iptables=false', '--ip-masq=false', '--ip-forward=false'];
  const server = spawn('dockerd', ['-H', host, ...folders, ...network], { env, stdio: ['ignore', log, log] });
  closeSync(log);
  const exited = new Promise<void>((done) => server.once('exit', () => done()).once('error', () => done()));
  const shell = async (command: string, cwd = root) =>
    (await run('bash', ['--norc', '-euo', 'pipefail', '-c', command], { cwd, env, timeout: buildLimitMs, maxBuffer: 1 << 28 })).stdout;
  const stop = async () => {
    // Bridges of networks would stay on the machine.
    await shell('docker ps --all --quiet | xargs --no-run-if-empty docker rm --force --volumes; docker network prune --force').catch(() => '');
    server.kill();
    await exited;
    // dockerd leaves the network namespace mounted that `--network host` uses.
    await shell(`findmnt --raw --noheadings --output TARGET | grep '^${dir}/' | xargs --no-run-if-empty umount`).catch(() => '');
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
