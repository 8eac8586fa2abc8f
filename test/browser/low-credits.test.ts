/** The warning that the credits of an account will soon be used up. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSignedUp } from './steps.ts';
import { violationsInBothThemes, type World } from './world.ts';

let world: World;
let page: Page;
let account: string;
beforeAll(async () => {
  ({ world, page } = await openSignedUp());
  const accounts = await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list');
  account = accounts.find(({ name }) => name === 'Analytical Engines')!.id;
});
afterAll(() => world?.close());

const pages = ['', '/credits', '/enhance'];
const none = 'This account has no live credits.';
const few = 'The live credits will soon be used up.';

/** The warnings of each page once its balance or form is shown. */
async function warnings(): Promise<string[][]> {
  const found: string[][] = [];
  for (const path of pages) {
    await page.goto(`${world.url}${path}`);
    await page.getByText(path === '/enhance' ? 'You see the price before you submit' : 'Live balance').first().waitFor();
    found.push(await page.locator('.notice strong').filter({ hasText: /live credits/ }).allTextContents());
  }
  return found;
}

it('is shown while the balance is less than a minute in 4K, where live mode is allowed', async () => {
  // Waits for approval.
  expect(await warnings()).toEqual([[], [], []]);
  await world.site.reelmend('accounts', 'approve', account);
  expect(await warnings()).toEqual([[none], [none], [none]]);
  const { standard } = await page.evaluate(async () => ((await (await fetch('/console/api/session')).json()) as { pricing: { standard: { per_minute: { '4k': number } } } }).pricing);
  const minute = Math.round(standard.per_minute['4k'] * 100);
  await world.site.reelmend('accounts', 'grant', account, String(minute - 1));
  expect(await warnings()).toEqual([[few], [few], [few]]);
  await page.getByText(`The balance is ${minute - 1} credits; a minute of video at 4K costs ${minute} credits.`).waitFor();
  expect(await violationsInBothThemes(page)).toEqual([]);
  // Test jobs are free.
  await page.getByRole('radio', { name: 'Test', exact: true }).check();
  await page.getByText(few).waitFor({ state: 'detached' });
  await world.site.reelmend('accounts', 'grant', account, '1');
  expect(await warnings()).toEqual([[], [], []]);
});
