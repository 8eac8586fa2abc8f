/** Which errors are faults of the storage or the database, and what they cost a job. */
import { PostgresError } from 'postgres';
import { describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import { buildMetricsApp } from '../../src/http/metrics.ts';
import { classifyFailure, type FailureHistory } from '../../src/jobs/classify-failure.ts';
import { isInfrastructureFault } from '../../src/jobs/infrastructure-fault.ts';
import { defaultTuning } from '../../src/jobs/tuning.ts';
import { isStorageFault } from '../../src/storage/faults.ts';
import { isDatabaseFault } from '../../src/store/index.ts';
import { Registry } from 'prom-client';

const error = (facts: object) => Object.assign(new Error('no'), facts);
const answered = (httpStatusCode: number, name = 'Error') => error({ name, $metadata: { httpStatusCode } });

describe('a fault of the storage', () => {
  it.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'EIO', 'ESTALE', 'EROFS'].map((code) => error({ code })),
    ...[500, 502, 503, 507, 429, 403, 401, 301].map((status) => answered(status)),
    answered(400, 'ExpiredToken'),
    answered(400, 'Unknown'),
    answered(404, 'NoSuchBucket'),
    error({ name: 'CredentialsProviderError' }),
    error({ name: 'TimeoutError' }),
  ])('is %o', (fault) => expect(isStorageFault(fault)).toBe(true));

  it.each([
    ...[404, 400, 416, 412].map((status) => answered(status)),
    error({ name: 'AbortError', code: 'ECONNRESET' }),
    error({ code: 'ENOSPC' }),
    error({ code: 'ENOENT' }),
    new RangeError('no'),
    new Error('The piece has 59 frames'),
    'no error',
  ])('is not %o', (other) => expect(isStorageFault(other)).toBe(false));
});

describe('a fault of the database', () => {
  const sqlState = (code: string) => new (PostgresError as unknown as new (facts: object) => Error)({ code, message: 'no' });
  it.each([
    error({ code: 'CONNECTION_CLOSED' }),
    error({ code: 'CONNECT_TIMEOUT' }),
    error({ code: 'ECONNRESET', query: 'SELECT 1' }),
    new Error('Failed query', { cause: error({ code: 'CONNECTION_CLOSED' }) }),
    ...['57P01', '57P03', '08006', '53300', '58030', '28P01', '28000', '3D000', '25006'].map(sqlState),
  ])('is %o', (fault) => expect(isDatabaseFault(fault)).toBe(true));

  it.each([error({ code: 'ECONNRESET' }), ...['40001', '23505', '57014', '42P01'].map(sqlState)])('is not %o', (other) => expect(isDatabaseFault(other)).toBe(false));
});

describe('a step that fails by such a fault', () => {
  const history = (change: Partial<FailureHistory>): FailureHistory => ({ failures: 0, diskFullForS: 0, diskWaitForS: 0, isInfrastructureFault: true, infrastructureFaultForS: 0, ...change });

  it.each([
    { forS: 0, delayS: 0, counts: false },
    { forS: 7, delayS: 7, counts: false },
    { forS: 1700, delayS: 60, counts: false },
    { forS: 1800, delayS: 1, counts: true },
  ])('after $forS s is tried again after $delayS s; it counts: $counts', ({ forS, delayS, counts }) => {
    const decision = classifyFailure(answered(503), history({ infrastructureFaultForS: forS }), defaultTuning);
    expect(decision).toMatchObject({ kind: 'retry', delayS, counts, infrastructureFault: true });
  });

  it('fails after half an hour and five more attempts, and at once by other faults', () => {
    const late = history({ infrastructureFaultForS: 1800, failures: 4 });
    expect(classifyFailure(answered(503), late, defaultTuning)).toMatchObject({ kind: 'fail', failure: { code: 'processing_failed' } });
    const video = history({ isInfrastructureFault: false });
    expect(classifyFailure(new ReelmendError('unreadable_video', 'No.'), video, defaultTuning)).toMatchObject({ kind: 'fail', failure: { code: 'unreadable_video' } });
  });

  it.each([
    { thrown: answered(503), answers: true, isFault: true },
    { thrown: new ReelmendError('video_unreachable', 'No.'), answers: true, isFault: false },
    { thrown: new ReelmendError('video_unreachable', 'No.'), answers: false, isFault: true },
    { thrown: new ReelmendError('unreadable_video', 'No.', { cause: error({ code: 'ECONNRESET' }) }), answers: false, isFault: false },
  ])('$thrown, while the storage answers: $answers', async ({ thrown, answers, isFault }) => {
    let told = 0;
    const storageHealth = { answers: async () => answers, failed: () => void told++ } as never;
    expect(await isInfrastructureFault({ storageHealth }, thrown)).toBe(isFault);
    expect(told).toBe(isFault ? 1 : 0);
  });
});

it.each([
  { missing: null, status: 200, body: { status: 'ok' } },
  { missing: 'The storage does not answer.', status: 503, body: { status: 'unavailable', reason: 'The storage does not answer.' } },
])('/readyz of the metrics port responds with $status', async ({ missing, status, body }) => {
  const response = await buildMetricsApp({ registry: new Registry(), notReadyReason: async () => missing }).request('/readyz');
  expect([response.status, await response.json()]).toEqual([status, body]);
});
