import { describe, expect, it } from 'vitest';
import { newId, smallestIdAt } from '../../src/domain/ids.ts';
import type { Job } from '../../src/contract/types.gen.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { type Api, errorOf, finished, installed, makeApi } from '../helpers/http.ts';

const addJob = (api: Api, overrides: Partial<JobRecord> = {}) => api.store.addJob(overrides);

describe('GET /v1/jobs/{id}', () => {
  it('200 in every state', async () => {
    const api = makeApi();
    const jobs = [
      await addJob(api),
      await addJob(api, { status: 'running', progress: 0.25, etaSeconds: 13, startedAt: new Date(), metadata: { a: '1' } }),
      await addJob(api, finished()),
      await addJob(api, {
        status: 'error',
        error: { code: 'source_changed', message: 'The video changed.' },
        creditsCharged: 126,
        creditsRefunded: 126,
        finishedAt: new Date(),
      }),
    ];
    for (const job of jobs) {
      const response = await api.request(`/v1/jobs/${job.id}`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        id: job.id,
        status: job.status,
        progress: job.progress,
        eta_seconds: job.etaSeconds,
        credits_refunded: job.creditsRefunded,
        created_at: job.createdAt.toISOString(),
        started_at: job.startedAt?.toISOString() ?? null,
        output: job.output,
        error: job.error === null ? null : { ...job.error, doc_url: 'http://reelmend.test/docs/errors#source_changed' },
        enhancements: job.applied,
        metadata: job.metadata,
      });
    }
  });

  it('leads to the explanation of a failure, not to that of a refused request with the same code', async () => {
    const api = makeApi();
    const job = await addJob(api, { status: 'error', error: { code: 'video_too_long', message: 'It is too long.' }, finishedAt: new Date() });
    const error = { code: 'video_too_long', message: 'It is too long.', doc_url: 'http://reelmend.test/docs/errors#failed-video_too_long' };
    expect(await (await api.request(`/v1/jobs/${job.id}`)).json()).toMatchObject({ error });
    expect(await (await api.request('/v1/jobs')).json()).toMatchObject({ data: [{ error }] });
    expect(await (await api.request(`/v1/jobs/${job.id}/events`)).text()).toContain(`"error":${JSON.stringify(error)}`);
  });

  it('rounds what the engine counts in single precision', async () => {
    const api = makeApi();
    const plan = [{ stage: 'sharpen', strength: 0.10000000149011612, reason: 'requested' }];
    const applied = { denoise: 0.06531239300966263, sharpen: 0.1 + 0.2, face_restoration: 0, adaptive_contrast: 1, model: 'fast', device: 'cpu', plan };
    const job = await addJob(api, { ...finished(), status: 'running', progress: 0.8200000000000001, applied });
    expect(await (await api.request(`/v1/jobs/${job.id}`)).json()).toMatchObject({
      progress: 0.82,
      enhancements: { denoise: 0.065, sharpen: 0.3, adaptive_contrast: 1, plan: [{ strength: 0.1 }] },
    });
  });

  it('says nothing of the addresses that the customer gave', async () => {
    const api = makeApi();
    const job = await addJob(api, {
      videoUrl: 'https://canary.example.com/a.mp4',
      webhookUrl: 'https://canary.example.com/b',
    });
    expect(await (await api.request(`/v1/jobs/${job.id}`)).text()).not.toContain('canary');
  });
});

describe('GET /v1/jobs/{id} of a job that runs', () => {
  const { sha256 } = finished().output!;
  /** Segments of ten seconds; `done` of them with their pieces. */
  async function addSegments(api: Api, job: JobRecord, states: readonly ('done' | 'running' | 'pending')[]): Promise<void> {
    const sql = await api.store.sql();
    await sql`UPDATE jobs SET step = 'segments', segment_plan = 'a plan' WHERE id = ${job.id}`;
    for (const [number, state] of states.entries()) {
      const key = state === 'done' ? `jobs/${job.id}/segments/${number}-1.mp4` : null;
      const lease = state === 'running' ? new Date(Date.now() + 60_000) : null;
      if (key !== null) {
        api.objects.set(key, Buffer.from(`piece ${number}`));
        await sql`INSERT INTO objects (key, job_id, attempt, role) VALUES (${key}, ${job.id}, 1, 'segment')`;
      }
      await sql`INSERT INTO segments (job_id, number, start_seconds, end_seconds, frames, device_class, state, progress, object_key, sha256, result, lease_owner, lease_expires_at)
        VALUES (${job.id}, ${number}, ${number * 10}, ${number * 10 + 10}, 250, 'cpu', ${state}, ${state === 'running' ? 0.4 : state === 'done' ? 1 : 0}, ${key},
          ${key && sha256}, ${key && sql.json({})}, ${lease && 'a worker'}, ${lease})`;
    }
  }
  const read = async (api: Api, job: JobRecord) => {
    const response = await api.request(`/v1/jobs/${job.id}`);
    expect(response.status).toBe(200);
    return (await response.json()) as Job;
  };

  it('names its segments, and links the earliest finished one', async () => {
    const api = makeApi();
    const job = await addJob(api, { status: 'running', progress: 0.3, startedAt: new Date() });
    await addSegments(api, job, ['running', 'done', 'done', 'pending']);
    const { partial_output, segments } = await read(api, job);
    expect(segments).toEqual([
      { start_seconds: 0, end_seconds: 10, status: 'running', progress: 0.4 },
      { start_seconds: 10, end_seconds: 20, status: 'done', progress: 1 },
      { start_seconds: 20, end_seconds: 30, status: 'done', progress: 1 },
      { start_seconds: 30, end_seconds: 40, status: 'waiting', progress: 0 },
    ]);
    expect(partial_output).toMatchObject({ expires_in: 3600, start_seconds: 10, end_seconds: 20 });
    const url = new URL(partial_output!.url);
    const file = await api.request(`${url.pathname}${url.search}`, { key: null });
    expect([file.status, file.headers.get('content-type'), await file.text()]).toEqual([200, 'video/mp4', 'piece 1']);
    expect(file.headers.get('content-disposition')).toContain(`${job.id}-1080p-partial.mp4`);
  });

  it('records the access to a piece once for each key that polls, and none for a HEAD request', async () => {
    const api = makeApi();
    const job = await addJob(api, { status: 'running', startedAt: new Date() });
    await addSegments(api, job, ['done', 'running']);
    const entries = async () => {
      const sql = await api.store.sql();
      const rows = await sql<{ data: object }[]>`SELECT data FROM job_events WHERE job_id = ${job.id} AND kind = 'result.accessed'`;
      return rows.map(({ data }) => data);
    };
    await api.request(`/v1/jobs/${job.id}`, { method: 'HEAD' });
    expect(await entries()).toEqual([]);
    await read(api, job);
    await read(api, job);
    expect(await entries()).toEqual([expect.objectContaining({ segment: 0 })]);
    for (let poll = 0; poll < 2; poll++) expect((await api.request(`/v1/jobs/${job.id}`, { key: api.keys.liveSecure })).status).toBe(200);
    const keys = (await entries()).map((data) => (data as { key_id: string }).key_id);
    expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
  });

  it('has neither a partial output nor segments where the video is enhanced in one piece', async () => {
    const api = makeApi();
    const jobs = [await addJob(api, { status: 'running', startedAt: new Date() }), await addJob(api, { status: 'running', mode: 'test', startedAt: new Date() })];
    expect(await read(api, jobs[0]!)).toMatchObject({ partial_output: null, segments: [] });
    const test = await api.request(`/v1/jobs/${jobs[1]!.id}`, { key: api.keys.test });
    expect(await test.json()).toMatchObject({ partial_output: null, segments: [] });
  });

  it.each(['queued', 'done', 'error'] as const)('a job that is %s has no such fields', async (status) => {
    const api = makeApi();
    const job = await addJob(api, status === 'queued' ? {} : { ...finished(), status, ...(status === 'error' ? { error: { code: 'processing_failed' as const, message: 'No.' } } : {}) });
    await addSegments(api, job, ['done']);
    const body = await read(api, job);
    expect(['partial_output' in body, 'segments' in body]).toEqual([false, false]);
  });
});

describe('404 job_not_found, the same for every job that is not the caller’s', () => {
  for (const [method, suffix] of [
    ['GET', ''],
    ['GET', '/result'],
    ['DELETE', ''],
  ] as const) {
    it(`${method} /v1/jobs/{id}${suffix}`, async () => {
      const api = makeApi();
      const stranger = await api.store.addAccount();
      const foreign = await addJob(api, { ...finished(), accountId: stranger.id });
      const otherMode = await addJob(api, { ...finished(), mode: 'test' });
      const ids = [
        foreign.id,
        otherMode.id,
        newId('job'),
        'job_1',
        'nonsense',
        '%00',
        'job_%2e%2e',
        `${newId('job')}x`,
      ];
      const bodies = new Set<string>();
      for (const id of ids) {
        const response = await api.request(`/v1/jobs/${id}${suffix}`, { method });
        expect(response.status, id).toBe(404);
        const { code, type, message } = await errorOf(response);
        expect({ code, type }).toEqual({ code: 'job_not_found', type: 'not_found_error' });
        bodies.add(message);
      }
      expect(bodies.size).toBe(1);
      const sql = await api.store.sql();
      expect(await sql`SELECT id FROM jobs WHERE deleted_at IS NULL AND id IN (${foreign.id}, ${otherMode.id})`).toHaveLength(2);
    });
  }
});

it('a 404 names the mode of the key: most look with a key of the other mode', async () => {
  const api = makeApi();
  const job = await addJob(api);
  for (const [key, mode] of [[api.keys.test, 'test'], [api.keys.liveSecure, 'live']] as const) {
    const id = mode === 'test' ? job.id : newId('job');
    for (const [path, what] of [[`jobs/${id}`, 'job'], [`jobs/${id}/result`, 'job'], ['jobs/job_x', 'job'], [`previews/${newId('prv')}`, 'preview'], [`uploads/${newId('upl')}`, 'upload'], [`webhook-endpoints/${newId('hook')}`, 'webhook endpoint']] as const) {
      const response = await api.request(`/v1/${path}`, { key });
      expect(response.status).toBe(404);
      expect((await errorOf(response)).message).toBe(`There is no such ${what} in ${mode} mode, the mode of this key.`);
    }
  }
});

describe('GET /v1/jobs', () => {
  it('lists newest first and pages through to the end', async () => {
    const api = makeApi();
    const made: string[] = [];
    for (let n = 0; n < 7; n += 1) made.push((await addJob(api)).id);
    await addJob(api, { mode: 'test' });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const path: string = `/v1/jobs?limit=3${cursor === null ? '' : `&starting_after=${cursor}`}`;
      const page = (await (await api.request(path)).json()) as {
        data: { id: string }[];
        has_more: boolean;
        next_cursor: string | null;
      };
      seen.push(...page.data.map(({ id }) => id));
      expect(page.has_more).toBe(page.next_cursor !== null);
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([...made].reverse());
  });

  it('is empty where there are none, and filters by status', async () => {
    const api = makeApi();
    expect(await (await api.request('/v1/jobs')).json()).toEqual({ data: [], has_more: false, next_cursor: null });
    await addJob(api);
    const done = await addJob(api, finished());
    const page = (await (await api.request('/v1/jobs?status=done&limit=100')).json()) as { data: { id: string }[] };
    expect(page.data.map(({ id }) => id)).toEqual([done.id]);
  });

  it('takes 20 without a limit', async () => {
    const api = makeApi();
    for (let i = 0; i < 21; i += 1) await addJob(api);
    expect(await (await api.request('/v1/jobs')).json()).toMatchObject({ data: { length: 20 }, has_more: true });
  });

  const idsOf = async (api: Api, query: string) => {
    const response = await api.request(`/v1/jobs?${query}`);
    expect(response.status, query).toBe(200);
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };

  it('filters by the time of creation: from created_after until before created_before', async () => {
    const api = makeApi();
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    const addAt = async (at: Date) => {
      const { id } = await addJob(api, { id: `${smallestIdAt('job', at).slice(0, -9)}${newId('job').slice(-9)}`, createdAt: at });
      return { id, at: at.toISOString() };
    };
    const [old, mid, newest] = [await addAt(hoursAgo(50)), await addAt(hoursAgo(3)), await addJob(api)];
    expect(await idsOf(api, `created_after=${mid.at}`)).toEqual([newest.id, mid.id]);
    expect(await idsOf(api, `created_before=${mid.at}`)).toEqual([old.id]);
    expect(await idsOf(api, `created_after=${old.at}&created_before=${mid.at}`)).toEqual([old.id]);
    expect(await idsOf(api, `created_after=${old.at}&created_before=${hoursAgo(1).toISOString()}&limit=1&starting_after=${mid.id}`)).toEqual([old.id]);
    const inAnotherZone = `${new Date(Date.parse(mid.at) + 2 * 3_600_000).toISOString().slice(0, -1)}%2B02:00`;
    expect(await idsOf(api, `created_before=${inAnotherZone}`)).toEqual([old.id]);
    for (const all of ['0001-01-01T00:00:00+23:59', '0000-01-01T00:00:00Z', '1969-12-31T23:59:59.999999999Z']) {
      expect(await idsOf(api, `created_after=${encodeURIComponent(all)}`)).toHaveLength(3);
      expect(await idsOf(api, `created_before=${encodeURIComponent(all)}`)).toEqual([]);
    }
    expect(await idsOf(api, `created_before=${encodeURIComponent('9999-12-31T23:59:59-23:59')}`)).toHaveLength(3);
  });

  it('finds jobs by their metadata, of this account and mode, until they are deleted', async () => {
    const api = makeApi();
    const [first, , third] = [
      await addJob(api, { metadata: { order: 'A=1', batch: 'x' } }),
      await addJob(api, { metadata: { order: 'A' } }),
      await addJob(api, { ...finished(), metadata: { order: 'A=1', 'empty.one': '', long: 'ß'.repeat(500) } }),
    ];
    await addJob(api, { mode: 'test', metadata: { order: 'A=1' } });
    await addJob(api, { metadata: { order: 'A=1' }, accountId: (await api.store.addAccount()).id });
    const isA1 = `metadata=${encodeURIComponent('order=A=1')}`;
    expect(await idsOf(api, isA1)).toEqual([third.id, first.id]);
    expect(await idsOf(api, `${isA1}&limit=1&starting_after=${third.id}`)).toEqual([first.id]);
    expect(await idsOf(api, `${isA1}&status=done`)).toEqual([third.id]);
    expect(await idsOf(api, `${isA1}&created_before=2020-01-01T00:00:00Z`)).toEqual([]);
    expect(await idsOf(api, 'metadata=empty.one=')).toEqual([third.id]);
    expect(await idsOf(api, `metadata=long=${encodeURIComponent('ß'.repeat(500))}`)).toEqual([third.id]);
    expect(await idsOf(api, 'metadata=order=B')).toEqual([]);
    expect((await api.request(`/v1/jobs/${third.id}`, { method: 'DELETE' })).status).toBe(200);
    expect(await idsOf(api, isA1)).toEqual([first.id]);
    const sql = await api.store.sql();
    expect(await sql`SELECT 1 FROM job_metadata WHERE job_id = ${third.id}`).toEqual([]);
  });

  const refused = [
    ['created_after=yesterday', '/created_after'],
    ['created_after=2026-11-21', '/created_after'],
    ['created_after=2026-11-21T07:59Z', '/created_after'],
    ['created_before=2026-11-21T07:59:55', '/created_before'],
    ['created_before=2026-02-30T07:59:55Z', '/created_before'],
    ['metadata=order', '/metadata'],
    ['metadata=%3Dvalue', '/metadata'],
    ['metadata=a%20b=c', '/metadata'],
    ['metadata=order=%00', '/metadata'],
    [`metadata=order=${'x'.repeat(540)}`, '/metadata'],
    ['metadata=a=b&metadata=c=d', '/metadata'],
    ['limit=abc', '/limit'],
    ['limit=0', '/limit'],
    ['limit=101', '/limit'],
    ['limit=-1', '/limit'],
    ['limit=1.5', '/limit'],
    ['limit=1e1', '/limit'],
    ['limit=0x5', '/limit'],
    ['limit=', '/limit'],
    ['limit=%205', '/limit'],
    ['limit=99999999999999999999', '/limit'],
    ['limit=5&limit=6', '/limit'],
    ['status=lost', '/status'],
    ['starting_after=1', '/starting_after'],
    ['starting_after=job_%00', '/starting_after'],
    ['colour=red', '/colour'],
  ] as const;
  for (const [query, param] of refused) {
    it(`400 for ?${query}`, async () => {
      const response = await makeApi().request(`/v1/jobs?${query}`);
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', type: 'validation_error', param });
    });
  }
});

describe('a query parameter that occurs twice', () => {
  it.each(['limit', 'status', 'metadata', 'created_after'])('is refused for that, not for its values: %s', async (name) => {
    const value = { limit: '5', status: 'done', metadata: 'a=b', created_after: '2026-11-21T07:59:55Z' }[name]!;
    const pair = `${name}=${encodeURIComponent(value)}`;
    const api = makeApi();
    expect((await api.request(`/v1/jobs?${pair}`)).status).toBe(200);
    const error = await errorOf(await api.request(`/v1/jobs?${pair}&${pair}`));
    expect(error).toMatchObject({ message: `The query parameter "${name}" may occur only once.`, param: `/${name}` });
  });
});

describe('GET /v1/jobs/{id}/result', () => {
  it('200 with a fresh link for an hour, and the words of the specification', async () => {
    const api = makeApi();
    const job = await addJob(api, { ...finished(), resolution: '4k' });
    const response = await api.request(`/v1/jobs/${job.id}/result`);
    expect(response.status).toBe(200);
    const result = (await response.json()) as { download_url: string; expires_in: number; retention: object };
    expect(result.expires_in).toBe(3600);
    expect(result.retention).toMatchObject({
      auto_delete_at: job.expiresAt.toISOString(),
      delete_now: `DELETE /v1/jobs/${job.id}`,
    });
    expect(new URL(result.download_url).searchParams.get('name')).toBe(`${job.id}-4k.mp4`);
  });

  it('409 before the job is done, and after it failed', async () => {
    const api = makeApi();
    const cases = [
      [await addJob(api), 'job_not_done'],
      [await addJob(api, { status: 'running' }), 'job_not_done'],
      [await addJob(api, { status: 'error', error: { code: 'processing_failed', message: 'It broke.' } }), 'job_failed'],
    ] as const;
    for (const [job, code] of cases) {
      const response = await api.request(`/v1/jobs/${job.id}/result`);
      expect(response.status).toBe(409);
      expect(await errorOf(response)).toMatchObject({ code, type: 'conflict_error' });
    }
  });

  it('404 when the job is deleted between two looks at it', async () => {
    const api = makeApi();
    const job = await addJob(api, { ...finished() });
    api.store.jobs.resultFiles = async () => null;
    expect((await api.request(`/v1/jobs/${job.id}/result`)).status).toBe(404);
  });
});

describe('DELETE /v1/jobs/{id}', () => {
  it('200 with the refund; afterwards the id is unknown', async () => {
    const api = makeApi();
    const job = await addJob(api, { creditsCharged: 126 });
    const response = await api.request(`/v1/jobs/${job.id}`, { method: 'DELETE' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id: job.id,
      deleted: true,
      refunded_credits: 126,
      certificate: null,
    });
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/result'],
      ['DELETE', ''],
    ] as const) {
      expect((await api.request(`/v1/jobs/${job.id}${suffix}`, { method })).status).toBe(404);
    }
  });
});

describe('GET /v1/account', () => {
  it('200 with the balance, prices and limits of the key', async () => {
    const account = { credits: 500, approvalStatus: 'approved' } as const;
    const api = makeApi({ account, options: { models: [installed('fast')] } });
    const cases = [
      { key: api.keys.live, sandbox: false, credits: 500, tier: 'standard', second: 0.03, minute: 3.6 },
      { key: api.keys.liveSecure, sandbox: false, credits: 500, tier: 'secure', second: 0.06, minute: 7.2 },
      { key: api.keys.test, sandbox: true, credits: 10_000, tier: 'standard', second: 0.03, minute: 3.6 },
    ];
    for (const { key, second, minute, ...rest } of cases) {
      const response = await api.request('/v1/account', { key });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        id: api.account.id,
        approval_status: 'approved',
        ...rest,
        pricing: { currency: 'USD', per_second: { '1080p': second }, per_minute: { '4k': minute } },
        limits: { max_duration_seconds: 600, max_file_size_bytes: 2_000_000_000, models: ['auto', 'none', 'fast'] },
      });
    }
  });

  it('the retention that applies to the key, and the prices of every tier that the key may use', async () => {
    const api = makeApi({ account: { retentionDays: 7 } });
    const of = async (key: string) =>
      (await (await api.request('/v1/account', { key })).json()) as { retention_days: number; pricing: { tiers: object } };
    const standard = { per_second: { '1080p': 0.03, '4k': 0.06 }, per_minute: { '1080p': 1.8, '4k': 3.6 } };
    const secure = { per_second: { '1080p': 0.06, '4k': 0.12 }, per_minute: { '1080p': 3.6, '4k': 7.2 } };
    for (const key of [api.keys.live, api.keys.test]) {
      expect(await of(key)).toMatchObject({ retention_days: 30 });
      expect((await of(key)).pricing.tiers).toEqual({ standard });
    }
    for (const key of [api.keys.liveSecure, api.keys.testSecure]) {
      expect(await of(key)).toMatchObject({ retention_days: 7 });
      expect((await of(key)).pricing.tiers).toEqual({ standard, secure });
    }
  });

  it('shows a pending account its status through the test key', async () => {
    const api = makeApi({ account: { approvalStatus: 'pending' } });
    expect(await (await api.request('/v1/account', { key: api.keys.test })).json()).toMatchObject({
      approval_status: 'pending',
    });
  });
});
