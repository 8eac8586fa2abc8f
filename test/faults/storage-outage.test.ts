/**
 * Two workers over one real S3 server: one whose way to the storage is broken, in all possible ways, and a
 * healthy one. The broken one uses up no attempt, leaves the work to the other, and takes work again once the storage answers.
 */
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { createWorkerMetrics } from '../../src/jobs/index.ts';
import { createS3Storage } from '../../src/storage/s3.ts';
import type { S3Storage } from '../../src/storage/index.ts';
import type { Account } from '../../src/store/types.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { cutIntoSegments, indexOf, pieceOf } from '../helpers/segment-fakes.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorkshop, FakeMedia, FakeNet, pause, type Workshop } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

const haveS3 = (await findS3Server()) !== null;
const bucket = 'outage';

let server: S3Server;
let world: World;
let wire: Wire;
let wireUrl: string;
let refuser: Server;
/** with which the refuser answers; 0: it passes on */
let status = 0;

beforeAll(async () => {
  if (!haveS3) return;
  server = (await startS3Server())!;
  await server.createBucket(bucket);
  world = await createWorld();
  wire = new Wire(new URL(server.endpoint));
  wireUrl = (await wire.listen()).replace(/\/$/, '');
  refuser = createServer((request, response) => {
    if (status !== 0) return void request.resume().on('end', () => response.writeHead(status).end());
    const { hostname, port } = new URL(server.endpoint);
    const onward = forward({ hostname, port, method: request.method, path: request.url, headers: request.headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward.on('error', () => response.destroy()));
  });
  await new Promise<void>((resolve) => refuser.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  wire?.close();
  refuser?.closeAllConnections();
  refuser?.close();
  await world?.close();
  await server?.close();
});

interface Line {
  level: number;
  msg: string;
}

let shop: Workshop;
let account: Account;
const storages: S3Storage[] = [];

beforeEach(async () => {
  shop = await createWorkshop(world, { scheduled: false });
  account = await fundedAccount(world.store, 1000);
});
afterEach(async () => {
  wire.mend();
  status = 0;
  await shop.close();
  for (const storage of storages.splice(0)) storage.close();
  expect(await world.store.ledgerCheck()).toEqual([]);
});

/** how the media of each worker cut each video */
const cut = { count: 2, pieceS: 4.8 };

function startWorker(endpoint: string, { secret = server.credentials.secretAccessKey, net = new FakeNet(), checkMs = 10 * hangMs } = {}) {
  const lines: Line[] = [];
  const registry = new Registry();
  const media = new FakeMedia();
  cutIntoSegments(media, cut);
  const credentials = { ...server.credentials, secretAccessKey: secret };
  const storage = createS3Storage({ bucket, region: server.region, endpoint, answerTimeoutMs: 2000, client: { credentials, requestHandler: { connectionTimeout: 1000, socketTimeout: 1000 } } });
  storages.push(storage);
  const worker = shop.worker({
    config: { segmentsFromSeconds: 5 },
    tuning: { storageHealth: { firstPauseMs: 100, longestPauseMs: 400, probeTimeoutMs: 2000, checkMs } },
    deps: { storage, media, net, metrics: createWorkerMetrics(registry), logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) }) },
  });
  const isUp = async () => /^reelmend_storage_up 1$/m.test(await registry.metrics());
  const faults = async () => Number(/^reelmend_storage_faults_total (.+)$/m.exec(await registry.metrics())![1]);
  return { worker, lines, media, isUp, faults };
}

const create = async () => (await world.store.jobs.create(jobInput(account))).job;
const statusOf = async ({ id }: JobRecord) => (await world.store.jobs.get(account.id, 'live', id))!.status;
const allDone = (jobs: JobRecord[]) => eventually(async () => (await Promise.all(jobs.map(statusOf))).every((each) => each === 'done'), 'all jobs are done');
/** counted failures, of jobs and segments */
const failures = async () =>
  (await world.sql<{ sum: number }[]>`SELECT (coalesce(sum(failures), 0) + (SELECT coalesce(sum(failures), 0) FROM segments))::int AS sum
    FROM jobs WHERE account_id = ${account.id}`)[0]!.sum;
const attempts = async () => (await world.sql<{ sum: number }[]>`SELECT sum(attempt)::int AS sum FROM jobs WHERE account_id = ${account.id}`)[0]!.sum;
const down = 'the storage does not answer or refuses: this worker takes no more work until it answers';
const upAgain = 'the storage answers again: this worker takes work';

interface Outage {
  name: string;
  begin(): void;
  /** where the broken worker looks for the storage */
  endpoint?: () => string;
  secret?: string;
  /** makes the storage answer again; absent: it never does */
  end?: () => void;
}

const outages: Outage[] = [
  { name: 'refuses connections', begin: () => wire.cut(), end: () => wire.mend() },
  { name: 'swallows all requests', begin: () => wire.silence(), end: () => wire.mend() },
  { name: 'answers 503', begin: () => void (status = 503), endpoint: () => `http://127.0.0.1:${(refuser.address() as AddressInfo).port}`, end: () => void (status = 0) },
  // As S3 answers HEAD when the credentials have expired.
  { name: 'answers 400 without a reason', begin: () => void (status = 400), endpoint: () => `http://127.0.0.1:${(refuser.address() as AddressInfo).port}`, end: () => void (status = 0) },
  { name: 'has no address in DNS', begin: () => {}, endpoint: () => 'http://storage.invalid' },
  { name: 'does not accept the credentials', begin: () => {}, secret: 'not-the-secret-0123456789' },
];

describe.skipIf(!haveS3)('a worker whose storage', () => {
  it.each(outages)('$name loses no job an attempt, and leaves the work to a healthy one', async ({ begin, end, endpoint = () => wireUrl, secret }) => {
    begin();
    const jobs = await Promise.all(Array.from({ length: 4 }, create));
    const ill = startWorker(endpoint(), secret === undefined ? {} : { secret });
    await ill.worker.start();
    await eventually(() => ill.lines.some(({ msg }) => msg === down), 'the worker notices');
    expect([ill.worker.storageIsUp, await ill.isUp()]).toEqual([false, false]);
    // It takes no work: what it had is back, and nothing is taken any more.
    await eventually(async () => (await world.sql`SELECT 1 FROM jobs WHERE lease_owner IS NOT NULL`).length === 0, 'it has handed its work back');
    const taken = await attempts();
    await pause(1500);
    expect(await attempts()).toBe(taken);
    expect(taken).toBeLessThanOrEqual(2 * jobs.length);
    expect(await failures()).toBe(0);
    expect(ill.lines.filter(({ msg }) => msg === down)).toHaveLength(1);

    const healthy = startWorker(server.endpoint);
    await healthy.worker.start();
    await allDone(jobs);
    expect(await failures()).toBe(0);
    expect(ill.media.enhancements).toEqual([]);
    if (end === undefined) return;
    await healthy.worker.stop();
    end();
    const later = await create();
    await allDone([later]);
    expect(ill.media.enhancements).toHaveLength(cut.count);
    expect(ill.lines.filter(({ msg }) => msg === upAgain)).toHaveLength(1);
    expect([ill.worker.storageIsUp, await ill.isUp(), await failures()]).toEqual([true, true, 0]);
  });

  it.each(outages.filter(({ end }) => end !== undefined))('$name is noticed by an idle one as well', async ({ begin, end, endpoint = () => wireUrl }) => {
    const ill = startWorker(endpoint(), { checkMs: 100 });
    await ill.worker.start();
    await pause(500);
    expect([ill.worker.storageIsUp, await ill.isUp()]).toEqual([true, true]);
    begin();
    await eventually(() => ill.lines.some(({ msg }) => msg === down), 'the worker notices');
    expect([ill.worker.storageIsUp, await ill.isUp()]).toEqual([false, false]);
    end!();
    await eventually(() => ill.lines.some(({ msg }) => msg === upAgain), 'the worker notices');
    expect([ill.worker.storageIsUp, await ill.isUp(), await ill.faults()]).toEqual([true, true, 0]);
  });

  it('goes away for long in the middle of its segments hands these back, and only these', async () => {
    const job = await create();
    const ill = startWorker(wireUrl);
    // The second segment is made while the storage is away.
    ill.media.onEnhance = async (request) => {
      if (indexOf(request) === 1) wire.cut();
      return pieceOf(cut);
    };
    await ill.worker.start();
    await eventually(() => ill.lines.some(({ msg }) => msg === down), 'the worker notices');
    await eventually(async () => (await world.sql`SELECT 1 FROM segments WHERE lease_owner IS NOT NULL`).length === 0, 'it has handed its work back');
    const healthy = startWorker(server.endpoint);
    await healthy.worker.start();
    await allDone([job]);
    expect(await failures()).toBe(0);
    const made = [ill, healthy].flatMap(({ media }) => media.enhancements.map(indexOf));
    expect(made.filter((index) => index === 1)).toHaveLength(2);
    expect(made.length).toBeLessThanOrEqual(cut.count + 2);
  });

  it('is away together with the sources of the videos does not blame the videos', async () => {
    const net = new FakeNet();
    net.onDownload = () => Promise.reject(new ReelmendError('video_unreachable', 'No.'));
    wire.cut();
    const job = await create();
    const ill = startWorker(wireUrl, { net });
    await ill.worker.start();
    await eventually(() => ill.lines.some(({ msg }) => msg === down), 'the worker notices');
    await pause(500);
    expect([await statusOf(job), await failures()]).toEqual(['running', 0]);
    wire.mend();
    // Now the source alone is away.
    await eventually(async () => (await statusOf(job)) === 'error');
    expect((await world.store.jobs.get(account.id, 'live', job.id))!.error).toMatchObject({ code: 'video_unreachable' });
  });
});
