/** A service that answers what a test says, one answer per request. */
import { vi } from 'vitest';
import { createReelmend, type Reelmend, type ReelmendOptions, type Job } from '../../src/sdk/index.ts';

export type Answer = Response | Error | ((request: Request) => Response | Promise<Response>);

export interface FakeService {
  reelmend: Reelmend;
  requests: Request[];
}

/** The timers of SDK calls. Not setImmediate: connections of test files that ran before in this process use it. */
export function useFakeClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
}

/**
 * Lets the fake clock run until the promise is settled, and then runs the timers that are left once: what goes on too long is seen.
 * Timers of other code may go on for ever.
 */
export async function runUntilSettled<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = () => (isSettled = true);
  promise.then(settled, settled);
  while (!isSettled) await vi.advanceTimersToNextTimerAsync();
  await vi.runOnlyPendingTimersAsync();
  return promise;
}

/** Answers in this order; the last one answers whatever follows. */
export function fakeService(answers: Answer[], options: Partial<ReelmendOptions> = {}): FakeService {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    const answer = answers[Math.min(requests.length, answers.length) - 1]!;
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? answer.clone() : answer(request);
  };
  const reelmend = createReelmend({ baseUrl: 'https://api.example.com', apiKey: 'svc_test_key', fetch, ...options });
  return { reelmend, requests };
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers });

export function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return json(
    { error: { code, message: `It is ${code}.`, type: 'some_error', request_id: 'req_body' } },
    status,
    headers,
  );
}

export const jobId = 'job_01jdq4s9xkf5v8t2m6w0c3rhbz';

export function jobView(changes: Partial<Job> = {}): Job {
  return {
    id: jobId,
    status: 'queued',
    resolution: '1080p',
    duration_seconds: 10,
    credits_charged: 0,
    credits_refunded: 0,
    sandbox: true,
    tier: 'standard',
    progress: 0,
    eta_seconds: null,
    created_at: '2026-11-21T07:59:55.120Z',
    started_at: null,
    finished_at: null,
    expires_at: '2026-12-21T07:59:55.120Z',
    source: null,
    output: null,
    error: null,
    enhancements: null,
    metadata: {},
    requested: {},
    upload_id: null,
    file_name: null,
    ...changes,
  };
}
