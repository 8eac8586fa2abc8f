/** One long video, two workers, one of them killed: what is finished stays, and the result is that of one worker. */
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PartialOutput } from '../../src/contract/types.gen.ts';
import { ffprobe, frameTimes, makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { call, createCustomer, createSite, type Customer, type JobView, type Running, type Site, waitForEnd } from '../helpers/service.ts';

/** frames a second */
const rate = 2;
let dir: string;
let files: FileServer;
let site: Site;
let api: Running;
let customer: Customer;
let sql: postgres.Sql;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-clips-'));
  // Few frames for a minute, so that each of three segments takes two seconds. Longer videos are cut by default.
  await makeClip(join(dir, 'clip.mp4'), { seconds: 66, video: `testsrc2=size=160x90:rate=${rate}`, args: ['-c:v', 'libx264', '-g', String(2 * rate)], audio: ['-c:a', 'aac'] });
  files = await startFileServer({ dir });
  site = await createSite({ REELMEND_ALLOW_HOSTS: files.hostPort, REELMEND_LEASE_SECONDS: '6', REELMEND_WORKER_CONCURRENCY: '1', REELMEND_THREADS: '1' });
  sql = postgres(site.databaseUrl, { max: 1 });
  api = await site.start('serve');
  customer = await createCustomer(site, { credits: 1000 });
});

afterAll(async () => {
  await sql?.end();
  await site?.close();
  await files?.close();
  await rm(dir, { recursive: true, force: true });
});

const enhancements = { denoise: 0.2, sharpen: 0.2, face_restoration: 'off', adaptive_contrast: 0.3 };
const create = async () => {
  const body = { video_url: `${files.url}/clip.mp4`, resolution: '1080p', model: 'none', enhancements };
  const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', body);
  expect(created.status).toBe(201);
  return created.body.id;
};
interface Row {
  number: number;
  state: string;
  owner: string | null;
}
const segments = (id: string) => sql<Row[]>`SELECT number, state, lease_owner AS owner FROM segments WHERE job_id = ${id} ORDER BY number`;
/** How often each segment was stored, by the keys of all pieces that ever were. */
async function timesStored(id: string): Promise<number[]> {
  const keys = await sql<{ key: string }[]>`SELECT key FROM objects WHERE job_id = ${id} AND role = 'segment'`;
  return [0, 1, 2].map((number) => keys.filter(({ key }) => key.includes(`/segments/${number}-`)).length);
}

async function downloaded(id: string, name: string): Promise<string> {
  const { body } = await call<{ download_url: string }>(api.url, customer.key, 'GET', `/v1/jobs/${id}/result`);
  return download(body.download_url, name);
}

async function download(url: string, name: string): Promise<string> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  const path = join(dir, name);
  await writeFile(path, new Uint8Array(await response.arrayBuffer()));
  return path;
}

interface DoneSegment {
  start: number;
  end: number;
  frames: number;
}
async function earliestDone(id: string): Promise<DoneSegment> {
  const rows = await sql<DoneSegment[]>`SELECT start_seconds AS start, end_seconds AS end, frames FROM segments
    WHERE job_id = ${id} AND state = 'done' ORDER BY number LIMIT 1`;
  return rows[0]!;
}

/** The earliest finished segment can be watched while the job runs. */
async function expectPartialOutput(id: string): Promise<void> {
  const before = await earliestDone(id);
  const { body } = await call<{ partial_output: PartialOutput | null }>(api.url, customer.key, 'GET', `/v1/jobs/${id}`);
  const { url, start_seconds: start, end_seconds: end } = body.partial_output!;
  // The other worker may finish an earlier one meanwhile.
  const first = [before, await earliestDone(id)].find((segment) => segment.start === start)!;
  expect(end).toBe(first.end);
  const path = await download(url, 'partial.mp4');
  expect((await ffprobe(path)).streams).toMatchObject([{ codec_type: 'video', width: 1920, height: 1080 }]);
  const times = await frameTimes(path);
  expect(times).toHaveLength(first.frames);
  expect(times.at(-1)! - times[0]!).toBeCloseTo(end - start - 1 / rate, 2);
}

it.runIf(isLongRun)('loses at most the segment of the worker that was killed, and charges once', async () => {
  const workers = [await site.start('work'), await site.start('work')];
  const id = await create();
  let killed: Row | undefined;
  let finished: number[] = [];
  await expect
    .poll(async () => {
      const rows = await segments(id);
      finished = rows.filter(({ state }) => state === 'done').map(({ number }) => number);
      killed = rows.find(({ state }) => state === 'running');
      return finished.length > 0 && killed !== undefined;
    }, { interval: 50 })
    .toBe(true);
  const victim = workers.find(({ pid }) => killed!.owner!.startsWith(`worker-${pid}-`));
  await victim!.kill('SIGKILL');
  await expectPartialOutput(id);
  const done = await waitForEnd(api.url, customer.key, id);
  expect(done.status, JSON.stringify(done.error)).toBe('done');
  const stored = await timesStored(id);
  for (const number of finished) expect(stored[number]).toBe(1);
  const account = await call<{ credits: number }>(api.url, customer.key, 'GET', '/v1/account');
  expect(account.body.credits).toBe(1000 - done.credits_charged);

  const path = await downloaded(id, 'two.mp4');
  expect((await ffprobe(path)).streams.map(({ codec_type }) => codec_type).sort()).toEqual(['audio', 'video']);
  const times = await frameTimes(path);
  const source = await frameTimes(join(dir, 'clip.mp4'));
  expect(times).toHaveLength(66 * rate);
  for (const [index, time] of times.entries()) expect(time - times[0]!).toBeCloseTo(source[index]! - source[0]!, 4);

  // One worker alone makes the same file.
  const again = await create();
  expect((await waitForEnd(api.url, customer.key, again)).output!.sha256).toBe(done.output!.sha256);
});
