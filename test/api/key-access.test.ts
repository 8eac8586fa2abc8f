/** Restricted keys: which operations each access covers, refused in one way; and keys named in the API and the audit log. */
import { describe, expect, it } from 'vitest';
import type { Account, AuditLog, Upload } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { type Api, errorOf, makeApi } from '../helpers/http.ts';
import { operations, type Operation } from '../helpers/http-contract.ts';
import { created, file, send as sendPart } from '../helpers/upload-calls.ts';

const job = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
const secured = operations.filter(({ path, statuses }) => statuses.includes('401') && !path.startsWith('/console/'));
/** As info.description of openapi.yaml lists them. */
const creating = ['createJob', 'createQuote', 'createPreview', 'createUpload', 'getUpload', 'completeUpload'];

/** No operation gets a body: those that are allowed say 400 or 404, after the check of the key. */
function send(api: Api, { method, path }: Operation, key: string) {
  const kind = path.startsWith('/v1/uploads/') ? 'upl' : path.startsWith('/v1/previews/') ? 'prv' : path.startsWith('/v1/webhook-endpoints/') ? 'hook' : 'job';
  const target = path.replace('{id}', newId(kind));
  return api.request(target, { method: method.toUpperCase(), key });
}

describe.each(secured)('$id', (operation) => {
  it.each([
    ['read_only', operation.method === 'get'],
    ['create_only', creating.includes(operation.id)],
  ] as const)('with a %s key: allowed is %s, anything else is 403 key_access_denied', async (access, allowed) => {
    const api = makeApi();
    const keys = (['live', 'test'] as const).map((mode) => api.store.addKey(mode, 'secure', { access }));
    for (const key of keys) {
      const response = await send(api, operation, key);
      if (allowed) {
        expect([200, 400, 404]).toContain(response.status);
        await response.body?.cancel();
        continue;
      }
      expect(response.status).toBe(403);
      expect(await errorOf(response)).toMatchObject({ code: 'key_access_denied', type: 'permission_error' });
      // Refused calls count.
      expect(response.headers.has('RateLimit')).toBe(true);
    }
  });
});

describe('a restricted key', () => {
  it('that may only create makes a job, and cannot read or delete it', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'standard', { access: 'create_only' });
    const created = await api.request('/v1/jobs', { method: 'POST', key, json: job });
    expect(created.status).toBe(201);
    const { id } = (await created.json()) as { id: string };
    for (const method of ['GET', 'DELETE']) expect((await api.request(`/v1/jobs/${id}`, { method, key })).status).toBe(403);
    expect((await api.request(`/v1/jobs/${id}`)).status).toBe(200);
  });

  it('that may only read charges nothing', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'standard', { access: 'read_only' });
    expect((await api.request('/v1/jobs', { method: 'POST', key, json: job })).status).toBe(403);
    expect(await api.store.allJobs()).toEqual([]);
    expect((await api.store.account()).credits).toBe(api.account.credits);
    expect(api.measured).toEqual([]);
  });

  it('that may only read gets no URL to send a part of an upload to', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'standard', { access: 'read_only' });
    const filling = api.store.addKey('live', 'standard', { access: 'create_only' });
    const upload = await created(api);
    const seen = (await (await api.request(`/v1/uploads/${upload.id}`, { key })).json()) as Upload;
    expect(seen).toEqual({ ...upload, parts: [] });
    const { parts } = (await (await api.request(`/v1/uploads/${upload.id}`, { key: filling })).json()) as Upload;
    expect((await sendPart(api, parts[0]!, file)).status).toBe(200);
  });
});

describe('the name of a key', () => {
  it('is in the account that the key reads, with its access and its last use, which is noted seldom', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'standard', { access: 'read_only', name: 'dashboard' });
    const read = async () => ((await (await api.request('/v1/account', { key })).json()) as Account).key;
    const first = await read();
    expect(first).toMatchObject({ name: 'dashboard', access: 'read_only', last_used_at: null });
    const { last_used_at: noted } = await read();
    expect(Date.parse(noted!)).toBeGreaterThan(Date.now() - 60_000);
    expect((await read()).last_used_at).toBe(noted);
  });

  it('is in the audit log, with the jobs, uploads and deletions that were made with it', async () => {
    const api = makeApi();
    const key = api.store.addKey('live', 'secure', { name: 'website' });
    const create = await api.request('/v1/jobs', { method: 'POST', key, json: job });
    const { id } = (await create.json()) as { id: string };
    await api.request(`/v1/jobs/${id}`, { method: 'DELETE', key });
    const upload = await api.request('/v1/uploads', { method: 'POST', key, json: { file_name: 'a.mov', size_bytes: 5 } });
    await api.request(`/v1/uploads/${((await upload.json()) as { id: string }).id}`, { method: 'DELETE', key });
    await api.request('/v1/account', { method: 'PATCH', key, json: { retention_days: 7 } });
    const { data } = (await (await api.request('/v1/audit-log', { key })).json()) as AuditLog;
    expect(data.map(({ kind }) => kind)).toEqual([
      'retention.changed',
      'upload.deleted',
      'upload.created',
      'job.deleted',
      'job.created',
    ]);
    const { id: keyId } = ((await (await api.request('/v1/account', { key })).json()) as Account).key;
    for (const entry of data) expect(entry.data, entry.kind).toMatchObject({ key_id: keyId, key_name: 'website' });
  });

  it('is left out of the audit log where there is none', async () => {
    const api = makeApi();
    await api.request('/v1/jobs', { method: 'POST', key: api.keys.liveSecure, json: job });
    const page = (await (await api.request('/v1/audit-log', { key: api.keys.liveSecure })).json()) as AuditLog;
    expect(page.data[0]!.data).toHaveProperty('key_id');
    expect(page.data[0]!.data).not.toHaveProperty('key_name');
  });
});
