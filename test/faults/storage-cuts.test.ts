/**
 * An S3 server whose requests fail at random, under an API and two workers that are busy with every kind of work. `CUTS_SEED` repeats a
 * run as far as timing allows. Afterwards, without faults, everything ends well, and the bucket has what the rows name and nothing else.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMultipartUploadsCommand, ListObjectVersionsCommand, ListPartsCommand, S3Client } from '@aws-sdk/client-s3';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMeasure } from '../../src/app/measure.ts';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import { createEvidence, verifyCertificate } from '../../src/evidence/index.ts';
import { buildApp } from '../../src/http/app.ts';
import type { Worker } from '../../src/jobs/index.ts';
import { createReelmend, NotFoundError, type Reelmend, ReelmendApiError, ReelmendConnectionError } from '../../src/sdk/index.ts';
import type { S3Storage } from '../../src/storage/index.ts';
import { createS3Storage } from '../../src/storage/s3.ts';
import type { Account } from '../../src/store/types.ts';
import { type FaultyGateway, startFaultyGateway } from '../helpers/faulty-gateway.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { cutIntoSegments } from '../helpers/segment-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { seeded } from '../helpers/worker-cluster.ts';
import { createWorkshop, FakeMedia, FakeNet, probeResult, type Workshop } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, sampleSource, testCipher, type World } from '../helpers/worker-world.ts';

const there = (await findS3Server()) !== null;
const seed = Number(process.env['CUTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = seeded(seed);
const seconds = isLongRun ? 240 : 10;
/** Shares of the requests that fail, each for about a second. */
const shares = [0, 0.1, 0.2, 0.4];
const customers = isLongRun ? 14 : 6;
const bucket = 'cuts';
const publicUrl = 'http://reelmend.test';
const pepper = 'the pepper of the keys';
const megabyte = 1024 * 1024;
/** Sent in two parts by the SDK. */
const largeFilm = randomBytes(8 * megabyte + 1000);
/** Stored in two parts by the service. */
const mediumFilm = randomBytes(5 * megabyte + 1000);
const smallFilm = randomBytes(1000);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

let server: S3Server;
let gateway: FaultyGateway;
let world: World;
let shop: Workshop;
let direct: S3Storage;
let client: S3Client;
let account: Account;
let sdks: Record<'standard' | 'secure', Reelmend>;
const storages: S3Storage[] = [];
const workers: Worker[] = [];
/** all log lines of the workers and the API */
const lines: string[] = [];
const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });

function openStorage(endpoint: string): S3Storage {
  const requestHandler = { connectionTimeout: 1000, socketTimeout: 1500 };
  const storage = createS3Storage({
    ...{ bucket, region: server.region, endpoint, partSize: 5 * megabyte, answerTimeoutMs: 2500 },
    client: { credentials: server.credentials, requestHandler },
  });
  storages.push(storage);
  return storage;
}

function busyMedia(): FakeMedia {
  const media = new FakeMedia();
  cutIntoSegments(media, { count: 3, pieceS: 3.2 });
  media.onPlan = async () => ({ source: probeResult, width: 1920, height: 1080, device: 'cpu', model: 'none', condition: '', stages: [] });
  const { onJoin } = media;
  media.onJoin = async (request) => {
    const result = await onJoin(request);
    await writeFile(join(request.outputDir, request.outputName), Buffer.concat([mediumFilm, randomBytes(16)]));
    return result;
  };
  return media;
}

async function startWorker(segmentsFromSeconds: number, bytes: Buffer): Promise<void> {
  const net = new FakeNet();
  net.bytes = bytes;
  const worker = shop.worker({
    config: { segmentsFromSeconds, workerConcurrency: 3 },
    tuning: { storageHealth: { firstPauseMs: 50, longestPauseMs: 400, probeTimeoutMs: 2000, checkMs: 30_000 }, uploadNeededRetryS: 1 },
    deps: { storage: openStorage(gateway.endpoint), media: busyMedia(), net, logger },
  });
  workers.push(worker);
  await worker.start();
}

/** Reads the file, as the demuxer does. */
function measure() {
  const media = new FakeMedia();
  media.onProbe = async ({ source, signal }) => {
    if ('read' in source) await source.read(0, source.size, signal ?? new AbortController().signal);
    return probeResult;
  };
  const measureStored = createMeasure({ net: new FakeNet(), storage: openStorage(gateway.endpoint), media });
  return (video: Parameters<typeof measureStored>[0], call: Parameters<typeof measureStored>[1]) =>
    typeof video === 'string' ? Promise.resolve(sampleSource) : measureStored(video, call);
}

async function openSdks(): Promise<typeof sdks> {
  const app = buildApp({
    ...{ store: world.store, storage: openStorage(gateway.endpoint), checkUrl: () => {}, measure: measure(), keyPepper: pepper, logger },
    evidence: evidence(),
    publicUrl: () => publicUrl,
    description: readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'),
    options: { rateLimits: { create: 1e6, read: 1e6, other: 1e6 }, certificateWaitMs: 100 },
  });
  const open = async (tier: 'standard' | 'secure') => {
    const { key, lastFour } = generateApiKey('live');
    await world.store.keys.create({ accountId: account.id, mode: 'live', tier, hash: hashApiKey(key, pepper), lastFour });
    const send = async (request: Request) => (request.url.startsWith(publicUrl) ? app.fetch(request) : fetch(request));
    return createReelmend({ baseUrl: publicUrl, apiKey: key, fetch: send, maxRetries: 8 });
  };
  return { standard: await open('standard'), secure: await open('secure') };
}

beforeAll(async () => {
  if (!there) return;
  console.log(`storage cuts: CUTS_SEED=${seed}`);
  server = (await startS3Server())!;
  await server.createBucket(bucket, { versioning: true });
  gateway = await startFaultyGateway(server.endpoint, random);
  direct = openStorage(server.endpoint);
  client = new S3Client({ endpoint: server.endpoint, region: server.region, credentials: server.credentials, forcePathStyle: true });
  world = await createWorld({ maxConnections: 20 });
  shop = await createWorkshop(world);
  account = await fundedAccount(world.store, 1e6);
  sdks = await openSdks();
  await startWorker(5, mediumFilm);
  await startWorker(0, smallFilm);
});
afterAll(async () => {
  await shop?.close();
  for (const storage of storages) storage.close();
  client?.destroy();
  await gateway?.close();
  await world?.close();
  await server?.close();
});

const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

/** What a customer may meet while the storage fails: it passes. */
function isPassing(error: unknown): boolean {
  if (error instanceof ReelmendApiError) return [429, 502, 503, 504].includes(error.status);
  return error instanceof ReelmendConnectionError;
}

const finished = async (sdk: Reelmend, id: string) => {
  await sdk.waitForJob(id, { pollIntervalMs: 200, maxPollIntervalMs: 200 });
  await expectResult(sdk, id);
};

async function expectResult(sdk: Reelmend, id: string): Promise<void> {
  const { output } = await sdk.jobs.get(id);
  const blob = await sdk.jobs.downloadBlob(id);
  expect(sha256(await blob.bytes())).toBe(output!.sha256);
}

const ignoring = (isExpected: (error: unknown) => boolean) => (error: unknown) => {
  if (!isExpected(error)) throw error;
};
const isGone = (error: unknown) => error instanceof NotFoundError;
const deleted = (call: Promise<unknown>) => call.catch(ignoring(isGone));

async function film(sdk: Reelmend, source: { video_url: string } | { upload_id: string }): Promise<void> {
  const pictures = random() < 0.5 ? {} : { output: { poster: true, thumbnails: 2 } };
  const { id } = await sdk.jobs.create({ ...source, resolution: '1080p', secure: sdk === sdks.secure, ...pictures });
  const fate = random();
  if (fate < 0.25) await sleep(1500 * random());
  else await finished(sdk, id);
  if (fate < 0.5) await deleted(sdk.jobs.delete(id));
  else if (fate < 0.7) await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${id}`;
  if (fate < 0.5 && sdk === sdks.secure) await expectTrueCertificate(id);
}

/** What it names is gone at the moment when it is issued. */
async function expectTrueCertificate(id: string): Promise<void> {
  const jws = await eventually(async () => {
    const state = await world.store.certificates.get(account.id, 'live', id);
    return state?.state === 'issued' && state.jws;
  }, `the certificate of ${id} is issued`);
  const { objects } = await verifyCertificate(jws, await evidence().jwks());
  for (const { key } of objects) expect(await direct.isAbsent(key), key).toBe(true);
}

const evidence = () => createEvidence({ keys: world.store.signingKeys, cipher: testCipher });

/** for one part */
const timeoutMs = 5000;
const sendFile = (sdk: Reelmend) => sdk.uploads.create(new File([random() < 0.5 ? largeFilm : smallFilm], 'a.mov'), { timeoutMs });

const url = { video_url: 'https://videos.example.com/film.mp4' };

const errands: Record<string, (sdk: Reelmend) => Promise<unknown>> = {
  'a film': (sdk) => film(sdk, url),
  'another film': (sdk) => film(sdk, url),
  'a film of a file': async (sdk) => {
    const { id } = await sendFile(sdk);
    await film(sdk, { upload_id: id });
    await deleted(sdk.uploads.delete(id));
  },
  'a film of a file that is deleted meanwhile': async (sdk) => {
    const { id } = await sendFile(sdk);
    // Deleted before the job is created, or while the job still has to read it.
    const isTooLate = (error: unknown) => isGone(error) && (error as NotFoundError).code === 'upload_not_found';
    const deletion = sleep(500 * random()).then(() => deleted(sdk.uploads.delete(id)));
    await Promise.all([film(sdk, { upload_id: id }).catch(ignoring(isTooLate)), deletion]);
  },
  'a file that is deleted while its parts are sent, joined or read': async (sdk) => {
    const upload = await sdk.uploads.begin({ file_name: 'b.mov', size_bytes: largeFilm.length });
    const sending = sdk.uploads.resume(upload.id, new File([largeFilm], 'b.mov'), { timeoutMs });
    const deletion = sleep(1500 * random()).then(() => deleted(sdk.uploads.delete(upload.id)));
    await Promise.all([sending.catch(ignoring((error) => isGone(error) || isPassing(error))), deletion]);
  },
  'a preview': async (sdk) => {
    const { id } = await sdk.previews.create({ ...url, settings: [{ resolution: '1080p' }], secure: sdk === sdks.secure });
    await sdk.previews.wait(id, { pollIntervalMs: 200, maxPollIntervalMs: 200 });
    if (random() < 0.5) await deleted(sdk.previews.delete(id));
  },
};
const errandNames = Object.keys(errands);
let errandsRun = 0;

async function customer(until: number): Promise<void> {
  while (Date.now() < until) {
    errandsRun += 1;
    const name = oneOf(errandNames);
    await errands[name]!(oneOf([sdks.standard, sdks.secure])).catch((error: unknown) => {
      if (!isPassing(error)) throw new Error(`${name} failed`, { cause: error });
    });
  }
}

/** Runs what waits for its next attempt. The pauses between attempts grow to hours. */
const hasten = () => world.sql`UPDATE graphile_worker._private_jobs SET run_at = now() WHERE run_at > now() AND locked_at IS NULL`;

async function failUntil(isOver: () => boolean): Promise<void> {
  for (; !isOver(); await sleep(1000 * random())) {
    gateway.share = oneOf(shares);
    await hasten();
  }
  gateway.share = 0;
}

/** Keys that rows name. */
async function namedKeys(): Promise<string[]> {
  const rows = await world.sql<{ key: string }[]>`
    SELECT key FROM uploads WHERE deleted_at IS NULL AND status = 'ready'
    UNION SELECT original_key FROM jobs WHERE deleted_at IS NULL AND original_key IS NOT NULL
    UNION SELECT output_key FROM jobs WHERE deleted_at IS NULL AND output_key IS NOT NULL
    UNION SELECT p ->> 'key' FROM jobs, jsonb_array_elements(pictures) p WHERE deleted_at IS NULL
    UNION SELECT c ->> 'key' FROM jobs, jsonb_array_elements(preview -> 'clips') c WHERE deleted_at IS NULL`;
  return rows.map(({ key }) => key).sort();
}

async function stored(): Promise<{ keys: string[]; uploads: string[] }> {
  const keys = new Set<string>();
  let page = await client.send(new ListObjectVersionsCommand({ Bucket: bucket }));
  for (;;) {
    for (const { Key } of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])]) keys.add(Key!);
    if (page.IsTruncated !== true) break;
    page = await client.send(new ListObjectVersionsCommand({ Bucket: bucket, KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }));
  }
  return { keys: [...keys].sort(), uploads: await openUploads() };
}

/** Keys of unfinished uploads. A request whose response was lost may leave one without parts beside a customer's file: it goes with that. */
async function openUploads(): Promise<string[]> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  const named = await namedKeys();
  const found: string[] = [];
  for (const { Key, UploadId } of Uploads) {
    const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket: bucket, Key, UploadId }));
    if (Parts.length > 0 || !Key!.startsWith('uploads/') || !named.includes(Key!)) found.push(Key!);
  }
  return found;
}

/** What is not as it should be in the end. */
async function unsettled(): Promise<Record<string, unknown>> {
  const { sql } = world;
  const [has, named] = [await stored(), await namedKeys()];
  const all = {
    jobs: await sql`SELECT id, status, step FROM jobs WHERE deleted_at IS NULL AND (status NOT IN ('done', 'error') OR expires_at <= now())`,
    uploads: await sql`SELECT id, status FROM uploads WHERE destroyed_at IS NULL AND (deleted_at IS NOT NULL OR status <> 'ready' OR expires_at <= now())`,
    certificates: await sql`SELECT id FROM jobs WHERE tier = 'secure' AND deleted_at IS NOT NULL AND id NOT IN (SELECT job_id FROM certificates)`,
    tasks: await sql`SELECT task_identifier, attempts, last_error FROM graphile_worker.jobs WHERE task_identifier NOT LIKE 'scheduled%'`,
    unnamed: has.keys.filter((key) => !named.includes(key)),
    missing: named.filter((key) => !has.keys.includes(key)),
    openUploads: has.uploads,
  };
  return Object.fromEntries(Object.entries(all).filter(([, found]) => found.length > 0));
}

async function settled(): Promise<void> {
  let left: Record<string, unknown> = {};
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(300)) {
    await hasten();
    left = await unsettled();
    if (Object.keys(left).length === 0) return;
  }
  throw new Error(`CUTS_SEED=${seed}: not settled: ${JSON.stringify(left)}`);
}

const logged = (text: string) => lines.filter((line) => line.includes(text));

describe.skipIf(!there)('a storage that fails at random', () => {
  it('delays all work, and nothing else', async () => {
    const until = Date.now() + 1000 * seconds;
    let isOver = false;
    const failing = failUntil(() => isOver);
    const all = await Promise.allSettled(Array.from({ length: customers }, () => customer(until)));
    isOver = true;
    await failing;
    const faults = [...gateway.met.values()].reduce((sum, times) => sum + times, 0);
    console.log(`${errandsRun} errands, ${faults} faults`);
    expect(all.filter(({ status }) => status === 'rejected'), `CUTS_SEED=${seed}`).toEqual([]);
    // Given up by their customers.
    await world.sql`UPDATE uploads SET expires_at = now() WHERE status = 'waiting'`;
    await settled();
    expect(await world.sql`SELECT id, error_code FROM jobs WHERE status = 'error'`).toEqual([]);
    expect(await world.sql`SELECT id FROM uploads WHERE status = 'failed'`).toEqual([]);
    expect(await world.store.ledgerCheck()).toEqual([]);
    expect(logged('step failed and will be retried')).toEqual([]);
    expect(logged('internal_error')).toEqual([]);
    expect(lines.filter((line) => /X-Amz-(?:Signature|Credential)|AWS4-HMAC|test-secret|Bearer /i.test(line))).toEqual([]);
  });

  it('leaves results that can be downloaded, and workers that take work', async () => {
    const done = await world.sql<{ id: string; tier: 'standard' | 'secure' }[]>`SELECT id, tier FROM jobs WHERE deleted_at IS NULL AND status = 'done' AND preview IS NULL`;
    for (const { id, tier } of done) await expectResult(sdks[tier], id);
    const { id } = await sendFile(sdks.secure);
    const job = await sdks.secure.jobs.create({ upload_id: id, resolution: '1080p' });
    await finished(sdks.secure, job.id);
  });

  it('leaves nothing once all is deleted, and certificates that are true', async () => {
    await world.sql`UPDATE jobs SET expires_at = now()`;
    await world.sql`UPDATE uploads SET expires_at = now()`;
    await settled();
    expect(await stored()).toEqual({ keys: [], uploads: [] });
    const jwks = await evidence().jwks();
    for await (const page of world.store.certificates.pages(account.id)) {
      for (const { jws } of page) await verifyCertificate(jws, jwks);
    }
    expect(await world.store.ledgerCheck()).toEqual([]);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(logged('did not stop cleanly')).toEqual([]);
    // Idle ones end after 5 s.
    await eventually(async () => (await gateway.connections()) === 0, 'no connection is left in use');
  });
});
