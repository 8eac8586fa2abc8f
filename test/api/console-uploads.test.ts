/** Uploads in the console, and the jobs and quotes that are made of them. */
import { describe, expect, it } from 'vitest';
import type { ConsoleJobDetail, Upload, UploadDeletion } from '../../src/contract/types.gen.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { setUpConsole } from '../helpers/console-suite.ts';
import { errorOf } from '../helpers/http.ts';

let world: ConsoleWorld;
let ours: Person;
let stranger: Person;
setUpConsole({ ours: 100_000, stranger: 1000 }, (...made) => ([world, ours, stranger] = made));

describe('jobs and quotes from uploads', () => {
  const paths = ['/console/api/jobs', '/console/api/quotes'];
  const post = (path: string, upload_id: string) =>
    ours.browser.request(path, { method: 'POST', json: { mode: 'live', request: { upload_id, resolution: '1080p' } } });
  const upload = async (accountId: string) =>
    (await world.store.uploads.create({ accountId, mode: 'live', fileName: 'Strand.mov', sizeBytes: 5, sha256: null, quotaBytes: 1e9 })).upload;

  it('refuse an upload of others, and one that is not ready', async () => {
    const theirs = await upload(stranger.accountId);
    const waiting = await upload(ours.accountId);
    for (const path of paths) {
      const unknown = await post(path, theirs.id);
      expect(unknown.status).toBe(404);
      expect(await errorOf(unknown)).toMatchObject({ code: 'upload_not_found', param: '/request/upload_id' });
      const early = await post(path, waiting.id);
      expect(early.status).toBe(409);
      expect(await errorOf(early)).toMatchObject({ code: 'upload_not_ready', param: '/request/upload_id' });
    }
  });

  it('are named after the file', async () => {
    const ready = await upload(ours.accountId);
    await world.store.uploads.complete(ours.accountId, 'live', ready.id, { sha256: '0'.repeat(64), partSha256: null });
    await world.store.uploads.verified(ready.id, { sha256: '0'.repeat(64), version: null });
    const response = await post(paths[0]!, ready.id);
    expect(response.status).toBe(201);
    const { id, source_name } = (await response.json()) as { id: string; source_name: string };
    expect(source_name).toBe('Strand.mov');
    const detail = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${id}`);
    expect(detail).toMatchObject({ source_name: 'Strand.mov', video_url: null, job: { upload_id: ready.id, file_name: 'Strand.mov' } });
  });

  it.each([
    ['has expired', (id: string) => world.sql`UPDATE uploads SET expires_at = now() WHERE id = ${id}`],
    ['was deleted', (id: string) => world.store.uploads.delete(ours.accountId, 'live', id)],
  ])('say until when the upload is kept, and nothing once it %s', async (_, end) => {
    const ready = await upload(ours.accountId);
    await world.store.uploads.complete(ours.accountId, 'live', ready.id, { sha256: '0'.repeat(64), partSha256: null });
    await world.store.uploads.verified(ready.id, { sha256: '0'.repeat(64), version: null });
    const { id } = (await (await post(paths[0]!, ready.id)).json()) as { id: string };
    const detail = () => ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${id}`);
    expect(Date.parse((await detail()).upload_expires_at!) - Date.now()).toBeGreaterThan(23.9 * 3600_000);
    await end(ready.id);
    expect((await detail()).upload_expires_at).toBeNull();
  });
});

describe('uploads', () => {
  const input = { file_name: 'Strand.mov', size_bytes: 6 };
  const path = '/console/api/uploads';
  const send = (url: string, bytes: string) => {
    const { pathname, search } = new URL(url);
    return ours.browser.request(pathname + search, { method: 'PUT', body: bytes, csrf: false });
  };

  it('are created, sent, completed and deleted in either mode', async () => {
    for (const mode of ['live', 'test'] as const) {
      const upload = await ours.browser.post<Upload>(path, { mode, request: input });
      expect(upload).toMatchObject({ status: 'waiting', sandbox: mode === 'test', ...input });
      expect((await send(upload.parts[0]!.url, 'a film')).status).toBe(200);
      expect(await ours.browser.call<Upload>(`${path}/${upload.id}`)).toMatchObject({ received_bytes: 6, parts: [] });
      const completed = await ours.browser.post<Upload>(`${path}/${upload.id}/complete`, { sha256: '0'.repeat(64) });
      expect(completed.status).toBe('verifying');
      const deletion = await ours.browser.call<UploadDeletion>(`${path}/${upload.id}`, { method: 'DELETE' });
      expect(deletion).toMatchObject({ id: upload.id, deleted: true });
      expect((await ours.browser.request(`${path}/${upload.id}`)).status).toBe(404);
    }
  });

  it('are created once under an idempotency key', async () => {
    const options = { method: 'POST', headers: { 'Idempotency-Key': 'upload-1' } };
    const create = (size_bytes: number) => ours.browser.request(path, { ...options, json: { mode: 'test', request: { ...input, size_bytes } } });
    const [first, again] = [(await (await create(6)).json()) as Upload, (await (await create(6)).json()) as Upload];
    expect(again).toMatchObject({ id: first.id, parts: [{ number: 1 }] });
    const other = await create(7);
    expect([other.status, (await errorOf(other)).code]).toEqual([409, 'idempotency_key_reused']);
  });

  it('are refused when they are incomplete, too large together, or of others', async () => {
    const upload = await ours.browser.post<Upload>(path, { mode: 'live', request: input });
    const early = await ours.browser.request(`${path}/${upload.id}/complete`, { method: 'POST', json: { sha256: '0'.repeat(64) } });
    expect([early.status, (await errorOf(early)).code]).toEqual([409, 'upload_incomplete']);
    for (const [method, suffix] of [['GET', ''], ['DELETE', ''], ['POST', '/complete']] as const) {
      const json = method === 'POST' ? { json: {} } : {};
      const foreign = await stranger.browser.request(`${path}/${upload.id}${suffix}`, { method, ...json });
      expect([foreign.status, (await errorOf(foreign)).code]).toEqual([404, 'upload_not_found']);
    }
    const poor = await makeConsole({ options: { uploadQuotaBytes: 10 } });
    const person = await poor.person();
    await person.browser.post<Upload>(path, { mode: 'live', request: input });
    const full = await person.browser.request(path, { method: 'POST', json: { mode: 'live', request: input } });
    expect([full.status, (await errorOf(full)).code]).toEqual([409, 'upload_quota_exceeded']);
    await poor.close();
  });

  it('403 for live ones of an account that is not approved', async () => {
    const pending = await world.person({ approved: false });
    const response = await pending.browser.request(path, { method: 'POST', json: { mode: 'live', request: input } });
    expect([response.status, (await errorOf(response)).code]).toEqual([403, 'account_pending_approval']);
    await pending.browser.post<Upload>(path, { mode: 'test', request: input });
  });
});
