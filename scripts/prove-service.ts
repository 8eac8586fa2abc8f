/**
 * Proves the whole service on a device: starts it (this checkout, or a copy that scripts/package made), runs jobs, and ends it.
 * Checks that each job is done on that device, one whose media child is killed with `kill -9` too, and that each is charged
 * once. Prints one JSON line for each job. Exit status 1: a check failed; standard error says which.
 *   node scripts/prove-service.ts [--root DIR] [--device cuda:0] [--models none,quality] [--engines DIR] [--log FILE]
 *     --device    that the jobs must run on (`cpu` to try this script without a GPU)
 *     --models    one job each; their engines must be in --engines (reelmend models compile --size 384x216)
 *     --log       keeps the service's log
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

interface Job {
  id: string;
  status: string;
  credits_charged: number;
  credits_refunded: number;
  started_at: string;
  finished_at: string;
  error: { message: string } | null;
  enhancements: { device: string; model: string } | null;
}

interface Service {
  url: string;
  key: string;
  sample: string;
  process: ChildProcess;
}

const { values } = parseArgs({
  options: {
    root: { type: 'string', default: '.' },
    device: { type: 'string', default: 'cuda:0' },
    models: { type: 'string', default: 'none' },
    engines: { type: 'string' },
    log: { type: 'string' },
  },
});
const [startsWithinMs, jobWithinMs, childWithinMs] = [180_000, 120_000, 30_000];

class Failure extends Error {}

async function started(folder: string): Promise<Service> {
  const program = join(resolve(values.root), 'scripts/reelmend');
  if (!existsSync(program)) throw new Failure(`there is no service in ${values.root}`);
  const child = spawn(program, ['start'], {
    env: {
      ...process.env,
      ...{ PORT: '0', REELMEND_DATA_DIR: folder, REELMEND_DEVICE: values.device },
      ...(values.engines === undefined ? {} : { REELMEND_ENGINES_DIR: resolve(values.engines) }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (values.log !== undefined) void appendFile(values.log, chunk);
    });
  }
  const end = Date.now() + startsWithinMs;
  while (child.exitCode === null && Date.now() < end) {
    const [, url] = /Reelmend is running at (\S+?)\. /.exec(text) ?? [];
    const [, key] = /live key\s+(svc_live_\w+)/.exec(text) ?? [];
    const [, sample] = /"video_url": "([^"]+)"/.exec(text) ?? [];
    // The service begins with a job of its own, which is charged, too.
    const begun = text.includes('The enhanced sample');
    if (begun && url !== undefined && key !== undefined && sample !== undefined) return { url, key, sample, process: child };
    await sleep(100);
  }
  child.kill('SIGKILL');
  throw new Failure(`the service did not start: ${text.slice(-2000)}`);
}

async function stop({ process: child }: Service): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await Promise.race([ended, sleep(20_000, undefined, { ref: false }).then(() => child.kill('SIGKILL'))]);
}

async function call<Answer>({ url, key }: Service, path: string, body?: object): Promise<Answer> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Failure(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

const balance = async (service: Service) => (await call<{ credits: number }>(service, '/v1/account')).credits;

async function ended(service: Service, id: string): Promise<Job> {
  const end = Date.now() + jobWithinMs;
  for (;;) {
    const job = await call<Job>(service, `/v1/jobs/${id}`);
    if (!['queued', 'running'].includes(job.status)) return job;
    if (Date.now() > end) throw new Failure(`the job ${id} is ${job.status} after ${jobWithinMs / 1000} s`);
    await sleep(200);
  }
}

/** The media children of the service: its descendants with the child's program in their command line. */
function mediaChildren({ process: { pid } }: Service): number[] {
  const processes = new Map<number, { parent: number; command: string }>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [, parent] = /^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      processes.set(Number(name), { parent: Number(parent), command: readFileSync(`/proc/${name}/cmdline`, 'utf8') });
    } catch {
      // it has ended
    }
  }
  const isOurs = (of: number | undefined): boolean => of !== undefined && (of === pid || isOurs(processes.get(of)?.parent));
  return [...processes].filter(([of, { command }]) => isOurs(of) && /media\/child\.(js|ts)/.test(command)).map(([of]) => of);
}

/** Kills all media children when the job has begun to make pictures. */
async function killChildren(service: Service, id: string): Promise<void> {
  const read = () => call<Job & { progress: number }>(service, `/v1/jobs/${id}`);
  const end = Date.now() + childWithinMs;
  while ((await read()).progress < 0.05) {
    if (Date.now() > end) throw new Failure(`the job ${id} makes no progress`);
    await sleep(20);
  }
  const children = mediaChildren(service);
  if (children.length === 0) throw new Failure('there is no media child to kill');
  for (const pid of children) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it ended with its parent
    }
  }
  const { status } = await read();
  if (status !== 'running') throw new Failure(`the job ${id} was ${status} when its media child was killed`);
}

/** Runs a job and checks it; returns the credits that it cost. */
async function prove(service: Service, body: Record<string, string>, killed = false): Promise<number> {
  const { id } = await call<Job>(service, '/v1/jobs', { video_url: service.sample, ...body });
  if (killed) await killChildren(service, id);
  const job = await ended(service, id);
  const { device, model } = job.enhancements ?? {};
  const seconds = (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000;
  console.log(JSON.stringify({ ...body, killed, status: job.status, device, model, seconds, credits: job.credits_charged, error: job.error?.message }));
  if (job.status !== 'done') throw new Failure(`the job ${id} ended as ${job.status}`);
  if (device !== values.device && device?.startsWith(`${values.device} `) !== true) throw new Failure(`the job ${id} ran on ${device}`);
  if (body.model !== undefined && body.model !== model) throw new Failure(`the job ${id} used the model ${model}`);
  return job.credits_charged - job.credits_refunded;
}

async function proveAll(service: Service): Promise<void> {
  const before = await balance(service);
  let cost = 0;
  for (const model of values.models.split(',')) cost += await prove(service, { resolution: '1080p', model });
  cost += await prove(service, { resolution: '4k', model: 'none' }, true);
  const charged = before - (await balance(service));
  if (charged !== cost) throw new Failure(`the jobs cost ${cost} credits, and ${charged} were charged`);
}

const folder = await mkdtemp(join(tmpdir(), 'reelmend-prove-'));
try {
  const service = await started(folder);
  try {
    await proveAll(service);
  } finally {
    await stop(service);
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`prove-service: ${error.message}`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
