import { describe, expect, it } from 'vitest';
import { ReelmendError, type ErrorCode } from '../../src/domain/errors.ts';
import { errorOf, makeApi, source } from '../helpers/http.ts';

const input = { video_url: 'https://media.example.com/holiday.mp4', resolution: '1080p' };

describe('POST /v1/jobs refused', () => {
  const refusals: ErrorCode[] = [
    'url_not_allowed',
    'video_unreachable',
    'unreadable_video',
    'video_too_long',
    'video_too_large',
  ];
  for (const code of refusals) {
    it(`400 ${code}, nothing charged`, async () => {
      const api = makeApi({ measure: () => Promise.reject(new ReelmendError(code, 'No.')) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code, message: 'No.', param: '/video_url' });
      expect((await api.store.account()).credits).toBe(10_000);
    });
  }

  it('a child that crashed or hung means a video that cannot be read or reached', async () => {
    const translations: [ErrorCode, string][] = [
      ['processing_failed', 'unreadable_video'],
      ['processing_timeout', 'video_unreachable'],
    ];
    for (const [thrown, code] of translations) {
      const cause = new Error('the media child ended with signal SIGSEGV');
      const api = makeApi({ measure: () => Promise.reject(new ReelmendError(thrown, 'x', { cause })) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(await errorOf(response)).toMatchObject({ code });
      // The response blames the video. If the fault may be ours, the log has the cause.
      const warnings = api.logged.filter(({ level }) => level === 'warn');
      expect(warnings.map(({ facts }) => (facts as { err: Error }).err)).toEqual(thrown === 'processing_failed' ? [cause] : []);
    }
  });

  it('400 unreadable_video for a duration that is none', async () => {
    for (const duration of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const api = makeApi({ measure: async () => ({ ...source, duration }) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect((await errorOf(response)).code).toBe('unreadable_video');
    }
  });

  it('503 with Retry-After when this service is busy, which blames no field', async () => {
    const busy = new ReelmendError('service_unavailable', 'Too many videos are being measured; retry shortly.', { retryAfterS: 5 });
    const api = makeApi({ measure: () => Promise.reject(busy) });
    for (const path of ['/v1/jobs', '/v1/quotes']) {
      const response = await api.request(path, { method: 'POST', json: input });
      expect(response.status).toBe(503);
      expect(response.headers.get('Retry-After')).toBe('5');
      expect(await errorOf(response)).toMatchObject({ code: 'service_unavailable', type: 'api_error' });
    }
  });

  it('503 when it had to wait for its turn and was not measured in the time that was left', async () => {
    const api = makeApi({
      options: { measureTimeoutMs: 40 },
      measure: (_video, { signal, onStart }) => {
        onStart?.(20);
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    const response = await api.request('/v1/quotes', { method: 'POST', json: input });
    expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '5']);
    expect((await errorOf(response)).code).toBe('service_unavailable');
  });

  it('400 video_unreachable at the deadline, even from a measurement that does not listen', async () => {
    let aborted = false;
    const api = makeApi({
      options: { measureTimeoutMs: 30 },
      measure: (_url, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
        }),
    });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'video_unreachable', message: expect.stringContaining('-movflags +faststart') as string });
    expect(aborted).toBe(true);
  });

  it('stops measuring, and logs no failure, when the caller goes away', async () => {
    const caller = new AbortController();
    let reason: unknown;
    const api = makeApi({
      measure: (_url, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(signal.reason);
          });
          setTimeout(() => caller.abort(new Error('gone')), 5);
        }),
    });
    const headers = { Authorization: `Bearer ${api.keys.live}`, 'Content-Type': 'application/json' };
    await api.app.request('/v1/jobs', { method: 'POST', headers, body: JSON.stringify(input), signal: caller.signal });
    expect(reason).toMatchObject({ message: 'gone' });
    expect(api.logged.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await api.store.allJobs()).toHaveLength(0);
  });

  it('402 without enough credits', async () => {
    const api = makeApi({ account: { credits: 125 } });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(402);
    expect(await errorOf(response)).toMatchObject({ code: 'insufficient_credits', type: 'billing_error' });
    expect((await api.store.account()).credits).toBe(125);
  });

  it('402 max_credits_exceeded for a job that costs more than it may, before anything is stored or charged', async () => {
    const headers = { 'Idempotency-Key': 'order 7' };
    const refusals = [
      { extra: {}, price: 126 },
      { extra: { resolution: '4k' }, price: 252 },
      { extra: { resolution: '4k', secure: true }, price: 504 },
    ];
    const api = makeApi();
    for (const { extra, price } of refusals) {
      for (const max_credits of [0, price - 1]) {
        const json = { ...input, ...extra, max_credits };
        const response = await api.request('/v1/jobs', { method: 'POST', key: api.keys.liveSecure, headers, json });
        expect(response.status).toBe(402);
        expect(await errorOf(response)).toMatchObject({
          code: 'max_credits_exceeded',
          message: `The job would cost ${price} credits; \`max_credits\` allows ${max_credits}.`,
          type: 'billing_error',
          param: '/max_credits',
        });
      }
    }
    expect((await api.store.account()).credits).toBe(10_000);
    expect(await api.store.allJobs()).toEqual([]);
    // The refusals left the Idempotency-Key free.
    const json = { ...input, max_credits: 126 };
    const accepted = await api.request('/v1/jobs', { method: 'POST', headers, json });
    expect(accepted.status).toBe(201);
    expect(await accepted.json()).toMatchObject({ credits_charged: 126 });
    const replayed = await api.request('/v1/jobs', { method: 'POST', headers, json });
    expect(replayed.headers.get('Idempotent-Replayed')).toBe('true');
    expect((await api.store.account()).credits).toBe(9_874);
  });

  it('402 max_credits_exceeded in test mode, by the price in live mode', async () => {
    const api = makeApi();
    const statusOf = async (extra: object) => (await api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json: { ...input, ...extra } })).status;
    expect(await statusOf({ max_credits: 29 })).toBe(402);
    expect(await statusOf({ max_credits: 30 })).toBe(201);
    expect(await statusOf({ max_credits: 30, duration_seconds: 11 })).toBe(402);
  });

  it('403 for a secure job with a Standard key, in both modes and before measuring', async () => {
    const api = makeApi();
    for (const key of [api.keys.live, api.keys.test]) {
      const response = await api.request('/v1/jobs', { method: 'POST', key, json: { ...input, secure: true } });
      expect(response.status).toBe(403);
      expect(await errorOf(response)).toMatchObject({
        code: 'secure_tier_required',
        type: 'permission_error',
        param: '/secure',
      });
    }
    expect(api.measured).toEqual([]);
  });

  it('500 for a measurement that fails for reasons of its own, which stay in the log', async () => {
    const api = makeApi({
      measure: () => Promise.reject(Object.assign(new Error('canary 10.0.0.7'), { code: 'ECONNREFUSED' })),
    });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('canary');
    expect(api.logged.find(({ level }) => level === 'error')?.facts).toMatchObject({
      err: { message: 'canary 10.0.0.7' },
    });
  });
});
