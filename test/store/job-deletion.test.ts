/** Deleting a job in the store: by its customer, by several callers at once, and at the end of its retention. What it refunds. */
import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import { assertNoneFailed, type Batch, type Fence } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { queueRows, setUpStore } from '../helpers/store-suite.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
setUpStore((made) => (world = made));

describe('deletion', () => {
  const objectOf = async (fence: Fence) => {
    const key = await world.store.objects.registerPendingObject(fence, 'output');
    return { key, size: 5, sha256: 'c'.repeat(64), version: null };
  };
  const output = { width: 2, height: 2, size_bytes: 5, sha256: 'c'.repeat(64) };
  const cases = [
    { name: 'queued', refund: 30, prepare: async () => {} },
    {
      name: 'running',
      refund: 18,
      prepare: async (id: string) => {
        const lease = await world.store.leases.acquire(id, 'ingest', 'w', 20);
        await world.store.leases.progress(lease!.fence, { fraction: 0.35, etaSeconds: 3 }, 20);
      },
    },
    {
      name: 'done',
      refund: 0,
      prepare: async (id: string) => {
        const { fence } = (await world.store.leases.acquire(id, 'ingest', 'w', 20))!;
        await world.store.leases.finish(fence, { stored: await objectOf(fence), output, applied: null });
      },
    },
    {
      name: 'error',
      refund: 0,
      prepare: async (id: string) => {
        const { fence } = (await world.store.leases.acquire(id, 'ingest', 'w', 20))!;
        await world.store.leases.fail(fence, { code: 'unreadable_video', message: 'No.' });
      },
    },
  ];
  for (const { name, refund, prepare } of cases) {
    it(`of a ${name} job gives ${refund} of 30 credits back and keeps no URL`, async () => {
      const account = await fundedAccount(world.store, 30);
      const { job } = await world.store.jobs.create(
        jobInput(account, { webhookUrl: 'https://hooks.example.com/secret' }),
      );
      await prepare(job.id);
      const before = (await world.store.accounts.get(account.id))!.credits;
      const deleted = await world.store.jobs.delete(account.id, 'live', job.id);
      expect(deleted).toEqual({ id: job.id, deletedAt: expect.any(Date), refundedCredits: refund });
      expect((await world.store.accounts.get(account.id))!.credits).toBe(before + refund);
      expect(await world.store.jobs.get(account.id, 'live', job.id)).toBeNull();
      expect(await world.store.jobs.resultFiles(job.id)).toBeNull();
      expect((await world.store.jobs.list({ accountId: account.id, mode: 'live', limit: 9 })).jobs).toEqual([]);
      expect(await world.store.jobs.delete(account.id, 'live', job.id)).toBeNull();
      const [row] = await world.sql`SELECT * FROM jobs WHERE id = ${job.id}`;
      expect(JSON.stringify(row)).not.toContain('secret');
      expect(await queueRows(world, job.id)).toEqual([]);
      const events = await auditEntries(world.store, { accountId: account.id, jobId: job.id, limit: 9 });
      expect(events[0]).toMatchObject({
        kind: 'job.deleted',
        data: { by: 'customer', status: name, refunded_credits: refund },
      });
      expect(JSON.stringify(events)).not.toContain('secret');
    });
  }

  const endsOfAttempts: Record<string, (fence: Fence) => Promise<unknown>> = {
    'the worker gives it back': (fence) => world.store.leases.release(fence),
    'it failed': (fence) => world.store.leases.retryLater(fence, { delayS: 0 }),
    'the worker died': async ({ jobId }) => {
      await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${jobId}`;
      await world.store.leases.sweepExpired(5);
    },
  };
  it('does not count what a dead worker did whose lease nobody has removed yet', async () => {
    const account = await fundedAccount(world.store, 30);
    const { job } = await world.store.jobs.create(jobInput(account));
    const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'dead', 20))!;
    await world.store.leases.progress(fence, { fraction: 0.9, etaSeconds: 3 }, 20);
    await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${job.id}`;
    expect(await world.store.jobs.delete(account.id, 'live', job.id)).toMatchObject({ refundedCredits: 30 });
  });

  it.each(Object.keys(endsOfAttempts))('does not count what an earlier attempt did, which is lost: %s', async (how) => {
    const account = await fundedAccount(world.store, 60);
    const jobs = await Promise.all([1, 2].map(async () => (await world.store.jobs.create(jobInput(account))).job));
    for (const { id } of jobs) {
      const { fence } = (await world.store.leases.acquire(id, 'ingest', 'first', 20))!;
      await world.store.leases.progress(fence, { fraction: 0.9, etaSeconds: 3 }, 20);
      await endsOfAttempts[how]!(fence);
    }
    const [waiting, again] = jobs.map(({ id }) => id) as [string, string];
    const { fence } = (await world.store.leases.acquire(again, 'ingest', 'second', 20))!;
    await world.store.leases.progress(fence, { fraction: 0.1, etaSeconds: 30 }, 20);
    expect((await world.store.jobs.get(account.id, 'live', again))!.progress).toBe(0.9);
    expect(await world.store.jobs.delete(account.id, 'live', waiting)).toMatchObject({ refundedCredits: 30 });
    expect(await world.store.jobs.delete(account.id, 'live', again)).toMatchObject({ refundedCredits: 27 });
  });

  describe('counts what a worker of an earlier version does, which writes the shown progress alone:', () => {
    const progressOf = (id: string, fraction: number) => world.sql`UPDATE jobs SET progress = greatest(progress, ${fraction}::float8) WHERE id = ${id}`;
    const acquireOld = (id: string) => world.sql`UPDATE jobs SET status = 'running', started_at = coalesce(started_at, now()), attempt = attempt + 1,
      lease_owner = 'old', lease_expires_at = now() + interval '20 seconds' WHERE id = ${id}`;
    const created = async () => (await world.store.jobs.create(jobInput(await fundedAccount(world.store, 30)))).job;
    const refund = ({ accountId, id }: JobRecord) => world.store.jobs.delete(accountId, 'live', id).then((deleted) => deleted!.refundedCredits);

    it('the seconds that it has processed', async () => {
      const job = await created();
      await acquireOld(job.id);
      await progressOf(job.id, 0.5);
      await progressOf(job.id, 0.9);
      expect(await refund(job)).toBe(3);
    });

    it('not those of an attempt before, which are lost', async () => {
      const job = await created();
      const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'new', 20))!;
      await world.store.leases.progress(fence, { fraction: 0.8, etaSeconds: 3 }, 20);
      await world.store.leases.release(fence);
      await acquireOld(job.id);
      await progressOf(job.id, 0.05);
      expect(await refund(job)).toBe(30);
    });
  });

  it('by ten callers at once refunds once', async () => {
    const account = await fundedAccount(world.store, 30);
    const { job } = await world.store.jobs.create(jobInput(account));
    const results = await Promise.all(
      Array.from({ length: 10 }, () => world.store.jobs.delete(account.id, 'live', job.id)),
    );
    expect(results.filter(Boolean)).toHaveLength(1);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(30);
  });

  it('racing with the end of the job has one winner', async () => {
    const account = await fundedAccount(world.store, 30 * 20);
    for (let n = 0; n < 20; n++) {
      const { job } = await world.store.jobs.create(jobInput(account));
      const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'w', 20))!;
      const stored = await objectOf(fence);
      const [finished, deleted] = await Promise.allSettled([
        n % 2
          ? world.store.leases.finish(fence, { stored, output, applied: null })
          : world.store.leases.fail(fence, { code: 'processing_failed', message: 'No.' }),
        world.store.jobs.delete(account.id, 'live', job.id),
      ]);
      expect(deleted).toMatchObject({ status: 'fulfilled', value: { id: job.id } });
      if (finished.status === 'rejected') expect(finished.reason).toMatchObject({ name: 'LeaseLost' });
    }
  });

  it('queues the destruction of the files also while a worker takes the row that an earlier one has left', async () => {
    const account = await fundedAccount(world.store, 30);
    const { job } = await world.store.jobs.create(jobInput(account));
    const key = `destroy:${job.id}`;
    await world.store.objects.destroyLater(job.id, 0);
    const { deleting } = await world.sql.begin(async (tx) => {
      // As Graphile Worker takes a row. The commit takes as long as the disk.
      await tx`UPDATE graphile_worker._private_jobs SET locked_by = 'pool', locked_at = now(), attempts = attempts + 1 WHERE key = ${key}`;
      const deleted = world.store.jobs.delete(account.id, 'live', job.id);
      await eventually(async () => (await world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).length > 0);
      return { deleting: [deleted] };
    });
    await Promise.all(deleting);
    expect(await world.sql`SELECT locked_by, attempts FROM graphile_worker.jobs WHERE key = ${key}`).toEqual([{ locked_by: null, attempts: 0 }]);
  });

  it('comes after 30 days, or after as many as the account chose for its Secure jobs', async () => {
    const account = await fundedAccount(world.store, 90);
    const chosen = (await world.store.accounts.setRetention(account.id, 3, { key_id: 'key_1' }))!;
    expect(chosen).toEqual({ ...account, retentionDays: 3 });
    const days = async (tier: 'standard' | 'secure') => {
      const { job } = await world.store.jobs.create(jobInput(chosen, { tier, credits: 30 }));
      return (job.expiresAt.getTime() - job.createdAt.getTime()) / 86_400_000;
    };
    expect([await days('standard'), await days('secure')]).toEqual([30, 3]);
    for (const wrong of [0, 366, 1.5, Number.NaN]) {
      await expect(world.store.accounts.setRetention(account.id, wrong, { key_id: 'key_1' })).rejects.toThrow(RangeError);
    }
    expect(await world.store.accounts.setRetention('acct_00000000000000000000000000', 3, { key_id: 'key_1' })).toBeNull();
  });

  it('at the end of retention is the same without a call', async () => {
    const account = await fundedAccount(world.store, 60);
    const [due, kept] = [
      await world.store.jobs.create(jobInput(account)),
      await world.store.jobs.create(jobInput(account)),
    ];
    await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${due.job.id}`;
    expect((await world.store.jobs.expireDue(100)).done).toEqual([due.job.id]);
    expect(await world.store.jobs.get(account.id, 'live', due.job.id)).toBeNull();
    expect(await world.store.jobs.get(account.id, 'live', kept.job.id)).not.toBeNull();
    expect((await auditEntries(world.store, { accountId: account.id, limit: 1 }))[0]).toMatchObject({
      kind: 'job.deleted',
      data: { by: 'retention' },
    });
  });
});

describe('deletion of all that an account has', () => {
  const preview = { settings: [] } as unknown as NonNullable<Parameters<typeof jobInput>[1]>['preview'];
  const uploadOf = async (accountId: string, mode: 'live' | 'test') => {
    const { upload } = await world.store.uploads.create({ accountId, mode, fileName: 'Ann.mov', sizeBytes: 1000, sha256: null, quotaBytes: 1e9 });
    await world.store.uploads.begin(upload.id, 'transfer');
    return upload;
  };
  const collect = async (batches: AsyncIterable<Batch>) => {
    const all: Batch[] = [];
    for await (const batch of batches) all.push(batch);
    return { sizes: all.map(({ found }) => found), done: all.flatMap(({ done }) => done), failures: all.flatMap(({ failures }) => failures) };
  };
  const createdFor = async (account: Account) => {
    const inputs = [jobInput(account), jobInput(account), jobInput(account, { mode: 'test', credits: 0 }), jobInput(account, { preview: preview! }), jobInput(account, { tier: 'secure' })];
    const ids: string[] = [];
    for (const input of inputs) ids.push((await world.store.jobs.create(input)).job.id);
    return ids;
  };

  it('cancels, refunds and records each job, in batches, and leaves the account and others alone', async () => {
    const [account, other] = [await fundedAccount(world.store, 300), await fundedAccount(world.store, 300)];
    const [ids, othersIds] = [await createdFor(account), await createdFor(other)];
    const { fence } = (await world.store.leases.acquire(ids[0]!, 'ingest', 'w', 20))!;
    await world.store.leases.progress(fence, { fraction: 0.35, etaSeconds: 3 }, 20);

    const { sizes, done, failures } = await collect(world.store.jobs.deleteOfAccount(account.id, 2));
    expect([sizes, failures]).toEqual([[2, 1, 1, 1, 0], []]);
    expect(done.toSorted()).toEqual(ids.toSorted());
    // Of all that was charged, only the processed part of the running job is kept; see above.
    expect((await world.store.accounts.get(account.id))!.credits).toBe(300 - 12);
    expect(await world.store.leases.progress(fence, { fraction: 0.5, etaSeconds: 2 }, 20)).toBe(false);
    for (const id of ids) {
      expect(await queueRows(world, id)).toEqual([]);
      expect(await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE key = ${`destroy:${id}`}`).toHaveLength(1);
      const kind = id.startsWith('prv_') ? 'preview.deleted' : 'job.deleted';
      expect((await auditEntries(world.store, { accountId: account.id, jobId: id, limit: 1 }))[0]).toMatchObject({ kind, data: { by: 'operator' } });
    }
    expect(await world.store.certificates.pending(account.id)).toBe(1);
    expect(await world.sql`SELECT 1 FROM jobs WHERE id IN ${world.sql(othersIds)} AND deleted_at IS NULL`).toHaveLength(othersIds.length);
    expect(await world.store.accounts.get(account.id)).toMatchObject({ closedAt: null, name: account.name });
    expect((await world.store.jobs.create(jobInput(account))).replayed).toBe(false);
  });

  it('ends although the account goes on creating jobs, and passes over one that cannot be deleted', async () => {
    const account = await fundedAccount(world.store, 3000);
    const ids = await createdFor(account);
    const stuck = ids[1]!;
    await world.sql.unsafe(`CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stuck'; END $$;
      CREATE TRIGGER refuse_one BEFORE UPDATE ON jobs FOR EACH ROW WHEN (OLD.id = '${stuck}') EXECUTE FUNCTION refuse_one()`);
    try {
      const seen: Batch[] = [];
      for await (const batch of world.store.jobs.deleteOfAccount(account.id, 1)) {
        seen.push(batch);
        await world.store.jobs.create(jobInput(account));
      }
      const failed = seen.filter(({ failures }) => failures.length > 0);
      expect(failed).toHaveLength(1);
      expect(() => assertNoneFailed(failed[0]!)).toThrow(/^1 of 1 failed\. The first: PostgresError: stuck$/);
      const done = seen.flatMap((each) => each.done);
      for (const id of ids) expect(done.includes(id)).toBe(id !== stuck);
      expect(seen.length).toBeLessThan(10);
    } finally {
      await world.sql`DROP FUNCTION refuse_one CASCADE`;
    }
  });

  it('deletes uploads of both modes, also those that wait for parts', async () => {
    const [account, other] = [await fundedAccount(world.store, 0), await fundedAccount(world.store, 0)];
    const ids = [await uploadOf(account.id, 'live'), await uploadOf(account.id, 'test'), await uploadOf(account.id, 'live')].map(({ id }) => id);
    const { id: othersId } = await uploadOf(other.id, 'live');
    const { sizes, done } = await collect(world.store.uploads.deleteOfAccount(account.id, 2));
    expect([sizes, done.toSorted()]).toEqual([[2, 1], ids.toSorted()]);
    expect(await world.sql`SELECT id FROM uploads WHERE deleted_at IS NULL AND account_id IN ${world.sql([account.id, other.id])}`).toEqual([{ id: othersId }]);
    const events = await auditEntries(world.store, { accountId: account.id, limit: 9 });
    expect(events.filter(({ kind }) => kind === 'upload.deleted').map(({ data }) => data)).toEqual(ids.map(() => expect.objectContaining({ by: 'operator' })));
    for (const id of ids) expect(await world.store.uploads.pendingDeletion(id)).not.toBeNull();
  });
});
