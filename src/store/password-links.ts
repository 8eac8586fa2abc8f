/** One-time links that let people set a new password. Tokens are stored as hashes only. */
import { and, eq, gt, lte, sql } from './orm.ts';
import { passwordLinkMinutes } from '../domain/one-time-link.ts';
import type { Operator } from './accounts.ts';
import { type Db, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { consoleUsers, passwordLinks } from './schema.ts';
import { lockForOperator, setPassword } from './users.ts';

const unexpired = gt(passwordLinks.expiresAt, sql`now()`);

export function passwordLinkQueries(db: Db) {
  return {
    /** The new link replaces the user's previous one. null for an unknown user; throws like `lockForOperator`. */
    create: (userId: string, tokenHash: Buffer, actor: Operator = {}): Promise<{ expiresAt: Date } | null> =>
      transact(db, (tx) => create(tx, userId, tokenHash, actor)),

    /** Whether the link still works. */
    async isOpen(tokenHash: Buffer): Promise<boolean> {
      const rows = await db.select({ userId: passwordLinks.userId }).from(passwordLinks).where(and(eq(passwordLinks.tokenHash, tokenHash), unexpired));
      return rows.length === 1;
    },

    /** Uses the link: sets the hash of the password and ends every session of the user. False if the link does not work. */
    use: (tokenHash: Buffer, password: string): Promise<boolean> => transact(db, (tx) => use(tx, tokenHash, password)),

    /** Drops links that have expired; returns how many. */
    async prune(): Promise<number> {
      const dropped = await db.delete(passwordLinks).where(lte(passwordLinks.expiresAt, sql`now()`)).returning({ userId: passwordLinks.userId });
      return dropped.length;
    },
  };
}

async function create(tx: Tx, userId: string, tokenHash: Buffer, actor: Operator): Promise<{ expiresAt: Date } | null> {
  const user = await lockForOperator(tx, userId, actor);
  if (user === null) return null;
  await tx.delete(passwordLinks).where(eq(passwordLinks.userId, userId));
  const expiresAt = sql`now() + make_interval(mins => ${passwordLinkMinutes}::int)`;
  const [link] = await tx.insert(passwordLinks).values({ userId, tokenHash, expiresAt }).returning({ expiresAt: passwordLinks.expiresAt });
  await appendEvent(tx, { accountId: user.accountId, kind: 'user.password_link_created', data: { user_id: userId, ...actor } });
  return link!;
}

async function use(tx: Tx, tokenHash: Buffer, password: string): Promise<boolean> {
  const matching = and(eq(passwordLinks.tokenHash, tokenHash), unexpired);
  const [link] = await tx.select({ userId: passwordLinks.userId }).from(passwordLinks).where(matching);
  if (!link) return false;
  // Locks the user before the link, as everywhere. Another request may have used the link meanwhile.
  await tx.select({ id: consoleUsers.id }).from(consoleUsers).where(eq(consoleUsers.id, link.userId)).for('no key update');
  const used = await tx.delete(passwordLinks).where(matching).returning({ userId: passwordLinks.userId });
  if (used.length === 0) return false;
  await setPassword(tx, link.userId, { password, keep: null, facts: { by: 'one_time_link' } });
  return true;
}
