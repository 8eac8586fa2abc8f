/** Jobs in the console: lists, one in full, links for players, creation, the stream, uploads. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type {
  ConsoleJob,
  ConsoleJobDetail,
  ConsoleJobLinks,
  ConsoleJobList,
  JobDeletion,
  Quote,
  Upload,
  UploadDeletion,
} from '../../src/contract/types.gen.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { endJob, ingestJob, makeJob } from '../helpers/console-jobs.ts';
import { errorOf, publicUrl, source } from '../helpers/http.ts';
import { auditEntries } from '../helpers/worker-world.ts';

let world: ConsoleWorld;
let ours: Person;
let stranger: Person;
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
  [ours, stranger] = await Promise.all([world.person({ credits: 100_000 }), world.person({ credits: 1000 })]);
});
beforeEach(async () => {
  measured = [];
  refusal = undefined;
  meanwhile = undefined;
  await world.sql`DELETE FROM rate_limits`;
});
afterAll(() => world.close());

const request = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };

describe('the list', () => {
  it('has both modes, newest first, in pages, filtered by mode, state and part of the id', async () => {
    const person = await world.person({ credits: 1000 });
    const made: string[] = [];
    for (const mode of ['live', 'test', 'live', 'test', 'test'] as const) {
      made.unshift((await makeJob(world, person.accountId, { mode })).id);
    }
    await endJob(world, made[4]!, 'done');
    await person.browser.call(`/console/api/jobs/${made[2]!}`, { method: 'DELETE' });
    const list = async (query: string) => {
      const page = await person.browser.call<ConsoleJobList>(`/console/api/jobs?${query}`);
      return { ids: page.data.map(({ id }) => id), next: page.next_cursor };
    };
    const left = made.filter((id) => id !== made[2]);
    const first = await list('limit=3');
    expect(first).toEqual({ ids: left.slice(0, 3), next: left[2] });
    expect(await list(`limit=3&starting_after=${first.next!}`)).toEqual({ ids: left.slice(3), next: null });
    expect((await list('mode=live')).ids).toEqual([made[4]]);
    expect((await list('mode=test')).ids).toEqual([made[0], made[1], made[3]]);
    expect((await list('status=done')).ids).toEqual([made[4]]);
    expect((await list(`q=${made[3]!.slice(-9)}`)).ids).toEqual([made[3]]);
    expect((await list('q=zzzz_zzz')).ids).toEqual([]);
    expect((await stranger.browser.call<ConsoleJobList>('/console/api/jobs')).data).toEqual([]);
  });

  it('is searched by the names of videos, and by ids in upper case', async () => {
    const person = await world.person({ credits: 1000 });
    const add = (videoUrl: string, more = {}) => makeJob(world, person.accountId, { videoUrl, ...more });
    const escaped = await add('https://media.example.com/some/Sommer%20in%20K%C3%B6ln.mp4?token=canary');
    const plain = await add('https://media.example.com/summer_100%25.mov#t=1', { mode: 'test' });
    const bare = await add('https://films.example.com/');
    await endJob(world, bare.id, 'error');
    const find = async (q: string, more = '') =>
      (await person.browser.call<ConsoleJobList>(`/console/api/jobs?q=${encodeURIComponent(q)}${more}`)).data.map(({ id }) => id);
    expect(await find('sommer IN k')).toEqual([escaped.id]);
    expect(await find('Köln')).toEqual([escaped.id]);
    expect(await find('.m')).toEqual([plain.id, escaped.id]);
    expect(await find('100%')).toEqual([plain.id]);
    expect(await find('SUMMER_', '&mode=test')).toEqual([plain.id]);
    expect(await find('summer', '&mode=live')).toEqual([]);
    expect(await find('films.example')).toEqual([bare.id]);
    expect(await find('films', '&status=error')).toEqual([bare.id]);
    expect(await find('sommer', '&status=error')).toEqual([]);
    expect(await find('sommer', '&status=queued')).toEqual([escaped.id]);
    expect(await find(escaped.id.slice(-9).toUpperCase())).toEqual([escaped.id]);
    for (const none of ['canary', '_100_', 's%r', "'", '\\']) expect(await find(none), none).toEqual([]);
    await person.browser.call(`/console/api/jobs/${escaped.id}`, { method: 'DELETE' });
    expect(await find('sommer')).toEqual([]);
    expect(await world.sql`SELECT 1 FROM job_names WHERE job_id = ${escaped.id}`).toEqual([]);
    expect((await person.browser.request('/console/api/jobs?q=%00')).status).toBe(400);
  });

  it('is searched by the names as they are shown, not by the escapes of URLs', async () => {
    const person = await world.person({ credits: 1000 });
    const add = async (segment: string) => (await makeJob(world, person.accountId, { videoUrl: `https://media.example.com/${segment}` })).id;
    const find = async (q: string) =>
      (await person.browser.call<ConsoleJobList>(`/console/api/jobs?q=${encodeURIComponent(q)}`)).data.map(({ id }) => id);
    const long = '日本の長い名前'.repeat(12);
    const [comma, plain, upper, japanese, latin1, stray, zero] = [
      await add('Day%201,%20Paris.mp4'), await add('my%20film.mov'), await add('K%C3%96LN.mp4'), await add(encodeURIComponent(`${long}最後.mp4`)),
      await add('K%F6ln%20old.avi'), await add('50%%20off.avi'), await add('a%00b.webm'),
    ];
    expect(await find('Day 1, Paris')).toEqual([comma]);
    expect(await find('day 1%2C')).toEqual([]);
    expect(await find('my FILM')).toEqual([plain]);
    expect(await find('%20f')).toEqual([]);
    for (const q of ['köln', 'KÖLN', 'Köln.MP4']) expect(await find(q), q).toEqual([upper]);
    expect(await find('最後')).toEqual([japanese]);
    // As they are shown: what is not UTF-8 has its escapes.
    expect(await find('k%f6ln%20old')).toEqual([latin1]);
    expect(await find('50%%20')).toEqual([stray]);
    expect(await find('.webm')).toEqual([zero]);
  });

  it('names the source without its query', async () => {
    const job = await makeJob(world, ours.accountId);
    const { data } = await ours.browser.call<ConsoleJobList>(`/console/api/jobs?q=${job.id}`);
    expect(data[0]).toMatchObject({ source_name: 'holiday film.mp4', mode: 'live', status: 'queued' });
  });
});

describe('a job in full', () => {
  it('has what was asked for, its timeline in words, and its charges', async () => {
    const job = await makeJob(world, ours.accountId, { credits: 30, enhancements: { sharpen: 0.4 }, model: 'none' });
    await endJob(world, job.id, 'done');
    const detail = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${job.id}`);
    expect(detail).toMatchObject({
      mode: 'live',
      video_url: job.videoUrl,
      model: 'none',
      requested: { sharpen: 0.4 },
      job: { status: 'done', output: { width: 1920 } },
      error_help: null,
      charges: [{ kind: 'charge', amount: -30 }],
    });
    expect(detail.timeline.map(({ kind }) => kind)).toEqual(['job.created', 'job.started', 'job.completed']);
    for (const { text, kind } of detail.timeline) expect(text, kind).toMatch(/^[A-Z].*\.$/);
  });

  it('says what to do about an error, and shows the refund', async () => {
    const job = await makeJob(world, ours.accountId, { credits: 30 });
    await endJob(world, job.id, 'error');
    const detail = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${job.id}`);
    const error = { code: 'processing_failed', message: 'The video could not be processed.', doc_url: `${publicUrl}/docs/errors#processing_failed` };
    expect(detail.job.error).toEqual(error);
    expect((await ours.browser.call<ConsoleJobList>('/console/api/jobs')).data.find(({ id }) => id === job.id)?.error).toEqual(error);
    expect(detail.error_help).toMatch(/^Submit the job again/);
    expect(detail.timeline.at(-1)?.text).toBe('The job failed; its credits were refunded.');
    expect(detail.charges.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['charge', -30],
      ['refund', 30],
    ]);
  });

  it('says that a test job failed because its name requests it', async () => {
    const job = await makeJob(world, ours.accountId, { mode: 'test' });
    const { fence } = (await world.store.leases.acquire(job.id, 'test_mode', 'worker-of-tests', 60))!;
    await world.store.leases.fail(fence, { code: 'processing_failed', message: 'The URL of this test job asks for a failure.' });
    const { error_help, timeline } = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${job.id}`);
    expect(error_help).toBe('The name of the video requests this error; any other name succeeds.');
    // It was free, so no money came back.
    expect(timeline.at(-1)?.text).toBe('The job failed.');
  });

  it('of another account, or deleted, is not there', async () => {
    const job = await makeJob(world, ours.accountId);
    const paths = [`/console/api/jobs/${job.id}`, `/console/api/jobs/${job.id}/links`];
    for (const path of paths) expect((await stranger.browser.request(path)).status, path).toBe(404);
    expect((await stranger.browser.request(paths[0]!, { method: 'DELETE' })).status).toBe(404);
    await ours.browser.call(paths[0]!, { method: 'DELETE' });
    for (const path of paths) expect((await ours.browser.request(path)).status, path).toBe(404);
  });
});

describe('links for players', () => {
  it('appear as the files do, play ranges, and are in the audit log', async () => {
    const job = await makeJob(world, ours.accountId);
    const path = `/console/api/jobs/${job.id}/links`;
    expect(await ours.browser.call(path)).toEqual({ result: null, source: null, pictures: [] });
    await ingestJob(world, job.id);
    const early = await ours.browser.call<ConsoleJobLinks>(path);
    expect(early).toMatchObject({ result: null, source: { expires_in: 3600, size_bytes: 12 } });
    const accesses = async (jobId: string) =>
      (await auditEntries(world.store, { accountId: ours.accountId, jobId, limit: 10 })).filter(({ kind }) => kind.endsWith('.accessed')).map(({ kind, data }) => ({ kind, data }));
    const access = (kind: string) => ({ kind, data: { user_id: ours.userId } });
    await ours.browser.call(path);
    expect((await ours.browser.request(path, { method: 'HEAD' })).status).toBe(200);
    expect(await accesses(job.id)).toEqual([access('source.accessed')]);
    const done = await makeJob(world, ours.accountId);
    await endJob(world, done.id, 'done');
    const links = await ours.browser.call<ConsoleJobLinks>(`/console/api/jobs/${done.id}/links`);
    const texts = { result: 'the enhanced one', source: 'the original' };
    for (const name of ['result', 'source'] as const) {
      const { url, size_bytes } = links[name]!;
      expect(url).toMatch(/^\/v1\/downloads\//);
      expect(size_bytes).toBe(texts[name].length);
      const played = await world.app.request(url, { headers: { Range: 'bytes=4-' } });
      expect(played.status).toBe(206);
      expect(played.headers.get('content-type')).toBe('video/mp4');
      expect(await played.text()).toBe(texts[name].slice(4));
    }
    const events = await auditEntries(world.store, { accountId: ours.accountId, jobId: done.id, limit: 10 });
    expect(events[0]).toMatchObject({ kind: 'result.accessed', data: { user_id: ours.userId } });
    expect(events.filter(({ kind }) => kind === 'result.accessed')).toHaveLength(1);
    expect(await accesses(done.id)).toEqual([access('result.accessed'), access('source.accessed')]);
  });

  it('show the pictures of a result', async () => {
    const job = await makeJob(world, ours.accountId);
    await endJob(world, job.id, 'done', { poster: true });
    const { pictures } = await ours.browser.call<ConsoleJobLinks>(`/console/api/jobs/${job.id}/links`);
    expect(pictures).toMatchObject([
      { kind: 'poster', time: 1.5, width: 1280, height: 720, link: { file_name: `${job.id}-1080p-poster.jpg`, size_bytes: 10 } },
    ]);
    const shown = await world.app.request(pictures[0]!.link.url);
    expect(shown.headers.get('content-type')).toBe('image/jpeg');
    expect(await shown.text()).toBe('the poster');
  });

  it('of a failed job are none', async () => {
    const job = await makeJob(world, ours.accountId);
    await endJob(world, job.id, 'error');
    expect(await ours.browser.call(`/console/api/jobs/${job.id}/links`)).toEqual({ result: null, source: null, pictures: [] });
  });
});

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

describe('deleting', () => {
  it('gives back what was charged, and the certificate of a Secure job when it is there', async () => {
    const job = await makeJob(world, ours.accountId, { credits: 30, tier: 'secure' });
    const deletion = await ours.browser.call<JobDeletion>(`/console/api/jobs/${job.id}`, { method: 'DELETE' });
    expect(deletion).toMatchObject({ id: job.id, refunded_credits: 30, certificate: null });
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

describe('the stream of all jobs', () => {
  it('reports jobs that are created, change and are deleted, of this account only', async () => {
    const person = await world.person({ credits: 1000 });
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

describe('jobs and quotes from uploads', () => {
  const paths = ['/console/api/jobs', '/console/api/quotes'];
  const post = (path: string, upload_id: string) =>
    ours.browser.request(path, { method: 'POST', json: { mode: 'live', request: { upload_id, resolution: '1080p' } } });
  const upload = async (accountId: string) =>
    (await world.store.uploads.create({ accountId, mode: 'live', fileName: 'Strand.mov', sizeBytes: 5, sha256: null, quotaBytes: 1e9 })).upload;

  it('refuse an upload of others, and one that is not ready', async () => {
    const theirs = await upload(stranger.accountId);
    const waiting = await upload(ours.accountId);
    for (const path of paths) {
      const unknown = await post(path, theirs.id);
      expect(unknown.status).toBe(404);
      expect(await errorOf(unknown)).toMatchObject({ code: 'upload_not_found', param: '/request/upload_id' });
      const early = await post(path, waiting.id);
      expect(early.status).toBe(409);
      expect(await errorOf(early)).toMatchObject({ code: 'upload_not_ready', param: '/request/upload_id' });
    }
  });

  it('are named after the file', async () => {
    const ready = await upload(ours.accountId);
    await world.store.uploads.complete(ours.accountId, 'live', ready.id, { sha256: '0'.repeat(64), partSha256: null });
    await world.store.uploads.verified(ready.id, { sha256: '0'.repeat(64), version: null });
    const response = await post(paths[0]!, ready.id);
    expect(response.status).toBe(201);
    const { id, source_name } = (await response.json()) as { id: string; source_name: string };
    expect(source_name).toBe('Strand.mov');
    const detail = await ours.browser.call<ConsoleJobDetail>(`/console/api/jobs/${id}`);
    expect(detail).toMatchObject({ source_name: 'Strand.mov', video_url: null, job: { upload_id: ready.id, file_name: 'Strand.mov' } });
  });
});

describe('uploads', () => {
  const input = { file_name: 'Strand.mov', size_bytes: 6 };
  const path = '/console/api/uploads';
  const send = (url: string, bytes: string) => {
    const { pathname, search } = new URL(url);
    return ours.browser.request(pathname + search, { method: 'PUT', body: bytes, csrf: false });
  };

  it('are created, sent, completed and deleted in either mode', async () => {
    for (const mode of ['live', 'test'] as const) {
      const upload = await ours.browser.post<Upload>(path, { mode, request: input });
      expect(upload).toMatchObject({ status: 'waiting', sandbox: mode === 'test', ...input });
      expect((await send(upload.parts[0]!.url, 'a film')).status).toBe(200);
      expect(await ours.browser.call<Upload>(`${path}/${upload.id}`)).toMatchObject({ received_bytes: 6, parts: [] });
      const completed = await ours.browser.post<Upload>(`${path}/${upload.id}/complete`, { sha256: '0'.repeat(64) });
      expect(completed.status).toBe('verifying');
      const deletion = await ours.browser.call<UploadDeletion>(`${path}/${upload.id}`, { method: 'DELETE' });
      expect(deletion).toMatchObject({ id: upload.id, deleted: true });
      expect((await ours.browser.request(`${path}/${upload.id}`)).status).toBe(404);
    }
  });

  it('are created once under an idempotency key', async () => {
    const options = { method: 'POST', headers: { 'Idempotency-Key': 'upload-1' } };
    const create = (size_bytes: number) => ours.browser.request(path, { ...options, json: { mode: 'test', request: { ...input, size_bytes } } });
    const [first, again] = [(await (await create(6)).json()) as Upload, (await (await create(6)).json()) as Upload];
    expect(again).toMatchObject({ id: first.id, parts: [{ number: 1 }] });
    const other = await create(7);
    expect([other.status, (await errorOf(other)).code]).toEqual([409, 'idempotency_key_reused']);
  });

  it('are refused when they are incomplete, too large together, or of others', async () => {
    const upload = await ours.browser.post<Upload>(path, { mode: 'live', request: input });
    const early = await ours.browser.request(`${path}/${upload.id}/complete`, { method: 'POST', json: { sha256: '0'.repeat(64) } });
    expect([early.status, (await errorOf(early)).code]).toEqual([409, 'upload_incomplete']);
    for (const [method, suffix] of [['GET', ''], ['DELETE', ''], ['POST', '/complete']] as const) {
      const json = method === 'POST' ? { json: {} } : {};
      const foreign = await stranger.browser.request(`${path}/${upload.id}${suffix}`, { method, ...json });
      expect([foreign.status, (await errorOf(foreign)).code]).toEqual([404, 'upload_not_found']);
    }
    const poor = await makeConsole({ options: { uploadQuotaBytes: 10 } });
    const person = await poor.person();
    await person.browser.post<Upload>(path, { mode: 'live', request: input });
    const full = await person.browser.request(path, { method: 'POST', json: { mode: 'live', request: input } });
    expect([full.status, (await errorOf(full)).code]).toEqual([409, 'upload_quota_exceeded']);
    await poor.close();
  });

  it('403 for live ones of an account that is not approved', async () => {
    const pending = await world.person({ approved: false });
    const response = await pending.browser.request(path, { method: 'POST', json: { mode: 'live', request: input } });
    expect([response.status, (await errorOf(response)).code]).toEqual([403, 'account_pending_approval']);
    await pending.browser.post<Upload>(path, { mode: 'test', request: input });
  });
});
