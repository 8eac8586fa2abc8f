/** Weight and speed: the first load, and the list of 10,000 jobs. */
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { openTab, openWorld, signUp, type Tab, type World } from './world.ts';

const jobCount = 10_000;
const limitMs = 100;
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
}, 300_000);

afterAll(() => world?.close());

/** Ended jobs of the sandbox; every tenth one failed. */
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
      step: 'sandbox',
    };
  });
  for (let at = 0; at < jobs.length; at += 1000) await sql`INSERT INTO jobs ${sql(jobs.slice(at, at + 1000))}`;
  await sql`ANALYZE jobs`;
  await sql.end();
}

/** ms from an input to the picture that answers it, the worst of `action`; by the browser's own Event Timing. */
async function worstInteraction(page: Page, action: () => Promise<void>): Promise<{ worstMs: number; events: number }> {
  await page.evaluate(() => {
    const seen: number[] = [];
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.push(entry.duration);
    });
    observer.observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
    Object.assign(window, { interactions: { seen, observer } });
  });
  await action();
  await page.waitForTimeout(150);
  return page.evaluate(() => {
    const { seen, observer } = (window as unknown as { interactions: { seen: number[]; observer: PerformanceObserver } }).interactions;
    observer.disconnect();
    return { worstMs: Math.max(0, ...seen), events: seen.length };
  });
}

type Figures = { name: string; worstMs: number; events: number }[];
const isQuick = (figures: Figures): boolean => figures.every(({ worstMs }) => worstMs < limitMs);

/** Types, clears, filters, follows a link and comes back: the worst answer to each. */
async function interactions(page: Page): Promise<Figures> {
  const figures: Figures = [];
  const measure = async (name: string, action: () => Promise<void>): Promise<void> => {
    figures.push({ name, ...(await worstInteraction(page, action)) });
  };
  await measure('typing', async () => {
    await page.getByLabel('Find by id').pressSequentially('zzzz', { delay: 60 });
    await page.getByText('No job matches these filters').waitFor();
  });
  await measure('clearing', async () => {
    await page.getByRole('button', { name: 'Show all jobs' }).click();
    await page.getByText('10,000 jobs').waitFor();
  });
  await measure('filtering', async () => {
    await page.getByLabel('Status').focus();
    await page.keyboard.press('f');
    await page.getByText('clip-9998.mp4').waitFor({ state: 'detached' });
  });
  await measure('leaving', async () => {
    await page.getByRole('link', { name: 'clip-9999.mp4' }).click();
    await page.getByRole('heading', { name: 'clip-9999.mp4' }).waitFor();
  });
  await measure('coming back', async () => {
    await page.getByRole('link', { name: 'Jobs' }).first().click();
    await page.getByText('10,000 jobs').waitFor();
  });
  return figures;
}

/** Scrolls by a fixed way and returns the worst time from the wheel's frame to the next one. */
function worstScrollFrame(page: Page, steps: number, byPixels: number): Promise<number> {
  return page.evaluate(
    async ({ steps, byPixels }) => {
      let worst = 0;
      for (let step = 0; step < steps; step++) {
        const before = await new Promise<number>(requestAnimationFrame);
        window.scrollBy(0, byPixels);
        window.dispatchEvent(new Event('scroll'));
        const after = await new Promise<number>((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        // Two frames lie between: the one that works the scrolling in, and the one after it.
        worst = Math.max(worst, after - before);
      }
      return worst;
    },
    { steps, byPixels },
  );
}

/** Other work of the machine must not count: a measurement over the limit is repeated, and the best one stands. */
async function bestOf(tries: number, limit: number, measure: () => Promise<number>): Promise<number> {
  let best = Infinity;
  for (let attempt = 0; attempt < tries && best >= limit; attempt++) best = Math.min(best, await measure());
  return best;
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
    expect(await page.locator('.jobs-row').count()).toBeLessThan(60);
  }, 300_000);

  it('scrolls without a frame that takes long', async () => {
    const { page } = tab;
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.waitForTimeout(300);
    for (const [name, steps, byPixels] of [['steps', 40, 700], ['leaps', 20, 20_000]] as const) {
      const worst = await bestOf(8, limitMs, () => worstScrollFrame(page, steps, byPixels));
      console.log(`scrolling 10,000 jobs in ${name}: worst ${worst.toFixed(0)} ms`);
      expect(worst, name).toBeLessThan(limitMs);
      await page.evaluate(() => window.scrollTo(0, 0));
    }
  });

  it('answers typing, filters and links in less than 100 ms', async () => {
    const { page } = tab;
    await page.evaluate(() => window.scrollTo(0, 0));
    const rounds: Figures[] = [];
    for (let round = 0; round < 8 && !rounds.some(isQuick); round++) rounds.push(await interactions(page));
    console.log(rounds.map((figures) => figures.map(({ name, worstMs }) => `${name} ${worstMs} ms`).join(', ')).join('; '));
    for (const { name, events } of rounds.flat()) expect(events, `${name} was not measured`).toBeGreaterThan(0);
    expect(rounds.some(isQuick)).toBe(true);
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
    await first.getByText('fresh.mp4').waitFor({ timeout: 20_000 });
    await first.getByText('Done').waitFor({ timeout: 20_000 });
    await page.getByText('10,001 jobs').waitFor();
    expect(tab.complaints).toEqual([]);
  });
});
