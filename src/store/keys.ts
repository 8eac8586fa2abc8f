/** API keys: only their hashes are known here. */
import { and, asc, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import type { Lane, Tier } from '../domain/job.ts';
import { newId } from '../domain/ids.ts';
import { type Db, transact } from './database.ts';
import { appendEvent } from './events.ts';
import { accounts, apiKeys } from './schema.ts';
import type { KeyStore, Principal } from './types.ts';

export interface CreateKey {
  accountId: string;
  lane: Lane;
  tier: Tier;
  /** HMAC-SHA-256 of the key under the pepper, 32 bytes */
  hash: Buffer;
  lastFour: string;
  expiresAt?: Date;
}

/** A key without its hash. */
export interface KeyRecord {
  id: string;
  accountId: string;
  lane: Lane;
  tier: Tier;
  lastFour: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

/** Seconds between two notes of a key's use; a note for every request would make each poll a write. */
const useNoteS = 60;

export function keyQueries(db: Db) {
  const { hash: _hash, ...visible } = getTableColumns(apiKeys);
  const byHash = db
    .select({
      key: { id: apiKeys.id, lane: apiKeys.lane, tier: apiKeys.tier },
      account: getTableColumns(accounts),
      stale: sql<boolean>`coalesce(${apiKeys.lastUsedAt} < now() - make_interval(secs => ${sql.raw(String(useNoteS))}), true)`,
    })
    .from(apiKeys)
    .innerJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(
      and(
        eq(apiKeys.hash, sql.placeholder('hash')),
        isNull(apiKeys.revokedAt),
        sql`(${apiKeys.expiresAt} IS NULL OR ${apiKeys.expiresAt} > now())`,
      ),
    )
    .prepare('key_by_hash');

  /** Several processes may find the note stale at once; the row's own state lets one of them write. */
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
    async authenticate(keyHash: Buffer): Promise<Principal | null> {
      const [row] = await byHash.execute({ hash: keyHash });
      if (!row) return null;
      if (row.stale) await noteUse(row.key.id);
      return { keyId: row.key.id, lane: row.key.lane, tier: row.key.tier, account: row.account };
    },

    create(key: CreateKey): Promise<KeyRecord> {
      return transact(db, async (tx) => {
        const [row] = await tx
          .insert(apiKeys)
          .values({ ...key, id: newId('key') })
          .returning(visible);
        const data = { key_id: row!.id, lane: key.lane, tier: key.tier, last_four: key.lastFour };
        await appendEvent(tx, { accountId: key.accountId, kind: 'key.created', data });
        return row!;
      });
    },

    /** null for an unknown key; revoking twice keeps the first time. */
    revoke(keyId: string): Promise<KeyRecord | null> {
      return transact(db, async (tx) => {
        const [revoked] = await tx
          .update(apiKeys)
          .set({ revokedAt: sql`now()` })
          .where(and(eq(apiKeys.id, keyId), isNull(apiKeys.revokedAt)))
          .returning(visible);
        if (revoked) {
          await appendEvent(tx, { accountId: revoked.accountId, kind: 'key.revoked', data: { key_id: keyId } });
          return revoked;
        }
        const [known] = await tx.select(visible).from(apiKeys).where(eq(apiKeys.id, keyId));
        return known ?? null;
      });
    },

    list(accountId: string): Promise<KeyRecord[]> {
      return db.select(visible).from(apiKeys).where(eq(apiKeys.accountId, accountId)).orderBy(asc(apiKeys.id));
    },
  } satisfies KeyStore & Record<string, unknown>;
}
