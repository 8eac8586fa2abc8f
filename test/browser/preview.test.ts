/** Settings compared on a few seconds, the whole video made with one of them, and the previews that were made, in a real browser. */
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConsolePreview } from '../../src/contract/types.gen.ts';
import { eventually } from '../helpers/wait.ts';
import { axeViolations, createTestPreview, deletePreview, openTab, openWorld, screenshot, signUp, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ REELMEND_DEMO: '1' }, { quickDemo: true });
});
afterAll(() => world?.close());

it('shows the original and two settings side by side and in step; the job has the settings that were chosen', async () => {
  const tab = await openTab(world);
  const { page, complaints } = tab;
  await signUp(tab, world, 'ada@example.com', 'Analytical Engines');
  await page.goto(`${world.url}/enhance`);
  await page.getByText('$0.00').waitFor();
  const add = page.getByRole('button', { name: 'Add these settings' });
  await add.click();
  // The same settings twice would show nothing.
  expect(await add.isDisabled()).toBe(true);
  await page.getByText('Enhancements, bitrate and webhook').click();
  await page.getByLabel('Model').selectOption('none');
  await page.getByText('$0.00').waitFor();
  await add.click();
  await page.getByRole('button', { name: 'Make a preview' }).click();

  const preview = page.getByRole('region', { name: 'Preview', exact: true });
  await preview.locator('video').first().waitFor();
  const stretches = preview.getByRole('region');
  expect(await stretches.count()).toBe(3);
  const first = stretches.first();
  expect(await first.locator('figcaption').allTextContents()).toEqual(['Original', '1080p, automatic', '1080p, model none']);
  const times = () => first.locator('video').evaluateAll((videos) => videos.map((video) => (video as HTMLVideoElement).currentTime));
  await first.getByRole('button', { name: /^Play/ }).click();
  await eventually(async () => (await times()).every((time) => time > 0.1));
  await first.getByRole('button', { name: /^Pause/ }).click();
  await eventually(async () => {
    const [leader, ...others] = await times();
    return others.length === 2 && others.every((time) => Math.abs(time - leader!) < 0.01);
  });
  expect(await axeViolations(page)).toEqual([]);
  await screenshot(page, 'preview-light-1280');

  await preview.getByRole('button', { name: 'Make the whole video with this', description: '1080p, model none' }).click();
  await page.waitForURL(/\/jobs\/job_/);
  const sql = postgres(world.site.databaseUrl, { max: 1 });
  const rows = await sql`SELECT id, model, preview IS NOT NULL AS is_preview FROM jobs ORDER BY created_at`;
  await sql.end();
  expect(rows.map(({ model, is_preview }) => [model, is_preview])).toEqual([
    [null, true],
    ['none', false],
  ]);
  expect(complaints).toEqual([]);
});

it('makes another preview with the same settings after a failure and after a deletion', async () => {
  const tab = await openTab(world);
  const { page, complaints } = tab;
  await signUp(tab, world, 'mary@example.com', 'Somerville');
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'URL' }).check();
  const make = async () => {
    const created = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/api/previews'));
    await page.getByRole('button', { name: 'Make a preview' }).click();
    const response = await created;
    expect(response.status()).toBe(201);
    return ((await response.json()) as { id: string }).id;
  };
  const choose = async (url: string) => {
    await page.getByLabel('Video URL').fill(url);
    await page.getByText('$0.00').waitFor();
  };

  await choose('https://media.example.com/processing_failed.mp4');
  const failed = await make();
  await page.getByText('The preview failed.').waitFor();
  expect(await make()).not.toBe(failed);

  await choose('https://media.example.com/holiday.mp4');
  const deleted = await make();
  await page.locator('video').first().waitFor();
  await page.getByRole('button', { name: 'Delete the preview' }).click();
  await page.getByRole('region', { name: 'Preview', exact: true }).waitFor({ state: 'detached' });
  expect(await make()).not.toBe(deleted);
  await page.locator('video').first().waitFor();

  // A lost response: the same request again makes no second preview.
  await page.route('**/console/api/previews', async (route) => {
    await route.fetch({ maxRetries: 3 });
    await route.abort();
  }, { times: 1 });
  await page.getByRole('button', { name: 'Make a preview' }).click();
  await page.getByText('The service cannot be reached.').waitFor();
  const made = async () => {
    const sql = postgres(world.site.databaseUrl, { max: 1 });
    const [row] = await sql`SELECT count(*)::int AS count FROM jobs WHERE preview IS NOT NULL`;
    await sql.end();
    return row!['count'] as number;
  };
  const before = await made();
  await make();
  expect(await made()).toBe(before);
  expect(complaints.filter((each) => !each.includes('net::ERR_FAILED'))).toEqual([]);
});

it('lists what was made, shows it again, makes the video with another setting, and deletes it', async () => {
  const tab = await openTab(world);
  const { page, complaints } = tab;
  await signUp(tab, world, 'grace@example.com', 'Operations');
  await page.getByRole('link', { name: 'Previews' }).click();
  await page.getByText('No previews yet').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await createTestPreview(page, world, [{ resolution: '1080p' }, { resolution: '4k', model: 'none' }]);
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'holiday.mp4' });
  await row.getByText('4K, model none', { exact: true }).waitFor();
  await row.filter({ hasText: 'Done' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await screenshot(page, 'previews-light-1280');

  await row.getByRole('link', { name: 'holiday.mp4' }).press('Enter');
  await page.waitForURL(/\/previews\/prv_/);
  await page.locator('video').first().waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const url = page.url();
  await page.getByRole('button', { name: 'Make the whole video with this', description: '4K, model none' }).click();
  await page.waitForURL(/\/jobs\/job_/);
  await page.getByRole('heading', { name: 'holiday.mp4' }).waitFor();

  await page.goto(url);
  await page.getByRole('button', { name: 'Delete the preview' }).click();
  await page.getByText('No previews yet').waitFor();
  await page.goto(url);
  await page.getByText('There is no such preview').waitFor();
  expect(complaints).toEqual([]);
});

it('is gone from the list and from the history once it is deleted', async () => {
  const tab = await openTab(world);
  const { page, complaints } = tab;
  await signUp(tab, world, 'joan@example.com', 'Bletchley');
  await createTestPreview(page, world, [{ resolution: '1080p' }]);
  await page.goto(`${world.url}/previews`);
  await page.getByRole('row').filter({ hasText: 'Done' }).waitFor();
  await page.getByRole('link', { name: 'holiday.mp4' }).click();
  await page.locator('video').first().waitFor();
  await page.getByRole('button', { name: 'Delete the preview' }).click();
  // Sooner than the list is polled.
  await page.getByText('No previews yet').waitFor({ timeout: 4000 });
  await page.goBack();
  await page.getByText('There is no such preview').waitFor({ timeout: 20_000 });
  expect(complaints).toEqual([]);
});

it('is no longer shown as running, nor asked for, once another window has deleted it', async () => {
  const tab = await openTab(world);
  const { page, complaints } = tab;
  await signUp(tab, world, 'mae@example.com', 'Jemison');
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'URL' }).check();
  await page.getByLabel('Video URL').fill('https://media.example.com/slow.mp4');
  const created = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/api/previews'));
  await page.getByRole('button', { name: 'Make a preview' }).click();
  const { id } = (await (await created).json()) as { id: string };
  const shown = page.getByRole('region', { name: 'Preview', exact: true });
  await shown.getByRole('progressbar').waitFor();
  const gone = page.waitForResponse((response) => response.status() === 404 && response.url().endsWith(id));
  await deletePreview(page, world, id);
  await gone;
  await shown.getByText('The preview was deleted.').waitFor();
  expect([await shown.getByRole('progressbar').count(), await shown.getByRole('button').count()]).toEqual([0, 0]);
  let requests = 0;
  page.on('request', (request) => (requests += Number(request.url().endsWith(id))));
  await page.waitForTimeout(2500);
  expect(requests).toBe(0);
  expect(complaints).toEqual([]);
});

it('changes the balance that is shown when it is made, and when it is refunded', async () => {
  const tab = await openTab(world);
  const { page, complaints } = tab;
  await signUp(tab, world, 'hedy@example.com', 'Lamarr');
  const { id } = (await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list')).find(({ name }) => name === 'Lamarr')!;
  await world.site.reelmend('accounts', 'approve', id);
  await world.site.reelmend('accounts', 'grant', id, '1000');
  await page.goto(`${world.url}/enhance`);
  const balance = page.locator('dt', { hasText: 'Balance' }).locator('xpath=following-sibling::dd[1]');
  await expect.poll(() => balance.textContent(), { timeout: 30_000 }).toBe('1,000 credits');
  const make = page.getByRole('button', { name: 'Make a preview' });
  const [, price] = /\((\d+) credits/.exec((await make.textContent())!)!;
  // It does not end by itself.
  await page.route('**/console/api/previews/prv_*', async (route) => {
    const response = await route.fetch({ maxRetries: 3 });
    const json = (await response.json()) as ConsolePreview;
    Object.assign(json.preview, { status: 'running', stretches: null });
    await route.fulfill({ response, json });
  });
  await make.click();
  await expect.poll(() => balance.textContent(), { timeout: 30_000 }).toBe(`${1000 - Number(price)} credits`);
  // As where it has failed and was refunded.
  await world.site.reelmend('accounts', 'grant', id, price!);
  await page.unroute('**/console/api/previews/prv_*');
  await expect.poll(() => balance.textContent(), { timeout: 30_000 }).toBe('1,000 credits');
  expect(complaints).toEqual([]);
});
