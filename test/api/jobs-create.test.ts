import { describe, expect, it } from 'vitest';
import type { Job } from '../../src/contract/types.gen.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { errorOf, installed, makeApi, source } from '../helpers/http.ts';
import { eventually } from '../helpers/wait.ts';

const input = { video_url: 'https://media.example.com/holiday.mp4', resolution: '1080p' };

describe('POST /v1/jobs 201', () => {
  it('charges what was measured, by tier and target', async () => {
    const prices = [
      { resolution: '1080p', secure: false, credits: 126 },
      { resolution: '4k', secure: false, credits: 252 },
      { resolution: '1080p', secure: true, credits: 252 },
      { resolution: '4k', secure: true, credits: 504 },
    ];
    for (const { resolution, secure, credits } of prices) {
      const api = makeApi();
      const response = await api.request('/v1/jobs', {
        method: 'POST',
        key: api.keys.liveSecure,
        json: { ...input, resolution, secure, duration_seconds: 3 },
      });
      expect(response.status).toBe(201);
      const job = (await response.json()) as Record<string, unknown>;
      expect(response.headers.get('Location')).toBe(`/v1/jobs/${String(job['id'])}`);
      expect(response.headers.has('Idempotent-Replayed')).toBe(false);
      expect(job).toMatchObject({
        status: 'queued',
        resolution,
        duration_seconds: 42,
        credits_charged: credits,
        sandbox: false,
        tier: secure ? 'secure' : 'standard',
        progress: 0,
        source,
      });
      expect((await api.store.account()).credits).toBe(10_000 - credits);
    }
  });

  it('passes on what was asked for, with the normalised URL', async () => {
    const api = makeApi({ options: { models: [installed('fine')] } });
    const response = await api.request('/v1/jobs', {
      method: 'POST',
      json: {
        ...input,
        video_url: 'https://media.example.com/a/../b c.mp4'.replace(' ', '%20'),
        webhook_url: 'https://hooks.example.com/x',
        model: 'fine',
        enhancements: { denoise: 'off', sharpen: 0.4, face_restoration: 'auto' },
        metadata: { order: 'A-1' },
      },
    });
    expect(response.status).toBe(201);
    expect(api.measured).toEqual(['https://media.example.com/b%20c.mp4']);
    const [job] = await api.store.allJobs();
    expect(job).toMatchObject({
      videoUrl: 'https://media.example.com/b%20c.mp4',
      webhookUrl: 'https://hooks.example.com/x',
      model: 'fine',
      enhancements: { denoise: 'off', sharpen: 0.4, face_restoration: 'auto' },
      metadata: { order: 'A-1' },
    });
  });

  it('returns the settings of the request, so that the same job can be made again', async () => {
    const api = makeApi({ options: { models: [installed('fine')] } });
    const settings = {
      model: 'fine',
      enhancements: { denoise: 'off', sharpen: 0.4 },
      output: { quality: 'high', max_bitrate: 8_000_000, poster: true, thumbnails: 3 },
    };
    const webhook_url = 'https://hooks.example.com/x';
    const create = (json: object) => api.request('/v1/jobs', { method: 'POST', json });
    const created = (await (await create({ ...input, ...settings, webhook_url, metadata: { order: 'A-1' } })).json()) as Job;
    expect(created.requested).toEqual(settings);
    const read = (await (await api.request(`/v1/jobs/${created.id}`)).json()) as Job;
    expect(read.requested).toEqual(settings);
    const again = await create({ video_url: input.video_url, resolution: read.resolution, metadata: read.metadata, ...read.requested });
    expect(again.status).toBe(201);
    expect(((await again.json()) as Job).requested).toEqual(settings);
    // No URL of the request is returned: it may be signed.
    for (const url of [input.video_url, webhook_url]) expect(JSON.stringify(read)).not.toContain(url);
    await api.request(`/v1/jobs/${created.id}`, { method: 'DELETE' });
    expect((await api.request(`/v1/jobs/${created.id}`)).status).toBe(404);
  });

  it('omits the settings that the request omitted', async () => {
    const api = makeApi();
    const response = await api.request('/v1/jobs', { method: 'POST', json: { ...input, enhancements: {}, output: {} } });
    expect(await response.json()).toMatchObject({ requested: {} });
  });

  it('accepts exactly 600 s and refuses a little more', async () => {
    for (const [duration, status] of [
      [600, 201],
      [600.001, 400],
    ] as const) {
      const api = makeApi({ measure: async () => ({ ...source, duration }) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(response.status).toBe(status);
      if (status === 400) expect((await errorOf(response)).code).toBe('video_too_long');
    }
  });

  it('accepts exactly 2,000,000,000 bytes and refuses one more', async () => {
    for (const [size_bytes, status] of [
      [2_000_000_000, 201],
      [2_000_000_001, 400],
    ] as const) {
      const api = makeApi({ measure: async () => ({ ...source, size_bytes }) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(response.status).toBe(status);
      if (status === 400) expect((await errorOf(response)).code).toBe('video_too_large');
    }
  });

  it('measures and charges nothing in test mode', async () => {
    for (const [hint, duration] of [
      [undefined, 10],
      [17, 17],
      [0.001, 1],
      [1.5, 2],
      [601, 600],
      [1e300, 600],
    ] as const) {
      const api = makeApi();
      const response = await api.request('/v1/jobs', {
        method: 'POST',
        key: api.keys.test,
        json: { ...input, ...(hint === undefined ? {} : { duration_seconds: hint }) },
      });
      expect(response.status).toBe(201);
      expect(await response.json()).toMatchObject({
        sandbox: true,
        credits_charged: 0,
        duration_seconds: duration,
        source: null,
      });
      expect(api.measured).toEqual([]);
      expect((await api.store.account()).credits).toBe(10_000);
    }
  });

  it('keeps how the result is to be encoded, for the worker', async () => {
    for (const output of [{}, { quality: 'high' }, { quality: 22.5, max_bitrate: 500_000, poster: true, thumbnails: 20 }]) {
      const api = makeApi();
      expect((await api.request('/v1/jobs', { method: 'POST', json: { ...input, output } })).status).toBe(201);
      expect((await api.store.allJobs())[0]?.outputSettings).toEqual(output);
    }
  });
});

describe('POST /v1/jobs with a key that is revoked while the video is measured', () => {
  it.each([
    ['/v1/jobs', input],
    ['/v1/previews', { video_url: input.video_url, settings: [{ resolution: '1080p' }] }],
  ])('%s: 401, and nothing is created or charged', async (path, json) => {
    const gate = Promise.withResolvers<typeof source>();
    const api = makeApi({ measure: () => gate.promise });
    const response = api.request(path, { method: 'POST', json });
    await eventually(() => api.measured.length === 1);
    const sql = await api.store.sql();
    await sql`UPDATE api_keys SET revoked_at = now() WHERE account_id = ${api.account.id}`;
    gate.resolve(source);
    const refused = await response;
    expect(refused.status).toBe(401);
    expect(await errorOf(refused)).toMatchObject({ code: 'invalid_api_key' });
    expect(await sql`SELECT id FROM jobs WHERE account_id = ${api.account.id}`).toEqual([]);
  });
});

describe('POST /v1/jobs of an account that is rejected while the video is measured', () => {
  it('403, and nothing is created or charged', async () => {
    const gate = Promise.withResolvers<typeof source>();
    const api = makeApi({ measure: () => gate.promise });
    const response = api.request('/v1/jobs', { method: 'POST', json: input });
    await eventually(() => api.measured.length === 1);
    const sql = await api.store.sql();
    await sql`UPDATE accounts SET approval_status = 'rejected' WHERE id = ${api.account.id}`;
    gate.resolve(source);
    const refused = await response;
    expect(refused.status).toBe(403);
    expect(await errorOf(refused)).toMatchObject({ code: 'account_pending_approval', message: expect.stringContaining('rejected') });
    expect(await sql`SELECT id FROM jobs WHERE account_id = ${api.account.id}`).toEqual([]);
  });
});

describe('POST /v1/jobs with Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'order 1' };

  it('replays the job as it is now, without measuring or charging again', async () => {
    const api = makeApi();
    const first = await api.request('/v1/jobs', { method: 'POST', json: { ...input, secure: false }, headers });
    const job = (await first.json()) as { id: string };
    await api.store.changeJob(job.id, { status: 'running' });
    const again = await api.request('/v1/jobs', {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: `{ "secure":false, "resolution": "1080p", "video_url": "${input.video_url}" }`,
    });
    expect(again.status).toBe(201);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await again.json()).toMatchObject({ id: job.id, status: 'running' });
    expect(api.measured).toHaveLength(1);
    expect((await api.store.account()).credits).toBe(10_000 - 126);
  });

  it('answers as a replay when another request won inside the store', async () => {
    const api = makeApi();
    api.store.jobs.findReplay = async () => null;
    await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    const second = await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await api.store.allJobs()).toHaveLength(1);
  });

  it.each([
    ['can no longer measure the video', '/v1/jobs', { ...input }, {}, new ReelmendError('video_unreachable', 'No.')],
    ['is beyond the daily quota', '/v1/jobs', { ...input }, { jobs_per_day: 1 }, null],
    ['can no longer measure the video', '/v1/previews', { video_url: input.video_url, settings: [{ resolution: '1080p' }] }, {}, new ReelmendError('video_unreachable', 'No.')],
  ])('replays what the first request has created meanwhile, although the second one %s (%s)', async (_what, path, json, quotas, failure) => {
    const gates = [0, 1].map(() => Promise.withResolvers<typeof source>());
    const api = makeApi({ account: { quotas }, measure: () => gates[api.measured.length - 1]!.promise });
    const send = () => api.request(path, { method: 'POST', json, headers });
    const first = send();
    await eventually(() => api.measured.length === 1);
    const second = send();
    await eventually(() => api.measured.length === 2);
    gates[0]!.resolve(source);
    const { id } = (await (await first).json()) as { id: string };
    if (failure === null) gates[1]!.resolve(source);
    else gates[1]!.reject(failure);
    const again = await second;
    expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([201, 'true']);
    expect(await again.json()).toMatchObject({ id });
    const sql = await api.store.sql();
    expect(await sql`SELECT id FROM jobs WHERE account_id = ${api.account.id}`).toEqual([{ id }]);
  });

  it('409 when the body differs', async () => {
    const api = makeApi();
    await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    const other = await api.request('/v1/jobs', { method: 'POST', json: { ...input, resolution: '4k' }, headers });
    expect(other.status).toBe(409);
    expect(await errorOf(other)).toMatchObject({ code: 'idempotency_key_reused', type: 'conflict_error' });
  });

  it('keeps modes apart', async () => {
    const api = makeApi();
    await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    const testMode = await api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json: input, headers });
    expect(testMode.headers.has('Idempotent-Replayed')).toBe(false);
    expect(await api.store.allJobs()).toHaveLength(2);
  });

  it('400 for a key that is too long, and none is stored for a refused request', async () => {
    const api = makeApi();
    const long = await api.request('/v1/jobs', {
      method: 'POST',
      json: input,
      headers: { 'Idempotency-Key': 'x'.repeat(256) },
    });
    expect(long.status).toBe(400);
    expect(await errorOf(long)).toMatchObject({ code: 'invalid_request', param: '/Idempotency-Key' });
    await api.request('/v1/jobs', { method: 'POST', json: { ...input, resolution: '8k' }, headers });
    const sql = await api.store.sql();
    expect(await sql`SELECT key FROM idempotency_keys WHERE account_id = ${api.account.id}`).toEqual([]);
  });
});

describe('the retention', () => {
  it('is that of the service, and for a Secure job that of the account', async () => {
    const api = makeApi({ options: { retentionDays: 3 } });
    const created = async (path: string, json: object) => {
      const response = await api.request(path, { method: 'POST', key: api.keys.liveSecure, json });
      expect(response.status).toBe(201);
      const { created_at, expires_at } = (await response.json()) as { created_at: string; expires_at: string };
      return (Date.parse(expires_at) - Date.parse(created_at)) / 86_400_000;
    };
    expect(await created('/v1/jobs', input)).toBe(3);
    expect(await created('/v1/jobs', { ...input, secure: true })).toBe(30);
    expect(await created('/v1/previews', { video_url: input.video_url, settings: [{ resolution: '1080p' }] })).toBe(3);
    const retention = async (key: string) => ((await (await api.request('/v1/account', { key })).json()) as { retention_days: number }).retention_days;
    expect([await retention(api.keys.live), await retention(api.keys.liveSecure)]).toEqual([3, 30]);
  });
});

describe('test mode is controlled by the last segment of the URL', () => {
  const cases = [
    { name: 'unreadable_video', status: 400 },
    { name: 'video_too_long', status: 400 },
    { name: 'video_too_large', status: 400 },
    { name: 'video_unreachable', status: 400 },
    { name: 'insufficient_credits', status: 402 },
    { name: 'processing_failed', status: 201 },
    { name: 'failed_video_unreachable', status: 201 },
    { name: 'source_changed', status: 201 },
    { name: 'slow', status: 201 },
    { name: 'anything', status: 201 },
  ];
  for (const { name, status } of cases) {
    it(`${name} gives ${status}`, async () => {
      const api = makeApi();
      const json = { ...input, video_url: `https://media.example.com/some/${name}.mp4?x=1` };
      const response = await api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json });
      expect(response.status).toBe(status);
      if (status !== 201) expect((await errorOf(response)).code).toBe(name);
      const live = await api.request('/v1/jobs', { method: 'POST', json });
      expect(live.status).toBe(201);
    });
  }
});
