/** Server-sent events (WHATWG HTML §9.2): one event a change, comments while nothing changes. */
import type { Context } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { JobRecord } from '../domain/job.ts';
import { isFinal } from '../domain/transitions.ts';
import type { AppEnv } from './env.ts';
import { serializeJob } from './serialize.ts';
import type { OpenStream } from './streams.ts';

/** Resolves when the reader has taken the event, so that a slow reader is told the latest state and not all before it. */
export type SendEvent = (name: string, data: unknown) => Promise<void>;

export interface EventStreamOptions {
  /** sends events until there are no more; the signal ends it */
  run(signal: AbortSignal, send: SendEvent): Promise<void>;
  /** the stream's place among the open ones */
  place: OpenStream;
  /** ms between two comments */
  heartbeatMs: number;
  /** ms after which the stream is ended */
  lifetimeMs: number;
  /** told of a watch that failed; the stream just ends then, and the caller connects again */
  onFailure(error: unknown): void;
}

/** The answer; it ends with its run, its reader, its lifetime, or the credential that opened it. */
export function eventStream(c: Context<AppEnv>, options: EventStreamOptions): Response {
  const response = streamSSE(c, (stream) => follow(c.req.raw.signal, stream, options));
  response.headers.set('Cache-Control', 'no-store');
  // The server sets these itself where the protocol has them.
  for (const name of ['Transfer-Encoding', 'Connection']) response.headers.delete(name);
  response.headers.set('X-Accel-Buffering', 'no');
  return response;
}

async function follow(request: AbortSignal, stream: SSEStreamingApi, options: EventStreamOptions): Promise<void> {
  const { run, place, heartbeatMs, lifetimeMs, onFailure } = options;
  const ended = new AbortController();
  const end = () => ended.abort();
  stream.onAbort(end);
  const lifetime = setTimeout(end, lifetimeMs);
  const signal = AbortSignal.any([request, place.signal, ended.signal]);
  // A reader that has stopped reading would hold a write, and with it the run, for ever.
  signal.addEventListener('abort', () => stream.abort(), { once: true });
  const comments = keepOpen(stream, heartbeatMs);
  try {
    await run(signal, (name, data) => comments.around(() => stream.writeSSE({ event: name, data: JSON.stringify(data) })));
  } catch (error) {
    if (!signal.aborted) onFailure(error);
  } finally {
    clearTimeout(lifetime);
    comments.stop();
    place.close();
  }
}

/** Comments at once, so that proxies pass the headers on, and then whenever nothing waits to be read. */
function keepOpen(stream: SSEStreamingApi, heartbeatMs: number) {
  let waiting = 0;
  const around = async (write: () => Promise<unknown>) => {
    waiting += 1;
    try {
      await write();
    } finally {
      waiting -= 1;
    }
  };
  const comment = (text: string) => void (waiting === 0 && around(() => stream.write(`: ${text}\n\n`)));
  comment('connected');
  const timer = setInterval(() => comment('still here'), heartbeatMs);
  return { around, stop: () => clearInterval(timer) };
}

export interface JobEvents {
  jobId: string;
  /** starts the store's watch; the signal ends it */
  watch(signal: AbortSignal): AsyncIterable<JobRecord>;
}

/** The run of a stream that follows one job until it has ended. */
export function jobEvents({ jobId, watch }: JobEvents): EventStreamOptions['run'] {
  return async (signal, send) => {
    let status: string | undefined;
    for await (const job of watch(signal)) {
      await send(job.status === status ? 'progress' : 'status', serializeJob(job));
      status = job.status;
      if (isFinal(job.status)) return;
    }
    // A watch that ends by itself before the job has ended saw it deleted.
    if (!signal.aborted) await send('deleted', { id: jobId, deleted: true });
  };
}
