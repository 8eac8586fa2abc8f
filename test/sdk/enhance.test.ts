/** One call for all steps, against the real HTTP app. The worker is played: it verifies uploads and ends jobs. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReelmend, type EnhanceProgress, JobFailedError } from '../../src/sdk/index.ts';
import { finished, makeApi, publicUrl } from '../helpers/http.ts';

const film = randomBytes(2000);
const result = randomBytes(300_000);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const output = { width: 1920, height: 1080, size_bytes: result.length, sha256: sha256(result) };
const byUrl = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' } as const;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-enhance-'));
});
afterEach(() => rm(dir, { recursive: true }));

function service(end: object = { ...finished(), output }) {
  const api = makeApi();
  const calls: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    calls.push(`${request.method} ${pathname.replace(/(job|upl)_\w+/, '$1')}`);
    if (request.method === 'PUT') return api.app.request(pathname + search, { method: 'PUT', body: await request.arrayBuffer() });
    if (pathname.startsWith('/v1/downloads/')) return api.app.request(pathname + search, { headers: request.headers });
    const response = await api.app.request(request);
    if (pathname.endsWith('/complete')) await verifyUpload(pathname.split('/').at(-2)!);
    if (request.method === 'POST' && pathname === '/v1/jobs' && response.ok) await endJob(((await response.clone().json()) as { id: string }).id);
    return response;
  };
  const verifyUpload = async (id: string): Promise<void> => {
    const [row] = await (await api.store.sql())<{ key: string; id: string }[]>`SELECT key, multipart_id AS id FROM uploads WHERE id = ${id}`;
    await api.storage.completeMultipart(row!, { count: 1, size: film.length });
    await api.store.verifyUpload(id, { sha256: sha256(film) });
  };
  const endJob = async (id: string): Promise<void> => {
    api.objects.set(`outputs/${id}.mp4`, result);
    await api.store.changeJob(id, end);
  };
  return { api, calls, reelmend: createReelmend({ baseUrl: publicUrl, apiKey: api.keys.live, maxRetries: 0, fetch }) };
}

describe('enhance', () => {
  it('creates a job for a URL, waits and writes the result', async () => {
    const { calls, reelmend } = service();
    const seen: EnhanceProgress[] = [];
    const job = await reelmend.enhance(byUrl, { output: join(dir, 'out.mp4'), onProgress: (now) => seen.push(now) });
    expect(job).toMatchObject({ status: 'done', output: { sha256: output.sha256 } });
    expect(await readFile(join(dir, 'out.mp4'))).toEqual(result);
    expect([...new Set(seen.map(({ step }) => step))]).toEqual(['enhance', 'download']);
    expect(seen.at(-1)).toMatchObject({ step: 'download', progress: 1, job: { id: job.id } });
    expect(calls.filter((call) => call === 'POST /v1/jobs')).toHaveLength(1);
  });

  it('sends a file first', async () => {
    const { reelmend } = service();
    const seen: EnhanceProgress[] = [];
    const file = new File([film], 'Ferien.mov');
    const job = await reelmend.enhance({ file, resolution: '4k' }, { onProgress: (now) => seen.push(now) });
    expect(job).toMatchObject({ status: 'done', resolution: '4k', file_name: 'Ferien.mov' });
    expect(seen.find(({ step }) => step === 'upload')).toEqual({ step: 'upload', progress: 0 });
    expect(await readdir(dir)).toEqual([]);
  });

  it.each(['order-1', 'k'.repeat(255)])('with a key of the caller continues: one upload, one job, one charge (%s)', async (idempotencyKey) => {
    const { api, calls, reelmend } = service();
    const enhance = () =>
      reelmend.enhance({ file: new Blob([film]), file_name: 'a.mov', resolution: '1080p' }, { idempotencyKey, output: join(dir, 'a.mp4') });
    const first = await enhance();
    await rm(join(dir, 'a.mp4'));
    expect((await enhance()).id).toBe(first.id);
    expect(await readFile(join(dir, 'a.mp4'))).toEqual(result);
    expect(calls.filter((call) => call.startsWith('PUT'))).toHaveLength(1);
    const sql = await api.store.sql();
    expect(await sql`SELECT id FROM jobs WHERE account_id = ${api.account.id}`).toEqual([{ id: first.id }]);
  });

  it('sends no byte of the file under a key that is too long for a job', async () => {
    const { calls, reelmend } = service();
    const enhance = reelmend.enhance({ file: new Blob([film]), file_name: 'a.mov', resolution: '1080p' }, { idempotencyKey: 'k'.repeat(256) });
    await expect(enhance).rejects.toMatchObject({ status: 400 });
    expect(calls).toEqual(['POST /v1/uploads']);
  });

  it('creates nothing if the result could not be written', async () => {
    const { calls, reelmend } = service();
    await expect(reelmend.enhance(byUrl, { output: dir })).rejects.toThrow(TypeError);
    await expect(reelmend.enhance(byUrl, { output: join(dir, 'no-folder', 'a.mp4') })).rejects.toThrow('ENOENT');
    expect(calls).toEqual([]);
  });

  it('rejects with the failed job', async () => {
    const { reelmend } = service({ status: 'error', error: { code: 'processing_failed', message: 'It broke.' }, finishedAt: new Date() });
    await expect(reelmend.enhance(byUrl, { output: join(dir, 'a.mp4') })).rejects.toThrow(JobFailedError);
    expect(await readdir(dir)).toEqual([]);
  });

  it('ends with its signal', async () => {
    const { calls, reelmend } = service({});
    const abort = new AbortController();
    const enhancing = reelmend.enhance(byUrl, { signal: abort.signal, onProgress: () => abort.abort(new Error('enough')) });
    await expect(enhancing).rejects.toThrow('enough');
    expect(calls).toEqual(['POST /v1/jobs', 'GET /v1/jobs/job']);
  });
});
