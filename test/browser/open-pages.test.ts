/** What an open page does when something comes in between: a poll that fails, an event stream that was lost, a link that has ended, another window. */
import { readFile } from 'node:fs/promises';
import type { Page, Request, Route } from 'playwright-core';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleExportAuditLogResponse, ConsoleJobLinks, ConsolePreview, JobDeletion } from '../../src/contract/types.gen.ts';
import { openSignedUp } from './steps.ts';
import { axeViolations, createTestJob, createTestPreview, deleteJob, openTab, password, signUp, type Tab, unavailable, type World } from './world.ts';

let world: World;
let page: Page;

beforeAll(async () => {
  ({ world, page } = await openSignedUp());
});

afterAll(() => world?.close());

describe('the certificate of a deleted job', () => {
  const certificates = '**/console/api/certificates?**';

  it('is waited for although the service fails for a while, and is looked for again', async () => {
    const id = await createTestJob(page, world, 'secure.mp4', { secure: true });
    await page.goto(`${world.url}/jobs/${id}`);
    await page.locator('.badge', { hasText: 'Done' }).waitFor();
    let failures = 0;
    const fail = (route: Route) => {
      failures += 1;
      return route.fulfill(unavailable);
    };
    await page.route(certificates, fail);
    // As of a live job, whose files are still to be destroyed.
    await page.route(`**/console/api/jobs/${id}`, async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      await route.fulfill({ response, json: { ...((await response.json()) as JobDeletion), certificate: null } });
    });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('Waiting for the storage').waitFor();
    // A call and its repetitions.
    await expect.poll(() => failures).toBeGreaterThanOrEqual(3);
    await page.unroute(certificates, fail);
    await page.getByText('The signature is valid.').waitFor();
    await page.unroute(`**/console/api/jobs/${id}`);

    await page.route(certificates, fail);
    await page.reload();
    await page.getByText('The service is busy.').waitFor();
    expect(await page.getByText('There is no such job').count()).toBe(0);
    await page.unroute(certificates, fail);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The signature is valid.').waitFor();
  });
});

it('saves the whole ledger for a spreadsheet, however often it has to wait for the rate limit', async () => {
  const entries = Array.from({ length: 230 }, (_, index) => ({ kind: 'grant', amount: 5, job_id: null, at: '2026-11-21T12:00:00.000Z', id: 230 - index, balance: 5 * (230 - index), note: index === 229 ? '=1+1, "so"' : '' }));
  const url = '**/console/api/ledger?**';
  const sizes: number[] = [];
  let refusals = 5;
  await page.route(url, (route) => {
    const { searchParams } = new URL(route.request().url());
    const [limit, cursor] = [Number(searchParams.get('limit')), Number(searchParams.get('starting_after') ?? 231)];
    if (cursor === 31 && refusals-- > 0) return route.fulfill({ status: 429, headers: { 'Retry-After': '0' }, json: { error: { code: 'rate_limit_exceeded', message: 'More than 600 calls.' } } });
    sizes.push(limit);
    const rest = entries.filter(({ id }) => id < cursor);
    return route.fulfill({ json: { data: rest.slice(0, limit), has_more: rest.length > limit, next_cursor: rest.length > limit ? rest[limit - 1]!.id : null } });
  });
  await page.goto(`${world.url}/credits`);
  await page.getByRole('button', { name: 'Load more' }).click();
  await page.getByText('125 loaded').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()]);
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
  expect(lines).toHaveLength(232);
  expect(lines.slice(0, 2)).toEqual(['at,kind,job_id,note,credits,balance', '2026-11-21T12:00:00.000Z,grant,,,5,1150']);
  expect(lines.slice(-2)).toEqual([`2026-11-21T12:00:00.000Z,grant,,"'=1+1, ""so""",5,5`, '']);
  expect(sizes).toEqual([25, 100, 100, 100, 100]);
  expect(await axeViolations(page)).toEqual([]);
  await page.unroute(url);
});

describe('an audit log that is not what it was', () => {
  type Log = ConsoleExportAuditLogResponse;
  it.each<[string, (log: Log) => Log]>([
    ['Entry 1 is invalid.', (log) => ({ ...log, entries: log.entries.with(0, { ...log.entries[0]!, kind: 'key.created' }) })],
    ['The log does not match its signed head.', (log) => ({ ...log, entries: log.entries.slice(0, -1) })],
    ['The signed head is invalid.', (log) => ({ ...log, head: log.head.replace(/\..*\./, '.e30.') })],
  ])('is reported: %s', async (title, change) => {
    const url = '**/console/api/audit-log/export';
    await page.route(url, async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      await route.fulfill({ response, json: change((await response.json()) as Log) });
    });
    await page.goto(`${world.url}/secure`);
    await page.getByRole('button', { name: 'Verify here' }).click();
    expect(await page.getByRole('alert').locator('strong').textContent()).toBe(title);
    await page.unroute(url);
  });
});

it('spells the target of a job as the form does', async () => {
  const id = await createTestJob(page, world, 'slow.mp4', { resolution: '4k' });
  await page.goto(`${world.url}/jobs`);
  await page.getByRole('row').filter({ hasText: 'slow.mp4' }).getByText('4K', { exact: true }).waitFor();
  await page.goto(`${world.url}/jobs/${id}`);
  await page.getByRole('heading', { name: 'Enhancing to 4K', exact: true }).waitFor();
  await page.getByText('4K', { exact: true }).waitFor();
  await deleteJob(page, world, id);
});

describe('the request log', () => {
  it('can be filtered by each key, however many there were', async () => {
    const account = (await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list')).find(({ name }) => name === 'Analytical Engines')!;
    await world.site.reelmend('keys', 'create', account.id, '--mode', 'test', '--name', 'the oldest');
    const sql = postgres(world.site.databaseUrl, { max: 1 });
    await sql`INSERT INTO api_keys SELECT (jsonb_populate_record(k, jsonb_build_object('id', 'key_7' || lpad(n::text, 25, '0'), 'hash', '\\x' || md5(n::text) || md5(n::text), 'name', 'revoked ' || n, 'created_at', now() + n * interval '1 s', 'revoked_at', now()))).* FROM (SELECT k FROM api_keys k WHERE name = 'the oldest') AS one, generate_series(1, 250) n`;
    await page.goto(`${world.url}/request-log`);
    const options = page.getByLabel('Key', { exact: true }).locator('option');
    await expect.poll(() => options.allTextContents()).toContain('the oldest');
    expect(await options.count()).toBeGreaterThan(250);
    // Other tests look for new keys at the top of the list.
    await sql`DELETE FROM api_keys WHERE name LIKE 'revoked %'`;
    await sql.end();
  });
});

describe('an event stream that was lost for a while', () => {
  /** From now on the stream opens and ends at once. Returns the function that lets the browser reconnect. */
  async function loseStream(): Promise<() => void> {
    let reconnect = () => {};
    const gap = new Promise<void>((resolve) => (reconnect = resolve));
    let count = 0;
    await page.route('**/console/api/job-events', async (route) => {
      if (++count === 1) return route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\n\n' });
      await gap;
      await route.fallback();
    });
    return reconnect;
  }

  /** Loads the page anew, and does `change` while it has no stream. */
  async function inGap(path: string, ready: () => Promise<void>, change: () => Promise<unknown>): Promise<void> {
    const reconnect = await loseStream();
    await page.goto(`${world.url}${path}`);
    await ready();
    await change();
    reconnect();
  }

  /** Copies of a job, older than it; returns their ids, oldest first. */
  async function addCopies(like: string, count: number): Promise<string[]> {
    const sql = postgres(world.site.databaseUrl, { max: 1 });
    const ids = Array.from({ length: count }, (_, index) => `job_${String(index).padStart(26, '0')}`);
    for (const id of ids) await sql`INSERT INTO jobs SELECT (jsonb_populate_record(j, ${sql.json({ id, output_key: null, pictures: null })})).* FROM jobs j WHERE id = ${like}`;
    await sql.end();
    return ids;
  }

  it('leaves no job in the list that was deleted meanwhile, and loads again only the pages that are shown', async () => {
    const newest = await createTestJob(page, world, 'newest.mp4');
    await page.goto(`${world.url}/jobs/${newest}`);
    await page.locator('.badge', { hasText: 'Done' }).waitFor();
    const copies = await addCopies(newest, 650);
    const oldest = copies[0]!;
    const inMiddle = copies[325]!;
    let before = 0;
    const allLoaded = async () => {
      await page.getByText('100 loaded').waitFor();
      const count = page.locator('.toolbar-count');
      const scrollOn = async () => {
        await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
        return count.textContent();
      };
      await expect.poll(scrollOn).toMatch(/jobs$/);
      await scrollOn();
      await page.getByTitle(oldest).waitFor();
      before = parseInt((await count.textContent())!, 10);
      expect(before).toBeGreaterThan(650);
    };
    let requests = 0;
    const count = (request: Request) => (requests += Number(request.method() === 'GET' && new URL(request.url()).pathname === '/console/api/jobs'));
    await inGap('/jobs', allLoaded, async () => {
      for (const id of [newest, inMiddle, oldest]) await deleteJob(page, world, id);
      page.on('request', count);
    });
    await page.getByText(`${before - 2} jobs`).waitFor();
    // The first page and the last one, of seven.
    expect(requests).toBe(2);
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight / 2));
    await page.getByText(`${before - 3} jobs`).waitFor();
    expect(requests).toBeLessThanOrEqual(4);
    page.off('request', count);
  });

  it('says that the next jobs cannot be loaded, and asks no further until somebody wants it', async () => {
    const ofNextPage = /\/console\/api\/jobs\?.*starting_after/;
    let requests = 0;
    await page.route(ofNextPage, (route) => {
      requests += 1;
      return route.abort();
    });
    await page.goto(`${world.url}/jobs`);
    await page.getByText('100 loaded').waitFor();
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.getByRole('alert').filter({ hasText: 'The service cannot be reached.' }).waitFor();
    // Events do not begin it again.
    await createTestJob(page, world, 'meanwhile.mp4');
    await page.getByText('101 loaded').waitFor();
    await page.waitForTimeout(1500);
    // A call and its repetitions.
    expect(requests).toBe(3);
    expect(await axeViolations(page)).toEqual([]);
    await page.unroute(ofNextPage);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('201 loaded').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('leaves no job in the list that is deleted while the next page is loaded', async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    const ofNextPage = /\/console\/api\/jobs\?.*starting_after/;
    const asked = page.waitForRequest(ofNextPage);
    await page.route(ofNextPage, async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      await held;
      await route.fulfill({ response });
    }, { times: 1 });
    await page.goto(`${world.url}/jobs`);
    await page.getByText('100 loaded').waitFor();
    const listed = (await page.locator('.jobs-row code').first().getAttribute('title'))!;
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await asked;
    await deleteJob(page, world, listed);
    await page.getByText('99 loaded').waitFor();
    answer();
    await page.getByText('199 loaded').waitFor();
  });

  it('shows on the page of a job that it was deleted meanwhile', async () => {
    const id = await createTestJob(page, world, 'seen.mp4');
    await page.goto(`${world.url}/jobs/${id}`);
    const player = page.getByRole('region', { name: 'Player' });
    await player.waitFor();
    await inGap(`/jobs/${id}`, () => player.waitFor(), () => deleteJob(page, world, id));
    await player.waitFor({ state: 'detached' });
  });
});

const expired = { status: 403, json: { error: { code: 'link_expired', message: 'The URL has expired.', type: 'permission_error', request_id: 'req_x' } } };
const getNewLink = () => page.getByRole('button', { name: 'Get a new link' });

/** Links of which `isEnding` is true give the first half of their file, and end when the returned function is called. */
async function halveFiles(isEnding: (link: string) => boolean): Promise<() => void> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  await page.route('**/v1/downloads/**', async (route) => {
    if (!isEnding(route.request().url())) return route.fallback();
    const from = Number(/bytes=(\d+)-/.exec(route.request().headers()['range'] ?? 'bytes=0-')![1]);
    const response = await route.fetch({ headers: {}, maxRetries: 3 });
    const whole = await response.body();
    const half = Math.round(whole.length / 2);
    if (from >= half) {
      await ended;
      return route.fulfill(expired);
    }
    const headers = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', 'content-range': `bytes ${from}-${half - 1}/${whole.length}` };
    await route.fulfill({ status: 206, headers, body: whole.subarray(from, half) });
  });
  return end;
}

/** The time of the shown links is over for the page, whose clock is an hour ahead until it is loaded anew. A short time could pass before the videos are loaded. */
const letLinksEnd = () =>
  page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 3_600_000;
  });

describe('a link to a video that has ended', () => {
  const video = () =>
    page
      .locator('video')
      .first()
      .evaluate(({ src, readyState, seeking, currentTime }: HTMLVideoElement) => ({ url: new URL(src), hasPicture: readyState >= 2 && !seeking, currentTime }))
      .then(({ url, ...rest }) => ({ link: links.indexOf(`${url.pathname}${url.search}`), ...rest }));
  const links: string[] = [];
  let end = () => {};

  beforeAll(async () => {
    await page.route('**/links', async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      links.push(((await response.json()) as { result: { url: string } }).result.url);
      await route.fulfill({ response });
    });
    end = await halveFiles((link) => link.endsWith(links[0]!));
  });
  afterAll(async () => {
    await page.unroute('**/links');
    await page.unroute('**/v1/downloads/**');
  });

  it('is asked for again, and the video goes on at its place', async () => {
    const id = await createTestJob(page, world, 'ended.mp4');
    await page.goto(`${world.url}/jobs/${id}`);
    await expect.poll(video).toMatchObject({ hasPicture: true });
    await page.getByRole('slider', { name: 'Position' }).fill('0.4');
    await expect.poll(video).toMatchObject({ hasPicture: true });
    const { currentTime } = await video();
    await letLinksEnd();
    // The service cannot be asked at first.
    const away = (route: Route) => route.abort();
    await page.route('**/links', away);
    end();
    await page.getByText('The video can no longer be loaded.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.unroute('**/links', away);
    await getNewLink().click();
    await expect.poll(video).toEqual({ link: 1, hasPicture: true, currentTime });
    expect(currentTime).toBeGreaterThan(0.3);
    expect([await getNewLink().count(), await page.getByText('cannot play').count()]).toEqual([0, 0]);
  });
});

describe('a link to a picture that has ended', () => {
  it('is replaced when the picture is downloaded', async () => {
    const id = await createTestJob(page, world, 'pictures.mp4');
    let answers = 0;
    // Test mode makes no pictures: the file of the result takes the place of one.
    await page.route('**/links', async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      const json = (await response.json()) as ConsoleJobLinks;
      const link = { ...json.result!, file_name: 'poster.jpg', expires_in: 0 };
      if (json.result !== null) json.pictures = [{ kind: 'poster', time: 0, width: 16, height: 9, link: answers++ === 0 ? { ...link, url: `${link.url}0` } : link }];
      await route.fulfill({ response, json });
    });
    await page.goto(`${world.url}/jobs/${id}`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: /^Poster/ }).click()]);
    expect(await download.failure()).toBeNull();
    expect(answers).toBe(2);
    await page.unroute('**/links');
  });
});

describe('the links to the clips of a preview that have ended', () => {
  /** the links of each answer */
  const answers: string[][] = [];
  const clips = () =>
    page.locator('video').evaluateAll((videos) =>
      (videos as HTMLVideoElement[]).map(({ src, readyState, seeking, currentTime }) => ({ link: src.slice(src.indexOf('/v1/')), hasPicture: readyState >= 2 && !seeking, currentTime })),
    );
  const shown = async () => (await clips()).map(({ link, ...rest }) => ({ answer: answers.findIndex((links) => links.includes(link)), ...rest }));

  afterAll(async () => {
    await page.unroute('**/console/api/previews/*');
    await page.unroute('**/v1/downloads/**');
  });

  it('are asked for again, once for all clips, and each goes on at its place', async () => {
    const id = await createTestPreview(page, world, [{ resolution: '1080p' }, { resolution: '4k' }]);
    await page.route('**/console/api/previews/*', async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      const { stretches } = ((await response.json()) as ConsolePreview).preview;
      const urls = stretches?.flatMap(({ original, results }) => [original.url, ...results.map(({ url }) => url)]);
      if (urls !== undefined) answers.push(urls.map((url) => url.slice(url.indexOf('/v1/'))));
      await route.fulfill({ response });
    });
    const end = await halveFiles((link) => answers[0]!.some((each) => link.endsWith(each)));
    await page.goto(`${world.url}/previews/${id}`);
    const everyClip = (part: object) => Array.from({ length: 9 }, () => expect.objectContaining(part));
    await expect.poll(shown).toEqual(everyClip({ answer: 0, hasPicture: true }));
    await page.locator('video').evaluateAll((videos) => (videos as HTMLVideoElement[]).forEach((video) => (video.currentTime = 0.2)));
    await expect.poll(shown).toEqual(everyClip({ hasPicture: true, currentTime: 0.2 }));
    await letLinksEnd();
    end();
    await expect.poll(shown).toEqual(everyClip({ answer: 1, hasPicture: true, currentTime: 0.2 }));
    expect([answers.length, await getNewLink().count()]).toEqual([2, 0]);
  });
});

describe('two windows of one browser', () => {
  let other: Page;
  /** of another browser */
  let elsewhere: Tab;

  beforeAll(async () => {
    elsewhere = await openTab(world);
    await signUp(elsewhere, world, 'grace@example.com', 'Operations');
    const { page: first } = await openTab(world);
    page = first;
    other = await first.context().newPage();
  });

  async function signInAt(window: Page, email: string): Promise<void> {
    await window.getByLabel('Email').fill(email);
    await window.getByLabel('Password').fill(password);
    await window.getByRole('button', { name: 'Sign in' }).click();
    await window.getByRole('heading', { name: 'Home' }).waitFor();
  }

  /** As a window that says nothing to the others. */
  async function signInUnnoticed(email: string): Promise<void> {
    const headers = { Origin: new URL(world.url).origin };
    const response = await page.request.post(`${world.url}/api/sign-in`, { data: { email, password }, headers });
    expect(response.status()).toBe(200);
  }

  async function openKeysOfAda(): Promise<void> {
    await signInUnnoticed('ada@example.com');
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).first().waitFor();
  }

  const createKey = async (name: string) => {
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    await page.getByRole('dialog').getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
  };

  it('are both signed in where one of them signs in, and both signed out', async () => {
    for (const window of [page, other]) await window.goto(`${world.url}/`);
    for (const window of [page, other]) await window.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signInAt(page, 'ada@example.com');
    await other.getByRole('heading', { name: 'Home' }).waitFor();
    await other.getByRole('button', { name: 'Analytical Engines' }).click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signInAt(page, 'ada@example.com');
  });

  it('go on after the same person has signed in anew', async () => {
    await openKeysOfAda();
    await signInUnnoticed('ada@example.com');
    await createKey('of the new session');
    await page.locator('dialog [data-secret]').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText('of the new session').waitFor();
  });

  it('change nothing for somebody else who has signed in, and show whose data it is', async () => {
    await openKeysOfAda();
    await signInUnnoticed('grace@example.com');
    await createKey('by mistake');
    await page.getByRole('button', { name: 'Operations' }).waitFor();
    await page.getByText('Nothing was changed.').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Create a key' }).first().waitFor();
    expect(await page.getByText('by mistake').count()).toBe(0);
  });

  it('show no jobs of the former person after somebody else has joined with an invitation in one of them', async () => {
    await elsewhere.page.goto(`${world.url}/people`);
    await elsewhere.page.getByRole('button', { name: 'Invite a person' }).click();
    await elsewhere.page.getByRole('textbox', { name: 'Email' }).fill('joan@example.com');
    await elsewhere.page.getByRole('button', { name: 'Invite', exact: true }).click();
    const link = (await elsewhere.page.locator('dialog [data-secret]').textContent())!;
    await openKeysOfAda();
    await page.getByRole('navigation').getByRole('link', { name: 'Jobs', exact: true }).click();
    const former = (await openTab(world, { state: await page.context().storageState() })).page;
    await former.goto(`${world.url}/jobs`);

    await other.goto(link);
    await other.getByLabel('Password').fill(password);
    await other.getByRole('button', { name: 'Join' }).click();
    await page.getByRole('button', { name: 'Operations' }).waitFor();
    await page.getByText('No jobs yet').waitFor();
    // Not before the page has settled.
    await page.waitForTimeout(500);
    await createTestJob(former, world, 'of-the-former.mp4');
    await former.getByText('of-the-former.mp4').waitFor();
    await page.waitForTimeout(500);
    expect(await page.getByText('of-the-former.mp4').count()).toBe(0);
    await createTestJob(elsewhere.page, world, 'of-the-new-account.mp4');
    await page.getByText('of-the-new-account.mp4').waitFor();
    await former.context().close();
  });

  it('stay signed in when a call of the former session is answered late', async () => {
    await openKeysOfAda();
    const late = { status: 401, json: { error: { code: 'invalid_session', message: 'The session has ended. Sign in again.', type: 'authentication_error', request_id: 'req_x' } } };
    const answered = page.waitForResponse((response) => response.status() === 401);
    await page.route('**/console/api/webhook*', (route) => route.fulfill(late));
    await page.getByRole('navigation').getByRole('link', { name: 'Webhooks' }).click();
    await answered;
    await page.waitForTimeout(500);
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Sign in' }).count()).toBe(0);
    await page.unroute('**/console/api/webhook*');
  });
});
