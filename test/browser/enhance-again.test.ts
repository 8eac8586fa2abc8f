/** Another job of the same video with the same settings. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSignedUp } from './steps.ts';
import { axeViolations, createTestJob, violationsInBothThemes, type World } from './world.ts';

let world: World;
let page: Page;
beforeAll(async () => {
  ({ world, page } = await openSignedUp());
});
afterAll(() => world?.close());

interface Detail {
  job: { status: string; requested: object; metadata: object };
  video_url: string;
  webhook_url: string;
}

const detailOf = (id: string) => page.evaluate(async (job) => (await (await fetch(`/console/api/jobs/${job}`)).json()) as Detail, id);
const pageOfJob = /\/jobs\/(job_\w{26})$/;

it.each(['holiday.mp4', 'processing_failed.mp4'])('a job of %s that has ended is made again, once also after a lost response', async (file) => {
  const settings = { model: 'none', enhancements: { sharpen: 0.3 }, output: { quality: 20 } };
  const more = { ...settings, secure: true, metadata: { order: 'A-1' }, webhook_url: 'https://hooks.example.com/x' };
  const id = await createTestJob(page, world, file, more);
  await page.goto(`${world.url}/jobs/${id}`);
  const again = page.getByRole('button', { name: 'Enhance again' });
  await again.click();
  await page.getByRole('dialog', { name: 'Enhance this video again?' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.route('**/console/api/jobs', async (route) => {
    await route.fetch({ maxRetries: 3 });
    await route.abort();
  }, { times: 1 });
  const run = page.getByRole('dialog').getByRole('button', { name: 'Run in test mode' });
  await run.click();
  await page.getByText('The service cannot be reached.').first().waitFor();
  await run.click();
  await page.waitForURL((url) => pageOfJob.test(url.pathname) && !url.pathname.endsWith(id));
  const [, second] = pageOfJob.exec(new URL(page.url()).pathname)!;
  const [first, made] = [await detailOf(id), await detailOf(second!)];
  expect(made).toMatchObject({ video_url: first.video_url, webhook_url: first.webhook_url, mode: 'test', job: { requested: settings, metadata: { order: 'A-1' }, tier: 'secure' } });
  const listed = await page.evaluate(async () => ((await (await fetch('/console/api/jobs')).json()) as { data: { source_name: string }[] }).data.map(({ source_name: name }) => name));
  expect(listed.filter((name) => name === file)).toHaveLength(2);
});

it('a job from an upload is made again only while the upload is kept, also on a page that stays open', async () => {
  const id = await createTestJob(page, world, 'holiday.mp4');
  const now = Date.parse('2026-11-21T08:00:00Z');
  let end: string | null = new Date(now + 3_600_000).toISOString();
  // The URL's job, as it would be from an upload.
  await page.route(`**/console/api/jobs/${id}`, async (route) => {
    const detail = (await (await route.fetch({ maxRetries: 3 })).json()) as Detail;
    await route.fulfill({ json: { ...detail, video_url: null, upload_expires_at: end, job: { ...detail.job, upload_id: 'upl_01jdq4s9xkf5v8t2m6w0c3rhbz' } } });
  });
  await page.clock.install({ time: now });
  await page.goto(`${world.url}/jobs/${id}`);
  const again = page.getByRole('button', { name: 'Enhance again' });
  const reason = page.getByText('The upload is no longer kept.');
  await again.click();
  await page.getByText(/^The upload is kept until .*\d/).waitFor();
  await page.keyboard.press('Escape');
  expect(await reason.count()).toBe(0);
  await page.clock.fastForward(3_601_000);
  await reason.waitFor();
  expect(await again.isDisabled()).toBe(true);
  expect(await violationsInBothThemes(page)).toEqual([]);
  end = null;
  await page.reload();
  await reason.waitFor();
  expect(await again.isDisabled()).toBe(true);
  await page.getByRole('link', { name: 'Upload the file again' }).click();
  await page.waitForURL('**/console/enhance');
});
