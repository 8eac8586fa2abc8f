/**
 * Two APIs and three workers that share nothing but PostgreSQL, an S3 server and their secrets, killed and started at
 * random under 62 jobs, or under 206 in the long run; so are their media children. `CLUSTER_SEED` repeats a run as far as timing allows.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMultipartUploadsCommand, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';
import postgres from 'postgres';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import type { Mode, Tier } from '../../src/domain/job.ts';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';
import { createEvidence, verifyAuditLog, verifyCertificate } from '../../src/evidence/index.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { createSite, type JobView, type Site } from '../helpers/service.ts';
import { type Cluster, createClient, seeded, send, startCluster } from '../helpers/worker-cluster.ts';
import { auditLog } from '../helpers/worker-world.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually } from '../helpers/wait.ts';
import { killTree, processTree } from '../media/processes.ts';

const seed = Number(process.env['CLUSTER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = seeded(seed);
const pepper = 'the pepper that all machines share';
const cipher = createSecretCipher(pepper);
const createLimit = 150;
const { testJobs, liveJobs, kills } =
  isLongRun
    ? { testJobs: 200, liveJobs: 6, kills: { atLeast: 8, atMost: 16 } }
    : { testJobs: 60, liveJobs: 2, kills: { atLeast: 3, atMost: 4 } };
const bucket = 'cluster';

interface Customer {
  accountId: string;
  key: string;
}
interface Received {
  headers: Record<string, string>;
  body: string;
}

const there = (await findS3Server()) !== null;
let s3: S3Server;
let files: FileServer;
let clips: string;
let site: Site;
let cluster: Cluster;
let store: Store;
let sql: postgres.Sql;
let receiver: Server;
const received: Received[] = [];

beforeAll(async () => {
  if (!there) return;
  console.log(`cluster test: CLUSTER_SEED=${seed}`);
  clips = await mkdtemp(join(tmpdir(), 'reelmend-clips-'));
  await makeClip(join(clips, 'tiny.mp4'), { seconds: 1, video: 'testsrc2=size=160x90:rate=10', args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
  files = await startFileServer({ dir: clips });
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const again = received.some((one) => one.body === body);
      received.push({ headers: request.headers as Record<string, string>, body });
      // Every third is to be sent again.
      response.writeHead(!again && received.length % 3 === 0 ? 500 : 204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  s3 = (await startS3Server())!;
  await s3.createBucket(bucket, { versioning: true });
  site = await createSite({ REELMEND_KEY_PEPPER: pepper, REELMEND_WARM_CHILDREN: '1' });
  store = createStore({ url: site.databaseUrl, cipher });
  cluster = await startCluster(site, ['serve', 'serve', 'work', 'work', 'work'], environment());
});
afterAll(async () => {
  await cluster?.close();
  await store?.close();
  await site?.close();
  await s3?.close();
  await files?.close();
  receiver?.close();
  if (clips) await rm(clips, { recursive: true, force: true });
});

const hookUrl = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
const environment = () => ({
  REELMEND_KEY_PEPPER: pepper,
  REELMEND_LINK_SECRET: 'the links are signed by S3 here',
  REELMEND_ALLOW_HOSTS: `${files.hostPort},${new URL(hookUrl()).host}`,
  REELMEND_RATE_LIMITS: `create=${createLimit}`,
  REELMEND_TEST_MODE_DELAY_MS: '300',
  REELMEND_LEASE_SECONDS: '4',
  REELMEND_THREADS: '1',
  REELMEND_ENCODER_PRESET: 'ultrafast',
  REELMEND_LOG_LEVEL: 'info',
  S3_ENDPOINT: s3.endpoint,
  S3_BUCKET: bucket,
  S3_REGION: s3.region,
  AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
});

async function customer(mode: Mode, tier: Tier, credits: number): Promise<Customer> {
  const { id: accountId } = await store.accounts.create({ name: 'A customer' });
  await store.accounts.approve(accountId);
  if (credits > 0) await store.accounts.grant(accountId, credits);
  const { key, lastFour } = generateApiKey(mode);
  await store.keys.create({ accountId, mode, tier, hash: hashApiKey(key, pepper), lastFour });
  return { accountId, key };
}

/**
 * Kills one machine after the other, sometimes two together, at random moments, until aborted. It waits until each
 * killed machine is up again, so that a slow computer does not spend all its time on starting processes.
 */
async function havoc(stop: AbortSignal): Promise<string[]> {
  const story: string[] = [];
  while (story.length < kills.atLeast || (!stop.aborted && story.length < kills.atMost)) {
    await sleep(500 + 1500 * random());
    if (random() < 0.25) {
      story.push(await killMediaChild());
      continue;
    }
    const victims = shuffled(await mayDie()).slice(0, random() < 0.3 ? 2 : 1);
    story.push(...victims.map((victim) => `${victim.role} ${cluster.machines.indexOf(victim)}`));
    await Promise.all(victims.map((victim) => cluster.crash(victim, 200 + 1300 * random())));
  }
  return story;
}

/** Kills a media child of a worker, a warm one or one with a job, as the kernel does when memory runs out. */
async function killMediaChild(): Promise<string> {
  const [worst] = await sql`SELECT max(failures) AS failures FROM jobs WHERE status IN ('queued', 'running') AND deleted_at IS NULL`;
  // One more failure would be the last that some job may have.
  if (Number(worst?.['failures'] ?? 0) >= defaultTuning.retryDelaysS.length) return 'nobody';
  const working = cluster.machines.filter(({ role }) => role === 'work');
  const children = working.flatMap(({ running }) => (running === null ? [] : processTree(running.pid).slice(1)));
  const pid = shuffled(children)[0];
  if (pid !== undefined) killTree(pid);
  return pid === undefined ? 'nobody' : 'a media child';
}

/**
 * Any machine, but no worker while one more death would be the last that some job may see: it would fail and be
 * refunded, as it should, and not be done.
 */
async function mayDie() {
  const [worst] = await sql`SELECT max(crashes) AS crashes FROM jobs WHERE status IN ('queued', 'running') AND deleted_at IS NULL`;
  const isLast = Number(worst?.['crashes'] ?? 0) + 1 >= defaultTuning.maxCrashes;
  return cluster.machines.filter(({ role }) => !isLast || role !== 'work');
}

const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((item) => [random(), item] as const)
    .sort(([x], [y]) => x - y)
    .map(([, item]) => item);

interface Ordered extends Customer {
  id: string;
  webhook: boolean;
}

/** Places an order as a client with retries does; one in five is sent twice at once, as clients with a short timeout do. */
async function order(who: Customer, n: number, body: object, webhook: boolean): Promise<Ordered> {
  const request = createClient(cluster, random);
  const call = { method: 'POST', path: '/v1/jobs', key: who.key, body, idempotencyKey: `order-${n}` };
  const answers = await Promise.all(
    n % 5 === 0 ? [request<JobView>(call), request<JobView>(call)] : [request<JobView>(call)],
  );
  for (const answer of answers) expect(answer, JSON.stringify(answer)).toMatchObject({ status: 201 });
  expect(new Set(answers.map(({ body: job }) => job.id)).size).toBe(1);
  return { ...who, id: answers[0]!.body.id, webhook };
}

/** Runs `work` of so many at a time. */
async function pooled<T>(count: number, width: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const mode = async () => {
    while (next < count) {
      const n = next++;
      results[n] = await work(n);
    }
  };
  await Promise.all(Array.from({ length: width }, mode));
  return results;
}

/** Objects of jobs; the samples that test jobs share are the service's own. */
async function inBucket(): Promise<{ versions: string[]; markers: number; uploads: number }> {
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: s3.region,
    credentials: s3.credentials,
    forcePathStyle: true,
  });
  const versions: string[] = [];
  let markers = 0;
  let at: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: 'jobs/', ...at }));
    versions.push(...(page.Versions ?? []).map(({ Key }) => Key!));
    markers += page.DeleteMarkers?.length ?? 0;
    if (page.IsTruncated !== true) break;
    at = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
  }
  const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  client.destroy();
  return { versions: versions.sort(), markers, uploads: uploads.Uploads?.length ?? 0 };
}

describe.skipIf(!there)('two APIs and three workers, killed at random', () => {
  let orders: Ordered[] = [];
  let deleted: Ordered[] = [];
  let live: Customer;
  beforeAll(() => {
    sql = postgres(site.databaseUrl, { max: 2, onnotice: () => {} });
  });
  afterAll(() => sql?.end({ timeout: 5 }));

  it(`end ${testJobs} test jobs and ${liveJobs} live ones`, async () => {
    live = await customer('live', 'standard', 1000);
    const testCustomers = [await customer('test', 'secure', 0), await customer('test', 'standard', 0)];
    const stop = new AbortController();
    const chaos = havoc(stop.signal);
    const request = createClient(cluster, random);
    const place = async (n: number): Promise<Ordered> => {
      if (n < liveJobs) return order(live, n, { video_url: `${files.url}/tiny.mp4`, resolution: '1080p' }, false);
      await sleep(700 * random());
      const webhook = n % 8 === 0;
      const secure = n % 2 === 0;
      const wanted = { video_url: 'https://videos.example.com/a.mp4', resolution: '1080p', secure };
      return order(testCustomers[n % 2]!, n, webhook ? { ...wanted, webhook_url: hookUrl() } : wanted, webhook);
    };
    orders = await pooled(testJobs + liveJobs, 8, place);
    // Some change their mind, whatever state the job is in.
    deleted = orders.filter((_, n) => n >= liveJobs && n % 10 === 4);
    await Promise.all(
      deleted.map(async ({ key, id }) => {
        const { status } = await request({ method: 'DELETE', path: `/v1/jobs/${id}`, key });
        expect([200, 404]).toContain(status);
      }),
    );
    stop.abort();
    const story = await chaos;
    console.log(`killed: ${story.join(', ')}`);
    const open = () => sql`SELECT j.id, status, step, attempt, crashes, lease_expires_at - now() AS lease,
        q.locked_by, q.attempts, q.run_at - now() AS due
      FROM jobs j LEFT JOIN graphile_worker.jobs q ON q.key = 'step:' || j.id
      WHERE status IN ('queued', 'running') AND deleted_at IS NULL`;
    await expect.poll(open, { interval: 200 }).toEqual([]);
    const states =
      await sql`SELECT status, error_code, count(*)::int AS jobs FROM jobs WHERE deleted_at IS NULL GROUP BY 1, 2`;
    expect(states).toEqual([{ status: 'done', error_code: null, jobs: testJobs + liveJobs - deleted.length }]);
  });

  it('made each job once and charged it once', async () => {
    const [made] = await sql`SELECT count(*)::int AS jobs FROM jobs`;
    expect(made).toEqual({ jobs: testJobs + liveJobs });
    expect(new Set(orders.map(({ id }) => id)).size).toBe(testJobs + liveJobs);
    const transfers = await sql`SELECT kind, count(*)::int AS times, sum(credits)::int AS credits
      FROM ledger_transfers WHERE account_id = ${live.accountId} GROUP BY kind ORDER BY kind`;
    expect(transfers).toEqual([
      { kind: 'charge', times: liveJobs, credits: 3 * liveJobs },
      { kind: 'grant', times: 1, credits: 1000 },
    ]);
    expect(await site.reelmend('ledger', 'check')).toMatchObject({ ok: true, violations: [] });
    const ends =
      await sql`SELECT job_id FROM job_events WHERE kind IN ('job.completed', 'job.failed') GROUP BY job_id HAVING count(*) > 1`;
    expect(ends).toEqual([]);
  });

  it('left in the bucket what the finished jobs refer to, and nothing else', async () => {
    const expected = async () =>
      (
        await sql`SELECT key FROM objects o JOIN jobs j ON j.id = o.job_id
        WHERE j.deleted_at IS NULL AND o.key IN (j.original_key, j.output_key) ORDER BY key COLLATE "C"`
      ).map((row) => row['key'] as string);
    await eventually(async () => (await sql`SELECT 1 FROM objects WHERE state = 'pending'`).length === 0);
    await eventually(async () => (await inBucket()).versions.length === (await expected()).length);
    expect(await inBucket()).toEqual({ versions: await expected(), markers: 0, uploads: 0 });
    const workers = cluster.machines.filter(({ role }) => role === 'work');
    for (const { dataDir } of workers) {
      const scratch = join(dataDir, 'scratch');
      // A living worker sweeps folders of dead ones meanwhile: what it removed between two polls holds nothing.
      const within = (folder: string) =>
        readdir(folder).catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return [];
          throw error;
        });
      const left = async () =>
        (await Promise.all((await within(scratch)).map((name) => within(join(scratch, name))))).flat();
      // What waits for the next job is no job's: the folder of the living worker's warm children, and of none that died.
      const isClean = (names: string[]) => names.length <= 1 && names.every((name) => name === 'warm-pool');
      await eventually(async () => isClean(await left()));
    }
  });

  it('certified every deletion of the Secure tier, in a log that is whole', async () => {
    const evidence = createEvidence({ keys: store.signingKeys, cipher });
    const keys = await evidence.jwks();
    expect(deleted.length).toBeGreaterThan(testJobs / 20);
    for (const { id, accountId } of deleted) {
      await eventually(async () => (await store.certificates.get(accountId, 'test', id))?.state === 'issued');
      const issued = await store.certificates.get(accountId, 'test', id);
      expect(await verifyCertificate(issued?.state === 'issued' ? issued.jws : '', keys)).toMatchObject({
        job_id: id,
        storage: 's3',
      });
    }
    for (const accountId of new Set(orders.map((each) => each.accountId))) {
      const { entries, head } = await auditLog(store, accountId);
      const signed = await evidence.signHead({ account_id: accountId, ...head, signed_at: new Date().toISOString() });
      expect(await verifyAuditLog({ entries, head: signed }, keys)).toMatchObject({ ok: true });
    }
  });

  it('delivered a webhook of every job that asked for one', async () => {
    const gone = new Set(deleted.map(({ id }) => id));
    const expected = orders.filter(({ id, webhook }) => webhook && !gone.has(id));
    const states = () =>
      sql`SELECT state, count(*)::int AS n FROM webhook_deliveries WHERE url IS NOT NULL GROUP BY state`;
    await expect.poll(states).toEqual([{ state: 'delivered', n: expected.length }]);
    for (const { id, accountId } of expected) {
      const mine = received.filter(({ body }) => body.includes(id));
      expect(new Set(mine.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
      const [secret] = (await store.webhookSecrets.signing(accountId))!.secrets;
      for (const { body, headers } of mine)
        expect(new Webhook(secret!).verify(body, headers)).toMatchObject({ status: 'done' });
    }
  });

  it('limit the calls of one key together', async () => {
    const { key } = await customer('test', 'standard', 0);
    const urls = cluster.urls();
    expect(urls).toHaveLength(2);
    const start = performance.now();
    const body = { resolution: '1080p' };
    const answers = await Promise.all(
      Array.from({ length: createLimit + 50 }, (_, n) =>
        send(urls[n % 2]!, { method: 'POST', path: '/v1/jobs', key, body }),
      ),
    );
    const refilled = Math.ceil(((performance.now() - start) / 60_000) * createLimit);
    const passed = answers.filter(({ status }) => status === 400).length;
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(answers.length - passed);
    expect(passed).toBeGreaterThanOrEqual(createLimit);
    expect(passed).toBeLessThanOrEqual(createLimit + refilled);
    for (const answer of answers)
      if (answer.status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
