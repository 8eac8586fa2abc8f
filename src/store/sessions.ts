/** Sessions of the console: who calls, and until when. Tokens are stored as hashes only. */
import { and, desc, eq, gt, inArray, lt, ne, sql } from './orm.ts';
import type postgres from 'postgres';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { Role } from '../domain/roles.ts';
import { type Db, sqlState, transact, type Tx } from './database.ts';
import { consoleSessions, consoleUsers, hasTwoFactor } from './schema.ts';
import type { Account, ConsoleUser } from './types.ts';

/** a session ends after so many hours without a request */
export const sessionIdleHours = 24;
/** a session ends after so many days in any case */
export const sessionDays = 14;
/** seconds between two updates of `last_seen_at` */
const seenNoteS = 60;

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

const isOpen = and(
  gt(consoleSessions.expiresAt, sql`now()`),
  sql`${consoleSessions.lastSeenAt} > now() - make_interval(hours => ${sessionIdleHours}::int)`,
);

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

export function sessionQueries(db: Db, client: postgres.Sql) {
  return {
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
  const current = and(eq(consoleUsers.id, userId), eq(consoleUsers.password, password));
  const users = await tx.select({ id: consoleUsers.id }).from(consoleUsers).where(current).for('share');
  if (users.length === 0) return null;
  // A query of its own: the one that waited has the state of before.
  const [state] = await tx.select({ hasTwoFactor }).from(consoleUsers).where(eq(consoleUsers.id, userId));
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
