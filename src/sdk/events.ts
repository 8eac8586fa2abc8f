/** Follows a job through server-sent events. */
import type { Call, CallOptions } from './call.ts';
import { ReelmendConnectionError } from './errors.ts';
import { throughOutage } from './outage.ts';
import { pause, withTimeLimit } from './pause.ts';
import type { Job } from './types.gen.ts';

/** An event of a job: its new state, or its deletion. */
export type JobEvent =
  { event: 'status' | 'progress'; job: Job } | { event: 'deleted'; job: { id: string; deleted: true } };

export interface StreamedEvent {
  event: string;
  data: string;
}

/** Reconnects after this many ms without any byte. The service sends comments more often. */
const silenceMs = 60_000;
/** Delay before a reconnect, ms. */
const reopenMs = 1_000;
/** Gives up after this many consecutive streams without an event. */
const emptyStreams = 5;

/**
 * Yields the changes of a job until it is `done`, in `error` or deleted. Reconnects when a stream ends or breaks. Each
 * stream starts with the current state of the job, which is yielded only if it changed. Rejects like a call. After the first stream was
 * opened, the service may be away for up to a minute at a time.
 */
export async function* jobEvents(
  open: (options: CallOptions) => ReturnType<typeof openStream>,
  options: CallOptions = {},
): AsyncGenerator<JobEvent, void, undefined> {
  const { signal } = options;
  let last = '';
  let stream = await open(options);
  for (let empty = 1; ; empty += 1) {
    try {
      for await (const { event, data } of parseEvents(stream, signal)) {
        if (!['status', 'progress', 'deleted'].includes(event)) continue;
        empty = 0;
        if (data === last) continue;
        last = data;
        const parsed = { event, job: JSON.parse(data) as unknown } as JobEvent;
        yield parsed;
        if (parsed.event === 'deleted' || parsed.job.status === 'done' || parsed.job.status === 'error') return;
      }
    } catch (failure) {
      signal?.throwIfAborted();
      if (!(failure instanceof ReelmendConnectionError) || empty >= emptyStreams) throw failure;
    }
    if (empty >= emptyStreams) throw new ReelmendConnectionError('The event streams end without an event.');
    await pause(reopenMs, signal);
    stream = await throughOutage(() => open(options), signal);
  }
}

/** Opens the event stream. The generated function is not used: it retries endlessly and hides the status. */
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

/** Parses server-sent events as the HTML standard says, except for fields that this service does not send. */
export async function* parseEvents(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamedEvent, void, undefined> {
  let event = 'message';
  let data: string[] = [];
  for await (const line of linesOf(stream, signal)) {
    const [, name, text = ''] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (name === 'event') event = text;
    else if (name === 'data') data.push(text);
    else if (line === '') {
      if (data.length > 0) yield { event, data: data.join('\n') };
      [event, data] = ['message', []];
    }
  }
}

/** Yields whole lines. Throws when no byte arrives for `silenceMs`. */
async function* linesOf(stream: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const error = () => new ReelmendConnectionError('The event stream is silent.');
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await withTimeLimit({ ms: silenceMs, signal, error }, () => read(reader));
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    // Closes the connection, even if the caller leaves the loop early. Cancelling a broken stream fails harmlessly.
    reader.cancel().catch(() => {});
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (cause) {
    throw new ReelmendConnectionError('The event stream broke.', { cause });
  }
}
