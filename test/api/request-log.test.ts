/** The request log: what is kept of each request, who sees it, and that it holds up nobody. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestLogPage } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import type { LoggedRequest } from '../../src/domain/request-log.ts';
import { redact, redactError } from '../../src/domain/request-log.ts';
import type { RequestFacts } from '../../src/http/deps.ts';
import { createRequestLog } from '../../src/http/request-log-writer.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { type Api, errorOf, makeApi, type RequestOptions } from '../helpers/http.ts';

const job = { video_url: 'https://media.example.com/a.mp4?signature=canary', resolution: '1080p' };

async function logged(api: Api, query = '', options: RequestOptions = {}) {
  await api.requestLog.flush();
  const response = await api.request(`/v1/request-log${query}`, options);
  expect(response.status).toBe(200);
  return (await response.json()) as RequestLogPage;
}

describe('the request log', () => {
  it('has every request with a valid key, with what it named or created, also refused ones', async () => {
    const api = makeApi();
    const created = await api.request('/v1/jobs', { method: 'POST', json: job, headers: { 'X-Request-Id': 'mine-1' } });
    const { id } = (await created.json()) as { id: string };
    await api.request(`/v1/jobs/${id}`);
    await api.request(`/v1/jobs/${id}/result`);
    await api.request('/v1/jobs', { method: 'POST', json: { ...job, resolution: '8k' } });
    await api.request('/v1/jobs', { method: 'POST', key: api.store.addKey('live', 'standard') });
    await api.request('/v1/account', { key: null });
    const { data } = await logged(api);
    expect(data.map(({ method, path, status, resource_id, error }) => [method, path, status, resource_id, error?.code])).toEqual([
      ['POST', '/v1/jobs', 400, null, 'invalid_request'],
      ['GET', '/v1/jobs/{id}/result', 409, id, 'job_not_done'],
      ['GET', '/v1/jobs/{id}', 200, id, undefined],
      ['POST', '/v1/jobs', 201, id, undefined],
    ]);
    expect(data[0]!.error).toMatchObject({ param: '/resolution' });
    expect(data.at(-1)).toMatchObject({ request_id: 'mine-1', sandbox: false, key_id: expect.stringMatching(/^key_/) });
    expect(data.at(-1)!.duration_ms).toBeGreaterThanOrEqual(0);
  });

  it('has calls over the limit, and of accounts that are not approved', async () => {
    const api = makeApi({ account: { approvalStatus: 'pending' } });
    await api.request('/v1/jobs');
    api.store.rateLimitResult = { allowed: false, remaining: 0, resetS: 59, retryAfterS: 1 };
    await api.request('/v1/jobs', { key: api.keys.test });
    api.store.rateLimitResult = undefined;
    const { data } = await logged(api, '', { key: api.keys.test });
    expect(data.map(({ status, error }) => [status, error?.code])).toEqual([[429, 'rate_limit_exceeded']]);
    const sql = await api.store.sql();
    const all = await sql<{ status: number }[]>`SELECT status FROM request_log WHERE account_id = ${api.account.id} ORDER BY id`;
    expect(all.map(({ status }) => status)).toEqual([403, 429]);
  });

  it('keeps nothing of a body that may be secret or names a person', async () => {
    const api = makeApi();
    const bodies: [string, object][] = [
      ['/v1/jobs', { ...job, metadata: { name: 'canary' }, webhook_url: 'https://canary.example.com/' }],
      ['/v1/jobs', { ...job, video_url: 'http://127.0.0.1/canary' }],
      ['/v1/jobs', { ...job, colour: 'canary', enhancements: { denoise: 'canary' } }],
      ['/v1/uploads', { file_name: 'canary.mov', size_bytes: 5 }],
      ['/v1/webhook-endpoints', { url: 'https://canary.example.com/', description: 'canary' }],
    ];
    for (const [path, json] of bodies) await api.request(path, { method: 'POST', json });
    const { data } = await logged(api);
    expect(data).toHaveLength(bodies.length);
    expect(JSON.stringify(data)).not.toContain('canary');
    expect(data.at(-1)!.request_body).toEqual({ video_url: '…', resolution: '1080p', metadata: '…', webhook_url: '…' });
    const stored = await (await api.store.sql())`SELECT 1 FROM request_log l WHERE l::text LIKE '%canary%'`;
    expect(stored).toHaveLength(0);
  });

  it('is filtered by key, request, resource and status, in pages', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'standard');
    const id = newId('job');
    await api.request(`/v1/jobs/${id}`, { key });
    for (let i = 0; i < 4; i += 1) await api.request('/v1/account', { headers: { 'X-Request-Id': `call-${i}` } });
    const find = async (query: string) => (await logged(api, query, { key: api.keys.liveSecure })).data;
    const [missing] = await find('?status=404');
    expect(missing).toMatchObject({ resource_id: id, status: 404 });
    expect((await find(`?resource_id=${id}`)).map((entry) => entry.id)).toEqual([missing!.id]);
    const preview = newId('prv');
    await api.request(`/v1/previews/${preview}`, { key });
    expect(await find(`?resource_id=${preview}`)).toMatchObject([{ resource_id: preview, status: 404 }]);
    expect((await find(`?key_id=${missing!.key_id}`)).map((entry) => entry.resource_id)).toEqual([preview, id]);
    expect((await find('?request_id=call-2')).map(({ path }) => path)).toEqual(['/v1/account']);
    expect((await find('?status=4xx')).every(({ status }) => status === 404)).toBe(true);
    const first = await logged(api, '?limit=2&status=2xx');
    expect(first).toMatchObject({ has_more: true, next_cursor: first.data[1]!.id });
    const next = await logged(api, `?limit=2&status=2xx&starting_after=${first.next_cursor}`);
    expect(next.data.map((entry) => entry.id)).not.toContain(first.data[1]!.id);
    for (const bad of ['status=6xx', 'status=4x', 'key_id=x', 'resource_id=acct_1', 'limit=101', 'colour=blue']) {
      const response = await api.request(`/v1/request-log?${bad}`);
      expect([response.status, (await errorOf(response)).code], bad).toEqual([400, 'invalid_request']);
    }
  });

  it('takes what the database does not, such as U+0000 in the name of a parameter', async () => {
    const api = makeApi();
    for (const query of ['%00=1', '%ED%A0%80=1', `${'x'.repeat(2000)}=1`]) {
      expect((await api.request(`/v1/jobs?${query}`)).status, query).toBe(400);
    }
    const { data } = await logged(api);
    expect(data.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(data[2]!.error!.message).toContain('\uFFFD');
    expect(data[0]!.error!.message.length).toBeLessThanOrEqual(300);
  });

  it('holds up nobody for the name of a field that is as long as a body may be', async () => {
    const api = makeApi();
    const refused = await api.request('/v1/jobs', { method: 'POST', json: { ...job, ['a.'.repeat(32_000)]: 1 } });
    expect((await errorOf(refused)).code).toBe('invalid_request');
    const start = performance.now();
    await api.requestLog.flush();
    expect(performance.now() - start).toBeLessThan(1500);
    const [entry] = (await logged(api)).data;
    expect(entry!.error).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(/^There is no field "(a\.)+/) });
  });

  it('shows a key its own mode and account alone', async () => {
    const api = makeApi();
    await api.request('/v1/account');
    await api.request('/v1/account', { key: api.keys.test });
    expect((await logged(api, '', { key: api.keys.test })).data.map(({ sandbox }) => sandbox)).toEqual([true]);
    const other = makeApi();
    expect((await logged(other)).data).toEqual([]);
  });
});

describe('what is written', () => {
  const facts = (change: Partial<RequestFacts> = {}): RequestFacts => ({
    ...{ accountId: 'acct_1', keyId: 'key_1', mode: 'live', requestId: 'req_1', at: new Date(), method: 'GET', path: '/v1/jobs' },
    ...{ resourceId: null, status: 200, durationMs: 1, error: null, bodyText: undefined },
    ...change,
  });

  function makeLog(limits: { perAccount?: number; total?: number } = {}) {
    const batches: LoggedRequest[][] = [];
    const warned: object[] = [];
    const held: { wait: Promise<void>; fail: boolean } = { wait: Promise.resolve(), fail: false };
    const append = async (entries: readonly LoggedRequest[]) => {
      await held.wait;
      if (held.fail) throw new Error('the database is away');
      batches.push([...entries]);
    };
    const log = createRequestLog({ store: { append }, logger: { warn: (what) => void warned.push(what) }, intervalMs: 2 ** 30, ...limits });
    return { log, batches, warned, held };
  }

  it('comes in batches, and one batch at a time', async () => {
    const { log, batches, held } = makeLog();
    let go = () => {};
    held.wait = new Promise((resolve) => (go = resolve));
    for (let i = 0; i < 3; i += 1) log.add(facts());
    const first = log.flush();
    await Promise.resolve();
    for (let i = 0; i < 4; i += 1) log.add(facts());
    const second = log.flush();
    expect(batches).toEqual([]);
    go();
    await Promise.all([first, second]);
    expect(batches.map((batch) => batch.length)).toEqual([3, 4]);
    await log.flush();
    expect(batches).toHaveLength(2);
  });

  it('is bounded for each account and in all; what is too much is dropped and counted', async () => {
    const { log, batches, warned } = makeLog({ perAccount: 3, total: 5 });
    for (let i = 0; i < 10; i += 1) log.add(facts());
    for (let i = 0; i < 10; i += 1) log.add(facts({ accountId: 'acct_2' }));
    await log.close();
    expect(batches[0]!.map(({ accountId }) => accountId)).toEqual(['acct_1', 'acct_1', 'acct_1', 'acct_2', 'acct_2']);
    expect(warned).toEqual([{ dropped: 15 }]);
  });

  it('is given up when the database is away, without an error for anybody', async () => {
    const { log, batches, warned, held } = makeLog();
    held.fail = true;
    log.add(facts());
    await log.flush();
    held.fail = false;
    log.add(facts());
    await log.close();
    expect([batches.length, warned.length]).toEqual([1, 1]);
  });

  it('leaves out bodies of more than 8 KB and what is no object', async () => {
    const { log, batches } = makeLog();
    for (const bodyText of [JSON.stringify({ a: 'x'.repeat(9000) }), '[1]', '{', 'null']) log.add(facts({ bodyText }));
    await log.flush();
    expect(batches[0]!.map(({ requestBody }) => requestBody)).toEqual([null, null, null, null]);
  });
});

describe('redact', () => {
  it('keeps numbers, truth values and words of the contract, and no other text', () => {
    const body = { resolution: '4k', secure: true, n: 1, x: null, model: 'svc_live_Secret', events: ['job.failed', 'Canary'], deep: { a: { b: { c: { d: 1 } } } } };
    expect(redact(body)).toEqual({ resolution: '4k', secure: true, n: 1, x: null, model: '…', events: ['job.failed', '…'], deep: { a: { b: { c: '…' } } } });
  });

  it('takes fields that are named like those of every object', () => {
    const body: unknown = JSON.parse('{"constructor": "canary", "toString": 1, "__proto__": {"x": 1}}');
    expect(Object.entries(redact(body)!)).toEqual([
      ['constructor', '…'],
      ['toString', 1],
    ]);
  });

  it('leaves out names that are no names of fields, and what is too long', () => {
    expect(redact({ 'a b': 1, ['x'.repeat(41)]: 1, ok: Array.from({ length: 30 }, (_, n) => n) })).toEqual({ ok: Array.from({ length: 20 }, (_, n) => n) });
  });

  it('takes addresses out of messages', () => {
    const error = { code: 'video_unreachable', message: 'No answer of https://a.example/x?y=1 came.', param: null };
    expect(redactError(error)).toEqual({ ...error, message: 'No answer of … came.' });
    // A URL that goes on behind what is kept.
    const cut = redactError({ ...error, message: `${'x'.repeat(280)} https://media.example.com/canary?signature=canary` });
    expect(cut.message).toBe(`${'x'.repeat(280)} …`);
  });
});

describe('the request log in the console', () => {
  let world: ConsoleWorld;
  let ours: Person;
  beforeAll(async () => {
    world = await makeConsole();
    ours = await world.person();
  });
  afterAll(() => world.close());

  it('shows both modes, or one, of the account alone', async () => {
    const entry = (accountId: string, mode: 'live' | 'test'): LoggedRequest => ({
      ...{ id: newId('log'), accountId, keyId: newId('key'), mode, requestId: 'req_1', at: new Date(), method: 'GET', path: '/v1/jobs' },
      ...{ resourceId: null, status: 200, durationMs: 3, error: null, requestBody: { resolution: '4k' } },
    });
    const stranger = await world.person();
    await world.store.requestLog.append([entry(ours.accountId, 'live'), entry(ours.accountId, 'test'), entry(stranger.accountId, 'live')]);
    const read = async (query = '') => (await ours.browser.call<RequestLogPage>(`/console/api/request-log${query}`)).data;
    expect((await read()).map(({ sandbox }) => sandbox)).toEqual([true, false]);
    expect((await read('?mode=live')).map(({ sandbox, request_body }) => [sandbox, request_body])).toEqual([[false, { resolution: '4k' }]]);
    expect(await read('?status=404')).toEqual([]);
  });
});
