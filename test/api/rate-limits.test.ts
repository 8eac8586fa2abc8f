import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { makeApi } from '../helpers/http.ts';

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

  it('are per key', async () => {
    const api = makeApi();
    await api.request('/v1/account', { key: api.keys.live });
    const response = await api.request('/v1/account', { key: api.keys.test });
    expect(response.headers.get('RateLimit')).toMatch(/r=599;/);
  });

  it('17.19: hold for all keys of an account together as well, at five times the quota of one', async () => {
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
      { verdict: { allowed: true, remaining: 3.9, resetS: 0.2, retryAfterS: 0 }, header: '"read";r=3;t=1' },
      { verdict: { allowed: true, remaining: -0.1, resetS: 60, retryAfterS: 0 }, header: '"read";r=0;t=60' },
      { verdict: { allowed: false, remaining: 0.5, resetS: 60, retryAfterS: 0.01 }, header: '"read";r=0;t=1' },
    ];
    for (const { verdict, header } of cases) {
      api.store.verdict = verdict;
      const response = await api.request('/v1/account');
      expect(response.headers.get('RateLimit')).toBe(header);
      expect(response.headers.get('Retry-After')).toBe(verdict.allowed ? null : '1');
    }
  });

  it('do not count addresses that need no key, nor methods that an address does not have', async () => {
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
