/** Pages that stay open or are come back to: in many tabs, while many jobs end, while the browser translates them, by Back, and after one has crashed. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleJobDetail } from '../../src/contract/types.gen.ts';
import { openKeyDialog, openSignedUp } from './steps.ts';
import { createTestJob, openTab, type World } from './world.ts';

let world: World;
let page: Page;
beforeAll(async () => {
  ({ world, page } = await openSignedUp());
});
afterAll(() => world?.close());

/** Hides the page or shows it, as a browser does when somebody goes to another tab. This browser shows all pages at once. */
const hide = (tab: Page, isHidden: boolean) =>
  tab.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    Object.defineProperty(document, 'visibilityState', { value: hidden ? 'hidden' : 'visible', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);

it('is shown in more tabs than a browser has connections to a service, and catches up where it is seen again', async () => {
  // With connections of their own.
  const { page: first } = await openTab(world, { state: await page.context().storageState() });
  const tabs = [first];
  while (tabs.length < 7) tabs.push(await first.context().newPage());
  for (const tab of tabs) {
    await tab.goto(`${world.url}/jobs`);
    await tab.getByText('No jobs yet').waitFor();
    if (tab !== tabs.at(-1)) await hide(tab, true);
  }
  await createTestJob(page, world, 'elsewhere.mp4');
  await tabs.at(-1)!.getByRole('link', { name: 'elsewhere.mp4' }).waitFor();
  expect(await first.getByText('No jobs yet').count()).toBe(1);
  await hide(first, false);
  await first.getByRole('link', { name: 'elsewhere.mp4' }).waitFor();
  await first.locator('.jobs-row', { hasText: 'Done' }).waitFor();
  await first.context().close();
});

it('asks for the ledger only now and then while many jobs end', async () => {
  await page.goto(`${world.url}/credits`);
  await page.getByText('No transfers yet').waitFor();
  let calls = 0;
  await page.route('**/console/api/ledger?**', async (route) => {
    calls += 1;
    await route.fallback();
  });
  const begin = Date.now();
  for (let job = 0; job < 25; job++) await createTestJob(page, world, `many-${job}.mp4`);
  const lastOf = () => page.evaluate(async () => ((await (await fetch('/console/api/jobs?q=many-24')).json()) as { data: { status: string }[] }).data[0]!.status);
  await expect.poll(lastOf).toBe('done');
  // Once at the first end, once more after each pause, and once if the stream was opened anew.
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThanOrEqual((Date.now() - begin) / 2000 + 2);
  await page.unroute('**/console/api/ledger?**');
});

/** Opens the page of a job that runs until the returned function is called. */
async function openRunning(name: string, more: object = {}): Promise<() => void> {
  const id = await createTestJob(page, world, name, more);
  let isHeld = true;
  await page.route(`**/console/api/jobs/${id}`, async (route) => {
    const response = await route.fetch({ maxRetries: 3 });
    const detail = (await response.json()) as ConsoleJobDetail;
    const job: ConsoleJobDetail['job'] = { ...detail.job, status: 'running', progress: 0.5, finished_at: null, error: null };
    await route.fulfill({ response, json: isHeld ? { ...detail, job } : detail });
  });
  await page.goto(`${world.url}/jobs/${id}`);
  await page.getByRole('progressbar').waitFor();
  return () => (isHeld = false);
}

it.each([
  ['holiday.mp4', 'The job is done.'],
  ['processing_failed.mp4', /^The job failed\. ./],
])('tells screen readers how the job of %s ends', async (name, sentence) => {
  const end = await openRunning(name);
  const heard = page.getByRole('status').getByText(sentence);
  expect(await heard.count()).toBe(0);
  end();
  await heard.waitFor();
});

it('shows each fact of a job once when it ends, though its metadata has one of the same name', async () => {
  const end = await openRunning('holiday.mp4', { webhook_url: 'https://hooks.example.com/', metadata: { Webhook: 'of the customer' } });
  const facts = page.getByRole('region', { name: 'Job', exact: true }).locator('dt');
  await facts.getByText('Webhook').first().waitFor();
  end();
  await facts.getByText('Took').waitFor();
  expect(await facts.allTextContents()).toEqual(['Resolution', 'Created', 'Took', 'Files deleted', 'Webhook', 'Webhook']);
});

it('does not ask to delete a job that ends while it asks to cancel it', async () => {
  const end = await openRunning('holiday.mp4');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog', { name: 'Cancel this job?' }).waitFor();
  end();
  await page.locator('.toast').getByText('The job has ended meanwhile.').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete this job?' }).waitFor();
});

it('keeps a message that somebody points at or that has the focus', async () => {
  const id = await createTestJob(page, world, 'holiday.mp4');
  const { page: tab } = await openTab(world, { state: await page.context().storageState() });
  await tab.clock.install();
  await tab.goto(`${world.url}/jobs/${id}`);
  await tab.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
    document.execCommand = () => false;
  });
  const message = tab.locator('.toast');
  const hold = [() => message.hover(), () => tab.getByRole('button', { name: 'Dismiss' }).focus()];
  const letGo = [() => tab.mouse.move(0, 0), () => tab.getByRole('heading', { level: 1 }).focus()];
  for (const [index, begin] of hold.entries()) {
    await tab.getByRole('button', { name: 'Copy the job’s id' }).click();
    await begin();
    await tab.clock.runFor(20_000);
    expect(await message.count()).toBe(1);
    await letGo[index]!();
    await tab.clock.runFor(2000);
    expect(await message.count()).toBe(0);
  }
  await tab.context().close();
});

/** Does with the page what Chrome does that translates it, now and whatever comes. Texts are moved into their translation, or replaced. */
const translate = (isMoved: boolean) =>
  page.evaluate((moved) => {
    const translateText = (text: Text) => {
      if (text.data.trim() === '' || text.parentElement?.closest('font, script, style, [translate=no]') !== null) return;
      const [outer, inner] = [document.createElement('font'), document.createElement('font')];
      outer.append(inner);
      text.replaceWith(outer);
      inner.append(moved ? text : `«${text.data}»`);
    };
    const translateAll = (root: Node) => {
      const texts: Text[] = [];
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      for (let node: Node | null = walker.currentNode; node !== null; node = walker.nextNode()) if (node instanceof Text) texts.push(node);
      texts.forEach(translateText);
    };
    translateAll(document.body);
    new MutationObserver((records) => records.forEach(({ addedNodes }) => addedNodes.forEach(translateAll))).observe(document.body, { childList: true, subtree: true });
  }, isMoved);

describe.each([
  ['replaced', false],
  ['moved', true],
])('a page whose texts are translated, the nodes %s', (_, isMoved) => {
  it('sends forms, and leaves secrets as they are', async () => {
    await page.goto(`${world.url}/keys`);
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await translate(isMoved);
    await openKeyDialog(page);
    await page.getByRole('dialog').getByLabel('Name').fill('translated');
    await page.getByRole('button', { name: /^«?Create»?$/ }).click();
    expect(await page.locator('[data-secret]').textContent()).toMatch(/^svc_test_\w+$/);
    expect(await page.getByText('This page crashed.').count()).toBe(0);
  });

  it('shows what changes', async () => {
    const end = await openRunning('holiday.mp4');
    const state = page.locator('.page-head .badge').first();
    await state.getByText('Running').waitFor();
    await translate(isMoved);
    end();
    await state.getByText('Done').waitFor();
    await page.getByRole('region', { name: 'Player' }).waitFor();
  });
});

it.each([
  { path: '/request-log', choices: { Status: '4xx', Mode: 'test' }, id: `job_${'0'.repeat(26)}`, query: `?status=4xx&mode=test&resource_id=job_${'0'.repeat(26)}`, empty: 'No request matches' },
  { path: '/webhooks', choices: { State: 'dead' }, id: undefined, query: '?state=dead', empty: 'No delivery matches' },
])('has the filters of $path in the URL, so that Back from another page finds them again', async ({ path, choices, id, query, empty }) => {
  const search = page.getByLabel('Request, job, upload or endpoint id');
  await page.goto(`${world.url}${path}`);
  for (const [name, value] of Object.entries(choices)) await page.getByLabel(name, { exact: true }).selectOption(value);
  if (id !== undefined) {
    await search.fill(id);
    await page.getByRole('button', { name: 'Find' }).click();
  }
  await page.waitForURL(`${world.url}${path}${query}`);
  await page.getByText(empty).waitFor();
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
  await page.goBack();
  await page.getByText(empty).waitFor();
  for (const [name, value] of Object.entries(choices)) expect(await page.getByLabel(name, { exact: true }).inputValue()).toBe(value);
  if (id !== undefined) expect(await search.inputValue()).toBe(id);
});

it('crashes alone: the navigation leads on', async () => {
  const entry = { id: 1, kind: 'grant', amount: 5, balance: 5, job_id: null, note: '', at: 'no time' };
  await page.route('**/console/api/ledger?**', (route) => route.fulfill({ json: { data: [entry], has_more: false, next_cursor: null } }));
  await page.goto(`${world.url}/credits`);
  await page.getByText('This page crashed.').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  await page.unroute('**/console/api/ledger?**');
});
