/** Deletion certificates from the worker: never before the storage says "absent", and never lost. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { createEvidence, verifyAuditLog, verifyCertificate } from '../../src/evidence/index.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { createWorkshop, hang, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { auditLog, createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  shop = await createWorkshop(world);
  account = await fundedAccount(world.store, 600);
});
afterEach(async () => {
  await shop.close();
  expect(await world.store.ledgerCheck()).toEqual([]);
});

const create = async (change: Partial<CreateJob> = {}) =>
  (await world.store.jobs.create(jobInput(account, { tier: 'secure', ...change }))).job;
const remove = (job: JobRecord) => world.store.jobs.delete(account.id, job.mode, job.id);
const state = (job: JobRecord) => world.store.certificates.get(account.id, job.mode, job.id);
const statusOf = async (job: JobRecord) => (await world.store.jobs.get(account.id, job.mode, job.id))?.status;
const evidence = () => createEvidence({ keys: world.store.signingKeys, cipher: testCipher });

async function certificate(job: JobRecord) {
  await eventually(async () => (await state(job))?.state === 'issued');
  const issued = await state(job);
  return verifyCertificate(issued?.state === 'issued' ? issued.jws : '', await evidence().jwks());
}

describe('a deletion certificate', () => {
  for (const actor of ['customer', 'retention', 'operator'] as const) {
    it(`names every object of a done job that the ${actor} deleted, and stays`, async () => {
      const job = await create();
      await shop.worker().start();
      await eventually(async () => (await statusOf(job)) === 'done');
      expect(await state(job)).toEqual({ state: 'not_deleted' });
      if (actor === 'customer') await remove(job);
      // A scheduled task of the worker finds the jobs of closed accounts.
      else if (actor === 'operator') await world.store.accounts.close(account.id);
      else await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${job.id}`;
      const payload = await certificate(job);
      expect(payload).toMatchObject({
        job_id: job.id,
        account_id: account.id,
        actor,
        storage: 'filesystem',
        method: 'logical deletion, verified absent',
        objects: [
          { role: 'original', size_bytes: 11, sha256: expect.any(String), version: null },
          { role: 'output', size_bytes: 14 },
        ],
      });
      for (const { key, verified_absent_at } of payload.objects) {
        expect(shop.storage.objects.has(key)).toBe(false);
        expect(verified_absent_at >= payload.deleted_at && verified_absent_at <= payload.issued_at).toBe(true);
      }
      const { entries } = await world.store.audit.list({ accountId: account.id, limit: 1, jobId: job.id });
      expect(entries[0]).toMatchObject({
        kind: 'certificate.issued',
        data: { certificate_id: payload.id, objects: 2 },
      });
      expect(payload.audit).toEqual({ sequence: entries[0]!.sequence, hash: entries[0]!.hash });
      expect(await state(job)).toEqual(await state(job));
    });
  }

  it('names the poster and the thumbnails of the result, which are kept until then', async () => {
    const job = await create({ outputSettings: { poster: true, thumbnails: 2 } });
    await shop.worker().start();
    await eventually(async () => (await statusOf(job)) === 'done');
    const { outputKey, pictures } = (await world.store.jobs.resultFiles(job.id))!;
    expect(pictures.map(({ kind }) => kind)).toEqual(['poster', 'thumbnail', 'thumbnail']);
    // Nothing that the job refers to counts as left over.
    expect(await world.store.objects.pendingDeletion(job.id)).toEqual({ keys: [], busyForS: 0 });
    expect((await world.store.objects.requeuePendingDeletions(-1, 10)).done).not.toContain(job.id);
    const keys = [outputKey, ...pictures.map(({ key }) => key)];
    for (const key of keys) expect(shop.storage.objects.has(key)).toBe(true);
    expect(pictures[1]).toMatchObject({ time: 1, width: 32, height: 18, size_bytes: 19 });
    await remove(job);
    const payload = await certificate(job);
    expect(payload.objects.map(({ role }) => role).toSorted()).toEqual(['original', 'output', 'poster', 'thumbnail', 'thumbnail']);
    for (const { key } of payload.objects) expect(shop.storage.objects.has(key)).toBe(false);
    expect(await world.sql`SELECT pictures FROM jobs WHERE id = ${job.id}`).toEqual([{ pictures: null }]);
  });

  it('names pictures that a failed attempt left, too', async () => {
    let attempts = 0;
    shop.media.onTakePictures = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('The media child is gone');
    };
    const job = await create({ outputSettings: { poster: true } });
    await shop.worker().start();
    await eventually(async () => (await statusOf(job)) === 'done');
    await remove(job);
    const roles = (await certificate(job)).objects.map(({ role }) => role).toSorted();
    expect(roles).toEqual(['original', 'output', 'output', 'poster']);
  });

  it('is of no other tier, mode, account or job', async () => {
    const [standard, testJob] = [await create({ tier: 'standard' }), await create({ mode: 'test' })];
    await remove(standard);
    await remove(testJob);
    expect(await state(standard)).toBeNull();
    expect(await state(testJob)).toEqual({ state: 'pending' });
    expect(await world.store.certificates.get(account.id, 'live', testJob.id)).toBeNull();
    expect(await world.store.certificates.get('acct_00000000000000000000000000', 'test', testJob.id)).toBeNull();
    expect(await world.store.certificates.get(account.id, 'test', 'job_00000000000000000000000000')).toBeNull();
    await shop.worker().start();
    expect(await certificate(testJob)).toMatchObject({ objects: [] });
  });

  it('waits while the storage is down, is pending meanwhile, and comes with it', async () => {
    const job = await create();
    await shop.worker().start();
    await eventually(async () => (await statusOf(job)) === 'done');
    shop.storage.fault = new Error('The storage is down');
    await remove(job);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await state(job)).toEqual({ state: 'pending' });
    shop.storage.fault = undefined;
    expect((await certificate(job)).objects).toHaveLength(2);
  });

  it('does not wait for hours, although the delays grew to hours in a long outage', async () => {
    const job = await create();
    await shop.worker().start();
    await eventually(async () => (await statusOf(job)) === 'done');
    shop.storage.fault = new Error('The storage is down');
    await remove(job);
    const row = () => world.sql`UPDATE graphile_worker._private_jobs SET run_at = now() + interval '6 hours'
      WHERE key = ${`destroy:${job.id}`} AND attempts > 0 AND locked_at IS NULL RETURNING id`;
    await eventually(async () => (await row()).length === 1);
    shop.storage.fault = undefined;
    expect((await certificate(job)).objects).toHaveLength(2);
  });

  it('is not issued by a storage that deletes and does not mean it', async () => {
    const job = await create();
    await shop.worker().start();
    await eventually(async () => (await statusOf(job)) === 'done');
    const destroy = shop.storage.destroy.bind(shop.storage);
    shop.storage.destroy = async () => {};
    await remove(job);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await state(job)).toEqual({ state: 'pending' });
    shop.storage.destroy = destroy;
    await certificate(job);
  });

  it('speaks of what failed attempts left, too, and destroys what came back', async () => {
    const job = await create();
    let attempts = 0;
    shop.media.onEnhance = async () => {
      if (attempts++ === 0) throw new Error('once');
      throw Object.assign(new Error('again'), { name: 'Again' });
    };
    await shop.worker().start();
    await eventually(async () => (await statusOf(job)) === 'error');
    const gone = async () =>
      (await world.sql`SELECT key FROM objects WHERE job_id = ${job.id} AND state = 'destroyed'`).length;
    await eventually(async () => (await gone()) === 1);
    const [{ key }] = (await world.sql`SELECT key FROM objects WHERE job_id = ${job.id}`) as unknown as [
      { key: string },
    ];
    shop.storage.objects.set(key, Buffer.from('a late writer'));
    await remove(job);
    const payload = await certificate(job);
    expect(payload.objects).toMatchObject([{ key, role: 'original', size_bytes: 11 }]);
    expect(shop.storage.objects.size).toBe(0);
  });

  it('waits for the worker that may still write', async () => {
    let letGo = () => {};
    shop.storage.beforePut = (key) =>
      key.endsWith('.mp4') ? new Promise((resolve) => (letGo = resolve)) : Promise.resolve();
    const job = await create();
    await shop.worker().start();
    await eventually(
      async () => (await world.sql`SELECT 1 FROM objects WHERE job_id = ${job.id} AND role = 'output'`).length === 1,
    );
    await remove(job);
    expect(await state(job)).toEqual({ state: 'pending' });
    await new Promise((resolve) => setTimeout(resolve, 500));
    letGo();
    const payload = await certificate(job);
    expect(payload.objects.map(({ role }) => role)).toEqual(['original', 'output']);
    expect(shop.storage.objects.size).toBe(0);
  });

  it('is not issued for a file that a late worker has stored since the storage called it absent', async () => {
    const job = await create();
    const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'late', 60))!;
    const key = await world.store.objects.registerPendingObject(fence, 'original');
    await remove(job);
    await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${job.id}`;
    await world.store.objects.markDestroyed(key);
    // The certificate has asked the storage again. Before the answer is recorded, the worker stores the file and gives up its lease.
    shop.storage.objects.set(key, Buffer.from('a late writer'));
    await world.store.leases.release(fence);
    await world.store.objects.markDestroyed(key, { again: true });
    expect(await world.store.certificates.issue(job.id, async () => 'a.b.c')).toBe(false);
    await shop.worker().start();
    expect((await certificate(job)).objects).toMatchObject([{ key }]);
    expect(shop.storage.objects.size).toBe(0);
  });

  it('is issued once by many workers, and by none that died before: it is queued again', async () => {
    const jobs = await Promise.all(Array.from({ length: 10 }, () => create({ durationSeconds: 1, credits: 6 })));
    for (const job of jobs) await remove(job);
    await world.sql`DELETE FROM graphile_worker._private_jobs WHERE key LIKE 'destroy:%'`;
    await Promise.all([shop.worker().start(), shop.worker().start(), shop.worker().start()]);
    const ids = await Promise.all(jobs.map(async (job) => (await certificate(job)).id));
    expect(new Set(ids).size).toBe(10);
    const log = await auditLog(world.store, account.id);
    expect(log.entries.filter(({ kind }) => kind === 'certificate.issued')).toHaveLength(10);
    const signer = evidence();
    const head = await signer.signHead({ account_id: account.id, ...log.head, signed_at: new Date().toISOString() });
    expect(await verifyAuditLog({ entries: log.entries, head }, await signer.jwks())).toMatchObject({ ok: true });
  });

  it('needs no second connection while its transaction holds one', async () => {
    const narrow = await createWorld({ maxConnections: 1 });
    const workshop = await createWorkshop(narrow);
    const owner = await fundedAccount(narrow.store, 60);
    const { job } = await narrow.store.jobs.create(jobInput(owner, { tier: 'secure', durationSeconds: 1, credits: 6 }));
    await narrow.store.jobs.delete(owner.id, job.mode, job.id);
    await workshop.worker().start();
    await eventually(async () => (await narrow.store.certificates.get(owner.id, job.mode, job.id))?.state === 'issued');
    await workshop.close();
    await narrow.close();
  });

  it('cannot be changed or dropped in the database', async () => {
    const job = await create();
    await remove(job);
    await shop.worker().start();
    await certificate(job);
    for (const statement of [
      "UPDATE certificates SET jws = 'x'",
      'DELETE FROM certificates',
      'TRUNCATE certificates',
    ]) {
      await expect(world.sql.unsafe(statement)).rejects.toMatchObject({ code: '23001' });
    }
  });
});

describe('signing keys', () => {
  it('are one for all who start together; a rotation keeps the old ones published', async () => {
    const fresh = await createWorld();
    const services = Array.from({ length: 5 }, () =>
      createEvidence({ keys: fresh.store.signingKeys, cipher: testCipher }),
    );
    const sets = await Promise.all(services.map((service) => service.jwks()));
    expect(new Set(sets.map((set) => JSON.stringify(set))).size).toBe(1);
    expect(sets[0]!.keys).toHaveLength(1);
    const head = { account_id: account.id, size: 0, hash: '0'.repeat(64), signed_at: '2026-01-01T00:00:00.000Z' };
    const before = await services[0]!.signHead(head);
    const kid = await services[1]!.rotate();
    const after = await services[0]!.signHead(head);
    const { keys } = await services[2]!.jwks();
    expect(keys.map((key) => key.kid)).toEqual([sets[0]!.keys[0]!.kid, kid]);
    const header = (jws: string) =>
      JSON.parse(Buffer.from(jws.split('.')[0]!, 'base64url').toString()) as { kid: string };
    expect([header(before).kid, header(after).kid]).toEqual(keys.map((key) => key.kid));
    for (const jws of [before, after]) {
      expect(await verifyAuditLog({ entries: [], head: jws }, { keys })).toMatchObject({ ok: true });
    }
    const rows = JSON.stringify(await fresh.sql`SELECT * FROM signing_keys`);
    expect(rows).not.toContain('"d"');
    for (const statement of [
      'DELETE FROM signing_keys',
      "UPDATE signing_keys SET private_jwk = ''",
      'UPDATE signing_keys SET retired_at = NULL',
    ]) {
      await expect(fresh.sql.unsafe(statement)).rejects.toMatchObject({ code: '23001' });
    }
    await fresh.close();
  });
});

it('a job that hangs and is deleted is certified when its worker has let go', async () => {
  shop.media.onEnhance = ({ signal }) => hang(signal);
  const job = await create();
  await shop.worker().start();
  await eventually(() => shop.media.running === 1);
  await remove(job);
  expect((await certificate(job)).objects).toHaveLength(1);
});
