/** Webhook endpoints: URLs of an account that get the events of all its jobs of a mode. Each has secrets of its own. */
import { and, count, desc, eq, isNotNull, isNull, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { Mode } from '../domain/job.ts';
import { maxWebhookEndpoints } from '../domain/limits.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import type { WebhookEvent } from '../domain/webhooks.ts';
import { lockOpenAccount, notOpen } from './account-locks.ts';
import { type Batch, type Db, inAnyOrder, transact, type Tx, withEach } from './database.ts';
import { createTestDelivery, redirectDeliveries, stopAndForgetSomeOf, stopDeliveriesOf, stopSomeOf } from './deliveries.ts';
import { appendEvent } from './events.ts';
import { accounts, type EventKind, webhookEndpoints, webhookSecrets } from './schema.ts';
import type {
  Actor,
  CreateWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpointRecord,
  WebhookEndpointStore,
  WhichWebhookEndpoint,
} from './types.ts';
import { addSecret, describeSecrets, replaceSecret, required, switchSecret } from './webhook-secrets.ts';

type Row = typeof webhookEndpoints.$inferSelect;

export function webhookEndpointQueries(db: Db, cipher: SecretCipher | undefined) {
  return {
    create: (input, actor = {}) => transact(db, (tx) => create(tx, required(cipher), input, actor)),

    async list(accountId: string, mode?: Mode) {
      const ofMode = mode === undefined ? undefined : eq(webhookEndpoints.mode, mode);
      const where = and(eq(webhookEndpoints.accountId, accountId), ofMode, isNotDeleted);
      return db.select().from(webhookEndpoints).where(where).orderBy(desc(webhookEndpoints.id));
    },

    async get(which) {
      const [row] = await db.select().from(webhookEndpoints).where(matching(which));
      return row ?? null;
    },

    update: (which, change, actor = {}) => update(db, which, change, actor),

    delete: (which, actor = {}) => transact(db, (tx) => remove(tx, which, actor)),

    rotateSecret: (which, actor = {}) => transact(db, (tx) => rotateSecret(tx, required(cipher), which, actor)),

    switchSecret: (which, actor = {}) =>
      transact(db, async (tx) => {
        const endpoint = await lock(tx, which);
        if (endpoint === null) return null;
        if (await switchSecret(tx, ownerOf(endpoint))) await log(tx, endpoint, 'webhook_endpoint.secret_switched', { ...actor });
        return endpoint;
      }),

    test: (which, event) =>
      transact(db, async (tx) => {
        const [endpoint] = await tx.select().from(webhookEndpoints).where(matching(which)).for('share');
        return endpoint === undefined ? null : createTestDelivery(tx, endpoint, event);
      }),

    /** Deletes up to `limit` endpoints of closed accounts, each in its own transaction. */
    async deleteOfClosed(limit: number): Promise<Batch> {
      const left = await db
        .select({ id: webhookEndpoints.id, accountId: webhookEndpoints.accountId })
        .from(webhookEndpoints)
        .innerJoin(accounts, and(eq(accounts.id, webhookEndpoints.accountId), isNotNull(accounts.closedAt)))
        .where(isNotDeleted)
        .limit(limit);
      return withEach(left, (which) => transact(db, (tx) => remove(tx, which, {})));
    },

    /**
     * Forgets some deliveries of each of up to `limit` deleted endpoints, each in its own transaction, and removes those that have none left.
     * Those for which it can go on are done.
     */
    async forgetDeleted(limit: number): Promise<Batch> {
      const deleted = await db.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(isNotNull(webhookEndpoints.deletedAt)).orderBy(inAnyOrder).limit(limit);
      return withEach(deleted, ({ id }) => transact(db, (tx) => forgetDeleted(tx, id)));
    },
  } satisfies WebhookEndpointStore & Record<string, unknown>;
}

const isNotDeleted = isNull(webhookEndpoints.deletedAt);

const matching = ({ accountId, id, mode }: WhichWebhookEndpoint) =>
  and(
    eq(webhookEndpoints.id, id),
    eq(webhookEndpoints.accountId, accountId),
    mode === undefined ? undefined : eq(webhookEndpoints.mode, mode),
    isNotDeleted,
  );

const ownerOf = ({ accountId, id }: Row) => ({ accountId, endpointId: id });

/** Locks an endpoint until the commit; null if it is unknown, deleted, of another account or of the other mode. */
async function lock(tx: Tx, which: WhichWebhookEndpoint): Promise<Row | null> {
  const [row] = await tx.select().from(webhookEndpoints).where(matching(which)).for('no key update');
  return row ?? null;
}

/** The audit log contains no URLs of customers. */
function log(tx: Tx, { accountId, id, mode }: Row, kind: EventKind, data: Record<string, unknown>): Promise<unknown> {
  return appendEvent(tx, { accountId, kind, data: { endpoint_id: id, mode, ...data } });
}

const distinct = (events: readonly WebhookEvent[]) => [...new Set(events)].sort();

async function create(tx: Tx, cipher: SecretCipher, input: CreateWebhookEndpoint, actor: Actor) {
  const { accountId, mode, url, description } = input;
  // Creations of one account run one after the other, so that they count each other.
  if ((await lockOpenAccount(tx, accountId)) === null) throw notOpen(accountId);
  await assertLimit(tx, accountId, mode);
  const events = distinct(input.events);
  const [endpoint] = await tx.insert(webhookEndpoints).values({ id: newId('hook'), accountId, mode, url, events, description }).returning();
  const secret = await addSecret(tx, cipher, ownerOf(endpoint!));
  await log(tx, endpoint!, 'webhook_endpoint.created', { events, ...actor });
  return { endpoint: endpoint!, secret, switchesAt: null };
}

/** Throws ReelmendError `webhook_endpoint_limit_reached`. */
async function assertLimit(tx: Tx, accountId: string, mode: Mode): Promise<void> {
  const ofMode = and(eq(webhookEndpoints.accountId, accountId), eq(webhookEndpoints.mode, mode), isNotDeleted);
  const [found] = await tx.select({ endpoints: count() }).from(webhookEndpoints).where(ofMode);
  if (found!.endpoints < maxWebhookEndpoints) return;
  const message = `The account has ${maxWebhookEndpoints} webhook endpoints in this mode, which is the limit. Delete one first.`;
  throw new ReelmendError('webhook_endpoint_limit_reached', message);
}

/** deliveries that one transaction stops or forgets. It holds up others of the account, and there may be very many deliveries. */
const atOnce = 1000;

/** Disabling stops the pending deliveries: most of them before, in short transactions, so that the one that locks the endpoint is short, too. */
async function update(db: Db, which: WhichWebhookEndpoint, wanted: UpdateWebhookEndpoint, actor: Actor): Promise<WebhookEndpointRecord | null> {
  if (wanted.enabled === false) {
    const enabled = and(matching(which), eq(webhookEndpoints.enabled, true));
    const [endpoint] = await db.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(enabled);
    while (endpoint !== undefined && (await transact(db, (tx) => stopSomeOf(tx, endpoint.id, atOnce))) === atOnce);
  }
  return transact(db, (tx) => updateLocked(tx, which, wanted, actor));
}

async function updateLocked(tx: Tx, which: WhichWebhookEndpoint, wanted: UpdateWebhookEndpoint, actor: Actor): Promise<WebhookEndpointRecord | null> {
  const before = await lock(tx, which);
  if (before === null) return null;
  const change = { ...wanted, ...(wanted.events === undefined ? {} : { events: distinct(wanted.events) }) };
  const changed = Object.keys(change).filter((name) => differs(before[name as keyof Row], change[name as keyof typeof change]));
  if (changed.length === 0) return before;
  const [row] = await tx.update(webhookEndpoints).set(change).where(eq(webhookEndpoints.id, before.id)).returning();
  if (changed.includes('url')) await redirectDeliveries(tx, row!);
  if (before.enabled && !row!.enabled) await stopDeliveriesOf(tx, row!.id);
  const { events, enabled } = row!;
  await log(tx, row!, 'webhook_endpoint.changed', { changed: changed.sort(), events, enabled, ...actor });
  return row!;
}

const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);

/**
 * Returns false for an unknown endpoint. One with few deliveries is gone at once. One with more is marked, which stops all of them (`begin` in
 * deliveries.ts), and `forgetDeleted` does the rest.
 */
async function remove(tx: Tx, which: WhichWebhookEndpoint, actor: Actor): Promise<boolean> {
  const [endpoint] = await tx.select().from(webhookEndpoints).where(matching(which)).for('update');
  if (endpoint === undefined) return false;
  const { isMore } = await forgetSome(tx, endpoint.id);
  if (isMore) {
    // A process of the previous version sees only that it is disabled.
    await tx.update(webhookEndpoints).set({ deletedAt: sql`now()`, enabled: false }).where(eq(webhookEndpoints.id, endpoint.id));
    await tx.delete(webhookSecrets).where(eq(webhookSecrets.endpointId, endpoint.id));
  }
  await log(tx, endpoint, 'webhook_endpoint.deleted', { ...actor });
  return true;
}

/** Stops some deliveries of an endpoint and drops their URL and responses. Removes the endpoint, and with it its secrets, if none is left. */
async function forgetSome(tx: Tx, id: string): Promise<{ forgotten: number; isMore: boolean }> {
  const some = await stopAndForgetSomeOf(tx, id, atOnce);
  if (!some.isMore) await tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id));
  return some;
}

/** True if it got further and there is more to do. What others have locked is left for the next time. */
async function forgetDeleted(tx: Tx, id: string): Promise<boolean> {
  const deleted = and(eq(webhookEndpoints.id, id), isNotNull(webhookEndpoints.deletedAt));
  const [endpoint] = await tx.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(deleted).for('update', { skipLocked: true });
  if (endpoint === undefined) return false;
  const { forgotten, isMore } = await forgetSome(tx, id);
  return isMore && forgotten > 0;
}

async function rotateSecret(tx: Tx, cipher: SecretCipher, which: WhichWebhookEndpoint, actor: Actor) {
  const endpoint = await lock(tx, which);
  if (endpoint === null) return null;
  const { secret, overlapHours } = await replaceSecret(tx, cipher, ownerOf(endpoint));
  const { switchesAt } = await describeSecrets(tx, cipher, ownerOf(endpoint));
  await log(tx, endpoint, 'webhook_endpoint.secret_rotated', { overlap_hours: overlapHours, ...actor });
  return { endpoint, secret, switchesAt };
}
