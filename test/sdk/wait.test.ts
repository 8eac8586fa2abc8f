/** Waiting for a job, over a fake fetch and a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pollDelayMs } from '../../src/sdk/wait.ts';
import { type Job, JobFailedError, NotFoundError, PreviewFailedError, ServerError, WaitTimeoutError } from '../../src/sdk/index.ts';
import { type Answer, fakeService, jobId, json, jobView, refusal, runUntilSettled, useFakeClock } from './fake.ts';

beforeEach(() => {
  useFakeClock();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function settle(promise: Promise<Job>) {
  const started = Date.now();
  const outcome = promise.then(
    (job) => ({ job, error: undefined, ms: Date.now() - started }),
    (error: unknown) => ({ job: undefined, error, ms: Date.now() - started }),
  );
  return runUntilSettled(outcome);
}

const queued = json(jobView());
const running = (progress: number, eta: number | null = null) =>
  json(jobView({ status: 'running', progress, eta_seconds: eta }));
const done = json(jobView({ status: 'done', progress: 1, eta_seconds: 0 }));

describe('waiting', () => {
  it('takes no interval that is no number: it would poll without a pause', async () => {
    for (const name of ['pollIntervalMs', 'maxPollIntervalMs', 'timeoutMs']) {
      const { reelmend, requests } = fakeService([queued, done]);
      const { error } = await settle(reelmend.waitForJob(jobId, { [name]: Number.NaN }));
      expect(error).toEqual(new TypeError(`${name} must be a number.`));
      expect(requests).toHaveLength(0);
    }
  });

  it('polls until the job is done, and reports every state', async () => {
    const { reelmend } = fakeService([queued, running(0.1), running(0.6), done]);
    const seen: number[] = [];
    const { job, ms } = await settle(
      reelmend.waitForJob(jobId, { onProgress: ({ progress }) => seen.push(progress) }),
    );
    expect(job?.status).toBe('done');
    expect(seen).toEqual([0, 0.1, 0.6, 1]);
    expect(ms).toBeCloseTo(1000 + 1250 + 1562, -1);
  });

  it('rejects with the job and its code when it ends in error', async () => {
    const doc_url = 'https://reelmend.example.com/docs/errors#failed-unreadable_video';
    const error = { code: 'unreadable_video', message: 'The video could not be decoded.', doc_url } as const;
    const { reelmend } = fakeService([queued, json(jobView({ status: 'error', error }))]);
    const outcome = await settle(reelmend.waitForJob(jobId));
    expect(outcome.error).toBeInstanceOf(JobFailedError);
    expect(outcome.error).toMatchObject({ name: 'JobFailedError', code: error.code, message: error.message, docUrl: error.doc_url, job: { id: jobId, status: 'error' } });
  });

  it('slows down to its longest interval, and stays within the limits of polling', async () => {
    const { reelmend, requests } = fakeService([queued]);
    await settle(reelmend.waitForJob(jobId, { timeoutMs: 600_000 }));
    expect(requests.length).toBeGreaterThan(115);
    expect(requests.length).toBeLessThan(130);
  });

  it('takes intervals that are longer than the default of the longest', async () => {
    const { reelmend } = fakeService([queued, running(0.5), done]);
    expect((await settle(reelmend.waitForJob(jobId, { pollIntervalMs: 20_000 }))).ms).toBe(40_000);
  });

  it('is there when the job expects to end', () => {
    expect(pollDelayMs(5000, 1000, null, () => 0.5)).toBe(5000);
    expect(pollDelayMs(5000, 1000, 2, () => 0.5)).toBe(2000);
    expect(pollDelayMs(5000, 1000, 0, () => 0.5)).toBe(1000);
    expect(pollDelayMs(5000, 1000, 90, () => 0.5)).toBe(5000);
    expect(pollDelayMs(5000, 1000, undefined as unknown as null, () => 0.5)).toBe(5000);
    expect([0, 1].map((r) => pollDelayMs(1000, 1000, null, () => r))).toEqual([900, 1100]);
  });

  it('gives up in time, with the job as last seen', async () => {
    const { reelmend } = fakeService([running(0.3)]);
    const { error, ms } = await settle(reelmend.waitForJob(jobId, { timeoutMs: 2500 }));
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ name: 'WaitTimeoutError', job: { progress: 0.3 } });
    expect(ms).toBe(2500);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives up in time when nothing answers', async () => {
    const { reelmend } = fakeService([() => new Promise<Response>(() => {})]);
    const { error, ms } = await settle(reelmend.waitForJob(jobId, { timeoutMs: 2500 }));
    expect(error).toMatchObject({ name: 'WaitTimeoutError', job: undefined });
    expect(ms).toBe(2500);
  });

  it('stops when aborted, with the reason of the signal', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 1500);
    const { reelmend, requests } = fakeService([queued]);
    const { error, ms } = await settle(reelmend.waitForJob(jobId, { signal: controller.signal }));
    expect([error, ms, requests.length]).toEqual([new Error('enough'), 1500, 2]);
  });

  it('stops with what onProgress throws', async () => {
    const { reelmend } = fakeService([queued]);
    const onProgress = () => {
      throw new Error('mine');
    };
    expect((await settle(reelmend.waitForJob(jobId, { onProgress }))).error).toEqual(new Error('mine'));
  });

  it('rejects when the job is deleted meanwhile', async () => {
    const { reelmend } = fakeService([queued, refusal(404, 'job_not_found')]);
    expect((await settle(reelmend.waitForJob(jobId))).error).toBeInstanceOf(NotFoundError);
  });
});

describe('a service that is away', () => {
  const away = refusal(503, 'service_unavailable');
  const times = (count: number): Answer[] => Array.from({ length: count }, () => away);

  it('for less than a minute does not end the waiting', async () => {
    const { reelmend } = fakeService([queued, ...times(30), done]);
    const { job, ms } = await settle(reelmend.waitForJob(jobId));
    expect(job?.status).toBe('done');
    expect(ms).toBeGreaterThan(20_000);
  });

  it('for more than a minute does', async () => {
    const { reelmend } = fakeService([queued, away]);
    const { error, ms } = await settle(reelmend.waitForJob(jobId));
    expect(error).toBeInstanceOf(ServerError);
    expect(ms).toBeGreaterThan(60_000);
    expect(ms).toBeLessThan(75_000);
  });

  it('is given the minute from the first poll that fails, however long ago the last one succeeded', async () => {
    const { reelmend } = fakeService([queued, ...times(4), done]);
    const { job } = await settle(reelmend.waitForJob(jobId, { pollIntervalMs: 90_000 }));
    expect(job?.status).toBe('done');
  });

  it('is given a minute each time', async () => {
    const { reelmend } = fakeService([queued, ...times(40), running(0.5), ...times(40), done]);
    const { job, ms } = await settle(reelmend.waitForJob(jobId));
    expect(job?.status).toBe('done');
    expect(ms).toBeGreaterThan(80_000);
  });

  it('and asks for patience is not asked before', async () => {
    const patience = refusal(503, 'service_unavailable', { 'Retry-After': '50' });
    const { reelmend, requests } = fakeService([queued, patience, done], { maxRetries: 0 });
    expect((await settle(reelmend.waitForJob(jobId))).ms).toBe(51_000);
    expect(requests).toHaveLength(3);
  });

  it('from the beginning does after the retries', async () => {
    const { reelmend, requests } = fakeService([away]);
    expect((await settle(reelmend.waitForJob(jobId))).error).toBeInstanceOf(ServerError);
    expect(requests).toHaveLength(4);
  });
});

describe('waiting for a preview', () => {
  const preview = (change: object) => json({ id: 'prv_x', status: 'queued', progress: 0, eta_seconds: null, error: null, ...change });

  it('resolves with the preview that is done, and rejects with one that failed', async () => {
    const good = fakeService([preview({}), preview({ status: 'done', stretches: [] })]);
    expect(await runUntilSettled(good.reelmend.previews.wait('prv_x'))).toMatchObject({ status: 'done', stretches: [] });
    const doc_url = 'https://reelmend.example.com/docs/errors#failed-unreadable_video';
    const error = { code: 'unreadable_video', message: 'The video could not be decoded.', doc_url };
    const bad = fakeService([preview({ status: 'error', error })]);
    const failure = await runUntilSettled(bad.reelmend.previews.wait('prv_x').catch((reason: unknown) => reason));
    expect(failure).toBeInstanceOf(PreviewFailedError);
    expect(failure).toMatchObject({ code: error.code, message: error.message, docUrl: doc_url, preview: { id: 'prv_x' } });
  });
});
