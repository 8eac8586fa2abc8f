/** Signing keys: one signs, the retired ones stay published. Their private parts come and go sealed. */
import { asc, eq, isNull, sql } from 'drizzle-orm';
import { type Db, transact } from './database.ts';
import { signingKeys } from './schema.ts';

export interface EncryptedSigningKey {
  kid: string;
  publicJwk: Record<string, unknown>;
  /** sealed, see src/domain/secret-cipher.ts */
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
    /** The key that signs now; null before the first start. */
    async current(): Promise<EncryptedSigningKey | null> {
      const [row] = await db.select().from(signingKeys).where(isNull(signingKeys.retiredAt));
      return row ?? null;
    },

    /** Oldest first. */
    list(): Promise<SigningKeyRecord[]> {
      const { kid, publicJwk, createdAt, retiredAt } = signingKeys;
      return db.select({ kid, publicJwk, createdAt, retiredAt }).from(signingKeys).orderBy(asc(createdAt), asc(kid));
    },

    /** The first key; of processes that start together one wins, and the others' keys are dropped. */
    async addFirst(key: EncryptedSigningKey): Promise<void> {
      await db.insert(signingKeys).values(key).onConflictDoNothing();
    },

    /** From now on `key` signs, and the one before it only verifies. */
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
