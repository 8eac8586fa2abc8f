/** Sending files: over a fake service that loses connections, and against the real HTTP app. */
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createReelmend, type Reelmend, type ReelmendOptions, sendUpload, type Upload, type UploadProgress } from '../../src/sdk/index.ts';
import { makeApi, publicUrl } from '../helpers/http.ts';
import { fakeService, json, refusal, runUntilSettled, useFakeClock } from './fake.ts';

const partSize = 8 * 1024 * 1024;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const large = randomBytes(2 * partSize + 1000);
const file = () => new File([large], 'Ferien/am Meer.mov');

type Fetch = (request: Request) => Promise<Response>;

/** The real app; `wrap` may lose requests and responses. A worker verifies what is complete. */
function service(wrap: (request: Request, next: Fetch) => Promise<Response> = (request, next) => next(request)) {
  const api = makeApi();
  const parts: string[] = [];
  const next: Fetch = async (request) => {
    const { pathname, search, searchParams } = new URL(request.url);
    if (request.method === 'PUT') {
      parts.push(searchParams.get('number')!);
      expect(request.headers.has('Authorization')).toBe(false);
      return api.app.request(pathname + search, { method: 'PUT', body: await request.arrayBuffer() });
    }
    const response = await api.app.request(request);
    if (pathname.endsWith('/complete') && response.ok) await verify(api, pathname.split('/').at(-2)!);
    return response;
  };
  const fetch: Fetch = (request) => wrap(request, next);
  const options: ReelmendOptions = { baseUrl: publicUrl, apiKey: api.keys.live, fetch };
  return { api, parts, reelmend: createReelmend(options) };
}

/** As the worker does. */
async function verify(api: ReturnType<typeof makeApi>, id: string): Promise<void> {
  const [row] = await (await api.store.sql())<{ key: string; id: string; part_sha256: string[]; size: string }[]>`
    SELECT key, multipart_id AS id, part_sha256, size_bytes AS size FROM uploads WHERE id = ${id}`;
  await api.storage.completeMultipart(row!, { count: row!.part_sha256.length, size: Number(row!.size) });
  const bytes = api.objects.get(row!.key)!;
  const hashes = row!.part_sha256.map((_, index) => sha256(bytes.subarray(index * partSize, (index + 1) * partSize)));
  const same = hashes.join() === row!.part_sha256.join();
  await api.store.verifyUpload(id, same ? { sha256: sha256(bytes) } : 'checksum_mismatch');
}

const isPart = (request: Request, number?: number) =>
  request.method === 'PUT' && (number === undefined || new URL(request.url).searchParams.get('number') === String(number));

/** A line that one request keeps busy for `ms`. Requests at the same time share it. */
function slowLine(ms: number): (signal: AbortSignal) => Promise<void> {
  const sending = new Set<AbortSignal>();
  return async (signal) => {
    sending.add(signal);
    try {
      for (let left = ms, now = performance.now(); left > 0; ) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        signal.throwIfAborted();
        const before = now;
        now = performance.now();
        left -= (now - before) / sending.size;
      }
    } finally {
      sending.delete(signal);
    }
  };
}

describe('uploads.create', () => {
  it('with a key of the caller continues the same upload, after a lost response and in another process', async () => {
    let losses = 0;
    const { api, parts, reelmend } = service(async (request, next) => {
      const response = await next(request);
      if (!request.url.endsWith('/v1/uploads') || losses > 0) return response;
      losses += 1;
      throw new TypeError('fetch failed');
    });
    const options = { idempotencyKey: 'film-1' };
    const upload = await reelmend.uploads.create(file(), options);
    expect([losses, parts.length]).toEqual([1, 3]);
    expect(await reelmend.uploads.create(file(), options)).toMatchObject({ id: upload.id, status: 'ready' });
    expect(parts).toHaveLength(3);
    expect(await (await api.store.sql())`SELECT id FROM uploads WHERE account_id = ${api.account.id}`).toEqual([{ id: upload.id }]);
  });

  it('sends a file in parts, with progress, and resolves when it is verified', async () => {
    const { api, parts, reelmend } = service();
    const progress: UploadProgress[] = [];
    const upload = await reelmend.uploads.create(file(), { onProgress: (now) => progress.push(now) });
    expect(upload).toMatchObject({ status: 'ready', file_name: 'am Meer.mov', size_bytes: large.length, sha256: sha256(large) });
    expect(parts.toSorted()).toEqual(['1', '2', '3']);
    const sent = progress.map(({ sentBytes }) => sentBytes);
    expect(sent[0]).toBe(0);
    expect(sent.at(-1)).toBe(large.length);
    expect(sent).toEqual(sent.toSorted((a, b) => a - b));
    expect(progress.every(({ uploadId, totalBytes }) => uploadId === upload.id && totalBytes === large.length)).toBe(true);
    expect(api.objects.get(`uploads/${upload.id}/file`)?.equals(large)).toBe(true);
    expect((await reelmend.jobs.create({ upload_id: upload.id, resolution: '1080p' })).file_name).toBe('am Meer.mov');
  });

  it('needs a name, and takes one for what has none', async () => {
    const { reelmend } = service();
    const blob = new Blob(['abc']);
    await expect(reelmend.uploads.create(blob)).rejects.toThrow('The file has no name');
    expect(await reelmend.uploads.create(blob, { name: 'C:\\films\\a\u0001.mov' })).toMatchObject({ file_name: 'a_.mov' });
  });

  it('says what a file is, for a path, a buffer, a stream or nothing', async () => {
    const { reelmend, requests } = fakeService([json({}, 201)]);
    for (const wrong of ['film.mov', Buffer.from('abc'), new Blob(['abc']).stream(), undefined]) {
      const file = wrong as unknown as Blob;
      for (const call of [reelmend.uploads.create(file, { name: 'film.mov' }), reelmend.uploads.resume('upl_x', file), reelmend.enhance({ file, resolution: '1080p' })]) {
        await expect(call).rejects.toThrow('The file must be a Blob: a File of a form, or `await openAsBlob(path)` of node:fs.');
      }
    }
    expect(requests).toHaveLength(0);
  });

  it('continues after broken connections, and sends again only what did not arrive', async () => {
    let lost = 0;
    const { api, parts, reelmend } = service(async (request, next) => {
      if (isPart(request, 2) && lost++ < 2) throw new TypeError('fetch failed');
      return next(request);
    });
    const upload = await reelmend.uploads.create(file());
    expect(upload.status).toBe('ready');
    expect(lost).toBe(3);
    expect(parts.toSorted()).toEqual(['1', '2', '3']);
    expect(api.objects.get(`uploads/${upload.id}/file`)?.equals(large)).toBe(true);
  });

  it('does not send a part again whose response was lost', async () => {
    let lost = false;
    const { parts, reelmend } = service(async (request, next) => {
      const response = await next(request);
      if (!isPart(request, 1) || lost) return response;
      lost = true;
      throw new TypeError('fetch failed');
    });
    expect((await reelmend.uploads.create(file())).status).toBe('ready');
    expect(parts.filter((number) => number === '1')).toHaveLength(1);
  });

  it('sends fewer parts at a time over a line that is too slow for them', async () => {
    const line = slowLine(300);
    const { parts, reelmend } = service(async (request, next) => {
      if (isPart(request)) await line(request.signal);
      return next(request);
    });
    const upload = await reelmend.uploads.create(file(), { timeoutMs: 800, maxRetries: 1 });
    expect(upload).toMatchObject({ status: 'ready', sha256: sha256(large) });
    expect(parts.toSorted()).toEqual(['1', '2', '3']);
  });

  it('gets fresh URLs for those that have expired', async () => {
    let expired = false;
    const { reelmend } = service(async (request, next) => {
      if (!isPart(request, 3) || expired) return next(request);
      expired = true;
      return new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 });
    });
    expect((await reelmend.uploads.create(file())).status).toBe('ready');
  });

  it('gives up when no attempt makes progress, and is resumed later', async () => {
    let isDown = true;
    let id = '';
    const { parts, reelmend } = service(async (request, next) => {
      if (isPart(request) && isDown && !isPart(request, 1)) throw new TypeError('fetch failed');
      return next(request);
    });
    const failed = reelmend.uploads.create(file(), { maxRetries: 1, onProgress: ({ uploadId }) => (id = uploadId) });
    await expect(failed).rejects.toMatchObject({ name: 'ReelmendConnectionError' });
    isDown = false;
    const sent = parts.length;
    const upload = await reelmend.uploads.resume(id, file());
    expect(upload).toMatchObject({ id, status: 'ready' });
    expect(parts.slice(sent).toSorted()).toEqual(['2', '3']);
    // Nothing is left to send.
    expect(await reelmend.uploads.resume(id, file())).toMatchObject({ status: 'ready' });
    await expect(reelmend.uploads.resume(id, new Blob(['x']))).rejects.toThrow('The file has 1 bytes');
  });

  it('ends at once with a refusal that no retry can change', async () => {
    let requests = 0;
    const { reelmend } = service(async (request, next) => {
      if (!isPart(request)) return next(request);
      requests += 1;
      return Response.json({ error: { code: 'payload_too_large', message: 'Too large.', type: 'validation_error' } }, { status: 413 });
    });
    await expect(reelmend.uploads.create(file(), { parallelParts: 1 })).rejects.toMatchObject({ status: 413 });
    expect(requests).toBe(1);
  });

  it('notices that the service received something else', async () => {
    const { reelmend } = service(async (request, next) => {
      if (!isPart(request, 1)) return next(request);
      const bytes = new Uint8Array(await request.arrayBuffer());
      bytes[0]! ^= 1;
      return next(new Request(request.url, { method: 'PUT', body: bytes }));
    });
    await expect(reelmend.uploads.create(file())).rejects.toMatchObject({
      name: 'UploadFailedError',
      code: 'checksum_mismatch',
      docUrl: expect.stringMatching(/\/docs\/errors#checksum_mismatch$/) as string,
      upload: { status: 'failed' },
    });
  });

  it('stops with the reason of its signal', async () => {
    const abort = new AbortController();
    const reason = new Error('stopped by the test');
    const { parts, reelmend } = service(async (request, next) => {
      if (isPart(request)) abort.abort(reason);
      return next(request);
    });
    await expect(reelmend.uploads.create(file(), { signal: abort.signal, parallelParts: 1 })).rejects.toBe(reason);
    expect(parts.length).toBeLessThan(2);
  });

  it('lists, pages and deletes', async () => {
    const { reelmend } = service();
    const names: string[] = [];
    for (const name of ['a.mov', 'b.mov', 'c.mov']) names.unshift((await reelmend.uploads.create(new Blob(['x']), { name })).file_name);
    const seen: string[] = [];
    for await (const { file_name } of reelmend.uploads.all({ limit: 2 })) seen.push(file_name);
    expect(seen).toEqual(names);
    const [newest] = (await reelmend.uploads.list({ limit: 1 })).data;
    expect(await reelmend.uploads.delete(newest!.id)).toMatchObject({ id: newest!.id, deleted: true });
    await expect(reelmend.uploads.get('../jobs')).rejects.toThrow('The id of an upload looks like upl_….');
  });
});

describe('an upload in an outage', () => {
  beforeEach(useFakeClock);
  afterEach(() => void vi.useRealTimers());

  /** One part; `spoil` may answer instead of the service and its storage. */
  async function sendThrough(spoil: (request: Request) => Response | Promise<Response> | Error | undefined) {
    let received = 0;
    let parts = 0;
    const view = (status: string) =>
      json({ id: 'upl_x', status, size_bytes: 3, part_size_bytes: 3, received_bytes: received, parts: received === 3 ? [] : [part] });
    const part = { number: 1, url: 'https://bucket.example.com/part', offset: 0, size_bytes: 3 };
    const { reelmend } = fakeService([(request) => {
      if (request.method === 'PUT') parts += 1;
      const spoilt = spoil(request);
      if (spoilt instanceof Error) throw spoilt;
      if (spoilt !== undefined) return spoilt;
      if (request.method === 'PUT') received = 3;
      return request.method === 'PUT' ? new Response() : view(request.url.endsWith('/complete') ? 'ready' : 'waiting');
    }]);
    const began = Date.now();
    const outcome = reelmend.uploads.create(new Blob(['abc']), { name: 'a.mov' }).then(({ status }) => status, (error: unknown) => error);
    return { outcome: await runUntilSettled(outcome), ms: Date.now() - began, parts };
  }

  /** From the first request of this kind on, nothing answers. */
  const awayFor = (ms: number, starts: (request: Request) => boolean) => {
    let began = Infinity;
    return (request: Request) => {
      if (starts(request)) began = Math.min(began, Date.now());
      return Date.now() >= began && Date.now() < began + ms ? new TypeError('fetch failed') : undefined;
    };
  };
  const completes = (request: Request) => request.url.endsWith('/complete');

  it.each([['a part is sent', isPart], ['it is completed', completes]])('of less than a minute goes on, while %s', async (_name, starts) => {
    const { outcome, ms } = await sendThrough(awayFor(55_000, starts));
    expect(outcome).toBe('ready');
    expect(ms).toBeGreaterThan(55_000);
  });

  it('of more than a minute ends', async () => {
    const { outcome, ms } = await sendThrough(awayFor(600_000, isPart));
    expect(outcome).toMatchObject({ name: 'ReelmendConnectionError' });
    expect(ms).toBeGreaterThan(60_000);
    expect(ms).toBeLessThan(80_000);
  });

  it('of the storage is limited by the retries: its 500 is one that passes', async () => {
    const internal = () => new Response('<Error><Code>InternalError</Code></Error>', { status: 500 });
    let answered = 0;
    expect(await sendThrough((request) => (isPart(request) && answered++ < 2 ? internal() : undefined))).toMatchObject({ outcome: 'ready', parts: 3 });
    const ended = await sendThrough((request) => (isPart(request) ? internal() : undefined));
    expect(ended).toMatchObject({ outcome: { name: 'ReelmendConnectionError', cause: { status: 500 } }, parts: 4 });
  });

  it.each([
    ['was suspended', 3_600_000, 20_000],
    ['is a page that is not shown, whose timers wait for a minute', 60_000, 290_000],
  ])('of the connection is noticed when the machine %s', async (_name, suspendedMs, expectedMs) => {
    let isHanging = true;
    const connection = new Promise<Response>(() => {});
    const { outcome, ms, parts } = await sendThrough((request) => {
      if (!isPart(request) || !isHanging) return undefined;
      isHanging = false;
      setTimeout(() => vi.setSystemTime(Date.now() + suspendedMs), 1000);
      return connection;
    });
    expect({ outcome, parts }).toEqual({ outcome: 'ready', parts: 2 });
    expect(ms - suspendedMs).toBeLessThan(expectedMs + 5000);
    expect(ms - suspendedMs).toBeGreaterThan(expectedMs - 20_000);
  });

  it('is no reason to repeat what the service refuses', async () => {
    const { outcome, ms } = await sendThrough((request) => (completes(request) ? refusal(409, 'upload_incomplete') : undefined));
    expect({ outcome, ms }).toMatchObject({ outcome: { status: 409 }, ms: 0 });
  });
});

describe('without WebCrypto, as in a page over http', () => {
  beforeEach(() => void vi.stubGlobal('crypto', {}));
  afterEach(() => void vi.unstubAllGlobals());
  const refused = 'This page cannot compute checksums: browsers allow that over https and on localhost only.';
  const waiting = { id: 'upl_x', status: 'waiting', size_bytes: 3, received_bytes: 0, part_size_bytes: 3, parts: [] } as unknown as Upload;

  it('an upload is not begun', async () => {
    const { reelmend, requests } = fakeService([json(waiting, 201)]);
    await expect(reelmend.uploads.create(new Blob(['abc']), { name: 'a.mov' })).rejects.toThrow(refused);
    expect(requests).toHaveLength(0);
  });

  it('no part is sent', async () => {
    const part = { number: 1, url: 'https://bucket.example.com/part', offset: 0, size_bytes: 3, expires_in: 3600 };
    const fetch = vi.fn();
    vi.stubGlobal('fetch', fetch);
    const unused = () => Promise.reject(new Error('This must not be called.'));
    const sending = sendUpload({ upload: { ...waiting, parts: [part] }, file: new Blob(['abc']), get: unused, complete: unused });
    await expect(sending).rejects.toThrow(refused);
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe('sendUpload', () => {
  it('sends several parts at a time again once a line that stood still is fast', async () => {
    const sent = new Set<number>();
    let calls = 0;
    let atATime = 0;
    let most = 0;
    vi.stubGlobal('fetch', async ({ url, signal }: Request) => {
      const stuck = ++calls <= 3;
      if (stuck) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      most = Math.max(most, ++atATime);
      await new Promise((resolve) => setTimeout(resolve, 5));
      atATime -= 1;
      sent.add(Number(new URL(url).pathname.slice(1)));
      return new Response();
    });
    const state = () => {
      const missing = Array.from({ length: 12 }, (_, i) => i).filter((i) => !sent.has(i));
      const parts = missing.map((i) => ({ number: i + 1, offset: i, size_bytes: 1, url: `https://bucket.example/${i}` }));
      return { id: 'upl_x', status: 'waiting', size_bytes: 12, received_bytes: sent.size, part_size_bytes: 1, parts } as unknown as Upload;
    };
    const complete = () => Promise.resolve({ ...state(), status: 'ready' } as Upload);
    const sending = sendUpload({ upload: state(), file: new Blob(['x'.repeat(12)]), get: () => Promise.resolve(state()), complete, timeoutMs: 400 });
    await sending.finally(() => vi.unstubAllGlobals());
    expect({ parts: sent.size, most }).toEqual({ parts: 12, most: 3 });
  });

  it('takes no count that is no number: without an end it would send again, or send nothing', async () => {
    const upload = { id: 'upl_x', status: 'waiting', size_bytes: 3, received_bytes: 0, part_size_bytes: 3, parts: [] } as unknown as Upload;
    const unused = () => Promise.reject(new Error('This must not be called.'));
    for (const name of ['maxRetries', 'parallelParts']) {
      const sending = sendUpload({ upload, file: new Blob(['abc']), get: unused, complete: unused, [name]: Number.NaN });
      await expect(sending).rejects.toThrow(new TypeError(`${name} must be a number.`));
    }
  });

  it('sends a file from a page whose server has the key', async () => {
    const { api, reelmend } = service();
    const server: Pick<Reelmend['uploads'], 'get' | 'complete'> = reelmend.uploads;
    const upload = await reelmend.uploads.begin({ file_name: 'film.mov', size_bytes: large.length });
    const before = globalThis.fetch;
    globalThis.fetch = (async (request: Request) => {
      const { pathname, search } = new URL(request.url);
      return api.app.request(pathname + search, { method: request.method, body: await request.arrayBuffer() });
    }) as typeof fetch;
    try {
      const sent: Upload = await sendUpload({ upload, file: file(), get: server.get, complete: server.complete });
      expect(sent).toMatchObject({ id: upload.id, status: 'ready', sha256: sha256(large) });
    } finally {
      globalThis.fetch = before;
    }
  });
});
