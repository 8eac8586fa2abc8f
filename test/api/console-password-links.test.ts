/** Forgotten passwords: an operator's one-time link, who may make one, and how often it works. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperatorPasswordLink } from '../../src/contract/types.gen.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { errorOf } from '../helpers/http.ts';
import { auditEntries } from '../helpers/worker-world.ts';

const newPassword = 'a better horse battery';
let world: ConsoleWorld;
let operator: Person;
beforeAll(async () => {
  world = await makeConsole();
  operator = await world.person({ operator: true });
});
afterAll(() => world.close());

const pathOf = (userId: string) => `/console/api/operator/people/${userId}/password-link`;
const makeLink = (userId: string) => operator.browser.post<OperatorPasswordLink>(pathOf(userId));
const tokenOf = ({ url }: OperatorPasswordLink) => new URL(url).hash.slice(1);
const send = (token: string, new_password = newPassword) =>
  world.browser().request('/console/api/password-link', { method: 'POST', json: { token, new_password } });
const entriesOf = ({ accountId }: Person) => auditEntries(world.store, { accountId, limit: 10 });
const canSignIn = async (email: string, password: string) =>
  (await world.browser().request('/console/api/sign-in', { method: 'POST', json: { email, password } })).status === 200;

async function expectRefused(token: string) {
  const response = await send(token);
  expect(response.status).toBe(403);
  const { code, message } = await errorOf(response);
  expect(code).toBe('one_time_link_invalid');
  return message;
}

describe('a link for a forgotten password', () => {
  it('leads to the page with its token in the fragment, and works for an hour', async () => {
    const { userId } = await world.person();
    const link = await makeLink(userId);
    const url = new URL(link.url);
    expect(url.pathname).toBe('/console/new-password');
    expect(url.search).toBe('');
    expect(tokenOf(link)).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const minutes = (Date.parse(link.expires_at) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(58);
    expect(minutes).toBeLessThanOrEqual(60.1);
  });

  it('sets the password once, ends every session of that person alone, and signs nobody in', async () => {
    const person = await world.person();
    const other = await world.person();
    const second = world.browser();
    await second.signIn(person.email, person.password);
    const token = tokenOf(await makeLink(person.userId));
    const response = await send(token);
    expect(await response.json()).toEqual({ changed: true });
    expect(response.headers.get('set-cookie')).toBeNull();
    for (const browser of [person.browser, second]) {
      expect((await errorOf(await browser.request('/console/api/session'))).code).toBe('invalid_session');
    }
    expect((await other.browser.request('/console/api/session')).status).toBe(200);
    expect(await canSignIn(person.email, person.password)).toBe(false);
    expect(await canSignIn(person.email, newPassword)).toBe(true);
    await expectRefused(token);
    expect(await canSignIn(person.email, newPassword)).toBe(true);
  });

  it('is in the audit log with the operator, and so is its use', async () => {
    const person = await world.person();
    await send(tokenOf(await makeLink(person.userId)));
    const [used, made] = await entriesOf(person);
    expect(made).toMatchObject({ kind: 'user.password_link_created', data: { user_id: person.userId, operator_id: operator.userId } });
    expect(used).toMatchObject({ kind: 'user.password_changed', data: { user_id: person.userId, ended_sessions: 1, by: 'one_time_link' } });
  });

  it('works for one of ten that use it at once', async () => {
    const person = await world.person();
    const token = tokenOf(await makeLink(person.userId));
    const passwords = Array.from({ length: 10 }, (_, index) => `horse battery number ${index}`);
    const statuses = await Promise.all(passwords.map(async (text) => (await send(token, text)).status));
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 403)]);
    expect(await canSignIn(person.email, passwords[statuses.indexOf(200)]!)).toBe(true);
    expect((await entriesOf(person)).filter(({ kind }) => kind === 'user.password_changed')).toHaveLength(1);
  });

  it('stores no token, and logs none', async () => {
    const person = await world.person();
    const token = tokenOf(await makeLink(person.userId));
    const rows = await world.sql`SELECT to_jsonb(l)::text AS text FROM password_links l`;
    expect(rows).not.toHaveLength(0);
    await send(token);
    const entries = JSON.stringify(await entriesOf(person));
    const hex = Buffer.from(token).toString('hex');
    for (const text of [JSON.stringify(rows), JSON.stringify(world.logged), entries]) {
      for (const secret of [token, hex, newPassword]) expect(text).not.toContain(secret);
    }
  });
});

describe('a link does not work any more', () => {
  const ends: readonly [string, (person: Person, token: string) => Promise<unknown>][] = [
    ['after its hour', ({ userId }) => world.sql`UPDATE password_links SET expires_at = now() WHERE user_id = ${userId}`],
    ['once there is a newer one', ({ userId }) => makeLink(userId)],
    [
      'once its owner has changed the password',
      ({ browser, password }) => browser.post('/console/api/password', { current_password: password, new_password: 'yet another horse' }),
    ],
    ['once the command line has reset the password', ({ userId }) => world.store.users.changePassword(userId, '$argon2id$quick$', null)],
    ['once its owner is an operator, whom operators of the console cannot help', ({ email }) => world.store.users.setOperator(email, true)],
    ['once the account is closed', ({ accountId }) => world.store.accounts.close(accountId)],
  ];

  it.each(ends)('%s', async (_when, end) => {
    const person = await world.person();
    const token = tokenOf(await makeLink(person.userId));
    await end(person, token);
    const [before] = await world.sql`SELECT password FROM console_users WHERE id = ${person.userId}`;
    const message = await expectRefused(token);
    expect(message).toBe(await expectRefused('A'.repeat(43)));
    expect((await world.sql`SELECT password FROM console_users WHERE id = ${person.userId}`)[0]).toEqual(before);
  });

  it('and its row is dropped', async () => {
    const { userId } = await world.person();
    await makeLink(userId);
    await world.store.passwordLinks.prune();
    const rows = () => world.sql`SELECT 1 FROM password_links WHERE user_id = ${userId}`;
    expect(await rows()).toHaveLength(1);
    await world.sql`UPDATE password_links SET expires_at = now() WHERE user_id = ${userId}`;
    expect(await world.store.passwordLinks.prune()).toBeGreaterThanOrEqual(1);
    expect(await rows()).toHaveLength(0);
  });

  it.each(['', 'x', 'A'.repeat(43), "' OR true --", 'ü'.repeat(100)])('and never did with the token %j', async (token) => {
    const response = await send(token);
    expect(['one_time_link_invalid', 'invalid_request']).toContain((await errorOf(response)).code);
    expect(response.status).toBe(token === '' ? 400 : 403);
  });

  it('and a token with the hash of another purpose, or of another pepper, is none', async () => {
    const { hashLinkToken } = await import('../../src/domain/one-time-link.ts');
    const { hashSessionToken } = await import('../../src/http/console/guard.ts');
    const token = 'B'.repeat(43);
    const hashes = [hashLinkToken('password', token, 'pepper one'), hashLinkToken('password', token, 'pepper two'), hashSessionToken(token, 'pepper one')];
    expect(new Set(hashes.map((hash) => hash.toString('hex'))).size).toBe(3);
  });
});

describe('creating a link', () => {
  it('is refused for operators, so that a stolen session of one does not take over others, nor itself for good', async () => {
    const second = await world.person({ operator: true });
    for (const { userId } of [second, operator]) {
      const response = await operator.browser.request(pathOf(userId), { method: 'POST' });
      expect(response.status).toBe(403);
      expect((await errorOf(response)).code).toBe('operator_protected');
    }
    expect(await world.sql`SELECT 1 FROM password_links WHERE user_id IN ${world.sql([second.userId, operator.userId])}`).toHaveLength(0);
  });

  it('is possible for operators on the command line', async () => {
    const second = await world.person({ operator: true });
    expect(await world.store.passwordLinks.create(second.userId, Buffer.alloc(32, 7))).toMatchObject({ expiresAt: expect.any(Date) });
  });

  it('has a rate limit for one operator and one IP address', async () => {
    const slow = await makeConsole({ options: { rateLimits: { auth: 3, other: 2 } } });
    const chief = await slow.person({ operator: true });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await chief.browser.request(pathOf(chief.userId), { method: 'POST' })).status);
    expect(statuses).toEqual([403, 403, 429]);
    const guesses = [];
    // Two of three are left: the sign-up above was the first.
    for (let i = 0; i < 3; i++) {
      const json = { token: 'A'.repeat(43), new_password: newPassword };
      guesses.push((await slow.browser().request('/console/api/password-link', { method: 'POST', json })).status);
    }
    expect(guesses).toEqual([403, 403, 429]);
    await slow.close();
  });

  it('hashes no password for a token that is none: guesses cost the service little', async () => {
    let hashed = 0;
    const idle = await makeConsole({ console: { passwords: { hash: async (text) => ((hashed += 1), text), verify: async () => false } } });
    const json = { token: 'A'.repeat(43), new_password: newPassword };
    await idle.browser().request('/console/api/password-link', { method: 'POST', json });
    expect(hashed).toBe(0);
    await idle.close();
  });
});
