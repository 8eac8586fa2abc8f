import { describe, expect, it } from 'vitest';
import { createFramelift, FrameliftApiError, FrameliftConnectionError } from '../../src/sdk/index.ts';
import { fakeJob, finished, makeApi, publicUrl } from '../helpers/http.ts';

function client(key: 'live' | 'test' = 'live') {
  const api = makeApi();
  const framelift = createFramelift({
    baseUrl: `${publicUrl}/`,
    apiKey: api.keys[key],
    fetch: async (request) => api.app.request(request),
  });
  return { api, framelift };
}

const input = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } as const;

describe('the client', () => {
  it('creates once under an idempotency key, reads, lists and deletes', async () => {
    const { api, framelift } = client();
    const job = await framelift.jobs.create(input, { idempotencyKey: 'one' });
    const again = await framelift.jobs.create(input, { idempotencyKey: 'one' });
    expect(again.id).toBe(job.id);
    expect(api.store.jobsById.size).toBe(1);
    expect(await framelift.jobs.get(job.id)).toEqual(job);
    expect((await framelift.jobs.list({ limit: 1, status: 'queued' })).data).toEqual([job]);
    expect(await framelift.jobs.delete(job.id)).toMatchObject({ id: job.id, deleted: true });
    expect((await framelift.account.get()).sandbox).toBe(false);
  });

  it('waits for the end and fetches a link', async () => {
    const { api, framelift } = client('test');
    const { id } = await framelift.jobs.create(input);
    const seen: string[] = [];
    const job = await framelift.jobs.wait(id, {
      intervalMs: 1,
      onProgress: ({ status }) => {
        seen.push(status);
        if (seen.length === 2) Object.assign(api.store.jobsById.get(id)!, finished());
      },
    });
    expect(job.status).toBe('done');
    expect(seen).toEqual(['queued', 'queued', 'done']);
    expect((await framelift.jobs.result(id)).download_url).toMatch(/^http/);
  });

  it('stops waiting when it is told to', async () => {
    const { api, framelift } = client();
    const job = fakeJob({ accountId: api.account.id });
    api.store.jobsById.set(job.id, job);
    await expect(framelift.jobs.wait(job.id, { signal: AbortSignal.timeout(20) })).rejects.toThrow();
  });

  it('throws the refusal with its code, status, field and request id', async () => {
    const { framelift } = client();
    const refused = await framelift.jobs
      .create({ ...input, resolution: '8k' as never })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(FrameliftApiError);
    expect(refused).toMatchObject({
      status: 400,
      code: 'invalid_request',
      type: 'validation_error',
      param: '/resolution',
    });
    expect((refused as FrameliftApiError).requestId).toMatch(/^req_/);
  });

  it('throws something of its own for an answer that is not the service’s, and for none', async () => {
    const make = (fetch: () => Promise<Response>) => createFramelift({ baseUrl: publicUrl, apiKey: 'x', fetch });
    const proxy = make(async () => new Response('<html>', { status: 502, headers: { 'Content-Type': 'text/html' } }));
    await expect(proxy.account.get()).rejects.toMatchObject({
      name: 'FrameliftApiError',
      status: 502,
      code: 'unknown',
    });
    const down = make(() => Promise.reject(new TypeError('fetch failed')));
    await expect(down.account.get()).rejects.toBeInstanceOf(FrameliftConnectionError);
  });
});
