/** Several people in one account: invitations and their ends, roles, removal, and the last admin. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ConsoleInvitationDetail,
  ConsoleInvitationList,
  ConsoleNewInvitation,
  ConsolePersonList,
  ConsoleSession,
  Role,
} from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';
import { errorOf } from '../helpers/http.ts';
import { auditEntries } from '../helpers/worker-world.ts';

const password = 'correct horse battery';
let world: ConsoleWorld;
let operator: Person;
beforeAll(async () => {
  world = await makeConsole();
  operator = await world.person({ operator: true });
});
afterAll(() => world.close());

const newEmail = () => `${newId('user')}@example.com`;
const invite = ({ browser }: Person, email = newEmail(), role: Role = 'member') =>
  browser.post<ConsoleNewInvitation>('/console/api/invitations', { email, role });
const tokenOf = ({ url }: ConsoleNewInvitation) => new URL(url).hash.slice(1);
const lookUp = (token: string) => world.browser().request('/console/api/invitation-lookup', { method: 'POST', json: { token } });
const accept = (token: string, secret = password) =>
  world.browser().request('/console/api/invitation-acceptance', { method: 'POST', json: { token, password: secret } });
const usersNamed = (email: string) => world.sql`SELECT * FROM console_users WHERE lower(email) = lower(${email})`;
const remove = (by: Person, userId: string) => by.browser.request(`/console/api/people/${userId}`, { method: 'DELETE' });
const setRole = (by: Person, userId: string, role: Role) => by.browser.request(`/console/api/people/${userId}`, { method: 'PATCH', json: { role } });
const roleOf = async ({ browser }: Person) => (await browser.call<ConsoleSession>('/console/api/session')).user.role;
const entriesOf = ({ accountId }: Person, limit = 10) => auditEntries(world.store, { accountId, limit });
const adminsOf = ({ accountId }: Person) => world.sql`SELECT id FROM console_users WHERE account_id = ${accountId} AND role = 'admin'`;

async function expectError(response: Response, status: number, code: string) {
  expect([response.status, (await errorOf(response)).code]).toEqual([status, code]);
}

async function expectDead(token: string) {
  for (const response of [await lookUp(token), await accept(token)]) await expectError(response, 403, 'one_time_link_invalid');
}

describe('an invitation', () => {
  it('brings a second person into the account, with the role, the email and nothing more', async () => {
    const owner = await world.person({ credits: 70 });
    const email = newEmail();
    const made = await invite(owner, email);
    expect(made.invitation).toMatchObject({ email, role: 'member', created_by: owner.userId });
    const days = (Date.parse(made.invitation.expires_at) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.9);
    expect(days).toBeLessThanOrEqual(7.01);
    const url = new URL(made.url);
    expect([url.pathname, url.search]).toEqual(['/console/invitation', '']);
    expect(await (await lookUp(tokenOf(made))).json()).toEqual({
      ...{ account_name: owner.session.account.name, email, role: 'member', expires_at: made.invitation.expires_at },
    } satisfies ConsoleInvitationDetail);
    const response = await accept(tokenOf(made));
    expect([response.status, await response.json()]).toEqual([202, { accepted: true }]);
    expect(response.headers.get('set-cookie')).toBeNull();
    const member = world.browser();
    const session = await member.signIn(email, password);
    expect(session).toMatchObject({ user: { email, role: 'member', operator: false }, account: { id: owner.accountId, credits: 70 } });
    const [joined, invited] = await entriesOf(owner);
    expect(invited).toMatchObject({ kind: 'invitation.created', data: { invitation_id: made.invitation.id, role: 'member', user_id: owner.userId } });
    expect(joined).toMatchObject({ kind: 'user.created', data: { user_id: session.user.id, role: 'member', invitation_id: made.invitation.id } });
    const people = await member.call<ConsolePersonList>('/console/api/people');
    expect(people.data.map(({ id, role }) => [id, role])).toEqual([[session.user.id, 'member'], [owner.userId, 'admin']]);
  });

  it('works once, also of ten at once', async () => {
    const owner = await world.person();
    const made = await invite(owner);
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await accept(tokenOf(made))).status));
    expect(statuses.toSorted()[0]).toBe(202);
    expect(await usersNamed(made.invitation.email)).toHaveLength(1);
    await expectDead(tokenOf(made));
  });

  const ends: readonly [string, (owner: Person, made: ConsoleNewInvitation) => Promise<unknown>][] = [
    ['after seven days', (_, { invitation }) => world.sql`UPDATE invitations SET expires_at = now() WHERE id = ${invitation.id}`],
    ['once it is revoked', ({ browser }, { invitation }) => browser.call(`/console/api/invitations/${invitation.id}`, { method: 'DELETE' })],
    ['once there is a newer one for the email', (owner, { invitation }) => invite(owner, invitation.email.toUpperCase())],
    ['once the account is closed', ({ accountId }) => world.store.accounts.close(accountId)],
    [
      'once the admin who made it was removed',
      async (owner) => {
        const second = await world.member(owner, 'admin');
        expect((await remove(second, owner.userId)).status).toBe(200);
      },
    ],
    [
      'once the admin who made it is a member: it would make an admin again',
      async (owner) => {
        const second = await world.member(owner, 'admin');
        expect((await setRole(second, owner.userId, 'member')).status).toBe(200);
      },
    ],
  ];
  it.each(ends)('does not work %s', async (_when, end) => {
    const owner = await world.person();
    const made = await invite(owner, newEmail(), 'admin');
    await end(owner, made);
    await expectDead(tokenOf(made));
    expect(await usersNamed(made.invitation.email)).toHaveLength(0);
  });

  it('changes nothing of a user who is known already, and does not say so', async () => {
    const [owner, known] = [await world.person(), await world.person()];
    const made = await invite(owner, known.email.toUpperCase(), 'admin');
    const [before] = await usersNamed(known.email);
    const response = await accept(tokenOf(made), 'another horse battery');
    expect([response.status, await response.json()]).toEqual([202, { accepted: true }]);
    expect(await usersNamed(known.email)).toEqual([before]);
    expect((await known.browser.call<ConsoleSession>('/console/api/session')).account.id).toBe(known.accountId);
    expect((await entriesOf(owner))[0]!.kind).toBe('invitation.created');
  });

  it('is listed until it ends, without its link, to its account alone', async () => {
    const [owner, other] = [await world.person(), await world.person()];
    const [first, second] = [await invite(owner), await invite(owner)];
    const list = await owner.browser.call<ConsoleInvitationList>('/console/api/invitations');
    expect(list.data).toEqual([second.invitation, first.invitation]);
    expect(JSON.stringify(list)).not.toContain(tokenOf(first));
    expect((await other.browser.call<ConsoleInvitationList>('/console/api/invitations')).data).toEqual([]);
    await expectError(await other.browser.request(`/console/api/invitations/${first.invitation.id}`, { method: 'DELETE' }), 404, 'not_found');
    await owner.browser.call(`/console/api/invitations/${first.invitation.id}`, { method: 'DELETE' });
    await world.sql`UPDATE invitations SET expires_at = now() WHERE id = ${second.invitation.id}`;
    expect((await owner.browser.call<ConsoleInvitationList>('/console/api/invitations')).data).toEqual([]);
    expect(await world.store.people.prune()).toBeGreaterThanOrEqual(1);
  });

  it('is stored without its token, which no log has, and no purpose takes another one’s', async () => {
    const owner = await world.person();
    const made = await invite(owner);
    const rows = JSON.stringify(await world.sql`SELECT to_jsonb(i)::text AS text FROM invitations i`);
    const text = rows + JSON.stringify(world.logged) + JSON.stringify(await entriesOf(owner));
    expect(text).not.toContain(tokenOf(made));
    const json = { token: tokenOf(made), new_password: password };
    await expectError(await world.browser().request('/console/api/password-link', { method: 'POST', json }), 403, 'one_time_link_invalid');
  });

  it('409 people_limit_reached for the 51st', async () => {
    const owner = await world.person();
    for (let i = 1; i < 50; i++) {
      const tokenHash = Buffer.alloc(32);
      tokenHash.write(`${owner.userId}${i}`.slice(-30));
      await world.store.people.invite({ accountId: owner.accountId, email: newEmail(), role: 'member', tokenHash, createdBy: owner.userId });
    }
    const json = { email: newEmail(), role: 'member' };
    await expectError(await owner.browser.request('/console/api/invitations', { method: 'POST', json }), 409, 'people_limit_reached');
  });
});

describe('a role', () => {
  it('counts from the next request on, without signing in again', async () => {
    const owner = await world.person();
    const member = await world.member(owner);
    const create = () => member.browser.request('/console/api/keys', { method: 'POST', json: { mode: 'test', tier: 'standard' } });
    await expectError(await create(), 403, 'admin_required');
    expect((await setRole(owner, member.userId, 'admin')).status).toBe(200);
    expect([(await create()).status, await roleOf(member)]).toEqual([201, 'admin']);
    expect((await setRole(owner, member.userId, 'member')).status).toBe(200);
    await expectError(await create(), 403, 'admin_required');
    const [entry] = await entriesOf(owner);
    expect(entry).toMatchObject({ kind: 'user.role_changed', data: { person_id: member.userId, role: 'member', user_id: owner.userId } });
  });

  it('is nobody’s to give oneself, and no body of another operation gives one', async () => {
    const owner = await world.person();
    const member = await world.member(owner);
    await expectError(await setRole(member, member.userId, 'admin'), 403, 'admin_required');
    await expectError(await remove(member, owner.userId), 403, 'admin_required');
    await expectError(await member.browser.request('/console/api/invitations', { method: 'POST', json: { email: newEmail(), role: 'admin' } }), 403, 'admin_required');
    for (const json of [{ email: newEmail(), password, role: 'admin' }, { email: newEmail(), password, account_id: owner.accountId }]) {
      await expectError(await world.browser().request('/console/api/sign-up', { method: 'POST', json }), 400, 'invalid_request');
    }
    expect(await roleOf(member)).toBe('member');
  });

  it('of an account is not one of the service: admins and members open no page of operators, operators who are members manage nothing of the account', async () => {
    const owner = await world.person();
    const member = await world.member(owner);
    await expectError(await owner.browser.request('/console/api/operator/overview'), 403, 'operator_required');
    await world.store.users.setOperator(member.email, true);
    expect((await member.browser.request('/console/api/operator/overview')).status).toBe(200);
    await expectError(await member.browser.request('/console/api/keys', { method: 'POST', json: { mode: 'test', tier: 'standard' } }), 403, 'admin_required');
  });

  it('that was lost while a request was under way counts: nobody comes back by it', async () => {
    const owner = await world.person();
    const member = await world.member(owner, 'admin');
    const { accountId } = owner;
    const fresh = (byte: number) => ({ hash: Buffer.alloc(32, byte), lastFour: 'abcd' });
    const key = { accountId, mode: 'test', tier: 'standard' } as const;
    const { id: keyId } = await world.store.keys.create({ ...key, ...fresh(1) });
    await setRole(owner, member.userId, 'member');
    const actor = { user_id: member.userId };
    const invitation = { accountId, email: newEmail(), role: 'admin', tokenHash: Buffer.alloc(32, 9), createdBy: member.userId } as const;
    await expect(world.store.people.invite(invitation)).rejects.toMatchObject({ code: 'admin_required' });
    await expect(world.store.people.setRole({ accountId, userId: member.userId }, 'admin', actor)).rejects.toMatchObject({ code: 'admin_required' });
    await expect(world.store.people.remove({ accountId, userId: owner.userId }, actor)).rejects.toMatchObject({ code: 'admin_required' });
    await remove(owner, member.userId);
    await expect(world.store.people.invite(invitation)).rejects.toMatchObject({ code: 'admin_required' });
    await expect(world.store.keys.create({ ...key, ...fresh(2) }, actor)).rejects.toMatchObject({ code: 'admin_required' });
    await expect(world.store.keys.rotate(keyId, { ...fresh(3), overlapDays: 0 }, actor)).rejects.toMatchObject({ code: 'admin_required' });
    expect(await world.store.keys.list(accountId)).toMatchObject([{ id: keyId, expiresAt: null }]);
    expect(await roleOf(owner)).toBe('admin');
  });

  it('lets a member use jobs', async () => {
    const owner = await world.person();
    const member = await world.member(owner);
    const request = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
    const { id } = await member.browser.post<{ id: string }>('/console/api/jobs', { mode: 'test', request });
    expect((await owner.browser.request(`/console/api/jobs/${id}`)).status).toBe(200);
    expect((await member.browser.request(`/console/api/jobs/${id}`, { method: 'DELETE' })).ok).toBe(true);
  });
});

describe('an operator', () => {
  const path = (userId: string) => `/console/api/operator/people/${userId}`;
  const change = (userId: string, role: Role) => operator.browser.request(path(userId), { method: 'PATCH', json: { role } });
  const removeBy = (by: Person, userId: string) => by.browser.request(path(userId), { method: 'DELETE' });

  it('changes the role of a person of any account, whose audit log records the operator', async () => {
    const owner = await world.person();
    const guest = await world.member(owner);
    const response = await change(guest.userId, 'admin');
    expect(await response.json()).toMatchObject({ id: guest.userId, email: guest.email, role: 'admin' });
    expect(await roleOf(guest)).toBe('admin');
    const [entry] = await entriesOf(owner);
    expect(entry).toMatchObject({ kind: 'user.role_changed', data: { person_id: guest.userId, role: 'admin', operator_id: operator.userId } });
    expect(entry!.data).not.toHaveProperty('user_id');
    // An invitation of somebody who is an admin no more would make an admin again.
    const made = await invite(guest, newEmail(), 'admin');
    expect((await change(guest.userId, 'member')).status).toBe(200);
    await expectDead(tokenOf(made));
  });

  it('removes a person of any account, whose sessions end and whose audit log records the operator', async () => {
    const owner = await world.person();
    const guest = await world.member(owner);
    expect(await (await removeBy(operator, guest.userId)).json()).toEqual({ removed: true });
    await expectError(await guest.browser.request('/console/api/session'), 401, 'invalid_session');
    const [entry] = await entriesOf(owner);
    expect(entry).toMatchObject({ kind: 'user.removed', data: { person_id: guest.userId, operator_id: operator.userId, ended_sessions: 1 } });
    await expectError(await removeBy(operator, guest.userId), 404, 'not_found');
    await expectError(await change(guest.userId, 'admin'), 404, 'not_found');
  });

  it('leaves every account an admin', async () => {
    const owner = await world.person();
    await world.member(owner);
    await expectError(await removeBy(operator, owner.userId), 409, 'last_admin');
    await expectError(await change(owner.userId, 'member'), 409, 'last_admin');
    expect(await roleOf(owner)).toBe('admin');
  });

  it('changes and removes no operator, not even as a member of an account', async () => {
    const owner = await world.person();
    const guest = await world.member(owner);
    await world.store.users.setOperator(guest.email, true);
    for (const id of [guest.userId, operator.userId]) {
      await expectError(await change(id, 'admin'), 403, 'operator_protected');
      await expectError(await removeBy(operator, id), 403, 'operator_protected');
    }
    expect(await roleOf(guest)).toBe('member');
    // The command line may.
    expect(await world.store.people.setRole({ accountId: owner.accountId, userId: guest.userId }, 'admin', {})).toMatchObject({ role: 'admin' });
  });

  it('is nobody else: admins reach no person of another account by these calls, nor of their own', async () => {
    const owner = await world.person();
    const guest = await world.member(owner);
    await expectError(await removeBy(owner, guest.userId), 403, 'operator_required');
    expect((await guest.browser.request('/console/api/session')).status).toBe(200);
  });
});

describe('removing a person', () => {
  it('ends the sessions and links at once, keeps the account, and frees the email', async () => {
    const owner = await world.person();
    const member = await world.member(owner);
    await world.store.passwordLinks.create(member.userId, Buffer.alloc(32, member.userId.at(-1)));
    const response = await remove(owner, member.userId);
    expect(await response.json()).toEqual({ removed: true });
    await expectError(await member.browser.request('/console/api/session'), 401, 'invalid_session');
    const json = { email: member.email, password };
    await expectError(await world.browser().request('/console/api/sign-in', { method: 'POST', json }), 401, 'invalid_credentials');
    expect(await world.sql`SELECT 1 FROM password_links WHERE user_id = ${member.userId}`).toHaveLength(0);
    const [entry] = await entriesOf(owner);
    expect(entry).toMatchObject({ kind: 'user.removed', data: { person_id: member.userId, user_id: owner.userId, ended_sessions: 1 } });
    expect((await invite(owner, member.email)).invitation.email).toBe(member.email);
  });

  it('404 for people of another account, who stay as they are', async () => {
    const [owner, other] = [await world.person(), await world.person()];
    const member = await world.member(other);
    await expectError(await remove(owner, member.userId), 404, 'not_found');
    await expectError(await setRole(owner, member.userId, 'admin'), 404, 'not_found');
    expect(await roleOf(member)).toBe('member');
  });

  it('is refused for operators of the service', async () => {
    const owner = await world.person();
    const member = await world.member(owner);
    await world.store.users.setOperator(member.email, true);
    await expectError(await remove(owner, member.userId), 403, 'operator_protected');
    expect((await member.browser.request('/console/api/session')).status).toBe(200);
  });
});

describe('the last admin', () => {
  it('409 last_admin: cannot leave, nor become a member', async () => {
    const owner = await world.person();
    await world.member(owner);
    await expectError(await remove(owner, owner.userId), 409, 'last_admin');
    await expectError(await setRole(owner, owner.userId, 'member'), 409, 'last_admin');
    expect(await roleOf(owner)).toBe('admin');
  });

  it('may leave once there is another', async () => {
    const owner = await world.person();
    const second = await world.member(owner, 'admin');
    expect((await remove(owner, owner.userId)).status).toBe(200);
    await expectError(await remove(second, second.userId), 409, 'last_admin');
  });

  const steps: readonly [string, (by: Person, whom: Person) => Promise<Response>][] = [
    ['step down', (by) => setRole(by, by.userId, 'member')],
    ['leave', (by) => remove(by, by.userId)],
    ['remove each other', (by, whom) => remove(by, whom.userId)],
  ];
  it.each(steps)('stays when two admins %s at once', async (_what, step) => {
    for (let round = 0; round < 5; round++) {
      const owner = await world.person();
      const second = await world.member(owner, 'admin');
      await Promise.all([step(owner, second), step(second, owner)]);
      expect(await adminsOf(owner)).toHaveLength(1);
    }
  });
});
