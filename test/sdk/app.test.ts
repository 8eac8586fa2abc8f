/** The client against the real HTTP app, in one process. */
import { describe, expect, it } from 'vitest';
import { createReelmend, generated, ValidationError } from '../../src/sdk/index.ts';
import { finished, makeApi, publicUrl } from '../helpers/http.ts';

function client(key: 'live' | 'test' = 'live') {
  const api = makeApi();
  const reelmend = createReelmend({
    baseUrl: `${publicUrl}/`,
    apiKey: api.keys[key],
    fetch: async (request) => api.app.request(request),
  });
  return { api, reelmend };
}

const input = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } as const;

describe('the client', () => {
  it('creates once under an idempotency key, reads, lists and deletes', async () => {
    const { api, reelmend } = client();
    const job = await reelmend.jobs.create(input, { idempotencyKey: 'one' });
    const again = await reelmend.jobs.create(input, { idempotencyKey: 'one' });
    expect(again.id).toBe(job.id);
    expect(await api.store.allJobs()).toHaveLength(1);
    expect(await reelmend.jobs.get(job.id)).toEqual(job);
    expect((await reelmend.jobs.list({ limit: 1, status: 'queued' })).data).toEqual([job]);
    expect(await reelmend.jobs.delete(job.id)).toMatchObject({ id: job.id, deleted: true });
    expect((await reelmend.account.get()).sandbox).toBe(false);
  });

  it('makes one job and one charge of a creation whose answers were lost', async () => {
    const api = makeApi();
    let lost = 0;
    const reelmend = createReelmend({
      baseUrl: publicUrl,
      apiKey: api.keys.live,
      fetch: async (request) => {
        const response = await api.app.request(request);
        if (lost === 2) return response;
        lost += 1;
        throw new TypeError('fetch failed');
      },
    });
    const job = await reelmend.jobs.create(input);
    expect((await api.store.allJobs()).map(({ id }) => id)).toEqual([job.id]);
    expect(api.account.credits - (await api.store.account()).credits).toBe(job.credits_charged);
    expect(job.credits_charged).toBeGreaterThan(0);
  });

  it('waits for the end and fetches a link', async () => {
    const { api, reelmend } = client('test');
    const { id } = await reelmend.jobs.create(input);
    const seen: string[] = [];
    const job = await reelmend.waitForJob(id, {
      pollIntervalMs: 1,
      onProgress: ({ status }) => {
        seen.push(status);
        if (seen.length === 2) void api.store.changeJob(id, finished());
      },
    });
    expect(job.status).toBe('done');
    expect(seen.slice(0, 2)).toEqual(['queued', 'queued']);
    expect(seen.at(-1)).toBe('done');
    expect((await reelmend.jobs.result(id)).download_url).toMatch(/^http/);
  });

  it('reads the whole list page by page', async () => {
    const { reelmend } = client('test');
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.unshift((await reelmend.jobs.create(input)).id);
    const sizes: number[] = [];
    for await (const page of reelmend.jobs.pages({ limit: 2 })) sizes.push(page.data.length);
    expect(sizes).toEqual([2, 2, 1]);
    const all: string[] = [];
    for await (const { id } of reelmend.jobs.all({ limit: 2 })) all.push(id);
    expect(all).toEqual(made);
    const read: string[] = [];
    for await (const { id } of reelmend.jobs.list({ limit: 2 })) read.push(id);
    expect(read).toEqual(made);
    const first = reelmend.jobs.list({ limit: 2 });
    expect((await first).data.map(({ id }) => id)).toEqual(made.slice(0, 2));
    expect((await first.withResponse()).response.headers.get('RateLimit')).not.toBeNull();
  });

  it('throws the refusal with its code, status, field and request id', async () => {
    const { reelmend } = client();
    const refused = reelmend.jobs.create({ ...input, resolution: '8k' as never });
    await expect(refused).rejects.toBeInstanceOf(ValidationError);
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      type: 'validation_error',
      param: '/resolution',
      requestId: expect.stringMatching(/^req_/) as string,
      attempts: 1,
    });
  });

  it('serves the generated functions too', async () => {
    const { reelmend } = client();
    expect((await generated.getHealth({ client: reelmend.client })).data).toEqual({ status: 'ok' });
  });
});
