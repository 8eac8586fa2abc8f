/**
 * Secrets that sign webhooks, stored encrypted: of an account for the URLs of its jobs, or of a webhook endpoint. One is
 * current. For 24 h after a rotation, the old and the new secret both sign `webhook-signature`. `x-service-signature`
 * contains only one signature: the old secret makes it until the account switches or the 24 h are over.
 */
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lte, or, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { maxActiveSecrets, newWebhookSecret } from '../domain/webhooks.ts';
import { holdOpen, lockOpenAccount, notOpen } from './account-locks.ts';
import { type Db, type Executor, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { accounts, webhookSecrets } from './schema.ts';
import type { Actor } from './types.ts';

/** hours that a replaced secret also signs */
const overlapHours = 24;

/** The secrets that currently sign the webhooks of an account. */
export interface SigningSecrets {
  /** newest first; each signs `webhook-signature` */
  secrets: string[];
  /** the one that signs `x-service-signature` */
  serviceSecret: string;
}

/** Owner of a set of secrets: an account or a webhook endpoint. */
export interface SecretOwner {
  accountId: string;
  /** null: the account's own, for the URLs of jobs */
  endpointId: string | null;
}

const accountOwner = (accountId: string): SecretOwner => ({ accountId, endpointId: null });

const ofOwner = ({ accountId, endpointId }: SecretOwner) =>
  and(
    eq(webhookSecrets.accountId, accountId),
    endpointId === null ? isNull(webhookSecrets.endpointId) : eq(webhookSecrets.endpointId, endpointId),
  );

const isActive = (owner: SecretOwner) => and(ofOwner(owner), or(isNull(webhookSecrets.expiresAt), gt(webhookSecrets.expiresAt, sql`now()`)));

export interface SecretsOverview extends SigningSecrets {
  /** newest first; the newest has no end (null) */
  all: { secret: string; expiresAt: Date | null }[];
  /** when `x-service-signature` switches to the next secret automatically; null if the newest signs it */
  switchesAt: Date | null;
}

export function webhookSecretQueries(db: Db, cipher: SecretCipher | undefined) {
  return {
    /** Creates the first secret of an account that has none. null if the account is closed and its secrets are gone. */
    async signing(accountId: string): Promise<SigningSecrets | null> {
      const rows = await withFirst(db, required(cipher), accountId);
      return rows.length === 0 ? null : describe(rows);
    },

    /** null if the endpoint was deleted */
    async signingOfEndpoint(owner: { accountId: string; endpointId: string }): Promise<SigningSecrets | null> {
      const rows = await readActive(db, required(cipher), owner);
      return rows.length === 0 ? null : describe(rows);
    },

    /** The same, with the times when replaced secrets expire. Throws where `signing` returns null. */
    async overview(accountId: string): Promise<SecretsOverview> {
      const rows = await withFirst(db, required(cipher), accountId);
      if (rows.length === 0) throw notOpen(accountId);
      return describe(rows);
    },

    /**
     * Creates a new current secret; the previous one signs for another 24 h. null for an unknown or closed account. Throws ReelmendError
     * `rate_limit_exceeded` if too many sign already.
     */
    rotate: (accountId: string, actor: Actor = {}): Promise<string | null> =>
      transact(db, (tx) => rotate(tx, required(cipher), accountId, actor)),

    /**
     * Signs `x-service-signature` with the newest secret from now on. Returns false, and changes nothing, if it does
     * already, or the account is unknown or closed.
     */
    switchNow: (accountId: string, actor: Actor = {}): Promise<boolean> =>
      transact(db, async (tx) => {
        if ((await lockOpenAccount(tx, accountId)) === null) return false;
        if (!(await switchSecret(tx, accountOwner(accountId)))) return false;
        await appendEvent(tx, { accountId, kind: 'webhook_secret.switched', data: { ...actor } });
        return true;
      }),

    /**
     * Drops the secrets of closed accounts; returns how many. It runs on schedule, after the deletion of their jobs, because a process of the
     * previous version may create one again for a webhook that it sends meanwhile.
     */
    async deleteOfClosed(): Promise<number> {
      const closed = db.select({ id: accounts.id }).from(accounts).where(isNotNull(accounts.closedAt));
      // Those of an endpoint go with it.
      const ofClosed = and(inArray(webhookSecrets.accountId, closed), isNull(webhookSecrets.endpointId));
      const dropped = await db.delete(webhookSecrets).where(ofClosed).returning({ id: webhookSecrets.id });
      return dropped.length;
    },

    /** Drops secrets that have expired, with which nothing is signed any more; returns how many. */
    async prune(): Promise<number> {
      const dropped = await db.delete(webhookSecrets).where(lte(webhookSecrets.expiresAt, sql`now()`)).returning({ id: webhookSecrets.id });
      return dropped.length;
    },
  };
}

/** The secrets that sign for an account. An open one without a current secret gets one. */
async function withFirst(db: Db, cipher: SecretCipher, accountId: string): Promise<ActiveSecret[]> {
  const owner = accountOwner(accountId);
  const rows = await readActive(db, cipher, owner);
  if (rows[0]?.expiresAt === null) return rows;
  await transact(db, async (tx) => {
    if (await holdOpen(tx, accountId)) await addSecret(tx, cipher, owner);
  });
  return readActive(db, cipher, owner);
}

async function rotate(tx: Tx, cipher: SecretCipher, accountId: string, actor: Actor): Promise<string | null> {
  if ((await lockOpenAccount(tx, accountId)) === null) return null;
  const { secret } = await replaceSecret(tx, cipher, accountOwner(accountId));
  const data = { overlap_hours: overlapHours, ...actor };
  await appendEvent(tx, { accountId, kind: 'webhook_secret.rotated', data });
  return secret;
}

/**
 * Creates a new current secret; the previous one signs for another 24 h. The caller holds a lock on the owner. Throws ReelmendError
 * `rate_limit_exceeded` if too many sign already.
 */
export async function replaceSecret(tx: Tx, cipher: SecretCipher, owner: SecretOwner): Promise<{ secret: string; overlapHours: number }> {
  await assertFewActive(tx, owner);
  // An owner without a secret gets the first one now, so that no other call creates it meanwhile.
  await addSecret(tx, cipher, owner);
  await tx
    .update(webhookSecrets)
    .set({ expiresAt: sql`now() + make_interval(hours => ${overlapHours}::int)` })
    .where(and(ofOwner(owner), isNull(webhookSecrets.expiresAt)));
  return { secret: await addSecret(tx, cipher, owner), overlapHours };
}

async function assertFewActive(tx: Tx, owner: SecretOwner): Promise<void> {
  const endsInS = sql<number | null>`ceil(extract(epoch FROM ${webhookSecrets.expiresAt} - now()))::float8`;
  const active = await tx.select({ endsInS }).from(webhookSecrets).where(isActive(owner)).orderBy(asc(webhookSecrets.expiresAt));
  if (active.length < maxActiveSecrets) return;
  const retryAfterS = active[0]!.endsInS ?? 0;
  throw new ReelmendError('rate_limit_exceeded', `There are ${active.length} secrets that sign, which is the limit. Retry after ${retryAfterS} s, when the first one ends.`, { retryAfterS });
}

/** The same as `switchNow` of any owner. The caller holds a lock on it. */
export async function switchSecret(tx: Tx, owner: SecretOwner): Promise<boolean> {
  const switched = await tx
    .update(webhookSecrets)
    .set({ switchedAt: sql`now()` })
    .where(and(ofOwner(owner), isNull(webhookSecrets.switchedAt), gt(webhookSecrets.expiresAt, sql`now()`)))
    .returning({ id: webhookSecrets.id });
  return switched.length > 0;
}

/** The secrets of an owner that has one. */
export const describeSecrets = async (on: Executor, cipher: SecretCipher, owner: SecretOwner): Promise<SecretsOverview> =>
  describe(await readActive(on, cipher, owner));

/** Called for every new account, if the store has a cipher. */
export async function addFirstSecret(tx: Tx, cipher: SecretCipher | undefined, accountId: string): Promise<void> {
  if (cipher) await addSecret(tx, cipher, accountOwner(accountId));
}

/** Stores a new secret unless there is a current one. */
export async function addSecret(on: Executor, cipher: SecretCipher, owner: SecretOwner): Promise<string> {
  const secret = newWebhookSecret();
  await on
    .insert(webhookSecrets)
    .values({ ...owner, secret: cipher.encrypt('webhook-secret', ownerId(owner), secret) })
    .onConflictDoNothing();
  return secret;
}

/** The owner is authenticated with each secret, so that it cannot be moved to another owner. */
const ownerId = ({ accountId, endpointId }: SecretOwner): string => endpointId ?? accountId;

interface ActiveSecret {
  secret: string;
  /** null for the current secret */
  expiresAt: Date | null;
  switchedAt: Date | null;
}

/** Newest first. */
async function readActive(on: Executor, cipher: SecretCipher, owner: SecretOwner): Promise<ActiveSecret[]> {
  const rows = await on
    .select()
    .from(webhookSecrets)
    .where(isActive(owner))
    .orderBy(desc(webhookSecrets.id));
  return rows.map(({ secret, expiresAt, switchedAt }) => ({
    secret: cipher.decrypt('webhook-secret', ownerId(owner), secret),
    expiresAt,
    switchedAt,
  }));
}

/** `x-service-signature` stays with the oldest active secret that the account has not switched from. */
function describe(active: ActiveSecret[]): SecretsOverview {
  const service = active.findLast(({ switchedAt }) => switchedAt === null)!;
  return {
    secrets: active.map(({ secret }) => secret),
    serviceSecret: service.secret,
    switchesAt: service.expiresAt,
    all: active.map(({ secret, expiresAt }) => ({ secret, expiresAt })),
  };
}

export function required(cipher: SecretCipher | undefined): SecretCipher {
  if (!cipher) throw new Error('The store was opened without a cipher, so it keeps no secrets');
  return cipher;
}
