/** All transactions lock in one order, so that none waits for another that waits for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReelmendError } from '../../src/domain/errors.ts';
import { newId } from '../../src/domain/ids.ts';
import { maxActiveSecrets } from '../../src/domain/webhooks.ts';
import { createStore, LeaseLost, type Store } from '../../src/store/index.ts';
import type { Account } from '../../src/store/types.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

let world: World;
let store: Store;
beforeAll(async () => {
  world = await createWorld();
  // Far longer than any of these tests may take: whoever meets a deadlock here does not get out of it in time.
  const [{ name }] = (await world.sql`SELECT current_database() AS name`) as unknown as [{ name: string }];
  await world.sql.unsafe(`ALTER DATABASE "${name}" SET deadlock_timeout = '60s'`);
  store = createStore({ url: world.url, cipher: testCipher, maxConnections: 20 });
});
afterAll(async () => {
  await store.close();
  await world.close();
});

interface Scene {
  account: Account;
  jobId: string;
}

const liveJob = async (account: Account) => (await store.jobs.create(jobInput(account, { tier: 'secure', credits: 10 }))).job;

async function leased({ jobId }: Scene) {
  return (await store.leases.acquire(jobId, 'ingest', 'worker', 60))!.fence;
}

const makeEndpoint = (accountId: string) =>
  store.webhookEndpoints.create({
    ...{ accountId, mode: 'live', url: 'https://hooks.example.com/', events: ['job.completed', 'job.failed'], description: '' },
  });

/** Transactions that lock a job or an account and append to the audit log. */
const writers: Record<string, (scene: Scene) => Promise<() => Promise<unknown>>> = {
  'deletion of a job': async ({ account, jobId }) => () => store.jobs.delete(account.id, 'live', jobId),
  'end of a retention': async ({ jobId }) => {
    await world.sql`UPDATE jobs SET expires_at = now() WHERE id = ${jobId}`;
    return () => store.jobs.expireDue(10);
  },
  'failure of a job': async (scene) => {
    const fence = await leased(scene);
    return () => store.leases.fail(fence, { code: 'processing_failed', message: 'No.' });
  },
  'job whose worker crashed': async (scene) => {
    await leased(scene);
    await world.sql`UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = ${scene.jobId}`;
    return () => store.leases.sweepExpired(1);
  },
  'job that waits in the queue': async ({ jobId }) => () =>
    store.leases.wait(jobId, 'ingest', () => ({ totalS: 10, tickS: 1 })),
  certificate: async ({ account, jobId }) => {
    await store.jobs.delete(account.id, 'live', jobId);
    return () => store.certificates.issue(jobId, async () => 'a.b.c');
  },
  grant: async ({ account }) => () => store.accounts.grant(account.id, 5),
  withdrawal: async ({ account }) => () => store.accounts.withdraw(account.id, 5),
  approval: async ({ account }) => () => store.accounts.reject(account.id),
  'change of the plan': async ({ account }) => () => store.accounts.setPlan(account.id, 'studio'),
  'change of the quotas': async ({ account }) => () => store.accounts.setQuotas(account.id, { jobs_per_day: 7 }),
  'closing of an account': async ({ account }) => () => store.accounts.close(account.id),
  'change of a webhook endpoint': async ({ account }) => {
    const { endpoint } = await makeEndpoint(account.id);
    return () => store.webhookEndpoints.update({ accountId: account.id, id: endpoint.id }, { enabled: false });
  },
  'deletion of a webhook endpoint': async ({ account }) => {
    const { endpoint } = await makeEndpoint(account.id);
    return () => store.webhookEndpoints.delete({ accountId: account.id, id: endpoint.id });
  },
  'new webhook secret': async ({ account }) => () => store.webhookSecrets.rotate(account.id),
};

/** Until a connection of the store waits for a lock. */
const blocked = () =>
  eventually(async () => {
    const waiting = await world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
      AND application_name = 'reelmend' AND wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });

describe('an entry of the audit log', () => {
  it.each(Object.keys(writers))('is written while the head is waited for by: %s', async (name) => {
    const account = await fundedAccount(store, 100);
    const scene = { account, jobId: (await liveJob(account)).id };
    const write = await writers[name]!(scene);
    let written: Promise<unknown> | undefined;
    await world.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM event_heads WHERE account_id = ${account.id} FOR NO KEY UPDATE`;
      written = write();
      await blocked();
      await tx`SET LOCAL lock_timeout = '2s'`;
      // What the entry's references to its job and account lock.
      await tx`SELECT append_event(${account.id}, ${newId('evt')}, 'result.accessed', ${scene.jobId}, '{}')`;
      await tx`SELECT 1 FROM accounts WHERE id = ${account.id} FOR KEY SHARE`;
    });
    await written;
    const events = await auditEntries(store, { accountId: account.id, limit: 2 });
    expect(events[1]!.kind).toBe('result.accessed');
  });
});

describe('everybody at once', () => {
  it('jobs end and are deleted while endpoints are made, changed and deleted', async () => {
    const account = await fundedAccount(store, 1000);
    const jobs = await Promise.all(Array.from({ length: 10 }, () => liveJob(account)));
    const made = await Promise.all(Array.from({ length: 5 }, () => makeEndpoint(account.id)));
    const fences = await Promise.all(jobs.map(({ id }) => leased({ account, jobId: id })));
    const work: Promise<unknown>[] = [
      ...fences.map((fence) => store.leases.fail(fence, { code: 'processing_failed', message: 'No.' })),
      ...jobs.slice(0, 5).map(({ id }) => store.jobs.delete(account.id, 'live', id)),
      ...made.flatMap(({ endpoint: { id } }, n) => [
        store.webhookEndpoints.update({ accountId: account.id, id }, { url: `https://hooks.example.com/${n}` }),
        store.webhookEndpoints.rotateSecret({ accountId: account.id, id }),
        n % 2 === 0 ? store.webhookEndpoints.delete({ accountId: account.id, id }) : makeEndpoint(account.id),
      ]),
    ];
    const failures = (await Promise.allSettled(work)).flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(failures.filter((error) => !(error instanceof LeaseLost))).toEqual([]);
    const left = (await store.webhookEndpoints.list(account.id)).map(({ id }) => id);
    const orphans = await world.sql`SELECT 1 FROM webhook_deliveries
      WHERE account_id = ${account.id} AND state = 'pending' AND endpoint_id <> ALL (${left})`;
    expect(orphans).toHaveLength(0);
    expect(await store.ledgerCheck()).toEqual([]);
  });

  it('results handed out, jobs deleted, credits granted, keys and secrets replaced', async () => {
    const account = await fundedAccount(store, 1000);
    const jobs = await Promise.all(Array.from({ length: 12 }, () => liveJob(account)));
    const key = await store.keys.create({
      ...{ accountId: account.id, mode: 'live', tier: 'secure', lastFour: 'abcd' },
      hash: Buffer.alloc(32, 7),
    });
    const rotations: Promise<unknown>[] = [];
    await Promise.all(
      jobs.flatMap(({ id }, n) => [
        ...Array.from({ length: 4 }, () =>
          store.audit.record({ accountId: account.id, kind: 'result.accessed', jobId: id }),
        ),
        store.jobs.delete(account.id, 'live', id),
        store.accounts.grant(account.id, 1),
        store.certificates.issue(id, async () => 'a.b.c'),
        rotations[n] = store.webhookSecrets.rotate(account.id).then(() => 'made', (error: ReelmendError) => error.code),
        store.keys.rotate(key.id, { hash: Buffer.alloc(32, 100 + n), lastFour: 'efgh', overlapDays: 1 }),
      ]),
    );
    expect(await store.ledgerCheck()).toEqual([]);
    const made = maxActiveSecrets - 1; // The first rotation also creates the secret before it.
    const refused = Array.from({ length: jobs.length - made }, () => 'rate_limit_exceeded');
    expect((await Promise.all(rotations)).toSorted()).toEqual([...Array.from({ length: made }, () => 'made'), ...refused]);
  });

  it('an account is closed while keys and users are added; none is left', async () => {
    for (let round = 0; round < 10; round++) {
      const account = await fundedAccount(store, 10);
      const lastFour = 'abcd';
      const hash = () => Buffer.from(newId('key').padEnd(32).slice(-32));
      const key = await store.keys.create({ accountId: account.id, mode: 'test', tier: 'standard', hash: hash(), lastFour });
      const user = (await store.users.create(person(account.id, 'a')))!;
      await Promise.allSettled([
        store.keys.rotate(key.id, { hash: hash(), lastFour, overlapDays: 1 }),
        store.keys.create({ accountId: account.id, mode: 'test', tier: 'standard', hash: hash(), lastFour }),
        store.users.create(person(account.id, 'b')),
        store.users.changePassword(user.id, '$argon2id$other$', null),
        store.accounts.close(account.id),
      ]);
      const keys = await store.keys.list(account.id);
      expect(keys.filter(({ revokedAt }) => revokedAt === null)).toEqual([]);
      expect(await world.sql`SELECT 1 FROM console_users WHERE account_id = ${account.id}`).toHaveLength(0);
    }
  });
});

function person(accountId: string, name: string) {
  return { email: `${name}-${accountId}@example.com`, password: '$argon2id$quick$', account: { id: accountId } };
}
