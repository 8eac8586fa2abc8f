/** Server-sent events (WHATWG HTML §9.2) through hono/streaming: an event for each change, and comments in between. */
import type { Context } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { Job } from '../contract/types.gen.ts';
import type { JobRecord } from '../domain/job.ts';
import { isFinal } from '../domain/transitions.ts';
import type { AppEnv } from './env.ts';
import type { OpenStream } from './streams.ts';

/** Resolves once the client has read the event. A slow client thus receives the latest state, not every state in between. */
export type SendEvent = (name: string, data: unknown) => Promise<void>;

export interface EventStreamOptions {
  /** sends events until there are no more or the signal is aborted */
  run(signal: AbortSignal, send: SendEvent): Promise<void>;
  /** counts the stream as open */
  slot: OpenStream;
  /** ms between two comments */
  heartbeatMs: number;
  /** longest duration of the stream, ms */
  lifetimeMs: number;
  /** called when `run` fails; the stream ends, and the client reconnects */
  onFailure(error: unknown): void;
}

/** The response. It ends when `run` ends, the client disconnects, the lifetime is over, or the credential is revoked. */
export function eventStream(c: Context<AppEnv>, options: EventStreamOptions): Response {
  const response = streamSSE(c, (stream) => follow(c.req.raw.signal, stream, options));
  response.headers.set('Cache-Control', 'no-store');
  // Hono sets these, but only the server knows whether the protocol has them (HTTP/2 has not).
  for (const name of ['Transfer-Encoding', 'Connection']) response.headers.delete(name);
  response.headers.set('X-Accel-Buffering', 'no');
  return response;
}

async function follow(request: AbortSignal, stream: SSEStreamingApi, options: EventStreamOptions): Promise<void> {
  const { run, slot, heartbeatMs, lifetimeMs, onFailure } = options;
  const ended = new AbortController();
  const end = () => ended.abort();
  stream.onAbort(end);
  const lifetime = setTimeout(end, lifetimeMs);
  const signal = AbortSignal.any([request, slot.signal, ended.signal]);
  // Otherwise a client that no longer reads would block a write, and with it `run`, forever.
  const abort = () => stream.abort();
  signal.addEventListener('abort', abort, { once: true });
  const comments = keepOpen(stream, heartbeatMs);
  try {
    await run(signal, (name, data) => comments.around(() => stream.writeSSE({ event: name, data: JSON.stringify(data) })));
  } catch (error) {
    if (!signal.aborted) onFailure(error);
  } finally {
    clearTimeout(lifetime);
    // Node keeps a signal of AbortSignal.any as long as it has listeners, and with it the request and the response.
    signal.removeEventListener('abort', abort);
    comments.stop();
    slot.close();
  }
}

/** Sends a comment immediately, so that proxies forward the headers, and then one per interval unless a write is pending. */
function keepOpen(stream: SSEStreamingApi, heartbeatMs: number) {
  let pending = 0;
  const around = async (write: () => Promise<unknown>) => {
    pending += 1;
    try {
      await write();
    } finally {
      pending -= 1;
    }
  };
  const comment = (text: string) => void (pending === 0 && around(() => stream.write(`: ${text}\n\n`)));
  comment('connected');
  const timer = setInterval(() => comment('still here'), heartbeatMs);
  return { around, stop: () => clearInterval(timer) };
}

export interface JobEvents {
  jobId: string;
  serialize(job: JobRecord): Job;
  /** yields the job and its changes until the signal is aborted */
  watch(signal: AbortSignal): AsyncIterable<JobRecord>;
}

/** The `run` of a stream that follows one job until it ends. */
export function jobEvents({ jobId, serialize, watch }: JobEvents): EventStreamOptions['run'] {
  return async (signal, send) => {
    let status: string | undefined;
    for await (const job of watch(signal)) {
      await send(job.status === status ? 'progress' : 'status', serialize(job));
      status = job.status;
      if (isFinal(job.status)) return;
    }
    // The watch ended without a final status: the job was deleted.
    if (!signal.aborted) await send('deleted', { id: jobId, deleted: true });
  };
}
