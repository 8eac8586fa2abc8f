/** Every dialog and menu in both themes and two widths: accessible, within the window and quiet. pages.test.ts tests the pages. */
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLongRun } from '../helpers/long-run.ts';
import { totp } from '../helpers/totp.ts';
import { waitForToast } from './operator.ts';
import { createTestJob, type Look, openTab, openWorld, type Tab, violationsInBothThemes, type World } from './world.ts';

let world: World;
/** Grace, an operator and admin of `Operations` */
let signedIn: NonNullable<Look['state']>;
let adasPassword: string;

beforeAll(async () => {
  world = await openWorld();
  const { site } = world;
  const addUser = async (email: string, name: string) => (await site.reelmend<{ password: string }>('users', 'add', email, '--name', name)).password;
  const gracesPassword = await addUser('grace@example.com', 'Operations');
  adasPassword = await addUser('ada@example.com', 'Analytical Engines');
  await site.reelmend('operators', 'add', 'grace@example.com', '--existing');
  const accounts = await site.reelmend<{ id: string; name: string }[]>('accounts', 'list');
  const idOf = (wanted: string) => accounts.find(({ name }) => name === wanted)!.id;
  await site.reelmend('accounts', 'grant', idOf('Analytical Engines'), '500');
  await addMember(idOf('Operations'), 'alan@example.com');
  await addMember(idOf('Analytical Engines'), 'joan@example.com');
  const sql = postgres(site.databaseUrl, { max: 1 });
  await sql`INSERT INTO two_factor (user_id, secret, confirmed_at) SELECT id, ${Buffer.alloc(1)}, now() FROM console_users WHERE email = 'joan@example.com'`;
  await sql.end();
  const { key } = await site.reelmend<{ key: string }>('keys', 'create', idOf('Operations'), '--mode', 'test', '--name', 'dashboard');
  await fetch(`${world.service.url}/v1/jobs/job_01jdq4s9xkf5v8t2m6w0c3rhbz`, { headers: { Authorization: `Bearer ${key}` } });

  const { page } = await openTab(world);
  await signIn(page, 'grace@example.com', gracesPassword);
  await page.goto(`${world.url}/jobs/${await createTestJob(page, world, 'holiday.mp4', { secure: true })}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete permanently' }).click();
  await page.getByText('The signature is valid.').waitFor();
  signedIn = await page.context().storageState();
  await page.context().close();
});

afterAll(() => world?.close());

async function addMember(account: string, email: string): Promise<void> {
  const { url } = await world.site.reelmend<{ url: string }>('users', 'invite', account, email);
  const body = JSON.stringify({ token: new URL(url).hash.slice(1), password: 'correct horse battery staple' });
  const response = await fetch(`${world.url}/api/invitation-acceptance`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  expect(response.status).toBe(202);
}

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto(`${world.url}/sign-in`);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
}

describe.each([1440, 390])('%i pixels wide', (width) => {
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    tab = await openTab(world, { width, height: width < 500 ? 760 : 860, state: signedIn });
    page = tab.page;
  });
  afterAll(() => page.context().close());

  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  /** Presses a button of the dialog, the one at its foot. */
  const answer = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).last().click();
  const field = (name: string) => page.getByRole('textbox', { name, exact: true });
  const open = (path: string) => page.goto(`${world.url}${path}`);

  /**
   * What is open now, in tabs of others too. On wide pages, one scan includes the page behind; others would find the same there.
   * Phones show the same elements and colours. So only `npm run test:long` scans them there, too.
   */
  async function check(name: string, at: Page = page): Promise<void> {
    const what = 'dialog[open], [role=menu]';
    const shown = at.locator(what);
    await shown.first().waitFor();
    const onPhone = isLongRun ? what : null;
    const within = width < 500 ? { light: onPhone, dark: onPhone } : { dark: what };
    expect.soft(await violationsInBothThemes(at, (theme) => `${theme}-${width}-${name}`, within), name).toEqual([]);
    const outside = await shown.evaluateAll((elements) =>
      elements.flatMap((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        return [-left, -top, right - innerWidth, bottom - innerHeight, element.scrollWidth - element.clientWidth].filter((pixels) => pixels > 0);
      }),
    );
    expect.soft(outside, `${name}: pixels that stick out`).toEqual([]);
  }

  async function checkDialog(title: string | RegExp, name: string): Promise<void> {
    await page.getByRole('dialog', { name: title }).waitFor();
    await check(name);
  }

  const cancel = () => answer('Cancel');
  const copied = () => answer('I have copied it');

  /** The menu with its first item highlighted, and with its last, which is often a dangerous one. */
  async function checkMenu(trigger: string | RegExp, name: string): Promise<void> {
    await page.getByRole('button', { name: trigger }).first().press('Enter');
    const highlighted = page.locator('[role=menuitem][data-highlighted]');
    await highlighted.waitFor();
    await check(name);
    await page.keyboard.press('End');
    await check(`${name}-end`);
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
  }

  async function choose(trigger: string | RegExp, item: string): Promise<void> {
    await page.getByRole('button', { name: trigger }).first().click();
    await page.getByRole('menuitem', { name: item, exact: true }).click();
  }

  it('keys are created, renamed, rotated and revoked', async () => {
    await open('/keys');
    await press('Create a key');
    await checkDialog('Create a key', 'key-create');
    await field('Name').fill(`dialogs, ${width} pixels`);
    await answer('Create');
    await checkDialog('Your new key', 'key-new');
    await copied();
    const ofRow = /^Actions for svc_test_/;
    await checkMenu(ofRow, 'key-menu');
    for (const action of ['Rename', 'Rotate', 'Revoke']) {
      await choose(ofRow, action);
      await checkDialog(new RegExp(`^${action} svc_test_`), `key-${action.toLowerCase()}`);
      await cancel();
    }
  });

  it('endpoints are added, changed, rotated, switched and deleted', async () => {
    await open('/webhooks');
    await press('Add an endpoint');
    await checkDialog('Add an endpoint', 'endpoint-add');
    for (const event of ['job.completed', 'job.failed']) await page.getByRole('checkbox', { name: event }).uncheck();
    await page.getByText('Choose at least one event.').waitFor();
    await check('endpoint-add-no-event');
    await page.getByRole('checkbox', { name: 'job.completed' }).check();
    await page.getByLabel('Endpoint URL').fill('https://hooks.example.invalid:22/');
    await answer('Add');
    await page.getByRole('dialog').locator('.problem').waitFor();
    await check('endpoint-add-refused');
    await page.getByLabel('Endpoint URL').fill('https://hooks.example.invalid/a/long/path/of/an/endpoint/that/does/not/fit/on/one/line');
    await answer('Add');
    await checkDialog('The secret of the endpoint', 'endpoint-secret');
    await copied();
    const ofRow = /^Actions for https/;
    await checkMenu(ofRow, 'endpoint-menu');
    const dialogs = [['Change', 'Change the endpoint'], ['Rotate the secret', /^Rotate the secret of/], ['Switch X-Service-Signature', /^Switch/]] as const;
    for (const [item, title] of dialogs) {
      await choose(ofRow, item);
      await checkDialog(title, `endpoint-${item.split(' ')[0]!.toLowerCase()}`);
      await cancel();
    }
    await choose(ofRow, 'Rotate the secret');
    await answer('Rotate');
    await checkDialog('The secret of the endpoint', 'endpoint-rotated');
    await copied();
    await choose(ofRow, 'Send a test event');
    await waitForToast(page, 'Sending a test event.');
    await page.getByRole('button', { name: /^Details of/ }).first().click();
    await page.getByRole('region', { name: 'request', exact: true }).waitFor();
    await checkDialog('Delivery', 'delivery');
    await answer('Close');
    await choose(ofRow, 'Delete');
    await checkDialog('Delete this endpoint?', 'endpoint-delete');
    await answer('Delete');
    await waitForToast(page, 'The endpoint is deleted.');
  });

  it('the signing secret is rotated and switched', async () => {
    await open('/webhooks');
    await press('Rotate');
    await checkDialog('Rotate the signing secret?', 'secret-rotate');
    await answer('Rotate');
    await waitForToast(page, 'Secret rotated.');
    await press('Switch now');
    await checkDialog(/^Switch X-Service-Signature/, 'secret-switch');
    await cancel();
  });

  it('a request, a certificate, and the ends of jobs are shown', async () => {
    await open('/request-log');
    await page.getByRole('button', { name: /^Details of GET/ }).first().click();
    await checkDialog(/^GET/, 'request');
    await open('/secure?tab=certificates');
    const published = '**/.well-known/jwks.json';
    await page.route(published, (route) => route.fulfill({ status: 404, json: {} }));
    await page.getByRole('button', { name: /^Verify the certificate/ }).click();
    await page.getByText('The certificate could not be verified.').waitFor();
    await checkDialog(/^cert_/, 'certificate-unverified');
    await page.unroute(published);
    await press('Try again');
    await page.getByText('The signature is valid.').waitFor();
    await checkDialog(/^cert_/, 'certificate');
    await page.getByText('Show the certificate').click();
    await check('certificate-text');
    for (const [file, action] of [['slow.mp4', 'Cancel'], ['holiday.mp4', 'Delete']] as const) {
      await open(`/jobs/${await createTestJob(page, world, file, { secure: true })}`);
      await press(action);
      await checkDialog(`${action} this job?`, `job-${action.toLowerCase()}`);
      await page.keyboard.press('Escape');
    }
  });

  it('people are invited, and removed', async () => {
    await open('/people');
    await press('Invite a person');
    await checkDialog('Invite a person', 'invite');
    await field('Email').fill('edith@example.com');
    await answer('Invite');
    await checkDialog('Link of the invitation', 'invite-link');
    await copied();
    await page.getByRole('button', { name: 'Revoke the invitation of edith@example.com' }).click();
    await checkDialog(/^Revoke the invitation/, 'invite-revoke');
    await cancel();
    await checkMenu('Actions for alan@example.com', 'person-menu');
    await choose('Actions for alan@example.com', 'Remove');
    await checkDialog('Remove alan@example.com?', 'person-remove');
    await cancel();
  });

  it('a second factor is enabled, renewed and disabled', async () => {
    const visitor = await openTab(world, { width, height: width < 500 ? 760 : 860 });
    const { page: at } = visitor;
    const button = (name: string) => at.getByRole('dialog').getByRole('button', { name, exact: true });
    const fill = (label: string, text: string) => at.getByRole('dialog').getByLabel(label, { exact: true }).fill(text);
    await signIn(at, 'ada@example.com', adasPassword);
    await at.goto(`${world.url}/settings`);
    await at.getByRole('button', { name: 'Enable' }).click();
    await check('two-factor-password', at);
    await fill('Password', 'not the password');
    await button('Continue').click();
    await at.getByText('The password is wrong.').waitFor();
    await check('two-factor-wrong-password', at);
    await fill('Password', adasPassword);
    await button('Continue').click();
    await at.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    await check('two-factor-code', at);
    const secret = (await at.locator('[data-secret]').textContent())!;
    await fill('Code', totp(secret, 9));
    await button('Enable').click();
    await at.getByText('The code is wrong').waitFor();
    await check('two-factor-wrong-code', at);
    await fill('Code', totp(secret));
    await button('Enable').click();
    await at.getByRole('dialog', { name: 'Your recovery codes' }).waitFor();
    await check('two-factor-recovery-codes', at);
    const [recoveryCode] = (await at.locator('[data-secret]').textContent())!.split('\n');
    await button('I have copied it').click();
    await at.getByRole('button', { name: 'New recovery codes' }).click();
    await check('two-factor-new-codes', at);
    await button('Cancel').click();
    await at.getByRole('button', { name: 'Disable' }).click();
    await check('two-factor-disable', at);
    await fill('Password', adasPassword);
    await fill('Code', recoveryCode!);
    await button('Disable').click();
    await waitForToast(at, 'Two-factor authentication is disabled.');
    expect.soft(await violationsInBothThemes(at), 'toast').toEqual([]);
    expect(visitor.complaints).toEqual([]);
    await at.context().close();
  });

  it('operators change, help and close accounts', async () => {
    await open('/operator/accounts');
    await page.getByText('Somebody else').waitFor();
    const find = page.getByRole('searchbox', { name: 'Find by name, email or id' });
    await find.fill('nobody@example.com');
    await page.getByText('No account matches').waitFor();
    await find.fill(' JOAN@ ');
    await page.getByText('Analytical Engines', { exact: true }).waitFor();
    expect.soft(await page.getByRole('radio', { name: 'All' }).getAttribute('aria-checked')).toBe('true');
    expect.soft(await page.getByText('Operations', { exact: true }).and(page.locator('tbody *')).count()).toBe(0);
    const ofRow = 'Actions for Analytical Engines';
    await checkMenu(ofRow, 'account-actions');
    const forms = [['Grant credits', /^Grant credits/], ['Withdraw credits', /^Withdraw/], ['Set the plan', /^Plan of/], ['Set quotas', /^Quotas of/], ['Reject', /^Reject/]] as const;
    for (const [item, title] of forms) {
      await choose(ofRow, item);
      await checkDialog(title, `account-${item.replaceAll(' ', '-').toLowerCase()}`);
      await cancel();
    }
    await choose(ofRow, 'Close');
    await checkDialog('Close Analytical Engines?', 'account-close');
    await field('Name of the account').fill('Analytical');
    await answer('Close the account');
    await page.getByText('must be the name of the account').waitFor();
    await check('account-close-refused');
    await cancel();
    const openPeople = async () => {
      await choose(ofRow, 'People');
      await page.getByRole('dialog', { name: 'People of Analytical Engines' }).waitFor();
    };
    await openPeople();
    await check('account-people');
    const ofPerson = 'Actions for joan@example.com';
    await checkMenu(ofPerson, 'account-person');
    await choose(ofPerson, 'Reset two-factor');
    await checkDialog(/^Reset the second factor/, 'account-two-factor');
    await cancel();
    await openPeople();
    await choose(ofPerson, 'Remove');
    await checkDialog('Remove joan@example.com?', 'account-person-remove');
    await cancel();
    await openPeople();
    await choose('Actions for ada@example.com', 'Make a member');
    await page.getByText('The account needs an admin.').waitFor();
    await check('account-last-admin');
    await press('Create a password link for joan@example.com');
    await checkDialog('Link for a new password', 'account-password-link');
    await copied();
  });

  it('the menus of the account and, on a narrow page, of the navigation open', async () => {
    await open('/');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    if (width < 500) {
      await press('Open the menu');
      await page.getByRole('navigation').waitFor();
      expect.soft(await violationsInBothThemes(page, (theme) => `${theme}-${width}-navigation`), 'navigation').toEqual([]);
    }
    await checkMenu('Operations', 'account-menu');
  });

  it('nothing was refused by the policy, asked of other hosts, or failed', () => expect(tab.complaints).toEqual([]));
});
