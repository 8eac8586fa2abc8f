/** The people of the session's account, their roles, and invitations; for operators, the people of any account. */
import { ReelmendError } from '../../domain/errors.ts';
import { generateLinkToken, hashLinkToken, linkUrl } from '../../domain/one-time-link.ts';
import type { InvitationRecord, PersonRecord } from '../../store/index.ts';
import type { WithConsole } from '../deps.ts';
import type { ConsoleHandlers } from '../register.ts';
import { clientIp } from './guard.ts';
import { pageOf } from '../paging.ts';
import { linkInvalid } from './password-links.ts';

type PeopleHandlers = Pick<
  ConsoleHandlers,
  | 'consoleListPeople'
  | 'consoleChangeRole'
  | 'consoleRemovePerson'
  | 'consoleListInvitations'
  | 'consoleInvite'
  | 'consoleRevokeInvitation'
  | 'consoleGetInvitation'
  | 'consoleAcceptInvitation'
  | 'operatorChangeRole'
  | 'operatorRemovePerson'
>;

export function peopleHandlers(deps: WithConsole): PeopleHandlers {
  return { ...personHandlers(deps), ...invitationHandlers(deps), ...joiningHandlers(deps), ...operatorPersonHandlers(deps) };
}

function personHandlers({ console: { store } }: WithConsole) {
  return {
    consoleListPeople: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const rows = await store.people.list({ accountId, limit: limit + 1, startingAfter: starting_after });
      return c.json(pageOf(rows, limit, { serialize: serializePerson, cursor: ({ id }) => id }), 200);
    },

    consoleChangeRole: async (c) => {
      const { account, user } = c.get('session');
      const which = { accountId: account.id, userId: c.req.valid('param').id };
      const person = await store.people.setRole(which, c.req.valid('json').role, { user_id: user.id });
      if (person === null) throw noPerson();
      return c.json(serializePerson(person), 200);
    },

    consoleRemovePerson: async (c) => {
      const { account, user } = c.get('session');
      const which = { accountId: account.id, userId: c.req.valid('param').id };
      if (!(await store.people.remove(which, { user_id: user.id }))) throw noPerson();
      return c.json({ removed: true as const }, 200);
    },
  } satisfies Partial<PeopleHandlers>;
}

function invitationHandlers(deps: WithConsole) {
  const { store } = deps.console;
  return {
    consoleListInvitations: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const rows = await store.people.invitations({ accountId, limit: limit + 1, startingAfter: starting_after });
      return c.json(pageOf(rows, limit, { serialize: serializeInvitation, cursor: ({ id }) => id }), 200);
    },

    consoleInvite: async (c) => {
      const { account, user } = c.get('session');
      const token = generateLinkToken();
      const tokenHash = hashLinkToken('invitation', token, deps.keyPepper);
      const invitation = await store.people.invite({ ...c.req.valid('json'), accountId: account.id, tokenHash, createdBy: user.id });
      if (invitation === null) throw new ReelmendError('internal_error', 'The account no longer exists.');
      return c.json({ invitation: serializeInvitation(invitation), url: linkUrl(deps.publicUrl(), 'invitation', token) }, 201);
    },

    consoleRevokeInvitation: async (c) => {
      const { account, user } = c.get('session');
      const which = { accountId: account.id, invitationId: c.req.valid('param').id };
      if (!(await store.people.revoke(which, { user_id: user.id }))) throw new ReelmendError('not_found', 'There is no such invitation.');
      return c.json({ removed: true as const }, 200);
    },
  } satisfies Partial<PeopleHandlers>;
}

/** For a person with a link and no session. */
function joiningHandlers(deps: WithConsole) {
  const { store, passwords, proxyHops } = deps.console;
  return {
    consoleGetInvitation: async (c) => {
      const found = await store.people.findInvitation(hashLinkToken('invitation', c.req.valid('json').token, deps.keyPepper));
      if (found === null) throw linkInvalid();
      const { accountName, email, role, expiresAt } = found;
      return c.json({ account_name: accountName, email, role, expires_at: expiresAt.toISOString() }, 200);
    },

    consoleAcceptInvitation: async (c) => {
      const { token, password } = c.req.valid('json');
      const tokenHash = hashLinkToken('invitation', token, deps.keyPepper);
      if ((await store.people.findInvitation(tokenHash)) === null) throw linkInvalid();
      const hash = await passwords.hash(password, clientIp(c, proxyHops));
      // `taken` is not reported: like sign-up, this must not reveal which emails are known.
      if ((await store.people.accept(tokenHash, hash)) === 'invalid') throw linkInvalid();
      return c.json({ accepted: true as const }, 202);
    },
  } satisfies Partial<PeopleHandlers>;
}

/** For operators, on everybody but operators. */
function operatorPersonHandlers({ console: { store } }: WithConsole) {
  const personOf = async (userId: string) => {
    const accountId = await store.people.accountOf(userId);
    if (accountId === null) throw noPerson();
    return { accountId, userId };
  };
  return {
    operatorChangeRole: async (c) => {
      const which = await personOf(c.req.valid('param').id);
      const person = await store.people.setRole(which, c.req.valid('json').role, { operator_id: c.get('session').user.id });
      if (person === null) throw noPerson();
      return c.json(serializePerson(person), 200);
    },

    operatorRemovePerson: async (c) => {
      const which = await personOf(c.req.valid('param').id);
      if (!(await store.people.remove(which, { operator_id: c.get('session').user.id }))) throw noPerson();
      return c.json({ removed: true as const }, 200);
    },
  } satisfies Partial<PeopleHandlers>;
}

function serializePerson({ id, email, role, operator, twoFactor, createdAt }: PersonRecord) {
  return { id, email, role, operator, two_factor: twoFactor, created_at: createdAt.toISOString() };
}

function serializeInvitation({ id, email, role, createdBy, createdAt, expiresAt }: InvitationRecord) {
  return { id, email, role, created_by: createdBy, created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
}

function noPerson(): ReelmendError {
  return new ReelmendError('not_found', 'There is no such person.');
}
