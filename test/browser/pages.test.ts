/** Every page in both themes and two widths: accessible, by the keyboard too, within its width, and quiet. */
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { axeViolations, createTestJob, createTestPreview, type Look, openTab, openWorld, signUp, type Tab, unreachableByTab, violationsInBothThemes, type World } from './world.ts';

let world: World;
let signedIn: NonNullable<Look['state']>;
let doneJob: string;
let failedJob: string;
let segmentedJob: string;
let preview: string;
let invitation: string;

beforeAll(async () => {
  world = await openWorld({ REELMEND_DEMO: '1' }, { quickDemo: true });
  const tab = await openTab(world);
  await signUp(tab, world, 'grace@example.com', 'Operations');
  await world.site.reelmend('operators', 'add', 'grace@example.com', '--existing');
  const accounts = await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list');
  const { id } = accounts.find(({ name }) => name === 'Operations')!;
  await world.site.reelmend('accounts', 'approve', id);
  await world.site.reelmend('accounts', 'grant', id, '5000', '--note', 'Welcome');
  const other = accounts.find(({ name }) => name === 'Somebody else')!;
  const { url } = await world.site.reelmend<{ url: string }>('users', 'invite', other.id, 'joan@example.com');
  invitation = new URL(url).hash.slice(1);
  const { key } = await world.site.reelmend<{ key: string }>('keys', 'create', id, '--mode', 'test', '--name', 'dashboard', '--access', 'read_only');
  await fetch(`${world.service.url}/v1/jobs/job_01jdq4s9xkf5v8t2m6w0c3rhbz`, { headers: { Authorization: `Bearer ${key}` } });
  const { page } = tab;
  const jobOf = () => /job_\w+/.exec(page.url())?.[0] ?? '';

  await page.goto(`${world.url}/enhance`);
  await page.getByText('$0.12').waitFor();
  await page.getByRole('button', { name: 'Enhance', exact: true }).click();
  await page.getByRole('region', { name: 'Before and after' }).waitFor();
  doneJob = jobOf();

  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Test', exact: true }).check();
  await page.getByRole('radio', { name: 'URL' }).check();
  await page.getByLabel('Video URL').fill('https://media.example.com/processing_failed.mp4');
  await page.getByText('Enhancements, bitrate and webhook').click();
  await page.getByLabel('Webhook URL').fill('https://hooks.example.invalid/reelmend');
  await page.getByText('$0.00').waitFor();
  await page.getByRole('button', { name: 'Run in test mode' }).click();
  await page.waitForURL(/\/jobs\/job_/);
  await page.locator('.badge', { hasText: 'Failed' }).waitFor();
  failedJob = jobOf();
  segmentedJob = await addSegmentedJob(doneJob);
  preview = await createTestPreview(page, world, [{ resolution: '1080p' }, { resolution: '4k', model: 'none', enhancements: { sharpen: 0.5 } }]);
  signedIn = await page.context().storageState();
  await page.context().close();
});

afterAll(() => world?.close());

/** Their lengths and progress differ. A waiting one would be taken by the worker of this world. */
const segmentsShown = [
  { start: 0, end: 20, state: 'done', progress: 1 },
  { start: 20, end: 50, state: 'running', progress: 0.25 },
  { start: 50, end: 60, state: 'running', progress: 0.6 },
];

/** A copy of a job, whose segments run elsewhere; returns its id. */
async function addSegmentedJob(like: string): Promise<string> {
  const sql = postgres(world.site.databaseUrl, { max: 1 });
  const id = newId('job');
  const piece = `jobs/${id}/segments/0-1.mp4`;
  await sql`INSERT INTO jobs SELECT (jsonb_populate_record(j, ${sql.json({
    ...{ id, status: 'running', step: 'segments', progress: 0.5, eta_seconds: 40, finished_at: null, credits_charged: 0 },
    ...{ output: null, output_key: null, original_key: null, pictures: null, applied: null, upload_id: null },
  })})).* FROM jobs j WHERE id = ${like}`;
  await sql`INSERT INTO objects (key, job_id, attempt, role) VALUES (${piece}, ${id}, 1, 'segment')`;
  for (const [number, { start, end, state, progress }] of segmentsShown.entries()) {
    const done = state === 'done';
    await sql`INSERT INTO segments (job_id, number, start_seconds, end_seconds, frames, device_class, state, progress, object_key, sha256, result, lease_owner, lease_expires_at)
      VALUES (${id}, ${number}, ${start}, ${end}, 500, 'cpu', ${state}, ${progress}, ${done ? piece : null}, ${done ? '0'.repeat(64) : null},
        ${done ? sql.json({}) : null}, ${done ? null : 'a worker'}, ${done ? null : new Date(Date.now() + 86_400_000)})`;
  }
  await sql.end();
  return id;
}

/** What must be there before a page counts as loaded. */
const pages: readonly { name: string; path: () => string; sign: string; signedOut?: boolean }[] = [
  { name: 'sign-in', path: () => '/sign-in', sign: 'New here?', signedOut: true },
  { name: 'sign-up', path: () => '/sign-up', sign: 'Already have an account?', signedOut: true },
  { name: 'link-unknown', path: () => '/invitation#none', sign: 'The link is not valid', signedOut: true },
  { name: 'new-password', path: () => '/new-password#none', sign: 'The link works once', signedOut: true },
  { name: 'invitation', path: () => `/invitation#${invitation}`, sign: 'You are invited to', signedOut: true },
  { name: 'home', path: () => '/', sign: 'processing_failed.mp4' },
  { name: 'enhance', path: () => '/enhance', sign: '$0.12' },
  { name: 'example', path: () => '/example', sign: 'Difference' },
  { name: 'jobs', path: () => '/jobs', sign: 'processing_failed.mp4' },
  { name: 'job-done', path: () => `/jobs/${doneJob}`, sign: 'Difference' },
  { name: 'job-segments', path: () => `/jobs/${segmentedJob}`, sign: '1 of 3 segments done, 2 running' },
  { name: 'job-failed', path: () => `/jobs/${failedJob}`, sign: 'Test jobs are free' },
  { name: 'job-unknown', path: () => '/jobs/job_01jdq4s9xkf5v8t2m6w0c3rhbz', sign: 'There is no such job' },
  { name: 'previews', path: () => '/previews', sign: '4K, model none, sharpen 0.5' },
  { name: 'preview', path: () => `/previews/${preview}`, sign: 'elsewhere in the video' },
  { name: 'preview-unknown', path: () => '/previews/prv_01jdq4s9xkf5v8t2m6w0c3rhbz', sign: 'There is no such preview' },
  { name: 'keys', path: () => '/keys', sign: 'svc_test_…' },
  { name: 'webhooks', path: () => '/webhooks', sign: 'hooks.example.invalid' },
  { name: 'request-log', path: () => '/request-log', sign: 'job_not_found' },
  { name: 'credits', path: () => '/credits', sign: 'Welcome' },
  { name: 'secure', path: () => '/secure', sign: 'job.completed' },
  { name: 'certificates', path: () => '/secure?tab=certificates', sign: 'No certificates yet' },
  { name: 'retention', path: () => '/secure?tab=retention', sign: '1 to 365' },
  { name: 'people', path: () => '/people', sign: 'No open invitations' },
  { name: 'settings', path: () => '/settings', sign: 'Current' },
  { name: 'operator', path: () => '/operator', sign: 'Video enhanced by' },
  { name: 'operator-accounts', path: () => '/operator/accounts', sign: 'Somebody else' },
  { name: 'operator-workers', path: () => '/operator/workers', sign: 'Last seen' },
  { name: 'operator-failures', path: () => '/operator/failures', sign: 'processing_failed' },
  { name: 'nothing', path: () => '/no/such/page', sign: 'This page does not exist' },
];

it.each([1440, 390])('the bar of segments shows the length, state and progress of each, %i pixels wide', async (width) => {
  const { page } = await openTab(world, { theme: 'light', width, height: 800, state: signedIn });
  await page.goto(`${world.url}/jobs/${segmentedJob}`);
  const bar = page.getByRole('progressbar', { name: 'Progress of the job' });
  await bar.waitFor();
  expect(await bar.getAttribute('aria-valuenow')).toBe('50');
  expect(await bar.getAttribute('aria-valuetext')).toBe('50 %, 1 of 3 segments done, 2 running');
  const parts = await bar.locator('.segment').evaluateAll((nodes) =>
    nodes.map((node) => {
      const [part, fill] = [node.getBoundingClientRect(), node.firstElementChild!.getBoundingClientRect()];
      return { classes: node.className, left: part.left, width: part.width, filled: fill.width / part.width, fillsFrom: fill.left - part.left };
    }),
  );
  const { width: whole } = (await bar.boundingBox())!;
  expect(whole).toBeGreaterThan(200);
  expect(parts.map(({ classes }) => classes)).toEqual(segmentsShown.map(({ state }) => `segment ${state}`));
  expect(parts.map(({ left }) => left)).toEqual(parts.map(({ left }) => left).sort((a, b) => a - b));
  for (const [number, { start, end, progress }] of segmentsShown.entries()) {
    // Pixels lie between them.
    expect(Math.abs(parts[number]!.width - (whole * (end - start)) / 60)).toBeLessThan(3);
    expect(parts[number]!.filled).toBeCloseTo(progress, 2);
    expect(parts[number]!.fillsFrom).toBeCloseTo(0, 0);
  }
  await page.context().close();
});

/** Phones show the same elements and colours, except the menu, which has a test of its own. So only `npm run test:long` scans all. */
const scannedOn = (width: number) => (width < 500 && !isLongRun ? { light: null, dark: null } : {});

describe.each([1440, 390])('%i pixels wide', (width) => {
  let tab: Tab;
  let visitor: Tab;
  beforeAll(async () => {
    const height = width < 500 ? 760 : 860;
    tab = await openTab(world, { width, height, state: signedIn });
    visitor = await openTab(world, { width, height });
  });
  afterAll(async () => {
    await tab.page.context().close();
    await visitor.page.context().close();
  });

  for (const { name: pageName, path, sign, signedOut = false } of pages) {
    it(`${pageName} is accessible in both themes, fits, and is quiet`, async () => {
      const { page, complaints } = signedOut ? visitor : tab;
      // A browser does not load a page again for another fragment.
      await page.goto('about:blank');
      await page.goto(`${world.url}${path()}`);
      await page.getByText(sign).filter({ visible: true }).first().waitFor();
      if (['job-done', 'example', 'preview'].includes(pageName)) await page.waitForFunction(() => [...document.querySelectorAll('video')].every((video) => video.readyState >= 2));
      expect(await violationsInBothThemes(page, (theme) => `${pageName}-${theme}-${width}`, scannedOn(width))).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow, 'pixels that stick out to the side').toBe(0);
      expect(complaints).toEqual([]);
      expect(await unreachableByTab(page)).toEqual([]);
      expect(await page.locator('video:not([tabindex="-1"])').count(), 'videos that Firefox stops at').toBe(0);
    });
  }
});

describe('the documentation', () => {
  it('is linked from the navigation, and leads back', async () => {
    const { page, complaints } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/keys`);
    await page.getByRole('link', { name: 'Documentation' }).click();
    await page.getByRole('heading', { name: 'Reelmend', exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/docs');
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

describe('the theme', () => {
  it('follows the system until it is chosen, and stays chosen without a flash', async () => {
    const { page } = await openTab(world, { theme: 'dark', state: signedIn });
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.goto(`${world.url}/settings`);
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    const dark = await paper();
    await page.getByRole('radio', { name: 'Light' }).first().click();
    const light = await paper();
    expect(light).not.toBe(dark);
    // Before the page's own script has run: the document is shown in the chosen theme already.
    await page.route('**/assets/*.js', (route) => route.abort());
    await page.reload();
    expect(await paper()).toBe(light);
    await page.context().close();
  });
});

describe('keys, endpoints and requests', () => {
  it('a restricted key is made with a name, and renamed', async () => {
    const { page, complaints } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/keys`);
    await page.getByText('Read only').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('uploader');
    await page.getByRole('radio', { name: 'Create only' }).check();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'uploader' });
    expect(await row.textContent()).toContain('Create only');
    await row.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('camera');
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'camera' }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('an endpoint is added, shows its secret once, is changed, tested and deleted', async () => {
    const { page, complaints } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/webhooks`);
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByLabel('Endpoint URL').fill('https://hooks.example.invalid/endpoint');
    await page.getByLabel('job.completed').uncheck();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'The secret of the endpoint' });
    expect(await shown.textContent()).toMatch(/whsec_[A-Za-z0-9+/]{43}=/);
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'hooks.example.invalid/endpoint' }).filter({ hasText: 'Enabled' });
    expect(await row.textContent()).toContain('job.failed');
    const choose = async (name: string) => {
      await page.getByRole('button', { name: /^Actions for https/ }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await choose('Send a test event');
    await page.getByText('Sending a test event.').first().waitFor();
    await choose('Change');
    await page.getByLabel('Description').fill('pager');
    await page.getByRole('button', { name: 'Save' }).click();
    await row.filter({ hasText: 'pager' }).waitFor();
    await choose('Disable');
    await page.locator('.badge', { hasText: 'Disabled' }).waitFor();
    await choose('Delete');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No endpoints', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('a refused request is found by its status and shown with its error', async () => {
    const { page, complaints } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/request-log`);
    await page.getByLabel('Status').selectOption('4xx');
    await page.getByLabel('Key').selectOption({ label: 'dashboard' });
    await page.getByRole('button', { name: /^Details of GET/ }).first().click();
    await page.getByText('There is no such job in test mode, the mode of this key.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page.getByLabel('Status').selectOption('5xx');
    await page.getByText('No request matches').waitFor();
    // A request appears a second or two after its response: one looks again.
    const again = page.waitForRequest(/\/request-log\?/, { timeout: 10_000 });
    await page.getByRole('button', { name: 'Find' }).click();
    await again;
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

describe('by the keyboard alone', () => {
  it('one reaches the content, the navigation and its pages', async () => {
    const { page } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/`);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    await page.getByRole('link', { name: 'API keys' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    // The heading has the focus, so that a screen reader says where one is.
    await page.waitForFunction(() => document.activeElement?.textContent === 'API keys' && document.activeElement.tagName === 'H1');
    expect(await page.title()).toBe('API keys · Reelmend');
    await page.context().close();
  });

  it('a dialog keeps the focus, closes on Escape and gives it back', async () => {
    const { page } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/keys`);
    const create = page.getByRole('button', { name: 'Create a key' });
    await create.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    const inside = () => page.evaluate(() => document.activeElement?.closest('dialog') !== null || document.activeElement === document.body);
    for (let press = 0; press < 12; press++) {
      await page.keyboard.press('Tab');
      expect(await inside()).toBe(true);
    }
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('dialog') === null);
    expect(await create.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.context().close();
  });

  it('a copy button keeps the focus where the browser has no clipboard API, and says if nothing was copied', async () => {
    const { page } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/jobs/${doneJob}`);
    // As on pages over http from another machine. Pages without this permission are answered alike.
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
      document.addEventListener('copy', () => Object.assign(window, { copied: (document.activeElement as HTMLTextAreaElement).value }));
    });
    const copy = page.getByRole('button', { name: /^Copy/ }).first();
    await copy.press('Enter');
    await page.waitForFunction((id) => (window as { copied?: string }).copied === id, doneJob);
    expect(await copy.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.evaluate(() => {
      document.execCommand = () => false;
    });
    await copy.press('Enter');
    await page.locator('.toast', { hasText: 'The browser does not let this page copy.' }).waitFor();
    await page.context().close();
  });

  it('messages are heard, seen and dismissed while a dialog is open, and stay when it closes', async () => {
    const { page } = await openTab(world, { state: signedIn });
    const devtools = await page.context().newCDPSession(page);
    /** Texts of the live regions that screen readers get: what lies outside of a modal dialog is hidden from them. */
    const heard = async () => {
      const { nodes } = await devtools.send('Accessibility.getFullAXTree');
      const regions = nodes.filter(({ ignored, role }) => !ignored && role?.value === 'status').flatMap(({ childIds = [] }) => childIds);
      return nodes.filter(({ nodeId }) => regions.includes(nodeId)).map(({ name }) => name?.value as string);
    };
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const copy = page.getByRole('button', { name: 'Copy the test key' });
    await copy.click();
    await expect.poll(heard, { timeout: 10_000 }).toContain('Copied.');
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
      document.execCommand = () => false;
    });
    const refusal = 'The browser does not let this page copy. Select the text and copy it.';
    await copy.click();
    await expect.poll(heard, { timeout: 10_000 }).toContain(refusal);
    await page.getByRole('button', { name: 'Dismiss' }).click({ timeout: 10_000 });
    expect(await page.locator('.toast').count()).toBe(0);
    await copy.click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.locator('.toast', { hasText: refusal }).waitFor();
    await page.context().close();
  });

  it('the menu of a narrow page opens, leads somewhere and closes', async () => {
    const { page } = await openTab(world, { width: 360, state: signedIn });
    await page.goto(`${world.url}/`);
    await page.getByRole('button', { name: 'Open the menu' }).press('Enter');
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Credits' }).press('Enter');
    await page.getByRole('heading', { name: 'Credits', exact: true }).waitFor();
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    // To the same page again.
    await page.getByRole('button', { name: 'Open the menu' }).press('Enter');
    await page.getByRole('link', { name: 'Credits' }).press('Enter');
    await page.getByRole('navigation').waitFor({ state: 'hidden', timeout: 10_000 });
    await page.context().close();
  });
});

it('nothing sticks out of its panel where pages are 320 pixels wide, as when a narrow window is enlarged to 400 %', async () => {
  for (const signedOut of [true, false]) {
    const { page } = await openTab(world, { width: 320, height: 640, ...(signedOut ? {} : { state: signedIn }) });
    for (const { name, path, sign } of pages.filter((each) => (each.signedOut === true) === signedOut)) {
      await page.goto(`${world.url}${path()}`);
      await page.getByText(sign).first().waitFor();
      const outside = await page.evaluate(() => {
        const scrolled = '.table-scroll, pre, .tabs-list, thead, .jobs-head, .visually-hidden, svg, .stage';
        const isOutside = (element: Element) => {
          const limit = element.closest('.panel')?.getBoundingClientRect().right ?? innerWidth;
          return element.checkVisibility() && element.closest(scrolled) === null && element.getBoundingClientRect().right > limit + 1;
        };
        return [...document.querySelectorAll('main, main *')].filter(isOutside).map((element) => element.outerHTML.slice(0, 100));
      });
      expect(outside, name).toEqual([]);
    }
    await page.context().close();
  }
});

describe('texts as long as they may be', () => {
  let job: string;
  let settings: string;

  beforeAll(async () => {
    const accounts = await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list');
    const { id } = accounts.find(({ name }) => name === 'Operations')!;
    const { key } = await world.site.reelmend<{ key: string }>('keys', 'create', id, '--mode', 'test', '--name', 'k'.repeat(100));
    const body = JSON.stringify({ url: `https://hooks.example.invalid/${'u'.repeat(200)}`, description: 'd'.repeat(100) });
    const made = await fetch(`${world.service.url}/v1/webhook-endpoints`, { method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, body });
    expect(made.status).toBe(201);
    const { page } = await openTab(world, { state: signedIn });
    await page.goto(`${world.url}/`);
    job = await createTestJob(page, world, `${'n'.repeat(200)}.mp4`, { metadata: { ['m'.repeat(40)]: 'v'.repeat(500) } });
    settings = await createTestPreview(page, world, [{ resolution: '1080p' }, { resolution: '4k' }, { resolution: '4k', model: 'none' }]);
    await page.context().close();
  });

  it.each([1440, 390])('fit, %i pixels wide', async (width) => {
    const { page } = await openTab(world, { width, height: 800, state: signedIn });
    const signs = { '/keys': 'k'.repeat(100), '/webhooks': 'd'.repeat(100), [`/jobs/${job}`]: 'm'.repeat(40), [`/previews/${settings}`]: 'Make the whole video with this' };
    for (const [path, sign] of Object.entries(signs)) {
      await page.goto(`${world.url}${path}`);
      await page.getByText(sign).first().waitFor();
      const outside = await page.evaluate(() =>
        [document.documentElement, ...document.querySelectorAll('.table-scroll, .button')].filter((element) => element.scrollWidth > element.clientWidth).map((element) => element.outerHTML.slice(0, 100)),
      );
      expect(outside, path).toEqual([]);
    }
    await page.context().close();
  });
});
