/** Server-sent events (WHATWG HTML §9.2): one event a change, comments while nothing changes. */
import type { JobRecord } from '../domain/job.ts';
import { isFinal } from '../domain/transitions.ts';
import { presentJob } from './present.ts';

export interface EventStreamOptions {
  /** sends events until there are no more; the signal ends it */
  run(signal: AbortSignal, send: (name: string, data: unknown) => void): Promise<void>;
  /** aborted when the caller goes away */
  signal: AbortSignal;
  /** ms between two comments */
  heartbeatMs: number;
  /** ms after which the stream is ended */
  lifetimeMs: number;
  /** told of a watch that failed; the stream just ends then, and the caller connects again */
  onFailure(error: unknown): void;
}

function eventText(name: string, data: unknown): string {
  // JSON in one line, so that it needs one `data:` line.
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Bytes of the stream; cancelling it ends the run. */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const ended = new AbortController();
  const lifetime = setTimeout(() => ended.abort(), options.lifetimeMs);
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const encoder = new TextEncoder();
  let heartbeat: NodeJS.Timeout | undefined;
  const finish = () => {
    clearTimeout(lifetime);
    clearInterval(heartbeat);
    ended.abort();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string) => {
        if (!signal.aborted) controller.enqueue(encoder.encode(text));
      };
      // Sent at once, so that proxies pass the headers on; then whenever nothing else was for a while.
      send(': connected\n\n');
      heartbeat = setInterval(() => send(': still here\n\n'), options.heartbeatMs);
      void options
        .run(signal, (name, data) => send(eventText(name, data)))
        .catch((error: unknown) => {
          if (!signal.aborted) options.onFailure(error);
        })
        .finally(() => {
          finish();
          closeQuietly(controller);
        });
    },
    cancel: finish,
  });
}

/** A stream that its reader has cancelled cannot be closed. */
function closeQuietly(controller: ReadableStreamDefaultController): void {
  try {
    controller.close();
  } catch {
    // nothing to do
  }
}

export interface JobEventOptions extends Omit<EventStreamOptions, 'run'> {
  jobId: string;
  /** starts the store's watch; the signal ends it */
  watch(signal: AbortSignal): AsyncIterable<JobRecord>;
}

/** One job until it has ended. */
export function jobEventStream({ jobId, watch, ...options }: JobEventOptions): ReadableStream<Uint8Array> {
  return eventStream({
    ...options,
    async run(signal, send) {
      let status: string | undefined;
      for await (const job of watch(signal)) {
        send(job.status === status ? 'progress' : 'status', presentJob(job));
        status = job.status;
        if (isFinal(job.status)) return;
      }
      // A watch that ends by itself before the job has ended saw it deleted.
      send('deleted', { id: jobId, deleted: true });
    },
  });
}
