/** The second factor of users: a secret for codes of an authenticator app, and recovery codes. */
import { and, count, eq, getTableColumns, isNotNull, lt, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { generateTotpSecret, isTotpCode, stepOfCode } from '../domain/totp.ts';
import type { Operator } from './accounts.ts';
import { type Db, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { consoleUsers, recoveryCodes, twoFactor } from './schema.ts';
import { endSessions, requireOpenSession } from './sessions.ts';
import { lockForOperator } from './users.ts';

/** the first code must confirm a new secret within so many minutes */
const enrolmentMinutes = 30;

export interface TwoFactorState {
  enabledAt: Date | null;
  recoveryCodesLeft: number;
}

/** The entered code, in its two possible forms. */
export interface EnteredCode {
  /** without spaces and hyphens */
  text: string;
  /** hash of the text as a recovery code */
  recoveryHash: Buffer;
}

export interface Confirmation {
  code: string;
  /** hashes of the recovery codes */
  hashes: Buffer[];
  /** the session that stays open */
  keepSession: string;
}

const ofUser = (userId: string) => eq(twoFactor.userId, userId);
const enabledOf = (userId: string) => and(ofUser(userId), isNotNull(twoFactor.confirmedAt));

export function twoFactorQueries(db: Db, cipher: SecretCipher | undefined) {
  const ciphers = () => {
    if (cipher === undefined) throw new Error('This store has no cipher, so it cannot read the secrets of second factors.');
    return cipher;
  };
  const stepOf = (userId: string, secret: Buffer, code: string) =>
    stepOfCode(ciphers().decrypt('totp-secret', userId, secret), code, Date.now());
  return {
    async state(userId: string): Promise<TwoFactorState> {
      const [row] = await db
        .select({ enabledAt: twoFactor.confirmedAt, codes: count(recoveryCodes.codeHash) })
        .from(twoFactor)
        .leftJoin(recoveryCodes, eq(recoveryCodes.userId, twoFactor.userId))
        .where(enabledOf(userId))
        .groupBy(twoFactor.userId);
      return { enabledAt: row?.enabledAt ?? null, recoveryCodesLeft: row?.codes ?? 0 };
    },

    async isEnabled(userId: string): Promise<boolean> {
      return (await db.select({ userId: twoFactor.userId }).from(twoFactor).where(enabledOf(userId))).length === 1;
    },

    /** Returns a new secret, which replaces one that was never confirmed. Throws ReelmendError `two_factor_enabled`. */
    begin: (userId: string): Promise<string> => transact(db, (tx) => begin(tx, ciphers(), userId)),

    /**
     * Enables the second factor if the code is right, and ends the user's other sessions. Throws ReelmendError
     * `two_factor_enabled`, `two_factor_not_enabled` when no secret waits for its first code, or `invalid_session` if the session that
     * stays has ended.
     */
    confirm: (userId: string, confirmation: Confirmation): Promise<boolean> =>
      transact(db, (tx) => confirm(tx, userId, confirmation, (secret) => stepOf(userId, secret, confirmation.code))),

    /** Whether the code is right; uses it. Codes of one time step, and recovery codes, work once. */
    async use(userId: string, { text, recoveryHash }: EnteredCode): Promise<boolean> {
      const [row] = await db.select({ secret: twoFactor.secret }).from(twoFactor).where(enabledOf(userId));
      if (!row) return false;
      if (!isTotpCode(text)) return transact(db, (tx) => useRecoveryCode(tx, userId, recoveryHash));
      const step = stepOf(userId, row.secret, text);
      if (step === null) return false;
      // The condition lets one of several requests with the same code pass. The secret may have been replaced meanwhile.
      const unused = and(enabledOf(userId), eq(twoFactor.secret, row.secret), lt(twoFactor.lastStep, step));
      const used = await db.update(twoFactor).set({ lastStep: step }).where(unused).returning({ userId: twoFactor.userId });
      return used.length === 1;
    },

    /** False if it is not enabled. */
    replaceRecoveryCodes: (userId: string, hashes: Buffer[]): Promise<boolean> =>
      transact(db, async (tx) => {
        const user = await lockEnabled(tx, userId);
        if (user === null) return false;
        await storeCodes(tx, userId, hashes);
        await appendEvent(tx, { accountId: user.accountId, kind: 'user.recovery_codes_replaced', data: { user_id: userId } });
        return true;
      }),

    /** False if it is not enabled. */
    disable: (userId: string): Promise<boolean> =>
      transact(db, async (tx) => {
        const user = await lockEnabled(tx, userId);
        if (user === null) return false;
        await tx.delete(twoFactor).where(ofUser(userId));
        await appendEvent(tx, { accountId: user.accountId, kind: 'user.two_factor_disabled', data: { user_id: userId } });
        return true;
      }),

    /**
     * For a person who lost it: disables it and ends every session of the user. null for an unknown user, false if it is not
     * enabled; throws like `lockForOperator`.
     */
    reset: (userId: string, actor: Operator = {}): Promise<boolean | null> =>
      transact(db, async (tx) => {
        const user = await lockForOperator(tx, userId, actor);
        if (user === null) return null;
        const removed = await tx.delete(twoFactor).where(enabledOf(userId)).returning({ userId: twoFactor.userId });
        if (removed.length === 0) return false;
        const ended = await endSessions(tx, userId, null);
        const data = { user_id: userId, ended_sessions: ended, ...actor };
        await appendEvent(tx, { accountId: user.accountId, kind: 'user.two_factor_reset', data });
        return true;
      }),
  };
}

type Row = typeof twoFactor.$inferSelect & { accountId: string };

/** Locks the user, and returns the second factor, confirmed or not. */
async function lock(tx: Tx, userId: string): Promise<Row | null> {
  const [user] = await tx.select({ accountId: consoleUsers.accountId }).from(consoleUsers).where(eq(consoleUsers.id, userId)).for('no key update');
  const [row] = await tx.select(getTableColumns(twoFactor)).from(twoFactor).where(ofUser(userId));
  return user && row ? { ...row, accountId: user.accountId } : null;
}

async function lockEnabled(tx: Tx, userId: string): Promise<Row | null> {
  const row = await lock(tx, userId);
  return row !== null && row.confirmedAt !== null ? row : null;
}

async function begin(tx: Tx, cipher: SecretCipher, userId: string): Promise<string> {
  const before = await lock(tx, userId);
  if (before !== null && before.confirmedAt !== null) throw enabledAlready();
  await tx.delete(twoFactor).where(ofUser(userId));
  const secret = generateTotpSecret();
  await tx.insert(twoFactor).values({ userId, secret: cipher.encrypt('totp-secret', userId, secret) });
  return secret;
}

const enabledAlready = () => new ReelmendError('two_factor_enabled', 'Two-factor authentication is enabled already.');

async function confirm(tx: Tx, userId: string, { hashes, keepSession }: Confirmation, stepOf: (secret: Buffer) => number | null): Promise<boolean> {
  const row = await lock(tx, userId);
  // A change of the password has ended it: a thief must not lock out the owner with a request that was already running.
  await requireOpenSession(tx, userId, keepSession);
  if (row !== null && row.confirmedAt !== null) throw enabledAlready();
  const isWaiting = sql<boolean>`${twoFactor.createdAt} > now() - make_interval(mins => ${enrolmentMinutes}::int)`;
  const waiting = await tx.select({ userId: twoFactor.userId }).from(twoFactor).where(and(ofUser(userId), isWaiting));
  if (row === null || waiting.length === 0) {
    throw new ReelmendError('two_factor_not_enabled', 'Nothing waits for a first code. Begin again.');
  }
  const step = stepOf(row.secret);
  if (step === null) return false;
  // This code does not work for later sign-ins.
  await tx.update(twoFactor).set({ confirmedAt: sql`now()`, lastStep: step }).where(ofUser(userId));
  const ended = await endSessions(tx, userId, keepSession);
  await storeCodes(tx, userId, hashes);
  const data = { user_id: userId, ended_sessions: ended };
  await appendEvent(tx, { accountId: row.accountId, kind: 'user.two_factor_enabled', data });
  return true;
}

async function storeCodes(tx: Tx, userId: string, hashes: Buffer[]): Promise<void> {
  await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId));
  await tx.insert(recoveryCodes).values(hashes.map((codeHash) => ({ userId, codeHash })));
}

async function useRecoveryCode(tx: Tx, userId: string, codeHash: Buffer): Promise<boolean> {
  const row = await lockEnabled(tx, userId);
  if (row === null) return false;
  const matching = and(eq(recoveryCodes.userId, userId), eq(recoveryCodes.codeHash, codeHash));
  const used = await tx.delete(recoveryCodes).where(matching).returning({ userId: recoveryCodes.userId });
  if (used.length === 0) return false;
  const [{ left } = { left: 0 }] = await tx.select({ left: count() }).from(recoveryCodes).where(eq(recoveryCodes.userId, userId));
  await appendEvent(tx, { accountId: row.accountId, kind: 'user.recovery_code_used', data: { user_id: userId, left } });
  return true;
}
