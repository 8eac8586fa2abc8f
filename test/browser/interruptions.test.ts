/** What becomes of new videos and jobs when something comes in between: a refusal, a lost answer, a page that is left or closed. */
import type { Page, Request, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitForToast } from './operator.ts';
import { createTestJob, makeTestClip, openTab, openWorld, password, signUp, unavailable, type World } from './world.ts';

let world: World;
let page: Page;

beforeAll(async () => {
  world = await openWorld();
  const tab = await openTab(world);
  ({ page } = tab);
  await signUp(tab, world, 'ada@example.com', 'Analytical Engines');
});

afterAll(() => world?.close());

const clip = (name: string) => makeTestClip(world, name);

/** Names of the videos of all jobs, sorted. */
const jobNames = () =>
  page.evaluate(async () => {
    const { data } = (await (await fetch('/console/api/jobs')).json()) as { data: { source_name: string }[] };
    return data.map(({ source_name: name }) => name).toSorted();
  });

/** Answers the creation of jobs with `answer` where it returns true. */
async function onCreation(answer: (route: Route, fileNumber: number) => Promise<boolean>): Promise<() => Promise<void>> {
  let count = 0;
  const handler = async (route: Route) => {
    if (route.request().method() !== 'POST' || !(await answer(route, ++count))) await route.fallback();
  };
  await page.route('**/console/api/jobs', handler);
  return () => page.unroute('**/console/api/jobs', handler);
}

async function chooseFiles(paths: string[]): Promise<void> {
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  await page.getByLabel('Video files').setInputFiles(paths);
}

const remove = (name: string) => page.getByRole('button', { name: `Remove ${name}` });

describe('several videos, one of which is not accepted', () => {
  it('names the jobs that were created, and creates only the others when they are submitted with other settings', async () => {
    await chooseFiles([await clip('one.mp4'), await clip('two.mp4'), await clip('three.mp4')]);
    const allow = await onCreation(async (route, number) => {
      if (number !== 2) return false;
      await route.fulfill(unavailable);
      return true;
    });
    await page.getByRole('button', { name: 'Run in test mode (3 videos)' }).click();
    await page.getByText('The service is busy.').waitFor();
    const created = page.getByRole('status').filter({ hasText: '1 job created, but not that of two.mp4' });
    expect(await created.getByRole('link', { name: 'one.mp4' }).getAttribute('href')).toMatch(/\/console\/jobs\/job_\w+$/);
    await remove('two.mp4').waitFor();
    expect([await remove('one.mp4').count(), await remove('three.mp4').count()]).toEqual([0, 1]);
    await allow();

    await page.getByRole('radio', { name: '4K' }).check();
    await page.getByRole('button', { name: 'Run in test mode (2 videos)' }).click();
    await page.waitForURL(`${world.url}/jobs`);
    expect(await jobNames()).toEqual(['one.mp4', 'three.mp4', 'two.mp4']);
  });
});

const submit = () => page.getByRole('button', { name: 'Run in test mode', exact: true });

async function submitInVain(): Promise<void> {
  await submit().click();
  await page.getByText('The service cannot be reached.').first().waitFor();
}

describe('a job whose creation got no answer', () => {
  it('is created once, though the settings were changed before it was submitted again', async () => {
    await chooseFiles([await clip('lost.mp4')]);
    const allow = await onCreation(async (route, number) => {
      if (number !== 1) return false;
      await route.fetch();
      await route.abort();
      return true;
    });
    await submitInVain();
    await page.getByRole('radio', { name: '4K' }).check();
    await submit().click();
    await page.waitForURL(/\/jobs\/job_/);
    await page.getByText('An earlier attempt had already created this job').first().waitFor();
    await allow();
    expect((await jobNames()).filter((name) => name === 'lost.mp4')).toHaveLength(1);
  });

  it('is created with the new settings if the service had not received it', async () => {
    await chooseFiles([await clip('unsent.mp4')]);
    const allow = await onCreation(async (route, number) => {
      if (number !== 1) return false;
      await route.abort();
      return true;
    });
    await submitInVain();
    await page.getByRole('radio', { name: '4K' }).check();
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/console/api/jobs'));
    await submit().click();
    expect((await sent).postDataJSON()).toMatchObject({ request: { resolution: '4k' } });
    await page.waitForURL(/\/jobs\/job_/);
    await allow();
    expect((await jobNames()).filter((name) => name === 'unsent.mp4')).toHaveLength(1);
  });
});

describe('a job that is created while its page is left', () => {
  it('does not call the person away from the page where they are', async () => {
    await chooseFiles([await clip('slow.mp4')]);
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const allow = await onCreation(async (route) => {
      const response = await route.fetch();
      await held;
      await route.fulfill({ response });
      return true;
    });
    await submit().click();
    await page.getByRole('navigation').getByRole('link', { name: 'Credits' }).click();
    await page.waitForURL(`${world.url}/credits`);
    const created = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/console/api/jobs'));
    answer();
    await created;
    await expect(page.waitForURL(/\/jobs\//, { timeout: 500 })).rejects.toThrow('Timeout');
    await allow();
    expect(await jobNames()).toContain('slow.mp4');
  });
});

describe('a file that is being sent', () => {
  /** Chooses a file whose parts never arrive; returns the id of its upload. */
  async function stalledUpload(name: string): Promise<string> {
    await page.route('**/v1/upload-parts/**', () => undefined);
    const answer = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/console/api/uploads'));
    await chooseFiles([await clip(name)]);
    const { id } = (await (await answer).json()) as { id: string };
    await page.getByRole('progressbar', { name: `Upload of ${name}` }).waitFor();
    return id;
  }

  const statusOf = (id: string) => page.evaluate(async (upload) => (await fetch(`/console/api/uploads/${upload}`)).status, id);
  const leave = () => page.getByRole('navigation').getByRole('link', { name: 'Jobs' }).click();

  afterAll(() => page.unroute('**/v1/upload-parts/**'));

  it('is not lost without a question when the page is closed', async () => {
    const id = await stalledUpload('asked.mp4');
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    expect(await statusOf(id)).toBe(200);
    await page.getByRole('button', { name: 'Cancel asked.mp4' }).click();
    await expect.poll(() => statusOf(id)).toBe(404);
    // Nothing is being sent any more, so nobody is asked.
    await page.goto(`${world.url}/jobs`);
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
  });

  it('is deleted at the service when another page of the console is opened', async () => {
    const id = await stalledUpload('left.mp4');
    await leave();
    await expect.poll(() => statusOf(id)).toBe(404);
  });

  it('is deleted at the service when the page is closed nevertheless', async () => {
    const id = await stalledUpload('closed.mp4');
    page.once('dialog', (dialog) => void dialog.accept());
    await page.goto(`${world.url}/jobs`);
    await expect.poll(() => statusOf(id)).toBe(404);
  });

  it('is deleted at the service when it is left before the service has answered', async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    const created = new Promise<string>((resolve) => {
      void page.route('**/console/api/uploads', async (route) => {
        const response = await route.fetch();
        resolve(((await response.json()) as { id: string }).id);
        await held;
        await route.fulfill({ response }).catch(() => undefined);
      });
    });
    await chooseFiles([await clip('early.mp4')]);
    const id = await created;
    await leave();
    answer();
    await expect.poll(() => statusOf(id)).toBe(404);
    await page.unroute('**/console/api/uploads');
  });
});

describe('a file that was sent', () => {
  const statusOf = (id: string) => page.evaluate(async (upload) => (await fetch(`/console/api/uploads/${upload}`)).status, id);
  const leave = () => page.getByRole('navigation').getByRole('link', { name: 'Jobs' }).click();

  async function sent(name: string): Promise<string> {
    const answer = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/console/api/uploads'));
    await chooseFiles([await clip(name)]);
    const { id } = (await (await answer).json()) as { id: string };
    await remove(name).waitFor();
    await page.getByText('$0.00').waitFor();
    return id;
  }

  it('is deleted at the service when it is left unsubmitted, for other videos or another page', async () => {
    const replaced = await sent('replaced.mp4');
    await page.getByRole('radio', { name: 'Sample' }).check();
    await expect.poll(() => statusOf(replaced)).toBe(404);
    const left = await sent('unsubmitted.mp4');
    await leave();
    await expect.poll(() => statusOf(left)).toBe(404);
  });

  it('is not left without a question', async () => {
    await sent('asked-too.mp4');
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    await (await asked).dismiss();
    await remove('asked-too.mp4').click();
  });

  it('stays where a preview was made of it, and where its job is being created', async () => {
    const previewed = await sent('previewed.mp4');
    await page.getByRole('button', { name: 'Make a preview' }).click();
    await page.getByRole('region', { name: 'Preview', exact: true }).waitFor();
    await leave();
    const submitted = await sent('submitted.mp4');
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    const allow = await onCreation(async () => {
      await held;
      return false;
    });
    await submit().click();
    await leave();
    await page.waitForURL(`${world.url}/jobs`);
    go();
    await expect.poll(jobNames).toContain('submitted.mp4');
    await allow();
    for (const id of [previewed, submitted]) expect(await statusOf(id)).toBe(200);
  });
});

describe('jobs that are being created', () => {
  it('are not left without a question', async () => {
    await chooseFiles([await clip('slow.mp4')]);
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    const allow = await onCreation(async () => {
      await held;
      return false;
    });
    await page.getByRole('button', { name: 'Run in test mode', exact: true }).click();
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    await (await asked).dismiss();
    go();
    await page.waitForURL(/\/jobs\/job_/);
    await allow();
  });
});

const openKeyDialog = () => page.getByRole('button', { name: 'Create a key' }).first().click();

/** Begins to create a key and closes the dialog. Returns the function that answers, with `answer` or as the service does. */
async function createKeyAndClose(name: string): Promise<(answer?: object) => Promise<void>> {
  await page.goto(`${world.url}/keys`);
  await openKeyDialog();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  let go = (_answer?: object) => {};
  const held = new Promise<object | undefined>((resolve) => (go = resolve));
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/console/api/keys'));
  await page.route('**/console/api/keys', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    const answer = await held;
    return answer === undefined ? route.continue() : route.fulfill(answer);
  });
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await sent;
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  return async (answer) => {
    go(answer);
    await page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/console/api/keys'));
    await page.unroute('**/console/api/keys');
  };
}

describe('a dialog that is closed during its request', () => {
  it('tells of an error that comes later', async () => {
    const answer = await createKeyAndClose('refused');
    await answer(unavailable);
    await waitForToast(page, 'Create a key: The service is busy.');
  });

  it('still shows a secret that is shown only once', async () => {
    const answer = await createKeyAndClose('shown late');
    await answer();
    await page.locator('dialog [data-secret]').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
  });

  it('does not close the next one when it succeeds', async () => {
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: /^Actions for/ }).first().click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('renamed late');
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    await page.route('**/console/api/keys/*', async (route) => {
      await held;
      await route.continue();
    });
    const sent = page.waitForRequest('**/console/api/keys/*');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await sent;
    await page.keyboard.press('Escape');
    await openKeyDialog();
    await page.getByRole('dialog').getByLabel('Name').fill('the next one');
    go();
    await page.getByText('renamed late').waitFor();
    // The next one would be closed by then.
    await page.waitForTimeout(300);
    await page.unroute('**/console/api/keys/*');
    expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('the next one');
  });
});

describe('a session that ends', () => {
  beforeAll(async () => {
    const other = await openTab(world);
    await signUp(other, world, 'grace@example.com', 'Operations');
    await other.page.context().close();
  });

  /** As after its last day, or when an admin has ended it. */
  const endSession = () => page.context().clearCookies();

  async function signInAgain(email = 'ada@example.com'): Promise<void> {
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor({ state: 'detached' });
  }

  const submit = () => page.getByRole('button', { name: 'Run in test mode', exact: true });
  const saysThatItHasEnded = () => page.getByText('Your session has ended.').waitFor();

  /** Until the first part of the first file is being sent: before, its upload needs the session. */
  async function sendFiles(...names: string[]): Promise<void> {
    const sending = page.waitForRequest('**/v1/upload-parts/**');
    await chooseFiles(await Promise.all(names.map(clip)));
    await sending;
  }

  /** The page is told, as by another window. */
  async function endSessionMeanwhile(): Promise<void> {
    await endSession();
    await page.evaluate(() => new BroadcastChannel('reelmend-session').postMessage('signed in'));
    await saysThatItHasEnded();
  }

  it('leaves the input of a dialog, which can be sent after signing in again', async () => {
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).first().click();
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
    await chooseFiles([await clip('kept.mp4')]);
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

  it('leaves nothing to somebody else who signs in, nor after signing out', async () => {
    await page.goto(`${world.url}/keys`);
    await page.getByText('typed before').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).first().click();
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
      await page.getByRole('button', { name: 'Operations' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
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
    /** Asks for the session and keeps the answer back. Returns the function that gives it. */
    const askForSession = async () => {
      let answer = () => {};
      const held = new Promise<void>((resolve) => (answer = resolve));
      const path = '**/console/api/session';
      const asked = new Promise<void>((resolve) => {
        void page.route(path, async (route) => {
          const response = await route.fetch();
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
    };
    const answerOfSignedIn = await askForSession();
    await page.getByRole('button', { name: 'Operations' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await answerOfSignedIn();
    expect(await page.locator('.shell').count()).toBe(0);
    const answerOfSignedOut = await askForSession();
    await signInAgain('grace@example.com');
    await answerOfSignedOut();
    expect(await page.getByRole('heading', { name: 'Sign in' }).count()).toBe(0);
  });

  it('leaves no messages to somebody else, neither those that were shown nor those that come later', async () => {
    const signOut = async () => {
      await page.getByRole('button', { name: 'Operations' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    };
    const messages = () => page.getByText('The service is busy.').count();
    const answer = await createKeyAndClose('refused');
    await answer(unavailable);
    await waitForToast(page, 'Create a key: The service is busy.');
    await signOut();
    expect(await messages()).toBe(0);
    await signInAgain('grace@example.com');
    const answerLater = await createKeyAndClose('refused later');
    await signOut();
    await answerLater(unavailable);
    // It would be shown by then.
    await page.waitForTimeout(300);
    expect(await messages()).toBe(0);
  });
});
