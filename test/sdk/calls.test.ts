/** Retries, idempotency, time limits and errors of a call, over a fake fetch and a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { retryDelayMs } from '../../src/sdk/call.ts';
import { apiError, retryAfterS } from '../../src/sdk/errors.ts';
import {
  AuthenticationError,
  BillingError,
  ConflictError,
  createReelmend,
  ReelmendApiError,
  ReelmendConnectionError,
  ReelmendError,
  ReelmendTimeoutError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  ValidationError,
} from '../../src/sdk/index.ts';
import { type Answer, fakeService, jobId, json, jobView, refusal, runUntilSettled, useFakeClock } from './fake.ts';

const input = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } as const;
const lost = () => new TypeError('fetch failed');
const never = () => new Promise<Response>(() => {});

beforeEach(() => {
  useFakeClock();
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** Lets the clock run until the promise is settled; returns the outcome and how long it took. */
async function settle<T>(promise: Promise<T>) {
  const started = Date.now();
  const outcome = promise.then(
    (value) => ({ value, error: undefined, ms: Date.now() - started }),
    (error: unknown) => ({ value: undefined, error, ms: Date.now() - started }),
  );
  return runUntilSettled(outcome);
}

describe('a call', () => {
  it('carries the key and the path below the base, however that is written', async () => {
    for (const baseUrl of ['https://api.example.com/reelmend', 'https://api.example.com/reelmend//']) {
      const { reelmend, requests } = fakeService([json(jobView())], { baseUrl });
      expect(await reelmend.jobs.get(jobId)).toEqual(jobView());
      expect(requests[0]!.url).toBe(`https://api.example.com/reelmend/v1/jobs/${jobId}`);
      expect(requests[0]!.headers.get('Authorization')).toBe('Bearer svc_test_key');
      expect(requests[0]!.redirect).toBe('manual');
    }
  });

  it('gives the Request no field that a runtime reads otherwise', async () => {
    const fields: string[] = [];
    class Spy extends Request {
      constructor(url: string, init: RequestInit) {
        fields.push(...Object.keys(init));
        super(url, init);
      }
    }
    vi.stubGlobal('Request', Spy);
    await fakeService([json(jobView())])
      .reelmend.jobs.get(jobId)
      .finally(() => vi.unstubAllGlobals());
    expect(fields).toContain('signal');
    // Deno's and undici's clients, Bun's transport, Cloudflare's options.
    for (const name of ['client', 'dispatcher', 'proxy', 'tls', 'unix', 'verbose', 'cf', 'fetcher']) {
      expect(fields).not.toContain(name);
    }
  });

  const transient: [string, () => Answer][] = [
    ['429', () => refusal(429, 'rate_limit_exceeded')],
    ['503', () => refusal(503, 'service_unavailable')],
    ['502 of a proxy', () => new Response('<html>', { status: 502, headers: { 'Content-Type': 'text/html' } })],
    ['504 of a proxy', () => new Response('', { status: 504 })],
    ['a lost connection', lost],
    [
      'a connection lost in the body',
      () => new Response(cutStream(), { headers: { 'Content-Type': 'application/json' } }),
    ],
    ['a connection lost before the body', () => new Response('', { headers: { 'Content-Type': 'application/json' } })],
    ['no answer in time', () => never],
  ];

  it.each(transient)('is retried after %s', async (_name, answer) => {
    const { reelmend, requests } = fakeService([answer(), answer(), json(jobView())], { timeoutMs: 1000 });
    expect((await settle(reelmend.jobs.get(jobId))).value).toEqual(jobView());
    expect(requests).toHaveLength(3);
  });

  it.each(transient)('ends with the error after %s and all retries', async (_name, answer) => {
    const { reelmend, requests } = fakeService([answer()], { timeoutMs: 1000, maxRetries: 2 });
    const { error } = await settle(reelmend.jobs.get(jobId));
    expect(error).toBeInstanceOf(ReelmendError);
    expect(error).toMatchObject({ attempts: 3 });
    expect(requests).toHaveLength(3);
  });

  it('backs off exponentially', async () => {
    const { reelmend } = fakeService([lost()], { maxRetries: 6 });
    expect((await settle(reelmend.jobs.get(jobId))).ms).toBe(500 + 1000 + 2000 + 4000 + 8000 + 8000);
  });

  it('waits as long as Retry-After says, and does not when that is more than a minute', async () => {
    const soon = fakeService([refusal(429, 'rate_limit_exceeded', { 'Retry-After': '20' }), json(jobView())]);
    const { ms, value } = await settle(soon.reelmend.jobs.get(jobId));
    expect(value?.id).toBe(jobId);
    expect(ms).toBe(20_250);
    const late = fakeService([refusal(503, 'service_unavailable', { 'Retry-After': '61' }), json(jobView())]);
    expect((await settle(late.reelmend.jobs.get(jobId))).error).toMatchObject({ retryAfterS: 61, attempts: 1 });
  });

  it.each([400, 401, 402, 403, 404, 409, 413, 415, 418, 500])('is not retried after %i', async (status) => {
    const { reelmend, requests } = fakeService([refusal(status, 'some_code')]);
    const { error, ms } = await settle(reelmend.jobs.get(jobId));
    expect(error).toMatchObject({ status, code: 'some_code', attempts: 1 });
    expect([requests.length, ms]).toEqual([1, 0]);
  });

  it('takes other limits for one call', async () => {
    const { reelmend, requests } = fakeService([never]);
    const { error, ms } = await settle(reelmend.jobs.get(jobId, { maxRetries: 0, timeoutMs: 70 }));
    expect(error).toBeInstanceOf(ReelmendTimeoutError);
    expect([requests.length, ms]).toEqual([1, 70]);
    expect(requests[0]!.signal.aborted).toBe(true);
  });

  it('times out while the body drags on', async () => {
    const dragging = () =>
      new Response(new ReadableStream({ pull: never as () => Promise<never> }), { headers: jsonType });
    const { reelmend } = fakeService([dragging], { maxRetries: 0, timeoutMs: 100 });
    expect((await settle(reelmend.jobs.get(jobId))).error).toBeInstanceOf(ReelmendTimeoutError);
  });

  it('leaves no timer and no listener behind', async () => {
    const { reelmend } = fakeService([json(jobView())]);
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    await reelmend.jobs.get(jobId, { signal });
    expect(vi.getTimerCount()).toBe(0);
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
  });
});

const jsonType = { 'Content-Type': 'application/json' };

function cutStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"id":'));
      controller.error(new TypeError('terminated'));
    },
  });
}

describe('an abort', () => {
  const reason = new Error('enough');

  it('before, while in flight and between attempts rejects with its own reason', async () => {
    for (const [answer, afterMs] of [
      [never, -1],
      [never, 10],
      [lost(), 100],
    ] as const) {
      const controller = new AbortController();
      if (afterMs < 0) controller.abort(reason);
      else setTimeout(() => controller.abort(reason), afterMs);
      const { reelmend, requests } = fakeService([answer]);
      const { error, ms } = await settle(reelmend.jobs.get(jobId, { signal: controller.signal }));
      expect(error).toBe(reason);
      expect([requests.length, ms]).toEqual(afterMs < 0 ? [0, 0] : [1, afterMs]);
    }
  });
});

describe('creation', () => {
  it('sends one idempotency key of its own with every try', async () => {
    const { reelmend, requests } = fakeService([lost(), refusal(503, 'service_unavailable'), json(jobView(), 201)]);
    expect((await settle(reelmend.jobs.create(input))).value?.id).toBe(jobId);
    const keys = requests.map((request) => request.headers.get('Idempotency-Key'));
    expect(keys[0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(new Set(keys).size).toBe(1);
    expect(requests).toHaveLength(3);
    for (const request of requests) expect(await request.json()).toEqual(input);
    await settle(reelmend.jobs.create(input));
    expect(requests.at(-1)!.headers.get('Idempotency-Key')).not.toBe(keys[0]);
  });

  it('sends the key of the caller', async () => {
    const { reelmend, requests } = fakeService([lost(), json(jobView(), 201)]);
    await settle(reelmend.jobs.create(input, { idempotencyKey: 'order-1' }));
    expect(requests.map((request) => request.headers.get('Idempotency-Key'))).toEqual(['order-1', 'order-1']);
  });

  it.each([lost, () => refusal(429, 'rate_limit_exceeded'), ...[502, 503, 504].map((status) => () => new Response('', { status }))])(
    'of an upload is tried again with the same key (%#)',
    async (failure) => {
      for (const [options, expected] of [[{}, /^[0-9a-f-]{36}$/], [{ idempotencyKey: 'film-1' }, /^film-1$/]] as const) {
        const { reelmend, requests } = fakeService([failure(), json({ id: 'upl_x' }, 201)]);
        expect((await settle(reelmend.uploads.begin({ file_name: 'a.mov', size_bytes: 5 }, options))).value).toEqual({ id: 'upl_x' });
        const keys = requests.map((request) => request.headers.get('Idempotency-Key'));
        expect(keys).toEqual([keys[0], keys[0]]);
        expect(keys[0]).toMatch(expected);
      }
    },
  );

  it('makes keys where randomUUID is missing', async () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) });
    const { reelmend, requests } = fakeService([json(jobView(), 201)]);
    await reelmend.jobs.create(input).finally(() => vi.unstubAllGlobals());
    expect(requests[0]!.headers.get('Idempotency-Key')).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('what is not idempotent', () => {
  it('an endpoint is created once, unless maxRetries says otherwise', async () => {
    const create = async (maxRetries?: number) => {
      const { reelmend, requests } = fakeService([lost()]);
      await settle(reelmend.webhookEndpoints.create({ url: 'https://hooks.example.com/x' }, { maxRetries }));
      return requests.length;
    };
    expect([await create(), await create(undefined), await create(1)]).toEqual([1, 1, 2]);
  });
});

describe('an error', () => {
  const families = [
    [400, ValidationError],
    [401, AuthenticationError],
    [402, BillingError],
    [403, PermissionError],
    [404, NotFoundError],
    [409, ConflictError],
    [413, ValidationError],
    [415, ValidationError],
    [416, ValidationError],
    [418, ReelmendApiError],
    [429, RateLimitError],
    [500, ServerError],
    [503, ServerError],
  ] as const;

  it.each(families)('of status %i has a class of its own', (status, family) => {
    const error = apiError(refusal(status, 'some_code', { 'Retry-After': '7' }), undefined, { attempts: 1 });
    expect(error.constructor).toBe(family);
    expect(error.name).toBe(family.name);
    expect(error).toBeInstanceOf(ReelmendApiError);
    expect(error.retryAfterS).toBe(7);
  });

  it('has what the envelope says', async () => {
    const envelope = {
      code: 'video_too_long',
      message: 'The video lasts 731.200 s; at most 600 s are accepted.',
      type: 'validation_error',
      param: '/video_url',
      request_id: 'req_1',
      doc_url: 'https://docs.example.com/video_too_long',
    };
    const { reelmend } = fakeService([json({ error: envelope }, 400)]);
    const { error } = await settle(reelmend.jobs.create(input));
    expect(error).toMatchObject({
      name: 'ValidationError',
      message: envelope.message,
      status: 400,
      code: 'video_too_long',
      type: 'validation_error',
      param: '/video_url',
      requestId: 'req_1',
      docUrl: envelope.doc_url,
    });
  });

  it('of a proxy is unknown, with the request id of the header', async () => {
    const foreign = [
      new Response('<html>', { status: 500, headers: { 'X-Request-Id': 'req_h' } }),
      json({ error: 'no' }, 500, { 'X-Request-Id': 'req_h' }),
      json(null, 500, { 'X-Request-Id': 'req_h' }),
    ];
    for (const answer of foreign) {
      const { error } = await settle(fakeService([answer]).reelmend.account.get());
      expect(error).toMatchObject({ name: 'ServerError', status: 500, code: 'unknown', requestId: 'req_h' });
    }
  });

  it('says so when the URL only redirects', async () => {
    const moved = new Response(null, { status: 308, headers: { Location: 'https://elsewhere.example.com/' } });
    const { error } = await settle(fakeService([moved]).reelmend.account.get());
    expect(error).toMatchObject({ name: 'ReelmendApiError', status: 308, attempts: 1 });
    expect((error as Error).message).toMatch(/redirect.*baseUrl/);
  });

  it('of a lost connection has its cause', async () => {
    const cause = lost();
    const { error } = await settle(fakeService([cause]).reelmend.account.get());
    expect(error).toBeInstanceOf(ReelmendConnectionError);
    expect(error).toMatchObject({ cause, attempts: 4 });
  });

  it.each([
    ['text', () => new Response('hello', { headers: { 'Content-Type': 'text/plain' } })],
    ['broken JSON', () => new Response('{"id":', { headers: jsonType })],
    ['null', () => new Response('null', { headers: jsonType })],
    ['a list', () => new Response('[]', { headers: jsonType })],
    ['no type', () => new Response(new Uint8Array([1, 2]))],
  ])('of a good status with %s is not retried', async (_name, answer) => {
    const { reelmend, requests } = fakeService([answer()]);
    const { error } = await settle(reelmend.account.get());
    expect(error).toBeInstanceOf(ReelmendConnectionError);
    expect(requests).toHaveLength(1);
  });
});

it('a page of something else than the API names baseUrl', async () => {
  const page = () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } });
  const { error } = await settle(fakeService([page()]).reelmend.account.get());
  expect((error as Error).message).toMatch(/not come from the API: check baseUrl/);
});

it('no path of the API, such as /v1/v1/account, names baseUrl; a missing job does not', async () => {
  const messageOf = async (answer: Response) => ((await settle(fakeService([answer]).reelmend.account.get())).error as Error).message;
  expect(await messageOf(refusal(404, 'not_found'))).toBe('It is not_found. Check the URL of the service (baseUrl): the client adds /v1 itself.');
  expect(await messageOf(new Response('<html>', { status: 404 }))).toMatch(/^The service returned the status 404\. Check the URL/);
  expect(await messageOf(refusal(404, 'job_not_found'))).toBe('It is job_not_found.');
});

describe('Retry-After', () => {
  it('is seconds or a date', () => {
    vi.setSystemTime('2026-11-21T08:00:00Z');
    expect(
      [null, '0', '3', 'Sat, 21 Nov 2026 08:00:09 GMT', 'Sat, 21 Nov 2026 07:00:00 GMT', 'soon'].map(retryAfterS),
    ).toEqual([undefined, 0, 3, 9, 0, undefined]);
  });

  it('and backoff give a delay between their bounds', () => {
    const busy = apiError(refusal(429, 'rate_limit_exceeded', { 'Retry-After': '2' }), undefined, { attempts: 1 });
    expect([0, 1].map((r) => retryDelayMs(busy, 1, () => r))).toEqual([2000, 2250]);
    const away = new ReelmendConnectionError('x');
    expect([0, 1].map((r) => retryDelayMs(away, 3, () => r))).toEqual([1000, 2000]);
    expect(retryDelayMs(away, 50, () => 1)).toBe(8000);
  });
});

describe('the response of a call', () => {
  it('comes with the data on request', async () => {
    const { reelmend, requests } = fakeService([json(jobView(), 200, { 'X-Request-Id': 'req_1', RateLimit: '"read";r=9;t=1' })]);
    const call = reelmend.jobs.get(jobId);
    const { data, response, requestId } = await call.withResponse();
    expect({ data, requestId, status: response.status }).toEqual({ data: jobView(), requestId: 'req_1', status: 200 });
    expect(response.headers.get('RateLimit')).toBe('"read";r=9;t=1');
    expect(await call).toEqual(data);
    expect(requests).toHaveLength(1);
  });

  it('is a promise of the data to whoever waits for it', async () => {
    const { reelmend } = fakeService([json(jobView())]);
    const call = () => reelmend.jobs.get(jobId);
    expect(call()).toBeInstanceOf(Promise);
    let done = false;
    expect(await call().finally(() => (done = true))).toEqual(jobView());
    expect(done).toBe(true);
    expect(await Promise.all([call(), call().then(({ id }) => id)])).toEqual([jobView(), jobId]);
  });

  it('of a failure rejects in every way it can be read, and unread once', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const call = () => fakeService([refusal(404, 'job_not_found')]).reelmend.jobs.get(jobId);
    const seen = [call().catch((error: NotFoundError) => error.code), call().withResponse().catch((error: NotFoundError) => error.code)];
    expect(await Promise.all(seen)).toEqual(['job_not_found', 'job_not_found']);
    void call();
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', note);
    expect(unhandled).toHaveLength(1);
  });
});

describe('the environment', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('names the service and the key where the options do not', async () => {
    vi.stubEnv('REELMEND_URL', 'https://env.example.com/');
    vi.stubEnv('REELMEND_API_KEY', 'svc_test_env');
    const seen: [string, string | null][] = [];
    const fetch = async (request: Request) => {
      seen.push([request.url, request.headers.get('Authorization')]);
      return json(jobView());
    };
    await createReelmend({ fetch }).account.get();
    await createReelmend({ fetch, baseUrl: 'https://own.example.com', apiKey: 'svc_test_own' }).account.get();
    expect(seen).toEqual([
      ['https://env.example.com/v1/account', 'Bearer svc_test_env'],
      ['https://own.example.com/v1/account', 'Bearer svc_test_own'],
    ]);
  });

  it('is missed by name', () => {
    vi.stubEnv('REELMEND_URL', '');
    vi.stubEnv('REELMEND_API_KEY', '');
    expect(() => createReelmend()).toThrow('Which service? Give baseUrl, or set REELMEND_URL.');
    const baseUrl = 'https://api.example.com';
    expect(() => createReelmend({ baseUrl })).toThrow('With which API key? Give apiKey, or set REELMEND_API_KEY.');
  });
});

describe('senseless arguments', () => {
  const good = { baseUrl: 'https://api.example.com', apiKey: 'svc_test_key' };

  it.each(['', 'api.example.com', 'ftp://x', '/v1', 'https://a/?b=1', 'https://a/?', 'https://u:p@a/', 'https://:p@a/', 'https://a/#b', 'https://a/#'])(
    'base %j is refused at once',
    (baseUrl) => {
      expect(() => createReelmend({ ...good, baseUrl })).toThrow(TypeError);
    },
  );

  it('base is checked without URL.canParse, which older browsers and workers do not have', async () => {
    vi.stubGlobal('URL', class extends URL { static override canParse = undefined as never; });
    const { reelmend } = fakeService([json(jobView())]);
    expect((await reelmend.jobs.get(jobId)).id).toBe(jobId);
    expect(() => createReelmend({ ...good, baseUrl: 'api.example.com' })).toThrow('baseUrl must be');
  });

  it('a number that is none is refused: no count is greater than NaN, so the retries would never end', async () => {
    for (const name of ['maxRetries', 'timeoutMs'] as const) {
      expect(() => createReelmend({ ...good, [name]: Number(undefined) }), name).toThrow(new TypeError(`${name} must be a number.`));
      const { reelmend, requests } = fakeService([json(jobView())]);
      const { error } = await settle<unknown>(reelmend.jobs.get(jobId, { [name]: Number.NaN }));
      expect(error).toEqual(new TypeError(`${name} must be a number.`));
      expect(requests).toHaveLength(0);
    }
  });

  it('a key that no header can hold is refused and not repeated', () => {
    for (const apiKey of ['', 'secret\nthing', 'sécret thing', 7 as unknown as string]) {
      expect(() => createReelmend({ ...good, apiKey })).toThrow(/^apiKey must be an API key of the service\.$/);
    }
  });

  it.each(['', '.', '..', 'a/b', 'a?b', undefined as unknown as string])('id %j sends nothing', async (id) => {
    const { reelmend, requests } = fakeService([json(jobView())]);
    for (const call of [reelmend.jobs.get, reelmend.jobs.result, reelmend.jobs.delete]) {
      expect((await settle<unknown>(call(id))).error).toBeInstanceOf(TypeError);
    }
    expect(requests).toHaveLength(0);
  });

  it('an idempotency key that no header can hold sends nothing', async () => {
    const { reelmend, requests } = fakeService([json(jobView())]);
    expect((await settle(reelmend.jobs.create(input, { idempotencyKey: 'é€' }))).error).toBeInstanceOf(TypeError);
    expect(requests).toHaveLength(0);
  });
});
