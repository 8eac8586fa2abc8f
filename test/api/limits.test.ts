/** Limits that the operator has set: what is accepted, refused, charged and shown follows from them. */
import { describe, expect, it } from 'vitest';
import { defaultVideoLimits } from '../../src/domain/limits.ts';
import { partSizeBytes, partsOf } from '../../src/domain/uploads.ts';
import { finished, errorOf, makeApi, source } from '../helpers/http.ts';
import { complete, create, created } from '../helpers/upload-calls.ts';

const limits = { ...defaultVideoLimits, durationS: 3600, bytes: 5_000_000_000 };
const input = { video_url: 'https://media.example.com/lecture.mp4', resolution: '1080p' };
const account = { credits: 1_000_000 };

describe('an installation that allows an hour and 5 GB', () => {
  it.each([
    [{ duration: 3600 }, 201, 10_800],
    [{ duration: 601.5 }, 201, 1806],
    [{ duration: 3600.001 }, 400, 'video_too_long'],
    [{ size_bytes: 5_000_000_000 }, 201, 126],
    [{ size_bytes: 5_000_000_001 }, 400, 'video_too_large'],
  ])('%o → %d', async (facts, status, outcome) => {
    const api = makeApi({ account, options: { limits }, measure: async () => ({ ...source, ...facts }) });
    const response = await api.request('/v1/jobs', { method: 'POST', json: input });
    expect(response.status).toBe(status);
    if (status === 201) expect(await response.json()).toMatchObject({ credits_charged: outcome });
    else expect((await errorOf(response)).code).toBe(outcome);
  });

  it('says so to customers', async () => {
    const api = makeApi({ options: { limits } });
    expect(await (await api.request('/v1/account')).json()).toMatchObject({
      limits: { max_duration_seconds: 3600, max_file_size_bytes: 5_000_000_000, link_validity_seconds: 7200 },
    });
  });

  it('has test jobs of the same length, and refusals that name its limits', async () => {
    const api = makeApi({ options: { limits } });
    const post = (json: object) => api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json });
    expect(await (await post({ ...input, duration_seconds: 7000 })).json()).toMatchObject({ duration_seconds: 3600 });
    const tooLong = await post({ ...input, video_url: 'https://media.example.com/video_too_long.mp4' });
    expect((await errorOf(tooLong)).message).toBe('The video lasts 3601.000 s; at most 3600 s are accepted.');
  });

  it('takes uploads of that size, in parts whose checksums fit into one request', async () => {
    const api = makeApi({ options: { limits, uploadQuotaBytes: 1e13 } });
    const upload = await created(api, { file_name: 'lecture.mov', size_bytes: 5_000_000_000 });
    expect(upload.part_size_bytes).toBe(partSizeBytes);
    const refused = await create(api, { file_name: 'lecture.mov', size_bytes: 5_000_000_001 });
    expect(await errorOf(refused)).toMatchObject({ code: 'video_too_large', message: 'The video has 5000000001 bytes; at most 5000000000 are accepted.' });

    const largest = 1e12; // of REELMEND_MAX_FILE_MB
    const generous = makeApi({ options: { limits: { ...limits, bytes: largest }, uploadQuotaBytes: 1e13 } });
    const huge = await created(generous, { file_name: 'archive.mov', size_bytes: largest });
    const parts = partsOf({ sizeBytes: largest, partSizeBytes: huge.part_size_bytes });
    expect(parts.length).toBeLessThanOrEqual(900);
    expect(parts[0]!.size).toBeLessThan(5 * 1024 ** 3); // S3 allows no larger one
    const response = await complete(generous, huge.id, { part_sha256: parts.map(() => '0'.repeat(64)) });
    // The body is accepted: only the parts are missing.
    expect(await errorOf(response)).toMatchObject({ code: 'upload_incomplete', message: expect.stringContaining('have not arrived yet') as string });
  });

  it('gives links that last for twice the longest video', async () => {
    const api = makeApi({ options: { limits } });
    const job = await api.store.addJob({ ...finished(), durationSeconds: 3600 });
    expect(await (await api.request(`/v1/jobs/${job.id}/result`)).json()).toMatchObject({ expires_in: 7200 });
  });
});
