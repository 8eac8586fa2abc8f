import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { parseStrictJson } from '../../src/http/strict-json.ts';
import { errorOf, installed, makeApi } from '../helpers/http.ts';

const input = { video_url: 'https://media.example.com/holiday.mp4', resolution: '1080p' };

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
    { name: 'duration below 0', json: { ...input, duration_seconds: -1.5 }, param: '/duration_seconds' },
    { name: 'duration text', json: { ...input, duration_seconds: '10' }, param: '/duration_seconds' },
    { name: 'secure text', json: { ...input, secure: 'yes' }, param: '/secure' },
    { name: 'strength over 1', json: { ...input, enhancements: { sharpen: 1.1 } }, param: '/enhancements/sharpen' },
    { name: 'strength unknown', json: { ...input, enhancements: { sharpen: 'max' } }, param: '/enhancements/sharpen' },
    { name: 'model unknown', json: { ...input, model: 'no-such' }, param: '/model' },
    { name: 'metadata no text', json: { ...input, metadata: { a: 1 } }, param: '/metadata/a' },
    { name: 'metadata bad name', json: { ...input, metadata: { 'a b': '1' } }, param: '/metadata/a b' },
    {
      name: 'metadata too many',
      json: { ...input, metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v'])) },
      param: '/metadata',
    },
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
      name: `URL ${video_url.slice(0, 40)}`,
      json: { ...input, video_url },
      param: '/video_url',
      code: 'url_not_allowed',
    })),
    ...['gopher://x', 'http://localhost:3000/hook', 'http://10.0.0.5/hook', 'https://[::1]/', 'http://hooks.example.com:25/'].map((webhook_url) => ({
      name: `webhook URL ${webhook_url}`,
      json: { ...input, webhook_url },
      param: '/webhook_url',
      code: 'url_not_allowed',
    })),
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
      expect(await api.store.allJobs()).toHaveLength(0);
    });
  }
});

describe('POST /v1/jobs 400 says what the field must be', () => {
  it.each([
    [{ resolution: undefined }, 'The field "resolution" is required.'],
    [{ resolution: '720p' }, 'The field "resolution" must be "1080p" or "4k".'],
    [{ video_url: 7 }, 'The field "video_url" must be a text.'],
    [{ video_url: 'x' }, 'This URL is not allowed: it must begin with http:// or https://.'],
    [{ duration_seconds: 0 }, 'The field "duration_seconds" must be more than 0.'],
    [{ duration_seconds: '1' }, 'The field "duration_seconds" must be a number.'],
    [{ secure: 'yes' }, 'The field "secure" must be true or false.'],
    [{ enhancements: { sharpen: 1.1 } }, 'The field "enhancements.sharpen" must be at most 1.'],
    [{ enhancements: { sharpen: 'max' } }, 'The field "enhancements.sharpen" must be "auto" or "off", or must be a number.'],
    [{ enhancements: [] }, 'The field "enhancements" must be an object.'],
    [{ metadata: { 'a b': '1' } }, 'The field "metadata.a b" has a name that is not allowed: it must have 1 to 40 letters, digits, "_", "." and "-".'],
    [{ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v'])) }, 'The field "metadata" must have at most 20 properties.'],
    [{ metadata: { a: 'x'.repeat(501) } }, 'The field "metadata.a" must have at most 500 characters.'],
    [{ metadata: { a: '😀'.repeat(501) } }, 'The field "metadata.a" must have at most 500 characters.'],
    [{ colour: 1 }, 'There is no field "colour".'],
    [{ url: 'https://a.example.com/x.mp4' }, 'There is no field "url".'],
    [{ model: 'no-such' }, 'There is no model "no-such"; there are auto, none, fast.'],
  ])('%j', async (change, message) => {
    const api = makeApi({ options: { models: [installed('fast')] } });
    const response = await api.request('/v1/jobs', { method: 'POST', json: { ...input, ...change } });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toBe(message);
  });

  it('also of a model in test mode, where nothing is fetched', async () => {
    const api = makeApi();
    const response = await api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json: { ...input, model: 'no-such' } });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', param: '/model' });
  });
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
      const response = await api.request('/v1/jobs', {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json' },
      });
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
    const declared = await api.request('/v1/jobs', {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json' },
    });
    let pulled = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        if (pulled > 1000) controller.close();
        else controller.enqueue(new Uint8Array(4096).fill(0x20));
      },
    });
    const chunked = await api.request('/v1/jobs', {
      method: 'POST',
      body: stream,
      headers: { 'Content-Type': 'application/json' },
    });
    for (const response of [declared, chunked]) {
      expect(response.status).toBe(413);
      expect(await errorOf(response)).toMatchObject({ code: 'payload_too_large', type: 'validation_error' });
    }
    expect(pulled).toBeLessThan(30);
  });

  it('415 for a compressed body, which no client may send', async () => {
    const api = makeApi();
    const send = (coding: string, body: string | Uint8Array) =>
      api.request('/v1/jobs', { method: 'POST', body, headers: { 'Content-Type': 'application/json', 'Content-Encoding': coding } });
    for (const coding of ['gzip', 'x-gzip', 'br', 'deflate', 'zstd', 'compress', 'identity, GZIP']) {
      const response = await send(coding, gzipSync(JSON.stringify(input)));
      expect(response.status, coding).toBe(415);
      expect(await errorOf(response)).toMatchObject({ code: 'unsupported_media_type', message: expect.stringContaining('compressed') as string });
    }
    // Some clients name the charset here.
    for (const coding of ['identity', 'utf-8']) expect((await send(coding, JSON.stringify(input))).status, coding).toBe(201);
  });

  it('415 for anything that is not JSON in UTF-8', async () => {
    const api = makeApi();
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/vnd.x+json',
    ];
    for (const type of types) {
      const response = await api.request('/v1/jobs', {
        method: 'POST',
        body: JSON.stringify(input),
        headers: { 'Content-Type': type },
      });
      expect(response.status, type).toBe(415);
      expect(await errorOf(response)).toMatchObject({ code: 'unsupported_media_type', type: 'validation_error' });
    }
    const accepted = [
      ...['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'],
      ...['application/json;', 'application/json ; charset=utf-8', 'application/json; charset=utf-8;'],
    ];
    for (const type of accepted) {
      const response = await api.request('/v1/jobs', {
        method: 'POST',
        body: JSON.stringify(input),
        headers: { 'Content-Type': type },
      });
      expect(response.status, type).toBe(201);
    }
  });
});

describe.each(['/v1/jobs', '/v1/quotes'])('addresses in both modes: %s', (path) => {
  const ask = async (mode: 'live' | 'test', json: unknown) => {
    const api = makeApi();
    const response = await api.request(path, { method: 'POST', key: api.keys[mode], json });
    return { response, api };
  };

  it.each([
    ['https://[2606:4700::1111]/a.mp4', 'https://[2606:4700::1111]/a.mp4'],
    ['https://[2606:4700:0:0::1111]:8443/a.mp4', 'https://[2606:4700::1111]:8443/a.mp4'],
    ['https://bücher.example/a.mp4', 'https://xn--bcher-kva.example/a.mp4'],
    ['https://media.example.com./a.mp4', 'https://media.example.com./a.mp4'],
    ['http://134744072/a.mp4', 'http://8.8.8.8/a.mp4'],
  ])('take the public %s as the URL parser spells it', async (video_url, spelt) => {
    const live = await ask('live', { ...input, video_url });
    expect(live.response.status).toBeLessThan(300);
    expect(live.api.measured).toEqual([spelt]);
    expect((await ask('test', { ...input, video_url })).response.status).toBeLessThan(300);
  });

  it.each([
    'http://127.0.0.1/a.mp4',
    'http://10.0.0.5/a.mp4',
    'http://2130706433/a.mp4',
    'http://[::1]/a.mp4',
    'http://[fd00::1]/a.mp4',
    'http://localhost/a.mp4',
    'http://localhost.:8080/a.mp4',
    'http://metadata.google.internal/',
    'http://db/slow.mp4',
    'https://user:pw@example.com/a.mp4',
    'http://example.com:5432/a.mp4',
  ])('refuse %s alike, and measure nothing', async (url) => {
    for (const field of ['video_url', 'webhook_url']) {
      const [live, testMode] = await Promise.all((['live', 'test'] as const).map((mode) => ask(mode, { ...input, [field]: url })));
      const errors = await Promise.all([live, testMode].map(async (each) => errorOf(each!.response)));
      for (const error of errors) expect(error).toMatchObject({ code: 'url_not_allowed', param: `/${field}` });
      expect(errors[0]!.message).toBe(errors[1]!.message);
      expect([...live!.api.measured, ...testMode!.api.measured]).toEqual([]);
    }
  });

  it.each([0.001, 1, 1.5, 600, 601, 86_400, 1e300])('%d s as a hint is taken, and bills nothing', async (duration_seconds) => {
    const { response } = await ask('live', { ...input, duration_seconds });
    expect(response.status).toBeLessThan(300);
    expect(await response.json()).toMatchObject({ duration_seconds: 42 });
    const testMode = await ask('test', { ...input, duration_seconds });
    expect(await testMode.response.json()).toMatchObject({ duration_seconds: Math.min(600, Math.ceil(duration_seconds)) });
  });
});

describe('url_not_allowed says what is wrong with the URL', () => {
  const says: [string, RegExp][] = [
    [`https://example.com/${'a'.repeat(2029)}`, /: it must have at most 2048 characters\.$/],
    ['ftp://example.com/a.mp4', /: it must begin with http:\/\/ or https:\/\/\.$/],
    ['example.com/a.mp4', /: it must begin with http/],
    ['https://user:secret@example.com/a.mp4', /: it must contain no user name and no password\.$/],
    ['https://example.com/a b.mp4', /: it must contain no spaces and no control characters\.$/],
    ['https://[2606:4700::1111/a.mp4', /: its host must be a valid name or IP address\.$/],
    ['https://example.com../a.mp4', /: its host must be /],
    ['http://[::1]/a.mp4', /: it must be a public http or https URL\.$/],
    ['http://[::ffff:10.0.0.1]/', /: it must be a public http or https URL\.$/],
    ['http://１２７.0.0.1/', /: it must be a public http or https URL\.$/],
    ['http://localhost./', /: it must be a public http or https URL\.$/],
    ['http://example.com:65536/', /: its port must be 80, 443, /],
    ['http://example.com:0/', /: its port must be /],
    ['http://example.com:25/', /: its port must be /],
    ['http://10.0.0.5/', /: it must be a public http or https URL\.$/],
    ['http://localhost/', /: it must be a public http or https URL\.$/],
    ['http://xn--a.example/', /: its host must be /],
  ];
  it.each(says)('%s', async (webhook_url, sentence) => {
    const response = await makeApi().request('/v1/jobs', { method: 'POST', json: { ...input, webhook_url } });
    expect(response.status).toBe(400);
    const { code, message, param } = await errorOf(response);
    expect({ code, param }).toEqual({ code: 'url_not_allowed', param: '/webhook_url' });
    expect(message).toMatch(sentence);
    expect(message).not.toContain('secret');
  });

  it('counts the characters as they are written', async () => {
    const webhook_url = `https://example.com/${'ü'.repeat(2028)}`;
    const response = await makeApi().request('/v1/jobs', { method: 'POST', json: { ...input, webhook_url } });
    expect(response.status).toBe(201);
  });
});

describe('POST /v1/jobs 400 for output and max_credits out of range', () => {
  it.each([
    { quality: 9 },
    { quality: 41 },
    { quality: '20' },
    { quality: null },
    { max_bitrate: 499_999 },
    { max_bitrate: 200_000_001 },
    { max_bitrate: 1_000_000.5 },
    { codec: 'hevc' },
    { thumbnails: 21 },
    { poster: 'yes' },
    null,
  ])('400 for output %j', async (output) => {
    const api = makeApi();
    const response = await api.request('/v1/jobs', { method: 'POST', json: { ...input, output } });
    expect(response.status).toBe(400);
    const { code, param } = await errorOf(response);
    expect(code).toBe('invalid_request');
    expect(param).toMatch(/^\/output/);
  });

  it.each([-1, 1.5, '100', null, 1_000_000_001])('400 for max_credits %j', async (max_credits) => {
    const api = makeApi();
    const response = await api.request('/v1/jobs', { method: 'POST', json: { ...input, max_credits } });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', param: '/max_credits' });
  });
});
