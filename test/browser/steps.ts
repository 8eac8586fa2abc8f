/** Steps that several files of tests take. */
import type { Page } from 'playwright-core';
import { openTab, openWorld, signUp, type World } from './world.ts';

/** A service of its own, and a page of the console whose user has just signed up. */
export async function openSignedUp(): Promise<{ world: World; page: Page }> {
  const world = await openWorld();
  const tab = await openTab(world);
  await signUp(tab, world, 'ada@example.com', 'Analytical Engines');
  return { world, page: tab.page };
}

/** Chooses files as new videos; they are sent at once. */
export async function chooseFiles(page: Page, world: World, paths: string[]): Promise<void> {
  await page.goto(`${world.url}/enhance`);
  await page.getByRole('radio', { name: 'Files' }).check();
  await page.getByLabel('Video files').setInputFiles(paths);
}

/** The button that takes a file from the new videos, once it has been sent. */
export const removeFile = (page: Page, name: string) => page.getByRole('button', { name: `Remove ${name}` });

export const openKeyDialog = (page: Page) => page.getByRole('button', { name: 'Create a key' }).first().click();

/** Begins to create a key and closes the dialog. Returns the function that answers, with `answer` or as the service does. */
export async function createKeyAndClose(page: Page, world: World, name: string): Promise<(answer?: object) => Promise<void>> {
  await page.goto(`${world.url}/keys`);
  await openKeyDialog(page);
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
