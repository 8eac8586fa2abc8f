import { describe, expect, it } from 'vitest';
import { FrameliftError, type ErrorCode } from '../../src/domain/errors.ts';
import { errorOf, makeApi, source } from '../helpers/http.ts';
import { parseStrictJson } from '../../src/http/strict-json.ts';

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
      expect(api.account.credits).toBe(10_000 - credits);
    }
  });

  it('passes on what was asked for, with the normalised address', async () => {
    const api = makeApi({ options: { models: ['fine'] } });
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
    const [job] = [...api.store.jobsById.values()];
    expect(job).toMatchObject({
      videoUrl: 'https://media.example.com/b%20c.mp4',
      webhookUrl: 'https://hooks.example.com/x',
      model: 'fine',
      enhancements: { denoise: 'off', sharpen: 0.4, face_restoration: 'auto' },
      metadata: { order: 'A-1' },
    });
  });

  it('accepts exactly 600 s and refuses a little more', async () => {
    for (const [duration, status] of [[600, 201], [600.001, 400]] as const) {
      const api = makeApi({ measure: async () => ({ ...source, duration }) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(response.status).toBe(status);
      if (status === 400) expect((await errorOf(response)).code).toBe('video_too_long');
    }
  });

  it('accepts exactly 2,000,000,000 bytes and refuses one more', async () => {
    for (const [size_bytes, status] of [[2_000_000_000, 201], [2_000_000_001, 400]] as const) {
      const api = makeApi({ measure: async () => ({ ...source, size_bytes }) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(response.status).toBe(status);
      if (status === 400) expect((await errorOf(response)).code).toBe('video_too_large');
    }
  });

  it('measures and charges nothing in the sandbox', async () => {
    for (const [hint, duration] of [[undefined, 10], [17, 17]] as const) {
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
      expect(api.account).toMatchObject({ credits: 10_000, sandboxCredits: 10_000 });
    }
  });
});

describe('POST /v1/jobs with Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'order 1' };

  it('replays the job as it is now, without measuring or charging again', async () => {
    const api = makeApi();
    const first = await api.request('/v1/jobs', { method: 'POST', json: { ...input, secure: false }, headers });
    const job = (await first.json()) as { id: string };
    api.store.jobsById.get(job.id)!.status = 'running';
    const again = await api.request('/v1/jobs', {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: `{ "secure":false, "resolution": "1080p", "video_url": "${input.video_url}" }`,
    });
    expect(again.status).toBe(201);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await again.json()).toMatchObject({ id: job.id, status: 'running' });
    expect(api.measured).toHaveLength(1);
    expect(api.account.credits).toBe(10_000 - 126);
  });

  it('answers as a replay when another request won inside the store', async () => {
    const api = makeApi();
    api.store.jobs.findReplay = async () => null;
    await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    const second = await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
    expect(api.store.jobsById.size).toBe(1);
  });

  it('409 when the body differs', async () => {
    const api = makeApi();
    await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    const other = await api.request('/v1/jobs', { method: 'POST', json: { ...input, resolution: '4k' }, headers });
    expect(other.status).toBe(409);
    expect(await errorOf(other)).toMatchObject({ code: 'idempotency_key_reused', type: 'conflict_error' });
  });

  it('keeps lanes apart', async () => {
    const api = makeApi();
    await api.request('/v1/jobs', { method: 'POST', json: input, headers });
    const sandbox = await api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json: input, headers });
    expect(sandbox.headers.has('Idempotent-Replayed')).toBe(false);
    expect(api.store.jobsById.size).toBe(2);
  });

  it('400 for a key that is too long, and none is stored for a refused request', async () => {
    const api = makeApi();
    const long = await api.request('/v1/jobs', { method: 'POST', json: input, headers: { 'Idempotency-Key': 'x'.repeat(256) } });
    expect(long.status).toBe(400);
    expect(await errorOf(long)).toMatchObject({ code: 'invalid_request', param: '/Idempotency-Key' });
    await api.request('/v1/jobs', { method: 'POST', json: { ...input, resolution: '8k' }, headers });
    expect(api.store.idempotencyKeys.size).toBe(0);
  });
});

describe('POST /v1/jobs 400 names the field', () => {
  const cases: { name: string; json: unknown; param?: string; code?: string }[] = [
    { name: 'video_url missing', json: { resolution: '1080p' }, param: '/video_url' },
    { name: 'video_url no string', json: { ...input, video_url: 7 }, param: '/video_url' },
    { name: 'resolution missing', json: { video_url: input.video_url }, param: '/resolution' },
    { name: 'resolution unsupported', json: { ...input, resolution: '720p' }, param: '/resolution' },
    { name: 'unknown field', json: { ...input, colour: 1 }, param: '/colour' },
    { name: 'unknown field with a slash', json: { ...input, 'a/b~c': 1 }, param: '/a~1b~0c' },
    { name: 'unknown nested field', json: { ...input, enhancements: { glow: 1 } }, param: '/enhancements/glow' },
    { name: 'duration 0', json: { ...input, duration_seconds: 0 }, param: '/duration_seconds' },
    { name: 'duration fractional', json: { ...input, duration_seconds: 1.5 }, param: '/duration_seconds' },
    { name: 'duration text', json: { ...input, duration_seconds: '10' }, param: '/duration_seconds' },
    { name: 'duration announced too long', json: { ...input, duration_seconds: 601 }, param: '/duration_seconds', code: 'video_too_long' },
    { name: 'secure text', json: { ...input, secure: 'yes' }, param: '/secure' },
    { name: 'strength over 1', json: { ...input, enhancements: { sharpen: 1.1 } }, param: '/enhancements/sharpen' },
    { name: 'strength unknown', json: { ...input, enhancements: { sharpen: 'max' } }, param: '/enhancements/sharpen' },
    { name: 'model unknown', json: { ...input, model: 'no-such' }, param: '/model' },
    { name: 'metadata no text', json: { ...input, metadata: { a: 1 } }, param: '/metadata/a' },
    { name: 'metadata bad name', json: { ...input, metadata: { 'a b': '1' } }, param: '/metadata/a b' },
    { name: 'metadata too many', json: { ...input, metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v'])) }, param: '/metadata' },
    { name: 'an array', json: [], code: 'invalid_request' },
    { name: 'null', json: null, code: 'invalid_request' },
    ...[
      'file:///etc/passwd',
      'ftp://example.com/a.mp4',
      'javascript:alert(1)',
      'https://user:secret@example.com/a.mp4',
      'http://[::1]/a.mp4',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://127.1/',
      'http://example.com:0/',
      'http://example.com:65536/',
      'http://exa mple.com/',
      'https://',
      'example.com/a.mp4',
      '',
      `https://example.com/${'a'.repeat(2048)}`,
    ].map((video_url) => ({
      name: `address ${video_url.slice(0, 40)}`,
      json: { ...input, video_url },
      param: '/video_url',
      code: 'url_not_allowed',
    })),
    { name: 'webhook address', json: { ...input, webhook_url: 'gopher://x' }, param: '/webhook_url', code: 'url_not_allowed' },
  ];
  for (const { name, json, param, code = 'invalid_request' } of cases) {
    it(name, async () => {
      const api = makeApi();
      const response = await api.request('/v1/jobs', { method: 'POST', json });
      expect(response.status).toBe(400);
      const error = await errorOf(response);
      expect(error).toMatchObject({ code, type: 'validation_error' });
      expect(error.param).toBe(param);
      expect(error.message).toMatch(/\.$/);
      expect(api.measured).toEqual([]);
      expect(api.store.jobsById.size).toBe(0);
    });
  }
});

describe('POST /v1/jobs refuses bodies that are no good JSON', () => {
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const bodies: [string, string | Uint8Array][] = [
    ['cut', '{"video_url": "https://a.example.com/x.mp4"'],
    ['NaN', '{"video_url": NaN}'],
    ['equal names', '{"resolution":"1080p","resolution":"4k","video_url":"https://a.example.com/x.mp4"}'],
    ['equal names, one escaped', '{"resolution":"1080p","resolutio\\u006e":"4k"}'],
    ['deep', deep],
    ['deep inside a field', `{"metadata":${deep}}`],
    ['U+0000', '{"video_url":"https://a.example.com/x.mp4","resolution":"1080p","metadata":{"a":"\\u0000"}}'],
    ['a lone surrogate', '{"video_url":"https://a.example.com/x.mp4","resolution":"1080p","metadata":{"a":"\\ud800"}}'],
    ['__proto__', '{"video_url":"https://a.example.com/x.mp4","resolution":"1080p","metadata":{"__proto__":"x"}}'],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['a byte order mark', '\ufeff{}'],
  ];
  for (const [name, body] of bodies) {
    it(name, async () => {
      const api = makeApi();
      const response = await api.request('/v1/jobs', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_json', type: 'validation_error' });
    });
  }

  it('no body at all', async () => {
    const api = makeApi();
    for (const headers of [{}, { 'Content-Type': 'application/json' }]) {
      const response = await api.request('/v1/jobs', { method: 'POST', headers });
      expect(response.status).toBe(400);
      expect((await errorOf(response)).code).toBe('invalid_request');
    }
  });

  it('takes equal names in different objects, and numbers out of range only where they are refused', () => {
    expect(parseStrictJson('{"a":{"x":1},"b":{"x":1},"c":["x","x",{"x":1}]}')).toBeTruthy();
    expect(() => parseStrictJson('[{"x":1,"y":[1,{"z":"\\"}"}],"x":2}]')).toThrow(/twice/);
  });

  it('413 for more than 64 KB, declared or chunked', async () => {
    const api = makeApi();
    const body = JSON.stringify({ ...input, metadata: { a: 'x'.repeat(70_000) } });
    const declared = await api.request('/v1/jobs', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    let pulled = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        if (pulled > 1000) controller.close();
        else controller.enqueue(new Uint8Array(4096).fill(0x20));
      },
    });
    const chunked = await api.request('/v1/jobs', { method: 'POST', body: stream, headers: { 'Content-Type': 'application/json' } });
    for (const response of [declared, chunked]) {
      expect(response.status).toBe(413);
      expect(await errorOf(response)).toMatchObject({ code: 'payload_too_large', type: 'validation_error' });
    }
    expect(pulled).toBeLessThan(30);
  });

  it('415 for anything that is not JSON in UTF-8', async () => {
    const api = makeApi();
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', 'application/vnd.x+json'];
    for (const type of types) {
      const response = await api.request('/v1/jobs', { method: 'POST', body: JSON.stringify(input), headers: { 'Content-Type': type } });
      expect(response.status, type).toBe(415);
      expect(await errorOf(response)).toMatchObject({ code: 'unsupported_media_type', type: 'validation_error' });
    }
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      const response = await api.request('/v1/jobs', { method: 'POST', body: JSON.stringify(input), headers: { 'Content-Type': type } });
      expect(response.status, type).toBe(201);
    }
  });
});

describe('POST /v1/jobs when the video cannot be taken', () => {
  const refusals: ErrorCode[] = ['url_not_allowed', 'video_unreachable', 'unreadable_video', 'video_too_long', 'video_too_large'];
  for (const code of refusals) {
    it(`400 ${code}, nothing charged`, async () => {
      const api = makeApi({ measure: () => Promise.reject(new FrameliftError(code, 'No.')) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code, message: 'No.', param: '/video_url' });
      expect(api.account.credits).toBe(10_000);
    });
  }

  it('a child that crashed or hung means a video that cannot be read or reached', async () => {
    const translations: [ErrorCode, string][] = [['processing_failed', 'unreadable_video'], ['processing_timeout', 'video_unreachable']];
    for (const [thrown, code] of translations) {
      const api = makeApi({ measure: () => Promise.reject(new FrameliftError(thrown, 'x')) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect(await errorOf(response)).toMatchObject({ code });
    }
  });

  it('400 unreadable_video for a duration that is none', async () => {
    for (const duration of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const api = makeApi({ measure: async () => ({ ...source, duration }) });
      const response = await api.request('/v1/jobs', { method: 'POST', json: input });
      expect((await errorOf(response)).code).toBe('unreadable_video');
    }
  });

  it('400 video_unreachable at the deadline, even from a measurement that does not listen', async () => {
    let aborted = false;
    const api = makeApi({
      options: { measureTimeoutMs: 30 },
      measure: (_url, signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
        }),
    });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).code).toBe('video_unreachable');
    expect(aborted).toBe(true);
  });

  it('stops measuring, and logs no failure, when the caller goes away', async () => {
    const caller = new AbortController();
    let reason: unknown;
    const api = makeApi({
      measure: (_url, signal) =>
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
    expect(api.store.jobsById.size).toBe(0);
  });

  it('402 without enough credits', async () => {
    const api = makeApi({ account: { credits: 125 } });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(402);
    expect(await errorOf(response)).toMatchObject({ code: 'insufficient_credits', type: 'billing_error' });
    expect(api.account.credits).toBe(125);
  });

  it('403 for a secure job with a Standard key, in both lanes and before measuring', async () => {
    const api = makeApi();
    for (const key of [api.keys.live, api.keys.test]) {
      const response = await api.request('/v1/jobs', { method: 'POST', key, json: { ...input, secure: true } });
      expect(response.status).toBe(403);
      expect(await errorOf(response)).toMatchObject({ code: 'secure_tier_required', type: 'permission_error', param: '/secure' });
    }
    expect(api.measured).toEqual([]);
  });

  it('500 for a measurement that fails for reasons of its own, which stay in the log', async () => {
    const api = makeApi({ measure: () => Promise.reject(Object.assign(new Error('canary 10.0.0.7'), { code: 'ECONNREFUSED' })) });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('canary');
    expect(api.logged.find(({ level }) => level === 'error')?.facts).toMatchObject({ err: { message: 'canary 10.0.0.7' } });
  });
});

describe('the sandbox is steered by the last segment of the address', () => {
  const cases = [
    { name: 'unreadable_video', status: 400 },
    { name: 'video_too_long', status: 400 },
    { name: 'video_too_large', status: 400 },
    { name: 'insufficient_credits', status: 402 },
    { name: 'processing_failed', status: 201 },
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
