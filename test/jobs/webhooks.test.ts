/** Webhooks to a real receiver through the guarded client, verified by a library that is not ours. */
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createNetClient, type GuardedClient } from '../../src/net/index.ts';
import type { Account, CreateJob, CreateWebhookEndpoint } from '../../src/store/types.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { createWorkshop, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { auditEntries, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

interface Received {
  headers: Record<string, string>;
  body: string;
  at: number;
}

let world: World;
let shop: Workshop;
let account: Account;
let receiver: Server;
let received: Received[] = [];
let answer: (response: ServerResponse, count: number) => void;
let url: string;
let net: GuardedClient;

beforeAll(async () => {
  world = await createWorld();
  receiver = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook?token=t0ken`;
});
afterAll(async () => {
  receiver.close();
  await world.close();
});
beforeEach(async () => {
  received = [];
  answer = (response) => response.writeHead(204).end();
  net = createNetClient({ allowHosts: [new URL(url).host], timeouts: { connectMs: hangMs, headersMs: hangMs, idleMs: hangMs } });
  shop = await createWorkshop(world);
  account = await fundedAccount(world.store, 300);
});
afterEach(async () => {
  await shop.close();
  await net.close();
  receiver.closeAllConnections();
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  received.push({ headers: request.headers as Record<string, string>, body, at: performance.now() });
  answer(response, received.length);
}

/** A worker whose downloads and pictures are stand-ins and whose webhooks are real. */
async function startWorker(scheduleS: readonly number[] = [0, 0.2, 0.4, 0.6], timeoutMs = hangMs): Promise<void> {
  const mixed = { ...net, download: shop.net.download.bind(shop.net) };
  const webhooks = { timeoutMs, scheduleS, overdueS: 1 };
  await shop.worker({ deps: { net: mixed }, tuning: { webhooks } }).start();
}
const create = async (change: Partial<CreateJob> = {}) =>
  (await world.store.jobs.create(jobInput(account, { webhookUrl: url, ...change }))).job;
const delivery = async () => (await world.store.deliveries.page({ accountId: account.id, limit: 10 }))[0]!;
const settled = async (state: string) => {
  await eventually(async () => (await delivery())?.state === state);
  return delivery();
};
const secret = async () => (await world.store.webhookSecrets.signing(account.id)).secrets[0]!;
/** What anybody with the secret and OpenSSL makes of a body. */
const opensslHmac = (body: string, key: string) =>
  execFileSync('openssl', ['dgst', '-sha256', '-hmac', key], { input: body, encoding: 'utf8' }).trim().split(' ').at(-1);

describe('a webhook', () => {
  for (const [event, status] of [
    ['job.completed', 'done'],
    ['job.failed', 'error'],
  ] as const) {
    it(`${event} has exactly three fields and both signatures`, async () => {
      if (status === 'error')
        shop.media.onEnhance = () => Promise.reject(new ReelmendError('unreadable_video', 'No.'));
      const job = await create();
      await startWorker();
      const sent = await settled('delivered');
      const [{ headers, body }] = received as [Received];
      expect(body).toBe(`{"event":"${event}","job_id":"${job.id}","status":"${status}"}`);
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': sent.id });
      const key = Buffer.from((await secret()).slice('whsec_'.length), 'base64');
      expect(new Webhook(await secret()).verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => new Webhook(otherSecret).verify(body, headers)).toThrow();
      expect(() => new Webhook(key).verify(`${body} `, headers)).toThrow();
      expect(sent).toMatchObject({ jobId: job.id, event, url, attempts: [{ number: 1, status: 204, failure: null }] });
    });
  }

  it('its X-Service-Signature is what `openssl dgst -hmac` prints for the secret as it is shown', async () => {
    await create();
    await startWorker();
    await settled('delivered');
    const [{ headers, body }] = received as [Received];
    expect(headers['x-service-signature']).toBe(opensslHmac(body, await secret()));
  });

  it.each([-10, 10])('has the time of the database, and passes a receiver, although the clock of the worker is %i minutes off', async (minutes) => {
    const started = Date.now();
    await create();
    vi.useFakeTimers({ toFake: ['Date'], now: started + minutes * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    answer = (response, count) => response.writeHead(count === 1 ? 503 : 204, { 'retry-after': new Date(started + 3000).toUTCString() }).end();
    await startWorker();
    const sent = await settled('delivered');
    vi.useRealTimers();
    for (const { headers, body } of received) expect(new Webhook(await secret()).verify(body, headers)).toEqual(JSON.parse(body));
    // The receiver asked to be left alone for 2 to 3 s.
    expect(received).toHaveLength(2);
    expect(received[1]!.at - received[0]!.at).toBeGreaterThan(1000);
    for (const { at } of sent.attempts) expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(60_000);
  });

  it('is not sent for a job without a webhook URL, nor twice', async () => {
    await create({ webhookUrl: null });
    const job = await create();
    await startWorker();
    await settled('delivered');
    await eventually(async () => {
      const { jobs } = await world.store.jobs.list({ accountId: account.id, mode: 'live', limit: 5 });
      return jobs.every(({ status }) => status === 'done');
    });
    expect(received).toHaveLength(1);
    expect(received[0]!.body).toContain(job.id);
  });

  /** What a delivery that is made now carries. */
  async function signedNow() {
    const before = received.length;
    await create();
    await eventually(() => received.length > before);
    const { headers, body } = received.at(-1)!;
    const service = (each: string) => opensslHmac(body, each) === headers['x-service-signature'];
    const standard = (each: string) => {
      try {
        return new Webhook(each).verify(body, headers) !== null;
      } catch {
        return false;
      }
    };
    return { service, standard };
  }

  const endOverlap = () =>
    world.sql`UPDATE webhook_secrets SET expires_at = now() WHERE account_id = ${account.id} AND expires_at IS NOT NULL`;

  it('after a rotation X-Service-Signature stays with the old secret until the overlap ends', async () => {
    const old = await secret();
    await startWorker();
    const fresh = (await world.store.webhookSecrets.rotate(account.id))!;
    expect(fresh).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(fresh).not.toBe(old);
    const during = await signedNow();
    expect([old, fresh].map(during.service)).toEqual([true, false]);
    expect([old, fresh].map(during.standard)).toEqual([true, true]);
    const { all, switchesAt } = await world.store.webhookSecrets.overview(account.id);
    expect(switchesAt).toEqual(all[1]!.expiresAt);
    await endOverlap();
    const after = await signedNow();
    expect([old, fresh].map(after.service)).toEqual([false, true]);
    expect([old, fresh].map(after.standard)).toEqual([false, true]);
    expect(await world.store.webhookSecrets.overview(account.id)).toMatchObject({ switchesAt: null, secrets: [fresh] });
  });

  it('or until the account switches, which webhook-signature does not notice', async () => {
    const old = await secret();
    await startWorker();
    const fresh = (await world.store.webhookSecrets.rotate(account.id))!;
    expect(await world.store.webhookSecrets.switchNow(account.id, { user_id: 'user_1' })).toBe(true);
    expect(await world.store.webhookSecrets.switchNow(account.id)).toBe(false);
    const [event] = await auditEntries(world.store, { accountId: account.id, limit: 1 });
    expect(event).toMatchObject({ kind: 'webhook_secret.switched', data: { user_id: 'user_1' } });
    const switched = await signedNow();
    expect([old, fresh].map(switched.service)).toEqual([false, true]);
    expect([old, fresh].map(switched.standard)).toEqual([true, true]);
    const newest = (await world.store.webhookSecrets.rotate(account.id))!;
    const again = await signedNow();
    expect([old, fresh, newest].map(again.service)).toEqual([false, true, false]);
    expect([old, fresh, newest].map(again.standard)).toEqual([true, true, true]);
  });
});
const otherSecret = `whsec_${Buffer.alloc(32).toString('base64')}`;

describe('a delivery that fails', () => {
  it('is tried again under the same id, later and later, until it is dead', async () => {
    answer = (response) => response.writeHead(500).end('out of order');
    await create();
    await startWorker([0, 0.3, 0.9]);
    const dead = await settled('dead');
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([dead.id]));
    for (const { headers, body } of received) expect(new Webhook(await secret()).verify(body, headers)).toBeTruthy();
    expect(received[1]!.at - received[0]!.at).toBeGreaterThan(260);
    expect(received[2]!.at - received[1]!.at).toBeGreaterThan(530);
    expect(dead.attempts.map(({ number, status, failure, responseBody }) => ({ number, status, failure, responseBody }))).toEqual(
      [1, 2, 3].map((number) => ({
        number,
        status: 500,
        failure: 'the server answered with status 500.',
        responseBody: 'out of order',
      })),
    );
  });

  for (const status of [301, 307, 400, 404, 429, 503]) {
    it(`with status ${status} is tried again, and delivered when that passes`, async () => {
      answer = (response, count) =>
        count === 1 ? response.writeHead(status, { location: url }).end() : response.writeHead(200).end('thanks');
      await create();
      await startWorker();
      const { attempts } = await settled('delivered');
      expect(attempts.map((attempt) => attempt.status)).toEqual([status, 200]);
      expect(received).toHaveLength(2);
    });
  }

  it('with 410 is stopped at once', async () => {
    answer = (response) => response.writeHead(410).end();
    await create();
    await startWorker();
    expect(await settled('stopped')).toMatchObject({ nextAt: null, attempts: [{ status: 410 }] });
    expect(received).toHaveLength(1);
  });

  it('waits as long as the receiver asks for', async () => {
    answer = (response, count) => response.writeHead(count === 1 ? 503 : 200, { 'retry-after': '2' }).end();
    await create();
    await startWorker();
    await settled('delivered');
    expect(received[1]!.at - received[0]!.at).toBeGreaterThan(1950);
  });

  it('for want of an answer, of a server, or of an allowed URL says why', async () => {
    const cases = [
      ['the server did not answer in time.', () => {}, url],
      ['the server broke the connection off.', (response: ServerResponse) => response.destroy(), url],
      ['the URL is not allowed.', () => {}, 'http://169.254.169.254/hook'],
    ] as const;
    await startWorker([0], 3000);
    for (const [failure, reaction, webhookUrl] of cases) {
      answer = reaction;
      account = await fundedAccount(world.store, 30);
      await create({ webhookUrl });
      expect((await settled('dead')).attempts).toMatchObject([{ status: null, failure, responseBody: null }]);
    }
  });

  it('reads no endless answer and keeps its beginning', async () => {
    const megabytes = Buffer.alloc(5 * 2 ** 20, 'ä\0');
    answer = (response) => response.writeHead(200).end(megabytes);
    await create();
    await startWorker();
    const { attempts } = await settled('delivered');
    expect(attempts[0]!.responseBody!.length).toBeLessThan(2049);
    expect(attempts[0]!.responseBody).toMatch(/^(ä\uFFFD)+/);
  });
});

describe('an operator', () => {
  it('sends a dead delivery again, with the same id and a whole schedule', async () => {
    answer = (response) => response.writeHead(500).end();
    await create();
    await startWorker([0, 0.1]);
    const dead = await settled('dead');
    answer = (response, count) => response.writeHead(count === 3 ? 500 : 200).end();
    expect(await world.store.deliveries.resend(dead.id)).toMatchObject({ state: 'pending' });
    const { attempts } = await settled('delivered');
    expect(attempts.map(({ number, status }) => `${number} ${status}`)).toEqual(['1 500', '2 500', '3 500', '4 200']);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await world.store.deliveries.resend('evt_00000000000000000000000000')).toBeNull();
  });

  it.each([[[0, 600]], [[0]]])('sends one again at once while an attempt of its old schedule %j fails', async (scheduleS) => {
    const asked = Promise.withResolvers<void>();
    answer = (response, count) => void (count === 1 ? asked.promise : Promise.resolve()).then(() => response.writeHead(count === 1 ? 500 : 200).end());
    await create();
    await startWorker(scheduleS);
    await eventually(() => received.length === 1);
    await world.store.deliveries.resend((await delivery()).id);
    asked.resolve();
    await eventually(async () => (await delivery()).attempts.length > 0);
    expect((await delivery()).failedAttempts).toBe(0);
    const { attempts } = await settled('delivered');
    expect(attempts.map(({ status }) => status)).toEqual([500, 200]);
  });
});

describe('a delivery that is resent while an attempt runs', () => {
  const attempt = { at: new Date(), durationMs: 1, status: 500, failure: 'the server answered with status 500.', responseBody: null };
  const queuedInS = async (id: string) =>
    (await world.sql<{ in_s: number }[]>`SELECT extract(epoch FROM run_at - now())::float8 AS in_s FROM graphile_worker.jobs WHERE key = ${`webhook:${id}`}`)[0]!.in_s;
  /** Of a finished job, without a worker that would send it. */
  async function begun() {
    await create();
    await startWorker();
    const { id } = await settled('delivered');
    await shop.close();
    await world.store.deliveries.resend(id);
    return (await world.store.deliveries.begin(id))!;
  }

  it('waits for nothing, also if its task and the end of the attempt meet', async () => {
    const sent = await begun();
    await world.store.deliveries.resend(sent.id);
    const { settling, asking } = await world.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM graphile_worker._private_jobs WHERE key = ${`webhook:${sent.id}`} FOR UPDATE`;
      const settle = world.store.deliveries.settle(sent, attempt, { state: 'pending', inS: 600 });
      await waiting(1);
      const begin = world.store.deliveries.begin(sent.id);
      await waiting(2);
      return { settling: [settle], asking: [begin] };
    });
    await Promise.all(settling);
    expect(await asking[0]).toBeNull();
    expect(await queuedInS(sent.id)).toBeLessThan(1);
  });

  /** Until so many sessions of this database wait for a lock. */
  const waiting = (count: number) =>
    eventually(async () => {
      const rows = await world.sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return rows.length >= count;
    });
});

describe('the deletion of a job', () => {
  it('stops its pending delivery and keeps nothing of the URL or the response', async () => {
    answer = (response) => response.writeHead(500).end('t0ken');
    const job = await create();
    await startWorker([0, 600]);
    await eventually(async () => (await delivery())?.attempts.length === 1);
    await world.store.jobs.delete(account.id, 'live', job.id);
    const stopped = await delivery();
    expect(stopped).toMatchObject({ state: 'stopped', url: null, attempts: [{ status: 500, responseBody: null }] });
    expect(JSON.stringify(stopped)).not.toContain('t0ken');
    const queued = await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE key = ${`webhook:${stopped.id}`}`;
    expect(queued).toHaveLength(0);
    await expect(world.store.deliveries.resend(stopped.id)).rejects.toThrow('was deleted');
  });
});

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
    answer = (response) => response.writeHead(500).end();
    const { endpoint } = await add({ url: `${url}&old=1` });
    const which = { accountId: account.id, id: endpoint.id };
    await startWorker([0, 1]);
    await endpoints().test(which, 'job.completed');
    await eventually(() => received.length === 1);
    await eventually(async () => (await all())[0]!.attempts.length === 1);
    answer = (response) => response.writeHead(204).end();
    await endpoints().update(which, { url });
    const [sent] = await everySettled(1);
    expect(sent).toMatchObject({ state: 'delivered', url });
    await endpoints().update(which, { url: `${url}&newest=1` });
    expect(await world.store.deliveries.resend(sent!.id)).toMatchObject({ url: `${url}&newest=1` });
    expect(await settled('delivered')).toMatchObject({ url: `${url}&newest=1` });
  });

  it.each([410, 500])('with a new URL is sent there at once although its last attempt at the old one ends with %d meanwhile', async (status) => {
    const held = Promise.withResolvers<void>();
    answer = (response, count) => void (count === 1 ? held.promise : Promise.resolve()).then(() => response.writeHead(count === 1 ? status : 204).end());
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
    answer = (response) => response.writeHead(500).end('t0ken');
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

  it('goes with its account', async () => {
    const { endpoint } = await add();
    await world.store.accounts.close(account.id);
    expect(await endpoints().deleteOfClosed(200)).toEqual([endpoint.id]);
    expect(await endpoints().list(account.id)).toEqual([]);
  });
});

describe('a worker that dies in mid-try', () => {
  for (const [what, queued] of [
    ['with its queue row', true],
    ['and whose queue row is lost', false],
  ] as const) {
    it(`${what} leaves a delivery that another makes`, async () => {
      await create();
      await startWorker([0, 0.1]);
      const { id } = await settled('delivered');
      await world.sql`UPDATE webhook_deliveries SET state = 'pending', settled_at = NULL,
        next_at = now() - interval '1 minute', busy_until = now() + interval '1500 ms' WHERE id = ${id}`;
      const payload = JSON.stringify({ deliveryId: id });
      if (queued) await world.sql`SELECT graphile_worker.add_job('webhook_deliver', ${payload}::text::json)`;
      await settled('delivered');
      expect(received).toHaveLength(2);
      expect(received[1]!.at - received[0]!.at).toBeGreaterThan(1400);
      expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    });
  }
});
