/**
 * Two machines: this one with PostgreSQL, S3, the API and a worker, and a far one with a worker behind Toxiproxy. As root the
 * far one is a network namespace, whose only way out leads to the proxies; otherwise it is a process of this machine.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMultipartUploadsCommand, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ffmpeg } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { createNetworkNamespace, type NetworkNamespace } from '../helpers/network-namespace.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { call, createCustomer, createSite, type Customer, type JobView, type Running, type Site, waitForEnd } from '../helpers/service.ts';
import { findToxiproxy, type Proxy, startToxiproxy, type Toxiproxy } from '../helpers/toxiproxy.ts';
import { eventually } from '../helpers/wait.ts';

const program = isLongRun && (await findS3Server()) !== null ? await findToxiproxy() : null;
const bucket = 'far';

let dir: string;
let files: FileServer;
let s3: S3Server;
let client: S3Client;
let toxiproxy: Toxiproxy;
let namespace: NetworkNamespace | null;
let site: Site;
let api: Running;
let far: Running;
let customer: Customer;
let sql: postgres.Sql;
let database: Proxy;
let storage: Proxy;

const folderOf = (machine: string) => ({ HOME: join(dir, machine), REELMEND_DATA_DIR: join(dir, machine) });

async function startFar(): Promise<Running> {
  const listen = namespace?.address ?? '127.0.0.1';
  const { host } = new URL(site.databaseUrl);
  database = await toxiproxy.open('database', { listen, upstream: host });
  storage = await toxiproxy.open('storage', { listen, upstream: new URL(s3.endpoint).host });
  const url = new URL(site.databaseUrl);
  url.host = database.address;
  // Downloads would need a way to the customer's server.
  const env = { ...folderOf('far'), DATABASE_URL: url.href, S3_ENDPOINT: `http://${storage.address}`, REELMEND_DATABASE_TIMEOUT_SECONDS: '5', REELMEND_DOWNLOAD_CONCURRENCY: '0' };
  return site.start('work', env, namespace === null ? {} : { prefix: namespace.prefix });
}

beforeAll(async () => {
  if (program === null) return;
  dir = await mkdtemp(join(tmpdir(), 'reelmend-network-'));
  // Few frames, so that segments take seconds, and bytes enough for a slow link to be felt: 1.5 MB.
  const filled = 'nal-hrd=cbr:bitrate=200:vbv-maxrate=200:vbv-bufsize=200:filler=1';
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=5:duration=60', '-f', 'lavfi', '-i', 'sine=duration=60'];
  await ffmpeg([...source, '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '10', '-x264-params', filled, '-c:a', 'aac', join(dir, 'clip.mp4')]);
  files = await startFileServer({ dir });
  s3 = (await startS3Server())!;
  await s3.createBucket(bucket, { versioning: true });
  client = new S3Client({ endpoint: s3.endpoint, region: s3.region, credentials: s3.credentials, forcePathStyle: true });
  toxiproxy = await startToxiproxy(program);
  namespace = await createNetworkNamespace();
  site = await createSite({
    ...{ S3_ENDPOINT: s3.endpoint, S3_BUCKET: bucket, S3_REGION: s3.region },
    ...{ AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey },
    ...{ REELMEND_KEY_PEPPER: 'the pepper that both machines share', REELMEND_LINK_SECRET: 'links are signed by S3 here' },
    ...{ REELMEND_SEGMENTS_FROM_SECONDS: '20', REELMEND_WORKER_CONCURRENCY: '1', REELMEND_THREADS: '1', REELMEND_LEASE_SECONDS: '6' },
    ...{ REELMEND_ALLOW_HOSTS: files.hostPort, REELMEND_ENCODER_CRF: '36' },
  });
  sql = postgres(site.databaseUrl, { max: 1, onnotice: () => {} });
  customer = await createCustomer(site, { credits: 10_000 });
  api = await site.start('serve', folderOf('api'));
  await site.start('work', { ...folderOf('near'), REELMEND_WORKER_CONCURRENCY: '0' });
  far = await startFar();
});
afterAll(async () => {
  await Promise.all([database?.mend(), storage?.mend()]).catch(() => {});
  await sql?.end({ timeout: 5 });
  await site?.close();
  await toxiproxy?.close();
  await namespace?.remove();
  client?.destroy();
  await s3?.close();
  await files?.close();
  if (dir) await rm(dir, { recursive: true, force: true });
});

const enhancements = { denoise: 0.2, sharpen: 0.2, face_restoration: 'off', adaptive_contrast: 0.3 };
async function create(): Promise<string> {
  const body = { video_url: `${files.url}/clip.mp4`, resolution: '1080p', model: 'none', enhancements };
  const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', body);
  expect(created.status).toBe(201);
  return created.body.id;
}

const isFar = (owner: string | null) => owner?.startsWith(`worker-${far.pid}-`) === true;
const segments = (id: string) => sql<{ state: string; attempt: number; owner: string | null }[]>`
  SELECT state, attempt, lease_owner AS owner FROM segments WHERE job_id = ${id}`;
const statusOf = async (id: string) => (await sql<{ status: string }[]>`SELECT status FROM jobs WHERE id = ${id}`)[0]!.status;

/** A job with a segment in the hands of the far machine. There are several attempts, because the near worker may be faster. */
const jobInFarHands = () =>
  eventually(async () => {
    const id = await create();
    for (;;) {
      if ((await segments(id)).some(({ state, owner }) => state === 'running' && isFar(owner))) return id;
      if ((await statusOf(id)) === 'done') return undefined;
      await sleep(50);
    }
  }, 'the far worker takes a segment');

/** The most attempts that one segment of a job took; resolves when the job has ended. */
async function attemptsUntilDone(id: string): Promise<number> {
  let most = 0;
  await eventually(async () => {
    most = Math.max(most, ...(await segments(id)).map(({ attempt }) => attempt));
    return !['queued', 'running'].includes(await statusOf(id));
  }, 'the job ends');
  return most;
}

const charged: number[] = [];
let sha256: string | undefined;

/** The job is done as all others were, charged once; and nothing is in the storage but originals and results. */
async function expectDone(id: string): Promise<void> {
  const job = await waitForEnd(api.url, customer.key, id);
  expect(job.status, JSON.stringify(job.error)).toBe('done');
  expect(job.output!.sha256).toBe((sha256 ??= job.output!.sha256));
  await eventually(async () => (await sql`SELECT 1 FROM jobs WHERE status IN ('queued', 'running')`).length === 0);
  const [books] = await sql<{ charged: number; refunded: number; jobs: number }[]>`
    SELECT sum(credits_charged)::int AS charged, sum(credits_refunded)::int AS refunded, count(*)::int AS jobs FROM jobs`;
  charged.push(job.credits_charged);
  const account = await call<{ credits: number }>(api.url, customer.key, 'GET', '/v1/account');
  expect([account.body.credits, books!.refunded, books!.charged]).toEqual([10_000 - books!.charged, 0, books!.jobs * charged[0]!]);
  await expect(site.reelmend('ledger', 'check')).resolves.toBeDefined();
  await eventually(async () => JSON.stringify(await stored()) === JSON.stringify({ objects: 2 * books!.jobs, uploads: 0 }), 'nothing is left over');
}

async function stored(): Promise<{ objects: number; uploads: number }> {
  const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: 'jobs/' }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  return { objects: Versions.length, uploads: Uploads.length };
}

const both = (act: (proxy: Proxy) => Promise<void>) => Promise.all([database, storage].map(act));
const silence = (proxy: Proxy) => proxy.poison({ type: 'timeout', attributes: { timeout: 0 } });

describe.skipIf(program === null)('a worker on another machine', () => {
  it.each([
    { name: 'with 100 ms each way to the database and the storage', fault: () => both((proxy) => proxy.poison({ type: 'latency', attributes: { latency: 100 } })) },
    { name: 'with 300 kB a second to the storage', fault: () => storage.poison({ type: 'bandwidth', attributes: { rate: 300 } }) },
  ])('does whole jobs alone $name, and loses no lease', async ({ fault }) => {
    await fault();
    const id = await create();
    expect(await attemptsUntilDone(id)).toBe(1);
    await both((proxy) => proxy.mend());
    await expectDone(id);
  });

  it('goes on with its segment when the storage was away for some seconds', async () => {
    const id = await jobInFarHands();
    await storage.cut();
    await sleep(8000);
    await storage.mend();
    expect(await attemptsUntilDone(id)).toBe(1);
    await expectDone(id);
  });

  it('is helped by one near the database', async () => {
    await site.start('work', folderOf('near'));
    await expectDone(await jobInFarHands());
  });

  const faults: { name: string; fault: () => Promise<unknown>; isPossible?: () => boolean }[] = [
    { name: 'is cut off', fault: () => both((proxy) => proxy.cut()) },
    { name: 'gets no more answers on open connections', fault: () => both(silence) },
    { name: 'gets no more answers of the database', fault: () => silence(database) },
    { name: 'loses its cable', fault: async () => namespace?.unplug(), isPossible: () => namespace !== null },
  ];
  it.each(faults)('that $name loses its segment to another, and is back without a restart', async ({ name, fault, isPossible }) => {
    if (isPossible?.() === false) return console.warn(`${name}: not tested here without a network namespace`);
    const id = await jobInFarHands();
    await fault();
    // Another worker takes the segment over, while the fault lasts.
    expect(await attemptsUntilDone(id)).toBe(2);
    await namespace?.plug();
    await both((proxy) => proxy.mend());
    await expectDone(id);
    await expectDone(await jobInFarHands());
  });

  it('whose storage does not answer keeps its lease, and goes on when it does', async () => {
    const id = await jobInFarHands();
    await silence(storage);
    await sleep(8000);
    expect((await segments(id)).filter(({ owner }) => isFar(owner))).toMatchObject([{ state: 'running', attempt: 1 }]);
    await storage.mend();
    await expectDone(id);
  });

  it('whose storage stays away hands its segment back, at no cost, and takes no other until the storage answers', async () => {
    const id = await jobInFarHands();
    const since = far.log.length;
    await storage.cut();
    // Another worker takes the segment over, and ends the job.
    expect(await attemptsUntilDone(id)).toBe(2);
    await expectDone(id);
    await expectDone(await create());
    expect(await sql`SELECT 1 FROM segments WHERE failures > 0 OR crashes > 0`).toEqual([]);
    const logged = (msg: string) => far.log.slice(since).filter((line) => line.includes(msg)).length;
    expect(logged('this worker takes no more work')).toBe(1);
    await storage.mend();
    await eventually(() => logged('the storage answers again') === 1, 'the far worker takes work again');
    await expectDone(await jobInFarHands());
  });
});
