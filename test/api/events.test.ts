import { describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { HttpOptions } from '../../src/http/deps.ts';
import { createStreams } from '../../src/http/streams.ts';
import { countKept } from '../helpers/garbage.ts';
import { type Api, errorOf, finished, makeApi } from '../helpers/http.ts';
import { hangMs } from '../helpers/wait.ts';

interface Event {
  name: string;
  data: Record<string, unknown>;
}

/** The events of a stream, by the rules of the HTML standard as far as they are used here. */
async function* eventsOf(response: Response): AsyncGenerator<Event | 'comment'> {
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      if (block.startsWith(':')) {
        yield 'comment';
        continue;
      }
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
      expect(Object.keys(fields).sort()).toEqual(['data', 'event']);
      yield { name: fields['event']!, data: JSON.parse(fields['data']!) as Record<string, unknown> };
    }
  }
  expect(rest).toBe('');
}

async function watched(options: HttpOptions = {}, change: Partial<JobRecord> = {}) {
  const api = makeApi({ options });
  const job = await api.store.addJob(change);
  return { api, id: job.id, path: `/v1/jobs/${job.id}/events` };
}

/** All events of a response, without comments. */
async function allOf(response: Response): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of eventsOf(response)) if (event !== 'comment') events.push(event);
  return events;
}

describe('the credentials of open streams', () => {
  it('are checked again with the next check when a stream was opened meanwhile, which goes on', async () => {
    const answer = Promise.withResolvers<Set<string>>();
    const queried: string[][] = [];
    const usable = (credentials: string[]) => {
      queried.push(credentials);
      return queried.length === 1 ? answer.promise : Promise.resolve(new Set(credentials));
    };
    const streams = createStreams({ usable, checkMs: 1 });
    const first = streams.open({ credential: 'first', accountId: 'a' });
    await vi.waitFor(() => expect(queried).toEqual([['first']]), hangMs);
    const second = streams.open({ credential: 'second', accountId: 'a' });
    answer.resolve(new Set());
    await vi.waitFor(() => expect(first.signal.aborted).toBe(true), hangMs);
    expect(second.signal.aborted).toBe(false);
    first.close();
    second.close();
  });
});

describe('open streams', () => {
  it('end when the process stops, as do those that are opened meanwhile', () => {
    const stop = new AbortController();
    const streams = createStreams({ usable: () => Promise.resolve(new Set()), stopping: stop.signal });
    const before = streams.open({ credential: 'key', accountId: 'a' });
    expect(before.signal.aborted).toBe(false);
    stop.abort();
    const after = streams.open({ credential: 'key', accountId: 'a' });
    expect([before, after].map(({ signal }) => signal.aborted)).toEqual([true, true]);
    before.close();
    after.close();
  });
});

describe('GET /v1/jobs/{id}/events', () => {
  it('200: the job at once, each change, and the end, with the facts of polling', async () => {
    const { api, id, path } = await watched();
    const response = await api.request(path, { headers: { 'Last-Event-ID': '7' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('text/event-stream');
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    const changes = [
      { status: 'running', startedAt: new Date() },
      { progress: 0.5, etaSeconds: 3 },
      finished(),
    ] as const;
    const events: Event[] = [];
    for await (const event of eventsOf(response)) {
      if (event === 'comment') continue;
      events.push(event);
      // Polling also tells of the segments of a running job.
      const { partial_output, segments, ...polled } = (await (await api.request(`/v1/jobs/${id}`)).json()) as Record<string, unknown>;
      expect(segments !== undefined && partial_output !== undefined).toBe(polled['status'] === 'running');
      expect(event.data).toEqual(polled);
      const change = changes[events.length - 1];
      if (change !== undefined) await api.store.changeJob(id, change);
    }
    expect(events.map(({ name, data }) => [name, data['status'], data['progress']])).toEqual([
      ['status', 'queued', 0],
      ['status', 'running', 0],
      ['progress', 'running', 0.5],
      ['status', 'done', 1],
    ]);
    expect(api.store.watching).toBe(0);
  });

  it('ends at once for a job that has ended', async () => {
    for (const end of [finished(), { status: 'error', error: { code: 'processing_failed', message: 'No.' } } as const]) {
      const { api, path } = await watched({}, end);
      const events = await allOf(await api.request(path));
      expect(events.map(({ name, data }) => [name, data['status']])).toEqual([['status', end.status]]);
    }
  });

  it('leaves nothing in memory, however it ends', async () => {
    const { api, path } = await watched({}, finished());
    const open = await watched();
    const responses: WeakRef<Response>[] = [];
    const requested = async (of: Api, target: string) => {
      const response = await of.request(target);
      responses.push(new WeakRef(response));
      return response;
    };
    for (let n = 0; n < 10; n += 1) await allOf(await requested(api, path));
    for (let n = 0; n < 10; n += 1) {
      const reader = (await requested(open.api, open.path)).body!.getReader();
      await reader.read();
      await reader.cancel();
    }
    // The last of each may still be in a variable of the runtime.
    expect(await countKept(responses)).toBeLessThanOrEqual(2);
  });

  it('reports a deletion and ends', async () => {
    const { api, id, path } = await watched();
    const events: Event[] = [];
    for await (const event of eventsOf(await api.request(path))) {
      if (event === 'comment') continue;
      events.push(event);
      await api.store.changeJob(id, null);
    }
    expect(events.at(-1)).toEqual({ name: 'deleted', data: { id, deleted: true } });
    expect(events).toHaveLength(2);
  });

  it('sends comments while nothing changes', async () => {
    const { api, path } = await watched({ eventHeartbeatMs: 5 });
    let comments = 0;
    const events: Event[] = [];
    for await (const event of eventsOf(await api.request(path))) {
      if (event === 'comment') comments += 1;
      else events.push(event);
      if (comments > 3 && events.length > 0) break;
    }
    expect(events.map(({ name }) => name)).toEqual(['status']);
    await vi.waitFor(() => expect(api.store.watching).toBe(0), hangMs);
  });

  it('ends after its time without an event', async () => {
    const { api, path } = await watched({ eventStreamMs: 100 });
    expect((await allOf(await api.request(path))).map(({ name }) => name)).toEqual(['status']);
    expect(api.store.watching).toBe(0);
  });

  it('stops watching when the reader goes away', async () => {
    const { api, path } = await watched();
    const response = await api.request(path);
    const reader = response.body!.getReader();
    await reader.read();
    expect(api.store.watching).toBe(1);
    await reader.cancel();
    await vi.waitFor(() => expect(api.store.watching).toBe(0), hangMs);
  });

  it('stops watching when the request is aborted', async () => {
    const { api, path } = await watched();
    const caller = new AbortController();
    const headers = { Authorization: `Bearer ${api.keys.live}` };
    const response = await api.app.request(path, { headers, signal: caller.signal });
    await response.body!.getReader().read();
    caller.abort();
    await vi.waitFor(() => expect(api.store.watching).toBe(0), hangMs);
    expect(api.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('ends, and logs why, when the watch fails', async () => {
    const { api, id, path } = await watched();
    const response = await api.request(path);
    const events: Event[] = [];
    for await (const event of eventsOf(response)) {
      if (event === 'comment') continue;
      events.push(event);
      api.store.failure = new Error('canary');
      await api.store.changeJob(id, { progress: 0.1 });
    }
    expect(events).toHaveLength(1);
    const line = api.logged.find(({ level }) => level === 'error');
    expect(line?.facts).toMatchObject({ err: { message: 'canary' } });
  });

  it('HEAD watches nothing', async () => {
    const { api, path } = await watched();
    const response = await api.request(path, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('text/event-stream');
    expect(api.store.watching).toBe(0);
  });

  it('429 beyond so many open streams of a key or an account, until one is closed', async () => {
    const { api, path } = await watched({ streams: { perCredential: 2, perAccount: 3 } });
    const open = async (key: string) => {
      const response = await api.request(path, { key });
      if (response.status === 200) await response.body!.getReader().read();
      return response;
    };
    const first = await api.request(path);
    const reader = first.body!.getReader();
    await reader.read();
    expect((await open(api.keys.live)).status).toBe(200);
    const refused = await open(api.keys.live);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect((await open(api.keys.liveSecure)).status).toBe(200);
    expect((await open(api.keys.liveSecure)).status).toBe(429);
    await reader.cancel();
    await vi.waitFor(() => expect(api.store.watching).toBe(2), hangMs);
    expect((await open(api.keys.live)).status).toBe(200);
  });

  it('ends with the key that opened it, and only then', async () => {
    const { api, path } = await watched({ streams: { checkMs: 20 } });
    const [mine, other] = [await api.request(path), await api.request(path, { key: api.keys.liveSecure })];
    const reader = other.body!.getReader();
    await reader.read();
    const events = allOf(mine);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await api.store.revokeKey(api.keys.live);
    expect((await events).map(({ name }) => name)).toEqual(['status']);
    expect(api.store.watching).toBe(1);
    await reader.cancel();
  });

  it('a slow reader gets the latest state only, and no events pile up for it', async () => {
    const { api, id, path } = await watched({ eventHeartbeatMs: 1 });
    const response = await api.request(path);
    await vi.waitFor(() => expect(api.store.watching).toBe(1), hangMs);
    for (let n = 1; n <= 200; n += 1) {
      await api.store.changeJob(id, { status: 'running', progress: n / 1000 });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await api.store.changeJob(id, finished());
    const events = await allOf(response);
    expect(events.length).toBeLessThan(6);
    expect(events.at(-1)!.data).toMatchObject({ status: 'done' });
  });

  it('a reader that has stopped reading is let go at the end of the stream’s time', async () => {
    const { api, id, path } = await watched({ eventStreamMs: 100 });
    await api.request(path);
    await api.store.changeJob(id, { status: 'running' });
    await vi.waitFor(() => expect(api.store.watching).toBe(0), hangMs);
  });

  it('404 for what is no job of the caller’s', async () => {
    const { api } = await watched();
    const foreign = await api.store.addJob({ accountId: (await api.store.addAccount()).id });
    const otherMode = await api.store.addJob({ mode: 'test' });
    for (const id of [foreign.id, otherMode.id, newId('job'), 'nonsense']) {
      const response = await api.request(`/v1/jobs/${id}/events`);
      expect(response.status).toBe(404);
      expect((await errorOf(response)).code).toBe('job_not_found');
    }
  });
});
