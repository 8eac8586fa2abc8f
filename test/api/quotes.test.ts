import { describe, expect, it } from 'vitest';
import type { Quote, SizeEstimate } from '../../src/contract/types.gen.ts';
import { ReelmendError, type ErrorCode } from '../../src/domain/errors.ts';
import { errorOf, finished, makeApi, source } from '../helpers/http.ts';

const input = { video_url: 'https://media.example.com/holiday.mp4', resolution: '1080p' };
const post = { method: 'POST' } as const;

describe('POST /v1/quotes', () => {
  it('200 with the price of each tier and target, and changes nothing', async () => {
    const prices = [
      { resolution: '1080p', secure: false, credits: 126 },
      { resolution: '4k', secure: false, credits: 252 },
      { resolution: '1080p', secure: true, credits: 252 },
      { resolution: '4k', secure: true, credits: 504 },
    ];
    const api = makeApi({ account: { credits: 1 } });
    for (const { resolution, secure, credits } of prices) {
      const json = { ...input, resolution, secure, duration_seconds: 3 };
      const response = await api.request('/v1/quotes', { ...post, key: api.keys.liveSecure, json });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        duration_seconds: 42,
        credits,
        resolution,
        tier: secure ? 'secure' : 'standard',
        sandbox: false,
        source,
      });
    }
    expect((await api.store.account()).credits).toBe(1);
    expect(await api.store.allJobs()).toHaveLength(0);
    expect(api.measured).toHaveLength(4);
  });

  it('says the price whatever max_credits allows', async () => {
    const api = makeApi();
    const response = await api.request('/v1/quotes', { ...post, json: { ...input, max_credits: 1 } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ credits: 126 });
  });

  it('estimates the time as a range from the latest jobs of the installation, else from the configured rate', async () => {
    const api = makeApi({ options: { processingRates: { '1080p': 2, '4k': 10 } } });
    const estimate = async (resolution: string) => {
      const response = await api.request('/v1/quotes', { ...post, json: { ...input, resolution } });
      const { estimated_seconds: seconds, estimated_time } = (await response.json()) as Quote;
      return { seconds, ...estimated_time };
    };
    // 41.375 s of video.
    expect(await estimate('1080p')).toEqual({ seconds: 83, min_seconds: 28, max_seconds: 248, basis: 'typical_rate' });
    expect(await estimate('4k')).toMatchObject({ seconds: 414, basis: 'typical_rate' });
    const startedAt = new Date();
    const ended = (seconds: number) => ({ ...finished(), startedAt, finishedAt: new Date(startedAt.getTime() + seconds * 1000) });
    for (const seconds of [150, 166, 180]) await api.store.addJob(ended(seconds));
    // Test jobs take what they take, and failed ones end early.
    await api.store.addJob({ ...ended(1), mode: 'test' });
    await api.store.addJob({ ...ended(1), status: 'error', error: { code: 'processing_failed', message: 'No.' } });
    const { seconds, min_seconds, max_seconds, basis } = await estimate('1080p');
    expect([seconds, basis]).toEqual([166, 'recent_jobs']);
    expect(min_seconds).toBeLessThan(150);
    expect(max_seconds).toBeGreaterThan(180);
    expect((await estimate('4k')).seconds).toBeGreaterThan(4 * 160);
  });

  it('predicts the size of the result by the source’s bitrate, the quality and the limit', async () => {
    const api = makeApi({ options: { encoderCrf: 18 } });
    const estimate = async (extra: object) => {
      const response = await api.request('/v1/quotes', { ...post, json: { ...input, ...extra } });
      return ((await response.json()) as Quote).estimated_size!;
    };
    const standard = await estimate({});
    expect(standard.basis).toBe('source_bitrate');
    expect(await estimate({ output: { quality: 18 } })).toEqual(standard);
    expect(await estimate({ output: { quality: 'standard' } })).toEqual(standard);
    const ratio = (some: SizeEstimate) => [some.min_bytes / standard.min_bytes, some.max_bytes / standard.max_bytes];
    for (const [extra, times] of [
      [{ output: { quality: 24 } }, 0.5],
      [{ output: { quality: 'high' } }, 2 ** (4 / 6)],
      [{ resolution: '4k' }, 4],
    ] as const) {
      // The sound stays as it is, and two digits are shown.
      for (const found of ratio(await estimate(extra))) expect(found / times).toBeGreaterThan(0.9);
      for (const found of ratio(await estimate(extra))) expect(found / times).toBeLessThan(1.25);
    }
    // 41.375 s and half a second of buffer at 2 Mbit/s, and sound of at most 320 kbit/s.
    expect((await estimate({ output: { max_bitrate: 2_000_000 } })).max_bytes).toBe(12_000_000);
  });

  it('predicts the size by the account’s latest jobs, once there are five with a known quality and no limit', async () => {
    const api = makeApi();
    const estimate = async () => {
      const response = await api.request('/v1/quotes', { ...post, json: input });
      return ((await response.json()) as Quote).estimated_size!;
    };
    // Half the pixels of this video's result for as long: 10 MB at CRF 22 are 40 MB here.
    const output = (quality: number | undefined, max_bitrate: number | null) =>
      ({ width: 1920, height: 540, size_bytes: 10_000_000, sha256: '0'.repeat(64), ...(quality === undefined ? {} : { quality, max_bitrate }) });
    for (let count = 0; count < 4; count += 1) await api.store.addJob({ ...finished(), output: output(22, null) });
    await api.store.addJob({ ...finished(), output: output(22, 1_000_000) });
    await api.store.addJob({ ...finished(), output: output(undefined, null) });
    expect(await estimate()).toMatchObject({ basis: 'source_bitrate' });
    await api.store.addJob({ ...finished(), output: output(22, null) });
    const { basis, min_bytes, max_bytes } = await estimate();
    expect(basis).toBe('account_jobs');
    expect(min_bytes).toBeLessThan(40_000_000);
    expect(max_bytes).toBeGreaterThan(40_000_000);
    expect(max_bytes / min_bytes).toBeLessThan(2);
  });

  it('shows nobody the ETag that is kept to notice another file', async () => {
    const api = makeApi({ measure: async () => ({ ...source, etag: '"canary"' }) });
    for (const path of ['/v1/quotes', '/v1/jobs']) {
      const response = await api.request(path, { ...post, json: input });
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ source });
      expect(text).not.toContain('canary');
    }
    expect(await api.store.allJobs()).toMatchObject([{ source: { etag: '"canary"' } }]);
  });

  it('measures nothing in test mode: the hint, or 10 s, without charge', async () => {
    const api = makeApi({ options: { testModeDelayMs: 2500 } });
    for (const [extra, duration, seconds] of [
      [{}, 10, 3],
      [{ duration_seconds: 77 }, 77, 3],
      [{ video_url: 'https://media.example.com/slow.mp4' }, 10, 30],
      [{ video_url: 'https://media.example.com/insufficient_credits.mp4' }, 10, 3],
    ] as const) {
      const response = await api.request('/v1/quotes', { ...post, key: api.keys.test, json: { ...input, ...extra } });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        duration_seconds: duration,
        credits: 0,
        resolution: '1080p',
        tier: 'standard',
        sandbox: true,
        estimated_seconds: seconds,
        estimated_time: { min_seconds: seconds, max_seconds: seconds, basis: 'test_mode' },
        estimated_size: null,
        source: null,
      });
    }
    expect(api.measured).toEqual([]);
  });

  const refusals: ErrorCode[] = ['url_not_allowed', 'video_unreachable', 'unreadable_video', 'video_too_long', 'video_too_large'];
  it.each(refusals)('400 %s, as creation refuses it', async (code) => {
    const api = makeApi({ measure: () => Promise.reject(new ReelmendError(code, 'No.')) });
    const response = await api.request('/v1/quotes', { ...post, json: input });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code, param: '/video_url' });
  });

  it('400 for the URLs that test mode refuses', async () => {
    const api = makeApi();
    for (const name of ['unreadable_video', 'video_too_long', 'video_too_large']) {
      const json = { ...input, video_url: `https://media.example.com/${name}.mp4` };
      const response = await api.request('/v1/quotes', { ...post, key: api.keys.test, json });
      expect(response.status).toBe(400);
      expect((await errorOf(response)).code).toBe(name);
    }
  });

  it('403 for a secure quote with a Standard key', async () => {
    const api = makeApi();
    const response = await api.request('/v1/quotes', { ...post, json: { ...input, secure: true } });
    expect(response.status).toBe(403);
    expect(await errorOf(response)).toMatchObject({ code: 'secure_tier_required', param: '/secure' });
  });
});
