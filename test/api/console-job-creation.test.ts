/** Jobs that are created in the console, and quotes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsoleJob, ConsoleJobLinks, Quote } from '../../src/contract/types.gen.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { makeJob } from '../helpers/console-jobs.ts';
import { errorOf, source } from '../helpers/http.ts';

let world: ConsoleWorld;
let ours: Person;
let measured: string[] = [];
let refusal: ReelmendError | undefined;
/** what happens while a video is measured */
let meanwhile: (() => Promise<unknown>) | undefined;

beforeAll(async () => {
  world = await makeConsole({
    measure: async (url) => {
      measured.push(String(url));
      if (refusal !== undefined) throw refusal;
      await meanwhile?.();
      return source;
    },
  });
  ours = await world.person({ credits: 100_000 });
});
beforeEach(async () => {
  measured = [];
  refusal = undefined;
  meanwhile = undefined;
  await world.sql`DELETE FROM rate_limits`;
});
afterAll(() => world.close());

const request = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };

describe('making a job', () => {
  const create = (json: unknown, headers: Record<string, string> = {}, who = ours) =>
    who.browser.request('/console/api/jobs', { method: 'POST', json, headers });

  it('in test mode: nothing is measured or charged, approved or not', async () => {
    const person = await world.person({ approved: false });
    const response = await create({ mode: 'test', request: { ...request, secure: true } }, {}, person);
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ mode: 'test', tier: 'secure', credits_charged: 0 });
    expect(measured).toEqual([]);
  });

  it('in live mode: measured and charged as a key would be', async () => {
    const response = await create({ mode: 'live', request: { ...request, resolution: '4k', secure: true } });
    expect(await response.json()).toMatchObject({ mode: 'live', tier: 'secure', credits_charged: 42 * 12, duration_seconds: 42 });
    expect(measured).toEqual(['https://media.example.com/a.mp4']);
  });

  it('403 account_pending_approval in live mode until approval, for quotes too', async () => {
    const person = await world.person({ approved: false });
    for (const path of ['/console/api/jobs', '/console/api/quotes']) {
      const response = await person.browser.request(path, { method: 'POST', json: { mode: 'live', request } });
      expect(response.status).toBe(403);
      expect((await errorOf(response)).code).toBe('account_pending_approval');
    }
    expect(measured).toEqual([]);
  });

  it('402 insufficient_credits', async () => {
    const response = await create({ mode: 'live', request }, {}, await world.person());
    expect(response.status).toBe(402);
    expect((await errorOf(response)).code).toBe('insufficient_credits');
  });

  it('402 max_credits_exceeded, which leaves neither a job nor a charge', async () => {
    const person = await world.person({ credits: 1000 });
    const refused = await create({ mode: 'live', request: { ...request, max_credits: 125 } }, {}, person);
    expect(refused.status).toBe(402);
    expect(await errorOf(refused)).toMatchObject({ code: 'max_credits_exceeded', param: '/request/max_credits' });
    const rows = async (table: string) => (await world.sql.unsafe(`SELECT 1 FROM ${table} WHERE account_id = $1`, [person.accountId])).length;
    expect(await rows('jobs')).toBe(0);
    const balance = async () => (await world.sql`SELECT credits FROM accounts WHERE id = ${person.accountId}`)[0]?.['credits'];
    expect(Number(await balance())).toBe(1000);
    expect((await create({ mode: 'live', request: { ...request, max_credits: 126 } }, {}, person)).status).toBe(201);
    expect([await rows('jobs'), Number(await balance())]).toEqual([1, 874]);
  });

  it('once for one Idempotency-Key; 409 for another body', async () => {
    const headers = { 'Idempotency-Key': 'form-1' };
    const ids = [];
    for (let i = 0; i < 2; i += 1) {
      ids.push(((await (await create({ mode: 'test', request }, headers)).json()) as ConsoleJob).id);
    }
    expect(ids[0]).toBe(ids[1]);
    const other = await create({ mode: 'test', request: { ...request, resolution: '4k' } }, headers);
    expect(other.status).toBe(409);
    expect((await errorOf(other)).code).toBe('idempotency_key_reused');
  });

  const refused = [
    [{ mode: 'live', request: { ...request, video_url: 'file:///etc/passwd' } }, 'url_not_allowed', '/request/video_url'],
    [{ mode: 'live', request: { ...request, webhook_url: 'x' } }, 'url_not_allowed', '/request/webhook_url'],
    [{ mode: 'live', request: { ...request, duration_seconds: 0 } }, 'invalid_request', '/request/duration_seconds'],
    [{ mode: 'live', request: { ...request, model: 'nobody' } }, 'invalid_request', '/request/model'],
    [{ mode: 'live', request: { video_url: request.video_url } }, 'invalid_request', '/request/resolution'],
    [{ mode: 'both', request }, 'invalid_request', '/mode'],
    [{ request }, 'invalid_request', '/mode'],
  ] as const;
  it.each(refused)('400 for %j', async (json, code, param) => {
    const response = await create(json);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code, param });
  });

  it('400 with the code of the measurement, pointing at the URL', async () => {
    refusal = new ReelmendError('unreadable_video', 'The video cannot be decoded.');
    const response = await create({ mode: 'live', request });
    expect(await errorOf(response)).toMatchObject({ code: 'unreadable_video', param: '/request/video_url' });
  });

  it('a quote before it', async () => {
    const quote = await ours.browser.post<Quote>('/console/api/quotes', { mode: 'live', request });
    expect(quote).toMatchObject({ credits: 42 * 3, duration_seconds: 42, sandbox: false });
    const testQuote = await ours.browser.post<Quote>('/console/api/quotes', { mode: 'test', request });
    expect(testQuote).toMatchObject({ credits: 0, sandbox: true });
  });
});

describe('test mode', () => {
  it('lets an account that is not approved make so many jobs a day; replays and others are not counted', async () => {
    const small = await makeConsole({ options: { rateLimits: { pending: 2 } } });
    const post = (person: Person, n: number) =>
      person.browser.request('/console/api/jobs', {
        method: 'POST',
        json: { mode: 'test', request: { video_url: `https://example.com/${n}.mp4`, resolution: '1080p' } },
        headers: { 'Idempotency-Key': `job-${n}` },
      });
    const [pending, approved] = [await small.person({ approved: false }), await small.person()];
    const statuses = [];
    for (const n of [0, 0, 1, 2]) statuses.push((await post(pending, n)).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
    const refused = await post(pending, 3);
    expect((await errorOf(refused)).code).toBe('rate_limit_exceeded');
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(40_000);
    for (const n of [0, 1, 2, 3]) expect((await post(approved, n)).status).toBe(201);
    await small.close();
  });

  it('links to the sample that its jobs share', async () => {
    const { browser, accountId } = await world.person();
    const job = await makeJob(world, accountId, { mode: 'test' });
    const key = 'samples/test-mode-1080p-0123456789abcdef.mp4';
    world.objects.set(key, Buffer.from('the sample'));
    const { fence } = (await world.store.leases.acquire(job.id, 'test_mode', 'worker-of-tests', 60))!;
    const stored = { key, size: 10, sha256: 'a'.repeat(64), version: null };
    const output = { width: 1920, height: 1080, size_bytes: 10, sha256: stored.sha256 };
    await world.store.leases.finish(fence, { stored, isShared: true, output, applied: null });
    const { result } = await browser.call<ConsoleJobLinks>(`/console/api/jobs/${job.id}/links`);
    expect(result).toMatchObject({ size_bytes: 10 });
    expect(await (await browser.request(result!.url)).text()).toBe('the sample');
  });
});

describe('a job or preview whose caller loses the right to it while its video is measured', () => {
  const ends: Record<string, { code: string; status: number; happen: (person: Person) => Promise<unknown> }> = {
    'the person signs out': { code: 'invalid_session', status: 401, happen: ({ browser }) => browser.request('/console/api/sign-out', { method: 'POST' }) },
    'the account is closed': { code: 'invalid_session', status: 401, happen: ({ accountId }) => world.store.accounts.close(accountId) },
    'the session expires': {
      ...{ code: 'invalid_session', status: 401 },
      happen: ({ userId }) => world.sql`UPDATE console_sessions SET expires_at = now() WHERE user_id = ${userId}`,
    },
    'the account is rejected': { code: 'account_pending_approval', status: 403, happen: ({ accountId }) => world.store.accounts.reject(accountId) },
  };
  const kinds = {
    jobs: request,
    previews: { video_url: request.video_url, settings: [{ resolution: '1080p' }] },
  };
  const cases = Object.keys(ends).flatMap((end) => (['jobs', 'previews'] as const).map((kind) => ({ end, kind })));
  it.each(cases)('is refused and costs nothing: $end ($kind)', async ({ end, kind }) => {
    const person = await world.person({ credits: 1000 });
    const { code, status, happen } = ends[end]!;
    meanwhile = () => happen(person);
    const refused = await person.browser.request(`/console/api/${kind}`, {
      method: 'POST',
      json: { mode: 'live', request: kinds[kind] },
      headers: { 'Idempotency-Key': `${end} ${kind}` },
    });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([status, code]);
    expect(await world.sql`SELECT id FROM jobs WHERE account_id = ${person.accountId}`).toEqual([]);
    expect((await world.store.accounts.get(person.accountId))!.credits).toBe(1000);
  });
});
