/** The stream of all jobs of the console's account. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleWorld, makeConsole } from '../helpers/console.ts';
import { endJob, makeJob } from '../helpers/console-jobs.ts';

let world: ConsoleWorld;

beforeAll(async () => {
  world = await makeConsole();
});
afterAll(() => world.close());

describe('the stream of all jobs', () => {
  it('reports jobs that are created, change and are deleted, of this account only', async () => {
    const [person, stranger] = [await world.person({ credits: 1000 }), await world.person({ credits: 1000 })];
    const waiting = await makeJob(world, person.accountId);
    const abort = new AbortController();
    const response = await world.app.request('/console/api/job-events', {
      headers: { Cookie: `reelmend_session=${person.browser.cookie!}` },
      signal: abort.signal,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = readEvents(response);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await makeJob(world, stranger.accountId);
    const job = await makeJob(world, person.accountId);
    const seen: StreamEvent[] = [];
    // An open job may be sent more than once.
    do seen.push(await events.next());
    while (seen.at(-1)!.data['id'] !== job.id);
    expect(seen.at(-1)).toMatchObject({ name: 'job', data: { status: 'queued' } });
    const own = [waiting.id, job.id];
    expect(seen.every(({ data }) => own.includes(String(data['id'])))).toBe(true);
    await endJob(world, job.id, 'done');
    let last = await events.next();
    while (last.data['status'] !== 'done') last = await events.next();
    await person.browser.call(`/console/api/jobs/${job.id}`, { method: 'DELETE' });
    expect(await events.next()).toEqual({ name: 'deleted', data: { id: job.id, deleted: true } });
    abort.abort();
  });

  it('ends with the session that opened it', async () => {
    const short = await makeConsole({ options: { streams: { checkMs: 20 } } });
    const { browser } = await short.person();
    const response = await browser.request('/console/api/job-events');
    await new Promise((resolve) => setTimeout(resolve, 100));
    await browser.post('/console/api/sign-out');
    await response.text();
    await short.close();
  });

  it('ends by itself, to be opened again', async () => {
    const short = await makeConsole({ options: { eventStreamMs: 200, eventHeartbeatMs: 50 } });
    const { browser } = await short.person();
    const response = await browser.request('/console/api/job-events');
    expect(await response.text()).toMatch(/^: connected\n\n(: still here\n\n)*$/);
    await short.close();
  });

  it('is kept alive by comments', async () => {
    const lively = await makeConsole({ options: { eventHeartbeatMs: 20 } });
    const person = await lively.person();
    const reader = (await person.browser.request('/console/api/job-events')).body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!/(: still here\n\n){2}/.test(text)) text += (await reader.read()).value!;
    await reader.cancel();
    await lively.close();
  });
});

interface StreamEvent {
  name: string;
  data: Record<string, unknown>;
}

/** Events one by one; comments are left out. */
function readEvents(response: Response): { next(): Promise<StreamEvent> } {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  const next = async (): Promise<StreamEvent> => {
    for (;;) {
      const end = rest.indexOf('\n\n');
      if (end < 0) {
        const { value, done } = await reader.read();
        if (done) throw new Error('the stream has ended');
        rest += value;
        continue;
      }
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (name !== undefined) return { name, data: JSON.parse(data!) as Record<string, unknown> };
    }
  };
  return { next };
}
