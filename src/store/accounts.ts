/** Accounts: made pending, approved by an operator, funded by grants. */
import { asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { FrameliftError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { retentionDaysRange } from '../domain/limits.ts';
import type { Vault } from '../domain/vault.ts';
import { type Db, transact } from './database.ts';
import { appendEvent } from './events.ts';
import { postTransfer } from './ledger.ts';
import { accounts } from './schema.ts';
import type { Account, AccountStore, ApprovalStatus } from './types.ts';
import { addFirstSecret } from './webhook-secrets.ts';

export interface CreateAccount {
  name: string;
  /** default `standard` */
  plan?: string;
}

export function accountQueries(db: Db, vault?: Vault) {
  const byId = db
    .select(getTableColumns(accounts))
    .from(accounts)
    .where(eq(accounts.id, sql.placeholder('id')))
    .prepare('account_by_id');
  return {
    async get(accountId: string): Promise<Account | null> {
      const [row] = await byId.execute({ id: accountId });
      return row ?? null;
    },

    list(): Promise<Account[]> {
      return db.select(getTableColumns(accounts)).from(accounts).orderBy(asc(accounts.createdAt), asc(accounts.id));
    },

    /** A new account is pending and has no live credits. */
    create({ name, plan = 'standard' }: CreateAccount): Promise<Account> {
      return transact(db, async (tx) => {
        const [row] = await tx
          .insert(accounts)
          .values({ id: newId('acct'), name, plan })
          .returning();
        await addFirstSecret(tx, vault, row!.id);
        await appendEvent(tx, { accountId: row!.id, kind: 'account.created' });
        return row!;
      });
    },

    setApproval: (accountId: string, status: Decision, actor: Operator = {}) =>
      setApproval(db, accountId, status, actor),

    approve: (accountId: string) => setApproval(db, accountId, 'approved'),

    reject: (accountId: string) => setApproval(db, accountId, 'rejected'),

    async setRetention(accountId: string, days: number): Promise<Account | null> {
      const { min, max } = retentionDaysRange;
      if (!Number.isSafeInteger(days) || days < min || days > max) {
        throw new RangeError(`Expected ${min} to ${max} whole days for days but received ${days}`);
      }
      const [row] = await db
        .update(accounts)
        .set({ retentionDays: days })
        .where(eq(accounts.id, accountId))
        .returning();
      return row ?? null;
    },

    /** `plan` is a name of the operator's choice, 1 to 50 letters, digits, `-` and `_`; null for an unknown account. */
    setPlan: (accountId: string, plan: string) => setPlan(db, accountId, plan),

    /** Adds live credits (positive whole number) and returns the account; null for an unknown one. */
    grant: (accountId: string, credits: number, note = '', actor: Operator = {}) =>
      moveCredits(db, { kind: 'grant', accountId, credits, note }, actor),

    /**
     * Takes live credits back that were granted (positive whole number) and returns the account; null for an unknown
     * one. Throws FrameliftError `insufficient_credits` for more than the account has.
     */
    withdraw: (accountId: string, credits: number, note = '', actor: Operator = {}) =>
      moveCredits(db, { kind: 'withdrawal', accountId, credits, note }, actor),
  } satisfies AccountStore & Record<string, unknown>;
}

/** Who decided, for the audit log; absent: the operator's command line. */
export interface Operator {
  operator_id?: string;
}

interface Movement {
  kind: 'grant' | 'withdrawal';
  accountId: string;
  credits: number;
  note: string;
}

function moveCredits(db: Db, movement: Movement, actor: Operator): Promise<Account | null> {
  const { kind, accountId, credits } = movement;
  if (!Number.isSafeInteger(credits) || credits < 1) {
    throw new RangeError(`Expected a positive whole number for credits but received ${credits}`);
  }
  return transact(db, async (tx) => {
    const [known] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('update');
    if (!known) return null;
    if (kind === 'withdrawal' && credits > known.credits) {
      throw new FrameliftError('insufficient_credits', `The account has ${known.credits} credits, not ${credits}.`);
    }
    const balance = await postTransfer(tx, { ...movement, jobId: null });
    const event = kind === 'grant' ? 'credits.granted' : 'credits.withdrawn';
    await appendEvent(tx, { accountId, kind: event, data: { credits, balance, ...actor } });
    return { ...known, credits: balance };
  });
}

type Decision = Exclude<ApprovalStatus, 'pending'>;

/** null for an unknown account; setting the status that it has changes nothing. */
function setApproval(db: Db, accountId: string, status: Decision, actor: Operator = {}): Promise<Account | null> {
  return transact(db, async (tx) => {
    const [before] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('update');
    if (!before || before.approvalStatus === status) return before ?? null;
    const [row] = await tx
      .update(accounts)
      .set({ approvalStatus: status })
      .where(eq(accounts.id, accountId))
      .returning();
    await appendEvent(tx, { accountId, kind: `account.${status}`, data: { ...actor } });
    return row!;
  });
}

async function setPlan(db: Db, accountId: string, plan: string): Promise<Account | null> {
  if (!/^[\w-]{1,50}$/.test(plan))
    throw new RangeError(`Expected the name of a plan but received ${JSON.stringify(plan)}`);
  return transact(db, async (tx) => {
    const [before] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('update');
    if (!before || before.plan === plan) return before ?? null;
    const [row] = await tx.update(accounts).set({ plan }).where(eq(accounts.id, accountId)).returning();
    await appendEvent(tx, { accountId, kind: 'account.plan_changed', data: { plan, before: before.plan } });
    return row!;
  });
}
