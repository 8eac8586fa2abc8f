/** What becomes of new videos and jobs when something comes in between: a refusal, a lost answer, a page that is left or closed. */
import type { Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitForToast } from './operator.ts';
import { chooseFiles, createKeyAndClose, openKeyDialog, openSignedUp, removeFile } from './steps.ts';
import { axeViolations, makeTestClip, unavailable, type World } from './world.ts';

let world: World;
let page: Page;

beforeAll(async () => {
  ({ world, page } = await openSignedUp());
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

const choose = (paths: string[]) => chooseFiles(page, world, paths);

const remove = (name: string) => removeFile(page, name);

describe('several videos, one of which is not accepted', () => {
  it('names the jobs that were created, and creates only the others when they are submitted with other settings', async () => {
    await choose([await clip('one.mp4'), await clip('two.mp4'), await clip('three.mp4')]);
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

/** The first creation reaches the service, and its answer is lost. */
const loseFirstAnswer = () =>
  onCreation(async (route, number) => {
    if (number !== 1) return false;
    await route.fetch({ maxRetries: 3 });
    await route.abort();
    return true;
  });

const submit = () => page.getByRole('button', { name: 'Run in test mode', exact: true });

async function submitInVain(): Promise<void> {
  await submit().click();
  await page.getByText('The service cannot be reached.').first().waitFor();
}

describe('a job whose creation got no answer', () => {
  it('is created once, though the settings were changed before it was submitted again', async () => {
    await choose([await clip('lost.mp4')]);
    const allow = await loseFirstAnswer();
    await submitInVain();
    await page.getByRole('radio', { name: '4K' }).check();
    await submit().click();
    await page.waitForURL(/\/jobs\/job_/);
    await page.getByText('An earlier attempt had already created this job').first().waitFor();
    await allow();
    expect((await jobNames()).filter((name) => name === 'lost.mp4')).toHaveLength(1);
  });

  it('is created with the new settings if the service had not received it', async () => {
    await choose([await clip('unsent.mp4')]);
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

describe('a job of a URL whose creation got no answer', () => {
  const fill = async () => {
    await page.getByRole('radio', { name: 'URL' }).check();
    await page.getByLabel('Video URL').fill('https://media.example.com/returned.mp4');
    await expect.poll(() => submit().isEnabled()).toBe(true);
  };

  it('is created once, though the page was left and opened again before it was submitted again', async () => {
    await page.goto(`${world.url}/enhance`);
    await fill();
    const allow = await loseFirstAnswer();
    await submitInVain();
    await page.getByRole('navigation').getByRole('link', { name: 'Jobs' }).click();
    await page.waitForURL(`${world.url}/jobs`);
    await page.goBack();
    await fill();
    await submit().click();
    await page.waitForURL(/\/jobs\/job_/);
    await allow();
    expect((await jobNames()).filter((name) => name === 'returned.mp4')).toHaveLength(1);
  });
});

describe('a job that is created while its page is left', () => {
  it('does not call the person away from the page where they are', async () => {
    await choose([await clip('slow.mp4')]);
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const allow = await onCreation(async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
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

describe('a price that could not be found out', () => {
  it('is shown once it is asked for again', async () => {
    await page.goto(`${world.url}/enhance`);
    await page.getByText('$0.00').waitFor();
    await page.getByRole('radio', { name: 'URL' }).check();
    const unreachable = { error: { code: 'video_unreachable', message: 'The video cannot be reached.', type: 'validation_error', param: '/request/video_url', request_id: 'req_x' } };
    const refuse = (route: Route) => route.fulfill({ status: 400, json: unreachable });
    await page.route('**/console/api/quotes', refuse);
    await page.getByLabel('Video URL').fill('https://media.example.com/away.mp4');
    const price = page.getByRole('region', { name: 'Price' });
    await price.getByText('The video cannot be reached.').waitFor();
    await page.unroute('**/console/api/quotes', refuse);
    await price.getByRole('button', { name: 'Try again' }).click();
    await price.getByText('$0.00').waitFor();
    expect(await page.getByText('The video cannot be reached.').count()).toBe(0);
    await expect.poll(() => submit().isEnabled()).toBe(true);
  });
});

describe('a file that is being sent', () => {
  /** Chooses a file whose parts never arrive; returns the id of its upload. */
  async function stalledUpload(name: string, send = choose): Promise<string> {
    await page.route('**/v1/upload-parts/**', () => undefined);
    const answer = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/console/api/uploads'));
    await send([await clip(name)]);
    const { id } = (await (await answer).json()) as { id: string };
    await page.getByRole('progressbar', { name: `Upload of ${name}` }).waitFor();
    return id;
  }

  const statusOf = (id: string) => page.evaluate(async (upload) => (await fetch(`/console/api/uploads/${upload}`)).status, id);
  const follow = (link: string) => page.getByRole('navigation').getByRole('link', { name: link }).click();
  const question = () => page.getByRole('dialog', { name: 'Leave this page?' });
  const leave = async () => {
    await follow('Jobs');
    await question().getByRole('button', { name: 'Leave' }).click();
  };

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

  it('is not lost without a question when another page of the console is opened, by a link or by Back', async () => {
    await page.goto(`${world.url}/jobs`);
    await follow('Enhance a video');
    await page.getByRole('radio', { name: 'Files' }).check();
    const id = await stalledUpload('kept.mp4', (paths) => page.getByLabel('Video files').setInputFiles(paths));
    for (const go of [() => follow('Jobs'), () => page.goBack({ timeout: 1000 }).catch(() => null)]) {
      await go();
      await question().getByText('The service deletes the files that you have not submitted.').waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await question().getByRole('button', { name: 'Cancel' }).click();
      expect(new URL(page.url()).pathname).toBe('/console/enhance');
      await page.getByRole('progressbar', { name: 'Upload of kept.mp4' }).waitFor();
    }
    expect(await statusOf(id)).toBe(200);
    await page.goBack({ timeout: 1000 }).catch(() => null);
    await question().getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await expect.poll(() => statusOf(id)).toBe(404);
    // A page without files is left without a question.
    await follow('Enhance a video');
    await page.getByRole('heading', { name: 'Enhance a video' }).waitFor();
    await follow('Jobs');
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
        const response = await route.fetch({ maxRetries: 3 });
        resolve(((await response.json()) as { id: string }).id);
        await held;
        await route.fulfill({ response }).catch(() => undefined);
      });
    });
    await choose([await clip('early.mp4')]);
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
    await choose([await clip(name)]);
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
    await page.getByRole('dialog', { name: 'Leave this page?' }).getByRole('button', { name: 'Leave' }).click();
    await expect.poll(() => statusOf(left)).toBe(404);
  });

  it('has the name that the service accepts, whatever the system allows', async () => {
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    const posted = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/console/api/uploads'));
    await page.getByLabel('Video files').setInputFiles({ name: 'of\\Ada\n.mp4', mimeType: 'video/mp4', buffer: Buffer.from('no video') });
    expect((await posted).postDataJSON()).toMatchObject({ request: { file_name: 'Ada_.mp4' } });
    await page.getByRole('button', { name: /^Remove of/ }).click();
    expect(await page.getByRole('alert').count()).toBe(0);
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
    await choose([await clip('slow.mp4')]);
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

describe('a quote that has failed', () => {
  const quotes = '**/console/api/quotes';
  let asked = 0;

  /** Fails the quote with `fail`, comes back to the window, and loses the network for a while. */
  async function failAndComeBack(fail: (route: Route) => Promise<void>): Promise<void> {
    await page.goto(`${world.url}/enhance`);
    await page.getByText('$0.00').waitFor();
    asked = 0;
    await page.route(quotes, (route) => {
      asked += 1;
      return fail(route);
    });
    await page.getByRole('radio', { name: 'URL' }).check();
    await page.getByLabel('Video URL').fill('https://media.example.com/holiday.mp4');
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    expect(asked).toBe(1);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.context().setOffline(true);
    await page.context().setOffline(false);
  }
  afterEach(() => page.unroute(quotes));

  it('is not asked for again where it was refused, until its draft changes', async () => {
    const error = { code: 'invalid_request', message: 'It is refused.', type: 'invalid_request_error', request_id: 'req_x' };
    await failAndComeBack((route) => route.fulfill({ status: 400, json: { error } }));
    await page.waitForTimeout(1500);
    expect(asked).toBe(1);
    await page.getByLabel('Video URL').fill('https://media.example.com/other.mp4');
    await expect.poll(() => asked).toBe(2);
  });

  it('is asked for again when the network is back, if the service could not be reached', async () => {
    await failAndComeBack((route) => route.abort());
    await expect.poll(() => asked).toBe(2);
  });
});

describe('a dialog that is closed during its request', () => {
  it('tells of an error that comes later', async () => {
    const answer = await createKeyAndClose(page, world, 'refused');
    await answer(unavailable);
    await waitForToast(page, 'Create a key: The service is busy.');
  });

  it('still shows a secret that is shown only once', async () => {
    const answer = await createKeyAndClose(page, world, 'shown late');
    await answer();
    await page.locator('dialog [data-secret]').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
  });

  it('still shows it on the page to which the user has gone on', async () => {
    const answer = await createKeyAndClose(page, world, 'shown elsewhere');
    await page.getByRole('link', { name: 'Credits' }).click();
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await answer();
    await page.locator('dialog [data-secret]').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
  });

  it('does not close the next one when its secret is shown', async () => {
    const answer = await createKeyAndClose(page, world, 'shown above');
    await openKeyDialog(page);
    await page.getByRole('dialog').getByLabel('Name').fill('another');
    await answer();
    await page.locator('dialog [data-secret]').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('another');
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
    await openKeyDialog(page);
    await page.getByRole('dialog').getByLabel('Name').fill('the next one');
    go();
    await page.getByText('renamed late').waitFor();
    // The next one would be closed by then.
    await page.waitForTimeout(300);
    await page.unroute('**/console/api/keys/*');
    expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('the next one');
  });
});

describe('a price that has risen since it was asked for', () => {
  it('is asked for again when the job is refused, and can be accepted', async () => {
    const accounts = await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list');
    const { id } = accounts.find(({ name }) => name === 'Analytical Engines')!;
    await world.site.reelmend('accounts', 'approve', id);
    await world.site.reelmend('accounts', 'grant', id, '1000');
    let credits = 0;
    const answerLess = async (route: Route) => {
      const response = await route.fetch({ maxRetries: 3 });
      const quote = (await response.json()) as { credits: number };
      credits = quote.credits;
      await route.fulfill({ response, json: { ...quote, credits: credits - 1 } });
    };
    await page.route('**/console/api/quotes', answerLess);
    await choose([await clip('dearer.mp4')]);
    await page.getByText(/^[1-9]\d* credits?$/).waitFor();
    const enhance = page.getByRole('button', { name: 'Enhance', exact: true });
    await page.unroute('**/console/api/quotes', answerLess);
    await enhance.click();
    const price = page.getByRole('region', { name: 'Price' });
    await page.getByRole('alert').getByText('The price has risen').waitFor();
    await price.getByText(`${credits} credits`, { exact: true }).waitFor();
    await enhance.click();
    await page.waitForURL(/\/jobs\/job_/);
  });
});
