/** The layer by resource is complete: every operation for a customer has its line. */
import { describe, expect, it } from 'vitest';
import type { Reelmend, JobInput } from '../../src/sdk/index.ts';
import { document, operations } from '../helpers/http-contract.ts';
import { fakeService, jobId, json, jobView } from './fake.ts';

const input: JobInput = { video_url: 'https://media.example.com/a.mp4', resolution: '4k' };
const page = { data: [], has_more: false, next_cursor: null };
const stream = () =>
  new Response(`event: status\ndata: ${JSON.stringify(jobView({ status: 'done' }))}\n\n`, {
    headers: { 'Content-Type': 'text/event-stream' },
  });

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items);
}

/** By operationId; what is wrapped twice (pages, all) calls the same. */
const calls: Record<string, { call: (reelmend: Reelmend) => Promise<unknown>; answer?: () => Response }> = {
  createJob: { call: ({ jobs }) => jobs.create(input) },
  listJobs: { call: ({ jobs }) => jobs.list(), answer: () => json(page) },
  getJob: { call: ({ jobs }) => jobs.get(jobId) },
  deleteJob: { call: ({ jobs }) => jobs.delete(jobId) },
  getJobResult: { call: ({ jobs }) => jobs.result(jobId) },
  streamJobEvents: { call: ({ jobs }) => drain(jobs.events(jobId)), answer: stream },
  getDeletionCertificate: { call: ({ jobs }) => jobs.deletionCertificate(jobId) },
  createUpload: { call: ({ uploads }) => uploads.begin({ file_name: 'a.mov', size_bytes: 5 }) },
  listUploads: { call: ({ uploads }) => uploads.list(), answer: () => json(page) },
  getUpload: { call: ({ uploads }) => uploads.get(jobId) },
  completeUpload: { call: ({ uploads }) => uploads.complete(jobId, {}) },
  deleteUpload: { call: ({ uploads }) => uploads.delete(jobId) },
  createPreview: { call: ({ previews }) => previews.create({ video_url: input.video_url!, settings: [{ resolution: '1080p' }] }) },
  listPreviews: { call: ({ previews }) => previews.list(), answer: () => json(page) },
  getPreview: { call: ({ previews }) => previews.get(jobId) },
  deletePreview: { call: ({ previews }) => previews.delete(jobId) },
  createQuote: { call: ({ quotes }) => quotes.create(input) },
  listModels: { call: ({ models }) => models.list() },
  getAccount: { call: ({ account }) => account.get() },
  updateAccount: { call: ({ account }) => account.update({ retention_days: 7 }) },
  getUsage: { call: ({ account }) => account.usage({ interval: 'month' }) },
  listLedger: { call: ({ ledger }) => ledger.list(), answer: () => json(page) },
  createWebhookEndpoint: { call: ({ webhookEndpoints }) => webhookEndpoints.create({ url: 'https://hooks.example.com/' }) },
  listWebhookEndpoints: { call: ({ webhookEndpoints }) => webhookEndpoints.list() },
  getWebhookEndpoint: { call: ({ webhookEndpoints }) => webhookEndpoints.get(jobId) },
  updateWebhookEndpoint: { call: ({ webhookEndpoints }) => webhookEndpoints.update(jobId, { enabled: false }) },
  deleteWebhookEndpoint: { call: ({ webhookEndpoints }) => webhookEndpoints.delete(jobId) },
  rotateWebhookEndpointSecret: { call: ({ webhookEndpoints }) => webhookEndpoints.rotateSecret(jobId) },
  switchWebhookEndpointSecret: { call: ({ webhookEndpoints }) => webhookEndpoints.switchSecret(jobId) },
  testWebhookEndpoint: { call: ({ webhookEndpoints }) => webhookEndpoints.test(jobId, 'job.completed') },
  listAuditLog: { call: ({ auditLog }) => auditLog.list(), answer: () => json(page) },
  listRequestLog: { call: ({ requestLog }) => requestLog.list(), answer: () => json(page) },
  getJwks: { call: ({ jwks }) => jwks.get() },
};

describe('the layer by resource', () => {
  const secured = operations.filter(({ method, path }) => {
    const security: unknown = document['paths']![path]![method]!['security'];
    return security === undefined;
  });

  it('has every operation that takes a key, and the public keys', () => {
    expect(Object.keys(calls).sort()).toEqual([...secured.map(({ id }) => id), 'getJwks'].sort());
  });

  it.each(Object.keys(calls))('%s goes where the document says', async (id) => {
    const { call, answer = () => json({}) } = calls[id]!;
    const { reelmend, requests } = fakeService([answer]);
    await call(reelmend);
    const operation = operations.find((one) => one.id === id)!;
    const [request] = requests;
    expect(requests).toHaveLength(1);
    expect(request!.method).toBe(operation.method.toUpperCase());
    expect(new URL(request!.url).pathname).toBe(operation.path.replace('{id}', jobId));
    expect(request!.headers.get('Authorization')).toBe(id === 'getJwks' ? null : 'Bearer svc_test_key');
  });

  it('reads the audit log by its numbers', async () => {
    const entry = (sequence: number) => ({ sequence });
    const { reelmend, requests } = fakeService([
      json({ data: [entry(3), entry(2)], has_more: true, next_cursor: 2 }),
      json({ data: [entry(1)], has_more: false, next_cursor: null }),
    ]);
    const seen: number[] = [];
    for await (const { sequence } of reelmend.auditLog.all({ limit: 2, job_id: jobId })) seen.push(sequence);
    expect(seen).toEqual([3, 2, 1]);
    expect(requests.map(({ url }) => new URL(url).search)).toEqual([
      `?limit=2&job_id=${jobId}`,
      `?limit=2&job_id=${jobId}&starting_after=2`,
    ]);
  });

  it('asks again for a certificate that is announced, not for one that is not', async () => {
    const refusal = (code: string, headers: Record<string, string>) =>
      json({ error: { code, message: 'Not yet.', type: 'conflict_error' } }, 409, headers);
    const pending = fakeService([refusal('certificate_pending', { 'Retry-After': '0' }), json({ certificate: 'x' })]);
    expect(await pending.reelmend.jobs.deletionCertificate(jobId)).toEqual({ certificate: 'x' });
    const alive = fakeService([refusal('job_not_deleted', {})]);
    await expect(alive.reelmend.jobs.deletionCertificate(jobId)).rejects.toMatchObject({ code: 'job_not_deleted' });
    expect(alive.requests).toHaveLength(1);
  });
});
