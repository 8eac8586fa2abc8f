/** Uploads in the worker: verified, read by jobs, destroyed, certified, never lost and never too early. */
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { JobRecord, Mode } from '../../src/domain/job.ts';
import { partSizeBytes, partsOf, type UploadRecord } from '../../src/domain/uploads.ts';
import { createEvidence, verifyCertificate } from '../../src/evidence/index.ts';
import { PartsGoneError } from '../../src/storage/parts-gone.ts';
import type { Account, CreateJob, UploadChecksum } from '../../src/store/types.ts';
import { pause, type Workshop } from '../helpers/worker-fakes.ts';
import { setUpWorkers } from '../helpers/worker-suite.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
setUpWorkers({
  credits: 600,
  use: (suite) => ({ world, shop, account } = suite),
  afterWork: async () => {
    expect(await world.store.ledgerCheck()).toEqual([]);
  },
});

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const film = Buffer.from('a film from a phone');

const start = (tuning = {}) => shop.worker({ tuning: { uploadNeededRetryS: 1, ...tuning } }).start();
const status = async ({ id, mode }: UploadRecord) => (await world.store.uploads.get(account.id, mode, id))?.status;
const verified = (upload: UploadRecord, expected = 'ready') => eventually(async () => (await status(upload)) === expected);
const isDestroyed = async ({ id }: UploadRecord) => (await world.sql`SELECT 1 FROM uploads WHERE id = ${id} AND destroyed_at IS NOT NULL`).length === 1;
const kinds = async () => (await auditEntries(world.store, { accountId: account.id, limit: 100 })).map(({ kind }) => kind).reverse();
const uploadKinds = async () => (await kinds()).filter((kind) => kind.startsWith('upload.'));

/** An upload whose parts have arrived, completed with that checksum. */
async function complete(bytes: Buffer, checksum: Partial<UploadChecksum>, mode: Mode = 'live'): Promise<UploadRecord> {
  const input = { accountId: account.id, mode, fileName: 'Phone film.mov', sizeBytes: bytes.length, sha256: null, quotaBytes: 1e9 };
  const { upload } = await world.store.uploads.create(input);
  const transfer = await shop.storage.createMultipart(upload.key);
  await world.store.uploads.begin(upload.id, transfer.id);
  for (const { number, offset, size } of partsOf(upload)) {
    await shop.storage.multipart.write(transfer, { number, size }, Readable.from([bytes.subarray(offset, offset + size)]));
  }
  await world.store.uploads.complete(account.id, mode, upload.id, { sha256: null, partSha256: null, ...checksum });
  return upload;
}

async function ready(mode: Mode = 'live'): Promise<UploadRecord> {
  const upload = await complete(film, { sha256: hash(film) }, mode);
  await verified(upload);
  return upload;
}

const create = async (upload: UploadRecord, change: Partial<CreateJob> = {}) =>
  (await world.store.jobs.create(jobInput(account, { videoUrl: null, upload, mode: upload.mode, ...change }))).job;
const statusOf = async (job: JobRecord) => (await world.store.jobs.get(account.id, job.mode, job.id))?.status;
const ended = (job: JobRecord, expected = 'done') => eventually(async () => (await statusOf(job)) === expected);

describe('the list of uploads', () => {
  it('has no expired ones, even before a worker has deleted them', async () => {
    const input = { accountId: account.id, mode: 'live' as const, fileName: 'a.mov', sizeBytes: 5, sha256: null, quotaBytes: 1e9 };
    const made = [];
    for (let n = 0; n < 4; n += 1) made.push((await world.store.uploads.create(input)).upload.id);
    const [expired, slow, fresh, newest] = made;
    // An upload that is verified is kept: its time starts again.
    await world.store.uploads.complete(account.id, 'live', slow!, { sha256: hash(film), partSha256: null });
    await world.sql`UPDATE uploads SET expires_at = now() WHERE id IN (${expired!}, ${slow!})`;
    const page = (startingAfter: string) => world.store.uploads.list({ accountId: account.id, mode: 'live', limit: 1, startingAfter });
    const [second, third] = [await page(newest!), await page(fresh!)];
    expect([second.uploads[0]?.id, second.hasMore, third.uploads[0]?.id, third.hasMore]).toEqual([fresh, true, slow, false]);
  });
});

describe('a complete upload', () => {
  it('is ready when its file has the checksum, as a whole or by parts', async () => {
    await start();
    const large = randomBytes(2 * partSizeBytes + 17);
    const parts = [0, 1, 2].map((index) => hash(large.subarray(index * partSizeBytes, (index + 1) * partSizeBytes)));
    const made = [
      await complete(film, { sha256: hash(film) }),
      await complete(film, { partSha256: [hash(film)] }),
      await complete(large, { partSha256: parts }),
      await complete(large, { sha256: hash(large), partSha256: parts }),
    ];
    for (const upload of made) await verified(upload);
    const [, , third] = made;
    expect(await world.store.uploads.get(account.id, 'live', third!.id)).toMatchObject({ sha256: hash(large), error: null });
    expect(shop.storage.objects.get(third!.key)?.equals(large)).toBe(true);
    expect(shop.errors).toEqual([]);
  });

  it('fails and is destroyed when its file has another checksum', async () => {
    await start();
    const large = randomBytes(partSizeBytes + 17);
    const swapped = [hash(large.subarray(partSizeBytes)), hash(large.subarray(0, partSizeBytes))];
    const made = [
      await complete(film, { sha256: hash(large) }),
      await complete(large, { partSha256: swapped }),
      await complete(large, { sha256: hash(large), partSha256: swapped }),
    ];
    for (const upload of made) {
      await verified(upload, 'failed');
      await eventually(() => isDestroyed(upload));
      expect(shop.storage.objects.has(upload.key)).toBe(false);
      expect(await status(upload)).toBe('failed');
    }
  });

  it('is verified once the storage answers again', async () => {
    const upload = await complete(film, { sha256: hash(film) });
    shop.storage.fault = new Error('The storage is down');
    await start();
    await pause(700);
    expect(await status(upload)).toBe('verifying');
    shop.storage.fault = undefined;
    await verified(upload);
  });

  it('fails when its parts are lost, but not at the first attempts', async () => {
    const [lost, late] = [await complete(film, { sha256: hash(film) }), await complete(film, { sha256: hash(film) })];
    const completeMultipart = shop.storage.completeMultipart.bind(shop.storage);
    let isJoining = true;
    shop.storage.completeMultipart = (transfer, whole) => {
      if (transfer.key === lost.key || isJoining) return Promise.reject(new PartsGoneError(transfer.key));
      return completeMultipart(transfer, whole);
    };
    await world.sql`UPDATE graphile_worker._private_jobs SET attempts = 4 WHERE key = ${`verify:${lost.id}`}`;
    await start();
    await verified(lost, 'failed');
    expect(await world.store.uploads.get(account.id, 'live', lost.id)).toMatchObject({ error: 'checksum_mismatch' });
    await eventually(() => isDestroyed(lost));
    expect(await status(late)).toBe('verifying');
    isJoining = false;
    await verified(late);
  });

  it('is verified although its row of the queue is lost', async () => {
    const upload = await complete(film, { sha256: hash(film) });
    await world.sql`SELECT graphile_worker.remove_job(${`verify:${upload.id}`})`;
    await world.sql`UPDATE uploads SET completed_at = now() - interval '1 hour' WHERE id = ${upload.id}`;
    await start();
    await verified(upload);
  });

  it('leaves nothing behind when it is deleted during its verification', async () => {
    const upload = await complete(film, { sha256: hash(film) });
    let opened = false;
    const open = shop.storage.open.bind(shop.storage);
    shop.storage.open = async (key) => {
      if (!opened) {
        opened = true;
        await world.store.uploads.delete(account.id, 'live', upload.id);
        await eventually(() => isDestroyed(upload));
        // As a verification that is slower than the deletion would.
        shop.storage.objects.set(key, film);
      }
      return open(key);
    };
    await start();
    await eventually(async () => opened && (await isDestroyed(upload)) && !shop.storage.objects.has(upload.key));
    expect(await status(upload)).toBeUndefined();
  });
});

describe('a job from an upload', () => {
  it('reads the file from the storage, and nothing over the network', async () => {
    await start();
    const upload = await ready();
    const job = await create(upload);
    await ended(job);
    expect(shop.net.downloads).toBe(0);
    const original = [...shop.storage.objects].find(([key]) => key.startsWith(`jobs/${job.id}/`) && key.endsWith('original'));
    expect(original?.[1].equals(film)).toBe(true);
    expect(await world.store.jobs.get(account.id, 'live', job.id)).toMatchObject({ videoUrl: null, uploadId: upload.id, fileName: 'Phone film.mov' });
  });

  it('fails with a refund when the file is gone from the storage', async () => {
    await start();
    const upload = await ready();
    shop.storage.objects.delete(upload.key);
    const job = await create(upload);
    await ended(job, 'error');
    expect(await world.store.jobs.get(account.id, 'live', job.id)).toMatchObject({
      error: { code: 'processing_failed', message: 'The uploaded file is gone.' },
      creditsRefunded: job.creditsCharged,
    });
    // It may be tried again with another job.
    expect(await status(upload)).toBe('ready');
  });

  it('keeps its upload until it has read it, whoever deletes the upload meanwhile', async () => {
    const deletions = {
      customer: (upload: UploadRecord) => world.store.uploads.delete(account.id, 'live', upload.id),
      retention: (upload: UploadRecord) => world.sql`UPDATE uploads SET expires_at = now() WHERE id = ${upload.id}`,
    };
    await start();
    for (const remove of Object.values(deletions)) {
      const upload = await ready();
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const getFile = shop.storage.getFile.bind(shop.storage);
      shop.storage.getFile = async (key, path) => {
        if (key === upload.key) await held;
        return getFile(key, path);
      };
      const job = await create(upload);
      await eventually(async () => (await statusOf(job)) === 'running');
      await remove(upload);
      await eventually(async () => (await status(upload)) === undefined);
      await pause(1500);
      expect(await isDestroyed(upload)).toBe(false);
      release();
      await ended(job);
      await eventually(() => isDestroyed(upload));
      expect(shop.storage.objects.has(upload.key)).toBe(false);
    }
  });

  it('works in test mode without reading anything', async () => {
    await start();
    const upload = await ready('test');
    const job = await create(upload, { credits: 0, source: null });
    const getFile = shop.storage.getFile.bind(shop.storage);
    let reads = 0;
    shop.storage.getFile = (...args) => (reads++, getFile(...args));
    await ended(job);
    expect(reads).toBe(0);
  });
});

describe('a deletion certificate', () => {
  const certificate = async (job: JobRecord) => {
    const state = () => world.store.certificates.get(account.id, job.mode, job.id);
    await eventually(async () => (await state())?.state === 'issued');
    const issued = await state();
    const keys = await createEvidence({ keys: world.store.signingKeys, cipher: testCipher }).jwks();
    return verifyCertificate(issued?.state === 'issued' ? issued.jws : '', keys);
  };

  it('covers the upload of the job', async () => {
    await start();
    const upload = await ready();
    const job = await create(upload, { tier: 'secure' });
    await ended(job);
    await world.store.jobs.delete(account.id, 'live', job.id);
    const { objects, issued_at } = await certificate(job);
    expect(objects).toMatchObject([
      { role: 'original' },
      { role: 'output' },
      { role: 'upload', key: upload.key, sha256: hash(film), size_bytes: film.length, version: null },
    ]);
    expect(objects.every(({ verified_absent_at }) => verified_absent_at <= issued_at)).toBe(true);
    expect(shop.storage.objects.size).toBe(0);
    expect(await uploadKinds()).toEqual(['upload.created', 'upload.ready', 'upload.deleted', 'upload.destroyed']);
  });

  it('waits for another job that has to read the same upload', async () => {
    await start();
    const upload = await ready();
    const first = await create(upload, { tier: 'secure' });
    await ended(first);
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const getFile = shop.storage.getFile.bind(shop.storage);
    shop.storage.getFile = async (key, path) => {
      if (key === upload.key) await held;
      return getFile(key, path);
    };
    const second = await create(upload);
    await world.store.jobs.delete(account.id, 'live', first.id);
    await pause(1500);
    expect(await world.store.certificates.get(account.id, 'live', first.id)).toEqual({ state: 'pending' });
    release();
    await ended(second);
    expect((await certificate(first)).objects.map(({ role }) => role)).toEqual(['original', 'output', 'upload']);
  });

  it('covers an upload that expired long before, and is not issued while it is back', async () => {
    await start();
    const upload = await ready();
    const job = await create(upload, { tier: 'secure' });
    await ended(job);
    await world.store.uploads.delete(account.id, 'live', upload.id);
    await eventually(() => isDestroyed(upload));
    // As after restoring a backup of the storage.
    shop.storage.objects.set(upload.key, film);
    await world.store.jobs.delete(account.id, 'live', job.id);
    const { objects, deleted_at } = await certificate(job);
    expect(shop.storage.objects.has(upload.key)).toBe(false);
    expect(objects.at(-1)).toMatchObject({ role: 'upload' });
    expect(objects.at(-1)!.verified_absent_at >= deleted_at).toBe(true);
  });
});

describe('uploads end', () => {
  it('at their expiry, complete or not', async () => {
    await start();
    const { upload: unfinished } = await world.store.uploads.create({ accountId: account.id, mode: 'live', fileName: 'a.mov', sizeBytes: 5, sha256: null, quotaBytes: 100 });
    const transfer = await shop.storage.createMultipart(unfinished.key);
    await world.store.uploads.begin(unfinished.id, transfer.id);
    const made = [unfinished, await ready()];
    await world.sql`UPDATE uploads SET expires_at = now() WHERE id = ANY (${made.map(({ id }) => id)})`;
    for (const upload of made) await eventually(() => isDestroyed(upload));
    expect(shop.storage.multipart.has(unfinished.key)).toBe(false);
    expect(await shop.storage.isAbsent(made[1]!.key)).toBe(true);
    expect((await kinds()).filter((kind) => kind === 'upload.deleted')).toHaveLength(2);
  });

  it('that are deleted before the storage has begun their transfer: it is destroyed, too', async () => {
    await start();
    const { upload } = await world.store.uploads.create({ accountId: account.id, mode: 'live', fileName: 'a.mov', sizeBytes: 5, sha256: null, quotaBytes: 100 });
    await world.store.uploads.delete(account.id, 'live', upload.id);
    await eventually(() => isDestroyed(upload));
    const transfer = await shop.storage.createMultipart(upload.key);
    expect(await world.store.uploads.begin(upload.id, transfer.id)).toBeNull();
    await pause(1000);
    expect(shop.storage.multipart.has(upload.key)).toBe(false);
    expect(await isDestroyed(upload)).toBe(true);
  });

  it('with their account', async () => {
    await start();
    const upload = await ready();
    await world.store.accounts.close(account.id);
    await eventually(() => isDestroyed(upload));
    const [row] = await world.sql`SELECT deleted_by, file_name FROM uploads WHERE id = ${upload.id}`;
    expect(row).toEqual({ deleted_by: 'operator', file_name: null });
  });

  it('in the storage although it is down at first, or their row of the queue is lost', async () => {
    await start();
    const upload = await ready();
    shop.storage.fault = new Error('The storage is down');
    await world.store.uploads.delete(account.id, 'live', upload.id);
    await pause(700);
    expect(await isDestroyed(upload)).toBe(false);
    await world.sql`SELECT graphile_worker.remove_job(${`destroy:${upload.id}`})`;
    await world.sql`UPDATE uploads SET deleted_at = now() - interval '1 hour' WHERE id = ${upload.id}`;
    shop.storage.fault = undefined;
    await eventually(() => isDestroyed(upload));
  });

  it('again when a destroyed file is back in the storage', async () => {
    await start();
    const upload = await ready();
    await world.store.uploads.delete(account.id, 'live', upload.id);
    await eventually(() => isDestroyed(upload));
    shop.storage.objects.set(upload.key, film);
    await eventually(() => !shop.storage.objects.has(upload.key));
    await eventually(() => isDestroyed(upload));
  });

  it('without a trace after a month, unless a job was created from them', async () => {
    await start();
    const [unused, used] = [await ready(), await ready()];
    await ended(await create(used));
    for (const upload of [unused, used]) {
      await world.store.uploads.delete(account.id, 'live', upload.id);
      await eventually(() => isDestroyed(upload));
    }
    await world.sql`UPDATE uploads SET destroyed_at = now() - interval '31 days' WHERE id = ANY (${[unused.id, used.id]})`;
    const left = async () => (await world.sql`SELECT id FROM uploads WHERE id = ANY (${[unused.id, used.id]})`).map((row) => row['id'] as string);
    await eventually(async () => (await left()).length === 1);
    expect(await left()).toEqual([used.id]);
  });
});
