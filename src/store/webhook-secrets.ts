/**
 * Secrets that sign an account's webhooks, stored encrypted. One is current. For 24 h after a rotation, the old and the new
 * secret both sign `webhook-signature`. `x-service-signature` contains one signature only: the old secret makes it until
 * the account switches or the 24 h are over.
 */
import { and, desc, eq, gt, isNull, or, sql } from './orm.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { newWebhookSecret } from '../domain/webhooks.ts';
import { lockAccount } from './account-locks.ts';
import { type Db, type Executor, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { webhookSecrets } from './schema.ts';
import type { Actor } from './types.ts';

/** hours that a replaced secret keeps signing beside the new one */
const overlapHours = 24;

/** The secrets that sign the webhooks of an account now. */
export interface SigningSecrets {
  /** newest first; each signs `webhook-signature` */
  secrets: string[];
  /** the one of them that signs `x-service-signature` */
  serviceSecret: string;
}

export interface SecretsOverview extends SigningSecrets {
  /** newest first; the end of the newest is null */
  all: { secret: string; expiresAt: Date | null }[];
  /** when `x-service-signature` switches to the next secret by itself; null when the newest signs it */
  switchesAt: Date | null;
}

export function webhookSecretQueries(db: Db, cipher: SecretCipher | undefined) {
  return {
    /** Creates the first secret of an account that has none. */
    async signing(accountId: string): Promise<SigningSecrets> {
      const { secrets, serviceSecret } = await this.overview(accountId);
      return { secrets, serviceSecret };
    },

    /** The same, with the times at which replaced secrets expire. */
    async overview(accountId: string): Promise<SecretsOverview> {
      const rows = await readActive(db, required(cipher), accountId);
      if (rows[0]?.expiresAt === null) return describe(rows);
      await addSecret(db, required(cipher), accountId);
      return describe(await readActive(db, required(cipher), accountId));
    },

    /** A new current secret; the one before it signs for another 24 h. null for an unknown account. */
    rotate: (accountId: string, actor: Actor = {}): Promise<string | null> =>
      transact(db, (tx) => rotate(tx, required(cipher), accountId, actor)),

    /**
     * Signs `x-service-signature` with the newest secret from now on. Returns false, and changes nothing, when it does
     * so already.
     */
    switchNow: (accountId: string, actor: Actor = {}): Promise<boolean> =>
      transact(db, async (tx) => {
        await lockAccount(tx, accountId);
        const switched = await tx
          .update(webhookSecrets)
          .set({ switchedAt: sql`now()` })
          .where(
            and(
              eq(webhookSecrets.accountId, accountId),
              isNull(webhookSecrets.switchedAt),
              gt(webhookSecrets.expiresAt, sql`now()`),
            ),
          )
          .returning({ id: webhookSecrets.id });
        if (switched.length === 0) return false;
        await appendEvent(tx, { accountId, kind: 'webhook_secret.switched', data: { ...actor } });
        return true;
      }),
  };
}

async function rotate(tx: Tx, cipher: SecretCipher, accountId: string, actor: Actor): Promise<string | null> {
  if ((await lockAccount(tx, accountId)) === null) return null;
  // An account without one gets it first, so that nobody else makes one in between.
  await addSecret(tx, cipher, accountId);
  await tx
    .update(webhookSecrets)
    .set({ expiresAt: sql`now() + make_interval(hours => ${overlapHours}::int)` })
    .where(and(eq(webhookSecrets.accountId, accountId), isNull(webhookSecrets.expiresAt)));
  const secret = await addSecret(tx, cipher, accountId);
  const data = { overlap_hours: overlapHours, ...actor };
  await appendEvent(tx, { accountId, kind: 'webhook_secret.rotated', data });
  return secret;
}

/** Called for every new account, if the store has a cipher. */
export async function addFirstSecret(tx: Tx, cipher: SecretCipher | undefined, accountId: string): Promise<void> {
  if (cipher) await addSecret(tx, cipher, accountId);
}

/** Stores a new secret unless there is a current one. */
async function addSecret(on: Executor, cipher: SecretCipher, accountId: string): Promise<string> {
  const secret = newWebhookSecret();
  await on
    .insert(webhookSecrets)
    .values({ accountId, secret: cipher.encrypt('webhook-secret', accountId, secret) })
    .onConflictDoNothing();
  return secret;
}

interface ActiveSecret {
  secret: string;
  /** null: the current one */
  expiresAt: Date | null;
  switchedAt: Date | null;
}

/** Newest first. */
async function readActive(on: Executor, cipher: SecretCipher, accountId: string): Promise<ActiveSecret[]> {
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
  return rows.map(({ secret, expiresAt, switchedAt }) => ({
    secret: cipher.decrypt('webhook-secret', accountId, secret),
    expiresAt,
    switchedAt,
  }));
}

/** `x-service-signature` stays with the oldest active secret from which the account has not switched. */
function describe(active: ActiveSecret[]): SecretsOverview {
  const service = active.findLast(({ switchedAt }) => switchedAt === null)!;
  return {
    secrets: active.map(({ secret }) => secret),
    serviceSecret: service.secret,
    switchesAt: service.expiresAt,
    all: active.map(({ secret, expiresAt }) => ({ secret, expiresAt })),
  };
}

function required(cipher: SecretCipher | undefined): SecretCipher {
  if (!cipher) throw new Error('The store was opened without a cipher, so it keeps no secrets');
  return cipher;
}
