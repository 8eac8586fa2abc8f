/** The second factor: enabling, signing in, replay, recovery codes, guessing, disabling, reset by an operator. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsoleRecoveryCodes, ConsoleTwoFactor, ConsoleTwoFactorEnrolment, OperatorAccountList, OperatorPasswordLink } from '../../src/contract/types.gen.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { errorOf } from '../helpers/http.ts';
import { inMidStep, totp } from '../helpers/totp.ts';
import { auditEntries } from '../helpers/worker-world.ts';

const path = '/console/api/two-factor';
let world: ConsoleWorld;
let operator: Person;
beforeAll(async () => {
  world = await makeConsole();
  operator = await world.person({ operator: true });
});
beforeEach(() => world.sql`DELETE FROM rate_limits`);
afterAll(() => world.close());

/** Somebody with a second factor, whose first code counts as of long ago. */
async function enrolled(options: { operator?: boolean } = {}) {
  const person = await world.person(options);
  const { secret } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
  const { recovery_codes: codes } = await person.browser.post<ConsoleRecoveryCodes>(`${path}/confirmation`, { code: totp(secret) });
  await forgetSteps(person);
  return { ...person, secret, codes };
}
const forgetSteps = ({ userId }: { userId: string }) => world.sql`UPDATE two_factor SET last_step = 0 WHERE user_id = ${userId}`;
const signIn = ({ email, password }: { email: string; password: string }, code?: string, browser = world.browser()) =>
  browser.request('/console/api/sign-in', { method: 'POST', json: { email, password, ...(code === undefined ? {} : { code }) } });
const stateOf = ({ browser }: Person) => browser.call<ConsoleTwoFactor>(path);
const kindsOf = async ({ accountId }: Person) => (await auditEntries(world.store, { accountId, limit: 10 })).map(({ kind }) => kind);
const post = ({ browser }: Person, part: string, json: unknown) => browser.request(`${path}${part}`, { method: 'POST', json });

async function expectError(response: Response, status: number, code: string) {
  expect([response.status, (await errorOf(response)).code]).toEqual([status, code]);
  expect(response.headers.get('set-cookie')).toBeNull();
}

describe('enabling', () => {
  it('needs the password, shows the secret once, and changes nothing until the first code', async () => {
    const person = await world.person();
    await expectError(await post(person, '', { password: 'wrong horse battery' }), 403, 'wrong_password');
    expect(await world.sql`SELECT 1 FROM two_factor WHERE user_id = ${person.userId}`).toHaveLength(0);
    const { secret, uri } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
    expect(uri).toContain(secret);
    expect(JSON.stringify(await stateOf(person))).not.toContain(secret);
    expect(await stateOf(person)).toEqual({ enabled: false, enabled_at: null, recovery_codes_left: 0 });
    expect((await signIn(person)).status).toBe(200);
    expect((await signIn(person, totp(secret))).status).toBe(200);
  });

  it('is confirmed by a code, returns ten recovery codes, and ends sessions that were opened without one', async () => {
    const person = await world.person();
    const other = world.browser();
    await other.signIn(person.email, person.password);
    const { secret } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
    await expectError(await post(person, '/confirmation', { code: totp(secret, 5) }), 403, 'wrong_code');
    const { recovery_codes } = await person.browser.post<ConsoleRecoveryCodes>(`${path}/confirmation`, { code: totp(secret) });
    expect(recovery_codes).toHaveLength(10);
    expect(await stateOf(person)).toMatchObject({ enabled: true, enabled_at: expect.any(String), recovery_codes_left: 10 });
    expect((await other.request('/console/api/session')).status).toBe(401);
    expect((await person.browser.request('/console/api/session')).status).toBe(200);
    expect((await kindsOf(person))[0]).toBe('user.two_factor_enabled');
  });

  it('leaves no session of a sign-in that began before it without a code', async () => {
    const slow = await makeConsole();
    const person = await slow.person();
    const { secret } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
    const { isEnabled } = slow.store.twoFactor;
    slow.store.twoFactor.isEnabled = async (userId) => {
      const found = await isEnabled(userId);
      slow.store.twoFactor.isEnabled = isEnabled;
      await person.browser.post(`${path}/confirmation`, { code: totp(secret) });
      return found;
    };
    await expectError(await signIn(person, undefined, slow.browser()), 401, 'second_factor_required');
    expect(await slow.sql`SELECT 1 FROM console_sessions WHERE user_id = ${person.userId}`).toHaveLength(1);
    await slow.close();
  });

  it('is not confirmed by a session that has ended meanwhile', async () => {
    const slow = await makeConsole();
    const person = await slow.person();
    const { secret } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
    const { confirm } = slow.store.twoFactor;
    slow.store.twoFactor.confirm = async (userId, confirmation) => {
      await slow.store.users.changePassword(userId, '$argon2id$quick$', null);
      return confirm(userId, confirmation);
    };
    await expectError(await post(person, '/confirmation', { code: totp(secret) }), 401, 'invalid_session');
    expect(await slow.store.twoFactor.state(person.userId)).toMatchObject({ enabledAt: null });
    await slow.close();
  });

  it('begins again with another secret, and the first one confirms nothing', async () => {
    const person = await world.person();
    const [first, second] = [
      await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password }),
      await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password }),
    ];
    await expectError(await post(person, '/confirmation', { code: totp(first.secret) }), 403, 'wrong_code');
    expect((await post(person, '/confirmation', { code: totp(second.secret) })).status).toBe(200);
  });

  it('is over after 30 minutes, and without a beginning', async () => {
    const person = await world.person();
    await expectError(await post(person, '/confirmation', { code: '000000' }), 409, 'two_factor_not_enabled');
    const { secret } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
    await world.sql`UPDATE two_factor SET created_at = now() - interval '31 minutes' WHERE user_id = ${person.userId}`;
    await expectError(await post(person, '/confirmation', { code: totp(secret) }), 409, 'two_factor_not_enabled');
    expect(await stateOf(person)).toMatchObject({ enabled: false });
  });

  it('cannot replace a secret that is in use, from a stolen session and with the password', async () => {
    const person = await enrolled();
    await expectError(await post(person, '', { password: person.password }), 409, 'two_factor_enabled');
    await expectError(await post(person, '/confirmation', { code: totp(person.secret) }), 409, 'two_factor_enabled');
    expect((await signIn(person, totp(person.secret))).status).toBe(200);
  });

  it('stores the secret encrypted, the recovery codes hashed, and logs neither', async () => {
    const { secret, codes, accountId } = await enrolled();
    const rows = await world.sql`SELECT to_jsonb(t)::text AS a, (SELECT jsonb_agg(to_jsonb(r))::text FROM recovery_codes r) AS b FROM two_factor t`;
    const bytes = await world.sql`SELECT secret FROM two_factor`;
    const entries = JSON.stringify(await auditEntries(world.store, { accountId, limit: 10 }));
    const text = JSON.stringify([rows, world.logged, entries]);
    for (const shown of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))]) {
      expect(text).not.toContain(shown);
      expect(text).not.toContain(Buffer.from(shown).toString('hex'));
      expect(bytes.some((row) => (row['secret'] as Buffer).includes(shown))).toBe(false);
    }
  });

  it('binds the encrypted secret to its user: one copied into another row is refused', async () => {
    const [victim, thief] = [await enrolled(), await enrolled()];
    await world.sql`UPDATE two_factor SET secret = (SELECT secret FROM two_factor WHERE user_id = ${thief.userId}) WHERE user_id = ${victim.userId}`;
    expect((await signIn(victim, totp(thief.secret))).status).toBe(500);
  });
});

describe('signing in', () => {
  it('asks for a code once the password is right, and not before: nobody learns who has one', async () => {
    const person = await enrolled();
    await expectError(await signIn(person), 401, 'second_factor_required');
    const wrong = { email: person.email, password: 'wrong horse battery' };
    for (const code of [undefined, totp(person.secret), '000000', person.codes[0]]) {
      await expectError(await signIn(wrong, code), 401, 'invalid_credentials');
    }
    await expectError(await signIn(person, totp(person.secret, 9)), 403, 'wrong_code');
    expect((await signIn(person, totp(person.secret))).status).toBe(200);
  });

  it('takes a code of the step before and after, with a space in it, and none of an hour ago', async () => {
    const person = await enrolled();
    await inMidStep();
    for (const steps of [-1, 0, 1]) {
      await forgetSteps(person);
      const code = totp(person.secret, steps);
      expect((await signIn(person, `${code.slice(0, 3)} ${code.slice(3)}`)).status, String(steps)).toBe(200);
    }
    await forgetSteps(person);
    for (const steps of [-120, -3, 4, 120]) await expectError(await signIn(person, totp(person.secret, steps)), 403, 'wrong_code');
  });

  it('takes no code twice, nor an older one after it, nor the one that enabled it', async () => {
    const person = await enrolled();
    const [older, code] = [totp(person.secret, -1), totp(person.secret)];
    expect((await signIn(person, code)).status).toBe(200);
    await expectError(await signIn(person, code), 403, 'wrong_code');
    await expectError(await signIn(person, older), 403, 'wrong_code');

    const fresh = await world.person();
    const { secret } = await fresh.browser.post<ConsoleTwoFactorEnrolment>(path, { password: fresh.password });
    const first = totp(secret);
    await fresh.browser.post(`${path}/confirmation`, { code: first });
    await expectError(await signIn(fresh, first), 403, 'wrong_code');
  });

  it('takes a code once of ten requests at once, and a recovery code too', async () => {
    const person = await enrolled();
    for (const code of [totp(person.secret), person.codes[3]!]) {
      await world.sql`DELETE FROM rate_limits`;
      const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await signIn(person, code)).status));
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(new Set(statuses)).toEqual(new Set([200, 403]));
    }
  });

  it('takes each recovery code once, and of its owner alone', async () => {
    const [person, other] = [await enrolled(), await enrolled()];
    expect((await signIn(person, person.codes[0]!.toUpperCase().replaceAll('-', ' '))).status).toBe(200);
    await expectError(await signIn(person, person.codes[0]), 403, 'wrong_code');
    await expectError(await signIn(other, person.codes[1]), 403, 'wrong_code');
    expect(await stateOf(person)).toMatchObject({ recovery_codes_left: 9 });
    const [entry] = await auditEntries(world.store, { accountId: person.accountId, limit: 1 });
    expect(entry).toMatchObject({ kind: 'user.recovery_code_used', data: { user_id: person.userId, left: 9 } });
  });

  it('stops a guesser who knows the password after ten codes, from whatever addresses, and lets the owner in later', async () => {
    const proxied = await makeConsole({ console: { proxyHops: 1 } });
    const person = await proxied.person();
    const { secret } = await person.browser.post<ConsoleTwoFactorEnrolment>(path, { password: person.password });
    await person.browser.post(`${path}/confirmation`, { code: totp(secret) });
    await proxied.sql`UPDATE two_factor SET last_step = 0`;
    const guess = (code: string | undefined, host: number) =>
      proxied.browser().request('/console/api/sign-in', {
        method: 'POST',
        json: { email: person.email, password: person.password, ...(code === undefined ? {} : { code }) },
        headers: { 'X-Forwarded-For': `198.51.100.${host}` },
      });
    const statuses = [];
    for (let i = 1; i <= 12; i++) {
      // Signing in with the password alone in between must not give the guesser new attempts.
      expect((await guess(undefined, i)).status).toBe(401);
      statuses.push((await guess(totp(secret, 20 + i), i)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 403), 429, 429]);
    const limited = await guess(totp(secret), 99);
    await expectError(limited, 429, 'rate_limit_exceeded');
    expect(Number(limited.headers.get('Retry-After'))).toBeGreaterThan(60);
    await proxied.sql`DELETE FROM rate_limits`;
    expect((await guess(totp(secret), 99)).status).toBe(200);
    await proxied.close();
  });

  it('asks for the code after a link for a forgotten password too', async () => {
    const person = await enrolled();
    const { url } = await operator.browser.post<OperatorPasswordLink>(`/console/api/operator/people/${person.userId}/password-link`);
    const json = { token: new URL(url).hash.slice(1), new_password: 'a better horse battery' };
    await world.browser().request('/console/api/password-link', { method: 'POST', json });
    const owner = { email: person.email, password: json.new_password };
    await expectError(await signIn(owner), 401, 'second_factor_required');
    expect((await signIn(owner, totp(person.secret))).status).toBe(200);
  });

  it('never logs a code', async () => {
    const person = await enrolled();
    const code = totp(person.secret);
    await signIn(person, code);
    await signIn(person, person.codes[0]);
    const log = JSON.stringify(world.logged);
    expect(log).not.toContain(person.codes[0]);
    expect(log).not.toContain(`"${code}"`);
  });
});

describe('new recovery codes, and disabling', () => {
  const acts = ['/recovery-codes', '/removal'] as const;
  it.each(acts)('%s needs both the password and a code', async (part) => {
    const person = await enrolled();
    const { password, secret, codes } = person;
    const before = await stateOf(person);
    await expectError(await post(person, part, { password: 'wrong horse battery', code: totp(secret) }), 403, 'wrong_password');
    await expectError(await post(person, part, { password, code: totp(secret, 9) }), 403, 'wrong_code');
    expect(await stateOf(person)).toEqual(before);
    // The wrong password did not use the code up.
    expect((await post(person, part, { password, code: totp(secret) })).ok).toBe(true);
    expect(codes).toHaveLength(10);
  });

  it('the earlier recovery codes stop working', async () => {
    const person = await enrolled();
    const json = { password: person.password, code: person.codes[9]! };
    const { recovery_codes } = await person.browser.post<ConsoleRecoveryCodes>(`${path}/recovery-codes`, json);
    expect(recovery_codes.filter((code) => person.codes.includes(code))).toEqual([]);
    await expectError(await signIn(person, person.codes[0]), 403, 'wrong_code');
    expect((await signIn(person, recovery_codes[0])).status).toBe(200);
    expect(await stateOf(person)).toMatchObject({ recovery_codes_left: 9 });
  });

  it('afterwards the password alone signs in, and nothing is left', async () => {
    const person = await enrolled();
    const state = await person.browser.post<ConsoleTwoFactor>(`${path}/removal`, { password: person.password, code: totp(person.secret) });
    expect(state).toEqual({ enabled: false, enabled_at: null, recovery_codes_left: 0 });
    expect((await signIn(person)).status).toBe(200);
    expect(await world.sql`SELECT 1 FROM recovery_codes WHERE user_id = ${person.userId}`).toHaveLength(0);
    expect((await kindsOf(person))[0]).toBe('user.two_factor_disabled');
    for (const part of acts) await expectError(await post(person, part, { password: person.password, code: '000000' }), 409, 'two_factor_not_enabled');
  });
});

describe('a reset by an operator', () => {
  const reset = (userId: string) => operator.browser.request(`/console/api/operator/people/${userId}/two-factor-reset`, { method: 'POST' });

  it('disables it, ends every session, leaves the password, and is in the audit log', async () => {
    const person = await enrolled();
    const { data } = await operator.browser.call<OperatorAccountList>('/console/api/operator/accounts?limit=100');
    const peopleOf = (accountId: string) => data.find(({ id }) => id === accountId)!.people;
    expect(peopleOf(person.accountId)).toEqual([{ id: person.userId, email: person.email, operator: false, role: 'admin', two_factor: true }]);
    expect(peopleOf(operator.accountId)).toMatchObject([{ operator: true, two_factor: false }]);
    expect(await (await reset(person.userId)).json()).toEqual({ reset: true });
    expect((await person.browser.request('/console/api/session')).status).toBe(401);
    expect((await signIn(person)).status).toBe(200);
    const [entry] = await auditEntries(world.store, { accountId: person.accountId, limit: 1 });
    expect(entry).toMatchObject({ kind: 'user.two_factor_reset', data: { user_id: person.userId, operator_id: operator.userId, ended_sessions: 1 } });
    await expectError(await reset(person.userId), 409, 'two_factor_not_enabled');
  });

  it('is refused for operators, in the console only', async () => {
    const second = await enrolled({ operator: true });
    await expectError(await reset(second.userId), 403, 'operator_protected');
    expect(await stateOf(second)).toMatchObject({ enabled: true });
    expect(await world.store.twoFactor.reset(second.userId)).toBe(true);
  });

  it('goes with a closed account', async () => {
    const person = await enrolled();
    await world.store.accounts.close(person.accountId);
    expect(await world.sql`SELECT 1 FROM two_factor WHERE user_id = ${person.userId}`).toHaveLength(0);
  });
});
