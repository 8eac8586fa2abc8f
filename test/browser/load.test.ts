/**
 * Weight and work: the first load, and the list of 10,000 jobs. What makes the list quick is counted, not timed: rows that
 * are put into the page, requests, and what a key press waits for. A slow machine changes none of these numbers.
 */
import type { Page, Request } from 'playwright-core';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { createTestJob, openTab, openWorld, signUp, type Tab, type World } from './world.ts';

const jobCount = 10_000;
/** Rows that fit the window and those kept ready above and below it; the whole list would be thousands. */
const mostRows = 60;
let world: World;
let tab: Tab;
let accountId: string;

beforeAll(async () => {
  world = await openWorld();
  tab = await openTab(world);
  await signUp(tab, world, 'ada@example.com', 'Analytical Engines');
  accountId = await tab.page.evaluate(async () => {
    const session = (await (await fetch('/console/api/session')).json()) as { account: { id: string } };
    return session.account.id;
  });
  await seedJobs();
});

// Chromium sometimes stops drawing frames. Each further test of this page would wait for its whole time.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await world.browser.close();
});
afterAll(() => world?.close());

/** Ended jobs of test mode; every tenth one failed. */
async function seedJobs(): Promise<void> {
  const sql = postgres(world.site.databaseUrl, { max: 1, onnotice: () => {} });
  const output = { width: 1920, height: 1080, size_bytes: 1, sha256: '0'.repeat(64) };
  const jobs = Array.from({ length: jobCount }, (_, index) => {
    const failed = index % 10 === 9;
    return {
      id: newId('job'),
      account_id: accountId,
      mode: 'test',
      tier: 'standard',
      status: failed ? 'error' : 'done',
      resolution: index % 3 === 0 ? '4k' : '1080p',
      video_url: `https://media.example.com/clip-${index}.mp4`,
      duration_seconds: (index % 600) + 1,
      credits_charged: 0,
      progress: 1,
      output: failed ? null : sql.json(output),
      error_code: failed ? 'processing_failed' : null,
      error_message: failed ? 'It failed.' : null,
      started_at: new Date(),
      finished_at: new Date(),
      expires_at: new Date(Date.now() + 86_400_000),
      step: 'test_mode',
    };
  });
  for (let at = 0; at < jobs.length; at += 1000) await sql`INSERT INTO jobs ${sql(jobs.slice(at, at + 1000))}`;
  await sql`ANALYZE jobs`;
  await sql.end();
}

interface Work {
  /** rows of the list that were put into the page */
  rowsAdded: number;
  /** requests for pages of the list */
  listRequests: number;
}

/** What an action makes the page and the service do. */
async function workOf(page: Page, action: () => Promise<void>): Promise<Work> {
  let listRequests = 0;
  const count = (request: Request) => {
    if (request.method() === 'GET' && new URL(request.url()).pathname === '/console/api/jobs') listRequests += 1;
  };
  await page.evaluate(() => {
    const added = { rows: 0 };
    const observer = new MutationObserver((records) => {
      for (const node of records.flatMap(({ addedNodes }) => [...addedNodes])) {
        if (!(node instanceof Element)) continue;
        added.rows += Number(node.matches('.jobs-row')) + node.querySelectorAll('.jobs-row').length;
      }
    });
    observer.observe(document.body, { childList: true, subtree: true });
    Object.assign(window, { rowCount: { added, observer } });
  });
  page.on('request', count);
  await action();
  page.off('request', count);
  const rowsAdded = await page.evaluate(async () => {
    const { added, observer } = (window as unknown as { rowCount: { added: { rows: number }; observer: MutationObserver } }).rowCount;
    await new Promise((resolve) => setTimeout(resolve)); // the observer is told of the last changes
    observer.disconnect();
    return added.rows;
  });
  return { rowsAdded, listRequests };
}

/**
 * Scrolls by a fixed way and tells of each step whether a row fills the middle of the window, two frames later. If
 * Chromium draws no frames, a screenshot may wake it.
 */
async function stepsWithRows(page: Page, steps: number, byPixels: number): Promise<boolean[]> {
  const filled = (await scroll(page, steps, byPixels)) ?? (await scrollOnceMore(page, steps, byPixels));
  if (filled === null) throw new Error('The browser has drawn no frame for a minute');
  return filled;
}

async function scrollOnceMore(page: Page, steps: number, byPixels: number): Promise<boolean[] | null> {
  await page.screenshot({ timeout: 10_000 }).catch(() => undefined);
  return scroll(page, steps, byPixels);
}

/** null: no frame was drawn for a minute. */
function scroll(page: Page, steps: number, byPixels: number): Promise<boolean[] | null> {
  return page.evaluate(
    async ({ steps, byPixels }) => {
      const filled: boolean[] = [];
      const twoFrames = () => new Promise<boolean>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))));
      const oneMinute = () => new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 60_000));
      for (let step = 0; step < steps; step++) {
        window.scrollBy(0, byPixels);
        if (!(await Promise.race([twoFrames(), oneMinute()]))) return null;
        const middle = document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 2);
        filled.push(middle?.closest('.jobs-row') !== null);
      }
      return filled;
    },
    { steps, byPixels },
  );
}

describe('the first load', () => {
  it('is under 250 kB compressed, scripts and styles and all', async () => {
    const fresh = await openTab(world, { state: await tab.page.context().storageState() });
    const client = await fresh.page.context().newCDPSession(fresh.page);
    await client.send('Network.enable');
    let bytes = 0;
    client.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await fresh.page.goto(`${world.url}/`);
    await fresh.page.getByRole('heading', { name: 'Home' }).waitFor();
    await fresh.page.waitForTimeout(500);
    console.log(`first load: ${Math.round(bytes / 1000)} kB compressed`);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(250_000);
    await fresh.page.context().close();
  });
});

describe('the list of 10,000 jobs', () => {
  it('is loaded page by page while it is scrolled, to its end, with few rows in the page', async () => {
    const { page } = tab;
    await page.goto(`${world.url}/jobs`);
    await page.getByText('clip-9999.mp4').waitFor();
    await page.getByText('100 loaded').waitFor();
    await page.evaluate(async () => {
      const text = () => document.querySelector('.toolbar-count')?.textContent ?? '';
      for (let round = 0; round < 2000 && text() !== '10,000 jobs'; round++) {
        window.scrollTo(0, document.documentElement.scrollHeight);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    await page.getByText('10,000 jobs').waitFor();
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.getByText('clip-0.mp4').waitFor();
    expect(await page.locator('.jobs-row').count()).toBeLessThan(mostRows);
  });

  it('draws only the rows of the window while it is scrolled, and leaves no gap', async () => {
    const { page } = tab;
    for (const [name, steps, byPixels] of [['steps', 40, 700], ['leaps', 20, 20_000]] as const) {
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.getByText('clip-9999.mp4').waitFor();
      let filled: boolean[] = [];
      const { rowsAdded, listRequests } = await workOf(page, async () => {
        filled = await stepsWithRows(page, steps, byPixels);
      });
      expect(filled, name).toEqual(Array.from({ length: steps }, () => true));
      expect(rowsAdded, name).toBeGreaterThan(steps);
      expect(rowsAdded, name).toBeLessThan(steps * mostRows);
      expect(listRequests, name).toBe(0);
    }
    await page.evaluate(() => window.scrollTo(0, 0));
  });

  it('answers typing, filters and links with a window of rows and at most one request each', async () => {
    const { page } = tab;
    await page.getByText('clip-9999.mp4').waitFor();
    const typed = await workOf(page, async () => {
      await page.getByLabel('Find by name or id').pressSequentially('uuuu', { delay: 60 }); // ids have no u
      await page.getByText('No job matches these filters').waitFor();
    });
    const cleared = await workOf(page, async () => {
      await page.getByRole('button', { name: 'Show all jobs' }).click();
      await page.getByText('10,000 jobs').waitFor();
    });
    expect(await page.getByLabel('Find by name or id').inputValue()).toBe('');
    const filtered = await workOf(page, async () => {
      await page.getByLabel('Status').focus();
      await page.keyboard.press('f');
      await page.getByText('clip-9998.mp4').waitFor({ state: 'detached' });
      await page.getByText('100 loaded').waitFor();
    });
    const left = await workOf(page, async () => {
      await page.getByRole('link', { name: 'clip-9999.mp4' }).click();
      await page.getByRole('heading', { name: 'clip-9999.mp4' }).waitFor();
    });
    const returned = await workOf(page, async () => {
      await page.getByRole('link', { name: 'Jobs' }).first().click();
      await page.getByText('10,000 jobs').waitFor();
    });
    const work = { typed, cleared, filtered, left, returned };
    console.log(JSON.stringify(work));
    const requests = { typed: 4, cleared: 0, filtered: 1, left: 0, returned: 0 };
    for (const [name, { rowsAdded, listRequests }] of Object.entries(work)) {
      expect(rowsAdded, name).toBeLessThan(mostRows);
      expect(listRequests, name).toBeLessThanOrEqual(requests[name as keyof typeof requests]);
    }
    for (const { rowsAdded } of [cleared, filtered, returned]) expect(rowsAdded).toBeGreaterThan(10);
  });

  it('shows a typed letter before it touches the list', async () => {
    const { page } = tab;
    await page.getByText('10,000 jobs').waitFor();
    const shown = await page.getByLabel('Find by name or id').evaluate(async (input: HTMLInputElement) => {
      const panel = input.closest('.panel')!;
      const touched: string[] = [];
      const observer = new MutationObserver((records) => {
        for (const { target } of records) if (target instanceof Element && target.closest('.toolbar') === null) touched.push(target.className);
      });
      observer.observe(panel, { childList: true, subtree: true, characterData: true });
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(input, 'u');
      input.dispatchEvent(new InputEvent('input', { bubbles: true, data: 'u' }));
      // React draws the letter in microtasks, the list in a task of its own.
      for (let microtask = 0; microtask < 100; microtask++) await Promise.resolve();
      const now = { query: new URL(location.href).searchParams.get('q'), touched: touched.length };
      observer.disconnect();
      return now;
    });
    expect(shown).toEqual({ query: 'u', touched: 0 });
    await page.getByText('No job matches these filters').waitFor();
    await page.getByRole('button', { name: 'Show all jobs' }).click();
    await page.getByText('10,000 jobs').waitFor();
  });

  it('takes a new job in live, on top, without losing its place', async () => {
    const { page } = tab;
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.getByText('clip-9999.mp4').waitFor();
    const { key } = await world.site.reelmend<{ key: string }>('keys', 'create', accountId, '--mode', 'test');
    const made = await fetch(`${world.service.url}/v1/jobs`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ video_url: 'https://media.example.com/fresh.mp4', resolution: '1080p' }),
    });
    expect(made.status).toBe(201);
    const first = page.locator('.jobs-row').first();
    await first.getByText('fresh.mp4').waitFor();
    // The first result of test mode has to be made.
    await first.getByText('Done').waitFor();
    await page.getByText('10,001 jobs').waitFor();
    expect(tab.complaints).toEqual([]);
  }, 240_000);

  it('stays where it is while somebody reads it and a new job comes in above', async () => {
    const { page } = tab;
    const yOfRow = async () => Math.round((await page.getByRole('link', { name: 'clip-9960.mp4' }).boundingBox())!.y);
    await page.evaluate(() => window.scrollTo(0, 2000));
    await page.getByText('clip-9960.mp4').waitFor();
    const before = await yOfRow();
    await createTestJob(page, world, 'above.mp4');
    await page.getByText('10,002 jobs').waitFor();
    await page.waitForTimeout(200);
    expect(await yOfRow()).toBe(before);
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.locator('.jobs-row').first().getByText('above.mp4').waitFor();
  });

  it('is where it was after Back, though it has to be loaded anew', async () => {
    const { page } = tab;
    const scrolled = () => page.evaluate(() => window.scrollY);
    const leave = {
      'a job that was reloaded': async () => {
        await page.getByRole('link', { name: 'clip-9960.mp4' }).click();
        await page.getByRole('heading', { name: 'clip-9960.mp4' }).waitFor();
        expect(await scrolled()).toBe(0);
        await page.reload();
        await page.getByRole('heading', { name: 'clip-9960.mp4' }).waitFor();
      },
      'the documents': async () => {
        await page.getByRole('navigation').getByRole('link', { name: 'Documentation' }).click();
        await page.waitForURL(/\/docs/);
      },
    };
    for (const [name, go] of Object.entries(leave)) {
      await page.goto(`${world.url}/jobs`);
      await page.getByText('clip-9999.mp4').waitFor();
      await page.evaluate(() => window.scrollTo(0, 2000));
      await page.getByText('clip-9960.mp4').waitFor();
      await go();
      await page.goBack();
      await page.getByText('clip-9960.mp4').waitFor();
      await expect.poll(scrolled, { message: name }).toBe(2000);
    }
    // A link to the list begins at its top.
    await page.getByRole('navigation').getByRole('link', { name: 'Home' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Jobs' }).click();
    await page.getByText('clip-9999.mp4').waitFor();
    expect(await scrolled()).toBe(0);
  });
});
