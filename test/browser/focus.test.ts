/** Where the focus goes when what has it leaves the page: to the heading that it was under, not to the beginning of the page. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chooseFiles, openSignedUp, removeFile } from './steps.ts';
import { axeViolations, createTestJob, makeTestClip, openTab, password, type World } from './world.ts';

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

describe('when the last part of a list is loaded', () => {
  const entry = (id: number) => ({ id, kind: 'grant', amount: 1, balance: id, job_id: null, note: `note ${id}`, at: '2026-11-21T12:00:00.000Z' });
  const loadsMore = () => page.getByRole('button', { name: 'Load more' });
  let answer = () => {};

  beforeEach(async () => {
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/console/api/ledger?**', async (route) => {
      const isLast = route.request().url().includes('starting_after');
      if (isLast) await held;
      await route.fulfill({ json: isLast ? { data: [entry(1)], has_more: false, next_cursor: null } : { data: [entry(2)], has_more: true, next_cursor: 2 } });
    });
    await page.goto(`${world.url}/credits`);
    await page.getByText('note 2').waitFor();
  });
  afterEach(() => page.unroute('**/console/api/ledger?**'));

  it('is at the line that says so', async () => {
    await loadsMore().press('Enter');
    answer();
    await page.getByText('note 1').waitFor();
    await waitForFocus('SPAN All 2 loaded');
    expect(await axeViolations(page)).toEqual([]);
  });

  it('stays where the user has put it meanwhile', async () => {
    await loadsMore().press('Enter');
    await page.getByRole('radio', { name: '90 days' }).focus();
    answer();
    await page.getByText('All 2 loaded').waitFor();
    expect(await focused()).toBe('BUTTON 90 days');
  });
});

it('is at the heading of the page where a list without one has it', async () => {
  await createTestJob(page, world, 'first.mp4');
  const jobs = '**/console/api/jobs?**';
  await page.route(jobs, async (route) => {
    if (route.request().url().includes('starting_after')) return route.abort();
    const response = await route.fetch({ maxRetries: 3 });
    const json = (await response.json()) as { data: { id: string }[] };
    await route.fulfill({ response, json: { ...json, has_more: true, next_cursor: json.data.at(-1)!.id } });
  });
  await page.goto(`${world.url}/jobs`);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await page.unroute(jobs);
  await press('Try again');
  await waitForFocus('H1 Jobs');
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

it('stays in the navigation while a job that was opened there is loading', async () => {
  const id = await page.evaluate(async () => ((await (await fetch('/console/api/jobs')).json()) as { data: { id: string }[] }).data[0]!.id);
  await page.goto(`${world.url}/jobs`);
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const detail = `**/console/api/jobs/${id}`;
  await page.route(detail, async (route) => {
    await held;
    await route.fallback();
  });
  await page.locator(`a[href$="${id}"]`).first().press('Enter');
  await waitForFocus('H1 Job');
  const credits = page.getByRole('navigation').getByRole('link', { name: 'Credits' });
  await credits.focus();
  answer();
  await page.getByRole('heading', { level: 1, name: 'first.mp4' }).waitFor();
  expect(await credits.evaluate((link) => link === document.activeElement)).toBe(true);
  await page.unroute(detail);
});
