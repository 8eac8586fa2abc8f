/** Signing up, in and out; sessions and their ends; pace; what is logged. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleSession, ConsoleSessionList } from '../../src/contract/types.gen.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { createPasswords, type Passwords } from '../../src/domain/passwords.ts';
import { type ConsoleWorld, makeConsole, quickPasswords } from '../helpers/console.ts';
import { errorOf } from '../helpers/http.ts';
import { auditEntries } from '../helpers/worker-world.ts';

const password = 'correct horse battery';
let world: ConsoleWorld;
beforeAll(async () => {
  world = await makeConsole();
});
afterAll(() => world.close());

const usersNamed = (email: string) => world.sql`SELECT * FROM console_users WHERE lower(email) = lower(${email})`;

describe('signing up', () => {
  it('makes a user and a pending account of its own, with a signing secret and entries in the audit log', async () => {
    const browser = world.browser();
    const body = { email: 'First@Example.com', password, name: 'First Films' };
    const response = await browser.request('/console/api/sign-up', { method: 'POST', json: body });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ accepted: true });
    expect(response.headers.get('set-cookie')).toBeNull();
    const { account, user } = await browser.signIn('first@example.com', password);
    expect(account).toMatchObject({ name: 'First Films', approval_status: 'pending', credits: 0 });
    expect(user).toMatchObject({ email: 'First@Example.com', operator: false });
    const kinds = (await auditEntries(world.store, { accountId: account.id, limit: 10 })).map(({ kind }) => kind);
    expect(kinds).toEqual(['user.created', 'account.created']);
    expect((await world.store.webhookSecrets.signing(account.id))!.secrets).toHaveLength(1);
  });

  it('answers alike for a known email and changes nothing of it', async () => {
    const browser = world.browser();
    const first = { email: 'known@example.com', password };
    await browser.post('/console/api/sign-up', first);
    const again = { email: 'KNOWN@example.com', password: 'another horse battery', name: 'Thief' };
    const response = await browser.request('/console/api/sign-up', { method: 'POST', json: again });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ accepted: true });
    expect(await usersNamed('known@example.com')).toHaveLength(1);
    expect((await browser.signIn('known@example.com', password)).account.name).toBe('known@example.com');
  });

  it('makes one user of ten requests at once', async () => {
    const json = { email: 'race@example.com', password };
    const requests = Array.from({ length: 10 }, () =>
      world.browser().request('/console/api/sign-up', { method: 'POST', json }),
    );
    for (const response of await Promise.all(requests)) expect(response.status).toBe(202);
    expect(await usersNamed('race@example.com')).toHaveLength(1);
    const accounts = await world.sql`SELECT 1 FROM accounts WHERE name = 'race@example.com'`;
    expect(accounts).toHaveLength(1);
  });

  const refused = [
    [{ email: 'a@example.com', password: 'elevenchars' }, '/password'],
    [{ email: 'not an email', password }, '/email'],
    [{ email: 'a@example.com', password: 'x'.repeat(201) }, '/password'],
    [{ email: 'a@example.com', password, operator: true }, '/operator'],
  ] as const;
  it.each(refused)('400 for %j', async (json, param) => {
    const response = await world.browser().request('/console/api/sign-up', { method: 'POST', json });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_request', param });
    expect(await usersNamed('a@example.com')).toHaveLength(0);
  });
});

describe('signing up where it is closed', () => {
  let closed: ConsoleWorld;
  let hashed = 0;
  beforeAll(async () => {
    const hash = async (text: string) => ((hashed += 1), text);
    closed = await makeConsole({ console: { signUp: 'closed', passwords: { hash, verify: async () => false } } });
  });
  afterAll(() => closed.close());
  const signUp = (email: string, headers: Record<string, string> = {}) =>
    closed.browser().request('/console/api/sign-up', { method: 'POST', json: { email, password }, headers });

  it('403 sign_up_closed, alike for a known email; nothing is hashed or stored', async () => {
    await closed.store.users.create({ email: 'known@example.com', password: '$argon2id$quick$', account: { name: 'Known' } });
    for (const email of ['new@example.com', 'known@example.com']) {
      const response = await signUp(email);
      expect(response.status).toBe(403);
      const message = 'Sign-up is closed. Ask the operator of this service for an account.';
      expect(await errorOf(response)).toMatchObject({ code: 'sign_up_closed', message, type: 'permission_error' });
    }
    expect(hashed).toBe(0);
    expect(await closed.sql`SELECT 1 FROM console_users`).toHaveLength(1);
    expect(await closed.sql`SELECT 1 FROM accounts`).toHaveLength(1);
    expect(await closed.sql`SELECT 1 FROM rate_limits WHERE subject LIKE 'email:%'`).toHaveLength(0);
  });

  it('is behind the guard against other sites and the rate limit of an IP address', async () => {
    expect((await errorOf(await signUp('new@example.com', { 'Sec-Fetch-Site': 'cross-site' }))).code).toBe('cross_site_request');
    const limited = await makeConsole({ options: { rateLimits: { auth: 1 } }, console: { signUp: 'closed' } });
    const json = { email: 'new@example.com', password };
    const attempts = [1, 2].map(() => limited.browser().request('/console/api/sign-up', { method: 'POST', json }));
    expect((await Promise.all(attempts)).map(({ status }) => status).toSorted()).toEqual([403, 429]);
    await limited.close();
  });
});

describe('signing in', () => {
  it('sets a cookie that scripts cannot read and other sites do not send, and keeps only hashes', async () => {
    const { email, browser } = await world.person();
    const response = await browser.request('/console/api/sign-in', { method: 'POST', json: { email, password } });
    const cookie = response.headers.get('set-cookie')!;
    expect(cookie).toMatch(/^reelmend_session=[A-Za-z0-9_-]{43};/);
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/console', 'Max-Age=1209600']) expect(cookie).toContain(part);
    expect(cookie).not.toContain('Secure');
    const token = cookie.slice('reelmend_session='.length).split(';')[0]!;
    const rows = await world.sql`SELECT to_jsonb(s)::text AS text FROM console_sessions s`;
    expect(rows.map(({ text }) => String(text)).join()).not.toContain(token);
    expect(JSON.stringify(await response.json())).not.toContain(token);
  });

  it('takes the cookie over https from this host alone, until the user signs out', async () => {
    const secure = await makeConsole({ console: { secureCookies: true } });
    const { email, browser } = await secure.person();
    const response = await browser.request('/console/api/sign-in', { method: 'POST', json: { email, password } });
    const cookie = response.headers.get('set-cookie')!;
    expect(cookie).toMatch(/^__Host-reelmend_session=[A-Za-z0-9_-]{43};/);
    // What browsers ask of this prefix.
    const parts = cookie.split('; ').slice(1);
    expect(parts.toSorted()).toEqual(['HttpOnly', 'Max-Age=1209600', 'Path=/', 'SameSite=Strict', 'Secure']);
    await browser.signIn(email, password);
    expect((await browser.request('/console/api/session')).status).toBe(200);
    // A sibling domain may set this one.
    const planted = await secure.browser().request('/console/api/session', { headers: { Cookie: `reelmend_session=${browser.cookie}` } });
    expect((await errorOf(planted)).code).toBe('missing_session');
    const end = await browser.request('/console/api/sign-out', { method: 'POST' });
    expect(end.headers.get('set-cookie')).toMatch(/^__Host-reelmend_session=;.*Max-Age=0.*Path=\/;.*Secure/);
    await secure.close();
  });

  it('401 invalid_credentials alike for a wrong password and an unknown email', async () => {
    const { email } = await world.person();
    const answers = [];
    for (const json of [{ email, password: 'wrong horse battery' }, { email: 'nobody@example.com', password }]) {
      const response = await world.browser().request('/console/api/sign-in', { method: 'POST', json });
      expect(response.status).toBe(401);
      expect(response.headers.get('WWW-Authenticate')).toBe('Cookie realm="reelmend console"');
      expect(response.headers.get('set-cookie')).toBeNull();
      const { code, message } = await errorOf(response);
      answers.push({ code, message });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]!.code).toBe('invalid_credentials');
  });

  it('hashes for an unknown email as well', async () => {
    const verified: (string | null)[] = [];
    const passwords = createPasswords();
    const slow = await makeConsole({
      console: {
        passwords: {
          ...passwords,
          verify: (text, stored) => {
            verified.push(stored);
            return passwords.verify(text, stored);
          },
        },
      },
    });
    const { email } = await slow.person();
    const json = { email: 'nobody@example.com', password };
    await slow.browser().request('/console/api/sign-in', { method: 'POST', json });
    expect(verified).toEqual([expect.stringMatching(/^\$argon2id\$v=19\$m=33792,t=2,p=1\$/), null]);
    const [row] = await slow.sql`SELECT password FROM console_users WHERE email = ${email}`;
    expect(row!['password']).toBe(verified[0]);
    await slow.close();
  });

  it('opens no session with a password that was changed, or of a person who was removed, while it was checked', async () => {
    let meanwhile: () => Promise<unknown> = async () => undefined;
    const verify = async (text: string, stored: string | null) => {
      const isRight = await quickPasswords.verify(text, stored);
      await meanwhile();
      return isRight;
    };
    const slow = await makeConsole({ console: { passwords: { ...quickPasswords, verify } } });
    const owner = await slow.person();
    const member = await slow.member(owner);
    const ends = [
      () => slow.store.users.changePassword(member.userId, '$argon2id$quick$', null),
      () => slow.store.people.remove({ accountId: owner.accountId, userId: member.userId }, {}),
    ];
    for (const end of ends) {
      await slow.sql`UPDATE console_users SET password = ${await quickPasswords.hash(password)} WHERE id = ${member.userId}`;
      meanwhile = end;
      const json = { email: member.email, password };
      const response = await slow.browser().request('/console/api/sign-in', { method: 'POST', json });
      expect([response.status, (await errorOf(response)).code]).toEqual([401, 'invalid_credentials']);
      expect(await slow.sql`SELECT 1 FROM console_sessions WHERE user_id = ${member.userId}`).toHaveLength(0);
    }
    await slow.close();
  });

  it('does not change a password that another request has changed while it was checked: whoever knows the old one must not undo that', async () => {
    let meanwhile: () => Promise<unknown> = async () => undefined;
    const hash = async (text: string) => {
      const made = await quickPasswords.hash(text);
      await meanwhile();
      return made;
    };
    const slow = await makeConsole({ console: { passwords: { ...quickPasswords, hash } } });
    const person = await slow.person();
    const owner = slow.browser();
    await owner.signIn(person.email, password);
    const change = { current_password: password, new_password: 'the horse of the owner' };
    meanwhile = async () => {
      meanwhile = async () => undefined;
      await owner.post('/console/api/password', change);
    };
    const json = { ...change, new_password: 'the horse of a thief' };
    const response = await person.browser.request('/console/api/password', { method: 'POST', json });
    expect([response.status, (await errorOf(response)).code]).toEqual([403, 'wrong_password']);
    expect((await owner.request('/console/api/session')).status).toBe(200);
    await slow.browser().signIn(person.email, change.new_password);
    await slow.close();
  });

  it('never logs a password, a token or an email', async () => {
    const { email, browser, session } = await world.person();
    await browser.request('/console/api/sign-in', { method: 'POST', json: { email, password: 'canary horse battery' } });
    await browser.call('/console/api/session');
    const log = JSON.stringify(world.logged);
    for (const secret of [email, password, 'canary horse', browser.cookie!, session.csrf_token]) {
      expect(log).not.toContain(secret);
    }
    expect(log).toContain(session.user.id);
  });
});

describe('the session', () => {
  it('that ends while the body of a request arrives ends the request, too: the client decides how long that takes', async () => {
    const { email, browser, session, accountId } = await world.person();
    const other = world.browser();
    await other.signIn(email, password);
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await other.request('/console/api/sessions', { method: 'DELETE' });
        controller.enqueue(Buffer.from(JSON.stringify({ mode: 'test', tier: 'standard' })));
        controller.close();
      },
    }, { highWaterMark: 0 });
    const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': session.csrf_token, Cookie: `reelmend_session=${browser.cookie}` };
    const response = await world.app.request('/console/api/keys', { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    expect([response.status, (await errorOf(response)).code]).toEqual([401, 'invalid_session']);
    expect(await world.store.keys.list(accountId)).toEqual([]);
  });

  it('returns the signed-in user and the same token again', async () => {
    const { browser, session, accountId } = await world.person({ credits: 500 });
    const again = await browser.call<ConsoleSession>('/console/api/session');
    expect(again).toEqual(session);
    expect(again.account).toMatchObject({ id: accountId, credits: 500, approval_status: 'approved' });
    expect(again.pricing.secure.per_second['4k']).toBe(0.12);
    expect(again.capabilities).toMatchObject({ sample_url: { live: null } });
    expect(Date.parse(again.expires_at) - Date.now()).toBeGreaterThan(13.9 * 86_400_000);
  });

  it('ends with signing out', async () => {
    const { browser } = await world.person();
    const token = browser.cookie!;
    const response = await browser.request('/console/api/sign-out', { method: 'POST' });
    expect(await response.json()).toEqual({ signed_out: true });
    expect(response.headers.get('set-cookie')).toMatch(/^reelmend_session=;.*Max-Age=0/);
    browser.cookie = token;
    const after = await browser.request('/console/api/session');
    expect(after.status).toBe(401);
    expect((await errorOf(after)).code).toBe('invalid_session');
  });

  const ends = [
    ['by its time', (id: string) => world.sql`UPDATE console_sessions SET expires_at = now() WHERE id = ${id}`],
    [
      'when it was not used for a day',
      (id: string) =>
        world.sql`UPDATE console_sessions SET last_seen_at = now() - interval '24 hours 1 second' WHERE id = ${id}`,
    ],
  ] as const;
  it.each(ends)('ends %s', async (_how, end) => {
    const { browser, session } = await world.person();
    await end(session.id);
    const response = await browser.request('/console/api/session');
    expect((await errorOf(response)).code).toBe('invalid_session');
    expect(await world.store.users.dropEndedSessions()).toBe(1);
  });

  it('notes its use at most once a minute', async () => {
    const { browser, session } = await world.person();
    const seen = async () => (await world.sql`SELECT last_seen_at FROM console_sessions WHERE id = ${session.id}`)[0]!['last_seen_at'] as Date;
    const before = await seen();
    await browser.call('/console/api/session');
    expect(await seen()).toEqual(before);
    await world.sql`UPDATE console_sessions SET last_seen_at = now() - interval '61 seconds' WHERE id = ${session.id}`;
    await browser.call('/console/api/session');
    expect((await seen()).getTime()).toBeGreaterThanOrEqual(before.getTime());
  });

  it('lists the sessions of the user in pages, and ends one, or all others', async () => {
    const { browser, email, session } = await world.person();
    const others = [world.browser(), world.browser(), world.browser()];
    for (const other of others) await other.signIn(email, password);
    const first = await browser.call<ConsoleSessionList>('/console/api/sessions?limit=3');
    expect(first).toMatchObject({ has_more: true, next_cursor: first.data[2]!.id });
    const rest = await browser.call<ConsoleSessionList>(`/console/api/sessions?limit=3&starting_after=${first.next_cursor!}`);
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    const all = [...first.data, ...rest.data];
    expect(all.filter(({ current }) => current).map(({ id }) => id)).toEqual([session.id]);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted().reverse());

    const gone = await browser.call(`/console/api/sessions/${all[0]!.id}`, { method: 'DELETE' });
    expect(gone).toEqual({ ended: 1 });
    expect((await others[2]!.request('/console/api/session')).status).toBe(401);
    expect((await browser.request(`/console/api/sessions/${all[0]!.id}`, { method: 'DELETE' })).status).toBe(404);
    expect(await browser.call('/console/api/sessions', { method: 'DELETE' })).toEqual({ ended: 2 });
    expect((await others[0]!.request('/console/api/session')).status).toBe(401);
    expect((await browser.request('/console/api/session')).status).toBe(200);
  });
});

describe('changing the password', () => {
  it('needs the current one, ends the other sessions, and is in the audit log', async () => {
    const { browser, email, accountId } = await world.person();
    const other = world.browser();
    await other.signIn(email, password);
    const change = (current_password: string, new_password: string) =>
      browser.request('/console/api/password', { method: 'POST', json: { current_password, new_password } });
    const wrong = await change('wrong horse battery', 'a better horse battery');
    expect(wrong.status).toBe(403);
    expect(await errorOf(wrong)).toMatchObject({ code: 'wrong_password', param: '/current_password' });
    const changed = await change(password, 'a better horse battery');
    expect(await changed.json()).toEqual({ ended: 1 });
    expect((await other.request('/console/api/session')).status).toBe(401);
    expect((await browser.request('/console/api/session')).status).toBe(200);
    await expect(world.browser().signIn(email, password)).rejects.toThrow('401');
    await world.browser().signIn(email, 'a better horse battery');
    const [entry] = await auditEntries(world.store, { accountId, limit: 1 });
    expect(entry).toMatchObject({ kind: 'user.password_changed', data: { ended_sessions: 1 } });
  });
});

describe('pace', () => {
  const signIn = (limited: ConsoleWorld, email: string, { ip, secret = 'wrong horse battery' }: { ip: string; secret?: string }) =>
    limited.browser().request('/console/api/sign-in', {
      method: 'POST',
      json: { email, password: secret },
      headers: { 'X-Forwarded-For': `9.9.9.9, ${ip}` },
    });

  it('429 for an email that is tried too often from one IP; the right password works from any other', async () => {
    const limited = await makeConsole({ options: { rateLimits: { auth: 5 } }, console: { proxyHops: 1 } });
    const email = 'owner@example.com';
    await limited.browser().post('/console/api/sign-up', { email, password });
    const statuses = [];
    for (let i = 0; i < 7; i += 1) {
      const response = await signIn(limited, i % 2 ? email : email.toUpperCase(), { ip: '203.0.113.1' });
      statuses.push(response.status);
      if (response.status !== 429) continue;
      expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
      expect((await errorOf(response)).code).toBe('rate_limit_exceeded');
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    for (let host = 2; host < 12; host += 1) await signIn(limited, email, { ip: `203.0.113.${host}` });
    expect((await signIn(limited, email, { ip: '198.51.100.9', secret: password })).status).toBe(200);
    const kept = await limited.sql`SELECT subject FROM rate_limits`;
    expect(JSON.stringify(kept)).not.toContain(email);
    await limited.close();
  });

  it('only failures are counted: signing in again and again is let through', async () => {
    const limited = await makeConsole({ options: { rateLimits: { auth: 3 } }, console: { proxyHops: 1 } });
    const email = 'often@example.com';
    await limited.browser().post('/console/api/sign-up', { email, password });
    const ip = '203.0.113.1';
    for (let i = 0; i < 8; i += 1) {
      expect((await signIn(limited, email, { ip })).status).toBe(401);
      expect((await signIn(limited, email, { ip, secret: password })).status).toBe(200);
    }
    await limited.close();
  });

  /** Right for `password`, wrong for everything else, and refuses to check anything while `busy` is set. */
  const busyPasswords = () => {
    const state = { busy: false };
    const passwords: Passwords = {
      hash: quickPasswords.hash.bind(quickPasswords),
      verify: async (given, stored) => {
        if (state.busy) throw new ReelmendError('service_unavailable', 'Too many people sign in just now.', { retryAfterS: 5 });
        return quickPasswords.verify(given, stored);
      },
    };
    return { state, passwords };
  };

  it('an attempt whose password was not checked does not count', async () => {
    const { state, passwords } = busyPasswords();
    const limited = await makeConsole({ options: { rateLimits: { auth: 3 } }, console: { proxyHops: 1, passwords } });
    const [email, ip] = ['busy@example.com', '203.0.113.1'];
    const owner = limited.browser();
    await owner.post('/console/api/sign-up', { email, password });
    await owner.signIn(email, password);
    state.busy = true;
    for (let i = 0; i < 5; i += 1) expect((await signIn(limited, email, { ip, secret: password })).status).toBe(503);
    const change = { method: 'POST', json: { current_password: password, new_password: 'another horse battery' } };
    for (let i = 0; i < 5; i += 1) expect((await owner.request('/console/api/password', change)).status).toBe(503);
    state.busy = false;
    expect((await owner.request('/console/api/password', change)).status).toBe(200);
    expect((await signIn(limited, email, { ip, secret: 'another horse battery' })).status).toBe(200);
    await limited.close();
  });

  it('an attempt that was not checked does not give a guesser earlier ones back', async () => {
    const { state, passwords } = busyPasswords();
    const limited = await makeConsole({ options: { rateLimits: { auth: 3 } }, console: { proxyHops: 1, passwords } });
    const statuses = [];
    for (const busy of [false, false, true, true, false, false]) {
      state.busy = busy;
      statuses.push((await signIn(limited, 'victim@example.com', { ip: '203.0.113.1' })).status);
    }
    expect(statuses).toEqual([401, 401, 503, 503, 401, 429]);
    await limited.close();
  });

  it('84 bad sign-ins from 3 addresses at once keep nobody else from signing in', async () => {
    const limited = await makeConsole({ console: { proxyHops: 1, passwords: createPasswords() } });
    const email = 'valid@example.com';
    await limited.browser().post('/console/api/sign-up', { email, password });
    const bad = Array.from({ length: 84 }, (_, i) =>
      signIn(limited, `bad${i}@example.com`, { ip: `203.0.113.${i % 3}` }),
    );
    const good = await signIn(limited, email, { ip: '198.51.100.9', secret: password });
    expect(good.status).toBe(200);
    const statuses = new Set((await Promise.all(bad)).map(({ status }) => status));
    expect([...statuses].toSorted()).toEqual([401, 429]);
    await limited.close();
  });

  it('429 for an IP that fails with ever other emails', async () => {
    const limited = await makeConsole({ options: { rateLimits: { auth: 2 } }, console: { proxyHops: 1 } });
    const statuses = [];
    for (let i = 0; i < 22; i += 1) {
      statuses.push((await signIn(limited, `bad${i}@example.com`, { ip: '203.0.113.1' })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429]);
    await limited.close();
  });

  it('429 for an IP that signs up too often; the IP that the client claims is ignored', async () => {
    const limited = await makeConsole({ options: { rateLimits: { auth: 4 } }, console: { proxyHops: 1 } });
    const statuses = [];
    for (let i = 0; i < 6; i += 1) {
      // An IPv6 customer has a whole network to send from.
      const headers = { 'X-Forwarded-For': `198.51.100.${i}, 2001:db8::${i + 1}` };
      const json = { email: `user${i}@example.com`, password };
      statuses.push((await limited.browser().request('/console/api/sign-up', { method: 'POST', json, headers })).status);
    }
    expect(statuses).toEqual([202, 202, 202, 202, 429, 429]);
    const keys = (await limited.sql`SELECT subject FROM rate_limits WHERE subject LIKE 'ip:%'`).map(({ subject }) => String(subject));
    expect(keys).toEqual(['ip:2001:db8:0:0::/64']);
    await limited.close();
  });

  it('counts the connections of one IP together, although its proxy adds their ports', async () => {
    const limited = await makeConsole({ options: { rateLimits: { auth: 3 } }, console: { proxyHops: 1 } });
    await limited.browser().post('/console/api/sign-up', { email: 'owner@example.com', password });
    const statuses = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await signIn(limited, 'owner@example.com', { ip: `203.0.113.1:${50_000 + i}` })).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    await limited.close();
  });
});
