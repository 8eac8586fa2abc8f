/** Uploads over the API: parts, checksums, quotas, isolation, and jobs and quotes from them. */
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Upload } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { maxUploads, partSizeBytes } from '../../src/domain/uploads.ts';
import { makePartLink } from '../../src/storage/links.ts';
import { type Api, errorOf, linkSecret, makeApi, publicUrl, type RequestOptions, source } from '../helpers/http.ts';
import { eventually } from '../helpers/wait.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const post = { method: 'POST' } as const;
const file = randomBytes(1000);
const input = { file_name: 'Ferien am Meer.mov', size_bytes: file.length };

const create = (api: Api, json: object = input, options: RequestOptions = {}) => api.request('/v1/uploads', { ...post, json, ...options });
const created = async (api: Api, json: object = input, options: RequestOptions = {}): Promise<Upload> => {
  const response = await create(api, json, options);
  expect(response.status).toBe(201);
  return (await response.json()) as Upload;
};
const get = async (api: Api, id: string, options: RequestOptions = {}) =>
  (await (await api.request(`/v1/uploads/${id}`, options)).json()) as Upload;
const complete = (api: Api, id: string, json: object = {}, options: RequestOptions = {}) =>
  api.request(`/v1/uploads/${id}/complete`, { ...post, json, ...options });
/** Sends the bytes of a listed part, without a key. */
const send = (api: Api, part: Upload['parts'][number], bytes: Uint8Array | ReadableStream<Uint8Array>, headers = {}) =>
  api.request(part.url.slice(publicUrl.length), { method: 'PUT', key: null, body: bytes, headers });
const sliceOf = (bytes: Uint8Array, { offset, size_bytes }: Upload['parts'][number]) => bytes.subarray(offset, offset + size_bytes);

/** An upload that a worker has verified. */
async function ready(api: Api, options: RequestOptions = {}, json: object = input): Promise<Upload> {
  const upload = await created(api, json, options);
  for (const part of upload.parts) expect((await send(api, part, sliceOf(file, part))).status).toBe(200);
  expect((await complete(api, upload.id, { sha256: sha256(file) }, options)).status).toBe(200);
  await api.store.verifyUpload(upload.id, { sha256: sha256(file) });
  return get(api, upload.id, options);
}

describe('an upload', () => {
  it('is created, takes its parts, is completed and becomes ready', async () => {
    const api = makeApi();
    const response = await create(api);
    const upload = (await response.json()) as Upload;
    expect(response.headers.get('Location')).toBe(`/v1/uploads/${upload.id}`);
    expect(upload).toMatchObject({
      status: 'waiting',
      ...input,
      sha256: null,
      sandbox: false,
      part_size_bytes: partSizeBytes,
      received_bytes: 0,
      parts: [{ number: 1, offset: 0, size_bytes: 1000, expires_in: 3600 }],
      error: null,
    });
    const keptMs = Date.parse(upload.expires_at) - Date.parse(upload.created_at);
    expect(keptMs).toBe(24 * 3600_000);

    const sent = await send(api, upload.parts[0]!, file);
    expect(await sent.json()).toEqual({ number: 1, size_bytes: 1000 });
    expect(sent.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(await get(api, upload.id)).toMatchObject({ status: 'waiting', received_bytes: 1000, parts: [] });

    const completed = await complete(api, upload.id, { sha256: sha256(file) });
    expect(await completed.json()).toMatchObject({ status: 'verifying', received_bytes: 1000, parts: [] });
    await api.store.verifyUpload(upload.id, { sha256: sha256(file) });
    expect(await get(api, upload.id)).toMatchObject({ status: 'ready', sha256: sha256(file), error: null });
    // Whoever lost the first response repeats the call.
    expect(await (await complete(api, upload.id)).json()).toMatchObject({ status: 'ready' });
  });

  it('lists 20 missing parts at a time, in order, and continues wherever it was broken off', async () => {
    const api = makeApi();
    const size_bytes = 22 * partSizeBytes + 5;
    const upload = await created(api, { file_name: 'long.mkv', size_bytes });
    expect(upload.parts.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(upload.parts[3]).toMatchObject({ offset: 3 * partSizeBytes, size_bytes: partSizeBytes });
    const part = Buffer.alloc(partSizeBytes);
    for (const number of [2, 1]) await send(api, upload.parts[number - 1]!, part);
    const later = await get(api, upload.id);
    expect(later.received_bytes).toBe(2 * partSizeBytes);
    expect(later.parts.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 3));
    const refused = await complete(api, upload.id, { sha256: '0'.repeat(64) });
    expect(refused.status).toBe(409);
    expect(await errorOf(refused)).toMatchObject({
      code: 'upload_incomplete',
      message: '21 of 23 parts have not arrived yet, such as part 3.',
    });
    for (const next of later.parts) await send(api, next, part);
    const { parts } = await get(api, upload.id);
    expect(parts).toMatchObject([{ number: 23, offset: 22 * partSizeBytes, size_bytes: 5 }]);
  });

  it('may send a part again; the last one counts', async () => {
    const api = makeApi();
    const upload = await created(api);
    await send(api, upload.parts[0]!, Buffer.alloc(1000));
    await send(api, upload.parts[0]!, file);
    await complete(api, upload.id, { sha256: sha256(file) });
    const [key] = await (await api.store.sql())<{ key: string; id: string }[]>`SELECT key, multipart_id AS id FROM uploads WHERE id = ${upload.id}`;
    await api.storage.completeMultipart(key!, { count: 1, size: 1000 });
    expect(api.objects.get(key!.key)?.equals(file)).toBe(true);
    // The customer's name is in no key.
    expect([...api.objects.keys()]).toEqual([`uploads/${upload.id}/file`]);
  });

  it('that differs from its checksum fails and says so', async () => {
    const api = makeApi();
    const upload = await created(api, { ...input, sha256: '0'.repeat(64) });
    await send(api, upload.parts[0]!, file);
    expect((await complete(api, upload.id)).status).toBe(200);
    await api.store.verifyUpload(upload.id, 'checksum_mismatch');
    expect(await get(api, upload.id)).toMatchObject({ status: 'failed', error: { code: 'checksum_mismatch', doc_url: 'http://reelmend.test/docs/errors#checksum_mismatch' } });
    const response = await api.request('/v1/jobs', { ...post, json: { upload_id: upload.id, resolution: '1080p' } });
    expect(response.status).toBe(409);
    expect(await errorOf(response)).toMatchObject({ code: 'upload_failed', param: '/upload_id' });
  });

  it('needs a checksum before it is verified', async () => {
    const api = makeApi();
    const cases = [
      { json: {}, status: 409, code: 'upload_incomplete', param: '/sha256' },
      { json: { part_sha256: ['1'.repeat(64), '2'.repeat(64)] }, status: 409, code: 'upload_incomplete', param: '/part_sha256' },
      { json: { part_sha256: [] }, status: 400, code: 'invalid_request', param: '/part_sha256' },
      { json: { sha256: 'ABC' }, status: 400, code: 'invalid_request', param: '/sha256' },
    ];
    for (const { json, status, code, param } of cases) {
      const upload = await created(api);
      await send(api, upload.parts[0]!, file);
      const response = await complete(api, upload.id, json);
      expect(response.status, JSON.stringify(json)).toBe(status);
      expect(await errorOf(response)).toMatchObject({ code, param });
      expect((await get(api, upload.id)).status).toBe('waiting');
    }
    for (const [known, json] of [[{ sha256: sha256(file) }, {}], [{}, { part_sha256: [sha256(file)] }]] as const) {
      const upload = await created(api, { ...input, ...known });
      await send(api, upload.parts[0]!, file);
      expect((await complete(api, upload.id, json)).status).toBe(200);
    }
  });

  it.each([
    [{ size_bytes: 2_000_000_001 }, 'video_too_large', '/size_bytes'],
    [{ size_bytes: 0 }, 'invalid_request', '/size_bytes'],
    [{ size_bytes: 1.5 }, 'invalid_request', '/size_bytes'],
    [{ file_name: '' }, 'invalid_request', '/file_name'],
    [{ file_name: '../../etc/passwd' }, 'invalid_request', '/file_name'],
    [{ file_name: 'a\\b.mov' }, 'invalid_request', '/file_name'],
    [{ file_name: 'a\nb.mov' }, 'invalid_request', '/file_name'],
    [{ file_name: 'x'.repeat(256) }, 'invalid_request', '/file_name'],
    [{ sha256: 'x' }, 'invalid_request', '/sha256'],
  ])('is refused with %j', async (change, code, param) => {
    const response = await create(makeApi(), { ...input, ...change });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code, param });
  });

  it('is deleted on request, and takes no parts any more', async () => {
    const api = makeApi();
    const upload = await created(api);
    const response = await api.request(`/v1/uploads/${upload.id}`, { method: 'DELETE' });
    expect(await response.json()).toMatchObject({ id: upload.id, deleted: true });
    expect((await api.request(`/v1/uploads/${upload.id}`)).status).toBe(404);
    expect((await api.request(`/v1/uploads/${upload.id}`, { method: 'DELETE' })).status).toBe(404);
    const rows = await (await api.store.sql())`SELECT file_name FROM uploads WHERE id = ${upload.id}`;
    expect(rows).toEqual([{ file_name: null }]);
    const queued = await (await api.store.sql())`SELECT 1 FROM graphile_worker.jobs WHERE key = ${`destroy:${upload.id}`}`;
    expect(queued).toHaveLength(1);
  });

  it('is recorded in the audit log without its name', async () => {
    const api = makeApi();
    const upload = await ready(api);
    await api.request(`/v1/uploads/${upload.id}`, { method: 'DELETE' });
    const log = await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).text();
    expect(log).not.toContain('Ferien');
    const { data } = JSON.parse(log) as { data: { kind: string; data: object }[] };
    expect(data.filter(({ kind }) => kind.startsWith('upload.')).reverse()).toMatchObject([
      { kind: 'upload.created', data: { upload_id: upload.id, mode: 'live', size_bytes: 1000 } },
      { kind: 'upload.ready', data: { upload_id: upload.id, sha256: sha256(file) } },
      { kind: 'upload.deleted', data: { upload_id: upload.id, by: 'customer' } },
    ]);
  });
});

describe('uploads', () => {
  it('are listed newest first, by pages, without their parts', async () => {
    const api = makeApi();
    const ids: string[] = [];
    for (const name of ['a.mp4', 'b.mp4', 'c.mp4']) ids.unshift((await created(api, { file_name: name, size_bytes: 5 })).id);
    type List = { data: Upload[]; has_more: boolean; next_cursor: string | null };
    const page = async (query: string) => (await (await api.request(`/v1/uploads${query}`)).json()) as List;
    const first = await page('?limit=2');
    expect(first).toMatchObject({ has_more: true, next_cursor: ids[1], data: [{ id: ids[0], parts: [], received_bytes: null }, { id: ids[1] }] });
    expect(await page(`?limit=2&starting_after=${ids[1]}`)).toMatchObject({ has_more: false, next_cursor: null, data: [{ id: ids[2] }] });
    expect((await api.request('/v1/uploads?limit=0')).status).toBe(400);
  });

  it('belong to one account and one mode', async () => {
    const [ours, stranger] = [makeApi(), makeApi()];
    const upload = await ready(ours);
    const others: [Api, string][] = [[ours, ours.keys.test], [stranger, stranger.keys.live], [stranger, stranger.keys.liveSecure]];
    for (const [api, key] of others) {
      const answers = [
        await api.request(`/v1/uploads/${upload.id}`, { key }),
        await complete(api, upload.id, {}, { key }),
        await api.request(`/v1/uploads/${upload.id}`, { method: 'DELETE', key }),
        await api.request('/v1/jobs', { ...post, key, json: { upload_id: upload.id, resolution: '4k' } }),
        await api.request('/v1/quotes', { ...post, key, json: { upload_id: upload.id, resolution: '4k' } }),
      ];
      const unknown = await api.request(`/v1/uploads/${newId('upl')}`, { key });
      const { message } = await errorOf(unknown);
      for (const answer of answers) {
        expect(answer.status).toBe(404);
        expect(await errorOf(answer)).toMatchObject({ code: 'upload_not_found', message });
      }
      const list = (await (await api.request('/v1/uploads', { key })).json()) as { data: [] };
      expect(list.data).toEqual([]);
    }
    expect((await get(ours, upload.id)).status).toBe('ready');
  });

  it('of an account have a quota, which deletions free once the storage has confirmed them', async () => {
    const api = makeApi({ options: { uploadQuotaBytes: 2500 } });
    const account = (await (await api.request('/v1/account')).json()) as { limits: { upload_quota_bytes: number } };
    expect(account.limits.upload_quota_bytes).toBe(2500);
    const [first] = [await created(api), await created(api)];
    const refused = await create(api);
    expect(refused.status).toBe(409);
    expect(await errorOf(refused)).toMatchObject({ code: 'upload_quota_exceeded' });
    // The modes have quotas of their own.
    await created(api, input, { key: api.keys.test });
    await api.request(`/v1/uploads/${first.id}`, { method: 'DELETE' });
    expect((await create(api)).status).toBe(409);
    const sql = await api.store.sql();
    await sql`UPDATE uploads SET destroyed_at = now() WHERE id = ${first.id}`;
    await created(api);
  });

  it('have the same quota when many are created at once', async () => {
    const api = makeApi({ options: { uploadQuotaBytes: 2500 } });
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await create(api)).status));
    expect(statuses.toSorted()).toEqual([201, 201, 409, 409, 409, 409, 409, 409]);
  });

  it('are limited in number', async () => {
    const api = makeApi();
    await created(api);
    const sql = await api.store.sql();
    await sql`INSERT INTO uploads (id, account_id, mode, file_name, size_bytes, part_size_bytes, key, expires_at)
      SELECT 'upl_' || lpad(replace(translate(n::text, 'ilou', ''), ' ', ''), 26, '0'), ${api.account.id}, 'live', 'a', 1, 8, ${api.account.id} || n, now()
      FROM generate_series(1, ${maxUploads - 1}) AS n`;
    expect(await errorOf(await create(api))).toMatchObject({ code: 'upload_quota_exceeded' });
    await sql`DELETE FROM uploads WHERE key LIKE ${`${api.account.id}%`}`;
  });

  it('of an account that is not approved are small', async () => {
    const api = makeApi({ account: { approvalStatus: 'pending' } });
    const options = { key: api.keys.test };
    await created(api, { ...input, size_bytes: 100_000_000 }, options);
    expect((await create(api, input, options)).status).toBe(409);
  });

  it('wait for disk space', async () => {
    let free = 1e9 + 2000;
    const api = makeApi({ freeBytes: async () => free });
    const expected = await api.store.uploads.expectedBytes();
    free += 2 * expected;
    await created(api);
    const refused = await create(api);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('Retry-After')).toBe('60');
  });
});

describe('PUT /v1/upload-parts/{key}', () => {
  it('takes exactly the bytes of the part', async () => {
    const api = makeApi();
    const { id, parts } = await created(api);
    const stream = (length: number) => new Blob([new Uint8Array(length)]).stream();
    const bodies: [Uint8Array | ReadableStream<Uint8Array>, number, string, object?][] = [
      [new Uint8Array(1001), 413, 'payload_too_large', { 'Content-Length': '1001' }],
      [new Uint8Array(999), 400, 'invalid_request', { 'Content-Length': '999' }],
      // Without Content-Length.
      [stream(1001), 413, 'payload_too_large'],
      [stream(999), 400, 'invalid_request'],
      [stream(0), 400, 'invalid_request'],
    ];
    for (const [body, status, code, headers] of bodies) {
      const response = await send(api, parts[0]!, body, headers);
      expect(response.status).toBe(status);
      expect((await errorOf(response)).code).toBe(code);
    }
    expect((await get(api, id)).received_bytes).toBe(0);
    expect((await send(api, parts[0]!, stream(1000))).status).toBe(200);
  });

  it('stops reading at the first byte too many', async () => {
    const api = makeApi();
    const { parts } = await created(api);
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(600));
      },
    });
    expect((await send(api, parts[0]!, endless)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
  });

  it('takes nothing of a body that breaks off', async () => {
    const api = makeApi();
    const { id, parts } = await created(api);
    const broken = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(500));
        controller.error(new Error('the connection broke'));
      },
    });
    const response = await send(api, parts[0]!, broken);
    expect(response.status).toBe(400);
    expect((await get(api, id)).received_bytes).toBe(0);
  });

  it('accepts only URLs that the service has signed, and not for longer than they say', async () => {
    const api = makeApi();
    const { parts } = await created(api);
    const url = new URL(parts[0]!.url);
    const changes: Record<string, string> = {
      number: '2',
      size: '1001',
      expires: '99999999999',
      upload: 'f'.repeat(32),
      signature: '0'.repeat(64),
    };
    for (const [name, value] of Object.entries(changes)) {
      const forged = new URL(url);
      forged.searchParams.set(name, value);
      const response = await api.request(forged.pathname + forged.search, { method: 'PUT', key: null, body: file });
      expect(response.status, name).toBe(403);
      expect((await errorOf(response)).code).toBe('link_invalid');
    }
    for (const path of [url.pathname.replace('/file', '/other'), `${url.pathname}/x`, '/v1/upload-parts/..%2fsecret']) {
      const response = await api.request(path + url.search, { method: 'PUT', key: null, body: file });
      expect([403, 404], path).toContain(response.status);
    }
    const claims = { key: url.pathname.slice('/v1/upload-parts/'.length), upload: url.searchParams.get('upload')!, number: 1, size: 1000 };
    const old = makePartLink(publicUrl, linkSecret, { ...claims, expires: Math.floor(Date.now() / 1000) - 2 });
    const expired = await api.request(old.slice(publicUrl.length), { method: 'PUT', key: null, body: file });
    expect(expired.status).toBe(403);
    expect((await errorOf(expired)).code).toBe('link_expired');
    expect((await api.request(url.pathname, { method: 'PUT', key: null, body: file })).status).toBe(403);
  });

  it('takes eight parts of an upload at a time, and of other uploads meanwhile', async () => {
    const api = makeApi();
    const [upload, other] = [await created(api), await created(api)];
    const gates: (() => void)[] = [];
    // Pulled when the service begins to read it.
    const waiting = () =>
      new ReadableStream<Uint8Array>(
        { pull: (controller) => new Promise((resolve) => gates.push(() => resolve((controller.enqueue(file), controller.close())))) },
        { highWaterMark: 0 },
      );
    const running = Array.from({ length: 8 }, () => send(api, upload.parts[0]!, waiting()));
    await eventually(() => gates.length === 8);
    const refused = await send(api, upload.parts[0]!, file);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('Retry-After')).toBe('1');
    expect((await send(api, other.parts[0]!, file)).status).toBe(200);
    for (const open of gates) open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await send(api, upload.parts[0]!, file)).status).toBe(200);
  });

  it('503 while the disk is full', async () => {
    const api = makeApi();
    const { parts } = await created(api);
    api.storage.writePart = async () => {
      throw Object.assign(new Error('canary'), { code: 'ENOSPC' });
    };
    const response = await send(api, parts[0]!, file);
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toBe('60');
    expect(await errorOf(response)).toMatchObject({ code: 'service_unavailable', message: expect.not.stringContaining('canary') as string });
  });

  it('404 for an upload that takes no parts any more', async () => {
    const api = makeApi();
    const upload = await created(api);
    await api.storage.completeMultipart({ key: `uploads/${upload.id}/file`, id: new URL(upload.parts[0]!.url).searchParams.get('upload')! }, { count: 0, size: 0 });
    const response = await send(api, upload.parts[0]!, file);
    expect(response.status).toBe(404);
    expect((await errorOf(response)).code).toBe('not_found');
  });

  it('lets web pages of other origins send parts', async () => {
    const response = await makeApi().request('/v1/upload-parts/uploads/x/file?number=1', { method: 'OPTIONS', key: null });
    expect(response.status).toBe(204);
    expect(response.headers.get('Allow')).toBe('PUT, OPTIONS');
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(response.headers.get('Access-Control-Allow-Methods')).toBe('PUT');
    // Everything else stays closed to them.
    const other = await makeApi().request('/v1/uploads', { method: 'OPTIONS', key: null });
    expect(other.headers.has('Access-Control-Allow-Origin')).toBe(false);
  });
});

describe('a job from an upload', () => {
  it('is measured in the storage, charged, and keeps the name of the file for its result', async () => {
    const api = makeApi();
    const upload = await ready(api);
    const json = { upload_id: upload.id, resolution: '1080p' };
    const quote = await api.request('/v1/quotes', { ...post, json });
    expect(await quote.json()).toMatchObject({ credits: 126, source });
    const response = await api.request('/v1/jobs', { ...post, json });
    expect(response.status).toBe(201);
    const job = (await response.json()) as { id: string };
    expect(job).toMatchObject({ upload_id: upload.id, file_name: input.file_name, credits_charged: 126 });
    expect(api.measured).toEqual(Array(2).fill(`uploads/${upload.id}/file`));

    const output = { width: 1920, height: 1080, size_bytes: 10, sha256: '0'.repeat(64) };
    await api.store.changeJob(job.id, { status: 'done', output, finishedAt: new Date(), startedAt: new Date() });
    api.objects.set(`outputs/${job.id}.mp4`, Buffer.from('0123456789'));
    const { download_url } = (await (await api.request(`/v1/jobs/${job.id}/result`)).json()) as { download_url: string };
    const download = await api.request(download_url.slice(publicUrl.length), { key: null });
    expect(download.headers.get('Content-Disposition')).toBe('attachment; filename="Ferien am Meer-1080p.mp4"');
  });

  it('can be one of several, each charged for itself', async () => {
    const api = makeApi();
    const upload = await ready(api);
    for (const resolution of ['1080p', '4k']) {
      const response = await api.request('/v1/jobs', { ...post, json: { upload_id: upload.id, resolution } });
      expect(response.status).toBe(201);
    }
    expect(await api.store.allJobs()).toHaveLength(2);
  });

  it('needs exactly one of video_url and upload_id', async () => {
    const api = makeApi();
    const upload = await ready(api);
    for (const path of ['/v1/jobs', '/v1/quotes']) {
      const none = await api.request(path, { ...post, json: { resolution: '1080p' } });
      expect(none.status).toBe(400);
      expect(await errorOf(none)).toMatchObject({ code: 'invalid_request', param: '/video_url' });
      const both = { upload_id: upload.id, video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
      const refused = await api.request(path, { ...post, json: both });
      expect(refused.status).toBe(400);
      expect(await errorOf(refused)).toEqual({
        code: 'invalid_request',
        message: 'Exactly one of the fields "video_url" and "upload_id" is required.',
        type: 'validation_error',
        param: '/upload_id',
        request_id: expect.any(String) as string,
        doc_url: expect.stringContaining('/docs/errors#invalid_request') as string,
      });
    }
  });

  it('waits until the upload is ready', async () => {
    const api = makeApi();
    const upload = await created(api);
    const json = { upload_id: upload.id, resolution: '1080p' };
    const refusal = async (path: string) => errorOf(await api.request(path, { ...post, json }));
    expect(await refusal('/v1/jobs')).toMatchObject({ code: 'upload_not_ready', param: '/upload_id' });
    await send(api, upload.parts[0]!, file);
    await complete(api, upload.id, { sha256: sha256(file) });
    expect(await refusal('/v1/quotes')).toMatchObject({ code: 'upload_not_ready', message: expect.stringContaining('being verified') as string });
    expect(api.measured).toEqual([]);
  });

  it('is not created when the upload is deleted while it is measured', async () => {
    let deleted = false;
    const api = makeApi({
      measure: async () => {
        deleted = (await api.store.uploads.delete(api.account.id, 'live', upload.id)) !== null;
        return source;
      },
    });
    const upload = await ready(api);
    const response = await api.request('/v1/jobs', { ...post, json: { upload_id: upload.id, resolution: '1080p' } });
    expect(deleted).toBe(true);
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({ code: 'upload_not_found', param: '/upload_id' });
    expect((await api.store.account()).credits).toBe(10_000);
  });

  it('takes its upload along when it is deleted', async () => {
    const api = makeApi();
    const upload = await ready(api);
    const job = (await (await api.request('/v1/jobs', { ...post, json: { upload_id: upload.id, resolution: '1080p' } })).json()) as { id: string };
    expect((await api.request(`/v1/jobs/${job.id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await api.request(`/v1/uploads/${upload.id}`)).status).toBe(404);
    const [row] = await (await api.store.sql())`SELECT video_url, file_name, upload_id FROM jobs WHERE id = ${job.id}`;
    expect(row).toEqual({ video_url: null, file_name: null, upload_id: upload.id });
  });

  it('follows the file name in test mode', async () => {
    const api = makeApi();
    const test = { key: api.keys.test };
    const outcomes = { 'video_too_long.mov': [400, 'video_too_long'], 'insufficient_credits.mov': [402, 'insufficient_credits'] } as const;
    for (const [file_name, [status, code]] of Object.entries(outcomes)) {
      const upload = await ready(api, test, { ...input, file_name });
      const response = await api.request('/v1/jobs', { ...post, ...test, json: { upload_id: upload.id, resolution: '4k' } });
      expect(response.status).toBe(status);
      expect((await errorOf(response)).code).toBe(code);
    }
    const slow = await ready(api, test, { ...input, file_name: 'slow.mov' });
    const quote = await api.request('/v1/quotes', { ...post, ...test, json: { upload_id: slow.id, resolution: '4k' } });
    expect(await quote.json()).toMatchObject({ estimated_seconds: 30, sandbox: true });
    expect(api.measured).toEqual([]);
  });
});
