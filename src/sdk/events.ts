/** Follows a job by server-sent events. */
import type { Call, CallOptions } from './call.ts';
import { ReelmendConnectionError } from './errors.ts';
import { pause, withTimeLimit } from './pause.ts';
import type { Job } from './types.gen.ts';

/** What a job's stream tells: the job whenever it changed, or that it was deleted. */
export type JobEvent =
  { event: 'status' | 'progress'; job: Job } | { event: 'deleted'; job: { id: string; deleted: true } };

export interface StreamedEvent {
  event: string;
  data: string;
}

/** ms without a byte, comments included, after which the connection is given up and made again. */
const silenceMs = 60_000;
/** ms before a stream that ended early is opened again. */
const reopenMs = 1_000;
/** Streams in a row that may break before their first event. */
const emptyStreams = 5;

/**
 * Yields what changed until the job is `done`, in `error` or deleted. A stream that the service ends, or that breaks,
 * is opened again; each starts with the job as it is then, which is told only when it is news. Rejects as a call does.
 */
export async function* jobEvents(
  open: (options: CallOptions) => ReturnType<typeof openStream>,
  options: CallOptions = {},
): AsyncGenerator<JobEvent, void, undefined> {
  const { signal } = options;
  let last = '';
  for (let empty = 1; ; empty += 1) {
    const stream = await open(options);
    try {
      for await (const { event, data } of parseEvents(stream, signal)) {
        if (!['status', 'progress', 'deleted'].includes(event)) continue;
        empty = 0;
        if (data === last) continue;
        last = data;
        const told = { event, job: JSON.parse(data) as unknown } as JobEvent;
        yield told;
        if (told.event === 'deleted' || told.job.status === 'done' || told.job.status === 'error') return;
      }
    } catch (failure) {
      signal?.throwIfAborted();
      if (!(failure instanceof ReelmendConnectionError) || empty >= emptyStreams) throw failure;
    }
    if (empty >= emptyStreams) throw new ReelmendConnectionError('The streams of events end without an event.');
    await pause(reopenMs, signal);
  }
}

/** The stream of an operation that the generator only knows to read with retries without end and without statuses. */
export async function openStream(call: Call, id: string, options: CallOptions): Promise<ReadableStream<Uint8Array>> {
  const stream = await call<unknown>(
    (base) =>
      base.client.get({
        ...base,
        url: '/v1/jobs/{id}/events',
        path: { id },
        security: [{ scheme: 'bearer', type: 'http' }],
        headers: { Accept: 'text/event-stream' },
        parseAs: 'stream',
      }),
    options,
  );
  return stream as ReadableStream<Uint8Array>;
}

/** The events of a stream, by the rules of the HTML standard as far as they concern this service. */
export async function* parseEvents(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const error = () => new ReelmendConnectionError('The stream of events fell silent.');
  let event = 'message';
  let data: string[] = [];
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await withTimeLimit({ ms: silenceMs, signal, error }, () => read(reader));
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop()!;
      for (const line of lines) {
        const [, name, text = ''] = /^([^:]*):? ?(.*)$/s.exec(line)!;
        if (name === 'event') event = text;
        else if (name === 'data') data.push(text);
        else if (line === '') {
          if (data.length > 0) yield { event, data: data.join('\n') };
          [event, data] = ['message', []];
        }
      }
    }
  } finally {
    // Also when the caller leaves its loop early: the connection is closed. A broken one cannot be closed again.
    reader.cancel().catch(() => {});
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (cause) {
    throw new ReelmendConnectionError('The stream of events broke.', { cause });
  }
}
