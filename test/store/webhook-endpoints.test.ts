/** Webhook endpoints with more deliveries than a statement may have parameters (65,535). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Account } from '../../src/store/types.ts';
import { eventually } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, type World } from '../helpers/worker-world.ts';

const many = 70_000;
const url = 'https://example.com/hook';

let world: World;
let account: Account;
let next = 0;
beforeAll(async () => (world = await createWorld()));
afterAll(() => world.close());
beforeEach(async () => (account = await fundedAccount(world.store, 0)));

const endpoints = () => world.store.webhookEndpoints;
async function add() {
  const { endpoint } = await endpoints().create({ accountId: account.id, mode: 'live', url, events: ['job.completed'], description: '' });
  return { accountId: account.id, id: endpoint.id };
}

async function addDeliveries({ id }: { id: string }, count: number, state: 'delivered' | 'pending'): Promise<void> {
  const isPending = state === 'pending';
  await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, url, state, next_at, settled_at)
    SELECT 'evt_' || lpad(n::text, 26, '0'), ${account.id}, ${id}, 'job.completed', ${url}, ${state},
      CASE WHEN ${isPending} THEN now() END, CASE WHEN NOT ${isPending} THEN now() END
    FROM generate_series(${next + 1}::int, ${next + count}::int) n`;
  next += count;
}
const addAttempt = () =>
  world.sql`INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, response_body)
    SELECT id, 1, now(), 5, 'a response' FROM webhook_deliveries WHERE account_id = ${account.id} ORDER BY id LIMIT 1`;
const queueNewest = () =>
  world.sql`SELECT graphile_worker.add_job('webhook_deliver', job_key := 'webhook:' || max(id)) FROM webhook_deliveries WHERE account_id = ${account.id}`;

const deliveries = () =>
  world.sql`SELECT state, url, count(*)::int FROM webhook_deliveries WHERE account_id = ${account.id} GROUP BY 1, 2 ORDER BY 1, 2`;
const kept = async () => (await world.sql`SELECT 1 FROM webhook_deliveries WHERE account_id = ${account.id} AND url IS NOT NULL`).length;
const queued = async () => (await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE task_identifier = 'webhook_deliver'`).length;

describe('a webhook endpoint with very many deliveries', () => {
  it('is deleted at once, and a worker forgets the URL and the responses of all of them', async () => {
    const endpoint = await add();
    await addDeliveries(endpoint, 3000, 'delivered');
    await addAttempt();
    await addDeliveries(endpoint, 3000, 'pending');
    await queueNewest();
    expect(await endpoints().delete(endpoint)).toBe(true);
    expect([await endpoints().get(endpoint), await endpoints().list(account.id), await endpoints().delete(endpoint)]).toEqual([null, [], false]);
    expect([await endpoints().test(endpoint, 'job.completed'), await endpoints().update(endpoint, { enabled: true })]).toEqual([null, null]);
    expect(await world.sql`SELECT 1 FROM webhook_secrets WHERE endpoint_id = ${endpoint.id}`).toHaveLength(0);
    // The request itself deals with a thousand.
    expect(await kept()).toBe(5000);
    expect((await endpoints().forgetDeleted(200)).done).toEqual([endpoint.id]);
    expect(await kept()).toBe(4000);
    while ((await endpoints().forgetDeleted(200)).done.length > 0);
    expect(await deliveries()).toEqual([
      { state: 'delivered', url: null, count: 3000 },
      { state: 'stopped', url: null, count: 3000 },
    ]);
    expect(await world.sql`SELECT 1 FROM webhook_attempts WHERE response_body IS NOT NULL`).toHaveLength(0);
    expect(await queued()).toBe(0);
    expect(await world.sql`SELECT 1 FROM webhook_endpoints WHERE id = ${endpoint.id}`).toHaveLength(0);
    expect((await auditEntries(world.store, { accountId: account.id, limit: 1 }))[0]).toMatchObject({ kind: 'webhook_endpoint.deleted' });
  });

  it('gets nothing once it is deleted, although its deliveries are not stopped yet', async () => {
    const endpoint = await add();
    await addDeliveries(endpoint, 2000, 'pending');
    await endpoints().delete(endpoint);
    const [left] = await world.sql<{ id: string }[]>`SELECT id FROM webhook_deliveries WHERE account_id = ${account.id} AND url IS NOT NULL LIMIT 1`;
    expect(await world.store.deliveries.begin(left!.id)).toBeNull();
    expect(await queued()).toBe(0);
    expect(await world.store.deliveries.isGone(left!.id)).toBe(true);
    await expect(world.store.deliveries.resend(left!.id)).rejects.toThrow('was deleted');
    // One that is being sent is left for the next time, and holds up no other.
    await world.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM webhook_deliveries WHERE id = ${left!.id} FOR UPDATE`;
      while ((await endpoints().forgetDeleted(200)).done.length > 0);
      expect(await kept()).toBe(1);
    });
    await endpoints().forgetDeleted(200);
    expect(await kept()).toBe(0);
  });

  it('is disabled in short transactions', async () => {
    const endpoint = await add();
    await addDeliveries(endpoint, 3000, 'pending');
    // Until the last one, which waits for the lock of the endpoint, others may use it.
    await world.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM webhook_endpoints WHERE id = ${endpoint.id} FOR SHARE`;
      const disabled = endpoints().update(endpoint, { enabled: false });
      await eventually(async () => (await deliveries()).every(({ state }) => state === 'stopped'));
      expect(await endpoints().get(endpoint)).toMatchObject({ enabled: true });
      return { disabled };
    }).then(({ disabled }) => disabled);
    expect(await endpoints().get(endpoint)).toMatchObject({ enabled: false });
    expect(await deliveries()).toEqual([{ state: 'stopped', url, count: 3000 }]);
  });

  it('gets a new URL and is disabled', async () => {
    const endpoint = await add();
    await addDeliveries(endpoint, many, 'pending');
    await queueNewest();
    await endpoints().update(endpoint, { url: `${url}?new` });
    expect(await deliveries()).toEqual([{ state: 'pending', url: `${url}?new`, count: many }]);
    expect(await queued()).toBe(1);
    await endpoints().update(endpoint, { enabled: false });
    expect(await deliveries()).toEqual([{ state: 'stopped', url: `${url}?new`, count: many }]);
    expect(await queued()).toBe(0);
  });
});

describe('the endpoints of closed accounts', () => {
  it('are deleted although one of them cannot be', async () => {
    const stuck = await add();
    await Promise.all([add(), add()]);
    await world.store.accounts.close(account.id);
    await world.sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this endpoint stays'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON webhook_endpoints FOR EACH ROW WHEN (old.id = '${stuck.id}') EXECUTE FUNCTION refuse()`);
    const { found, done, failures } = await endpoints().deleteOfClosed(200);
    expect([found, done.length, failures]).toEqual([3, 2, [expect.objectContaining({ cause: expect.objectContaining({ message: 'this endpoint stays' }) })]]);
    expect((await endpoints().list(account.id)).map(({ id }) => id)).toEqual([stuck.id]);
    await world.sql`DROP TRIGGER refuse ON webhook_endpoints`;
    expect((await endpoints().deleteOfClosed(200)).done).toEqual([stuck.id]);
  });
});
