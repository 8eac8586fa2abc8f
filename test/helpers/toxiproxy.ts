/** Toxiproxy: connections that tests can delay, slow down, silence or cut. */
import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from './ports.ts';
import { eventually } from './wait.ts';

const run = promisify(execFile);
const setUp = fileURLToPath(new URL('../../scripts/setup-toxiproxy', import.meta.url));

/** A toxic of one direction; `timeout: 0` drops all bytes and closes nothing. */
export type Toxic =
  | { type: 'latency'; attributes: { latency: number; jitter?: number } }
  /** kB/s */
  | { type: 'bandwidth'; attributes: { rate: number } }
  | { type: 'timeout'; attributes: { timeout: number } };

export interface Proxy {
  /** host and port that it listens on: `10.0.0.1:2345` */
  address: string;
  /** in both directions, until `mend` */
  poison(toxic: Toxic): Promise<void>;
  /** closes all connections and rejects new ones, until `mend` */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export interface Toxiproxy {
  /** `upstream` is `host:port`; `listen` is an IP address of this machine, without a port */
  open(name: string, options: { listen: string; upstream: string }): Promise<Proxy>;
  close(): Promise<void>;
}

/** The path of the program; null, after a warning, if it cannot be built: without Go or without a network. */
export async function findToxiproxy(): Promise<string | null> {
  try {
    return (await run('bash', [setUp], { maxBuffer: 16 << 20 })).stdout.trim();
  } catch (error) {
    const line = `TESTS OF BAD NETWORKS NOT RUN: Toxiproxy cannot be built: ${(error as Error).message}`;
    if (process.env['CI'] !== undefined && process.env['CI'] !== '') throw new Error(line, { cause: error });
    console.warn(line);
    return null;
  }
}

export async function startToxiproxy(program: string): Promise<Toxiproxy> {
  const port = await freePorts();
  const child = spawn(program, ['-host', '127.0.0.1', '-port', String(port)], { stdio: 'ignore', env: { ...process.env, LOG_LEVEL: 'error' } });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const request = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...init });
    const text = await response.text();
    if (!response.ok) throw new Error(`Toxiproxy answered ${response.status} to ${method} ${path}: ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
  await eventually(() => request('GET', '/version').then(() => true, () => false), 'Toxiproxy answers');
  return {
    async open(name, { listen, upstream }) {
      const { listen: address } = await request<{ listen: string }>('POST', '/proxies', { name, listen: `${listen}:0`, upstream, enabled: true });
      const both = ['upstream', 'downstream'];
      return {
        address,
        async poison(toxic) {
          await Promise.all(both.map((stream) => request('POST', `/proxies/${name}/toxics`, { ...toxic, stream, name: `${toxic.type}_${stream}` })));
        },
        cut: () => request('POST', `/proxies/${name}`, { enabled: false }),
        async mend() {
          const toxics = await request<{ name: string }[]>('GET', `/proxies/${name}/toxics`);
          for (const toxic of toxics) await request('DELETE', `/proxies/${name}/toxics/${toxic.name}`);
          await request('POST', `/proxies/${name}`, { enabled: true });
        },
      };
    },
    async close() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
