/** Uploads over the API: parts, checksums, quotas and isolation. */
import { describe, expect, it } from 'vitest';
import type { Upload } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { maxUploads, partSizeBytes, pendingUploadQuotaBytes } from '../../src/domain/uploads.ts';
import { type Api, errorOf, makeApi } from '../helpers/http.ts';
import { complete, create, created, file, get, input, post, ready, send, sha256 } from '../helpers/upload-calls.ts';

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

  it('completed by two requests is complete for both, and deleted meanwhile it is gone', async () => {
    const api = makeApi();
    const { listParts } = api.storage;
    for (const status of [200, 404]) {
      const upload = await created(api);
      await send(api, upload.parts[0]!, file);
      // The other request is faster, and a worker has joined the parts.
      api.storage.listParts = async () => {
        api.storage.listParts = listParts;
        if (status === 200) await complete(api, upload.id, { sha256: sha256(file) });
        else await api.request(`/v1/uploads/${upload.id}`, { method: 'DELETE' });
        return [];
      };
      const response = await complete(api, upload.id, { sha256: sha256(file) });
      expect(response.status).toBe(status);
      if (status === 200) expect(await response.json()).toMatchObject({ status: 'verifying' });
    }
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

  it('of an account that is not approved have a smaller quota', async () => {
    const api = makeApi({ account: { approvalStatus: 'pending' } });
    const key = api.keys.test;
    const account = (await (await api.request('/v1/account', { key })).json()) as { limits: { upload_quota_bytes: number } };
    expect(account.limits.upload_quota_bytes).toBe(pendingUploadQuotaBytes);
    const more = await create(api, { ...input, size_bytes: pendingUploadQuotaBytes + 1 }, { key });
    expect([more.status, (await errorOf(more)).code]).toEqual([409, 'upload_quota_exceeded']);
    await created(api, { ...input, size_bytes: pendingUploadQuotaBytes }, { key });
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
