/** What becomes of the console's pages when the session ends, and whoever signs in then. */
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitForToast } from './operator.ts';
import { chooseFiles, createKeyAndClose, openKeyDialog, openSignedUp, removeFile } from './steps.ts';
import { createTestJob, makeTestClip, openTab, password, signUp, unavailable, type World } from './world.ts';

let world: World;
let page: Page;

beforeAll(async () => {
  ({ world, page } = await openSignedUp());
  const other = await openTab(world);
  await signUp(other, world, 'grace@example.com', 'Operations');
  await other.page.context().close();
});

afterAll(() => world?.close());

const clip = (name: string) => makeTestClip(world, name);

const choose = (paths: string[]) => chooseFiles(page, world, paths);

const remove = (name: string) => removeFile(page, name);

/** As after its last day, or when an admin has ended it. */
const endSession = () => page.context().clearCookies();

async function signInAgain(email = 'ada@example.com'): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor({ state: 'detached' });
}

/** As Grace. */
async function signOut(): Promise<void> {
  await page.getByRole('button', { name: 'Operations' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

const submit = () => page.getByRole('button', { name: 'Run in test mode', exact: true });
const saysThatItHasEnded = () => page.getByText('Your session has ended.').waitFor();

/** Until the first part of the first file is being sent: before, its upload needs the session. */
async function sendFiles(...names: string[]): Promise<void> {
  const sending = page.waitForRequest('**/v1/upload-parts/**');
  await choose(await Promise.all(names.map(clip)));
  await sending;
}

/** The page is told, as by another window. */
async function endSessionMeanwhile(): Promise<void> {
  await endSession();
  await page.evaluate(() => new BroadcastChannel('reelmend-session').postMessage('signed in'));
  await saysThatItHasEnded();
}

/** Asks for the session and keeps the answer back. Returns the function that gives it. */
async function askForSession(): Promise<() => Promise<void>> {
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  const path = '**/console/api/session';
  const asked = new Promise<void>((resolve) => {
    void page.route(path, async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      resolve();
      await held;
      await route.fulfill({ response }).catch(() => undefined);
      await page.unroute(path);
    });
  });
  await page.evaluate(() => new BroadcastChannel('reelmend-session').postMessage('signed in'));
  await asked;
  return async () => {
    answer();
    // It would have been taken by then.
    await page.waitForTimeout(300);
  };
}

describe('a session that ends', () => {
  it('leaves the input of a dialog, which can be sent after signing in again', async () => {
    await page.goto(`${world.url}/keys`);
    await openKeyDialog(page);
    const name = page.getByRole('dialog').getByLabel('Name');
    await name.fill('typed before');
    await endSession();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await saysThatItHasEnded();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await signInAgain();
    expect(await name.inputValue()).toBe('typed before');
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.locator('dialog [data-secret]').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText('typed before').waitFor();
  });

  it('leaves a new video with its file and its settings', async () => {
    await choose([await clip('kept.mp4')]);
    await remove('kept.mp4').waitFor();
    await page.getByRole('radio', { name: '4K' }).check();
    await expect.poll(() => submit().isEnabled()).toBe(true);
    await endSession();
    await submit().click();
    await saysThatItHasEnded();
    await signInAgain();
    expect(await page.getByRole('radio', { name: '4K' }).isChecked()).toBe(true);
    await submit().click();
    await page.waitForURL(/\/jobs\/job_/);
    await page.getByRole('heading', { name: 'kept.mp4' }).waitFor();
  });

  it('pauses a video, which goes on when it is played again', async () => {
    await page.goto(`${world.url}/jobs/${await createTestJob(page, world, 'played.mp4')}`);
    const player = page.getByRole('region', { name: 'Player' });
    const isPaused = () => player.locator('video').first().evaluate((video: HTMLVideoElement) => video.paused);
    await player.getByRole('button', { name: 'Play' }).click();
    await expect.poll(isPaused).toBe(false);
    await endSessionMeanwhile();
    expect(await page.evaluate(() => [...document.querySelectorAll('video')].every((video) => video.paused))).toBe(true);
    await signInAgain();
    await player.getByRole('button', { name: 'Play' }).click();
    await expect.poll(isPaused).toBe(false);
  });

  it('goes on sending a file', async () => {
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    await page.route('**/v1/upload-parts/**', async (route) => {
      await held;
      await route.continue();
    });
    await sendFiles('sent-meanwhile.mp4');
    await endSessionMeanwhile();
    await signInAgain();
    go();
    await remove('sent-meanwhile.mp4').waitFor();
    await remove('sent-meanwhile.mp4').click();
    await page.unroute('**/v1/upload-parts/**');
  });

  it('goes on with files that could not be sent without it', async () => {
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    await page.route('**/v1/upload-parts/**', async (route) => {
      await held;
      await route.continue();
    });
    await sendFiles('first.mp4', 'second.mp4');
    await endSessionMeanwhile();
    const refused = page.waitForResponse((response) => response.url().endsWith('/console/api/uploads') && response.status() === 401);
    go();
    await refused;
    await signInAgain();
    await remove('first.mp4').waitFor({ timeout: 20_000 });
    await remove('second.mp4').waitFor({ timeout: 20_000 });
    expect(await page.getByRole('alert').count()).toBe(0);
    await remove('first.mp4').click();
    await remove('second.mp4').click();
    await page.unroute('**/v1/upload-parts/**');
  });

  it('leaves nothing to somebody else who signs in, nor after signing out', async () => {
    await page.goto(`${world.url}/keys`);
    await page.getByText('typed before').waitFor();
    await openKeyDialog(page);
    await page.getByRole('dialog').getByLabel('Name').fill('of Ada');
    await endSession();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await saysThatItHasEnded();
    await signInAgain('grace@example.com');
    await page.getByText('No keys yet').waitFor();
    expect([await page.getByRole('dialog').count(), await page.getByText('typed before').count()]).toEqual([0, 0]);
    // Also where the session had ended before.
    for (const end of [() => undefined, endSession]) {
      await end();
      await signOut();
      expect(await page.getByText('Your session has ended.').count()).toBe(0);
      expect(await page.locator('.shell').count()).toBe(0);
      await signInAgain('grace@example.com');
    }
  });

  it.each([
    ['somebody else signs in', () => signInAgain('grace@example.com')],
    ['its user signs out in another window', async () => {
      await page.evaluate(() => new BroadcastChannel('reelmend-session').postMessage('signed out'));
      await page.getByText('Your session has ended.').waitFor({ state: 'detached' });
      await signInAgain('grace@example.com');
    }],
  ])('sends no file any more when %s', async (_, leave) => {
    await page.context().clearCookies();
    await page.goto(`${world.url}/`);
    await signInAgain();
    let created = 0;
    const count = (request: Request) => void (created += Number(request.method() === 'POST' && request.url().endsWith('/console/api/uploads')));
    page.on('request', count);
    await page.route('**/v1/upload-parts/**', () => {});
    await sendFiles('first.mp4', 'second.mp4');
    const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('/v1/upload-parts/'));
    await endSessionMeanwhile();
    await leave();
    await aborted;
    // The second file would be sent after the first one.
    await page.waitForTimeout(300);
    expect(created).toBe(1);
    page.off('request', count);
    await page.unroute('**/v1/upload-parts/**');
  });

  it('is not mistaken for the next one: answers of the former session that come late change nothing', async () => {
    const answerOfSignedIn = await askForSession();
    await signOut();
    await answerOfSignedIn();
    expect(await page.locator('.shell').count()).toBe(0);
    const answerOfSignedOut = await askForSession();
    await signInAgain('grace@example.com');
    await answerOfSignedOut();
    expect(await page.getByRole('heading', { name: 'Sign in' }).count()).toBe(0);
  });

  it('leaves no messages to somebody else, neither those that were shown nor those that come later', async () => {
    const messages = () => page.getByText('The service is busy.').count();
    const answer = await createKeyAndClose(page, world, 'refused');
    await answer(unavailable);
    await waitForToast(page, 'Create a key: The service is busy.');
    await signOut();
    expect(await messages()).toBe(0);
    await signInAgain('grace@example.com');
    const answerLater = await createKeyAndClose(page, world, 'refused later');
    await signOut();
    await answerLater(unavailable);
    // It would be shown by then.
    await page.waitForTimeout(300);
    expect(await messages()).toBe(0);
  });
});
