/** Webhooks to a real receiver through the guarded client, verified by a library that is not ours. */
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import type { Account } from '../../src/store/types.ts';
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
const { startWorker, create, delivery, settled, secret, useNewAccount } = setUpWebhooks({ use: (suite) => ({ world, shop, account, receiver, received, url } = suite) });

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
    // Not of the fake clock.
    const now = () => performance.timeOrigin + performance.now();
    await create();
    vi.useFakeTimers({ toFake: ['Date'], now: now() + minutes * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    receiver.answer = (response, count) => response.writeHead(count === 1 ? 503 : 204, { 'retry-after': new Date(now() + 3000).toUTCString() }).end();
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
    receiver.answer = (response) => response.writeHead(500).end('out of order');
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
      receiver.answer = (response, count) =>
        count === 1 ? response.writeHead(status, { location: url }).end() : response.writeHead(200).end('thanks');
      await create();
      await startWorker();
      const { attempts } = await settled('delivered');
      expect(attempts.map((attempt) => attempt.status)).toEqual([status, 200]);
      expect(received).toHaveLength(2);
    });
  }

  it('with 410 is stopped at once', async () => {
    receiver.answer = (response) => response.writeHead(410).end();
    await create();
    await startWorker();
    expect(await settled('stopped')).toMatchObject({ nextAt: null, attempts: [{ status: 410 }] });
    expect(received).toHaveLength(1);
  });

  it('waits as long as the receiver asks for', async () => {
    receiver.answer = (response, count) => response.writeHead(count === 1 ? 503 : 200, { 'retry-after': '2' }).end();
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
      receiver.answer = reaction;
      await useNewAccount();
      await create({ webhookUrl });
      expect((await settled('dead')).attempts).toMatchObject([{ status: null, failure, responseBody: null }]);
    }
  });

  it('reads no endless answer and keeps its beginning', async () => {
    const megabytes = Buffer.alloc(5 * 2 ** 20, 'ä\0');
    receiver.answer = (response) => response.writeHead(200).end(megabytes);
    await create();
    await startWorker();
    const { attempts } = await settled('delivered');
    expect(attempts[0]!.responseBody!.length).toBeLessThan(2049);
    expect(attempts[0]!.responseBody).toMatch(/^(ä\uFFFD)+/);
  });
});

describe('an operator', () => {
  it('sends a dead delivery again, with the same id and a whole schedule', async () => {
    receiver.answer = (response) => response.writeHead(500).end();
    await create();
    await startWorker([0, 0.1]);
    const dead = await settled('dead');
    receiver.answer = (response, count) => response.writeHead(count === 3 ? 500 : 200).end();
    expect(await world.store.deliveries.resend(dead.id)).toMatchObject({ state: 'pending' });
    const { attempts } = await settled('delivered');
    expect(attempts.map(({ number, status }) => `${number} ${status}`)).toEqual(['1 500', '2 500', '3 500', '4 200']);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await world.store.deliveries.resend('evt_00000000000000000000000000')).toBeNull();
  });

  it.each([[[0, 600]], [[0]]])('sends one again at once while an attempt of its old schedule %j fails', async (scheduleS) => {
    const asked = Promise.withResolvers<void>();
    receiver.answer = (response, count) => void (count === 1 ? asked.promise : Promise.resolve()).then(() => response.writeHead(count === 1 ? 500 : 200).end());
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
    receiver.answer = (response) => response.writeHead(500).end('t0ken');
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

describe('the secrets of an account', () => {
  const secrets = async (id: string) => (await world.sql`SELECT 1 FROM webhook_secrets WHERE account_id = ${id}`).length;

  it('go when it is closed, and none is made again', async () => {
    const stays = await fundedAccount(world.store, 0);
    await world.store.webhookSecrets.rotate(account.id);
    expect([await secrets(account.id), await secrets(stays.id)]).toEqual([2, 1]);
    await world.store.accounts.close(account.id);
    await startWorker();
    await eventually(async () => (await secrets(account.id)) === 0);
    expect(await world.store.webhookSecrets.signing(account.id)).toBeNull();
    await expect(world.store.webhookSecrets.overview(account.id)).rejects.toThrow('is closed');
    expect([await secrets(account.id), await secrets(stays.id)]).toEqual([0, 1]);
  });

  it('are gone before a webhook of a job that its closing has yet to delete: nothing is sent unsigned', async () => {
    await create();
    await startWorker();
    await settled('delivered');
    await shop.close();
    const { id } = (await world.store.deliveries.page({ accountId: account.id, limit: 1 }))[0]!;
    await world.store.deliveries.resend(id);
    await world.store.accounts.close(account.id);
    expect(await world.store.webhookSecrets.deleteOfClosed()).toBeGreaterThanOrEqual(1);
    const sent = received.length;
    await startWorker();
    const isStopped = async () => (await world.store.deliveries.get(account.id, id))?.state === 'stopped';
    const hasFailed = async () => (await world.sql`SELECT 1 FROM graphile_worker.jobs WHERE key = ${`webhook:${id}`} AND last_error LIKE '%is closed%'`).length === 1;
    await eventually(async () => (await hasFailed()) || (await isStopped()));
    await world.store.jobs.deleteOfClosed(200);
    expect(await isStopped()).toBe(true);
    expect([received.length, await secrets(account.id)]).toEqual([sent, 0]);
  });
});
