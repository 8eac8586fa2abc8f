/**
 * As segment-kills.test.ts, with everything that a fleet stands on: at random moments of a long video's life a worker, the API,
 * PostgreSQL or the S3 server is ended without warning and started again, or a media child is killed, as the kernel does when memory
 * runs out; sometimes two of these. `OUTAGES_SEED` repeats a run as far as timing allows. Afterwards all of them end together in
 * mid-job, and start again.
 */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMultipartUploadsCommand, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';
import { type Database, openDatabase } from '../../src/postgres/embedded.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { createCustomer, createSite, type Customer, type JobView, type Running, type Site } from '../helpers/service.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { seeded, send } from '../helpers/worker-cluster.ts';
import { spawnWorker, type WorkerProcess } from '../helpers/worker-process.ts';
import { isAlive, killTree, processTree } from '../media/processes.ts';

const there = (await findS3Server()) !== null;
const seed = Number(process.env['OUTAGES_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = seeded(seed);
/** At least one for each kind of blow. */
const rounds = isLongRun ? 50 : 5;
/** in which everything ends at once */
const restarts = isLongRun ? 5 : 1;
const segments = { count: 4, pieceS: 2.4 };
const pepper = 'the pepper that all machines share';
const bucket = 'outages';
const credits = 10_000;
/** Longer than the machine may be busy, and short enough to wait for: a lease whose answer was lost has no owner who knows. */
const leaseSeconds = 30;

let dir: string;
let database: Database;
let s3: S3Server;
let files: FileServer;
let site: Site;
let api: Running | undefined;
let customer: Customer;
let store: Store;
let sql: postgres.Sql;
const workers: (WorkerProcess | undefined)[] = [undefined, undefined];
const killed: WorkerProcess[] = [];
/** A worker whose segments take so long; default: a moment */
let start: (enhanceMs?: number) => WorkerProcess;

/** Every opening of the server; it runs as long as one of them has not been stopped. */
const opened: Database[] = [];

async function openOwn(): Promise<Database> {
  const own = await openDatabase({ databaseUrl: undefined, dataDir: dir });
  opened.push(own);
  return own;
}

beforeAll(async () => {
  if (!there) return;
  console.log(`segment outages: OUTAGES_SEED=${seed}`);
  dir = await mkdtemp(join(tmpdir(), 'reelmend-outages-'));
  await makeClip(join(dir, 'clip.mp4'), { seconds: 9.6, video: 'testsrc2=size=160x90:rate=25', args: ['-c:v', 'libx264'], audio: null });
  files = await startFileServer({ dir });
  s3 = (await startS3Server())!;
  await s3.createBucket(bucket, { versioning: true });
  // A server of its own, which keeps what it has confirmed.
  database = await openOwn();
  site = await createSite({
    DATABASE_URL: database.url,
    REELMEND_KEY_PEPPER: pepper,
    REELMEND_LINK_SECRET: 'links are signed by S3 here',
    REELMEND_ALLOW_HOSTS: files.hostPort,
    ...{ S3_ENDPOINT: s3.endpoint, S3_BUCKET: bucket, S3_REGION: s3.region },
    ...{ AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey },
  });
  customer = await createCustomer(site, { credits });
  store = createStore({ url: database.url, cipher: createSecretCipher(pepper) });
  sql = postgres(database.url, { max: 2, onnotice: () => {} });
  const source = { container: 'mov,mp4,m4a,3gp,3g2,mj2', width: 160, height: 90, codedWidth: 160, codedHeight: 90, audio: [], sizeBytes: (await stat(join(dir, 'clip.mp4'))).size };
  const { endpoint, region, credentials: keys } = s3;
  const options = { url: database.url, dataDir: dir, leaseSeconds, segments, hasChildren: true, source };
  start = (enhanceMs = 150) => spawnWorker({ ...options, enhanceMs, s3: { bucket, region, endpoint, client: { credentials: keys } } });
  api = await site.start('serve');
  await fillSlots();
});
afterAll(async () => {
  await Promise.all(workers.map(async (worker) => worker?.end('SIGKILL')));
  await store?.close();
  await sql?.end({ timeout: 5 });
  await site?.close();
  for (const own of opened) await own.stop();
  await s3?.close();
  await files?.close();
  if (dir) await rm(dir, { recursive: true, force: true });
});

async function fillSlots(enhanceMs?: number): Promise<void> {
  for (const [index, worker] of workers.entries()) workers[index] = worker ?? start(enhanceMs);
  await Promise.all(workers.map((worker) => worker!.waitForOutput('started')));
}

/** Repeats what the database did not answer. */
const steadily = <T>(ask: () => Promise<T>): Promise<T> => eventually(() => ask().then((found) => ({ found }), () => false as const), 'the database answers').then(({ found }) => found);

/** How many processes a blow has killed whose work is made again. */
interface Toll {
  workers: number;
  children: number;
}
const nobody: Toll = { workers: 0, children: 0 };

async function killWorkers(): Promise<Toll> {
  const indices = random() < 0.3 ? [0, 1] : [random() < 0.5 ? 0 : 1];
  for (const index of indices) {
    const worker = workers[index]!;
    workers[index] = undefined;
    await worker.end('SIGKILL');
    killed.push(worker);
  }
  await expireLeasesOfTheDead();
  await fillSlots();
  return { workers: indices.length, children: 0 };
}

/** The media children that all workers have begun. */
const begunChildren = () =>
  [...workers, ...killed].flatMap((worker) => worker?.printed() ?? []).filter((line) => line.startsWith('child ')).map((line) => Number(line.split(' ')[1]));

/** One of the children that begin from now on: a job has one for each of its segments. */
async function killChild(): Promise<Toll> {
  const before = new Set(begunChildren());
  const begunNow = () => begunChildren().filter((pid) => !before.has(pid));
  const count = 1 + Math.floor(random() * segments.count);
  await eventually(() => begunNow().length >= count, 'the child begins');
  await sleep(random() * 50);
  const pid = begunNow().find((each) => isAlive(each));
  if (pid === undefined) return nobody;
  process.kill(pid, 'SIGKILL');
  return { workers: 0, children: 1 };
}

async function killApi(): Promise<Toll> {
  await api!.kill('SIGKILL');
  api = undefined;
  await sleep(500 * random());
  api = await site.start('serve');
  return nobody;
}

const databasePid = async () => Number((await readFile(join(dir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]);

/** Waits until no process has these ids, not even a zombie, which would be taken for a running server. */
const haveEnded = (pids: readonly number[]) =>
  eventually(
    () =>
      pids.every((pid) => {
        try {
          return !process.kill(pid, 0);
        } catch {
          return true;
        }
      }),
    'PostgreSQL has ended',
  );

/** As when the machine fails: no process finishes anything. The next start recovers what was committed. */
async function crashDatabase(): Promise<Toll> {
  const pid = await databasePid();
  process.kill(pid, 'SIGQUIT');
  await haveEnded([pid]);
  await sleep(500 * random());
  expect((await openOwn()).url).toBe(database.url);
  return nobody;
}

async function crashStorage(): Promise<Toll> {
  await s3.kill();
  await sleep(500 * random());
  await s3.restart();
  return nobody;
}

/** Each resolves when all runs again. */
const blows = { worker: killWorkers, 'media child': killChild, API: killApi, PostgreSQL: crashDatabase, S3: crashStorage };
type Kind = keyof typeof blows;
const kinds = Object.keys(blows) as Kind[];
/** Those that come next: each comes once before any comes again. */
let dealt: Kind[] = [];

function nextKind(): Kind {
  if (dealt.length === 0) dealt = [...kinds];
  return dealt.splice(Math.floor(random() * dealt.length), 1)[0]!;
}

async function expireLeasesOfTheDead(): Promise<void> {
  for (const { child } of killed) {
    const owner = `worker-${child.pid}-%`;
    await steadily(async () => {
      await sql`UPDATE segments SET lease_expires_at = now() - interval '1 second' WHERE lease_owner LIKE ${owner}`;
      await sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE lease_owner LIKE ${owner}`;
      await sql`UPDATE workers SET heartbeat_at = now() - interval '1 day' WHERE id LIKE ${owner}`;
    });
  }
}

/** Places an order as a client with retries does. */
async function order(round: number): Promise<string> {
  const body = { video_url: `${files.url}/clip.mp4`, resolution: '1080p' };
  for (const end = Date.now() + hangMs; Date.now() < end; await sleep(100)) {
    const response = api === undefined ? null : await send(api.url, { method: 'POST', path: '/v1/jobs', key: customer.key, body, idempotencyKey: `order-${round}` }).catch(() => null);
    if (response === null || response.status >= 500 || response.status === 409) continue;
    const job = (await response.json().catch(() => null)) as JobView | null;
    if (job === null) continue;
    expect(response.status, JSON.stringify(job)).toBe(201);
    return job.id;
  }
  throw new Error('No API took the order');
}

const begun = (id: string, of = [...workers, ...killed]) =>
  of.flatMap((worker) => worker?.printed() ?? []).filter((line) => line.startsWith(`begun ${id} `)).map((line) => Number(line.split(' ')[2]));

/** All processes at once, with all that they have started. */
async function endEverything(): Promise<void> {
  const ofDatabase = processTree(await databasePid());
  killTree(ofDatabase[0]!);
  for (const [index, worker] of workers.entries()) {
    killTree(worker!.child.pid!);
    await worker!.end('SIGKILL');
    killed.push(worker!);
    workers[index] = undefined;
  }
  await api!.kill('SIGKILL');
  await s3.kill();
  await haveEnded(ofDatabase);
}

async function startEverything(enhanceMs: number): Promise<void> {
  expect((await openOwn()).url).toBe(database.url);
  await s3.restart();
  api = await site.start('serve');
  await expireLeasesOfTheDead();
  await fillSlots(enhanceMs);
}

const doneSegments = async (id: string) =>
  (await steadily(() => sql<{ number: number }[]>`SELECT number FROM segments WHERE job_id = ${id} AND state = 'done' ORDER BY number`)).map(({ number }) => number);

/** How often each segment of the job was stored, by the keys of all pieces that ever were. */
async function timesStored(id: string): Promise<number[]> {
  const keys = await sql<{ key: string }[]>`SELECT key FROM objects WHERE job_id = ${id} AND role = 'segment'`;
  return Array.from({ length: segments.count }, (_, number) => keys.filter(({ key }) => key.includes(`/segments/${number}-`)).length);
}

interface Loss extends Toll {
  story: string[];
}

/** One or two blows at random moments of the life of an order, which begins with its request. */
async function strike(jobMs: number): Promise<Loss> {
  const loss: Loss = { ...nobody, story: [] };
  // Not the same twice: after one media child, fewer may begin than the next blow waits for.
  const dealtNow = [...new Set(random() < 0.3 ? [nextKind(), nextKind()] : [nextKind()])];
  // First, while all its segments are to come.
  const isChild = (kind: Kind) => Number(kind === 'media child');
  for (const kind of dealtNow.sort((x, y) => isChild(y) - isChild(x))) {
    if (kind !== 'media child') await sleep(random() * jobMs);
    loss.story.push(kind);
    const toll = await blows[kind]();
    loss.workers += toll.workers;
    loss.children += toll.children;
  }
  return loss;
}

async function stored(): Promise<{ keys: string[]; uploads: number }> {
  const client = new S3Client({ endpoint: s3.endpoint, region: s3.region, credentials: s3.credentials, forcePathStyle: true });
  const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  client.destroy();
  return { keys: [...Versions, ...DeleteMarkers].map(({ Key }) => Key!), uploads: Uploads.length };
}

/** What a failure shows: stored keys, and the tasks that are queued or locked. */
async function leftovers(): Promise<string> {
  const tasks = await sql`SELECT task_identifier, attempts, run_at, locked_at, last_error FROM graphile_worker.jobs`;
  return JSON.stringify({ ...(await stored()), tasks });
}

describe.skipIf(!there)('a fleet whose parts fail', () => {
  it(`loses at most one segment for each worker and media child killed in ${rounds} jobs, charges once, and leaves nothing behind`, async () => {
    let jobMs = 0;
    let childrenKilled = 0;
    const stories: string[] = [];
    for (let round = 0; round <= rounds; round++) {
      const beganAt = performance.now();
      // The first job is left alone: it tells how long one takes.
      const [id, loss] = await Promise.all([order(round), round === 0 ? { ...nobody, story: [] } : strike(1.2 * jobMs)]);
      const where = `OUTAGES_SEED=${seed}, round ${round}: ${loss.story.join(', ')}`;
      stories.push(loss.story.join(' and '));
      await eventually(async () => {
        await expireLeasesOfTheDead();
        return !['queued', 'running'].includes((await steadily(() => store.jobs.get(customer.accountId, 'live', id)))!.status);
      }, `the job ends (${where})`);
      jobMs ||= performance.now() - beganAt;
      const job = (await store.jobs.get(customer.accountId, 'live', id))!;
      expect([job.status, job.error], where).toEqual(['done', null]);
      const all = begun(id);
      expect(new Set(all).size, where).toBe(segments.count);
      expect(all.length, where).toBeLessThanOrEqual(segments.count + loss.workers + loss.children);
      childrenKilled += loss.children;
      expect((await store.accounts.get(customer.accountId))!.credits, where).toBe(credits - (round + 1) * job.creditsCharged);
      expect(await store.ledgerCheck(), where).toEqual([]);
    }
    console.log(`${rounds} jobs; ended: ${stories.slice(1).join(', ')}`);
    expect((await sql`SELECT 1 FROM jobs`).length).toBe(rounds + 1);
    const [counted] = await sql<{ failures: number }[]>`SELECT coalesce(sum(failures), 0)::int AS failures FROM segments`;
    expect(childrenKilled).toBeGreaterThan(0);
    expect(counted!.failures).toBeLessThanOrEqual(childrenKilled);
    // The original and the result of each job; no piece, and no half upload.
    await eventually(async () => (await stored()).keys.length === 2 * (rounds + 1), 'pieces are destroyed').catch(async (error: unknown) => {
      throw new Error(`${String(error)}; left: ${await leftovers()}`);
    });
    expect(await stored()).toMatchObject({ uploads: 0 });
    await eventually(async () => (await sql`SELECT 1 FROM segments`).length === 0, 'rows of segments go with their pieces');
  });

  it.each(Array.from({ length: restarts }, (_, n) => n + 1))('that ends as a whole in mid-job, and starts again, makes only unfinished segments (%i)', async (n) => {
    await endEverything();
    await startEverything(2000);
    const { credits: before } = (await steadily(() => store.accounts.get(customer.accountId)))!;
    const id = await order(rounds + n);
    await eventually(async () => (await doneSegments(id)).length > 0, 'a segment is done');
    await endEverything();
    // Read before any worker runs.
    await openOwn();
    const finished = await doneSegments(id);
    expect(finished.length).toBeGreaterThan(0);
    expect(finished.length).toBeLessThan(segments.count);
    await startEverything(150);
    const job = await eventually(async () => {
      const found = await steadily(() => store.jobs.get(customer.accountId, 'live', id));
      return found !== null && !['queued', 'running'].includes(found.status) && found;
    }, 'the job ends');
    expect([job.status, job.error]).toEqual(['done', null]);
    const unfinished = Array.from({ length: segments.count }, (_, number) => number).filter((number) => !finished.includes(number));
    expect(begun(id, workers).sort()).toEqual(unfinished);
    const stored = await timesStored(id);
    for (const number of finished) expect(stored[number]).toBe(1);
    expect((await store.accounts.get(customer.accountId))!.credits).toBe(before - job.creditsCharged);
    expect(await store.ledgerCheck()).toEqual([]);
  });
});
