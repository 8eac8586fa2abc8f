/** A newcomer's way through the console, from signing up to signing out, in a real browser: keys, webhooks and sessions. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Route } from 'playwright-core';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyWebhook } from '../../src/sdk/webhook.ts';
import { eventually } from '../helpers/wait.ts';
import { letIn, makeOperator, waitForToast } from './operator.ts';
import { axeViolations, openTab, openWorld, password, signUp, type Tab, type World } from './world.ts';

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

let world: World;
let customer: Tab;
let operator: Tab;
let receiver: Server;
const received: Received[] = [];
let answer = 200;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(answer).end(answer === 200 ? 'thank you' : 'not today');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  world = await openWorld({ REELMEND_DEMO: '1', REELMEND_ALLOW_HOSTS: `127.0.0.1:${port()}` });
  customer = await openTab(world);
  operator = await openTab(world);
});

afterAll(async () => {
  await world?.close();
  receiver.close();
});

function port(): number {
  return (receiver.address() as AddressInfo).port;
}

describe('a newcomer', () => {
  it('refuses a short password before it is sent, then signs up and waits for approval', async () => {
    const { page } = customer;
    await page.goto(`${world.url}/`);
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Password').fill('too short');
    await page.getByRole('button', { name: 'Create the account' }).click();
    expect(await page.getByText('3 more characters').isVisible()).toBe(true);
    await signUp(customer, world, 'ada@example.com', 'Analytical Engines');
    await page.getByText('Your account is waiting for approval.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  it('sees a test result within a minute of signing up, with nothing approved yet', async () => {
    const { page, complaints } = customer;
    const loseResponse = async (route: Route) => {
      await route.fetch({ maxRetries: 3 });
      await route.abort();
    };
    await page.route('**/console/api/jobs', loseResponse, { times: 1 });
    await page.getByRole('button', { name: 'Run the sample' }).click();
    await page.getByText('The service cannot be reached.').waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('net::ERR_FAILED')]);
    await page.getByRole('button', { name: 'Run the sample' }).click();
    await page.getByRole('region', { name: 'Player' }).waitFor();
    const sql = postgres(world.site.databaseUrl, { max: 1 });
    const jobs = await sql`SELECT extract(epoch FROM finished_at - created_at)::float AS seconds FROM jobs WHERE mode = 'test'`;
    await sql.end();
    expect(jobs).toHaveLength(1);
    expect(jobs[0]!['seconds']).toBeLessThan(60);
    expect(await page.getByText('Test mode fetches no source').isVisible()).toBe(true);
    await page.goto(`${world.url}/enhance`);
    expect(await page.getByRole('radio', { name: 'Live' }).isDisabled()).toBe(true);
  });

  it('is let in and funded by an operator, who was named on the command line', async () => {
    await signUp(operator, world, 'grace@example.com', 'Operations');
    expect(await operator.page.getByRole('link', { name: 'Workers' }).count()).toBe(0);
    await makeOperator(world);
    await letIn(operator, 'Analytical Engines');

    await customer.page.goto(`${world.url}/credits`);
    await customer.page.getByRole('cell', { name: 'Welcome' }).waitFor();
    expect(await customer.page.getByText('Your account is waiting').count()).toBe(0);
  });
});

describe('keys', () => {
  let secret: string;

  it('are shown once, and work', async () => {
    const { page } = customer;
    await page.goto(`${world.url}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    await page.getByRole('radio', { name: 'Live' }).check();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    secret = (await page.locator('dialog [data-secret]').textContent()) ?? '';
    expect(secret).toMatch(/^svc_live_\w{38}$/);
    expect(await axeViolations(page)).toEqual([]);
    // The one dialog that Escape does not close. Chromium lets a page prevent that once after an action of the user, and each look
    // of a test counts as one. So the keys come first.
    for (let press = 0; press < 3; press++) await page.keyboard.press('Escape');
    await page.waitForTimeout(300);
    expect(await page.locator('dialog:modal').getByRole('heading', { name: 'Your new key' }).isVisible()).toBe(true);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.reload();
    await page.getByText(`svc_live_…${secret.slice(-4)}`).waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await accountStatus(secret)).toBe(200);
  });

  it('are rotated with an overlap while both work', async () => {
    const { page } = customer;
    await page.getByRole('button', { name: /^Actions for svc_live/ }).click();
    await page.getByRole('menuitem', { name: 'Rotate' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    const fresh = (await page.locator('dialog [data-secret]').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.locator('.badge', { hasText: 'Replaced' }).waitFor();
    expect([await accountStatus(fresh), await accountStatus(secret)]).toEqual([200, 200]);
  });

  it('are refused once they are revoked', async () => {
    const { page } = customer;
    await page.getByRole('button', { name: `Actions for svc_live_…${secret.slice(-4)}` }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await waitForToast(page, 'The key is revoked.');
    expect(await accountStatus(secret)).toBe(401);
  });

  async function accountStatus(key: string): Promise<number> {
    const response = await fetch(`${world.service.url}/v1/account`, { headers: { Authorization: `Bearer ${key}` } });
    return response.status;
  }
});

describe('webhooks', () => {
  it('sends a test event that the receiver can verify, and shows the request and the answer', async () => {
    const { page } = customer;
    await page.goto(`${world.url}/webhooks`);
    await page.getByRole('button', { name: 'Show' }).click();
    const secret = (await page.locator('[data-secret]').textContent()) ?? '';
    await page.getByLabel('URL', { exact: true }).fill(`http://127.0.0.1:${port()}/hook`);
    await page.getByRole('button', { name: 'Send the test event' }).click();
    const event = await eventually(() => received[0], 'the delivery');
    expect(await verifyWebhook({ ...event, secret })).toMatchObject({ event: 'job.completed' });
    await page.locator('.badge', { hasText: 'Delivered' }).waitFor();
    await page.getByRole('button', { name: /^Details of job.completed/ }).click();
    await page.getByText('thank you').waitFor();
    expect(await page.getByRole('region', { name: 'request', exact: true }).textContent()).toContain(event.body);
    expect(await axeViolations(page)).toEqual([]);
  });

  it('sends a delivery again', async () => {
    const { page } = customer;
    await page.getByRole('button', { name: 'Send again' }).click();
    await eventually(() => received[1], 'the second delivery');
    expect(received[1]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id']);
    await page.getByText('Attempt 2').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  });

  it('shows the response of a receiver that rejects the webhook', async () => {
    const { page } = customer;
    answer = 500;
    await page.getByLabel('Event', { exact: true }).selectOption('job.failed');
    await page.getByRole('button', { name: 'Send the test event' }).click();
    // One, or more where the first retry came before a slow page was drawn.
    await page.getByText(/^\d+ failed attempts?$/).waitFor();
    await page.getByRole('button', { name: /^Details of job.failed/ }).click();
    await page.getByText('not today').first().waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});

describe('sessions', () => {
  it('ends the others when the password is changed, and the old password no longer signs in', async () => {
    const other = await openTab(world, { width: 400 });
    await other.page.goto(`${world.url}/jobs`);
    await other.page.getByLabel('Email').fill('ada@example.com');
    await other.page.getByLabel('Password').fill(password);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByRole('heading', { name: 'Jobs' }).waitFor();

    const { page } = customer;
    await page.goto(`${world.url}/settings`);
    await page.getByRole('button', { name: /^End the session of/ }).waitFor();
    await page.getByLabel('Current password').fill('a wrong password');
    await page.getByLabel('New password').fill('another good passphrase');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    await page.getByLabel('Current password').fill(password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await waitForToast(page, 'Password changed. 1 other session ended.');

    await other.page.reload();
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.page.getByLabel('Email').fill('ada@example.com');
    await other.page.getByLabel('Password').fill(password);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByRole('alert').waitFor();
    expect(await axeViolations(other.page)).toEqual([]);
    await other.page.context().close();
  });

  it('signs out, and leaves nothing to see', async () => {
    const { page } = customer;
    await page.getByRole('button', { name: 'Analytical Engines' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto(`${world.url}/keys`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText('svc_').count()).toBe(0);
  });

  it('left no error in the browser and called no other host', () => {
    expect([...customer.complaints, ...operator.complaints]).toEqual([]);
  });
});
