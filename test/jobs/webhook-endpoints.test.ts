/** Webhooks to the endpoints of an account, beside the URLs of its jobs: which events each gets, and what becomes of pending ones. */
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import type { Account, CreateWebhookEndpoint } from '../../src/store/types.ts';
import { eventually } from '../helpers/wait.ts';
import { opensslHmac, type Received, type Receiver, setUpWebhooks } from '../helpers/webhook-suite.ts';
import type { Workshop } from '../helpers/worker-fakes.ts';
import { auditEntries, fundedAccount, type World } from '../helpers/worker-world.ts';

let world: World;
let shop: Workshop;
let account: Account;
let receiver: Receiver;
let received: Received[];
let url: string;
const { startWorker, create, delivery, settled, secret } = setUpWebhooks({ use: (suite) => ({ world, shop, account, receiver, received, url } = suite) });

describe('a webhook endpoint', () => {
  const endpoints = () => world.store.webhookEndpoints;
  const add = async (change: Partial<CreateWebhookEndpoint> = {}) =>
    endpoints().create({
      ...{ accountId: account.id, mode: 'live', url, events: ['job.completed', 'job.failed'], description: '' },
      ...change,
    });
  const all = () => world.store.deliveries.page({ accountId: account.id, limit: 20 });
  const everySettled = async (count: number) => {
    await eventually(async () => {
      const list = await all();
      return list.length === count && list.every(({ state }) => state !== 'pending');
    });
    return all();
  };

  it('gets the events of every job of its mode, each signed with its own secret, beside the URL of the job', async () => {
    const made = [await add(), await add()];
    await add({ mode: 'test' });
    const job = await create();
    await startWorker();
    const deliveries = await everySettled(3);
    expect(new Set(deliveries.map(({ endpointId }) => endpointId))).toEqual(new Set([null, ...made.map(({ endpoint }) => endpoint.id)]));
    const ids = new Set(received.map(({ headers }) => headers['webhook-id']));
    expect(ids.size).toBe(3);
    const secrets = [await secret(), ...made.map((each) => each.secret)];
    for (const { headers, body } of received) {
      expect(JSON.parse(body)).toEqual({ event: 'job.completed', job_id: job.id, status: 'done' });
      const sent = deliveries.find(({ id }) => id === headers['webhook-id'])!;
      const own = sent.endpointId === null ? secrets[0] : made.find(({ endpoint }) => endpoint.id === sent.endpointId)!.secret;
      for (const each of secrets) {
        const verify = () => new Webhook(each).verify(body, headers);
        if (each === own) expect(verify()).toBeTruthy();
        else expect(verify).toThrow();
      }
      expect(headers['x-service-signature']).toBe(opensslHmac(body, own!));
    }
  });

  it('gets only the events that it wants, none when it is disabled, and none of other accounts', async () => {
    const stranger = await fundedAccount(world.store, 1);
    await add({ accountId: stranger.id });
    const { endpoint: failures } = await add({ events: ['job.failed', 'job.failed'] });
    const { endpoint: disabled } = await add();
    await endpoints().update({ accountId: account.id, id: disabled.id }, { enabled: false });
    expect(failures.events).toEqual(['job.failed']);
    await startWorker();
    const done = await create({ webhookUrl: null });
    await eventually(async () => (await world.store.jobs.get(account.id, 'live', done.id))?.status === 'done');
    shop.media.onEnhance = () => Promise.reject(new ReelmendError('unreadable_video', 'No.'));
    const failed = await create({ webhookUrl: null });
    const [only] = await everySettled(1);
    expect(only).toMatchObject({ jobId: failed.id, event: 'job.failed', endpointId: failures.id });
    expect(await world.store.deliveries.page({ accountId: stranger.id, limit: 5 })).toEqual([]);
  });

  it('is retried by itself: one that is away holds up no other', async () => {
    const { endpoint: away } = await add({ url: 'http://169.254.169.254/hook' });
    const { endpoint: good } = await add();
    await startWorker([0, 0.1]);
    await create({ webhookUrl: null });
    const deliveries = await everySettled(2);
    const state = (id: string) => deliveries.find(({ endpointId }) => endpointId === id)!;
    expect(state(good.id)).toMatchObject({ state: 'delivered' });
    expect(state(away.id)).toMatchObject({ state: 'dead', attempts: [{ failure: 'the URL is not allowed.' }, {}] });
  });

  it('signs with both secrets after a rotation, and X-Service-Signature with the old one until the switch', async () => {
    const { endpoint, secret: old } = await add();
    const which = { accountId: account.id, id: endpoint.id };
    await startWorker();
    const sign = async () => {
      const before = received.length;
      await endpoints().test(which, 'job.completed');
      await eventually(() => received.length > before);
      return received.at(-1)!;
    };
    const { secret: fresh, switchesAt } = (await endpoints().rotateSecret(which, { user_id: 'user_1' }))!;
    expect(switchesAt!.getTime() - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    const during = await sign();
    for (const each of [old, fresh]) expect(new Webhook(each).verify(during.body, during.headers)).toBeTruthy();
    expect(during.headers['x-service-signature']).toBe(opensslHmac(during.body, old));
    await endpoints().switchSecret(which);
    const switched = await sign();
    expect(switched.headers['x-service-signature']).toBe(opensslHmac(switched.body, fresh));
    await world.sql`UPDATE webhook_secrets SET expires_at = now() WHERE endpoint_id = ${endpoint.id} AND expires_at IS NOT NULL`;
    const after = await sign();
    expect(() => new Webhook(old).verify(after.body, after.headers)).toThrow();
    expect(new Webhook(fresh).verify(after.body, after.headers)).toBeTruthy();
    const kinds = (await auditEntries(world.store, { accountId: account.id, limit: 2 })).map(({ kind }) => kind);
    expect(kinds).toEqual(['webhook_endpoint.secret_switched', 'webhook_endpoint.secret_rotated']);
  });

  it('keeps secrets until they sign nothing any more', async () => {
    const { endpoint } = await add();
    const which = { accountId: account.id, id: endpoint.id };
    const { secret: middle } = (await endpoints().rotateSecret(which))!;
    const { secret: fresh } = (await endpoints().rotateSecret(which))!;
    await world.store.webhookSecrets.rotate(account.id);
    await world.sql`UPDATE webhook_secrets SET expires_at = now() WHERE id = (SELECT min(id) FROM webhook_secrets WHERE endpoint_id = ${endpoint.id})`;
    expect(await world.store.webhookSecrets.prune()).toBeGreaterThanOrEqual(1);
    expect(await world.sql`SELECT 1 FROM webhook_secrets WHERE endpoint_id = ${endpoint.id}`).toHaveLength(2);
    expect(await world.store.webhookSecrets.signingOfEndpoint({ accountId: account.id, endpointId: endpoint.id })).toMatchObject({ secrets: [fresh, middle], serviceSecret: middle });
    expect((await world.store.webhookSecrets.overview(account.id)).all).toHaveLength(2);
  });

  it('has at most ten secrets that sign, and gets another when the first one has ended', async () => {
    const { endpoint } = await add();
    const which = { accountId: account.id, id: endpoint.id };
    const rotate = () => endpoints().rotateSecret(which);
    for (let secrets = 1; secrets < 10; secrets++) await rotate();
    await world.sql`UPDATE webhook_secrets SET expires_at = expires_at - interval '1 hour'
      WHERE id = (SELECT min(id) FROM webhook_secrets WHERE endpoint_id = ${endpoint.id})`;
    const refusal = (await rotate().catch((error: unknown) => error)) as ReelmendError;
    expect(refusal).toMatchObject({ code: 'rate_limit_exceeded', message: expect.stringContaining('There are 10 secrets that sign') });
    expect(refusal.retryAfterS).toBeGreaterThan(22.5 * 3600);
    expect(refusal.retryAfterS).toBeLessThanOrEqual(23 * 3600);
    // Those of the account are counted by themselves.
    expect(await world.store.webhookSecrets.rotate(account.id)).not.toBeNull();
    await world.sql`UPDATE webhook_secrets SET expires_at = now() WHERE id = (SELECT min(id) FROM webhook_secrets WHERE endpoint_id = ${endpoint.id})`;
    expect(await rotate()).not.toBeNull();
    await expect(rotate()).rejects.toThrow('There are 10 secrets that sign');
  });

  it('gets test events, also twice and of a job that no job is', async () => {
    const { endpoint, secret: own } = await add({ events: ['job.failed'] });
    await endpoints().update({ accountId: account.id, id: endpoint.id }, { enabled: false });
    await startWorker();
    for (const event of ['job.completed', 'job.completed', 'job.failed'] as const) {
      await endpoints().test({ accountId: account.id, id: endpoint.id }, event);
    }
    await everySettled(3);
    for (const { headers, body } of received) {
      expect(new Webhook(own).verify(body, headers)).toMatchObject({ job_id: 'job_00000000000000000000000000' });
    }
    expect(received.map(({ body }) => (JSON.parse(body) as { event: string }).event).sort()).toEqual([
      'job.completed',
      'job.completed',
      'job.failed',
    ]);
  });

  it('with a new URL gets what is pending there, and by a resend as well', async () => {
    receiver.answer = (response) => response.writeHead(500).end();
    const { endpoint } = await add({ url: `${url}&old=1` });
    const which = { accountId: account.id, id: endpoint.id };
    await startWorker([0, 1]);
    await endpoints().test(which, 'job.completed');
    await eventually(() => received.length === 1);
    await eventually(async () => (await all())[0]!.attempts.length === 1);
    receiver.answer = (response) => response.writeHead(204).end();
    await endpoints().update(which, { url });
    const [sent] = await everySettled(1);
    expect(sent).toMatchObject({ state: 'delivered', url });
    await endpoints().update(which, { url: `${url}&newest=1` });
    expect(await world.store.deliveries.resend(sent!.id)).toMatchObject({ url: `${url}&newest=1` });
    expect(await settled('delivered')).toMatchObject({ url: `${url}&newest=1` });
  });

  it('with a new URL gets there what is resent in the same moment', async () => {
    const { endpoint } = await add({ url: `${url}&old=1` });
    const which = { accountId: account.id, id: endpoint.id };
    await startWorker([0]);
    await endpoints().test(which, 'job.completed');
    const { id } = await settled('delivered');
    await shop.close();
    const waiting = (count: number) =>
      eventually(async () => (await world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).length >= count);
    // Both wait for their last lock, the head of the audit log and the row of the queue, and then commit.
    const { changes } = await world.sql.begin(async (tx) => {
      await tx`INSERT INTO graphile_worker._private_jobs (task_id, key, run_at) SELECT id, ${`webhook:${id}`}, now() FROM graphile_worker._private_tasks WHERE identifier = 'webhook_deliver'`;
      await tx`SELECT 1 FROM event_heads WHERE account_id = ${account.id} FOR UPDATE`;
      const resent = world.store.deliveries.resend(id);
      await waiting(1);
      const updated = endpoints().update(which, { url });
      await waiting(2);
      return { changes: [resent, updated] };
    });
    await Promise.all(changes);
    await startWorker();
    expect(await settled('delivered')).toMatchObject({ url, attempts: [{}, {}] });
  });

  it.each([410, 500])('with a new URL is sent there at once although its last attempt at the old one ends with %d meanwhile', async (status) => {
    const held = Promise.withResolvers<void>();
    receiver.answer = (response, count) => void (count === 1 ? held.promise : Promise.resolve()).then(() => response.writeHead(count === 1 ? status : 204).end());
    const { endpoint } = await add({ url: `${url}&old=1` });
    const which = { accountId: account.id, id: endpoint.id };
    await startWorker([0]);
    await endpoints().test(which, 'job.completed');
    await eventually(() => received.length === 1);
    await endpoints().update(which, { url });
    held.resolve();
    expect(await settled('delivered')).toMatchObject({ url, attempts: [{ status }, { status: 204 }] });
  });

  it.each([
    ['disabled', 'keeps'],
    ['deleted', 'forgets'],
  ] as const)('that is %s stops what is pending and %s its URL', async (how, _what) => {
    receiver.answer = (response) => response.writeHead(500).end('t0ken');
    const { endpoint } = await add();
    const which = { accountId: account.id, id: endpoint.id };
    await startWorker([0, 600]);
    await create({ webhookUrl: null });
    await eventually(async () => (await delivery())?.attempts.length === 1);
    if (how === 'deleted') expect(await endpoints().delete(which)).toBe(true);
    else await endpoints().update(which, { enabled: false });
    const stopped = await delivery();
    expect(stopped).toMatchObject({ state: 'stopped', endpointId: endpoint.id, url: how === 'deleted' ? null : url });
    expect(await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE key = ${`webhook:${stopped.id}`}`).toHaveLength(0);
    if (how === 'disabled') return;
    expect(JSON.stringify(await all())).not.toContain('t0ken');
    expect(await world.sql`SELECT 1 FROM webhook_secrets WHERE endpoint_id = ${endpoint.id}`).toHaveLength(0);
    await expect(world.store.deliveries.resend(stopped.id)).rejects.toThrow('was deleted');
    expect([await endpoints().get(which), await endpoints().delete(which)]).toEqual([null, false]);
  });

  it('that is disabled while an attempt runs gets a resend at once after the attempt has ended', async () => {
    const { endpoint } = await add();
    const which = { accountId: account.id, id: endpoint.id };
    const id = (await endpoints().test(which, 'job.completed'))!;
    const sent = (await world.store.deliveries.begin(id))!;
    await endpoints().update(which, { enabled: false });
    const attempt = { at: new Date(), durationMs: 1, status: 500, failure: 'the server answered with status 500.', responseBody: null };
    await world.store.deliveries.settle(sent, attempt, { state: 'pending', inS: 600 });
    expect(await delivery()).toMatchObject({ state: 'stopped', attempts: [{ status: 500 }] });
    await world.store.deliveries.resend(id);
    expect(await world.store.deliveries.begin(id)).toMatchObject({ id, failedAttempts: 0 });
    await world.store.deliveries.release(id);
    await startWorker();
    await settled('delivered');
  });

  it('that is deleted is forgotten by a worker, however many deliveries it has', async () => {
    const { endpoint } = await add();
    await world.sql`INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event, url, state, next_at)
      SELECT 'evt_' || lpad(n::text, 26, '0'), ${account.id}, ${endpoint.id}, 'job.completed', ${url}, 'pending', now() FROM generate_series(1, 2500) n`;
    await endpoints().delete({ accountId: account.id, id: endpoint.id });
    await startWorker();
    await eventually(async () => (await world.sql`SELECT 1 FROM webhook_endpoints WHERE id = ${endpoint.id}`).length === 0);
    expect(await world.sql`SELECT state, url, count(*)::int FROM webhook_deliveries WHERE account_id = ${account.id} GROUP BY 1, 2`).toEqual([{ state: 'stopped', url: null, count: 2500 }]);
    expect(received).toEqual([]);
  });

  it('goes with its account', async () => {
    const { endpoint } = await add();
    await world.store.accounts.close(account.id);
    expect((await endpoints().deleteOfClosed(200)).done).toEqual([endpoint.id]);
    expect(await endpoints().list(account.id)).toEqual([]);
  });
});
