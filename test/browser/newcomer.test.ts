/** What a new user meets before anything is approved: a real result, wrong input, a failed test job, a service that goes away. */
import { appendFile, mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../helpers/ports.ts';
import { axeViolations, createTestJob, deleteJob, dropFiles, meanDifference, openTab, openWorld, pixelsOf, screenshot, signUp, type Tab, type World } from './world.ts';

let world: World;
let tab: Tab;
beforeAll(async () => {
  world = await openWorld({ PORT: String(await freePorts()), REELMEND_MAX_DURATION_SECONDS: '1200', REELMEND_MAX_FILE_MB: '3000' });
  tab = await openTab(world);
  await signUp(tab, world, 'ada@example.com', 'Analytical Engines');
});
afterAll(() => world?.close());

const videosReady = () => [...document.querySelectorAll('video')].every((video) => video.readyState >= 2 && !video.seeking);

it('compares a real video before and after; gain makes the difference visible', async () => {
  const { page, complaints } = tab;
  await page.getByRole('link', { name: 'Compare before and after' }).click();
  await page.getByRole('region', { name: 'Before and after' }).waitFor();
  await page.waitForFunction(videosReady);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('radio', { name: 'Difference' }).click();
  const brightness = async (gain: string) => {
    await page.getByRole('radio', { name: `Gain ${gain}`, exact: true }).click();
    const shown = await pixelsOf(await page.locator('.stage').screenshot());
    return meanDifference(shown, { ...shown, data: Buffer.alloc(shown.data.length) }, 0.3, 0.7);
  };
  const plain = await brightness('1');
  expect(plain).toBeGreaterThan(0.1);
  // Bright pixels are clipped, so that it is a little less than the gain.
  const fourfold = await brightness('4');
  expect(fourfold / plain).toBeGreaterThan(2.5);
  expect((await brightness('16')) / plain).toBeGreaterThan(6);
  expect(await page.getByText('Difference × 16').isVisible()).toBe(true);
  await screenshot(page, 'example-difference');
  expect(await axeViolations(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

it('says what is wrong with a URL, and not before it is typed', async () => {
  const { page } = tab;
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'URL' }).check();
  const field = page.getByLabel('Video URL');
  const problem = page.getByText('Enter a whole URL');
  await field.pressSequentially('https:/');
  expect(await problem.count()).toBe(0);
  await field.fill('hello');
  await problem.waitFor();
  await screenshot(page, 'wrong-url');
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  expect(await axeViolations(page)).toEqual([]);
  await field.fill('https://media.example.com/hello.mp4');
  expect(await problem.count()).toBe(0);
  // Left half typed, it is wrong.
  await field.fill('https:');
  await field.blur();
  await problem.waitFor();
});

it('is shown a field that the browser refuses, though it is folded away', async () => {
  const { page } = await openTab(world, { state: await tab.page.context().storageState() });
  await page.goto(`${world.url}/enhance`);
  const more = page.getByText('Enhancements, bitrate and webhook');
  const bitrate = page.getByLabel('Largest bitrate');
  await more.click();
  await bitrate.fill('1.25');
  await page.getByText('$0.00').waitFor();
  expect(await bitrate.evaluate((input: HTMLInputElement) => input.validity.valid)).toBe(true);
  // As if the page allowed less than the service.
  await bitrate.evaluate((input: HTMLInputElement) => (input.max = '1'));
  await more.click();
  await page.getByRole('button', { name: 'Run in test mode' }).click();
  await page.waitForFunction(() => document.activeElement?.matches('[type=number]') === true);
  expect(await bitrate.isVisible()).toBe(true);
  await page.context().close();
});

it('drops a folder, a folder in it and a file at once, and chooses a folder: the videos are sent, the rest is left out', async () => {
  const { page } = tab;
  const folder = join(world.site.dataDir, 'holiday');
  await mkdir(join(folder, 'day 2'), { recursive: true });
  const single = join(world.site.dataDir, 'single.mp4');
  for (const path of ['10.mp4', '9.mkv', '.DS_Store', 'notes.txt', 'day 2/beach.MTS'].map((name) => join(folder, name))) await writeFile(path, 'test mode reads no video');
  await writeFile(single, 'test mode reads no video');
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  await page.getByText('Up to 20 min 00 s and 3.0 GB each.').waitFor();
  await dropFiles(page, [folder, single]);
  const sent = (name: string) => page.getByRole('button', { name: `Remove ${name}`, exact: true });
  for (const name of ['single.mp4', 'beach.MTS', '10.mp4', '9.mkv']) await sent(name).waitFor();
  await page.getByText('2 files of the folder left out: no video.').waitFor();
  expect(await page.getByRole('button', { name: /^Remove / }).count()).toBe(4);
  await page.getByRole('button', { name: 'Run in test mode (4 videos)' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await screenshot(page, 'folder-dropped');

  await page.reload();
  await page.getByRole('radio', { name: 'Files' }).check();
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose a folder' }).press('Enter')]);
  await chooser.setFiles(folder);
  for (const name of ['beach.MTS', '10.mp4', '9.mkv']) await sent(name).waitFor();
  expect(await page.getByRole('button', { name: /^Remove / }).count()).toBe(3);
  await page.getByRole('radio', { name: 'URL' }).check();
});

it('sends nothing of a folder that was read only after other videos were chosen', async () => {
  const { page } = tab;
  const folder = join(world.site.dataDir, 'slow');
  await mkdir(folder);
  await writeFile(join(folder, 'late.mp4'), 'test mode reads no video');
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  // As a folder of a network.
  await page.evaluate(() => {
    const entryOf = DataTransferItem.prototype.webkitGetAsEntry;
    DataTransferItem.prototype.webkitGetAsEntry = function () {
      const reader = (entryOf.call(this) as FileSystemDirectoryEntry).createReader();
      const readEntries = (resolve: FileSystemEntriesCallback) =>
        setTimeout(() => reader.readEntries((entries) => {
          if (entries.length === 0) setTimeout(() => Object.assign(window, { isRead: true }), 500);
          resolve(entries);
        }), 300);
      return { isDirectory: true, createReader: () => ({ readEntries }) } as unknown as FileSystemEntry;
    };
  });
  let begun = 0;
  page.on('request', (request) => void (begun += Number(request.method() === 'POST' && request.url().endsWith('/api/uploads'))));
  await dropFiles(page, [folder]);
  await page.getByRole('radio', { name: 'URL' }).check();
  await page.waitForFunction(() => 'isRead' in window);
  expect(begun).toBe(0);
});

it('marks the place to drop while files are over it, also where they pass from its border to its input', async () => {
  const { page } = tab;
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  // As a browser dispatches them: the part that is entered hears of it before the part that is left.
  const marks = await page.evaluate(async () => {
    const area = document.querySelector('.drop')!;
    const input = area.querySelector('input')!;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const isMarked = () => area.classList.contains('over');
    /** Returns whether the area is marked some frames later. A busy machine may need more of them to show a change. */
    const send = async (type: string, target: Element, relatedTarget: Element, expected: boolean) => {
      target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, relatedTarget }));
      for (let n = 0; n < 100 && isMarked() !== expected; n++) await frame();
      for (let n = 0; n < 2; n++) await frame();
      return isMarked();
    };
    return [
      await send('dragenter', area, document.body, true),
      await send('dragenter', input, area, true),
      await send('dragleave', area, input, true),
      await send('dragleave', input, document.body, false),
    ];
  });
  expect(marks).toEqual([true, true, true, false]);
});

it('prices what can be read, a few at a time, and names what cannot', async () => {
  const { page } = tab;
  const names = ['first.mp4', 'unreadable_video.mp4', 'second.mp4', 'third.mp4', 'fourth.mp4'];
  const buffer = Buffer.from('test mode reads no video');
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  let [running, most] = [0, 0];
  await page.route('**/console/api/quotes', async (route) => {
    most = Math.max(most, ++running);
    const response = await route.fetch({ maxRetries: 3 });
    await pause(100);
    running -= 1;
    await route.fulfill({ response });
  });
  await page.getByLabel('Video files').setInputFiles(names.map((name) => ({ name, mimeType: 'video/mp4', buffer })));
  await page.getByText('1 file left out').waitFor();
  await page.getByText(/^unreadable_video\.mp4: /).waitFor();
  await page.getByRole('button', { name: 'Run in test mode (4 videos)' }).waitFor();
  expect(most).toBe(3);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Run in test mode (4 videos)' }).click();
  await page.waitForURL(`${world.url}/jobs`);
  for (const name of ['first.mp4', 'fourth.mp4']) await page.getByText(name).first().waitFor();
  expect(await page.getByText('unreadable_video.mp4').count()).toBe(0);
  // Where none can be read, each is named.
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  await page.getByLabel('Video files').setInputFiles(['unreadable_video.mp4', 'video_too_long.mp4'].map((name) => ({ name, mimeType: 'video/mp4', buffer })));
  await page.getByText(/unreadable_video\.mp4: .* video_too_long\.mp4: /).waitFor();
  await page.unroute('**/console/api/quotes');
});

it('goes on with an upload that has failed', async () => {
  const { page } = tab;
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  await page.route('**/v1/upload-parts/**', (route) => route.abort());
  let begun = 0;
  page.on('request', (request) => void (begun += request.method() === 'POST' && request.url().endsWith('/console/api/uploads') ? 1 : 0));
  await page.getByLabel('Video files').setInputFiles({ name: 'lost.mp4', mimeType: 'video/mp4', buffer: Buffer.from('test mode reads no video') });
  await page.getByRole('alert').getByText('The connection broke while a part was sent.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.unroute('**/v1/upload-parts/**');
  await page.getByRole('button', { name: 'Try again to send lost.mp4' }).click();
  await page.getByText('$0.00').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(begun).toBe(1);
  await page.getByRole('radio', { name: 'URL' }).check();
});

it('is told what to do about a file that cannot be sent, and not to try in vain', async () => {
  const { page } = tab;
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  const [empty, huge, changed] = ['empty.mp4', 'huge.mp4', 'changed.mp4'].map((name) => join(world.site.dataDir, name)) as [string, string, string];
  await writeFile(empty, '');
  await writeFile(huge, '');
  await truncate(huge, 3_500_000_000);
  await writeFile(changed, 'test mode reads no video');
  let go = () => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  await page.route('**/console/api/uploads', async (route) => {
    await held;
    await route.continue();
  });
  const begun = page.waitForRequest('**/console/api/uploads');
  await page.getByLabel('Video files').setInputFiles([empty, huge, changed]);
  await begun;
  await appendFile(changed, ', however long');
  go();
  const saidOf = (name: string) => page.getByRole('alert').filter({ hasText: name });
  await saidOf('empty.mp4').getByText('The file is empty.').waitFor();
  await saidOf('huge.mp4').getByText('The file has 3.5 GB. At most 3.0 GB are accepted.').waitFor();
  await saidOf('changed.mp4').getByText('The file was changed, moved or deleted after it was chosen. Remove it here and choose it again.').waitFor();
  expect(await page.getByRole('button', { name: /^Try again/ }).count()).toBe(0);
  expect(await page.getByRole('button', { name: /^Remove/ }).count()).toBe(3);
  await page.unroute('**/console/api/uploads');
  await page.getByRole('radio', { name: 'URL' }).check();
});

it('hears nothing of money when a test job fails', async () => {
  const { page } = tab;
  await page.getByLabel('Video URL').fill('https://media.example.com/processing_failed.mp4');
  await page.getByText('$0.00').waitFor();
  await page.getByRole('button', { name: 'Run in test mode' }).click();
  await page.waitForURL(/\/jobs\/job_/);
  await page.locator('.badge', { hasText: 'Failed' }).waitFor();
  await page.getByText('The job failed.', { exact: true }).waitFor();
  expect(await page.locator('#content').textContent()).not.toMatch(/refund/i);
});

it('learns that a job that is shown was deleted elsewhere', async () => {
  const { page } = tab;
  const id = await createTestJob(page, world, 'holiday.mp4');
  await page.goto(`${world.url}/jobs/${id}`);
  await page.getByRole('button', { name: 'Delete' }).waitFor();
  await deleteJob(page, world, id);
  await page.getByText('There is no such job').waitFor();
  await page.getByRole('heading', { name: 'holiday.mp4' }).waitFor();
});

it('is told when the service is away, and when it is back', async () => {
  const { page } = tab;
  await page.goto(`${world.url}/jobs`);
  await page.getByText('processing_failed.mp4').waitFor();
  const away = page.getByText('The service cannot be reached.');
  expect(await away.count()).toBe(0);
  await world.service.kill();
  await away.waitFor();
  await screenshot(page, 'service-away');
  expect(await axeViolations(page)).toEqual([]);
  // What was there stays.
  expect(await page.getByText('processing_failed.mp4').isVisible()).toBe(true);
  await world.site.start('start');
  await away.waitFor({ state: 'detached' });
});
