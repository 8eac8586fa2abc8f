/** Users of the console and their sessions. Passwords and tokens are stored as hashes only. */
import { and, desc, eq, gt, inArray, lt, ne, sql } from './orm.ts';
import type postgres from 'postgres';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { Role } from '../domain/roles.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { holdOpen, notOpen } from './account-locks.ts';
import type { Operator } from './accounts.ts';
import { type Db, sqlState, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { accounts, consoleSessions, consoleUsers, hasTwoFactor, passwordLinks } from './schema.ts';
import type { Account } from './types.ts';
import { addFirstSecret } from './webhook-secrets.ts';

/** a session ends after so many hours without a request */
export const sessionIdleHours = 24;
/** a session ends after so many days in any case */
export const sessionDays = 14;
/** seconds between two updates of `last_seen_at` */
const seenNoteS = 60;

export interface ConsoleUser {
  id: string;
  accountId: string;
  email: string;
  /** what the user may do in the account */
  role: Role;
  /** whether the user may open the operator pages */
  operator: boolean;
  createdAt: Date;
}

/** The caller: an open session with its user and account. */
export interface ConsoleIdentity {
  sessionId: string;
  expiresAt: Date;
  user: ConsoleUser;
  account: Account;
}

export interface SessionRecord {
  id: string;
  userAgent: string;
  createdAt: Date;
  lastSeenAt: Date;
  expiresAt: Date;
}

export interface CreateUser {
  email: string;
  /** PHC string */
  password: string;
  /** an existing account, or the name of a new one */
  account: { id: string } | { name: string };
}

const sameEmail = (email: string) => sql`lower(${consoleUsers.email}) = lower(${email})`;
const isOpen = and(
  gt(consoleSessions.expiresAt, sql`now()`),
  sql`${consoleSessions.lastSeenAt} > now() - make_interval(hours => ${sessionIdleHours}::int)`,
);
const { id, accountId, email, role, operator, createdAt } = consoleUsers;
const visible = { id, accountId, email, role, operator, createdAt };

/** The one query that every call of the console runs, as text (see visibleJobQuery). Parameter: hash. */
const identityQuery = `SELECT s.id AS "sessionId", s.expires_at AS "expiresAt",
  s.last_seen_at < now() - make_interval(secs => ${seenNoteS}) AS stale,
  u.id AS "userId", u.email, u.role, u.operator, u.created_at AS "userCreatedAt",
  a.id, a.name, a.plan, a.approval_status AS "approvalStatus", a.credits::float8 AS credits,
  a.retention_days AS "retentionDays", a.created_at AS "createdAt", a.quotas
  FROM console_sessions s JOIN console_users u ON u.id = s.user_id JOIN accounts a ON a.id = u.account_id
  WHERE s.token_hash = $1 AND s.expires_at > now()
    AND s.last_seen_at > now() - make_interval(hours => ${sessionIdleHours})`;

type IdentityRow = Omit<Account, 'createdAt'> & {
  sessionId: string;
  expiresAt: string;
  stale: boolean;
  userId: string;
  email: string;
  role: Role;
  operator: boolean;
  userCreatedAt: string;
  createdAt: string;
};

export function userQueries(db: Db, client: postgres.Sql, cipher?: SecretCipher) {
  return {
    /** Creates a user. A new account is pending. null if the email is taken. */
    async create(input: CreateUser): Promise<ConsoleUser | null> {
      try {
        return await transact(db, (tx) => createUser(tx, input, cipher));
      } catch (error) {
        // unique_violation: another request with the same email won
        if (sqlState(error) === '23505') return null;
        throw error;
      }
    },

    /** With the hash of the password; null for an unknown email. */
    async byEmail(text: string): Promise<(ConsoleUser & { password: string }) | null> {
      const [row] = await db.select().from(consoleUsers).where(sameEmail(text));
      return row ?? null;
    },

    async passwordOf(userId: string): Promise<string | null> {
      const [row] = await db.select({ password: consoleUsers.password }).from(consoleUsers).where(eq(id, userId));
      return row?.password ?? null;
    },

    /**
     * Sets the hash and ends every session except `keep`; returns how many ended. A link for a new password stops working.
     */
    changePassword: (userId: string, password: string, keep: string | null): Promise<number> =>
      transact(db, (tx) => setPassword(tx, userId, { password, keep })),

    /** The same for a person who knows the old password: null, and nothing is changed, if it is no longer `from`. */
    replacePassword: (userId: string, { from, to, keep }: { from: string; to: string; keep: string }): Promise<number | null> =>
      transact(db, async (tx) => {
        const current = and(eq(id, userId), eq(consoleUsers.password, from));
        const users = await tx.select({ id }).from(consoleUsers).where(current).for('no key update');
        return users.length === 0 ? null : setPassword(tx, userId, { password: to, keep });
      }),

    /** Makes a user an operator, or an ordinary user; null for an unknown email. */
    setOperator: (text: string, value: boolean): Promise<ConsoleUser | null> =>
      transact(db, async (tx) => {
        const [user] = await tx.select(visible).from(consoleUsers).where(sameEmail(text)).for('no key update');
        if (!user || user.operator === value) return user ?? null;
        await tx.update(consoleUsers).set({ operator: value }).where(eq(id, user.id));
        // An operator of the console may have created the link, and must not take over another operator.
        await tx.delete(passwordLinks).where(eq(passwordLinks.userId, user.id));
        const kind = value ? 'operator.added' : 'operator.removed';
        await appendEvent(tx, { accountId: user.accountId, kind, data: { user_id: user.id } });
        return { ...user, operator: value };
      }),

    list(): Promise<ConsoleUser[]> {
      return db.select(visible).from(consoleUsers).orderBy(id);
    },

    operators(): Promise<ConsoleUser[]> {
      return db.select(visible).from(consoleUsers).where(eq(operator, true)).orderBy(id);
    },

    /**
     * null if the password has changed meanwhile: the change has ended all sessions, so this one must not open. Throws ReelmendError
     * `second_factor_required` if the second factor was enabled meanwhile, for the same reason.
     */
    openSession: (session: NewSession): Promise<SessionRecord | null> => transact(db, (tx) => openSession(tx, session)),

    /** The identity behind the hash of a token; null if there is no such open session. */
    async identify(tokenHash: Buffer): Promise<ConsoleIdentity | null> {
      const [row] = await client.unsafe<IdentityRow[]>(identityQuery, [tokenHash], { prepare: true });
      if (!row) return null;
      if (row.stale) await noteUse(db, row.sessionId);
      return toIdentity(row);
    },

    /** Which of the sessions are open. */
    async open(sessionIds: string[]): Promise<Set<string>> {
      const rows = await db
        .select({ id: consoleSessions.id })
        .from(consoleSessions)
        .where(and(inArray(consoleSessions.id, sessionIds), isOpen));
      return new Set(rows.map((row) => row.id));
    },

    /** Newest first; `startingAfter` is an exclusive id. */
    sessions(query: { userId: string; limit: number; startingAfter?: string | undefined }): Promise<SessionRecord[]> {
      const after = query.startingAfter === undefined ? undefined : lt(consoleSessions.id, query.startingAfter);
      return db
        .select()
        .from(consoleSessions)
        .where(and(eq(consoleSessions.userId, query.userId), isOpen, after))
        .orderBy(desc(consoleSessions.id))
        .limit(query.limit);
    },

    /** Ends one session of the user; false for an unknown session. */
    async endSession(userId: string, sessionId: string): Promise<boolean> {
      const ended = await db
        .delete(consoleSessions)
        .where(and(eq(consoleSessions.id, sessionId), eq(consoleSessions.userId, userId)))
        .returning({ id: consoleSessions.id });
      return ended.length === 1;
    },

    endOtherSessions: (userId: string, keep: string): Promise<number> => transact(db, (tx) => endSessions(tx, userId, keep)),

    /** Drops sessions that have expired; returns how many. */
    async dropEndedSessions(): Promise<number> {
      const dropped = await db.delete(consoleSessions).where(sql`NOT (${isOpen})`).returning({ id: consoleSessions.id });
      return dropped.length;
    },
  };
}

/**
 * Locks a user whom an operator acts on. null for an unknown user. Throws ReelmendError `operator_protected` if an operator
 * of the console would act on an operator: a person with one stolen session must not take over others.
 */
export async function lockForOperator(tx: Tx, userId: string, { operator_id }: Operator): Promise<{ id: string; accountId: string } | null> {
  const [user] = await tx.select({ id, accountId, operator }).from(consoleUsers).where(eq(id, userId)).for('no key update');
  if (user?.operator === true && operator_id !== undefined) {
    throw operatorProtected();
  }
  return user ?? null;
}

export function operatorProtected(): ReelmendError {
  return new ReelmendError('operator_protected', 'This person is an operator. Use the command line.');
}

interface NewPassword {
  /** PHC string */
  password: string;
  /** the session that stays open */
  keep: string | null;
  /** for the audit log */
  facts?: Record<string, unknown>;
}

/** Returns how many sessions ended; 0 for an unknown user. */
export async function setPassword(tx: Tx, userId: string, { password, keep, facts = {} }: NewPassword): Promise<number> {
  const [user] = await tx.update(consoleUsers).set({ password }).where(eq(id, userId)).returning(visible);
  if (!user) return 0;
  const ended = await endSessions(tx, userId, keep);
  // Older links must not undo the change.
  await tx.delete(passwordLinks).where(eq(passwordLinks.userId, userId));
  const data = { user_id: userId, ended_sessions: ended, ...facts };
  await appendEvent(tx, { accountId: user.accountId, kind: 'user.password_changed', data });
  return ended;
}

async function createUser(tx: Tx, input: CreateUser, cipher: SecretCipher | undefined): Promise<ConsoleUser | null> {
  const [known] = await tx.select({ id }).from(consoleUsers).where(sameEmail(input.email));
  if (known) return null;
  if ('id' in input.account && !(await holdOpen(tx, input.account.id))) throw notOpen(input.account.id);
  const owner = 'id' in input.account ? input.account.id : await createAccount(tx, input.account.name, cipher);
  const [user] = await tx
    .insert(consoleUsers)
    .values({ id: newId('user'), accountId: owner, email: input.email, password: input.password })
    .returning(visible);
  if ('name' in input.account) await appendEvent(tx, { accountId: owner, kind: 'account.created' });
  await appendEvent(tx, { accountId: owner, kind: 'user.created', data: { user_id: user!.id } });
  return user!;
}

async function createAccount(tx: Tx, name: string, cipher: SecretCipher | undefined): Promise<string> {
  const made = newId('acct');
  await tx.insert(accounts).values({ id: made, name });
  await addFirstSecret(tx, cipher, made);
  return made;
}

interface NewSession {
  userId: string;
  tokenHash: Buffer;
  userAgent: string;
  /** PHC string that the password was compared with */
  password: string;
  /** whether a code of the second factor was right, too */
  withCode: boolean;
}

async function openSession(tx: Tx, { userId, tokenHash, userAgent, password, withCode }: NewSession): Promise<SessionRecord | null> {
  // FOR SHARE waits for a transaction that changes the password or the second factor, and lets a later one see the new session.
  const current = and(eq(id, userId), eq(consoleUsers.password, password));
  const users = await tx.select({ id }).from(consoleUsers).where(current).for('share');
  if (users.length === 0) return null;
  // A query of its own: the one that waited has the state of before.
  const [state] = await tx.select({ hasTwoFactor }).from(consoleUsers).where(eq(id, userId));
  if (state!.hasTwoFactor && !withCode) throw secondFactorRequired();
  const session = { userId, tokenHash, id: newId('sess'), userAgent: userAgent.replaceAll('\0', '').slice(0, 200) };
  const expiresAt = sql`now() + make_interval(days => ${sessionDays}::int)`;
  const [row] = await tx.insert(consoleSessions).values({ ...session, expiresAt }).returning();
  return row!;
}

export const secondFactorRequired = () => new ReelmendError('second_factor_required', 'Enter the code of your authenticator app.');

/** Runs under the lock of the user. Throws ReelmendError `invalid_session` if the session has ended while its request ran. */
export async function requireOpenSession(tx: Tx, userId: string, sessionId: string): Promise<void> {
  const own = and(eq(consoleSessions.id, sessionId), eq(consoleSessions.userId, userId));
  const found = await tx.select({ id: consoleSessions.id }).from(consoleSessions).where(own);
  if (found.length === 0) throw sessionHasEnded();
}

const sessionHasEnded = () => new ReelmendError('invalid_session', 'The session has ended. Sign in again.');

/** The public error behind SQLSTATE RM401 of `create_job` for a caller of the console; undefined for any other. */
export const sessionIsGone = (error: unknown): ReelmendError | undefined => (sqlState(error) === 'RM401' ? sessionHasEnded() : undefined);

/** Returns how many ended. */
export async function endSessions(tx: Tx, userId: string, keep: string | null): Promise<number> {
  const ended = await tx
    .delete(consoleSessions)
    .where(and(eq(consoleSessions.userId, userId), keep === null ? undefined : ne(consoleSessions.id, keep)))
    .returning({ id: consoleSessions.id });
  return ended.length;
}

/** Several processes may want to update at once; the condition on the row lets one of them write. */
async function noteUse(db: Db, sessionId: string): Promise<void> {
  await db
    .update(consoleSessions)
    .set({ lastSeenAt: sql`now()` })
    .where(
      and(
        eq(consoleSessions.id, sessionId),
        sql`${consoleSessions.lastSeenAt} < now() - make_interval(secs => ${seenNoteS})`,
      ),
    );
}

function toIdentity(row: IdentityRow): ConsoleIdentity {
  const { sessionId, expiresAt: ends, stale: _stale, userId, userCreatedAt, createdAt: made, ...rest } = row;
  const { email: userEmail, role: userRole, operator: isOperator, ...account } = rest;
  return {
    sessionId,
    expiresAt: new Date(ends),
    user: {
      id: userId,
      accountId: account.id,
      email: userEmail,
      role: userRole,
      operator: isOperator,
      createdAt: new Date(userCreatedAt),
    },
    account: { ...account, createdAt: new Date(made) },
  };
}
