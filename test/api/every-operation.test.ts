/** What every operation answers alike: refusals of the key, of the pace, of the body, and failures of the service. */
import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { type Api, errorOf, makeApi, refusedBodies, type RequestOptions } from '../helpers/http.ts';
import { operations, type Operation } from '../helpers/http-contract.ts';

const bodies: Readonly<Record<string, unknown>> = {
  createJob: { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' },
  createQuote: { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' },
  createPreview: { video_url: 'https://media.example.com/a.mp4', settings: [{ resolution: '1080p' }] },
  createUpload: { file_name: 'a.mov', size_bytes: 5 },
  completeUpload: { sha256: '0'.repeat(64) },
  updateAccount: { retention_days: 7 },
  createWebhookEndpoint: { url: 'https://hooks.example.com/' },
  updateWebhookEndpoint: { enabled: false },
  testWebhookEndpoint: { event: 'job.completed' },
};
/** Those of the console are in console-every-operation.test.ts. */
const forKeys = operations.filter(({ path }) => !path.startsWith('/console/'));
const having = (status: string) => forKeys.filter(({ statuses }) => statuses.includes(status));
const secured = having('401');
const withBody = forKeys.filter(({ id }) => id in bodies);

/** Prefix of the id that an operation's path takes. */
const idKind = (path: string) =>
  path.startsWith('/v1/uploads/') ? 'upl' : path.startsWith('/v1/previews/') ? 'prv' : path.startsWith('/v1/webhook-endpoints/') ? 'hook' : 'job';

function send(api: Api, { id, method, path }: Operation, options: RequestOptions = {}) {
  const target = path.replace('{id}', newId(idKind(path))).replace('{key}', 'outputs/a.mp4').replace('{file}', 'start.js');
  const json = id in bodies && options.body === undefined ? { json: bodies[id] } : {};
  return api.request(target, { method: method.toUpperCase(), key: api.keys.liveSecure, ...json, ...options });
}

describe('operations with a body are the ones the document gives one', () => {
  it('so that none is forgotten here', () => {
    expect(withBody.map(({ id }) => id).sort()).toEqual(having('415').map(({ id }) => id).sort());
  });
});

describe.each(secured)('$id', (operation) => {
  it('says in every answer what is left of the quota', async () => {
    const api = makeApi();
    const quotas = { create: 120, read: 600, other: 240 };
    const name = ['createJob', 'createPreview'].includes(operation.id) ? 'create' : operation.method === 'get' ? 'read' : 'other';
    for (const calls of [1, 2]) {
      const response = await send(api, operation);
      expect(response.status).not.toBe(429);
      expect(response.headers.get('RateLimit-Policy')).toBe(`"${name}";q=${quotas[name]};w=60`);
      expect(api.store.taken).toHaveLength(calls);
      const { remaining, resetS } = api.store.taken.at(-1)!.result;
      expect(response.headers.get('RateLimit')).toBe(`"${name}";r=${remaining};t=${resetS}`);
      if (calls === 1) expect(remaining).toBe(quotas[name] - 1);
    }
    expect(new Set(api.store.taken.map(({ keyId }) => keyId)).size).toBe(1);
  });

  it('429 rate_limit_exceeded with Retry-After, before anything of the request is validated', async () => {
    const api = makeApi();
    api.store.rateLimitResult = { allowed: false, remaining: 0, resetS: 59, retryAfterS: 1.2 };
    const response = await send(api, operation, { body: operation.method === 'get' ? undefined! : '{' });
    expect(response.status).toBe(429);
    expect(await errorOf(response)).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
    expect(response.headers.get('Retry-After')).toBe('2');
    expect(response.headers.get('RateLimit')).toMatch(/^"(create|read|other)";r=0;t=2$/);
  });

  it('counts the calls of an account that is not approved, and none of an unknown key', async () => {
    const api = makeApi({ account: { approvalStatus: 'pending' } });
    const refused = await send(api, operation);
    expect(refused.status).toBe(403);
    expect(refused.headers.has('RateLimit')).toBe(true);
    expect(api.store.taken).toHaveLength(1);
    const unknown = await send(api, operation, { key: makeApi().keys.live });
    expect(unknown.status).toBe(401);
    expect(unknown.headers.has('RateLimit')).toBe(false);
    expect(api.store.taken).toHaveLength(1);
  });
});

/** Signed links lead to files on the disk: no database is asked. */
const asksDatabase = having('503').filter(({ id }) => !['uploadPart', 'downloadFile'].includes(id));

describe.each(asksDatabase)('$id', (operation) => {
  it('503 service_unavailable while the database cannot answer', async () => {
    const api = makeApi();
    api.store.failure = Object.assign(new Error('canary'), { code: 'ECONNREFUSED' });
    api.store.healthy = false;
    const response = await send(api, operation);
    expect(response.status).toBe(503);
    const { code, message } = await errorOf(response);
    expect(code).toBe('service_unavailable');
    expect(message).not.toContain('canary');
    expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
  });
});

describe.each(having('500'))('$id', (operation) => {
  it('500 internal_error for a failure of the service, and nothing of its cause', async () => {
    const api = makeApi();
    // Every operation writes its line of the access log, even those that ask nobody else.
    api.logger.debug = api.logger.info = () => {
      throw new Error('canary: disk full');
    };
    const response = await send(api, operation);
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toMatchObject({ code: 'internal_error', type: 'api_error' });
    expect(JSON.stringify(api.logged.filter(({ level }) => level === 'error'))).toContain('internal_error');
  });
});

describe.each(withBody)('$id', (operation) => {
  it('413 payload_too_large', async () => {
    const response = await send(makeApi(), operation, { body: 'x'.repeat(65_537) });
    expect(response.status).toBe(413);
    expect((await errorOf(response)).code).toBe('payload_too_large');
  });

  it('415 unsupported_media_type', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/json; charset=utf-16']) {
      const response = await send(makeApi(), operation, { body: '{}', headers: { 'Content-Type': type } });
      expect(response.status, type).toBe(415);
      expect((await errorOf(response)).code).toBe('unsupported_media_type');
    }
  });

  it('400 for what is no JSON, no object, or an object with a field too many', async () => {
    for (const [body, code] of refusedBodies(bodies[operation.id] as object)) {
      const headers = { 'Content-Type': 'application/json' };
      const response = await send(makeApi(), operation, { body, headers });
      expect(response.status, body).toBe(400);
      expect((await errorOf(response)).code).toBe(code);
    }
  });
});
