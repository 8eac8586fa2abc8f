/** Locks on the row of an account (see the lock order in database.ts), and what is checked under them. */
import { and, eq, isNull } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { Tx } from './database.ts';
import { accounts, consoleUsers } from './schema.ts';
import type { AccountRecord } from './types.ts';

/** Locks an account until the commit and returns it, closed or not; null for an unknown account. */
export async function lockAccount(tx: Tx, accountId: string): Promise<AccountRecord | null> {
  const [row] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update');
  return row ?? null;
}

/** The same for an open account; null for an unknown or closed one. */
export async function lockOpenAccount(tx: Tx, accountId: string): Promise<AccountRecord | null> {
  const account = await lockAccount(tx, accountId);
  return account?.closedAt === null ? account : null;
}

/**
 * Keeps an account open until the commit, without excluding others that do the same. Called before a user or a secret is added:
 * a transaction that closes the account waits, and what was added is then removed, too. False for an unknown or closed account.
 */
export async function holdOpen(tx: Tx, accountId: string): Promise<boolean> {
  const open = and(eq(accounts.id, accountId), isNull(accounts.closedAt));
  const rows = await tx.select({ id: accounts.id }).from(accounts).where(open).for('share');
  return rows.length === 1;
}

/**
 * Throws ReelmendError `admin_required` unless the actor is still an admin: a person who has just been removed or made a
 * member must not return through a request that was already running. Runs under the lock of the account; accepts the command
 * line.
 */
export async function requireAdmin(tx: Tx, account: string, userId: string | null | undefined): Promise<void> {
  if (userId === null || userId === undefined) return;
  const admin = and(eq(consoleUsers.id, userId), eq(consoleUsers.accountId, account), eq(consoleUsers.role, 'admin'));
  const found = await tx.select({ id: consoleUsers.id }).from(consoleUsers).where(admin);
  if (found.length === 0) throw new ReelmendError('admin_required', 'Only admins of the account may do this.');
}

export const notOpen = (accountId: string) => new Error(`The account ${accountId} does not exist or is closed.`);
