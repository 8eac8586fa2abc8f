/** Limits that the operator has set: what is accepted, refused, charged and shown follows from them. */
import { describe, expect, it } from 'vitest';
import { defaultVideoLimits } from '../../src/domain/limits.ts';
import { finished, errorOf, makeApi, source } from '../helpers/http.ts';

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

  it('gives links that last for twice the longest video', async () => {
    const api = makeApi({ options: { limits } });
    const job = await api.store.addJob({ ...finished(), durationSeconds: 3600 });
    expect(await (await api.request(`/v1/jobs/${job.id}/result`)).json()).toMatchObject({ expires_in: 7200 });
  });
});
