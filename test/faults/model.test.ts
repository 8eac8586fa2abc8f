/**
 * The service's money and job states against a model of a page: random calls of customers and workers, crashes and
 * the passing of time. The model is written from the specification, not from the code.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEvidence, verifyAuditLog } from '../../src/evidence/index.ts';
import type { Lease } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { auditLog, createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

interface ModelJob {
  status: 'queued' | 'running' | 'done' | 'error' | 'gone';
  price: number;
  perSecond: number;
  seconds: number;
  progress: number;
  /** of the present attempt: what a lost one did is not for the customer to pay */
  processed: number;
  refunded: number;
  attempt: number;
  held: boolean;
  crashes: number;
  key: string | null;
}
interface Model {
  balance: number;
  jobs: ModelJob[];
  /** idempotency key → job */
  keys: Map<string, number>;
}
interface Real {
  account: Account;
  ids: string[];
  /** by job, every lease ever given: the newest is last */
  acquired: Map<number, Lease[]>;
}

const maxCrashes = 3;
const openStates = ['queued', 'running'];
const code = (error: unknown) => (error as { code?: string }).code ?? (error as Error).name;
const outcome = <T>(promise: Promise<T>) =>
  promise.then(
    (value) => ({ value, refused: null }),
    (error: unknown) => ({ value: null, refused: code(error) }),
  );

/** 3 or 6 credits a second for Standard, twice that for Secure. */
const prices = { standard: { '1080p': 3, '4k': 6 }, secure: { '1080p': 6, '4k': 12 } } as const;
interface Order {
  seconds: number;
  tier: 'standard' | 'secure';
  resolution: '1080p' | '4k';
  key: string | null;
}

abstract class Step implements fc.AsyncCommand<Model, Real> {
  readonly pick: number;
  constructor(pick: number) {
    this.pick = pick;
  }
  check(model: Readonly<Model>): boolean {
    return model.jobs.length > 0;
  }
  async run(model: Model, real: Real): Promise<void> {
    const index = this.pick % Math.max(1, model.jobs.length);
    await this.act(model, real, index);
    await agree(model, real);
  }
  toString(): string {
    return `${this.constructor.name}(${this.pick})`;
  }
  abstract act(model: Model, real: Real, index: number): Promise<void>;
}

class Create extends Step {
  readonly order: Order;
  constructor(order: Order) {
    super(0);
    this.order = order;
  }
  override check = () => true;
  override toString = () => `Create(${JSON.stringify(this.order)})`;
  async act(model: Model, real: Real) {
    const { seconds, tier, resolution, key } = this.order;
    const fingerprint = JSON.stringify([seconds, tier, resolution]);
    const perSecond = prices[tier][resolution];
    const input = jobInput(real.account, { tier, resolution, durationSeconds: seconds, credits: seconds * perSecond });
    const { value, refused } = await outcome(
      world.store.jobs.create({
        ...input,
        idempotency: key === null ? null : { key: `${key} ${fingerprint}`, fingerprint },
      }),
    );
    const earlier = key === null ? undefined : model.keys.get(`${key} ${fingerprint}`);
    if (earlier !== undefined) {
      if (model.jobs[earlier]!.status === 'gone') return expect(refused).toBe('idempotency_key_reused');
      return expect(value).toMatchObject({ replayed: true, job: { id: real.ids[earlier] } });
    }
    if (seconds * perSecond > model.balance) return expect(refused).toBe('insufficient_credits');
    expect(value).toMatchObject({ replayed: false, job: { status: 'queued', creditsCharged: seconds * perSecond } });
    model.balance -= seconds * perSecond;
    if (key !== null) model.keys.set(`${key} ${fingerprint}`, model.jobs.length);
    model.jobs.push({
      ...{ status: 'queued', price: seconds * perSecond, perSecond, seconds, progress: 0, processed: 0, refunded: 0, attempt: 0 },
      ...{ held: false, crashes: 0, key },
    });
    real.ids.push(value!.job.id);
  }
}

class AcquireLease extends Step {
  async act(model: Model, real: Real, index: number) {
    const job = model.jobs[index]!;
    const lease = await world.store.leases.acquire(real.ids[index]!, 'ingest', `worker-${this.pick % 3}`, 60);
    expect(lease !== null).toBe(openStates.includes(job.status) && !job.held);
    if (!lease) return;
    Object.assign(job, { status: 'running', held: true, processed: 0, attempt: job.attempt + 1 });
    expect(lease.fence.attempt).toBe(job.attempt);
    real.acquired.set(index, [...(real.acquired.get(index) ?? []), lease]);
  }
}

/** A worker writes under one of its leases, which may be long lost. */
abstract class Write extends Step {
  async act(model: Model, real: Real, index: number) {
    const acquired = real.acquired.get(index) ?? [];
    const lease = acquired[this.pick % Math.max(1, acquired.length)];
    if (!lease) return;
    const job = model.jobs[index]!;
    const holds = job.held && job.status === 'running' && lease.fence.attempt === job.attempt;
    await this.write(job, lease, holds, model);
  }
  abstract write(job: ModelJob, lease: Lease, holds: boolean, model: Model): Promise<void>;
}

class Progress extends Write {
  async write(job: ModelJob, { fence }: Lease, holds: boolean) {
    const fraction = ((this.pick * 7) % 100) / 100;
    expect(await world.store.leases.progress(fence, { fraction, etaSeconds: 1 }, 60)).toBe(holds);
    if (holds) Object.assign(job, { progress: Math.max(job.progress, fraction), processed: fraction });
  }
}

class Finish extends Write {
  async write(job: ModelJob, { fence }: Lease, holds: boolean) {
    const sha256 = 'e'.repeat(64);
    const finish = async () => {
      const key = await world.store.objects.registerPendingObject(fence, 'output');
      const stored = { key, size: 1, sha256, version: null };
      const output = { width: 2, height: 2, size_bytes: 1, sha256 };
      await world.store.leases.finish(fence, { stored, output, applied: null });
    };
    expect((await outcome(finish())).refused).toBe(holds ? null : 'LeaseLost');
    if (holds) Object.assign(job, { status: 'done', held: false, progress: 1 });
  }
}

const refundAll = (model: Model, job: ModelJob) => {
  model.balance += job.price;
  job.refunded = job.price;
};

class Fail extends Write {
  async write(job: ModelJob, { fence }: Lease, holds: boolean, model: Model) {
    const failed = outcome(world.store.leases.fail(fence, { code: 'processing_failed', message: 'No.' }));
    expect((await failed).refused).toBe(holds ? null : 'LeaseLost');
    if (!holds) return;
    Object.assign(job, { status: 'error', held: false });
    refundAll(model, job);
  }
}

class GiveBack extends Write {
  async write(job: ModelJob, { fence }: Lease, holds: boolean) {
    await world.store.leases.release(fence);
    if (holds || (job.status === 'gone' && fence.attempt === job.attempt)) Object.assign(job, { held: false, processed: 0 });
  }
}

class Crash extends Step {
  async act(model: Model, real: Real, index: number) {
    const job = model.jobs[index]!;
    await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second'
      WHERE id = ${real.ids[index]!} AND lease_owner IS NOT NULL`;
    const swept = await world.store.leases.sweepExpired(maxCrashes);
    if (!job.held || job.status !== 'running') return;
    Object.assign(job, { held: false, processed: 0, crashes: job.crashes + 1 });
    const over = job.crashes >= maxCrashes;
    expect(over ? swept.failed.map(({ id }) => id) : swept.requeued).toContain(real.ids[index]);
    if (!over) return;
    job.status = 'error';
    refundAll(model, job);
  }
}

/** Queued: all back. Running: the seconds that were not begun. Done or failed: nothing more. */
function removed(model: Model, job: ModelJob): number {
  const back = {
    queued: job.price,
    running: (job.seconds - Math.ceil(job.processed * job.seconds)) * job.perSecond,
    done: 0,
    error: 0,
    gone: 0,
  }[job.status];
  job.status = 'gone';
  job.refunded += back;
  model.balance += back;
  return back;
}

class Delete extends Step {
  async act(model: Model, real: Real, index: number) {
    const job = model.jobs[index]!;
    const deleted = await world.store.jobs.delete(real.account.id, 'live', real.ids[index]!);
    if (job.status === 'gone') return expect(deleted).toBeNull();
    expect(deleted?.refundedCredits).toBe(removed(model, job));
  }
}

class RetentionEnds extends Step {
  async act(model: Model, real: Real, index: number) {
    const job = model.jobs[index]!;
    await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${real.ids[index]!}`;
    const expired = (await world.store.jobs.expireDue(1000)).done;
    expect(expired.includes(real.ids[index]!)).toBe(job.status !== 'gone');
    if (job.status !== 'gone') removed(model, job);
  }
}

class Grant extends Step {
  override check = () => true;
  async act(model: Model, real: Real) {
    await world.store.accounts.grant(real.account.id, 1 + (this.pick % 60));
    model.balance += 1 + (this.pick % 60);
  }
}

/** What the service says is what the model says. */
async function agree(model: Model, real: Real): Promise<void> {
  expect((await world.store.accounts.get(real.account.id))!.credits).toBe(model.balance);
  expect(model.balance).toBeGreaterThanOrEqual(0);
  const { jobs } = await world.store.jobs.list({ accountId: real.account.id, mode: 'live', limit: 1000 });
  const listed = new Map(jobs.map((job) => [job.id, job]));
  for (const [index, job] of model.jobs.entries()) {
    const found = listed.get(real.ids[index]!);
    if (job.status === 'gone') expect(found).toBeUndefined();
    else expect(found).toMatchObject({ status: job.status, creditsRefunded: job.refunded, progress: job.progress });
  }
  expect(listed.size).toBe(model.jobs.filter(({ status }) => status !== 'gone').length);
}

const order = fc.record({
  seconds: fc.integer({ min: 1, max: 12 }),
  tier: fc.constantFrom('standard' as const, 'secure' as const),
  resolution: fc.constantFrom('1080p' as const, '4k' as const),
  key: fc.constantFrom(null, null, 'a', 'b'),
});
const picks = fc.nat(1000);
const steps = [AcquireLease, AcquireLease, Progress, Progress, Finish, Fail, GiveBack, Crash, Delete, RetentionEnds, Grant];
const plans = fc.commands(
  [
    order.map((o) => new Create(o)),
    order.map((o) => new Create(o)),
    ...steps.map((S) => picks.map((pick) => new S(pick))),
  ],
  {
    maxCommands: 60,
    size: 'max',
  },
);

describe('random calls, crashes and time', () => {
  it('agree with the model in every balance and every state', async () => {
    const signer = createEvidence({ keys: world.store.signingKeys, cipher: testCipher });
    const run = fc.asyncProperty(plans, async (commands) => {
      const account = await fundedAccount(world.store, 200);
      const setup = (): { model: Model; real: Real } => ({
        model: { balance: 200, jobs: [], keys: new Map() },
        real: { account, ids: [], acquired: new Map() },
      });
      await fc.asyncModelRun(setup, commands);
      const { entries, head } = await auditLog(world.store, account.id);
      const signed = await signer.signHead({ account_id: account.id, ...head, signed_at: new Date().toISOString() });
      expect(await verifyAuditLog({ entries, head: signed }, await signer.jwks())).toMatchObject({ ok: true });
      expect(await world.store.ledgerCheck()).toEqual([]);
    });
    // The books remember a failed run, so a smaller example cannot be looked for; the seed repeats it.
    await fc.assert(run, { numRuns: isLongRun ? 60 : 20, endOnFailure: true });
  });
});
