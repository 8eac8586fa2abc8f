/** API keys; only their hashes are stored. */
import { and, asc, count, desc, eq, getTableColumns, inArray, isNull, lt, or, sql } from './orm.ts';
import type postgres from 'postgres';
import type { KeyAccess } from '../domain/api-key.ts';
import type { Mode, Tier } from '../domain/job.ts';
import { newId } from '../domain/ids.ts';
import { ReelmendError } from '../domain/errors.ts';
import { keyOverlapDaysRange, maxLiveKeys } from '../domain/limits.ts';
import { lockOpenAccount, notOpen, requireAdmin } from './account-locks.ts';
import { databaseError, type Db, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { accounts, apiKeys } from './schema.ts';
import type { Account, Actor, KeyPrincipal, KeyStore } from './types.ts';

export interface CreateKey {
  accountId: string;
  mode: Mode;
  tier: Tier;
  /** HMAC-SHA-256 of the key under the pepper, 32 bytes */
  hash: Buffer;
  lastFour: string;
  /** default: none */
  name?: string;
  /** default: `full` */
  access?: KeyAccess;
  expiresAt?: Date;
}

export interface RotateKey extends Pick<CreateKey, 'hash' | 'lastFour'> {
  /** days that both keys work, 0 to 7 */
  overlapDays: number;
}

/** A key without its hash. */
export interface KeyRecord {
  id: string;
  accountId: string;
  mode: Mode;
  tier: Tier;
  lastFour: string;
  /** empty: no name */
  name: string;
  access: KeyAccess;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

/** Seconds between two updates of `last_used_at`; an update for every request would make each poll a write. */
const useNoteS = 60;

/** The one query that every request runs, as text (see visibleJobQuery). Parameter: hash. */
const principalQuery = `SELECT k.id AS "keyId", k.mode, k.tier, k.name AS "keyName", k.access, k.last_used_at AS "lastUsedAt",
  coalesce(k.last_used_at < now() - make_interval(secs => ${useNoteS}), true) AS stale,
  a.id, a.name, a.plan, a.approval_status AS "approvalStatus", a.credits::float8 AS credits,
  a.retention_days AS "retentionDays", a.created_at AS "createdAt", a.quotas
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`;

type PrincipalRow = Omit<KeyPrincipal, 'kind' | 'account' | 'name' | 'lastUsedAt'> &
  Omit<Account, 'createdAt'> & { keyName: string; lastUsedAt: string | null; createdAt: string; stale: boolean };

const { hash: _hash, ...visible } = getTableColumns(apiKeys);

export function keyQueries(db: Db, client: postgres.Sql) {
  /** Several processes may want to update at once; the condition on the row lets one of them write. */
  const noteUse = (keyId: string) =>
    db
      .update(apiKeys)
      .set({ lastUsedAt: sql`now()` })
      .where(
        and(
          eq(apiKeys.id, keyId),
          sql`coalesce(${apiKeys.lastUsedAt} < now() - make_interval(secs => ${useNoteS}), true)`,
        ),
      );

  return {
    async authenticate(keyHash: Buffer): Promise<KeyPrincipal | null> {
      const [row] = await client.unsafe<PrincipalRow[]>(principalQuery, [keyHash], { prepare: true });
      if (!row) return null;
      const { keyId, mode, tier, keyName: name, access, lastUsedAt: used, stale, createdAt, ...account } = row;
      if (stale) await noteUse(keyId);
      const lastUsedAt = used === null ? null : new Date(used);
      return { kind: 'key', keyId, mode, tier, name, access, lastUsedAt, account: { ...account, createdAt: new Date(createdAt) } };
    },

    /** Throws ReelmendError `key_limit_reached`, or `admin_required` like `requireAdmin`. */
    create: (key: CreateKey, actor: Actor = {}) => transact(db, (tx) => create(tx, key, actor)),

    async usable(keyIds: string[]): Promise<Set<string>> {
      const approved = or(eq(apiKeys.mode, 'test'), eq(accounts.approvalStatus, 'approved'));
      const rows = await db
        .select({ id: apiKeys.id })
        .from(apiKeys)
        .innerJoin(accounts, eq(accounts.id, apiKeys.accountId))
        .where(and(inArray(apiKeys.id, keyIds), isLive, approved));
      return new Set(rows.map((row) => row.id));
    },

    async get(keyId: string): Promise<KeyRecord | null> {
      const [row] = await db.select(visible).from(apiKeys).where(eq(apiKeys.id, keyId));
      return row ?? null;
    },

    /**
     * A new key of the same account, mode, tier, name and access; the old one keeps working for `overlapDays` (0 to 7). null for a key
     * that is unknown, revoked or expired. Throws like `create`.
     */
    rotate: (keyId: string, fresh: RotateKey, actor: Actor = {}) =>
      transact(db, (tx) => rotate(tx, keyId, fresh, actor)),

    /** Revokes a key. null for an unknown key; a second call keeps the time of the first. */
    revoke: (keyId: string, actor: Actor = {}) => transact(db, (tx) => revoke(tx, keyId, actor)),

    /** Renames a key. null for an unknown key, or one of a closed account. The same name again has no effect. */
    rename: (keyId: string, name: string, actor: Actor = {}) => transact(db, (tx) => rename(tx, keyId, name, actor)),

    /** Newest first; `startingAfter` is an exclusive id. */
    page(query: { accountId: string; limit: number; startingAfter?: string | undefined }): Promise<KeyRecord[]> {
      const { accountId, limit, startingAfter } = query;
      const after = startingAfter === undefined ? undefined : lt(apiKeys.id, startingAfter);
      return db
        .select(visible)
        .from(apiKeys)
        .where(and(eq(apiKeys.accountId, accountId), after))
        .orderBy(desc(apiKeys.id))
        .limit(limit);
    },

    list(accountId: string): Promise<KeyRecord[]> {
      return db.select(visible).from(apiKeys).where(eq(apiKeys.accountId, accountId)).orderBy(asc(apiKeys.id));
    },
  } satisfies KeyStore & Record<string, unknown>;
}

/** The public error behind SQLSTATE RM401 of `create_job` for a caller with an API key; undefined for any other. */
export function keyIsGone(error: unknown): ReelmendError | undefined {
  return databaseError(error)?.code === 'RM401' ? new ReelmendError('invalid_api_key', 'The API key is not valid.') : undefined;
}

/** The name of a key in the audit log. */
const described = ({ id, name }: Pick<KeyRecord, 'id' | 'name'>) => ({ key_id: id, ...(name === '' ? {} : { key_name: name }) });

const isLive = and(isNull(apiKeys.revokedAt), sql`coalesce(${apiKeys.expiresAt} > clock_timestamp(), true)`);

/** Rate limits are per key, so the number of keys needs a limit too. Throws ReelmendError `key_limit_reached`. */
async function assertKeyLimit(tx: Tx, accountId: string): Promise<void> {
  const [live] = await tx
    .select({ keys: count() })
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), isLive));
  if (live!.keys < maxLiveKeys) return;
  const message = `The account has ${maxLiveKeys} active keys, which is the limit. Revoke one first.`;
  throw new ReelmendError('key_limit_reached', message);
}

async function create(tx: Tx, key: CreateKey, actor: Actor): Promise<KeyRecord> {
  // Creations of one account's keys run one after the other, so that they count each other.
  if ((await lockOpenAccount(tx, key.accountId)) === null) throw notOpen(key.accountId);
  await requireAdmin(tx, key.accountId, actor.user_id);
  await assertKeyLimit(tx, key.accountId);
  const [row] = await tx
    .insert(apiKeys)
    .values({ ...key, id: newId('key') })
    .returning(visible);
  const { mode, tier, access } = row!;
  const data = { ...described(row!), mode, tier, access, last_four: key.lastFour, ...actor };
  await appendEvent(tx, { accountId: key.accountId, kind: 'key.created', data });
  return row!;
}

async function revoke(tx: Tx, keyId: string, actor: Actor): Promise<KeyRecord | null> {
  const [revoked] = await tx
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(apiKeys.id, keyId), isNull(apiKeys.revokedAt)))
    .returning(visible);
  if (revoked) {
    await appendEvent(tx, { accountId: revoked.accountId, kind: 'key.revoked', data: { ...described(revoked), ...actor } });
    return revoked;
  }
  const [known] = await tx.select(visible).from(apiKeys).where(eq(apiKeys.id, keyId));
  return known ?? null;
}

/** Locks the account of a key. null for an unknown key, or one of a closed account. */
async function lockOwner(tx: Tx, keyId: string): Promise<string | null> {
  const [key] = await tx.select({ accountId: apiKeys.accountId }).from(apiKeys).where(eq(apiKeys.id, keyId));
  if (key === undefined || (await lockOpenAccount(tx, key.accountId)) === null) return null;
  return key.accountId;
}

async function rename(tx: Tx, keyId: string, name: string, actor: Actor): Promise<KeyRecord | null> {
  // Closing the account has removed the names, which may contain a person's name.
  if ((await lockOwner(tx, keyId)) === null) return null;
  const [before] = await tx.select(visible).from(apiKeys).where(eq(apiKeys.id, keyId)).for('no key update');
  if (before === undefined || before.name === name) return before ?? null;
  const [renamed] = await tx.update(apiKeys).set({ name }).where(eq(apiKeys.id, keyId)).returning(visible);
  const data = { ...described(renamed!), previous_name: before.name, ...actor };
  await appendEvent(tx, { accountId: before.accountId, kind: 'key.renamed', data });
  return renamed!;
}

async function rotate(tx: Tx, keyId: string, { hash, lastFour, overlapDays }: RotateKey, actor: Actor) {
  const { min, max } = keyOverlapDaysRange;
  if (!Number.isSafeInteger(overlapDays) || overlapDays < min || overlapDays > max) {
    throw new RangeError(`Expected ${min} to ${max} whole days for overlapDays but received ${overlapDays}`);
  }
  const owner = await lockOwner(tx, keyId);
  if (owner === null) return null;
  await requireAdmin(tx, owner, actor.user_id);
  const [old] = await tx
    .update(apiKeys)
    // least() ignores null: a key without an end gets one.
    .set({ expiresAt: sql`least(${apiKeys.expiresAt}, now() + make_interval(days => ${overlapDays}::int))` })
    .where(and(eq(apiKeys.id, keyId), isNull(apiKeys.revokedAt), sql`coalesce(${apiKeys.expiresAt} > now(), true)`))
    .returning(visible);
  if (!old) return null;
  const { accountId, mode, tier, name, access } = old;
  // After the update: without an overlap the old key has just expired and no longer counts.
  await assertKeyLimit(tx, accountId);
  const [fresh] = await tx
    .insert(apiKeys)
    .values({ id: newId('key'), accountId, mode, tier, name, access, hash, lastFour })
    .returning(visible);
  const data = { ...described(old), replaced_by: fresh!.id, overlap_days: overlapDays, last_four: lastFour, ...actor };
  await appendEvent(tx, { accountId, kind: 'key.rotated', data });
  return { old, fresh: fresh! };
}
