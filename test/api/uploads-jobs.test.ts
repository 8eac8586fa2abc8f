/** Jobs and quotes from uploads. */
import { describe, expect, it } from 'vitest';
import { errorOf, makeApi, publicUrl, source } from '../helpers/http.ts';
import { complete, created, file, input, post, ready, send, sha256 } from '../helpers/upload-calls.ts';

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

  it.each([
    ['does not answer', Object.assign(new Error('connect EHOSTUNREACH'), { code: 'EHOSTUNREACH' })],
    ['refuses', Object.assign(new Error('Please reduce your request rate.'), { name: 'SlowDown', $metadata: { httpStatusCode: 503 } })],
  ])('is 503 with Retry-After while the storage %s', async (_, fault) => {
    const api = makeApi({ measure: () => Promise.reject(fault) });
    const upload = await ready(api);
    for (const path of ['/v1/jobs', '/v1/quotes']) {
      const response = await api.request(path, { ...post, json: { upload_id: upload.id, resolution: '1080p' } });
      expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '2']);
      expect((await errorOf(response)).code).toBe('service_unavailable');
    }
  });

  it('is 503 with Retry-After when the storage is silent until the time for measuring is over', async () => {
    const api = makeApi({ options: { measureTimeoutMs: 40 }, measure: () => new Promise(() => {}) });
    const upload = await ready(api);
    const response = await api.request('/v1/jobs', { ...post, json: { upload_id: upload.id, resolution: '1080p' } });
    expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '5']);
    expect((await errorOf(response)).code).toBe('service_unavailable');
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
