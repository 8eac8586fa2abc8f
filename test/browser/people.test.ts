/** People and how they sign in: a forgotten password, a second factor, an invitation. */
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleListPreviewsResponse } from '../../src/contract/types.gen.ts';
import { totp } from '../helpers/totp.ts';
import { axeViolations, createTestPreview, openTab, openWorld, password, screenshot, signUp, type Tab, type World } from './world.ts';

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

/** Chooses from the menu of a person. */
async function choose({ page }: Tab, email: string, item: string) {
  await page.getByRole('button', { name: `Actions for ${email}` }).click();
  await page.getByRole('menuitem', { name: item, exact: true }).click();
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

  it('takes the whole link that is opened where a part of it was, and hides its token', async () => {
    const { page } = home;
    for (const path of ['new-password', 'invitation']) {
      await page.goto(`${world.url}/${path}`);
      await page.getByText('Open the whole link').waitFor();
      await page.goto(`${world.url}/${path}#${'x'.repeat(43)}`);
      await page.getByText('Open the whole link').waitFor({ state: 'detached', timeout: 5000 });
      expect(page.url()).toBe(`${world.url}/${path}`);
    }
  });
});

describe('a second factor', () => {
  let codes: string[];

  it('is enabled with a QR code that this page draws, and a first code', async () => {
    const { page, complaints } = home;
    await page.goto(`${world.url}/settings`);
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill(newPassword);
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await screenshot(page, 'two-factor');
    const secret = (await page.locator('[data-secret]').textContent())!;
    await page.getByRole('textbox', { name: 'Code' }).fill(totp(secret, 9));
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
    await page.getByText('The code is wrong').waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill(totp(secret));
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
    const shown = page.getByRole('dialog', { name: 'Your recovery codes' });
    await shown.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await screenshot(page, 'recovery-codes');
    codes = (await shown.locator('[data-secret]').textContent())!.split('\n');
    expect(codes).toHaveLength(10);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText('10 recovery codes left.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('is asked for at sign-in, and a recovery code replaces it', async () => {
    const { page, complaints } = home;
    await page.context().clearCookies();
    await signIn(home, 'ada@example.com', newPassword);
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await screenshot(page, 'sign-in-code');
    await page.getByRole('textbox', { name: 'Code' }).fill('000 000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The code is wrong').waitFor();
    // The email and the password are right.
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByLabel('Password').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('textbox', { name: 'Code' }).fill(codes[0]!);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('is reset by an operator', async () => {
    await openPeople(desk, 'Analytical Engines');
    await choose(desk, 'ada@example.com', 'Reset two-factor');
    expect(await axeViolations(desk.page)).toEqual([]);
    await desk.page.getByRole('button', { name: 'Reset', exact: true }).click();
    await desk.page.getByText('The second factor of ada@example.com is reset.').first().waitFor();
    await signIn(home, 'ada@example.com', newPassword);
    await home.page.getByRole('heading', { name: 'Home' }).waitFor();
    expect([...desk.complaints, ...home.complaints]).toEqual([]);
  });
});

describe('an invitation', () => {
  it('brings a member into the account, who sees what there is and changes nothing of it', async () => {
    const { page } = home;
    await page.goto(`${world.url}/people`);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('textbox', { name: 'Email' }).fill('joan@example.com');
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'Link of the invitation' });
    await shown.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    const link = (await shown.locator('[data-secret]').textContent())!;
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Revoke the invitation of joan@example.com' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await screenshot(page, 'people');

    const invited = await openTab(world);
    await invited.page.goto(link);
    await invited.page.getByText('Analytical Engines').waitFor();
    expect(invited.page.url()).toBe(`${world.url}/invitation`);
    expect(await axeViolations(invited.page)).toEqual([]);
    await screenshot(invited.page, 'invitation');
    await invited.page.getByRole('textbox', { name: 'Password' }).fill(password);
    await invited.page.getByRole('button', { name: 'Join' }).click();
    await invited.page.getByRole('heading', { name: 'Home' }).waitFor();
    const empty = [
      ['keys', 'An admin of the account creates keys.'],
      ['webhooks', 'No endpoints'],
      ['people', 'joan@example.com'],
    ] as const;
    for (const [path, sign] of empty) {
      await invited.page.goto(`${world.url}/${path}`);
      await invited.page.getByText(sign).first().waitFor();
      expect(await axeViolations(invited.page)).toEqual([]);
      expect(await invited.page.getByRole('button', { name: /^(Create a key|Add an endpoint|Invite a person|Rotate|Actions for)/ }).count()).toBe(0);
    }
    expect([...home.complaints, ...invited.complaints]).toEqual([]);

    await page.goto(`${world.url}/people`);
    await page.getByRole('button', { name: 'Actions for joan@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('joan@example.com is removed.').first().waitFor();
    await invited.page.goto(`${world.url}/`);
    await invited.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await invited.page.goto(link);
    await invited.page.getByText('The link is not valid.').waitFor();
    expect(home.complaints).toEqual([]);
  });

  /** Returns the link. */
  async function invite(email: string): Promise<string> {
    const { page } = home;
    await page.goto(`${world.url}/people`);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('textbox', { name: 'Email' }).fill(email);
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    return (await page.locator('dialog [data-secret]').textContent())!;
  }

  it.each(['invitation-acceptance', 'sign-in'])('lets a person in who tries again, because the response of %s was lost', async (call) => {
    const link = await invite(`${call}@example.com`);
    const invited = await openTab(world);
    await invited.page.goto(link);
    await invited.page.getByRole('textbox', { name: 'Password' }).fill(password);
    await invited.page.route(`**/console/api/${call}`, async (route) => {
      await route.fetch({ maxRetries: 3 });
      await route.abort();
    }, { times: 1 });
    await invited.page.getByRole('button', { name: 'Join' }).click();
    await invited.page.getByText('The service cannot be reached.').waitFor();
    await invited.page.getByRole('button', { name: 'Join' }).click();
    await invited.page.getByRole('heading', { name: 'Home' }).waitFor({ timeout: 20_000 });
    await invited.page.context().close();
  });

  it('is shown once the service is back, though the link is no longer in the address bar; a used one leads to sign-in', async () => {
    const { page } = home;
    const link = await invite('back@example.com');
    const invited = await openTab(world);
    await invited.page.route('**/console/api/invitation*', (route) => route.fulfill({ status: 502, body: '' }));
    await invited.page.goto(link);
    await invited.page.getByText('The service returned the status 502.').waitFor();
    await invited.page.unroute('**/console/api/invitation*');
    await invited.page.getByRole('button', { name: 'Try again' }).click({ timeout: 10_000 });
    await invited.page.getByText('You are invited to').waitFor();
    await page.goto(`${world.url}/people`);
    await page.getByRole('button', { name: 'Revoke the invitation of back@example.com' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke the invitation of back@example.com' }).waitFor({ state: 'detached' });
    await invited.page.goto('about:blank');
    await invited.page.goto(link);
    await invited.page.getByText('The link is not valid.').waitFor();
    await invited.page.getByRole('link', { name: 'Sign in' }).click({ timeout: 10_000 });
    await invited.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await invited.page.context().close();
  });
});

describe('an operator', () => {
  it('makes a member an admin, keeps the last one, and removes a person', async () => {
    const { page, complaints } = desk;
    const account = (await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list')).find(({ name }) => name === 'Analytical Engines')!;
    const { url } = await world.site.reelmend<{ url: string }>('users', 'invite', account.id, 'edith@example.com');
    const guest = await openTab(world);
    await guest.page.goto(`${world.url}/invitation${new URL(url).hash}`);
    await guest.page.getByRole('textbox', { name: 'Password' }).fill(password);
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.getByRole('heading', { name: 'Home' }).waitFor();

    await openPeople(desk, 'Analytical Engines');
    const edith = page.getByRole('dialog').getByRole('row').filter({ hasText: 'edith@example.com' });
    await edith.getByText('Member').waitFor();
    await choose(desk, 'edith@example.com', 'Make an admin');
    await edith.getByText('Admin').waitFor();
    await choose(desk, 'edith@example.com', 'Make a member');
    await edith.getByText('Member').waitFor();
    await choose(desk, 'ada@example.com', 'Make a member');
    await page.getByRole('dialog').getByText('The account needs an admin.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await choose(desk, 'edith@example.com', 'Remove');
    await page.getByRole('dialog', { name: 'Remove edith@example.com?' }).waitFor();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('edith@example.com is removed.').first().waitFor();
    await guest.page.goto(`${world.url}/`);
    await guest.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(complaints).toEqual([]);
    await guest.page.context().close();
  });

  it('approves an account once, though the button is pressed twice', async () => {
    const { page } = desk;
    let decisions = 0;
    const decide = async (route: Route) => {
      decisions += 1;
      const response = await route.fetch({ maxRetries: 3 });
      await page.waitForTimeout(300);
      await route.fulfill({ response });
    };
    await page.route('**/decision', decide);
    await page.goto(`${world.url}/operator/accounts`);
    await page.getByRole('button', { name: 'Approve Somebody else' }).dblclick();
    await page.getByText('Somebody else is approved.').first().waitFor();
    await page.waitForTimeout(500);
    await page.unroute('**/decision', decide);
    expect(decisions).toBe(1);
  });

  const openAgain = async (item: string) => {
    const { page } = desk;
    await page.getByRole('button', { name: 'Actions for Analytical Engines' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  const open = async (item: string) => {
    const { page } = desk;
    await page.goto(`${world.url}/operator/accounts`);
    await page.getByRole('radio', { name: 'All' }).first().click();
    await openAgain(item);
  };
  const balance = async () => {
    const accounts = await world.site.reelmend<{ name: string; credits: number }[]>('accounts', 'list');
    return accounts.find(({ name }) => name === 'Analytical Engines')?.credits;
  };

  it('grants and withdraws once, though the first response is lost and the button is pressed again, in this dialog or another', async () => {
    const { page, complaints } = desk;
    const move = async (action: string) => {
      await page.getByRole('spinbutton', { name: 'Credits' }).fill('30');
      await page.getByRole('button', { name: action, exact: true }).click();
    };
    for (const [item, path, action] of [['Grant credits', 'grants', 'Grant'], ['Withdraw credits', 'withdrawals', 'Withdraw']] as const) {
      await open(item);
      const loseResponse = async (route: Route) => {
        await route.fetch({ maxRetries: 3 });
        await route.abort();
      };
      await page.route(`**/operator/accounts/*/${path}`, loseResponse, { times: 1 });
      await move(action);
      await page.getByText('The service cannot be reached.').waitFor();
      if (action === 'Withdraw') await page.getByRole('button', { name: action, exact: true }).click();
      else {
        await page.keyboard.press('Escape');
        await openAgain(item);
        // Where one types, not at the button that closes the dialog.
        await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('number');
        await move(action);
      }
      const after = action === 'Grant' ? 30 : 0;
      await page.getByText(new RegExp(`^(Granted|Withdrew) 30 credits .* The balance is ${after}\\.$`)).first().waitFor();
      expect(await balance()).toBe(after);
    }
    // What was answered is another grant when it is asked for again.
    for (const after of [30, 60]) {
      await openAgain('Grant credits');
      await move('Grant');
      await expect.poll(balance).toBe(after);
    }
    await openAgain('Withdraw credits');
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('60');
    await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
    await page.getByText('Withdrew 60 credits').first().waitFor();
    // The browser reports the two lost responses.
    expect(complaints.splice(0)).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('net::ERR_FAILED')));
  });

  it('withdraws credits, sets a plan and quotas, and closes an account by its name', async () => {
    const { page, complaints } = desk;
    await open('Grant credits');
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('700');
    await page.getByRole('button', { name: 'Grant', exact: true }).click();
    await page.getByText('Granted 700 credits').first().waitFor();
    await open('Withdraw credits');
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('200');
    await page.getByText('The new balance is 500.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
    await page.getByText('Withdrew 200 credits').first().waitFor();
    await open('Set the plan');
    await page.getByRole('textbox', { name: 'Plan' }).fill('studio');
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('has the plan studio').first().waitFor();
    await open('Set quotas');
    await page.getByLabel('Live jobs and previews per day').fill('500');
    await page.getByLabel('Uploads together, GB').fill('2.5');
    expect(await axeViolations(page)).toEqual([]);
    await screenshot(page, 'operator-quotas');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The quotas of Analytical Engines are saved.').first().waitFor();
    await open('Set quotas');
    expect(await page.getByLabel('Uploads together, GB').inputValue()).toBe('2.5');
    await page.keyboard.press('Escape');
    // Any number of bytes, as the command line and the API set it, does not keep the form from being saved.
    const account = (await world.site.reelmend<{ id: string; name: string }[]>('accounts', 'list')).find(({ name }) => name === 'Analytical Engines')!;
    await world.site.reelmend('accounts', 'set-quotas', account.id, '--upload-quota-bytes', '5368709120');
    await open('Set quotas');
    await page.getByLabel('Live jobs and previews per day').fill('501');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The quotas of Analytical Engines are saved.').first().waitFor({ timeout: 20_000 });
    await open('Set quotas');
    expect(await page.getByLabel('Uploads together, GB').inputValue()).toBe('5.36870912');
    await page.keyboard.press('Escape');
    // What another operator changes while the dialog is open stays.
    await open('Set quotas');
    await world.site.reelmend('accounts', 'set-quotas', account.id, '--create-per-minute', '7');
    await page.getByLabel('Live jobs and previews per day').fill('502');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await world.site.reelmend<{ id: string; quotas: object }[]>('accounts', 'list')).find(({ id }) => id === account.id)?.quotas).toMatchObject({
      jobs_per_day: 502,
      create_per_minute: 7,
    });
    await open('Close');
    await page.getByRole('textbox', { name: 'Name of the account' }).fill('Analytical');
    await page.getByRole('button', { name: 'Close the account' }).click();
    await page.getByText('must be the name of the account').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Name of the account' }).fill('Analytical Engines');
    await page.getByRole('button', { name: 'Close the account' }).click();
    await page.getByText('Analytical Engines is closed.').first().waitFor();
    await home.page.goto(`${world.url}/`);
    await home.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect([...complaints, ...home.complaints]).toEqual([]);
  });

  it('sees the last hours and days as charts, each with its table', async () => {
    const { page, complaints } = desk;
    await page.goto(`${world.url}/operator`);
    for (const title of ['Waiting jobs', 'Finished jobs', 'Failed jobs']) {
      const chart = page.getByRole('region', { name: title });
      await chart.getByRole('img').waitFor();
      await chart.getByText(`${title} as a table`).click();
      await chart.locator('details[open]').waitFor();
    }
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('radio', { name: '7 days' }).click();
    await page.getByRole('region', { name: 'Failed jobs' }).waitFor();
    await screenshot(page, 'operator-history');
    expect(complaints).toEqual([]);
  });

  it('sees whole rows, whatever name an account has, or a file', async () => {
    const name = 'Donaudampfschiffahrtsgesellschaft'.repeat(6);
    const stranger = await openTab(world);
    await signUp(stranger, world, 'stranger@example.com', name);
    await createTestPreview(stranger.page, world, [{ resolution: '1080p' }]);
    await stranger.page.route('**/console/api/previews?*', async (route) => {
      const response = await route.fetch({ maxRetries: 3 });
      const json = (await response.json()) as ConsoleListPreviewsResponse;
      for (const each of json.data) each.source_name = `${name}.mp4`;
      await route.fulfill({ response, json });
    });
    const pages = [
      [desk.page, 'operator/accounts', name],
      [stranger.page, 'previews', `${name}.mp4`],
    ] as const;
    for (const [page, path, text] of pages) {
      await page.goto(`${world.url}/${path}`);
      await page.locator('td').getByText(text, { exact: true }).waitFor();
      const beyond = await page.locator('.table-scroll').evaluate((table) => table.scrollWidth - table.clientWidth);
      expect.soft(beyond, path).toBe(0);
    }
    await stranger.page.context().close();
  });

  it('no longer sees the service once the role is taken away, though its page is open', async () => {
    const { page } = desk;
    await page.goto(`${world.url}/operator`);
    await page.getByText('Queued jobs').waitFor();
    await world.site.reelmend('operators', 'remove', 'grace@example.com');
    await page.getByText('This page does not exist').waitFor({ timeout: 20_000 });
    expect(await page.getByRole('link', { name: 'Workers' }).count()).toBe(0);
  });
});
