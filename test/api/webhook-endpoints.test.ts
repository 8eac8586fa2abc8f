/** Webhook endpoints by the API and the console: one set of calls, shown by two sides. Deliveries: test/jobs/webhooks.test.ts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsoleDeliveryDetail, WebhookEndpoint, WebhookEndpointList, WebhookEndpointSecret } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { type Api, errorOf, makeApi, type RequestOptions } from '../helpers/http.ts';
import { auditEntries } from '../helpers/worker-world.ts';

const url = 'https://hooks.example.com/reelmend?token=t0ken';
const path = '/v1/webhook-endpoints';

const create = async (api: Api, json: object = { url }, options: RequestOptions = {}) =>
  (await (await api.request(path, { method: 'POST', json, ...options })).json()) as WebhookEndpointSecret;
const list = async (api: Api, options: RequestOptions = {}) => (await (await api.request(path, options)).json()) as WebhookEndpointList;

describe('webhook endpoints of a key', () => {
  it('show their secret once', async () => {
    const api = makeApi();
    const response = await api.request(path, { method: 'POST', json: { url, description: 'Orders' } });
    expect(response.status).toBe(201);
    const { endpoint, secret, service_signature } = (await response.json()) as WebhookEndpointSecret;
    expect(response.headers.get('Location')).toBe(`${path}/${endpoint.id}`);
    expect(endpoint).toMatchObject({ url, events: ['job.completed', 'job.failed'], description: 'Orders', enabled: true, sandbox: false });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(service_signature.switches_at).toBeNull();
    const shown = await api.request(`${path}/${endpoint.id}`);
    expect(await shown.json()).toEqual(endpoint);
    const { data } = await list(api);
    expect(data).toEqual([endpoint]);
    expect(JSON.stringify(data)).not.toContain('whsec_');
  });

  it('are changed field by field, rotated, switched, tested and deleted, and the audit log has it all without the URL', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'secure', { name: 'ops' });
    const { endpoint, secret } = await create(api, { url }, { key });
    const at = `${path}/${endpoint.id}`;
    const send = (method: string, suffix = '', json?: object) =>
      api.request(`${at}${suffix}`, { method, key, ...(json === undefined ? {} : { json }) });
    const changed = await send('PATCH', '', { events: ['job.failed', 'job.failed'], enabled: false });
    expect(await changed.json()).toEqual({ ...endpoint, events: ['job.failed'], enabled: false });
    // The same again is no change.
    expect((await send('PATCH', '', { enabled: false })).status).toBe(200);
    expect((await send('PATCH', '', {})).status).toBe(200);
    const rotation = await send('POST', '/secret/rotation');
    expect(rotation.status).toBe(201);
    const rotated = (await rotation.json()) as WebhookEndpointSecret;
    expect(rotated.secret).not.toBe(secret);
    expect(Date.parse(rotated.service_signature.switches_at!) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    for (let i = 0; i < 2; i += 1) expect((await send('POST', '/secret/switch')).status).toBe(200);
    const test = await send('POST', '/test', { event: 'job.completed' });
    expect(test.status).toBe(202);
    expect(await test.json()).toEqual({ delivery_id: expect.stringMatching(/^evt_/) });
    expect(await (await send('DELETE')).json()).toEqual({ id: endpoint.id, deleted: true });
    expect((await list(api, { key })).data).toEqual([]);
    const log = (await (await api.request('/v1/audit-log', { key })).json()) as { data: { kind: string; data: object }[] };
    expect(log.data.map(({ kind }) => kind).reverse()).toEqual(
      ['created', 'changed', 'secret_rotated', 'secret_switched', 'deleted'].map((what) => `webhook_endpoint.${what}`),
    );
    for (const { data } of log.data) expect(data).toMatchObject({ endpoint_id: endpoint.id, key_name: 'ops' });
    expect(JSON.stringify(log)).not.toMatch(/hooks\.example|whsec_/);
  });

  it('400 url_not_allowed for a URL that is not public', async () => {
    const api = makeApi();
    const { endpoint } = await create(api);
    for (const bad of ['http://127.0.0.1/x', 'http://169.254.169.254/', 'https://user:pw@hooks.example.com/']) {
      for (const [method, at] of [['POST', path], ['PATCH', `${path}/${endpoint.id}`]] as const) {
        const response = await api.request(at, { method, json: { url: bad } });
        expect(response.status, bad).toBe(400);
        expect(await errorOf(response)).toMatchObject({ code: 'url_not_allowed', param: '/url' });
      }
    }
    expect((await list(api)).data).toEqual([endpoint]);
  });

  it('400 invalid_request for no event, an unknown one, and a description of two lines', async () => {
    const api = makeApi();
    for (const bad of [{ events: [] }, { events: ['job.started'] }, { description: 'a\nb' }, { description: 'x'.repeat(201) }]) {
      const response = await api.request(path, { method: 'POST', json: { url, ...bad } });
      expect([response.status, (await errorOf(response)).code], JSON.stringify(bad)).toEqual([400, 'invalid_request']);
    }
  });

  it('404 webhook_endpoint_not_found for one of the other mode, of another account, and for none', async () => {
    const api = makeApi();
    const { endpoint } = await create(api);
    const other = makeApi();
    const attempts: [Api, string, RequestOptions][] = [
      [api, endpoint.id, { key: api.keys.test }],
      [other, endpoint.id, {}],
      [api, newId('hook'), {}],
      [api, 'x', {}],
    ];
    for (const [from, id, options] of attempts) {
      for (const [method, suffix, json] of [
        ['GET', '', undefined],
        ['PATCH', '', { enabled: false }],
        ['DELETE', '', undefined],
        ['POST', '/secret/rotation', undefined],
        ['POST', '/secret/switch', undefined],
        ['POST', '/test', { event: 'job.failed' }],
      ] as const) {
        const response = await from.request(`${path}/${id}${suffix}`, { method, ...options, ...(json === undefined ? {} : { json }) });
        expect(response.status, `${method} ${suffix}`).toBe(404);
        expect((await errorOf(response)).code).toBe('webhook_endpoint_not_found');
      }
    }
    expect((await list(api)).data).toEqual([endpoint]);
    expect((await list(api, { key: api.keys.test })).data).toEqual([]);
  });

  it('409 webhook_endpoint_limit_reached: ten in each mode, however many are made at once', async () => {
    const api = makeApi();
    const responses = await Promise.all(Array.from({ length: 12 }, () => api.request(path, { method: 'POST', json: { url } })));
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 10 }, () => 201), 409, 409]);
    const refused = responses.find(({ status }) => status === 409)!;
    expect((await errorOf(refused)).code).toBe('webhook_endpoint_limit_reached');
    expect((await api.request(path, { method: 'POST', json: { url }, key: api.keys.test })).status).toBe(201);
  });
});

describe('webhook endpoints in the console', () => {
  let world: ConsoleWorld;
  let ours: Person;
  let stranger: Person;
  beforeAll(async () => {
    world = await makeConsole();
    [ours, stranger] = await Promise.all([world.person(), world.person()]);
  });
  beforeEach(() => world.sql`DELETE FROM rate_limits`);
  afterAll(() => world.close());
  const base = '/console/api/webhook-endpoints';

  it('are made in either mode, changed, rotated, switched, tested and deleted by people', async () => {
    const { browser } = ours;
    const test = await browser.post<WebhookEndpointSecret>(base, { mode: 'test', request: { url } });
    const live = await browser.post<WebhookEndpointSecret>(base, { mode: 'live', request: { url, events: ['job.failed'] } });
    expect([test.endpoint.sandbox, live.endpoint.sandbox]).toEqual([true, false]);
    expect((await browser.call<WebhookEndpointList>(base)).data).toEqual([live.endpoint, test.endpoint]);
    const at = `${base}/${live.endpoint.id}`;
    const changed = await browser.call<WebhookEndpoint>(at, { method: 'PATCH', json: { description: 'Orders' } });
    expect(changed).toEqual({ ...live.endpoint, description: 'Orders' });
    const rotated = await browser.post<WebhookEndpointSecret>(`${at}/secret/rotation`);
    expect(rotated.service_signature.switches_at).not.toBeNull();
    expect(await browser.post<WebhookEndpoint>(`${at}/secret/switch`)).toEqual(changed);
    const { delivery_id } = await browser.post<{ delivery_id: string }>(`${at}/test`, { event: 'job.failed' });
    const { delivery, request } = await browser.call<ConsoleDeliveryDetail>(`/console/api/webhooks/deliveries/${delivery_id}`);
    expect(delivery).toMatchObject({ job_id: null, endpoint_id: live.endpoint.id, url, event: 'job.failed', state: 'pending' });
    expect(request.body).toBe('{"event":"job.failed","job_id":"job_00000000000000000000000000","status":"error"}');
    await browser.call(at, { method: 'DELETE' });
    const gone = await browser.request(`/console/api/webhooks/deliveries/${delivery_id}/resend`, { method: 'POST' });
    expect([gone.status, (await errorOf(gone)).code]).toEqual([409, 'delivery_not_resendable']);
    const [entry] = await auditEntries(world.store, { accountId: ours.accountId, limit: 1 });
    expect(entry).toMatchObject({ kind: 'webhook_endpoint.deleted', data: { user_id: ours.userId } });
  });

  it('of another account are not there', async () => {
    const { endpoint } = await stranger.browser.post<WebhookEndpointSecret>(base, { mode: 'live', request: { url } });
    const response = await ours.browser.request(`${base}/${endpoint.id}`, { method: 'DELETE' });
    expect(response.status).toBe(404);
    expect((await ours.browser.call<WebhookEndpointList>(base)).data.map(({ id }) => id)).not.toContain(endpoint.id);
  });

  it('400 url_not_allowed names the field, 409 for the eleventh', async () => {
    const { browser } = await world.person();
    const make = (url: string) => browser.request(base, { method: 'POST', json: { mode: 'live', request: { url } } });
    const bad = await make('ftp://hooks.example.com/x');
    expect(await errorOf(bad)).toMatchObject({ code: 'url_not_allowed', param: '/request/url' });
    for (let i = 0; i < 10; i += 1) expect((await make(url)).status).toBe(201);
    const refused = await make(url);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([409, 'webhook_endpoint_limit_reached']);
  });
});
