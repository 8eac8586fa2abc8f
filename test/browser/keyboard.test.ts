/** The whole way of one video by the keyboard alone, in a real browser: from signing in to the certificate of its deletion. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyCertificate } from '../../src/evidence/index.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { eventually } from '../helpers/wait.ts';
import { meanDifference, openTab, openWorld, pixelsOf, type Tab, type World } from './world.ts';

const email = 'ada@example.com';
let dir: string;
let files: FileServer;
let world: World;
let tab: Tab;
let page: Page;
let password: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-keyboard-'));
  await makeClip(join(dir, 'walk.mp4'), { video: 'testsrc2=size=160x90:rate=10', seconds: 2, audio: null, args: ['-c:v', 'libx264', '-crf', '35'] });
  files = await startFileServer({ dir });
  world = await openWorld({ REELMEND_DEMO: '1', REELMEND_ALLOW_HOSTS: files.hostPort }, { quickDemo: true });
  ({ password } = await world.site.reelmend<{ password: string }>('users', 'add', email, '--name', 'Analytical Engines'));
  const accounts = await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list');
  await world.site.reelmend('accounts', 'grant', accounts.find(({ name }) => name === 'Analytical Engines')!.id, '100');
  tab = await openTab(world);
  page = tab.page;
  await page.addInitScript(() => {
    const pointed: string[] = [];
    for (const type of ['pointerdown', 'mousedown', 'touchstart']) window.addEventListener(type, () => pointed.push(type), true);
    Object.assign(window, { pointed });
  });
  // The only URL that is opened: the rest is reached from there.
  await page.goto(`${world.url}/`);
});

afterAll(async () => {
  await world?.close();
  await files?.close();
  await rm(dir, { recursive: true, force: true });
});

const jobId = () => /job_\w+/.exec(page.url())![0];
const press = (key: string) => page.keyboard.press(key);
const button = (name: string) => page.getByRole('button', { name, exact: true });
const hasFocus = (target: Locator) => target.evaluate((element) => element === document.activeElement);
const waitForFocus = (target: Locator) => eventually(() => hasFocus(target));
const heading = (name: string) => page.getByRole('heading', { name, exact: true });

/** Presses Tab, or Shift+Tab, until the control has the focus; the focus must be visible there. */
async function reach(target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor();
  for (let presses = 0; !(await hasFocus(target)); presses++) {
    if (presses === 100) throw new Error(`${key} never reaches ${String(target)}`);
    await press(key);
  }
  // The control, what it is part of, or a part of it is outlined.
  const isOutlined = await target.evaluate((element) =>
    [element, element.closest('.choice, .drop'), ...element.children].some((each) => each !== null && getComputedStyle(each).outlineStyle !== 'none'),
  );
  expect(isOutlined, `the focus is visible on ${String(target)}`).toBe(true);
}

/** Presses an arrow key, which moves the focus to the next control of a group. */
async function moveTo(target: Locator, key: 'ArrowDown' | 'ArrowRight'): Promise<void> {
  await press(key);
  await waitForFocus(target);
}

/** The page that follows has the focus on its heading, so that a screen reader says where one is. */
async function arriveAt(name: string): Promise<void> {
  await heading(name).waitFor();
  await page.waitForFunction((text) => document.activeElement?.tagName === 'H1' && document.activeElement.textContent === text, name);
}

it('signs in', async () => {
  await heading('Sign in').waitFor();
  expect(await hasFocus(page.getByLabel('Email'))).toBe(true);
  await page.keyboard.type(email);
  await press('Tab');
  await page.keyboard.type(password);
  await press('Enter');
  await heading('Home').waitFor();
});

it('chooses the video and how it is enhanced, and sees the price', async () => {
  await reach(page.getByRole('navigation').getByRole('link', { name: 'Enhance a video' }));
  await press('Enter');
  await arriveAt('Enhance a video');

  await reach(page.getByRole('radio', { name: 'Sample' }));
  await press('ArrowDown');
  expect(await page.getByRole('radio', { name: 'URL' }).isChecked()).toBe(true);
  await press('Tab');
  await page.keyboard.type(`${files.url}/walk.mp4`);
  await page.getByText('$0.06').waitFor();
  await reach(page.getByLabel('Secure tier'));
  await press('Space');
  await page.getByText('$0.12').waitFor();
  await reach(page.getByRole('radio', { name: '1080p' }), 'Shift+Tab');
  await press('ArrowDown');
  expect(await page.getByRole('radio', { name: '4K' }).isChecked()).toBe(true);
  await page.getByText('$0.24').waitFor();
  await press('ArrowUp');
  await page.getByText('$0.12').waitFor();
  await reach(page.locator('summary', { hasText: 'Enhancements, bitrate and webhook' }));
  await press('Enter');
  await reach(page.getByLabel('Model'));
  await page.keyboard.type('None');
  expect(await page.getByLabel('Model').inputValue()).toBe('none');
  await page.getByText('$0.12').waitFor();
  expect(await page.getByText('160 × 90, h264').isVisible()).toBe(true);
});

it('starts the job and waits until it is done', async () => {
  // The button can be used once the price is that of the last change.
  await page.locator('button[type=submit]:enabled').waitFor();
  await reach(button('Enhance'));
  await press('Enter');
  await page.waitForURL(/\/jobs\/job_/);
  await arriveAt('walk.mp4');
  await page.getByRole('region', { name: 'Before and after' }).waitFor();
  expect(await page.locator('dt', { hasText: 'Condition' }).locator('+ dd').innerText()).toBe('compressed');
  await page.waitForFunction(() => [...document.querySelectorAll('video')].every((video) => video.readyState >= 3));
});

it('moves the slider of the comparison, and plays and pauses it', async () => {
  const slider = page.getByRole('slider', { name: 'Divider between before and after' });
  const position = async () => Number(await slider.getAttribute('aria-valuenow'));
  await reach(slider);
  const look = async (key: string) => {
    await press(key);
    return pixelsOf(await page.locator('.stage').screenshot());
  };
  const after = await look('Home');
  expect(await position()).toBe(0);
  const before = await look('End');
  expect(await position()).toBe(100);
  expect(meanDifference(after, before, 0, 1)).toBeGreaterThan(0.3);
  for (const [key, moved] of [['ArrowLeft', 98], ['ArrowDown', 96], ['ArrowRight', 98], ['PageDown', 88], ['PageUp', 98]] as const) {
    await press(key);
    expect([key, await position()]).toEqual([key, moved]);
  }
  await reach(button('Play'));
  await press('Space');
  await button('Pause').waitFor();
  await press('Space');
  await button('Play').waitFor();
  await reach(page.getByRole('radio', { name: 'Slider' }));
  for (const mode of ['Side by side', 'Difference']) await moveTo(page.getByRole('radio', { name: mode }), 'ArrowRight');
  await press('Space');
  await page.getByText('Difference × 4').waitFor();
});

it('downloads the result', async () => {
  await reach(button('Download'), 'Shift+Tab');
  const [download] = await Promise.all([page.waitForEvent('download'), press('Enter')]);
  expect(download.suggestedFilename()).toBe(`${jobId()}-1080p.mp4`);
  expect((await ffprobe(await download.path())).streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, height: 1080, nb_read_frames: '20' });
});

it('deletes the job after the question of a dialog, and saves the certificate', async () => {
  const id = jobId();
  await reach(button('Delete'));
  const dialog = page.getByRole('dialog', { name: 'Delete this job?' });
  await press('Enter');
  await dialog.waitFor();
  await press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await hasFocus(button('Delete'))).toBe(true);
  await press('Enter');
  await reach(dialog.getByRole('button', { name: 'Delete permanently' }));
  await press('Space');
  await page.getByText('The job is deleted.').waitFor();
  await arriveAt('walk.mp4');
  await page.getByText('The signature is valid.').waitFor();
  await reach(button('Save'));
  const [download] = await Promise.all([page.waitForEvent('download'), press('Enter')]);
  const keys = (await (await fetch(`${world.service.url}/.well-known/jwks.json`)).json()) as Parameters<typeof verifyCertificate>[1];
  const certificate = await verifyCertificate(await readFile(await download.path(), 'utf8'), keys);
  expect(certificate).toMatchObject({ job_id: id });
});

it('chooses a file of this computer, sees its price, and removes it again', async () => {
  // Listens before the key is pressed: the browser must know by then that a test answers its dialog.
  page.once('filechooser', (chooser) => void chooser.setFiles(join(dir, 'walk.mp4')));
  await reach(page.getByRole('navigation').getByRole('link', { name: 'Enhance a video' }), 'Shift+Tab');
  await press('Enter');
  await arriveAt('Enhance a video');
  await reach(page.getByRole('radio', { name: 'Sample' }));
  await press('ArrowUp');
  expect(await page.getByRole('radio', { name: 'Files' }).isChecked()).toBe(true);
  await reach(page.getByLabel('Video files'));
  await press('Enter');
  await page.getByText('$0.06').waitFor();
  await reach(button('Remove walk.mp4'), 'Shift+Tab');
  await press('Space');
  await page.getByText('Choose a video to see its price.').waitFor();
});

it('signs out, and has used no pointer and met no error', async () => {
  await reach(button('Analytical Engines'), 'Shift+Tab');
  await press('Enter');
  await waitForFocus(page.getByRole('menuitem', { name: 'Password and sessions' }));
  await moveTo(page.getByRole('menuitem', { name: 'Sign out' }), 'ArrowDown');
  await press('Enter');
  await heading('Sign in').waitFor();
  // No page was loaded anew since the beginning.
  expect(await page.evaluate(() => (window as unknown as { pointed: string[] }).pointed)).toEqual([]);
  expect(tab.complaints).toEqual([]);
});
