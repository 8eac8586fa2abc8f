/** People and how they sign in, from where they stand: a forgotten password. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeViolations, openTab, openWorld, password, screenshot, signUp, type Tab, type World } from './world.ts';

const newPassword = 'a better horse battery';
let world: World;
/** the operator's */
let desk: Tab;
/** of somebody else */
let home: Tab;
beforeAll(async () => {
  world = await openWorld();
  desk = await openTab(world);
  await signUp(desk, world, 'grace@example.com', 'Operations');
  await world.site.reelmend('operators', 'add', 'grace@example.com', '--existing');
  await desk.page.reload();
  home = await openTab(world, { width: 390, height: 844 });
  await signUp(home, world, 'ada@example.com', 'Analytical Engines');
});
afterAll(() => world?.close());

async function openPeople({ page }: Tab, account: string) {
  await page.goto(`${world.url}/operator/accounts`);
  await page.getByRole('radio', { name: 'All' }).first().click();
  await page.getByRole('button', { name: `Actions for ${account}` }).click();
  await page.getByRole('menuitem', { name: 'People' }).click();
  await page.getByRole('dialog', { name: `People of ${account}` }).waitFor();
}

async function signIn({ page }: Tab, email: string, secret: string) {
  await page.goto(`${world.url}/sign-in`);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

describe('a forgotten password', () => {
  it('is replaced with a link that an operator makes, once', async () => {
    await openPeople(desk, 'Analytical Engines');
    expect(await axeViolations(desk.page)).toEqual([]);
    await desk.page.getByRole('button', { name: 'Create a password link for ada@example.com' }).click();
    const shown = desk.page.getByRole('dialog', { name: 'Link for a new password' });
    await shown.waitFor();
    expect(await axeViolations(desk.page)).toEqual([]);
    await screenshot(desk.page, 'password-link');
    const link = (await shown.locator('[data-secret]').textContent())!;

    const { page } = home;
    await page.goto(link);
    await page.getByRole('heading', { name: 'New password' }).waitFor();
    expect(page.url()).toBe(`${world.url}/new-password`);
    expect(await axeViolations(page)).toEqual([]);
    await page.getByLabel('New password').fill(newPassword);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Your password is changed' }).waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();

    await signIn(home, 'ada@example.com', password);
    await page.getByText('The email or the password is wrong.').waitFor();
    await signIn(home, 'ada@example.com', newPassword);
    await page.getByRole('heading', { name: 'Home' }).waitFor();

    await page.goto(link);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('The link is not valid.').waitFor();
    await page.goto(`${world.url}/`);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect([...desk.complaints, ...home.complaints]).toEqual([]);
  });

  it('is not offered for operators, and a page without a token says what is missing', async () => {
    await openPeople(desk, 'Operations');
    await desk.page.getByRole('dialog').getByText('Operator', { exact: true }).waitFor();
    expect(await desk.page.getByRole('button', { name: /password link/ }).count()).toBe(0);
    await home.page.goto(`${world.url}/new-password`);
    await home.page.getByText('Open the whole link').waitFor();
    expect(await axeViolations(home.page)).toEqual([]);
  });
});
