/** The console of a running service: the first operator, a webhook's test event, a worker's devices, cookies by fetch. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  AuditLog,
  ConsoleDeliveryDetail,
  ConsoleDeliveryList,
  ConsoleJobDetail,
  ConsoleSession,
  OperatorWorkerList,
} from '../../src/contract/types.gen.ts';
import { runCommand, spawnCommand } from '../helpers/command.ts';
import { checkedFetch } from '../helpers/http-contract.ts';
import { createSite, type Running, type Site } from '../helpers/service.ts';
import { totp } from '../helpers/totp.ts';
import { eventually } from '../helpers/wait.ts';

let site: Site;
let api: Running;
let receiver: Server;
const received: { headers: NodeJS.Dict<string | string[]>; body: string }[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.end('thanks');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const port = (receiver.address() as AddressInfo).port;
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '100', REELMEND_ALLOW_HOSTS: `127.0.0.1:${port}` });
  api = await site.start('start');
});
afterAll(async () => {
  receiver.close();
  await site?.close();
});

interface Made {
  email: string;
  operator: boolean;
  password?: string;
}

/** Signs in and returns calls with the session. */
async function signIn(email: string, password: string) {
  const origin = { Origin: api.url, 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
  const response = await checkedFetch(`${api.url}/console/api/sign-in`, {
    method: 'POST',
    headers: origin,
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(await response.text());
  const session = (await response.json()) as ConsoleSession;
  const headers = { ...origin, Cookie: response.headers.get('set-cookie')!.split(';')[0]!, 'X-CSRF-Token': session.csrf_token };
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await checkedFetch(`${api.url}/console/api${path}`, init);
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  return { session, call };
}

describe('the first operator', () => {
  it('is made on the command line with a password that is printed once, and sees the workers', async () => {
    const made = await site.reelmend<Made>('operators', 'add', 'boss@example.com');
    expect(made).toMatchObject({ email: 'boss@example.com', operator: true });
    const { session, call } = await signIn('boss@example.com', made.password!);
    expect(session).toMatchObject({ user: { operator: true }, account: { approval_status: 'approved' } });
    expect(await runCommand(['operators', 'add', 'Boss@example.com'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Boss@example.com has already signed up. To make this user an operator, add --existing.'),
    });
    const again = await site.reelmend<Made>('operators', 'add', 'Boss@example.com', '--existing');
    expect(again).not.toHaveProperty('password');
    const worker = await eventually(async () => {
      const { data } = await call<OperatorWorkerList>('GET', '/operator/workers');
      return data.find(({ devices }) => devices.length > 0);
    });
    expect(worker).toMatchObject({ alive: true, concurrency: 1 });
    expect(worker.devices.find(({ id }) => id === 'cpu')).toMatchObject({ usable: true });
    expect(worker.host).not.toBeNull();
    expect(await site.reelmend<Made[]>('operators', 'list')).toHaveLength(1);
    await site.reelmend('operators', 'remove', 'boss@example.com');
    await expect(call('GET', '/operator/workers')).rejects.toThrow('operator_required');
  });

  it('may bring a password of at least 12 characters on standard input, unless there is one', async () => {
    const add = ['operators', 'add', 'second@example.com', '--password-stdin'];
    const short = await runCommand(add, { env: site.env, stdin: 'short\n' });
    expect(short).toMatchObject({ status: 1, stderr: expect.stringContaining('at least 12 characters') });
    const { stdout } = await spawnCommand(add, { env: site.env, stdin: 'correct horse battery\n' });
    expect(JSON.parse(stdout)).not.toHaveProperty('password');
    const again = await runCommand(add, { env: site.env, stdin: 'another horse battery\n' });
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('already has a password') });
    await signIn('second@example.com', 'correct horse battery');
    expect(await runCommand(['operators', 'add', 'nobody'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is not an email address'),
    });
  });
});

describe('a user', () => {
  it('is made on the command line with an approved account and a password that is printed once', async () => {
    const made = await site.reelmend<Made>('users', 'add', 'ada@example.com', '--name', 'Analytical Engines');
    expect(made).toMatchObject({ email: 'ada@example.com', operator: false });
    const { session, call } = await signIn('ada@example.com', made.password!);
    expect(session.account).toMatchObject({ name: 'Analytical Engines', approval_status: 'approved', credits: 0 });
    const { data } = await call<AuditLog>('GET', '/audit-log');
    expect(data.map(({ kind }) => kind)).toEqual(['account.approved', 'user.created', 'account.created']);
    expect(await runCommand(['users', 'add', 'Ada@example.com'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: 'reelmend: Ada@example.com has already signed up.\n',
    });
  });

  it('has the first line of standard input as the password: a form takes no line breaks', async () => {
    const { stdout } = await spawnCommand(['users', 'add', 'lines@example.com', '--password-stdin'], { env: site.env, stdin: 'correct horse battery\r\n\n' });
    expect(JSON.parse(stdout)).toMatchObject({ email: 'lines@example.com' });
    await signIn('lines@example.com', 'correct horse battery');
  });

  it('is refused without an email, and with a password that no form takes', async () => {
    expect(await runCommand(['users', 'add', 'nobody'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is not an email address'),
    });
    const long = await runCommand(['users', 'add', 'long@example.com', '--password-stdin'], { env: site.env, stdin: 'x'.repeat(201) });
    expect(long).toMatchObject({ status: 1, stderr: expect.stringContaining('at most 200 characters') });
  });
});

describe('a command with another pepper than the service', () => {
  it('does nothing, and names the variable', async () => {
    const env = { ...site.env, REELMEND_KEY_PEPPER: 'a pepper of some other database', REELMEND_LINK_SECRET: 'whatever it may be' };
    for (const command of [['accounts', 'create', 'Lost Ltd'], ['signing-keys', 'rotate']]) {
      expect(await runCommand(command, { env })).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/^[^\n]*REELMEND_KEY_PEPPER[^\n]*\n$/),
      });
    }
    const accounts = await site.reelmend<{ name: string }[]>('accounts', 'list');
    expect(accounts.map(({ name }) => name)).not.toContain('Lost Ltd');
  });
});

describe('a lost password', () => {
  it('is replaced on the command line, and ends every session', async () => {
    const { password } = await site.reelmend<Made>('operators', 'add', 'forgetful@example.com');
    const { call } = await signIn('forgetful@example.com', password!);
    const reset = await site.reelmend<Made & { endedSessions: number }>('users', 'reset-password', 'Forgetful@example.com');
    expect(reset.endedSessions).toBe(1);
    await expect(call('GET', '/session')).rejects.toThrow('invalid_session');
    await expect(signIn('forgetful@example.com', password!)).rejects.toThrow('invalid_credentials');
    await signIn('forgetful@example.com', reset.password!);
    const users = await site.reelmend<{ email: string }[]>('users', 'list');
    expect(users.map(({ email }) => email)).toContain('forgetful@example.com');
  });

  it('is replaced with a link from the command line, also that of an operator', async () => {
    await site.reelmend<Made>('operators', 'add', 'absent@example.com');
    const { url } = await site.reelmend<{ url: string }>('users', 'password-link', 'absent@example.com');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/new-password#[A-Za-z0-9_-]{43}$/);
    const body = JSON.stringify({ token: new URL(url).hash.slice(1), new_password: 'a better horse battery' });
    const use = () => checkedFetch(`${api.url}/console/api/password-link`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    expect((await use()).status).toBe(200);
    await signIn('absent@example.com', 'a better horse battery');
    expect((await use()).status).toBe(403);
    expect(await runCommand(['users', 'password-link', 'nobody@example.com'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^reelmend: There is no user nobody@example\.com in the database \w+ at [\w.]+:\d+\.\n$/),
    });
  });
});

describe('a lost second factor', () => {
  it('is reset on the command line, also that of an operator', async () => {
    const { password } = await site.reelmend<Made>('operators', 'add', 'phoneless@example.com');
    const { call } = await signIn('phoneless@example.com', password!);
    const { secret } = await call<{ secret: string }>('POST', '/two-factor', { password });
    await call('POST', '/two-factor/confirmation', { code: totp(secret) });
    await expect(signIn('phoneless@example.com', password!)).rejects.toThrow('second_factor_required');
    const reset = await site.reelmend<{ twoFactor: boolean }>('users', 'reset-two-factor', 'phoneless@example.com');
    expect(reset).toMatchObject({ email: 'phoneless@example.com', twoFactor: false });
    await expect(call('GET', '/session')).rejects.toThrow('invalid_session');
    await signIn('phoneless@example.com', password!);
    expect(await runCommand(['users', 'reset-two-factor', 'phoneless@example.com'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: 'reelmend: phoneless@example.com has no second factor.\n',
    });
  });
});

describe('a further person', () => {
  it('is invited, promoted and removed on the command line', async () => {
    const owner = await site.reelmend<{ accountId: string }>('users', 'add', 'owner@example.com');
    const { url } = await site.reelmend<{ url: string }>('users', 'invite', owner.accountId, 'guest@example.com');
    const body = JSON.stringify({ token: new URL(url).hash.slice(1), password: 'correct horse battery' });
    const headers = { 'Content-Type': 'application/json' };
    expect((await checkedFetch(`${api.url}/console/api/invitation-acceptance`, { method: 'POST', headers, body })).status).toBe(202);
    const { session, call } = await signIn('guest@example.com', 'correct horse battery');
    expect(session).toMatchObject({ user: { role: 'member' }, account: { id: owner.accountId } });
    expect(await site.reelmend('users', 'set-role', 'guest@example.com', 'admin')).toMatchObject({ role: 'admin' });
    expect((await call<ConsoleSession>('GET', '/session')).user.role).toBe('admin');
    expect(await site.reelmend('users', 'remove', 'guest@example.com')).toMatchObject({ removed: true });
    await expect(call('GET', '/session')).rejects.toThrow('invalid_session');
    expect(await runCommand(['users', 'remove', 'owner@example.com'], { env: site.env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('The account needs an admin.'),
    });
  });
});

describe('a person', () => {
  it('tests a webhook and sees request and answer', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const credentials = { email: 'dev@example.com', password: 'correct horse battery' };
    const body = JSON.stringify(credentials);
    await checkedFetch(`${api.url}/console/api/sign-up`, { method: 'POST', headers, body });
    const { call } = await signIn(credentials.email, credentials.password);
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    for (const event of ['job.completed', 'job.failed'] as const) {
      const { job_id } = await call<{ job_id: string }>('POST', '/webhooks/test', { url, event });
      const delivery = await eventually(async () => {
        const { data } = await call<ConsoleDeliveryList>('GET', `/webhooks/deliveries?state=delivered&job_id=${job_id}`);
        return data[0];
      });
      const { request, attempts } = await call<ConsoleDeliveryDetail>('GET', `/webhooks/deliveries/${delivery.id}`);
      const got = received.at(-1)!;
      expect(got.body).toBe(request.body);
      expect(JSON.parse(got.body)).toMatchObject({ event, job_id });
      for (const [name, value] of Object.entries(request.headers)) expect(got.headers[name], name).toBe(value);
      expect(attempts).toMatchObject([{ status: 200, response_body: 'thanks', failure: null }]);
    }
  });

  it('follows a test job to its result, and plays it', async () => {
    const { call } = await signIn('dev@example.com', 'correct horse battery');
    const { capabilities } = await call<ConsoleSession>('GET', '/session');
    const request = { video_url: capabilities.sample_url.test, resolution: '1080p' };
    const { id } = await call<{ id: string }>('POST', '/jobs', { mode: 'test', request });
    await eventually(async () => ((await call<ConsoleJobDetail>('GET', `/jobs/${id}`)).job.status === 'done' ? true : undefined));
    const { result, source } = await call<{ result: { url: string } | null; source: null }>('GET', `/jobs/${id}/links`);
    expect(source).toBeNull();
    const played = await fetch(`${api.url}${result!.url}`, { headers: { Range: 'bytes=4-7' } });
    expect([played.status, await played.text()]).toEqual([206, 'ftyp']);
  });
});
