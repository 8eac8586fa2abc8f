import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const actions = [
  'create',
  'replay',
  'acquire',
  'progress',
  'finish',
  'fail',
  'retry',
  'release',
  'delete',
  'expire',
  'crash',
] as const;
type Action = (typeof actions)[number];

/** Customers, workers and maintenance acting on the same few jobs without regard for one another. */
class Crowd {
  readonly account: Account;
  readonly jobs: string[] = [];
  /** every lease ever given, the stale ones too: late writers use them */
  readonly acquired: Lease[] = [];

  constructor(account: Account) {
    this.account = account;
  }

  async act(action: Action, pick: number): Promise<void> {
    const { store, sql } = world;
    const job = this.jobs[pick % this.jobs.length];
    const lease = this.acquired[pick % this.acquired.length];
    const steps: Record<Action, () => Promise<unknown>> = {
      create: () => this.#create(null),
      replay: () => this.#create({ key: `key-${pick % 3}`, fingerprint: 'f' }),
      acquire: async () => {
        const got = job && (await store.leases.acquire(job, 'ingest', `worker-${pick % 4}`, 20));
        if (got) this.acquired.push(got);
      },
      progress: async () =>
        lease && store.leases.progress(lease.fence, { fraction: (pick % 100) / 100, etaSeconds: null }, 20),
      finish: async () => lease && this.#finish(lease),
      fail: async () => lease && store.leases.fail(lease.fence, { code: 'processing_failed', message: 'No.' }),
      retry: async () => lease && store.leases.retryLater(lease.fence, { delayS: 0 }),
      release: async () => lease && store.leases.release(lease.fence),
      delete: async () => job && store.jobs.delete(this.account.id, 'live', job),
      expire: async () => {
        if (job) await sql`UPDATE jobs SET expires_at = now() WHERE id = ${job}`;
        await store.jobs.expireDue(10);
      },
      crash: async () => {
        if (job)
          await sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second'
          WHERE id = ${job} AND lease_owner IS NOT NULL`;
        await store.leases.sweepExpired(3);
      },
    };
    await steps[action]();
  }

  async #create(idempotency: { key: string; fingerprint: string } | null): Promise<void> {
    const { job } = await world.store.jobs.create(jobInput(this.account, { idempotency }));
    if (!this.jobs.includes(job.id)) this.jobs.push(job.id);
  }

  async #finish({ fence, job }: Lease): Promise<void> {
    const key = await world.store.objects.registerPendingObject(fence, 'output');
    const sha256 = 'd'.repeat(64);
    await world.store.leases.finish(fence, {
      stored: { key, size: 1, sha256, version: null },
      output: { width: 2, height: 2, size_bytes: 1, sha256 },
      applied: null,
    });
    expect(job.accountId).toBe(this.account.id);
  }
}

/** Refusals that are right: no credits, a stale lease, a reused key, an object registered twice by one attempt. */
function assertExpected(reason: unknown): void {
  const error = reason as Error & { code?: string; cause?: { code?: string } };
  const known =
    ['insufficient_credits', 'idempotency_key_reused'].includes(error.code ?? '') || error.name === 'LeaseLost';
  if (!known && error.cause?.code !== '23505') throw error;
}

const scenario = fc.array(fc.record({ action: fc.constantFrom(...actions), pick: fc.nat(1000) }), {
  minLength: 20,
  maxLength: 120,
});

describe('whatever customers, workers and maintenance do at the same time', () => {
  it('the books balance, no credit is lost and every job is in one state', async () => {
    const run = fc.asyncProperty(scenario, fc.integer({ min: 1, max: 8 }), async (plan, width) => {
      const crowd = new Crowd(await fundedAccount(world.store, 150));
      await crowd.act('create', 0);
      for (let at = 0; at < plan.length; at += width) {
        const results = await Promise.allSettled(
          plan.slice(at, at + width).map(({ action, pick }) => crowd.act(action, pick)),
        );
        for (const result of results) if (result.status === 'rejected') assertExpected(result.reason);
      }
      expect(await world.store.ledgerCheck()).toEqual([]);
      const [kept] = await world.sql`SELECT coalesce(sum(credits_charged - credits_refunded), 0)::int AS kept
        FROM jobs WHERE account_id = ${crowd.account.id}`;
      const balance = (await world.store.accounts.get(crowd.account.id))!.credits;
      expect(balance + (kept!['kept'] as number)).toBe(150);
      for (const row of await eventsOf(crowd.account.id)) {
        expect(row['ended']).toBeLessThanOrEqual(1);
        expect(row['deleted']).toBeLessThanOrEqual(1);
      }
      expect((await world.store.leases.requeueOrphans(100)).found).toBe(0);
    });
    // What a failed run left stays in the books, so a smaller example cannot be looked for.
    await fc.assert(run, { numRuns: 25, endOnFailure: true });
  });
});

const eventsOf = (accountId: string) =>
  world.sql`SELECT job_id, count(*) FILTER (WHERE kind IN ('job.completed', 'job.failed'))::int AS ended,
    count(*) FILTER (WHERE kind = 'job.deleted')::int AS deleted
    FROM job_events WHERE account_id = ${accountId} AND job_id IS NOT NULL GROUP BY job_id`;
