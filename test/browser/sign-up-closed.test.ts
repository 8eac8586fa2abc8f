/** A service that takes no sign-ups: its page offers none, and says so where somebody goes there all the same. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axeViolations, openTab, openWorld, type Tab, type World } from './world.ts';

let world: World;
let tab: Tab;
beforeAll(async () => {
  world = await openWorld({ REELMEND_SIGN_UP: 'closed' });
  tab = await openTab(world);
});
afterAll(() => world?.close());

it('signing up: the sentence in place of the form, and the way back', async () => {
  const { page, complaints } = tab;
  await page.goto(`${world.url}/sign-up`);
  await page.getByText('Ask the operator of this service for an account.').waitFor();
  expect(await page.locator('form').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0);
  expect(complaints).toEqual([]);
});

it('a user that the operator has made signs in', async () => {
  const { page, complaints } = tab;
  const { password } = await world.site.reelmend<{ password: string }>('users', 'add', 'ada@example.com');
  await page.goto(`${world.url}/sign-in`);
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  expect(complaints).toEqual([]);
});
