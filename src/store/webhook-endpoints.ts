/** Webhook endpoints: URLs of an account that get the events of all its jobs of a mode. Each has secrets of its own. */
import { and, count, desc, eq, isNotNull } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { Mode } from '../domain/job.ts';
import { maxWebhookEndpoints } from '../domain/limits.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import type { WebhookEvent } from '../domain/webhooks.ts';
import { lockOpenAccount, notOpen } from './account-locks.ts';
import { type Db, transact, type Tx, withEach } from './database.ts';
import { createTestDelivery, forgetSettledOf, redirectDeliveries, stopAndForgetDeliveriesOf, stopDeliveriesOf } from './deliveries.ts';
import { appendEvent } from './events.ts';
import { accounts, type EventKind, webhookEndpoints } from './schema.ts';
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
      const where = and(eq(webhookEndpoints.accountId, accountId), ofMode);
      return db.select().from(webhookEndpoints).where(where).orderBy(desc(webhookEndpoints.id));
    },

    async get(which) {
      const [row] = await db.select().from(webhookEndpoints).where(matching(which));
      return row ?? null;
    },

    update: (which, change, actor = {}) => transact(db, (tx) => update(tx, which, change, actor)),

    delete: (which, actor = {}) => remove(db, which, actor),

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

    /** Deletes up to `limit` endpoints of closed accounts, each in its own transactions; returns their ids. */
    async deleteOfClosed(limit: number): Promise<string[]> {
      const left = await db
        .select({ id: webhookEndpoints.id, accountId: webhookEndpoints.accountId })
        .from(webhookEndpoints)
        .innerJoin(accounts, and(eq(accounts.id, webhookEndpoints.accountId), isNotNull(accounts.closedAt)))
        .limit(limit);
      return withEach(left, (which) => remove(db, which, {}));
    },
  } satisfies WebhookEndpointStore & Record<string, unknown>;
}

const matching = ({ accountId, id, mode }: WhichWebhookEndpoint) =>
  and(
    eq(webhookEndpoints.id, id),
    eq(webhookEndpoints.accountId, accountId),
    mode === undefined ? undefined : eq(webhookEndpoints.mode, mode),
  );

const ownerOf = ({ accountId, id }: Row) => ({ accountId, endpointId: id });

/** Locks an endpoint until the commit; null if it is unknown, of another account or of the other mode. */
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
  const ofMode = and(eq(webhookEndpoints.accountId, accountId), eq(webhookEndpoints.mode, mode));
  const [found] = await tx.select({ endpoints: count() }).from(webhookEndpoints).where(ofMode);
  if (found!.endpoints < maxWebhookEndpoints) return;
  const message = `The account has ${maxWebhookEndpoints} webhook endpoints in this mode, which is the limit. Delete one first.`;
  throw new ReelmendError('webhook_endpoint_limit_reached', message);
}

async function update(tx: Tx, which: WhichWebhookEndpoint, wanted: UpdateWebhookEndpoint, actor: Actor): Promise<WebhookEndpointRecord | null> {
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

/** deliveries that one transaction forgets */
const forgottenAtOnce = 5000;

/**
 * Returns false for an unknown endpoint. An endpoint may have very many settled deliveries, so they are forgotten in short
 * transactions of their own: the last one locks the endpoint, and jobs of the account cannot end meanwhile.
 */
async function remove(db: Db, which: WhichWebhookEndpoint, actor: Actor): Promise<boolean> {
  const [known] = await db.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(matching(which));
  if (known === undefined) return false;
  while ((await transact(db, (tx) => forgetSettledOf(tx, known.id, forgottenAtOnce))) === forgottenAtOnce);
  return transact(db, (tx) => removeLocked(tx, which, actor));
}

async function removeLocked(tx: Tx, which: WhichWebhookEndpoint, actor: Actor): Promise<boolean> {
  const [endpoint] = await tx.select().from(webhookEndpoints).where(matching(which)).for('update');
  if (endpoint === undefined) return false;
  await stopAndForgetDeliveriesOf(tx, endpoint.id);
  // Also deletes its secrets.
  await tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, endpoint.id));
  await log(tx, endpoint, 'webhook_endpoint.deleted', { ...actor });
  return true;
}

async function rotateSecret(tx: Tx, cipher: SecretCipher, which: WhichWebhookEndpoint, actor: Actor) {
  const endpoint = await lock(tx, which);
  if (endpoint === null) return null;
  const { secret, overlapHours } = await replaceSecret(tx, cipher, ownerOf(endpoint));
  const { switchesAt } = await describeSecrets(tx, cipher, ownerOf(endpoint));
  await log(tx, endpoint, 'webhook_endpoint.secret_rotated', { overlap_hours: overlapHours, ...actor });
  return { endpoint, secret, switchesAt };
}
