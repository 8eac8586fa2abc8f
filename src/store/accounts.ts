/** Accounts: created pending, approved by an operator, funded by grants. */
import { and, asc, eq, getTableColumns, inArray, isNull, sql } from './orm.ts';
import { type ApprovalStatus, notApproved } from '../domain/approval.ts';
import { jcs, sha256Hex } from '../domain/audit.ts';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { retentionDaysRange } from '../domain/limits.ts';
import { changedQuotas, type QuotaChanges, sameQuotas } from '../domain/quotas.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { lockAccount, lockOpenAccount } from './account-locks.ts';
import { databaseError, type Db, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { postTransfer } from './ledger.ts';
import { accounts, apiKeys, consoleSessions, consoleUsers, creditIdempotencyKeys, invitations } from './schema.ts';
import type { Account, AccountRecord, AccountStore, Actor } from './types.ts';
import { addFirstSecret } from './webhook-secrets.ts';

export interface CreateAccount {
  name: string;
  /** default `standard` */
  plan?: string;
}

export function accountQueries(db: Db, cipher?: SecretCipher) {
  const byId = db
    .select(getTableColumns(accounts))
    .from(accounts)
    .where(eq(accounts.id, sql.placeholder('id')))
    .prepare('account_by_id');
  return {
    async get(accountId: string): Promise<AccountRecord | null> {
      const [row] = await byId.execute({ id: accountId });
      return row ?? null;
    },

    list(): Promise<AccountRecord[]> {
      return db.select(getTableColumns(accounts)).from(accounts).orderBy(asc(accounts.createdAt), asc(accounts.id));
    },

    /** A new account is pending and has no live credits. */
    create({ name, plan = 'standard' }: CreateAccount): Promise<Account> {
      return transact(db, async (tx) => {
        const [row] = await tx
          .insert(accounts)
          .values({ id: newId('acct'), name, plan })
          .returning();
        await addFirstSecret(tx, cipher, row!.id);
        await appendEvent(tx, { accountId: row!.id, kind: 'account.created' });
        return row!;
      });
    },

    setApproval: (accountId: string, status: Decision, actor: Operator = {}) =>
      setApproval(db, accountId, status, actor),

    approve: (accountId: string) => setApproval(db, accountId, 'approved'),

    reject: (accountId: string) => setApproval(db, accountId, 'rejected'),

    setRetention: (accountId: string, days: number, actor: Actor) => setRetention(db, accountId, days, actor),

    /**
     * Sets the plan: a name chosen by the operator, 1 to 50 letters, digits, `-` and `_`; null for an unknown or closed
     * account.
     */
    setPlan: (accountId: string, plan: string, actor: Operator = {}) => setPlan(db, accountId, plan, actor),

    /** Changes the named quotas; null removes one. Throws RangeError. null for an unknown or closed account. */
    setQuotas: (accountId: string, changes: QuotaChanges, actor: Operator = {}) => setQuotas(db, accountId, changes, actor),

    /**
     * Revokes every key and removes the name, the users and their sessions; ledger and audit log stay. `jobs.deleteOfClosed`
     * deletes the jobs, and those of webhook endpoints, webhook secrets and uploads the others. null for an unknown account; a closed one stays as it is. Throws ReelmendError `operator_protected`
     * if an operator of the console would close the account of an operator.
     */
    close: (accountId: string, actor: Operator = {}): Promise<AccountRecord | null> => transact(db, (tx) => close(tx, accountId, actor)),

    /** Adds live credits (positive whole number) and returns the account; null for an unknown or closed one. */
    grant: (accountId: string, credits: number, note = '') => accountOf(moveCredits(db, { kind: 'grant', accountId, credits, note })),

    /**
     * Takes back granted live credits (positive whole number) and returns the account; null for an unknown or
     * closed one. Throws ReelmendError `insufficient_credits` for more than the account has.
     */
    withdraw: (accountId: string, credits: number, note = '') => accountOf(moveCredits(db, { kind: 'withdrawal', accountId, credits, note })),

    /**
     * Does either once for each idempotency key of the account. `replayed` is true if an earlier call with the key did it. Also
     * throws ReelmendError `idempotency_key_reused` if the key was used for another movement.
     */
    moveCredits: (movement: CreditMovement, actor: Operator = {}) => moveCredits(db, movement, actor),
  } satisfies AccountStore & Record<string, unknown>;
}

/** The person who decided, for the audit log; empty for the operator's command line. */
export interface Operator {
  operator_id?: string;
}

export interface CreditMovement {
  kind: 'grant' | 'withdrawal';
  accountId: string;
  credits: number;
  note: string;
  idempotencyKey?: string | undefined;
}

interface Moved {
  account: Account;
  replayed: boolean;
}

const accountOf = async (moved: Promise<Moved | null>): Promise<Account | null> => (await moved)?.account ?? null;

function moveCredits(db: Db, { idempotencyKey, ...movement }: CreditMovement, actor: Operator = {}): Promise<Moved | null> {
  const { kind, accountId, credits } = movement;
  if (!Number.isSafeInteger(credits) || credits < 1) {
    throw new RangeError(`Expected a positive whole number for credits but received ${credits}`);
  }
  return transact(db, async (tx) => {
    const known = await lockOpenAccount(tx, accountId);
    if (!known) return null;
    if (idempotencyKey !== undefined && !(await takeKey(tx, idempotencyKey, movement))) return { account: known, replayed: true };
    if (kind === 'withdrawal' && credits > known.credits) {
      throw new ReelmendError('insufficient_credits', `The account has ${known.credits} credits, not ${credits}.`);
    }
    const balance = await postTransfer(tx, { ...movement, jobId: null });
    const event = kind === 'grant' ? 'credits.granted' : 'credits.withdrawn';
    await appendEvent(tx, { accountId, kind: event, data: { credits, balance, ...actor } });
    return { account: { ...known, credits: balance }, replayed: false };
  });
}

/** False if the key was taken for the same movement before. A concurrent call waits for the lock on the account. */
async function takeKey(tx: Tx, key: string, { accountId, kind, credits, note }: CreditMovement): Promise<boolean> {
  const fingerprint = sha256Hex(jcs({ kind, credits, note }));
  const taken = await tx.insert(creditIdempotencyKeys).values({ accountId, key, fingerprint }).onConflictDoNothing().returning({ key: creditIdempotencyKeys.key });
  if (taken.length > 0) return true;
  const ofKey = and(eq(creditIdempotencyKeys.accountId, accountId), eq(creditIdempotencyKeys.key, key));
  const [earlier] = await tx.select({ fingerprint: creditIdempotencyKeys.fingerprint }).from(creditIdempotencyKeys).where(ofKey);
  if (earlier?.fingerprint !== fingerprint) {
    throw new ReelmendError('idempotency_key_reused', 'This Idempotency-Key was used with another request body.');
  }
  return false;
}

async function setRetention(db: Db, accountId: string, days: number, actor: Actor): Promise<Account | null> {
  const { min, max } = retentionDaysRange;
  if (!Number.isSafeInteger(days) || days < min || days > max) {
    throw new RangeError(`Expected ${min} to ${max} whole days for days but received ${days}`);
  }
  return transact(db, async (tx) => {
    const before = await lockOpenAccount(tx, accountId);
    if (!before || before.retentionDays === days) return before;
    const [row] = await tx
      .update(accounts)
      .set({ retentionDays: days })
      .where(eq(accounts.id, accountId))
      .returning();
    const data = { retention_days: days, previous_days: before.retentionDays, ...actor };
    await appendEvent(tx, { accountId, kind: 'retention.changed', data });
    return row!;
  });
}

/** The name of every closed account. The original name may be a person's. */
const closedName = 'closed';

async function close(tx: Tx, accountId: string, actor: Operator): Promise<AccountRecord | null> {
  const before = await lockAccount(tx, accountId);
  if (before === null || before.closedAt !== null) return before;
  // Users are locked before their sessions and keys, as everywhere.
  const people = await tx
    .select({ id: consoleUsers.id, operator: consoleUsers.operator })
    .from(consoleUsers)
    .where(eq(consoleUsers.accountId, accountId))
    .orderBy(asc(consoleUsers.id))
    .for('update');
  if (actor.operator_id !== undefined && people.some(({ operator }) => operator)) {
    throw new ReelmendError('operator_protected', 'This account has an operator. Use the command line.');
  }
  const [row] = await tx
    .update(accounts)
    .set({ closedAt: sql`now()`, name: closedName, approvalStatus: 'rejected' })
    .where(eq(accounts.id, accountId))
    .returning();
  const keys = await tx
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(apiKeys.accountId, accountId), isNull(apiKeys.revokedAt)))
    .returning({ id: apiKeys.id });
  // Names of keys may contain a person's name.
  await tx.update(apiKeys).set({ name: '' }).where(eq(apiKeys.accountId, accountId));
  const peopleIds = people.map(({ id }) => id);
  if (peopleIds.length > 0) await tx.delete(consoleSessions).where(inArray(consoleSessions.userId, peopleIds));
  await tx.delete(invitations).where(eq(invitations.accountId, accountId));
  await tx.delete(creditIdempotencyKeys).where(eq(creditIdempotencyKeys.accountId, accountId));
  const users = await tx
    .delete(consoleUsers)
    .where(eq(consoleUsers.accountId, accountId))
    .returning({ id: consoleUsers.id });
  const data = { credits: before.credits, keys_revoked: keys.length, users_removed: users.length, ...actor };
  await appendEvent(tx, { accountId, kind: 'account.closed', data });
  return row!;
}

type Decision = Exclude<ApprovalStatus, 'pending'>;

/** The public error behind SQLSTATE RM403 of `create_job`; undefined for any other. */
export function approvalIsGone(error: unknown): ReelmendError | undefined {
  const refusal = databaseError(error);
  return refusal?.code === 'RM403' ? notApproved(refusal.detail as ApprovalStatus) : undefined;
}

/** null for an unknown or closed account; setting the same status again has no effect. */
function setApproval(db: Db, accountId: string, status: Decision, actor: Operator = {}): Promise<Account | null> {
  return transact(db, async (tx) => {
    const before = await lockOpenAccount(tx, accountId);
    if (!before || before.approvalStatus === status) return before;
    const [row] = await tx
      .update(accounts)
      .set({ approvalStatus: status })
      .where(eq(accounts.id, accountId))
      .returning();
    await appendEvent(tx, { accountId, kind: `account.${status}`, data: { ...actor } });
    return row!;
  });
}

async function setPlan(db: Db, accountId: string, plan: string, actor: Operator): Promise<Account | null> {
  if (!/^[\w-]{1,50}$/.test(plan))
    throw new RangeError(`Expected the name of a plan but received ${JSON.stringify(plan)}`);
  return transact(db, async (tx) => {
    const before = await lockOpenAccount(tx, accountId);
    if (!before || before.plan === plan) return before;
    const [row] = await tx.update(accounts).set({ plan }).where(eq(accounts.id, accountId)).returning();
    await appendEvent(tx, { accountId, kind: 'account.plan_changed', data: { plan, before: before.plan, ...actor } });
    return row!;
  });
}

async function setQuotas(db: Db, accountId: string, changes: QuotaChanges, actor: Operator): Promise<Account | null> {
  return transact(db, async (tx) => {
    const before = await lockOpenAccount(tx, accountId);
    if (!before) return null;
    const quotas = changedQuotas(before.quotas, changes);
    if (sameQuotas(quotas, before.quotas)) return before;
    const [row] = await tx.update(accounts).set({ quotas }).where(eq(accounts.id, accountId)).returning();
    await appendEvent(tx, { accountId, kind: 'account.quotas_changed', data: { quotas, before: before.quotas, ...actor } });
    return row!;
  });
}
