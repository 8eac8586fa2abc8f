/** Signing keys: one is current, the retired ones stay published. Private parts are stored encrypted. */
import { asc, eq, isNull, sql } from './orm.ts';
import { type Db, transact } from './database.ts';
import { signingKeys } from './schema.ts';

export interface EncryptedSigningKey {
  kid: string;
  publicJwk: Record<string, unknown>;
  /** encrypted, see src/domain/secret-cipher.ts */
  privateJwk: Buffer;
}

export interface SigningKeyRecord {
  kid: string;
  publicJwk: Record<string, unknown>;
  createdAt: Date;
  retiredAt: Date | null;
}

export function signingKeyQueries(db: Db) {
  return {
    /** The current key; null before the first start. */
    async current(): Promise<EncryptedSigningKey | null> {
      const [row] = await db.select().from(signingKeys).where(isNull(signingKeys.retiredAt));
      return row ?? null;
    },

    /** Oldest first. */
    list(): Promise<SigningKeyRecord[]> {
      const { kid, publicJwk, createdAt, retiredAt } = signingKeys;
      return db.select({ kid, publicJwk, createdAt, retiredAt }).from(signingKeys).orderBy(asc(createdAt), asc(kid));
    },

    /** Adds the first key. If several processes start together, one key is stored and the others are dropped. */
    async addFirst(key: EncryptedSigningKey): Promise<void> {
      await db.insert(signingKeys).values(key).onConflictDoNothing();
    },

    /** Makes `key` the current one and retires the previous one. */
    rotate: (key: EncryptedSigningKey): Promise<void> =>
      transact(db, async (tx) => {
        await tx.execute(sql`LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`);
        await tx
          .update(signingKeys)
          .set({ retiredAt: sql`now()` })
          .where(isNull(signingKeys.retiredAt));
        await tx.insert(signingKeys).values(key);
      }),

    /** null for an unknown key */
    async get(kid: string): Promise<EncryptedSigningKey | null> {
      const [row] = await db.select().from(signingKeys).where(eq(signingKeys.kid, kid));
      return row ?? null;
    },
  };
}
