import { describe, expect, it } from 'vitest';
import type { AuditLog, Job, Preview, PreviewList } from '../../src/contract/types.gen.ts';
import { type Api, errorOf, makeApi, source } from '../helpers/http.ts';

const video = { video_url: 'https://media.example.com/holiday.mp4' };
const input = { ...video, settings: [{ resolution: '1080p' }, { resolution: '4k', model: 'none', enhancements: { sharpen: 0.5 }, output: { quality: 20 } }] };
const post = { method: 'POST' } as const;

const createdBy = async (api: Api, json: object = input, options: object = {}) => (await (await api.request('/v1/previews', { ...post, json, ...options })).json()) as Preview;

/** Ends a preview as a worker would. */
async function finish(api: Api, { id, settings }: Preview): Promise<void> {
  const sql = await api.store.sql();
  const clip = (stretch: number, setting: number | null) => ({ key: `jobs/${id}/1/${stretch}-${setting}.mp4`, stretch, setting, width: 1920, height: 1080, size_bytes: 7 });
  const stretches = [0, 1].map((index) => ({ start: index * 4, duration: 2, reason: index === 0 ? 'face' : 'evenly_spaced' }));
  // Not in the order in which they are shown.
  const clips = stretches.flatMap((_, index) => [...settings.keys(), null].map((setting) => clip(index, setting)));
  for (const { key } of clips) api.objects.set(key, Buffer.from(key));
  await sql`UPDATE jobs SET status = 'running', started_at = now() WHERE id = ${id}`;
  await sql`UPDATE jobs SET status = 'done', progress = 1, finished_at = now(), preview = preview || ${sql.json({ stretches, clips })} WHERE id = ${id}`;
}

describe('POST /v1/previews', () => {
  it('201 with the price of the stretches for each setting, and the settings as they were given', async () => {
    const api = makeApi();
    const response = await api.request('/v1/previews', { ...post, json: input });
    expect(response.status).toBe(201);
    const preview = (await response.json()) as Preview;
    expect(response.headers.get('Location')).toBe(`/v1/previews/${preview.id}`);
    expect(preview).toMatchObject({ status: 'queued', sandbox: false, tier: 'standard', source, processed_seconds: 12, credits_charged: 6 * 3 + 6 * 6, stretches: null, links_expire_in: null });
    expect(preview.settings).toEqual(input.settings);
    expect((await api.store.account()).credits).toBe(api.account.credits - 54);
    // Each setting is part of the body of a job.
    const job = await api.request('/v1/jobs', { ...post, json: { ...video, ...preview.settings[1] } });
    expect(job.status).toBe(201);
    expect(((await job.json()) as Job).resolution).toBe('4k');
  });

  it('is no job: jobs are listed and followed without it, and it has its own entries in the audit log', async () => {
    const api = makeApi();
    const { id } = await createdBy(api);
    expect(await (await api.request('/v1/jobs')).json()).toMatchObject({ data: [] });
    for (const path of [`/v1/jobs/${id}`, `/v1/jobs/${id}/result`, `/v1/jobs/${id}/events`]) expect((await api.request(path)).status, path).toBe(404);
    expect((await api.request(`/v1/jobs/${id}`, { method: 'DELETE' })).status).toBe(404);
    const job = (await (await api.request('/v1/jobs', { ...post, json: { ...video, resolution: '1080p' } })).json()) as Job;
    expect((await api.request(`/v1/previews/${job.id}`)).status).toBe(404);
    const log = await api.request(`/v1/audit-log?job_id=${id}`, { key: api.keys.liveSecure });
    expect(((await log.json()) as AuditLog).data.map(({ kind }) => kind)).toEqual(['preview.created']);
  });

  it('is created once for an Idempotency-Key, whose other body is refused, also that of a job', async () => {
    const api = makeApi();
    const headers = { 'Idempotency-Key': 'preview-1' };
    const { id } = await createdBy(api, input, { headers });
    const again = await api.request('/v1/previews', { ...post, json: input, headers });
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(((await again.json()) as Preview).id).toBe(id);
    expect((await api.store.account()).credits).toBe(api.account.credits - 54);
    for (const [path, json] of [['/v1/previews', { ...input, secure: false }], ['/v1/jobs', { ...video, resolution: '1080p' }]] as const) {
      const response = await api.request(path, { ...post, json, headers });
      expect(response.status, path).toBe(409);
      expect((await errorOf(response)).code).toBe('idempotency_key_reused');
    }
  });

  it.each([
    [{ ...video, settings: [] }, 400, 'invalid_request', '/settings'],
    [{ ...video, settings: Array(4).fill({ resolution: '1080p' }) }, 400, 'invalid_request', '/settings'],
    [{ ...video, settings: [{ resolution: '8k' }] }, 400, 'invalid_request', '/settings/0/resolution'],
    [{ ...video, settings: [{ resolution: '1080p' }, { resolution: '1080p', model: 'nothing' }] }, 400, 'invalid_request', '/settings/1/model'],
    [{ settings: input.settings }, 400, 'invalid_request', '/video_url'],
    [{ ...input, metadata: {} }, 400, 'invalid_request', '/metadata'],
    [{ ...input, video_url: 'http://10.0.0.1/a.mp4' }, 400, 'url_not_allowed', '/video_url'],
    [{ ...input, max_credits: 53 }, 402, 'max_credits_exceeded', '/max_credits'],
    [{ ...input, secure: true }, 403, 'secure_tier_required', '/secure'],
    [{ upload_id: 'upl_01jdq4s9xkf5v8t2m6w0c3rhbz', settings: input.settings }, 404, 'upload_not_found', '/upload_id'],
  ])('%j: %d %s', async (json, status, code, param) => {
    const api = makeApi();
    const response = await api.request('/v1/previews', { ...post, json });
    expect(response.status).toBe(status);
    expect(await errorOf(response)).toMatchObject({ code, param });
    expect((await api.store.account()).credits).toBe(api.account.credits);
  });

  it('402 insufficient_credits names the preview', async () => {
    const api = makeApi({ account: { credits: 53 } });
    const response = await api.request('/v1/previews', { ...post, json: input });
    expect(response.status).toBe(402);
    expect(await errorOf(response)).toMatchObject({ code: 'insufficient_credits', message: 'The preview costs 54 credits; the account has 53.' });
  });

  it('costs nothing in test mode, whose limits it shares', async () => {
    const api = makeApi({ account: { approvalStatus: 'pending' }, options: { rateLimits: { pending: 1 } } });
    expect(await createdBy(api, input, { key: api.keys.test })).toMatchObject({ sandbox: true, credits_charged: 0, source: null, processed_seconds: 12 });
    expect((await api.request('/v1/previews', { ...post, json: input, key: api.keys.test })).status).toBe(429);
    const refused = await makeApi().request('/v1/previews', { ...post, json: { ...input, video_url: 'https://media.example.com/unreadable_video.mp4' }, key: undefined! });
    expect(refused.status).toBe(201);
    const byName = makeApi();
    const response = await byName.request('/v1/previews', { ...post, json: { ...input, video_url: 'https://media.example.com/unreadable_video.mp4' }, key: byName.keys.test });
    expect((await errorOf(response)).code).toBe('unreadable_video');
  });
});

describe('a repeated POST /v1/previews', () => {
  it('gives no links to what is done: a key that may only create cannot read with it', async () => {
    const api = makeApi();
    const headers = { 'Idempotency-Key': 'preview-1' };
    const created = await createdBy(api, input, { headers });
    await finish(api, created);
    expect(await createdBy(api, input, { headers })).toMatchObject({ id: created.id, status: 'done', stretches: null, links_expire_in: null });
    const log = (await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).json()) as AuditLog;
    expect(log.data.map(({ kind }) => kind)).toEqual(['preview.created']);
  });

  it('409 says that the preview was deleted', async () => {
    const api = makeApi();
    const headers = { 'Idempotency-Key': 'preview-1' };
    const { id } = await createdBy(api, input, { headers });
    await api.request(`/v1/previews/${id}`, { method: 'DELETE' });
    const again = await api.request('/v1/previews', { ...post, json: input, headers });
    expect(again.status).toBe(409);
    expect(await errorOf(again)).toMatchObject({ code: 'idempotency_key_reused', message: 'The preview made with this Idempotency-Key was deleted.' });
  });
});

describe('GET /v1/previews', () => {
  const list = async (api: Api, query = '', options: object = {}) => (await (await api.request(`/v1/previews${query}`, options)).json()) as PreviewList;
  const idsOf = ({ data }: PreviewList) => data.map(({ id }) => id);

  it('200, newest first and page by page, without jobs, those of the other mode, and deleted ones', async () => {
    const api = makeApi();
    expect(await list(api)).toEqual({ data: [], has_more: false, next_cursor: null });
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.unshift((await createdBy(api)).id);
    await api.request('/v1/jobs', { ...post, json: { ...video, resolution: '1080p' } });
    await createdBy(api, input, { key: api.keys.test });
    const deleted = await createdBy(api);
    await api.request(`/v1/previews/${deleted.id}`, { method: 'DELETE' });
    const first = await list(api, '?limit=2');
    expect([idsOf(first), first.has_more, first.next_cursor]).toEqual([made.slice(0, 2), true, made[1]]);
    const rest = await list(api, `?limit=2&starting_after=${made[1]}`);
    expect([idsOf(rest), rest.has_more, rest.next_cursor]).toEqual([made.slice(2), false, null]);
    expect((await list(api, '', { key: api.keys.test })).data).toMatchObject([{ sandbox: true }]);
  });

  it('has no links, so that it hands out none, and filters by status', async () => {
    const api = makeApi();
    const preview = await createdBy(api);
    await finish(api, preview);
    await createdBy(api);
    const { data } = await list(api, '?status=done');
    expect(data).toMatchObject([{ id: preview.id, settings: input.settings, stretches: null, links_expire_in: null }]);
    const log = (await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).json()) as AuditLog;
    expect(log.data.map(({ kind }) => kind)).not.toContain('result.accessed');
  });

  it.each(['limit=101', 'status=lost', 'starting_after=job_01jdq4s9xkf5v8t2m6w0c3rhbz', 'colour=red'])('400 for ?%s', async (query) => {
    const response = await makeApi().request(`/v1/previews?${query}`);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).code).toBe('invalid_request');
  });
});

describe('GET /v1/previews/{id}', () => {
  it('200 with a link to each clip once it is done, the untouched first, and records the access', async () => {
    const api = makeApi();
    const created = await createdBy(api);
    await finish(api, created);
    const response = await api.request(`/v1/previews/${created.id}`);
    const { stretches, links_expire_in, status } = (await response.json()) as Preview;
    expect(status).toBe('done');
    expect(links_expire_in).toBe(3600);
    expect(stretches!.map(({ start, reason, results }) => [start, reason, results.length])).toEqual([[0, 'face', 2], [4, 'evenly_spaced', 2]]);
    for (const [index, { original, results }] of stretches!.entries()) {
      for (const [clip, setting] of [[original, null], [results[0]!, 0], [results[1]!, 1]] as const) {
        const { pathname, search } = new URL(clip.url);
        const download = await api.request(pathname + search, { key: null });
        expect(await download.text()).toBe(`jobs/${created.id}/1/${index}-${setting}.mp4`);
      }
    }
    const name = (clip: { url: string }) => new URL(clip.url).searchParams.get('name') ?? decodeURIComponent(clip.url);
    expect(name(stretches![1]!.original)).toContain(`${created.id}-2-original.mp4`);
    expect(name(stretches![1]!.results[0]!)).toContain(`${created.id}-2-setting-1.mp4`);
    const log = (await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).json()) as AuditLog;
    expect(log.data[0]).toMatchObject({ kind: 'result.accessed', job_id: created.id });
  });

  it('says how long its links are valid if the storage signs shorter ones', async () => {
    const api = makeApi();
    const { link } = api.storage;
    let expiresInS = 3000;
    api.storage.link = async (...request) => ({ ...(await link(...request)), expiresInS: expiresInS++ });
    const created = await createdBy(api);
    await finish(api, created);
    expect(await (await api.request(`/v1/previews/${created.id}`)).json()).toMatchObject({ links_expire_in: 3000 });
  });

  it('gives no link to HEAD, and 404 for another mode, another account and another id', async () => {
    const api = makeApi();
    const created = await createdBy(api);
    await finish(api, created);
    expect((await api.request(`/v1/previews/${created.id}`, { method: 'HEAD' })).status).toBe(200);
    const log = (await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).json()) as AuditLog;
    expect(log.data.map(({ kind }) => kind)).not.toContain('result.accessed');
    for (const [id, key] of [[created.id, api.keys.test], [created.id.replace(/.$/, (last) => (last === '0' ? '1' : '0')), api.keys.live], ['nothing', api.keys.live]] as const) {
      const response = await api.request(`/v1/previews/${id}`, { key });
      expect(response.status).toBe(404);
      expect((await errorOf(response)).code).toBe('preview_not_found');
    }
  });
});

describe('DELETE /v1/previews/{id}', () => {
  it('200 with the full refund of a queued one; then it is unknown', async () => {
    const api = makeApi();
    const { id } = await createdBy(api);
    const response = await api.request(`/v1/previews/${id}`, { method: 'DELETE' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id, deleted: true, refunded_credits: 54, certificate: null });
    expect((await api.store.account()).credits).toBe(api.account.credits);
    for (const method of ['GET', 'DELETE']) expect((await api.request(`/v1/previews/${id}`, { method })).status).toBe(404);
    const log = (await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).json()) as AuditLog;
    expect(log.data[0]).toMatchObject({ kind: 'preview.deleted', job_id: id });
  });

  it('leaves the upload, so that a job can use it', async () => {
    const api = makeApi();
    const begun = await api.request('/v1/uploads', { ...post, json: { file_name: 'a.mov', size_bytes: 5, sha256: 'a'.repeat(64) } });
    const { id: uploadId, parts } = (await begun.json()) as { id: string; parts: { url: string }[] };
    const { pathname, search } = new URL(parts[0]!.url);
    await api.request(pathname + search, { method: 'PUT', key: null, body: 'video', headers: { 'Content-Length': '5' } });
    await api.request(`/v1/uploads/${uploadId}/complete`, { ...post, json: {} });
    await api.store.verifyUpload(uploadId, { sha256: 'a'.repeat(64) });
    const preview = await createdBy(api, { upload_id: uploadId, settings: [{ resolution: '1080p' }] });
    expect(preview).toMatchObject({ upload_id: uploadId, file_name: 'a.mov' });
    expect((await api.request(`/v1/previews/${preview.id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await api.request('/v1/jobs', { ...post, json: { upload_id: uploadId, resolution: '1080p' } })).status).toBe(201);
  });
});
