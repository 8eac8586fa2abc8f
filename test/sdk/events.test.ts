/** Following a job by server-sent events, over a fake fetch and a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseEvents, type StreamedEvent } from '../../src/sdk/events.ts';
import { ReelmendConnectionError, type Job, type JobEvent, NotFoundError } from '../../src/sdk/index.ts';
import { type Answer, fakeService, jobId, jobView, json, refusal, runUntilSettled, useFakeClock } from './fake.ts';

beforeEach(() => {
  useFakeClock();
});
afterEach(() => {
  vi.useRealTimers();
});

const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const view = (changes: Partial<Job> = {}) => jobView({ status: 'running', ...changes });

interface Stream {
  answer: Answer;
  cancelled: () => boolean;
}

/** Sends the text in pieces of `size` bytes, then ends, breaks or stays open. */
function stream(
  text: string,
  { end = 'close', size = 7 }: { end?: 'close' | 'break' | 'silence'; size?: number } = {},
): Stream {
  let cancelled = false;
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += size)));
      else if (end === 'close') controller.close();
      else if (end === 'break') controller.error(new TypeError('terminated'));
      else return new Promise(() => {});
    },
    cancel() {
      cancelled = true;
    },
  });
  const answer = () => new Response(body, { headers: { 'Content-Type': 'text/event-stream; charset=utf-8' } });
  return { answer, cancelled: () => cancelled };
}

async function collect(events: AsyncGenerator<JobEvent>) {
  const seen: [string, number | undefined][] = [];
  const run = async () => {
    for await (const { event: name, job } of events) seen.push([name, 'progress' in job ? job.progress : undefined]);
  };
  const outcome = run().then(
    () => ({ seen, error: undefined }),
    (error: unknown) => ({ seen, error }),
  );
  return runUntilSettled(outcome);
}

describe('the events of a job', () => {
  it('arrive until it is done; then the connection is closed', async () => {
    const text =
      ': hello\n\n' +
      event('status', view({ status: 'queued' })) +
      event('progress', view({ progress: 0.5 })) +
      event('news', { later: 'versions' }) +
      event('status', view({ status: 'done', progress: 1 })) +
      event('status', view({ status: 'done', progress: 2 }));
    const one = stream(text, { end: 'silence' });
    const { reelmend, requests } = fakeService([one.answer]);
    expect(await collect(reelmend.jobs.events(jobId))).toEqual({
      seen: [
        ['status', 0],
        ['progress', 0.5],
        ['status', 1],
      ],
      error: undefined,
    });
    expect(one.cancelled()).toBe(true);
    expect(requests[0]!.headers.get('Accept')).toBe('text/event-stream');
    expect(requests[0]!.headers.get('Authorization')).toBe('Bearer svc_test_key');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('end when the job is deleted', async () => {
    const { reelmend } = fakeService([stream(event('deleted', { id: jobId, deleted: true })).answer]);
    expect(await collect(reelmend.jobs.events(jobId))).toEqual({ seen: [['deleted', undefined]], error: undefined });
  });

  it.each(['close', 'break', 'silence'] as const)(
    'go on over a stream that ends by %s, yielding only new states',
    async (end) => {
      const first = stream(event('status', view({ progress: 0.25 })), { end });
      const second = stream(
        event('status', view({ progress: 0.25 })) + event('status', view({ status: 'error', progress: 0.3 })),
      );
      const { reelmend, requests } = fakeService([first.answer, second.answer]);
      const { seen, error } = await collect(reelmend.jobs.events(jobId));
      expect(error).toBeUndefined();
      expect(seen).toEqual([
        ['status', 0.25],
        ['status', 0.3],
      ]);
      expect(requests).toHaveLength(2);
      if (end === 'silence') expect(first.cancelled()).toBe(true);
    },
  );

  it('reject as a call does', async () => {
    const gone = fakeService([refusal(404, 'job_not_found')]);
    expect((await collect(gone.reelmend.jobs.events(jobId))).error).toBeInstanceOf(NotFoundError);
    const other = fakeService([json(jobView())]);
    expect((await collect(other.reelmend.jobs.events(jobId))).error).toBeInstanceOf(ReelmendConnectionError);
    const bad = fakeService([json(jobView())]);
    expect((await collect(bad.reelmend.jobs.events('../x'))).error).toBeInstanceOf(TypeError);
    expect(bad.requests).toHaveLength(0);
  });

  it('are retried when they cannot be opened', async () => {
    const done = stream(event('status', view({ status: 'done' })));
    const { reelmend, requests } = fakeService([refusal(503, 'service_unavailable'), done.answer]);
    expect((await collect(reelmend.jobs.events(jobId))).seen).toHaveLength(1);
    expect(requests).toHaveLength(2);
  });

  it.each([
    { awayMs: 40_000, error: undefined, last: 1 },
    { awayMs: 120_000, error: expect.any(ReelmendConnectionError) as unknown, last: 0.5 },
  ])('go on after a service that was away for $awayMs ms, if that is less than a minute', async ({ awayMs, error, last }) => {
    const first = stream(event('status', view({ progress: 0.5 })), { end: 'break' });
    const done = stream(event('status', view({ status: 'done', progress: 1 })));
    const away: Answer = (request) => {
      if (Date.now() - began < awayMs) throw new TypeError('fetch failed');
      return (done.answer as (request: Request) => Response)(request);
    };
    const began = Date.now();
    const outcome = await collect(fakeService([first.answer, away]).reelmend.jobs.events(jobId));
    expect(outcome.error).toEqual(error);
    expect(outcome.seen.at(-1)).toEqual(['status', last]);
  });

  it('reject when streams never bring one', async () => {
    const { reelmend, requests } = fakeService([() => (stream(': only comments\n\n').answer as () => Response)()]);
    expect((await collect(reelmend.jobs.events(jobId))).error).toBeInstanceOf(ReelmendConnectionError);
    expect(requests).toHaveLength(5);
  });

  it('stop with the reason of the signal, and with the loop', async () => {
    const one = stream(event('status', view()), { end: 'silence' });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 500);
    const { error } = await collect(
      fakeService([one.answer]).reelmend.jobs.events(jobId, { signal: controller.signal }),
    );
    expect(error).toEqual(new Error('enough'));
    expect(one.cancelled()).toBe(true);

    const two = stream(event('status', view()), { end: 'silence' });
    for await (const received of fakeService([two.answer]).reelmend.jobs.events(jobId)) {
      expect(received.event).toBe('status');
      break;
    }
    expect(two.cancelled()).toBe(true);
  });
});

describe('the reader of streams', () => {
  const text =
    'data: one\r\n\r\n: comment\nevent: x\ndata:two\ndata:  three é\nid: 7\nretry: 1\n\nevent: no\n\ndata\n\ndata: cut';
  const expected: StreamedEvent[] = [
    { event: 'message', data: 'one' },
    { event: 'x', data: 'two\n three é' },
    { event: 'message', data: '' },
  ];

  it('reads alike however the bytes are cut', async () => {
    for (let size = 1; size <= 120; size += 1) {
      const response = (stream(text, { size }).answer as () => Response)();
      const seen: StreamedEvent[] = [];
      for await (const one of parseEvents(response.body!, undefined)) seen.push(one);
      expect(seen, `pieces of ${size}`).toEqual(expected);
    }
  });
});
