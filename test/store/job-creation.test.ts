/** Jobs in the store: what one call creates and charges together, idempotency keys, and what can be read. */
import { describe, expect, it } from 'vitest';
import { countJobs, eventKinds, idempotency, queueRows, setUpStore } from '../helpers/store-suite.ts';
import { fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
setUpStore((made) => (world = made));

describe('creation', () => {
  it('makes job, charge, event and queue row together', async () => {
    const account = await fundedAccount(world.store, 100);
    const { job, replayed } = await world.store.jobs.create(jobInput(account));
    expect(replayed).toBe(false);
    expect(job).toMatchObject({ status: 'queued', creditsCharged: 30, progress: 0, metadata: { order: '17' } });
    expect(job.expiresAt.getTime() - job.createdAt.getTime()).toBe(30 * 86_400_000);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(70);
    expect(await queueRows(world, job.id)).toEqual([{ task_identifier: 'job_ingest' }]);
    expect((await eventKinds(world, account.id)).at(-1)).toBe('job.created');
    expect(await world.store.jobs.get(account.id, 'live', job.id)).toEqual(job);
  });

  it('a job in test mode costs nothing and takes the step of test mode', async () => {
    const account = await fundedAccount(world.store, 0);
    const { job } = await world.store.jobs.create(jobInput(account, { mode: 'test' }));
    expect(job.creditsCharged).toBe(0);
    expect(await queueRows(world, job.id)).toEqual([{ task_identifier: 'job_test_mode' }]);
    expect(await world.store.accounts.get(account.id)).toMatchObject({ credits: 0 });
  });

  it('without credits is refused and stores nothing', async () => {
    const account = await fundedAccount(world.store, 29);
    const attempt = world.store.jobs.create(jobInput(account, { idempotency: idempotency('poor') }));
    await expect(attempt).rejects.toMatchObject({ code: 'insufficient_credits' });
    expect(await countJobs(world, account.id)).toBe(0);
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
    expect(await countJobs(world, account.id)).toBe(1);
    expect((await world.store.accounts.get(account.id))?.credits).toBe(2970);
  });

  it('100 jobs at once with credits for 7 make 7', async () => {
    const account = await fundedAccount(world.store, 7 * 30 + 29);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => world.store.jobs.create(jobInput(account))),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(93).fill('insufficient_credits'));
    expect(await countJobs(world, account.id)).toBe(7);
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
    expect(await countJobs(world, account.id)).toBe(1);
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
