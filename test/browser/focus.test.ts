/** Where the focus goes when what has it leaves the page: to the heading that it was under, not to the beginning of the page. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chooseFiles, openSignedUp, removeFile } from './steps.ts';
import { makeTestClip, openTab, password, type World } from './world.ts';

let world: World;
let page: Page;

beforeAll(async () => {
  ({ world, page } = await openSignedUp());
});

afterAll(() => world?.close());

const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).first().press('Enter');
const focused = () => page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.ariaLabel ?? document.activeElement?.textContent}`);
const waitForFocus = (wanted: string | RegExp) => expect.poll(focused).toMatch(wanted);

async function chooseInMenu(item: string): Promise<void> {
  await press(/^Actions for/);
  await page.getByRole('menuitem', { name: item }).press('Enter');
}

it('is at the list of sessions after one was ended', async () => {
  const { page: other } = await openTab(world);
  await other.goto(`${world.url}/sign-in`);
  await other.getByLabel('Email').fill('ada@example.com');
  await other.getByLabel('Password').fill(password);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.getByRole('heading', { name: 'Home' }).waitFor();
  await other.context().close();
  await page.goto(`${world.url}/settings`);
  await press(/^End the session/);
  await waitForFocus('H2 Sessions');
  // Tab goes on from there.
  expect(await page.evaluate(() => document.activeElement?.closest('.panel')?.querySelector('table') !== null)).toBe(true);
});

it('returns to the menu whose dialog was closed, and is at the keys after one was revoked', async () => {
  await page.goto(`${world.url}/keys`);
  await press('Create a key');
  await page.getByRole('dialog').getByLabel('Name').fill('for the menu');
  await press('Create');
  await press('I have copied it');
  await waitForFocus('BUTTON Create a key');
  await chooseInMenu('Rename');
  await waitForFocus('INPUT');
  await page.keyboard.press('Escape');
  await waitForFocus('BUTTON Actions for svc_test_');
  await press(/^Actions for/);
  await page.keyboard.press('Escape');
  await waitForFocus('BUTTON Actions for svc_test_');
  await chooseInMenu('Revoke');
  await press('Revoke');
  await waitForFocus('H2 Keys');
});

it('is at the source after a file was removed', async () => {
  await chooseFiles(page, world, [await makeTestClip(world, 'removed.mp4')]);
  await removeFile(page, 'removed.mp4').press('Enter');
  await waitForFocus('H2 Source');
});

it('is at the first field that the service refuses, with what is wrong', async () => {
  await page.goto(`${world.url}/settings`);
  await press('Enable');
  await page.getByRole('dialog').getByLabel('Password').fill('not the password');
  await press('Continue');
  await waitForFocus(/^INPUT/);
  const describedBy = await page.evaluate(() => document.getElementById(document.activeElement!.getAttribute('aria-describedby')!)?.textContent);
  expect(describedBy).toBe('The password is wrong.');
  await page.keyboard.press('Escape');
});

it('stays where the user has put it', async () => {
  await page.goto(`${world.url}/people`);
  await press('Invite a person');
  await page.getByRole('textbox', { name: 'Email' }).fill('joan@example.com');
  await press('Invite');
  await press('I have copied it');
  await press('Revoke the invitation of joan@example.com');
  // Nothing has the focus after a click beside the controls, also where the last control goes then.
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Revoke the invitation of joan@example.com' }).focus();
  await page.locator('.main').click({ position: { x: 3, y: 3 } });
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.evaluate(() => document.querySelector('[aria-label^="Revoke the invitation"]')!.closest('tr')!.remove());
  await page.waitForTimeout(300);
  expect(await focused()).toMatch(/^BODY/);
});
