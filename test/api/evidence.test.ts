import { describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { verifyAuditLog } from '../../src/evidence/audit-log.ts';
import { type CertificatePayload, signCertificate, verifyCertificate } from '../../src/evidence/certificate.ts';
import { generateSigningKey } from '../../src/evidence/signing-keys.ts';
import { errorOf, finished, makeApi, type Api } from '../helpers/http.ts';
import { hangMs } from '../helpers/wait.ts';

const now = () => new Date().toISOString();

function certificateOf(api: Api, jobId: string): CertificatePayload {
  return {
    id: newId('cert'),
    version: 1,
    job_id: jobId,
    account_id: api.account.id,
    objects: [
      { key: 'outputs/a', role: 'output', version: null, sha256: 'a'.repeat(64), size_bytes: 7, verified_absent_at: now() },
      { key: 'inputs/a', role: 'original', version: 'v1', sha256: null, size_bytes: null, verified_absent_at: now() },
    ],
    method: 'logical deletion, verified absent',
    storage: 's3',
    actor: 'customer',
    deleted_at: now(),
    issued_at: now(),
    audit: { sequence: 3, hash: 'b'.repeat(64) },
  };
}

async function issue(api: Api, jobId: string) {
  const payload = certificateOf(api, jobId);
  const key = await generateSigningKey();
  return { payload, jws: await signCertificate(payload, key), keys: { keys: [key.publicJwk] } };
}

/** A job of the Secure tier that is deleted, and has its certificate when one is given. */
async function addDeleted(api: Api, { id = newId('job'), jws, ...more }: Partial<JobRecord> & { jws?: string }) {
  const job = await api.store.addJob({ id, tier: 'secure', ...more });
  await api.store.jobs.delete(job.accountId, job.mode, job.id);
  if (jws !== undefined) await api.store.addCertificate(job.id, jws);
  return job.id;
}

describe('GET /v1/jobs/{id}/deletion-certificate', () => {
  it('200 with the certificate and what it states, though the job is unknown everywhere else', async () => {
    const api = makeApi();
    const id = newId('job');
    const { payload, jws, keys } = await issue(api, id);
    await addDeleted(api, { id, jws });
    const key = api.keys.liveSecure;
    const response = await api.request(`/v1/jobs/${id}/deletion-certificate`, { key });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { certificate: string };
    expect(body).toEqual({ certificate: jws, payload });
    expect(await verifyCertificate(body.certificate, keys)).toEqual(payload);
    expect((await api.request(`/v1/jobs/${id}`, { key })).status).toBe(404);
  });

  it('409 before the deletion, and while the storage has not confirmed it', async () => {
    const api = makeApi();
    const { id: kept } = await api.store.addJob({ tier: 'secure' });
    for (const [id, code, retry] of [
      [kept, 'job_not_deleted', null],
      [await addDeleted(api, {}), 'certificate_pending', '5'],
    ] as const) {
      const response = await api.request(`/v1/jobs/${id}/deletion-certificate`, { key: api.keys.liveSecure });
      expect(response.status).toBe(409);
      expect(await errorOf(response)).toMatchObject({ code, type: 'conflict_error' });
      expect(response.headers.get('Retry-After')).toBe(retry);
    }
  });

  it('409 for a Standard job that still exists', async () => {
    const api = makeApi();
    const job = await api.store.addJob();
    const path = `/v1/jobs/${job.id}/deletion-certificate`;
    const response = await api.request(path, { key: api.keys.liveSecure });
    expect(response.status).toBe(409);
    expect((await errorOf(response)).code).toBe('job_not_deleted');
    await api.store.changeJob(job.id, null);
    expect((await api.request(path, { key: api.keys.liveSecure })).status).toBe(404);
  });

  it('403 with a Standard key, whatever the job', async () => {
    const api = makeApi();
    for (const key of [api.keys.live, api.keys.test]) {
      const response = await api.request(`/v1/jobs/${newId('job')}/deletion-certificate`, { key });
      expect(response.status).toBe(403);
      expect(await errorOf(response)).toMatchObject({ code: 'secure_tier_required', type: 'permission_error' });
    }
  });

  it('404 for unknown jobs, other accounts’ and the other mode’s', async () => {
    const api = makeApi();
    const [foreign, otherMode] = [newId('job'), newId('job')];
    const { jws } = await issue(api, otherMode);
    await addDeleted(api, { id: otherMode, jws, mode: 'test' });
    await addDeleted(api, { id: foreign, jws, accountId: (await api.store.addAccount()).id });
    for (const id of [foreign, otherMode, newId('job'), 'nonsense']) {
      const response = await api.request(`/v1/jobs/${id}/deletion-certificate`, { key: api.keys.liveSecure });
      expect(response.status, id).toBe(404);
      expect((await errorOf(response)).code).toBe('job_not_found');
    }
  });
});

describe('DELETE /v1/jobs/{id} with a Secure key', () => {
  const secureJob = (api: Api) => api.store.addJob({ tier: 'secure', ...finished() });
  const remove = (api: Api, id: string, key: string) => api.request(`/v1/jobs/${id}`, { method: 'DELETE', key });
  const certificate = async (response: Response) => ((await response.json()) as { certificate: string | null }).certificate;

  it('carries the certificate when it is issued within the wait', async () => {
    const api = makeApi();
    const job = await secureJob(api);
    const { jws } = await issue(api, job.id);
    const removal = remove(api, job.id, api.keys.liveSecure);
    const state = async () => (await api.store.certificates.get(api.account.id, 'live', job.id))?.state;
    await vi.waitFor(async () => expect(await state()).toBe('pending'), hangMs);
    await api.store.addCertificate(job.id, jws);
    const response = await removal;
    expect(response.status).toBe(200);
    expect(await certificate(response)).toBe(jws);
  });

  it('is answered without it when the storage takes longer, or its proof cannot be read', async () => {
    const api = makeApi({ options: { certificateWaitMs: 40 } });
    const job = await secureJob(api);
    expect(await certificate(await remove(api, job.id, api.keys.liveSecure))).toBeNull();
    const other = await secureJob(api);
    api.store.certificates.get = () => Promise.reject(new Error('canary'));
    const response = await remove(api, other.id, api.keys.liveSecure);
    expect(response.status).toBe(200);
    expect(await certificate(response)).toBeNull();
    expect(JSON.stringify(api.logged.filter(({ level }) => level === 'error'))).toContain('certificate');
  });

  it('is null at once for a job of the Standard tier, and with a Standard key', async () => {
    const api = makeApi({ options: { certificateWaitMs: 60_000 } });
    const standard = await api.store.addJob();
    expect(await certificate(await remove(api, standard.id, api.keys.liveSecure))).toBeNull();
    const secure = await secureJob(api);
    expect(await certificate(await remove(api, secure.id, api.keys.live))).toBeNull();
  });
});

interface LogPage {
  data: { sequence: number; kind: string; job_id: string | null; data: object }[];
  has_more: boolean;
  next_cursor: number | null;
  head: string;
}

describe('GET /v1/audit-log', () => {
  async function page(api: Api, query = ''): Promise<LogPage> {
    const response = await api.request(`/v1/audit-log${query}`, { key: api.keys.liveSecure });
    expect(response.status).toBe(200);
    return (await response.json()) as LogPage;
  }

  async function filled(entries: number) {
    const api = makeApi();
    const jobs = [(await api.store.addJob()).id, (await api.store.addJob()).id];
    for (let i = 0; i < entries; i += 1) {
      const entry = { accountId: api.account.id, kind: 'result.accessed', jobId: jobs[i % 2]! } as const;
      await api.store.audit.record({ ...entry, data: { key_id: `key_${i}` } });
    }
    return { api, jobs };
  }

  it('200, newest first, through all pages, and the whole verifies offline with the published keys', async () => {
    const { api } = await filled(7);
    const entries: LogPage['data'] = [];
    let cursor: number | null = null;
    let head: string;
    do {
      const read = await page(api, `?limit=3${cursor === null ? '' : `&starting_after=${cursor}`}`);
      entries.push(...read.data);
      ({ next_cursor: cursor, head } = read);
      expect(read.has_more).toBe(cursor !== null);
    } while (cursor !== null);
    expect(entries.map(({ sequence }) => sequence)).toEqual([7, 6, 5, 4, 3, 2, 1]);
    const keys = (await (await api.request('/.well-known/jwks.json', { key: null })).json()) as never;
    expect(await verifyAuditLog({ entries: entries.toReversed(), head }, keys)).toMatchObject({ ok: true, size: 7 });
    expect(await verifyAuditLog({ entries: entries.toReversed().slice(0, 6), head }, keys)).toMatchObject({ ok: false });
  });

  it('is empty, with a signed head, on an account without entries', async () => {
    const api = makeApi();
    const { head, ...rest } = await page(api);
    expect(rest).toEqual({ data: [], has_more: false, next_cursor: null });
    expect(await verifyAuditLog({ entries: [], head }, await api.jwks())).toMatchObject({ ok: true, size: 0 });
  });

  it('filters by job; the head stays that of the whole log', async () => {
    const { api, jobs } = await filled(5);
    const read = await page(api, `?job_id=${jobs[1]}`);
    expect(read.data.map(({ sequence, job_id }) => [sequence, job_id])).toEqual([
      [4, jobs[1]],
      [2, jobs[1]],
    ]);
    expect(JSON.parse(Buffer.from(read.head.split('.')[1]!, 'base64url').toString())).toMatchObject({ size: 5 });
  });

  it('records each link that was handed out and each change of the retention', async () => {
    const api = makeApi();
    const job = await api.store.addJob(finished());
    expect((await api.request(`/v1/jobs/${job.id}/result`)).status).toBe(200);
    expect((await api.request(`/v1/jobs/${job.id}/result`, { method: 'HEAD' })).status).toBe(200);
    const queued = await api.store.addJob();
    expect((await api.request(`/v1/jobs/${queued.id}/result`)).status).toBe(409);
    const json = { retention_days: 7 };
    expect((await api.request('/v1/account', { method: 'PATCH', key: api.keys.testSecure, json })).status).toBe(200);
    const { data } = await page(api);
    expect(data.map(({ kind, job_id, data: facts }) => ({ kind, job_id, facts }))).toMatchObject([
      { kind: 'retention.changed', job_id: null, facts: { retention_days: 7, previous_days: 30 } },
      { kind: 'result.accessed', job_id: job.id },
    ]);
    expect(JSON.stringify(data)).not.toContain('http');
  });

  it('hands out no link when it cannot be recorded', async () => {
    const api = makeApi();
    const job = await api.store.addJob(finished());
    api.store.audit.record = () => Promise.reject(new Error('down'));
    const response = await api.request(`/v1/jobs/${job.id}/result`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('download_url');
  });

  it('403 with a Standard key', async () => {
    const api = makeApi();
    for (const key of [api.keys.live, api.keys.test]) {
      const response = await api.request('/v1/audit-log', { key });
      expect(response.status).toBe(403);
      expect((await errorOf(response)).code).toBe('secure_tier_required');
    }
  });

  for (const [query, param] of [
    ['limit=0', '/limit'],
    ['limit=101', '/limit'],
    ['starting_after=0', '/starting_after'],
    ['starting_after=1.5', '/starting_after'],
    ['starting_after=9999999999999', '/starting_after'],
    ['job_id=x', '/job_id'],
    ['colour=red', '/colour'],
  ] as const) {
    it(`400 for ?${query}`, async () => {
      const api = makeApi();
      const response = await api.request(`/v1/audit-log?${query}`, { key: api.keys.liveSecure });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', param });
    });
  }
});

describe('GET /.well-known/jwks.json', () => {
  it('200 with public keys only, without a key', async () => {
    const api = makeApi();
    const response = await api.request('/.well-known/jwks.json', { key: null });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(await api.jwks());
    expect(response.headers.get('Cache-Control')).toBe('public, max-age=300');
  });
});

describe('PATCH /v1/account', () => {
  const patch = (api: Api, json: unknown, key = api.keys.liveSecure) =>
    api.request('/v1/account', { method: 'PATCH', key, json });

  it('200 sets the retention, which GET shows afterwards', async () => {
    const api = makeApi();
    for (const retention_days of [1, 365]) {
      const response = await patch(api, { retention_days });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ id: api.account.id, tier: 'secure', retention_days });
      const secure = await api.request('/v1/account', { key: api.keys.liveSecure });
      expect(await secure.json()).toMatchObject({ retention_days });
    }
  });

  it('400 outside of 1 to 365 days', async () => {
    const api = makeApi();
    for (const retention_days of [0, 366, -1, 1.5, '7', null]) {
      const response = await patch(api, { retention_days });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', param: '/retention_days' });
    }
    expect((await patch(api, {})).status).toBe(400);
    expect((await api.store.account()).retentionDays).toBe(30);
    expect((await api.store.audit.list({ accountId: api.account.id, limit: 10 })).entries).toEqual([]);
  });

  it('403 with a Standard key', async () => {
    const api = makeApi();
    const response = await patch(api, { retention_days: 7 }, api.keys.live);
    expect(response.status).toBe(403);
    expect((await errorOf(response)).code).toBe('secure_tier_required');
    expect((await api.store.account()).retentionDays).toBe(30);
  });
});
