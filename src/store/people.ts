/** The people of an account: roles, invitations, and removal. Tokens of links are stored as hashes only. */
import { and, count, desc, eq, gt, lt, lte, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { maxPeople } from '../domain/limits.ts';
import { invitationDays } from '../domain/one-time-link.ts';
import type { Role } from '../domain/roles.ts';
import { holdOpen, lockOpenAccount, requireAdmin } from './account-locks.ts';
import type { Operator } from './accounts.ts';
import { type Db, sqlState, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { accounts, consoleUsers, hasTwoFactor, invitations } from './schema.ts';
import { endSessions } from './sessions.ts';
import type { Actor } from './types.ts';
import { operatorProtected } from './users.ts';

export interface PersonRecord {
  id: string;
  email: string;
  role: Role;
  operator: boolean;
  /** whether sign-in asks for a code */
  twoFactor: boolean;
  createdAt: Date;
}

export interface InvitationRecord {
  id: string;
  accountId: string;
  email: string;
  role: Role;
  /** null for the command line */
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date;
}

/** The invitation behind a link. */
export type InvitationDetail = Pick<InvitationRecord, 'email' | 'role' | 'expiresAt'> & { accountName: string };

export interface Invite {
  accountId: string;
  email: string;
  role: Role;
  tokenHash: Buffer;
  /** null for the command line */
  createdBy: string | null;
}

/** A person and the account. */
export interface WhichPerson {
  accountId: string;
  userId: string;
}

/** Who acts, in the audit log: an admin of the account, or an operator in the console. Empty: the command line. */
type PersonActor = Pick<Actor, 'user_id'> & Operator;

interface PageQuery {
  accountId: string;
  limit: number;
  /** an exclusive id */
  startingAfter?: string | undefined;
}

const unexpired = gt(invitations.expiresAt, sql`now()`);
const { id, accountId, email, role, createdBy, createdAt, expiresAt } = invitations;
const shown = { id, accountId, email, role, createdBy, createdAt, expiresAt };

export function peopleQueries(db: Db) {
  return {
    /** Newest first. */
    list(query: PageQuery): Promise<PersonRecord[]> {
      const { id: userId } = consoleUsers;
      const after = query.startingAfter === undefined ? undefined : sql`${userId} COLLATE "C" < ${query.startingAfter}`;
      return db
        .select({
          id: userId, email: consoleUsers.email, role: consoleUsers.role, operator: consoleUsers.operator, twoFactor: hasTwoFactor,
          createdAt: consoleUsers.createdAt,
        })
        .from(consoleUsers)
        .where(and(eq(consoleUsers.accountId, query.accountId), after))
        .orderBy(desc(sql`${userId} COLLATE "C"`))
        .limit(query.limit);
    },

    /** The account of a person; null for an unknown one. */
    async accountOf(userId: string): Promise<string | null> {
      const [row] = await db.select({ accountId: consoleUsers.accountId }).from(consoleUsers).where(eq(consoleUsers.id, userId));
      return row?.accountId ?? null;
    },

    /**
     * null for a person outside the account. Throws ReelmendError `last_admin`, or `operator_protected` if an operator of the
     * console would change an operator.
     */
    setRole: (which: WhichPerson, wanted: Role, actor: PersonActor): Promise<PersonRecord | null> =>
      transact(db, (tx) => setRole(tx, which, wanted, actor)),

    /**
     * Deletes a user with the sessions and open invitations. False for a person outside the account. Throws ReelmendError
     * `last_admin`, or `operator_protected`, because only the command line makes and removes operators.
     */
    remove: (which: WhichPerson, actor: PersonActor): Promise<boolean> => transact(db, (tx) => remove(tx, which, actor)),

    /** Replaces an open invitation for the same email. null for an unknown or closed account; throws ReelmendError `people_limit_reached`. */
    invite: (invitation: Invite): Promise<InvitationRecord | null> => transact(db, (tx) => invite(tx, invitation)),

    /** Open invitations, newest first. */
    invitations(query: PageQuery): Promise<InvitationRecord[]> {
      const after = query.startingAfter === undefined ? undefined : lt(id, query.startingAfter);
      const open = and(eq(accountId, query.accountId), unexpired, after);
      return db.select(shown).from(invitations).where(open).orderBy(desc(id)).limit(query.limit);
    },

    /** False for an unknown invitation. */
    revoke: (which: { accountId: string; invitationId: string }, actor: Actor): Promise<boolean> =>
      transact(db, async (tx) => {
        const own = and(eq(accountId, which.accountId), eq(id, which.invitationId));
        const [revoked] = await tx.delete(invitations).where(own).returning(shown);
        if (!revoked) return false;
        const data = { invitation_id: revoked.id, ...actor };
        await appendEvent(tx, { accountId: which.accountId, kind: 'invitation.revoked', data });
        return true;
      }),

    /** null for a link that does not work. */
    async findInvitation(tokenHash: Buffer): Promise<InvitationDetail | null> {
      const [row] = await db
        .select({ email, role, expiresAt, accountName: accounts.name })
        .from(invitations)
        .innerJoin(accounts, eq(accounts.id, accountId))
        .where(and(eq(invitations.tokenHash, tokenHash), unexpired));
      return row ?? null;
    },

    /**
     * Uses the invitation and creates the user. `invalid` for a link that does not work. `taken` if the email belongs to a
     * user already, of whatever account: the invitation stays open then.
     */
    async accept(tokenHash: Buffer, password: string): Promise<'accepted' | 'invalid' | 'taken'> {
      try {
        return (await transact(db, (tx) => accept(tx, tokenHash, password))) ? 'accepted' : 'invalid';
      } catch (error) {
        // unique_violation of the email; the transaction changed nothing
        if (sqlState(error) === '23505') return 'taken';
        throw error;
      }
    },

    /** Drops invitations that have expired; returns how many. */
    async prune(): Promise<number> {
      return (await db.delete(invitations).where(lte(expiresAt, sql`now()`)).returning({ id })).length;
    },
  };
}

/**
 * Locks the account, so that one of two admins who step down together is refused, and then the person. Throws like
 * `requireAdmin`.
 */
async function lock(tx: Tx, which: WhichPerson, actor: PersonActor) {
  if ((await lockOpenAccount(tx, which.accountId)) === null) return null;
  await requireAdmin(tx, which.accountId, actor.user_id);
  const own = and(eq(consoleUsers.id, which.userId), eq(consoleUsers.accountId, which.accountId));
  const [person] = await tx.select().from(consoleUsers).where(own).for('update');
  return person ?? null;
}

/** Throws ReelmendError `last_admin` if no other person is an admin. Runs under the lock of the account. */
async function requireAnotherAdmin(tx: Tx, which: WhichPerson): Promise<void> {
  const others = and(eq(consoleUsers.accountId, which.accountId), eq(consoleUsers.role, 'admin'), sql`${consoleUsers.id} <> ${which.userId}`);
  const [found] = await tx.select({ admins: count() }).from(consoleUsers).where(others);
  if (found!.admins === 0) throw new ReelmendError('last_admin', 'The account needs an admin. Make somebody else an admin first.');
}

async function setRole(tx: Tx, which: WhichPerson, wanted: Role, actor: PersonActor): Promise<PersonRecord | null> {
  const person = await lock(tx, which, actor);
  if (person === null) return null;
  if (person.operator && actor.operator_id !== undefined) throw operatorProtected();
  if (person.role !== wanted) {
    if (person.role === 'admin') await requireAnotherAdmin(tx, which);
    await tx.update(consoleUsers).set({ role: wanted }).where(eq(consoleUsers.id, person.id));
    // Otherwise an old link would make the person an admin again.
    if (wanted === 'member') await tx.delete(invitations).where(eq(createdBy, person.id));
    const data = { person_id: person.id, role: wanted, ...actor };
    await appendEvent(tx, { accountId: which.accountId, kind: 'user.role_changed', data });
  }
  const [row] = await tx.select({ twoFactor: hasTwoFactor }).from(consoleUsers).where(eq(consoleUsers.id, person.id));
  return { ...person, role: wanted, twoFactor: row!.twoFactor };
}

async function remove(tx: Tx, which: WhichPerson, actor: PersonActor): Promise<boolean> {
  const person = await lock(tx, which, actor);
  if (person === null) return false;
  if (person.operator) throw operatorProtected();
  if (person.role === 'admin') await requireAnotherAdmin(tx, which);
  const ended = await endSessions(tx, person.id, null);
  // Also deletes the links, the second factor and the invitations of the user.
  await tx.delete(consoleUsers).where(eq(consoleUsers.id, person.id));
  const data = { person_id: person.id, ended_sessions: ended, ...actor };
  await appendEvent(tx, { accountId: which.accountId, kind: 'user.removed', data });
  return true;
}

async function invite(tx: Tx, wanted: Invite): Promise<InvitationRecord | null> {
  if ((await lockOpenAccount(tx, wanted.accountId)) === null) return null;
  await requireAdmin(tx, wanted.accountId, wanted.createdBy);
  const sameEmail = sql`lower(${email}) = lower(${wanted.email})`;
  await tx.delete(invitations).where(and(eq(accountId, wanted.accountId), sameEmail));
  await requireRoom(tx, wanted.accountId);
  const ends = sql`now() + make_interval(days => ${invitationDays}::int)`;
  const [made] = await tx.insert(invitations).values({ id: newId('inv'), ...wanted, expiresAt: ends }).returning(shown);
  const actor = wanted.createdBy === null ? {} : { user_id: wanted.createdBy };
  const data = { invitation_id: made!.id, role: wanted.role, ...actor };
  await appendEvent(tx, { accountId: wanted.accountId, kind: 'invitation.created', data });
  return made!;
}

/** Throws ReelmendError `people_limit_reached`. Runs under the lock of the account. */
async function requireRoom(tx: Tx, account: string): Promise<void> {
  const [people] = await tx.select({ all: count() }).from(consoleUsers).where(eq(consoleUsers.accountId, account));
  const [open] = await tx.select({ all: count() }).from(invitations).where(and(eq(accountId, account), unexpired));
  if (people!.all + open!.all < maxPeople) return;
  const message = `The account has ${maxPeople} people and open invitations, which is the limit. Remove one first.`;
  throw new ReelmendError('people_limit_reached', message);
}

async function accept(tx: Tx, tokenHash: Buffer, password: string): Promise<boolean> {
  const matching = and(eq(invitations.tokenHash, tokenHash), unexpired);
  const [found] = await tx.select({ accountId }).from(invitations).where(matching);
  if (!found || !(await holdOpen(tx, found.accountId))) return false;
  const [used] = await tx.delete(invitations).where(matching).returning(shown);
  // Another request has used it, or it was revoked.
  if (!used) return false;
  const person = { id: newId('user'), accountId: used.accountId, email: used.email, role: used.role, password };
  await tx.insert(consoleUsers).values(person);
  const data = { user_id: person.id, role: used.role, invitation_id: used.id };
  await appendEvent(tx, { accountId: used.accountId, kind: 'user.created', data });
  return true;
}
