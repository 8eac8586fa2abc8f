/** Secrets that sign an account's webhooks, kept sealed. One is current; a replaced one signs on for a day. */
import { and, desc, eq, gt, isNull, or, sql } from 'drizzle-orm';
import type { Vault } from '../domain/vault.ts';
import { newWebhookSecret } from '../domain/webhooks.ts';
import { type Db, type Executor, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import type { Actor } from './keys.ts';
import { accounts, webhookSecrets } from './schema.ts';

/** hours that a replaced secret signs beside the new one */
const overlapHours = 24;

export function webhookSecretQueries(db: Db, vault: Vault | undefined) {
  return {
    /** The secrets that sign now, the current one first. Makes the first one of an account that has none. */
    async active(accountId: string): Promise<string[]> {
      const found = await readActive(db, required(vault), accountId);
      if (found.current) return found.secrets;
      await addSecret(db, required(vault), accountId);
      return (await readActive(db, required(vault), accountId)).secrets;
    },

    /** The same with the moment at which a replaced one stops signing (null: the current one). */
    async overview(accountId: string): Promise<{ secret: string; expiresAt: Date | null }[]> {
      await this.active(accountId);
      return (await readActive(db, required(vault), accountId)).all;
    },

    /** A new current secret; the one before it signs for another 24 h. null for an unknown account. */
    rotate: (accountId: string, actor: Actor = {}): Promise<string | null> =>
      transact(db, async (tx) => {
        const [account] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update');
        if (!account) return null;
        // An account without one gets it first, so that nobody else makes one in between.
        await addSecret(tx, required(vault), accountId);
        await tx
          .update(webhookSecrets)
          .set({ expiresAt: sql`now() + make_interval(hours => ${overlapHours}::int)` })
          .where(and(eq(webhookSecrets.accountId, accountId), isNull(webhookSecrets.expiresAt)));
        const secret = await addSecret(tx, required(vault), accountId);
        await appendEvent(tx, { accountId, kind: 'webhook_secret.rotated', data: { overlap_hours: overlapHours, ...actor } });
        return secret;
      }),
  };
}

/** Called with every new account, where the store can seal. */
export async function addFirstSecret(tx: Tx, vault: Vault | undefined, accountId: string): Promise<void> {
  if (vault) await addSecret(tx, vault, accountId);
}

/** Keeps a new secret unless there is a current one. */
async function addSecret(on: Executor, vault: Vault, accountId: string): Promise<string> {
  const secret = newWebhookSecret();
  await on
    .insert(webhookSecrets)
    .values({ accountId, secret: vault.seal('webhook-secret', accountId, secret) })
    .onConflictDoNothing();
  return secret;
}

async function readActive(on: Executor, vault: Vault, accountId: string) {
  const rows = await on
    .select()
    .from(webhookSecrets)
    .where(
      and(
        eq(webhookSecrets.accountId, accountId),
        or(isNull(webhookSecrets.expiresAt), gt(webhookSecrets.expiresAt, sql`now()`)),
      ),
    )
    .orderBy(desc(webhookSecrets.id));
  const all = rows.map(({ secret, expiresAt }) => ({
    secret: vault.open('webhook-secret', accountId, secret),
    expiresAt,
  }));
  return { current: rows.some((row) => row.expiresAt === null), secrets: all.map(({ secret }) => secret), all };
}

function required(vault: Vault | undefined): Vault {
  if (!vault) throw new Error('The store was opened without a vault, so it keeps no secrets');
  return vault;
}
