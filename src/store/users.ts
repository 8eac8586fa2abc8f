/** Users of the console. Passwords are stored as hashes only. */
import { and, eq, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { holdOpen, notOpen } from './account-locks.ts';
import type { Operator } from './accounts.ts';
import { type Db, sqlState, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { accounts, consoleUsers, passwordLinks } from './schema.ts';
import { endSessions } from './sessions.ts';
import type { ConsoleUser } from './types.ts';
import { addFirstSecret } from './webhook-secrets.ts';

export interface CreateUser {
  email: string;
  /** PHC string */
  password: string;
  /** an existing account, or the name of a new one */
  account: { id: string } | { name: string };
}

const sameEmail = (email: string) => sql`lower(${consoleUsers.email}) = lower(${email})`;
const { id, accountId, email, role, operator, createdAt } = consoleUsers;
const visible = { id, accountId, email, role, operator, createdAt };

export function userQueries(db: Db, cipher?: SecretCipher) {
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
