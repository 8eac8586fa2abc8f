/** A worker that dies in mid-job: another takes the job up, the customer is charged once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import {
  call,
  createCustomer,
  createSite,
  type JobView,
  type Running,
  type Site,
  waitForEnd,
} from '../helpers/service.ts';

let dir: string;
let files: FileServer;
let site: Site;
let api: Running;
const workers: Running[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-clips-'));
  await makeClip(join(dir, 'clip.mp4'), {
    seconds: 6,
    video: 'testsrc2=size=320x180:rate=10',
    args: ['-c:v', 'libx264', '-preset', 'veryfast'],
    audio: ['-c:a', 'aac'],
  });
  files = await startFileServer({ dir });
  // The job has to last until its worker is stopped.
  site = await createSite({ REELMEND_ALLOW_HOSTS: files.hostPort, REELMEND_LEASE_SECONDS: '6', REELMEND_ENCODER_PRESET: 'medium' });
  api = await site.start('serve');
});

afterAll(async () => {
  await site?.close();
  await files?.close();
  await rm(dir, { recursive: true, force: true });
});

async function leaseOwner(id: string): Promise<string | null> {
  const sql = postgres(site.databaseUrl, { max: 1 });
  const [job] = await sql<{ lease_owner: string | null }[]>`SELECT lease_owner FROM jobs WHERE id = ${id}`;
  await sql.end();
  return job!.lease_owner;
}

async function progressBeyond(key: string, id: string, fraction: number): Promise<JobView> {
  for (;;) {
    const { body } = await call<JobView>(api.url, key, 'GET', `/v1/jobs/${id}`);
    if (body.progress > fraction || body.status === 'done' || body.status === 'error') return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it('ends done and is charged once although its worker was killed with -9', async () => {
  const customer = await createCustomer(site, { credits: 100 });
  const first = await site.start('work');
  const body = { video_url: `${files.url}/clip.mp4`, resolution: '1080p', model: 'none' };
  const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', body);
  expect(created.status).toBe(201);
  const running = await progressBeyond(customer.key, created.body.id, 0.1);
  expect(running.status).toBe('running');
  await first.kill('SIGKILL');

  const second = await site.start('work');
  workers.push(second);
  const done = await waitForEnd(api.url, customer.key, created.body.id);
  expect(done.status, JSON.stringify(done.error)).toBe('done');
  // The line follows the commit that the customer sees.
  const resumed = () => second.log.some((line) => (JSON.parse(line) as { msg: string }).msg === 'step done');
  await expect.poll(resumed).toBe(true);
  const account = await call<{ credits: number }>(api.url, customer.key, 'GET', '/v1/account');
  expect(account.body.credits).toBe(100 - done.credits_charged);
  expect(done.credits_charged).toBe(18);
});

it('continues on another worker at once when its worker stops', async () => {
  const customer = await createCustomer(site, { credits: 100 });
  const body = { video_url: `${files.url}/clip.mp4`, resolution: '1080p', model: 'none' };
  const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', body);
  await progressBeyond(customer.key, created.body.id, 0.05);
  const [stopping] = workers.splice(0);
  await stopping!.kill('SIGTERM');
  const lease = await call<JobView>(api.url, customer.key, 'GET', `/v1/jobs/${created.body.id}`);
  expect(lease.body.status).toBe('running');

  expect(await leaseOwner(created.body.id)).toBeNull();

  await site.start('work');
  await expect.poll(() => leaseOwner(created.body.id)).not.toBeNull();
  const done = await waitForEnd(api.url, customer.key, created.body.id);
  expect(done.status, JSON.stringify(done.error)).toBe('done');
  const account = await call<{ credits: number }>(api.url, customer.key, 'GET', '/v1/account');
  expect(account.body.credits).toBe(82);
});
