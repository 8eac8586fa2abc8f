import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { errorOf, makeApi } from '../helpers/http.ts';

describe('rate limits', () => {
  it('are configurable by class', async () => {
    const api = makeApi({ options: { rateLimits: { create: 5, other: 7 } } });
    const json = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
    const policies = await Promise.all(
      [
        api.request('/v1/jobs', { method: 'POST', json }),
        api.request('/v1/jobs'),
        api.request(`/v1/jobs/${newId('job')}`, { method: 'DELETE' }),
        api.request('/v1/quotes', { method: 'POST', json }),
      ].map(async (response) => (await response).headers.get('RateLimit-Policy')),
    );
    expect(policies).toEqual(['"create";q=5;w=60', '"read";q=600;w=60', '"other";q=7;w=60', '"other";q=7;w=60']);
  });

  it('of an account stand above those of the service, and the account says so', async () => {
    const api = makeApi({ account: { quotas: { create_per_minute: 9, upload_quota_bytes: 5000 } }, options: { rateLimits: { create: 5, read: 70 } } });
    const created = await api.request('/v1/jobs', { method: 'POST', json: {} });
    expect(created.headers.get('RateLimit-Policy')).toBe('"create";q=9;w=60');
    const read = await api.request('/v1/account');
    expect(read.headers.get('RateLimit-Policy')).toBe('"read";q=70;w=60');
    expect(api.store.taken.map(({ account }) => account?.limit)).toEqual([45, 350]);
    const { limits } = (await read.json()) as { limits: object };
    expect(limits).toMatchObject({
      ...{ upload_quota_bytes: 5000, jobs_per_day: null, parallel_enhancements: null },
      calls_per_minute: { create: 9, read: 70, other: 240 },
    });
  });

  it('of live jobs per day count what is created, and nothing else', async () => {
    const api = makeApi({ account: { quotas: { jobs_per_day: 2 } } });
    const create = (json: object, key = api.keys.live, headers = {}) => api.request('/v1/jobs', { method: 'POST', json: { video_url: 'https://media.example.com/a.mp4', resolution: '1080p', ...json }, key, headers });
    const preview = { video_url: 'https://media.example.com/a.mp4', settings: [{ resolution: '1080p' }] };
    const once = { 'Idempotency-Key': 'once' };
    const statuses = [await create({ max_credits: 1 }), await create({}, api.keys.test), await create({}, api.keys.live, once), await create({}, api.keys.live, once)];
    expect(statuses.map(({ status }) => status)).toEqual([402, 201, 201, 201]);
    expect((await api.request('/v1/previews', { method: 'POST', json: preview })).status).toBe(201);
    const refused = await create({});
    expect([refused.status, (await errorOf(refused)).message]).toEqual([429, expect.stringMatching(/^This account can create 2 jobs and previews per day\. Retry after \d+ s\.$/)]);
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(40_000);
    expect((await create({}, api.keys.test)).status).toBe(201);
  });

  it('of live jobs per day are given back when the job cannot be paid', async () => {
    const api = makeApi({ account: { quotas: { jobs_per_day: 1 }, credits: 0 } });
    const json = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
    const statuses = [];
    for (let call = 0; call < 3; call++) statuses.push((await api.request('/v1/jobs', { method: 'POST', json })).status);
    expect(statuses).toEqual([402, 402, 402]);
  });

  it('are per key', async () => {
    const api = makeApi();
    await api.request('/v1/account', { key: api.keys.live });
    const response = await api.request('/v1/account', { key: api.keys.test });
    expect(response.headers.get('RateLimit')).toMatch(/r=599;/);
  });

  it('hold for all keys of an account together as well, at five times the quota of one', async () => {
    const api = makeApi({ options: { rateLimits: { create: 5 } } });
    await api.request('/v1/account');
    await api.request('/v1/jobs', { method: 'POST', json: {} });
    expect(api.store.taken.map(({ rateClass, account }) => ({ rateClass, account }))).toEqual([
      { rateClass: 'read', account: { id: api.account.id, limit: 3000 } },
      { rateClass: 'create', account: { id: api.account.id, limit: 25 } },
    ]);
  });

  it('say whole numbers that promise nothing too early', async () => {
    const api = makeApi();
    const cases = [
      { result: { allowed: true, remaining: 3.9, resetS: 0.2, retryAfterS: 0 }, header: '"read";r=3;t=1' },
      { result: { allowed: true, remaining: -0.1, resetS: 60, retryAfterS: 0 }, header: '"read";r=0;t=60' },
      { result: { allowed: false, remaining: 0.5, resetS: 60, retryAfterS: 0.01 }, header: '"read";r=0;t=1' },
    ];
    for (const { result, header } of cases) {
      api.store.rateLimitResult = result;
      const response = await api.request('/v1/account');
      expect(response.headers.get('RateLimit')).toBe(header);
      expect(response.headers.get('Retry-After')).toBe(result.allowed ? null : '1');
    }
  });

  it('do not count paths that need no key, nor methods that a path does not have', async () => {
    const api = makeApi();
    for (const path of ['/healthz', '/readyz', '/docs', '/v1/openapi.json', '/.well-known/jwks.json', '/nowhere']) {
      expect((await api.request(path)).headers.has('RateLimit'), path).toBe(false);
    }
    await api.request('/v1/jobs', { method: 'PUT' });
    await api.request('/v1/jobs', { method: 'OPTIONS' });
    expect(api.store.taken).toEqual([]);
  });

  it('count HEAD as the GET that it is', async () => {
    const api = makeApi();
    const response = await api.request('/v1/account', { method: 'HEAD' });
    expect(response.headers.get('RateLimit')).toMatch(/^"read";r=599;/);
  });
});
