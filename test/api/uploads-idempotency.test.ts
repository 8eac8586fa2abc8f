/** POST /v1/uploads with an Idempotency-Key: one upload, however often it is requested. */
import { describe, expect, it } from 'vitest';
import type { Upload } from '../../src/contract/types.gen.ts';
import { type Api, errorOf, makeApi, type RequestOptions } from '../helpers/http.ts';
import { complete, create, get, input, post, file, send, sha256 } from '../helpers/upload-calls.ts';

const headers = { 'Idempotency-Key': 'film 1' };
const idempotent = (api: Api, json: object = input, options: RequestOptions = {}) => create(api, json, { headers, ...options });
const replayed = (response: Response) => response.headers.get('Idempotent-Replayed');
const idOf = async (response: Response) => ((await response.json()) as Upload).id;
const uploads = async (api: Api) => (await (await api.store.sql())<{ id: string }[]>`SELECT id FROM uploads WHERE account_id = ${api.account.id} AND deleted_at IS NULL`).map(({ id }) => id);
const keyEnd = async (api: Api) => (await (await api.store.sql())<{ end: Date }[]>`SELECT expires_at AS end FROM idempotency_keys WHERE account_id = ${api.account.id}`)[0]!.end;

describe('POST /v1/uploads with an Idempotency-Key', () => {
  it('returns the existing upload in its current state, with fresh URLs of what is missing', async () => {
    const api = makeApi();
    const first = await idempotent(api);
    expect([first.status, replayed(first)]).toEqual([201, null]);
    const upload = (await first.json()) as Upload;
    const again = await idempotent(api);
    expect([again.status, replayed(again), again.headers.get('Location')]).toEqual([201, 'true', `/v1/uploads/${upload.id}`]);
    const copy = (await again.json()) as Upload;
    expect(copy).toMatchObject({ id: upload.id, status: 'waiting', parts: [{ number: 1, expires_in: 3600 }] });
    expect((await send(api, copy.parts[0]!, file)).status).toBe(200);
    // Both answers lead to the same transfer.
    expect(await get(api, upload.id)).toMatchObject({ received_bytes: 1000, parts: [] });
    expect(await (await idempotent(api)).json()).toMatchObject({ id: upload.id, received_bytes: 1000, parts: [] });
    await complete(api, upload.id, { sha256: sha256(file) });
    await api.store.verifyUpload(upload.id, { sha256: sha256(file) });
    expect(await (await idempotent(api)).json()).toMatchObject({ id: upload.id, status: 'ready' });
    expect(await uploads(api)).toEqual([upload.id]);
  });

  it('creates one upload for requests at the same time, and all have URLs of the same transfer', async () => {
    const api = makeApi();
    const responses = await Promise.all(Array.from({ length: 6 }, () => idempotent(api)));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 201));
    expect(responses.filter((response) => replayed(response) === null)).toHaveLength(1);
    const made = await Promise.all(responses.map(async (response) => (await response.json()) as Upload));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    for (const { parts } of made) expect((await send(api, parts[0]!, file)).status).toBe(200);
    const { id } = made[0]!;
    expect(await get(api, id)).toMatchObject({ received_bytes: 1000 });
    expect(await uploads(api)).toEqual([id]);
  });

  it('returns 409 with another body, also that of a job, and takes the key of a job for none', async () => {
    const api = makeApi();
    await idempotent(api);
    const others = [
      await idempotent(api, { ...input, size_bytes: 1001 }),
      await idempotent(api, { ...input, sha256: sha256(file) }),
      await api.request('/v1/jobs', { ...post, headers, json: { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } }),
    ];
    for (const other of others) {
      expect(other.status).toBe(409);
      expect(await errorOf(other)).toMatchObject({ code: 'idempotency_key_reused', message: 'This Idempotency-Key was used with another request body.' });
    }
    const ofJob = { 'Idempotency-Key': 'job 1' };
    const job = await api.request('/v1/jobs', { ...post, headers: ofJob, json: { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } });
    expect(job.status).toBe(201);
    expect(await errorOf(await idempotent(api, input, { headers: ofJob }))).toMatchObject({ code: 'idempotency_key_reused' });
    expect(await uploads(api)).toHaveLength(1);
  });

  it('has keys that belong to an account and a mode, and that are new after they have expired', async () => {
    const [api, stranger] = [makeApi(), makeApi()];
    const id = await idOf(await idempotent(api));
    for (const other of [await idempotent(api, input, { key: api.keys.test }), await idempotent(stranger)]) {
      expect([other.status, replayed(other)]).toEqual([201, null]);
    }
    const sql = await api.store.sql();
    await sql`UPDATE idempotency_keys SET expires_at = now() WHERE upload_id = ${id}`;
    const later = await idempotent(api);
    expect([later.status, replayed(later)]).toEqual([201, null]);
    expect(await idOf(later)).not.toBe(id);
    // A job may take an expired key of an upload, too.
    await sql`UPDATE idempotency_keys SET expires_at = now() WHERE account_id = ${api.account.id} AND mode = 'live'`;
    expect((await api.request('/v1/jobs', { ...post, headers, json: { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } })).status).toBe(201);
  });

  it('keeps a key as long as its upload, and 24 hours at least', async () => {
    const api = makeApi();
    const { id, expires_at, created_at } = (await (await idempotent(api)).json()) as Upload;
    expect((await keyEnd(api)).toISOString()).toBe(expires_at);
    const sql = await api.store.sql();
    await sql`UPDATE idempotency_keys SET expires_at = now() + interval '1 minute' WHERE upload_id = ${id}`;
    await sql`UPDATE uploads SET status = 'verifying', completed_at = now() WHERE id = ${id}`;
    await api.store.verifyUpload(id, { sha256: sha256(file) });
    expect((await keyEnd(api)).toISOString()).toBe((await get(api, id)).expires_at);
    await api.request(`/v1/uploads/${id}`, { method: 'DELETE' });
    expect((await keyEnd(api)).getTime()).toBe(Date.parse(created_at) + 24 * 3_600_000);
    const gone = await idempotent(api);
    expect(gone.status).toBe(409);
    expect(await errorOf(gone)).toMatchObject({ code: 'idempotency_key_reused', message: 'The upload made with this Idempotency-Key was deleted.' });
    expect(await uploads(api)).toEqual([]);
  });

  it('replays what a quota or a full disk would refuse, and a refusal leaves the key free', async () => {
    let free = 1e15;
    const api = makeApi({ options: { uploadQuotaBytes: 1500 }, freeBytes: async () => free });
    const id = await idOf(await idempotent(api));
    free = 0;
    expect(await idOf(await idempotent(api))).toBe(id);
    const second = { headers: { 'Idempotency-Key': 'film 2' } };
    expect((await idempotent(api, input, second)).status).toBe(503);
    free = 1e15;
    expect(await errorOf(await idempotent(api, input, second))).toMatchObject({ code: 'upload_quota_exceeded' });
    const small = await idempotent(api, { ...input, size_bytes: 10 }, second);
    expect([small.status, replayed(small)]).toEqual([201, null]);
  });

  it('leaves the key free if the storage did not begin the transfer', async () => {
    const api = makeApi();
    const { createMultipart } = api.storage;
    api.storage.createMultipart = () => Promise.reject(new Error('the storage is down'));
    expect((await idempotent(api)).status).toBe(500);
    api.storage.createMultipart = createMultipart;
    const again = await idempotent(api);
    expect([again.status, replayed(again)]).toEqual([201, null]);
    expect(await uploads(api)).toEqual([await idOf(again)]);
  });

  it('begins the transfer if the first request has not got this far, and keeps it if that one fails', async () => {
    const api = makeApi();
    const { createMultipart } = api.storage;
    const held = Promise.withResolvers<never>();
    const called = Promise.withResolvers<void>();
    api.storage.createMultipart = () => {
      api.storage.createMultipart = createMultipart;
      called.resolve();
      return held.promise;
    };
    const first = idempotent(api);
    await called.promise;
    const again = (await (await idempotent(api)).json()) as Upload;
    expect(again.parts).toHaveLength(1);
    held.reject(new Error('the storage is down'));
    expect((await first).status).toBe(500);
    expect((await send(api, again.parts[0]!, file)).status).toBe(200);
    expect(await get(api, again.id)).toMatchObject({ status: 'waiting', received_bytes: 1000 });
  });

  it('is refused with a key that is too long', async () => {
    const long = await idempotent(makeApi(), input, { headers: { 'Idempotency-Key': 'x'.repeat(256) } });
    expect(long.status).toBe(400);
    expect(await errorOf(long)).toMatchObject({ code: 'invalid_request', param: '/Idempotency-Key' });
  });
});
