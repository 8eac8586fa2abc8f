/** Calls of the console while the service asks to wait, over a fake one. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { call } from '../../src/console/api/client.ts';
import { json, refusal, runUntilSettled, useFakeClock } from '../sdk/fake.ts';

beforeEach(useFakeClock);
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The outcome of a call that gets these answers one after the other, and the seconds from its beginning to each attempt. */
async function callWith(answers: Response[], extra: Parameters<typeof call>[3] = {}) {
  const began = Date.now();
  const attempts: number[] = [];
  vi.stubGlobal('fetch', async () => {
    attempts.push((Date.now() - began) / 1000);
    return answers[attempts.length - 1];
  });
  const calling = call('POST', '/console/api/jobs', { body: {} }, extra).then(() => 'done', (error: unknown) => error);
  return { outcome: await runUntilSettled(calling), attempts };
}

const wait = (status: number, seconds?: number) => refusal(status, 'later', seconds === undefined ? {} : { 'Retry-After': String(seconds) });

it.each([429, 503])('are repeated after the time that a status %i asks for', async (status) => {
  expect(await callWith([wait(status, 3), wait(status, 4), json({})])).toEqual({ outcome: 'done', attempts: [0, 3, 7] });
});

it('are not repeated for ever, nor after a long time, nor where nothing is asked for', async () => {
  const cases = [[wait(429, 1), wait(429, 1), wait(429, 1)], [wait(429, 60)], [wait(503)], [wait(502, 1)]];
  for (const answers of cases) {
    const { outcome, attempts } = await callWith(answers);
    expect(outcome).toMatchObject({ name: 'ApiError', code: 'later' });
    expect(attempts).toHaveLength(answers.length);
  }
});

it('tell at once that too many passwords were tried', async () => {
  expect(await callWith([wait(429, 3)], { ownRefusals: true })).toMatchObject({ outcome: { status: 429, retryAfterS: 3 }, attempts: [0] });
});

it('end at once when they are aborted while they wait', async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 1000);
  expect(await callWith([wait(429, 10), json({})], { signal: abort.signal })).toMatchObject({ outcome: { name: 'AbortError' }, attempts: [0] });
});

it('fail where the connection breaks in the body of a response, or where the response is that of a proxy', async () => {
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"id":'));
      controller.error(new TypeError('network error'));
    },
  });
  for (const answer of [new Response(broken, { status: 201 }), new Response('<title>Sign in to the network</title>')]) {
    expect(await callWith([answer])).toMatchObject({ outcome: { name: 'ApiError', status: 0, code: 'unreachable' } });
  }
});
