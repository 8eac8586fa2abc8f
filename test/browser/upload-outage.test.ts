/** The console's uploads while the service is away, over a fake one. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sendFile } from '../../src/console/api/uploads.ts';
import { json, refusal, runUntilSettled, useFakeClock } from '../sdk/fake.ts';

const origin = 'https://reelmend.example.com';
const part = { number: 1, url: `${origin}/v1/upload-parts/1?signature=x`, offset: 0, size_bytes: 3 };

const waiting = { id: 'upl_x', status: 'waiting', size_bytes: 3, part_size_bytes: 3 };

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('location', new URL(origin));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A file of one part. After it was sent, the service is away for `ms`, and `spoil` answers. */
async function sendThrough(spoil: () => Response | Error, ms: number) {
  let sentAt = Infinity;
  vi.stubGlobal('fetch', async (target: string | Request) => {
    const url = typeof target === 'string' ? target : target.url;
    if (url === part.url) {
      sentAt = Date.now();
      return new Response();
    }
    const answer = Date.now() >= sentAt && Date.now() < sentAt + ms ? spoil() : undefined;
    if (answer instanceof Error) throw answer;
    if (answer !== undefined) return answer;
    const [received, parts] = sentAt === Infinity ? [0, [part]] : [3, []];
    const status = url.endsWith('/complete') ? 'ready' : 'waiting';
    return json({ id: 'upl_x', status, size_bytes: 3, part_size_bytes: 3, received_bytes: received, parts });
  });
  const file = new File(['abc'], 'a.mov');
  const sending = sendFile({ file, mode: 'test', uploadId: null, onProgress: () => {}, signal: new AbortController().signal });
  const began = Date.now();
  const outcome = await runUntilSettled(sending.then(() => 'ready', (error: unknown) => error));
  return { outcome, ms: Date.now() - began };
}

const lost = () => new TypeError('Failed to fetch');
const answers = [429, 502, 503, 504].map((status) => [`status ${status}`, () => refusal(status, 'away')] as const);
const outages = [['lost connections', lost], ...answers] as const;

it.each(outages)('go on after less than a minute of %s', async (_name, spoil) => {
  expect((await sendThrough(spoil, 50_000)).outcome).toBe('ready');
});

it('end after more than a minute, in the words of the console', async () => {
  const { outcome, ms } = await sendThrough(lost, 600_000);
  expect(outcome).toMatchObject({ message: 'The service cannot be reached. Is it running?' });
  expect(ms).toBeLessThan(80_000);
});

it('are begun once, however often a file is tried whose answers were lost, and twice for two files of the same name and size', async () => {
  const keys: (string | null)[] = [];
  vi.stubGlobal('fetch', (_target: string, init: RequestInit) => {
    keys.push(new Headers(init.headers).get('Idempotency-Key'));
    return Promise.reject(lost());
  });
  const files = [new File(['abc'], 'a.mov'), new File(['xyz'], 'a.mov')];
  for (const file of [...files, ...files]) {
    await expect(sendFile({ file, mode: 'test', uploadId: null, onProgress: () => {}, signal: new AbortController().signal })).rejects.toThrow('cannot be reached');
  }
  expect(keys[0]).toMatch(/./);
  expect(keys).toEqual([keys[0], keys[1], keys[0], keys[1]]);
  expect(keys[1]).not.toBe(keys[0]);
});

it('end at once with a refusal', async () => {
  expect(await sendThrough(() => refusal(404, 'upload_not_found'), 600_000)).toMatchObject({ outcome: { status: 404 }, ms: 0 });
});

it('are not asked for earlier than the service says', async () => {
  const asked: number[] = [];
  const busy = () => {
    asked.push(Date.now());
    return refusal(503, 'service_unavailable', { 'Retry-After': '30' });
  };
  const { outcome, ms } = await sendThrough(busy, 20_000);
  expect([outcome, asked.length]).toEqual(['ready', 1]);
  expect(ms).toBeGreaterThanOrEqual(30_000);
});

it.each([['GET', 'get'], ['POST', 'complete']])('end at once when they are aborted during %s (%s)', async (method) => {
  const abort = new AbortController();
  const heldSignals: (AbortSignal | null | undefined)[] = [];
  let isSent = false;
  let giveUp = (_reason: string) => {};
  const late = new Promise<string>((resolve) => (giveUp = resolve));
  vi.stubGlobal('fetch', (target: string | Request, init: RequestInit = {}) => {
    const url = typeof target === 'string' ? target : target.url;
    if (url === part.url) isSent = true;
    const isHeld = isSent && url !== part.url && init.method === method;
    if (!isHeld) return Promise.resolve(url === part.url ? new Response() : json({ ...waiting, received_bytes: isSent ? 3 : 0, parts: isSent ? [] : [part] }));
    heldSignals.push(init.signal);
    setTimeout(() => abort.abort(), 100);
    setTimeout(() => giveUp('still sending'), 5000);
    return new Promise<Response>((_resolve, reject) => init.signal?.addEventListener('abort', () => reject(init.signal!.reason as Error)));
  });
  const sending = sendFile({ file: new File(['abc'], 'a.mov'), mode: 'test', uploadId: null, onProgress: () => {}, signal: abort.signal });
  const outcome = await runUntilSettled(Promise.race([sending.catch((error: unknown) => error), late]));
  expect(heldSignals).toHaveLength(1);
  expect(outcome).toMatchObject({ name: 'AbortError' });
});
