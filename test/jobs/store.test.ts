import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Fence } from '../../src/store/index.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, randomHash, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
afterEach(async () => expect(await world.store.ledgerCheck()).toEqual([]));

const idempotency = (key: string, fingerprint = 'a'.repeat(64)) => ({ key, fingerprint });
const queueRows = (jobId: string) =>
  world.sql`SELECT task_identifier FROM graphile_worker.jobs WHERE key = ${`step:${jobId}`}`;
const countJobs = async (accountId: string) =>
  Number((await world.sql`SELECT count(*) FROM jobs WHERE account_id = ${accountId}`)[0]!['count']);
const eventKinds = async (accountId: string) =>
  (await auditEntries(world.store, { accountId, limit: 100 })).map((event) => event.kind).reverse();

describe('accounts and keys', () => {
  it('start pending without live credits and keep their test credits', async () => {
    const account = await world.store.accounts.create({ name: 'New' });
    expect(account).toMatchObject({ approvalStatus: 'pending', credits: 0, retentionDays: 30 });
    expect(await world.store.accounts.get(account.id)).toEqual(account);
  });

  it('grants add up, approval is noted once', async () => {
    const account = await fundedAccount(world.store, 40);
    await world.store.accounts.approve(account.id);
    const granted = await world.store.accounts.grant(account.id, 2, 'thanks');
    expect(granted?.credits).toBe(42);
    expect(await eventKinds(account.id)).toEqual([
      'account.created',
      'credits.granted',
      'account.approved',
      'credits.granted',
    ]);
  });

  it('nothing can be granted to nobody, and nothing but whole credits', async () => {
    expect(await world.store.accounts.grant('acct_00000000000000000000000000', 1)).toBeNull();
    expect(() => world.store.accounts.grant('x', 0.5)).toThrow(RangeError);
  });

  it('what was granted too much is taken back, and no more than is left', async () => {
    const account = await fundedAccount(world.store, 40);
    const { job } = await world.store.jobs.create(jobInput(account));
    const left = 40 - job.creditsCharged;
    const refused = world.store.accounts.withdraw(account.id, left + 1);
    await expect(refused).rejects.toMatchObject({
      code: 'insufficient_credits',
      message: `The account has ${left} credits, not ${left + 1}.`,
    });
    const before = await world.store.ledgerSums();
    expect(await world.store.accounts.withdraw(account.id, left, 'granted twice')).toMatchObject({ credits: 0 });
    const after = await world.store.ledgerSums();
    expect(after.kinds.withdrawal - before.kinds.withdrawal).toBe(left);
    expect(after.books.issued - before.books.issued).toBe(left);
    expect(after.total).toBe(0);
    const [line] = await world.store.statements.ledger({ accountId: account.id, limit: 1 });
    expect(line).toMatchObject({ kind: 'withdrawal', amount: -left, balance: 0, jobId: null, note: 'granted twice' });
    expect((await eventKinds(account.id)).at(-1)).toBe('credits.withdrawn');
  });

  it('nothing can be taken from nobody', async () => {
    expect(await world.store.accounts.withdraw('acct_00000000000000000000000000', 1)).toBeNull();
    expect(() => world.store.accounts.withdraw('x', -1)).toThrow(RangeError);
  });

  it('a closed one has no keys, no users and no name any more, its jobs are refunded and deleted, its books are kept', async () => {
    const { accounts, keys, users, jobs, operations } = world.store;
    const account = await fundedAccount(world.store, 40);
    const other = await fundedAccount(world.store, 40);
    const hash = randomHash();
    await keys.create({ accountId: account.id, mode: 'live', tier: 'standard', hash, lastFour: 'abcd', name: 'of Jane' });
    const user = await users.create({ email: 'leaves@example.com', password: '$argon2id$quick$', account: { id: account.id } });
    const tokenHash = randomHash();
    await users.openSession({ userId: user!.id, tokenHash, userAgent: '', password: '$argon2id$quick$', withCode: false });
    const queued = [jobInput(account), jobInput(account, { mode: 'test' })];
    const made = await Promise.all(queued.map((input) => jobs.create(input)));
    const { job: kept } = await jobs.create(jobInput(other));

    const [closed] = await Promise.all([accounts.close(account.id), accounts.close(account.id)]);
    expect(closed).toMatchObject({ name: 'closed', approvalStatus: 'rejected', closedAt: expect.any(Date) });
    expect(await keys.authenticate(hash)).toBeNull();
    expect(await keys.list(account.id)).toMatchObject([{ name: '' }]);
    expect(await users.byEmail('leaves@example.com')).toBeNull();
    expect(await users.identify(tokenHash)).toBeNull();
    expect(await operations.account(account.id)).toBeNull();
    const listed = (await operations.accounts({ limit: 1000 })).map(({ id }) => id);
    expect([listed.includes(account.id), listed.includes(other.id)]).toEqual([false, true]);

    expect((await jobs.deleteOfClosed(1)).done.length + (await jobs.deleteOfClosed(200)).done.length).toBe(2);
    expect((await jobs.deleteOfClosed(200)).found).toBe(0);
    for (const { job } of made) expect(await jobs.get(account.id, job.mode, job.id)).toBeNull();
    expect(await jobs.get(other.id, 'live', kept.id)).not.toBeNull();
    expect(await accounts.get(account.id)).toMatchObject({ credits: 40 });
    const kinds = await eventKinds(account.id);
    expect(kinds.filter((kind) => kind === 'account.closed')).toHaveLength(1);
    const deleted = await auditEntries(world.store, { accountId: account.id, jobId: made[0]!.job.id, limit: 1 });
    expect(deleted[0]).toMatchObject({ kind: 'job.deleted', data: { by: 'operator' } });

    // It stays closed.
    const nothing = [
      accounts.approve(account.id),
      accounts.grant(account.id, 1),
      accounts.withdraw(account.id, 1),
      accounts.setPlan(account.id, 'studio'),
      accounts.setQuotas(account.id, { jobs_per_day: 1 }),
      accounts.close('acct_00000000000000000000000000'),
    ];
    expect(await Promise.all(nothing)).toEqual(nothing.map(() => null));
    const again = await users.create({ email: 'leaves@example.com', password: '$argon2id$quick$', account: { name: 'Anew' } });
    expect(again?.accountId).not.toBe(account.id);
  });

  it('a rotated key and its successor both work until the overlap ends', async () => {
    const account = await fundedAccount(world.store, 1);
    const [first, second, third] = [randomHash(), randomHash(), randomHash()];
    const { id } = await world.store.keys.create({
      accountId: account.id,
      mode: 'test',
      tier: 'secure',
      lastFour: 'aaaa',
      hash: first,
    });
    const rotated = (await world.store.keys.rotate(id, { hash: second, lastFour: 'bbbb', overlapDays: 7 }))!;
    expect(rotated.fresh).toMatchObject({ mode: 'test', tier: 'secure', lastFour: 'bbbb', expiresAt: null });
    expect(await world.store.keys.authenticate(first)).toMatchObject({ keyId: id });
    expect(await world.store.keys.authenticate(second)).toMatchObject({ keyId: rotated.fresh.id, tier: 'secure' });
    await world.sql`UPDATE api_keys SET expires_at = expires_at - interval '7 days' WHERE id = ${id}`;
    expect(await world.store.keys.authenticate(first)).toBeNull();
    expect(await world.store.keys.rotate(id, { hash: third, lastFour: 'cccc', overlapDays: 0 })).toBeNull();
    // A second rotation only shortens what the first one left.
    const again = (await world.store.keys.rotate(rotated.fresh.id, { hash: third, lastFour: 'cccc', overlapDays: 2 }))!;
    await world.store.keys.rotate(rotated.fresh.id, { hash: randomHash(), lastFour: 'dddd', overlapDays: 7 });
    const kept = (await world.store.keys.list(account.id)).find((key) => key.id === rotated.fresh.id);
    expect(kept?.expiresAt).toEqual(again.old.expiresAt);
    for (const overlapDays of [-1, 8, 0.5]) {
      await expect(
        world.store.keys.rotate(again.fresh.id, { hash: first, lastFour: 'eeee', overlapDays }),
      ).rejects.toThrow(RangeError);
    }
    expect(await eventKinds(account.id)).toContain('key.rotated');
  });

  it('a key authenticates until it is revoked or expired', async () => {
    const account = await fundedAccount(world.store, 1);
    const key = { accountId: account.id, mode: 'live', tier: 'secure', lastFour: 'wxyz' } as const;
    const [hash, expired] = [randomHash(), randomHash()];
    const { id } = await world.store.keys.create({ ...key, hash });
    await world.store.keys.create({ ...key, hash: expired, expiresAt: new Date(Date.now() - 1000) });
    const { closedAt, ...owner } = (await world.store.accounts.get(account.id))!;
    expect(closedAt).toBeNull();
    expect(await world.store.keys.authenticate(hash)).toEqual({
      ...{ kind: 'key', keyId: id, mode: 'live', tier: 'secure', name: '', access: 'full', lastUsedAt: null, account: owner },
    });
    expect(await world.store.keys.authenticate(expired)).toBeNull();
    expect(await world.store.keys.authenticate(randomHash())).toBeNull();
    expect((await world.store.keys.list(account.id))[0]?.lastUsedAt).toBeInstanceOf(Date);
    const revoked = await world.store.keys.revoke(id);
    expect(await world.store.keys.revoke(id)).toEqual(revoked);
    expect(await world.store.keys.authenticate(hash)).toBeNull();
    expect(JSON.stringify(await world.store.keys.list(account.id))).not.toContain('hash');
  });
});

describe('creation', () => {
  it('makes job, charge, event and queue row together', async () => {
    const account = await fundedAccount(world.store, 100);
    const { job, replayed } = await world.store.jobs.create(jobInput(account));
    expect(replayed).toBe(false);
    expect(job).toMatchObject({ status: 'queued', creditsCharged: 30, progress: 0, metadata: { order: '17' } });
    expect(job.expiresAt.getTime() - job.createdAt.getTime()).toBe(30 * 86_400_000);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(70);
    expect(await queueRows(job.id)).toEqual([{ task_identifier: 'job_ingest' }]);
    expect((await eventKinds(account.id)).at(-1)).toBe('job.created');
    expect(await world.store.jobs.get(account.id, 'live', job.id)).toEqual(job);
  });

  it('a job in test mode costs nothing and takes the step of test mode', async () => {
    const account = await fundedAccount(world.store, 0);
    const { job } = await world.store.jobs.create(jobInput(account, { mode: 'test' }));
    expect(job.creditsCharged).toBe(0);
    expect(await queueRows(job.id)).toEqual([{ task_identifier: 'job_test_mode' }]);
    expect(await world.store.accounts.get(account.id)).toMatchObject({ credits: 0 });
  });

  it('without credits is refused and stores nothing', async () => {
    const account = await fundedAccount(world.store, 29);
    const attempt = world.store.jobs.create(jobInput(account, { idempotency: idempotency('poor') }));
    await expect(attempt).rejects.toMatchObject({ code: 'insufficient_credits' });
    expect(await countJobs(account.id)).toBe(0);
    expect(await world.store.jobs.findReplay(account.id, 'live', idempotency('poor', 'b'))).toBeNull();
    await world.store.accounts.grant(account.id, 1);
    expect((await world.store.jobs.create(jobInput(account, { idempotency: idempotency('poor', 'b') }))).replayed).toBe(
      false,
    );
  });

  it('100 equal requests at once make one job and one charge', async () => {
    const account = await fundedAccount(world.store, 3000);
    const input = jobInput(account, { idempotency: idempotency('once') });
    const results = await Promise.all(Array.from({ length: 100 }, () => world.store.jobs.create(input)));
    expect(new Set(results.map(({ job }) => job.id)).size).toBe(1);
    expect(results.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await countJobs(account.id)).toBe(1);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(2970);
  });

  it('100 jobs at once with credits for 7 make 7', async () => {
    const account = await fundedAccount(world.store, 7 * 30 + 29);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => world.store.jobs.create(jobInput(account))),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(93).fill('insufficient_credits'));
    expect(await countJobs(account.id)).toBe(7);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(29);
  });

  it('one key with another body is refused, also at the same time', async () => {
    const account = await fundedAccount(world.store, 3000);
    const one = jobInput(account, { idempotency: idempotency('body', 'a') });
    const two = jobInput(account, { idempotency: idempotency('body', 'b') });
    const results = await Promise.allSettled([world.store.jobs.create(one), world.store.jobs.create(two)]);
    expect(results.map((result) => (result.status === 'rejected' ? result.reason.code : 'made')).sort()).toEqual([
      'idempotency_key_reused',
      'made',
    ]);
    expect(await countJobs(account.id)).toBe(1);
  });

  it('one key of two accounts and of two modes are different keys', async () => {
    const [first, second] = [await fundedAccount(world.store, 60), await fundedAccount(world.store, 60)];
    const made = [
      await world.store.jobs.create(jobInput(first, { idempotency: idempotency('k') })),
      await world.store.jobs.create(jobInput(first, { idempotency: idempotency('k'), mode: 'test' })),
      await world.store.jobs.create(jobInput(second, { idempotency: idempotency('k') })),
    ];
    expect(made.map(({ replayed }) => replayed)).toEqual([false, false, false]);
  });

  it('a replay shows the job as it is now; after deletion and a day the key is new', async () => {
    const account = await fundedAccount(world.store, 60);
    const input = jobInput(account, { idempotency: idempotency('later') });
    const { job } = await world.store.jobs.create(input);
    await world.store.leases.acquire(job.id, 'ingest', 'w', 20);
    expect(await world.store.jobs.findReplay(account.id, 'live', input.idempotency!)).toMatchObject({
      status: 'running',
    });
    await world.store.jobs.delete(account.id, 'live', job.id);
    await expect(world.store.jobs.create(input)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    await world.sql`UPDATE idempotency_keys SET expires_at = now() WHERE job_id = ${job.id}`;
    const again = await world.store.jobs.create(input);
    expect(again.replayed).toBe(false);
    expect(again.job.id).not.toBe(job.id);
  });
});

describe('reading', () => {
  it("another account's, the other mode's and unknown jobs are unknown", async () => {
    const [mine, other] = [await fundedAccount(world.store, 30), await fundedAccount(world.store, 30)];
    const { job } = await world.store.jobs.create(jobInput(mine));
    for (const [account, mode, id] of [
      [other.id, 'live', job.id],
      [mine.id, 'test', job.id],
      [mine.id, 'live', 'job_00000000000000000000000000'],
    ] as const) {
      expect(await world.store.jobs.get(account, mode, id)).toBeNull();
      expect(await world.store.jobs.delete(account, mode, id)).toBeNull();
    }
  });

  it('lists newest first in pages that neither repeat nor miss', async () => {
    const account = await fundedAccount(world.store, 300);
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift((await world.store.jobs.create(jobInput(account))).job.id);
    const seen: string[] = [];
    for (let more = true; more;) {
      const query = { accountId: account.id, mode: 'live', limit: 3 } as const;
      const page = await world.store.jobs.list(seen.length ? { ...query, startingAfter: seen.at(-1)! } : query);
      seen.push(...page.jobs.map((job) => job.id));
      more = page.hasMore;
    }
    expect(seen).toEqual(ids);
    await world.store.leases.acquire(ids[2]!, 'ingest', 'w', 20);
    const running = await world.store.jobs.list({ accountId: account.id, mode: 'live', limit: 10, status: 'running' });
    expect(running.jobs.map((job) => job.id)).toEqual([ids[2]]);
  });
});

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
      expect(await queueRows(job.id)).toEqual([]);
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

describe('what is written stays', () => {
  for (const statement of [
    'UPDATE ledger_transfers SET credits = credits + 1',
    'DELETE FROM ledger_transfers',
    'UPDATE ledger_entries SET amount = 1',
    'DELETE FROM ledger_entries',
    'TRUNCATE ledger_entries',
    "UPDATE job_events SET kind = 'x'",
    'DELETE FROM job_events',
    'TRUNCATE job_events CASCADE',
    'DELETE FROM event_heads',
    'UPDATE event_heads SET seq = seq + 2',
    'DELETE FROM jobs',
  ]) {
    it(`${statement} is refused`, async () => {
      await fundedAccount(world.store, 1);
      await expect(world.sql.unsafe(statement)).rejects.toMatchObject({ code: '23001' });
    });
  }

  it('a balance cannot fall below zero, a transfer cannot be one-sided', async () => {
    const account = await fundedAccount(world.store, 1);
    await expect(world.sql`UPDATE accounts SET credits = -1 WHERE id = ${account.id}`).rejects.toMatchObject({
      code: '23514',
    });
    await expect(
      world.sql`INSERT INTO ledger_transfers (kind, account_id, credits) VALUES ('grant', ${account.id}, 5)`,
    ).rejects.toMatchObject({ code: '23514' });
  });

  it('a job never moves back', async () => {
    const account = await fundedAccount(world.store, 30);
    const { job } = await world.store.jobs.create(jobInput(account));
    const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'w', 20))!;
    await expect(world.sql`UPDATE jobs SET status = 'queued' WHERE id = ${job.id}`).rejects.toMatchObject({
      code: '23001',
    });
    await world.store.leases.fail(fence, { code: 'unreadable_video', message: 'No.' });
    await expect(world.sql`UPDATE jobs SET attempt = 0 WHERE id = ${job.id}`).rejects.toMatchObject({ code: '23001' });
  });

  it('the check of the books names what is wrong', async () => {
    const account = await fundedAccount(world.store, 30);
    await world.sql`UPDATE accounts SET credits = credits + 5 WHERE id = ${account.id}`;
    expect(await world.store.ledgerCheck()).toEqual([
      { rule: 'a balance is the sum of its entries', subject: account.id, detail: '35 <> 30' },
    ]);
    await world.sql`UPDATE accounts SET credits = credits - 5 WHERE id = ${account.id}`;
  });
});
