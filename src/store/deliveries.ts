/** Webhook deliveries: created with the end of a job, sent by a task, stored with all their attempts. */
import { and, asc, desc, eq, inArray, isNotNull, isNull, lt, not, type SQL, sql, type SQLWrapper } from './orm.ts';
import { newId } from '../domain/ids.ts';
import type { Mode } from '../domain/job.ts';
import type { WebhookEvent } from '../domain/webhooks.ts';
import { isOfAccount } from './account-lists.ts';
import { type Batch, type Db, type Executor, transact, type Tx } from './database.ts';
import type { JobRow } from './job-rows.ts';
import { enqueue, enqueueEach, isQueued } from './queue.ts';
import { accounts, type DeliveryState, webhookAttempts, webhookDeliveries, webhookEndpoints } from './schema.ts';
import type { WebhookEndpointRecord } from './types.ts';

export interface DueDelivery {
  /** `evt_…` */
  id: string;
  accountId: string;
  /** null: a test event */
  jobId: string | null;
  /** null: the job's own URL */
  endpointId: string | null;
  event: WebhookEvent;
  url: string;
  /** since the delivery was created or last resent */
  failedAttempts: number;
  /** when this attempt began, by the clock of the database: that of a worker may be wrong */
  begunAt: Date;
}

export interface DeliveryAttempt {
  at: Date;
  durationMs: number;
  /** of the response; null if there was none */
  status: number | null;
  /** why the attempt failed; null if it delivered */
  failure: string | null;
  /** the beginning of the response's body */
  responseBody: string | null;
}

/** The consequence of an attempt. */
export type DeliveryOutcome = { state: 'delivered' | 'dead' | 'stopped' } | { state: 'pending'; inS: number };

export interface DeliveryQuery {
  accountId: string;
  limit: number;
  startingAfter?: string | undefined;
  state?: DeliveryState | undefined;
  jobId?: string | undefined;
}

export interface DeliveryRecord {
  id: string;
  /** null: a test event */
  jobId: string | null;
  /** null: the job's own URL. The endpoint may be deleted. */
  endpointId: string | null;
  event: WebhookEvent;
  /** null if the job or the endpoint was deleted */
  url: string | null;
  state: DeliveryState;
  /** since the delivery was created or last resent */
  failedAttempts: number;
  nextAt: Date | null;
  createdAt: Date;
  settledAt: Date | null;
  /** oldest first */
  attempts: (DeliveryAttempt & { number: number })[];
}

/** Creates the deliveries to the job's own URL and to the account's endpoints, in the transaction that ends the job. */
export async function createDeliveries(tx: Tx, row: JobRow, event: WebhookEvent): Promise<void> {
  const { accountId, id: jobId, webhookUrl, preview } = row;
  if (preview !== null) return;
  const endpoints = (await endpointsFor(tx, row, event)).map(({ id, url }) => ({ endpointId: id, url }));
  const own = webhookUrl === null ? [] : [{ endpointId: null, url: webhookUrl }];
  for (const target of [...own, ...endpoints]) await insertDelivery(tx, { accountId, jobId, event, ...target });
}

/** The enabled endpoints that get this event, locked against changes until the commit. */
function endpointsFor(tx: Tx, { accountId, mode }: { accountId: string; mode: Mode }, event: WebhookEvent): Promise<WebhookEndpointRecord[]> {
  return tx
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        eq(webhookEndpoints.accountId, accountId),
        eq(webhookEndpoints.mode, mode),
        eq(webhookEndpoints.enabled, true),
        isNull(webhookEndpoints.deletedAt),
        sql`${event} = ANY (${webhookEndpoints.events})`,
      ),
    )
    .orderBy(webhookEndpoints.id)
    .for('share');
}

/** Creates a delivery of an event without a job; returns its id. */
export function createTestDelivery(tx: Tx, { id: endpointId, accountId, url }: WebhookEndpointRecord, event: WebhookEvent): Promise<string> {
  return insertDelivery(tx, { accountId, jobId: null, endpointId, event, url });
}

async function insertDelivery(tx: Tx, row: Omit<DueDelivery, 'id' | 'failedAttempts' | 'begunAt'>): Promise<string> {
  const id = newId('evt');
  await tx.insert(webhookDeliveries).values({ id, ...row, nextAt: sql`now()` });
  await enqueueDelivery(tx, id, 0);
  return id;
}

/** Locks deliveries in one order, because those of a job and those of an endpoint overlap. */
function lockDeliveries(tx: Tx, which: SQL | undefined) {
  const { id, state } = webhookDeliveries;
  return tx.select({ id, state }).from(webhookDeliveries).where(which).orderBy(asc(id)).for('no key update');
}

/** Locks up to `limit` deliveries and waits for none, so their order does not matter. */
function lockSome(tx: Tx, which: SQL | undefined, limit: number) {
  const { id, state } = webhookDeliveries;
  return tx.select({ id, state }).from(webhookDeliveries).where(which).limit(limit).for('no key update', { skipLocked: true });
}

/** One parameter, however many ids: a statement has at most 65,535. */
const isOneOf = (column: SQLWrapper, ids: string[]) => sql`${column} = ANY (${sql.param(ids)}::text[])`;

/** Sends pending deliveries to the new URL of their endpoint. */
export async function redirectDeliveries(tx: Tx, { id, url }: WebhookEndpointRecord): Promise<void> {
  const ids = (await lockDeliveries(tx, pendingOf(id))).map((each) => each.id);
  if (ids.length > 0) await tx.update(webhookDeliveries).set({ url }).where(isOneOf(webhookDeliveries.id, ids));
}

/** Stops the pending deliveries of an endpoint. */
export async function stopDeliveriesOf(tx: Tx, endpointId: string): Promise<void> {
  await stop(tx, (await lockDeliveries(tx, pendingOf(endpointId))).map(({ id }) => id));
}

/** The same for up to `limit` of them; returns how many. Leaves out those that another transaction has locked. */
export async function stopSomeOf(tx: Tx, endpointId: string, limit: number): Promise<number> {
  const some = await lockSome(tx, pendingOf(endpointId), limit);
  await stop(tx, some.map(({ id }) => id));
  return some.length;
}

async function stop(tx: Tx, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .update(webhookDeliveries)
    .set({ state: 'stopped', nextAt: null, settledAt: sql`now()` })
    .where(isOneOf(webhookDeliveries.id, ids));
  await unqueue(tx, ids);
}

const pendingOf = (endpointId: string) => and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.state, 'pending'));
/** A deleted endpoint gets nothing any more, also while its pending deliveries are being stopped. */
const hasTarget = sql`NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.id = ${webhookDeliveries.endpointId} AND e.deleted_at IS NOT NULL)`;
/** URLs are dropped when their job or endpoint is deleted. */
const keptOf = (endpointId: string) => and(eq(webhookDeliveries.endpointId, endpointId), isNotNull(webhookDeliveries.url));

/** Stops the deliveries and drops their URL and responses, in the transaction that deletes the job. */
export const stopDeliveries = async (tx: Tx, jobId: string): Promise<void> =>
  stopAndForget(tx, await lockDeliveries(tx, eq(webhookDeliveries.jobId, jobId)));

/**
 * The same for up to `limit` deliveries of a deleted endpoint. Leaves out those that another transaction has locked. Returns how many it was,
 * and whether there are more.
 */
export async function stopAndForgetSomeOf(tx: Tx, endpointId: string, limit: number): Promise<{ forgotten: number; isMore: boolean }> {
  const some = await lockSome(tx, keptOf(endpointId), limit);
  await stopAndForget(tx, some);
  const left = await tx.select({ id: webhookDeliveries.id }).from(webhookDeliveries).where(keptOf(endpointId)).limit(1);
  return { forgotten: some.length, isMore: left.length > 0 };
}

async function stopAndForget(tx: Tx, deliveries: Pick<Row, 'id' | 'state'>[]): Promise<void> {
  if (deliveries.length === 0) return;
  await forget(tx, deliveries.map(({ id }) => id));
  // A settled delivery has no queue row.
  const pending = deliveries.filter(({ state }) => state === 'pending').map(({ id }) => id);
  if (pending.length > 0) await unqueue(tx, pending);
}

async function forget(tx: Tx, ids: string[]): Promise<void> {
  await tx
    .update(webhookDeliveries)
    .set({
      url: null,
      state: sql`CASE ${webhookDeliveries.state} WHEN 'pending' THEN 'stopped' ELSE ${webhookDeliveries.state} END`,
      nextAt: null,
      settledAt: sql`coalesce(${webhookDeliveries.settledAt}, now())`,
    })
    .where(isOneOf(webhookDeliveries.id, ids));
  await tx.update(webhookAttempts).set({ responseBody: null }).where(isOneOf(webhookAttempts.deliveryId, ids));
}

async function unqueue(tx: Tx, ids: string[]): Promise<void> {
  await tx.execute(sql`SELECT count(*) FROM unnest(${sql.param(ids.map(queueKey))}::text[]) AS key, graphile_worker.remove_job(key)`);
}

const queueKey = (id: string) => `webhook:${id}`;

function enqueueDelivery(on: Executor, id: string, delayS: number): Promise<void> {
  // The delivery's own row has the schedule; the queue's attempts only cover workers that die.
  return enqueue(on, {
    task: 'webhook_deliver',
    payload: { deliveryId: id },
    key: queueKey(id),
    delayS,
    maxAttempts: 25,
    account: sql`SELECT account_id FROM webhook_deliveries WHERE id = ${id}`,
  });
}

/** A running attempt counts as lost with its worker after so many seconds. */
const busyS = 30;

export function deliveryQueries(db: Db) {
  return {
    /**
     * Takes a pending delivery for one attempt; null if there is nothing to do. If another worker is sending it, it is
     * queued for the time when that worker counts as dead.
     */
    async begin(id: string): Promise<DueDelivery | null> {
      const [row] = await db
        .update(webhookDeliveries)
        .set({ busyUntil: sql`clock_timestamp() + make_interval(secs => ${busyS})` })
        .where(
          and(
            eq(webhookDeliveries.id, id),
            eq(webhookDeliveries.state, 'pending'),
            hasTarget,
            sql`coalesce(${webhookDeliveries.busyUntil} < clock_timestamp(), true)`,
          ),
        )
        .returning();
      if (!row) await transact(db, (tx) => queueBusy(tx, id));
      if (!row || row.url === null) return null;
      const { accountId, jobId, endpointId, event, url, failedAttempts, busyUntil } = row;
      return { id, accountId, jobId, endpointId, event, url, failedAttempts, begunAt: new Date(busyUntil!.getTime() - 1000 * busyS) };
    },

    /** Gives a delivery back without an attempt. */
    release: (id: string): Promise<void> => endAttempt(db, id),

    /** Stores an attempt to send to `sent.url`, with its consequence. */
    settle: (sent: Pick<DueDelivery, 'id' | 'url'>, attempt: DeliveryAttempt, outcome: DeliveryOutcome) =>
      transact(db, (tx) => settle(tx, sent, attempt, outcome)),

    /** Newest first; `startingAfter` is an exclusive id. */
    page: (query: DeliveryQuery) => list(db, query),

    /** null for an unknown delivery, or another account's. */
    async get(accountId: string, id: string): Promise<DeliveryRecord | null> {
      const rows = await db
        .select()
        .from(webhookDeliveries)
        .where(and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.accountId, accountId)));
      return (await withAttempts(db, rows))[0] ?? null;
    },

    /**
     * Sends again at once, under the same id, and restarts the schedule. null for an unknown delivery. Throws Error if its
     * job or endpoint was deleted, and so its URL, or if its account is closed.
     */
    resend: (id: string) => transact(db, (tx) => resend(tx, id)),

    /** Whether the job or endpoint of a delivery was deleted, and so its URL. */
    async isGone(id: string): Promise<boolean> {
      const [row] = await db
        .select({ isGone: sql<boolean>`${webhookDeliveries.url} IS NULL OR NOT ${hasTarget}` })
        .from(webhookDeliveries)
        .where(eq(webhookDeliveries.id, id));
      return row?.isGone === true;
    },

    /** Drops up to `limit` deliveries that were settled more than `days` ago, with their attempts; returns how many. */
    prune: (days: number, limit: number) => transact(db, (tx) => prune(tx, days, limit)),

    /** A safety net: queues overdue deliveries again that have no queue row. */
    async requeueOverdue(afterS: number, limit: number): Promise<Batch> {
      const rows = await db
        .select({ id: webhookDeliveries.id })
        .from(webhookDeliveries)
        .where(
          and(
            eq(webhookDeliveries.state, 'pending'),
            sql`${webhookDeliveries.nextAt} < now() - make_interval(secs => ${afterS}::float8)`,
            sql`coalesce(${webhookDeliveries.busyUntil} < now(), true)`,
            not(isQueued(sql`'webhook:' || ${webhookDeliveries.id}`, sql`q.locked_at IS NULL AND q.attempts < q.max_attempts`)),
          ),
        )
        .limit(limit);
      return enqueueEach(rows, ({ id }) => enqueueDelivery(db, id, 0));
    },
  };
}

async function prune(tx: Tx, days: number, limit: number): Promise<number> {
  const old = await tx
    .select({ id: webhookDeliveries.id })
    .from(webhookDeliveries)
    .where(sql`${webhookDeliveries.settledAt} < now() - make_interval(days => ${days}::int)`)
    .limit(limit)
    .for('update', { skipLocked: true });
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await tx.delete(webhookAttempts).where(inArray(webhookAttempts.deliveryId, ids));
  await tx.delete(webhookDeliveries).where(inArray(webhookDeliveries.id, ids));
  return ids.length;
}

/** Queues a delivery that is being sent for the time when its worker counts as lost, or for its next attempt if that one has just ended. */
async function queueBusy(tx: Tx, id: string): Promise<void> {
  const { busyUntil, nextAt, state } = webhookDeliveries;
  const dueAt = sql`greatest(${busyUntil} + interval '1 second', ${nextAt})`;
  // Locked, so that this row of the queue does not replace the one of an attempt that ends meanwhile.
  const [row] = await tx
    .select({ inS: sql<number>`extract(epoch FROM ${dueAt} - clock_timestamp())::float8` })
    .from(webhookDeliveries)
    .where(and(eq(webhookDeliveries.id, id), eq(state, 'pending'), hasTarget))
    .for('no key update');
  if (row) await enqueueDelivery(tx, id, Math.max(0, row.inS));
}

async function settle(tx: Tx, sent: Pick<DueDelivery, 'id' | 'url'>, attempt: DeliveryAttempt, outcome: DeliveryOutcome): Promise<void> {
  const { id } = sent;
  const [row] = await tx.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, id)).for('no key update');
  if (!row) return;
  await insertAttempt(tx, row, attempt);
  if (row.state !== 'pending') return endAttempt(tx, id);
  if (attempt.failure !== null && isOutdated(row, sent, outcome)) return startAgain(tx, id);
  const pending = outcome.state === 'pending';
  await tx
    .update(webhookDeliveries)
    .set({
      state: outcome.state,
      failedAttempts: attempt.failure === null ? row.failedAttempts : row.failedAttempts + 1,
      nextAt: pending ? sql`clock_timestamp() + make_interval(secs => ${outcome.inS}::float8)` : null,
      settledAt: pending ? null : sql`now()`,
      busyUntil: null,
    })
    .where(eq(webhookDeliveries.id, id));
  if (pending) await enqueueDelivery(tx, id, outcome.inS);
}

async function insertAttempt(tx: Tx, { id, url }: Row, attempt: DeliveryAttempt): Promise<void> {
  const next = sql<number>`(SELECT coalesce(max(number), 0) + 1 FROM webhook_attempts WHERE delivery_id = ${id})`;
  // The job may have been deleted meanwhile; then no customer data is stored any more.
  const responseBody = url === null ? null : attempt.responseBody;
  await tx.insert(webhookAttempts).values({ ...attempt, responseBody, deliveryId: id, number: next });
}

/** Whether a failure says nothing about the delivery as it is now. */
function isOutdated(row: Row, { url }: Pick<DueDelivery, 'url'>, outcome: DeliveryOutcome): boolean {
  // The URL of the endpoint was changed meanwhile. The old one says nothing about the new one, not even with 410.
  if (row.url !== url) return true;
  return isResent(row) && outcome.state !== 'stopped';
}

/** Whether it was resent while the attempt was made. A failure of the old schedule must neither end nor delay the new one. */
const isResent = ({ nextAt, busyUntil }: Row): boolean =>
  nextAt !== null && busyUntil !== null && nextAt.getTime() > busyUntil.getTime() - 1000 * busyS;

/** No attempt is under way any more: the next one waits for none. */
async function endAttempt(on: Executor, id: string): Promise<void> {
  await on.update(webhookDeliveries).set({ busyUntil: null }).where(eq(webhookDeliveries.id, id));
}

async function startAgain(tx: Tx, id: string): Promise<void> {
  await endAttempt(tx, id);
  await enqueueDelivery(tx, id, 0);
}

async function resend(tx: Tx, id: string): Promise<DeliveryRecord | null> {
  const endpoint = await holdEndpointOf(tx, id);
  const [row] = await tx.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, id)).for('no key update');
  if (!row) return null;
  const [account] = await tx.select({ closedAt: accounts.closedAt }).from(accounts).where(eq(accounts.id, row.accountId));
  if (account!.closedAt !== null) throw new Error(`The account ${row.accountId} is closed.`);
  if (row.url === null || (endpoint !== undefined && endpoint.deletedAt !== null)) throw new Error(`The job or endpoint of ${id} was deleted, and the URL with it.`);
  const url = endpoint?.url ?? row.url;
  await tx
    .update(webhookDeliveries)
    // The clock's time, not that of the transaction: the attempt may have begun while this waited for the lock.
    .set({ url, state: 'pending', failedAttempts: 0, nextAt: sql`clock_timestamp()`, settledAt: null })
    .where(eq(webhookDeliveries.id, id));
  await enqueueDelivery(tx, id, 0);
  return (await withAttempts(tx, [{ ...row, url, state: 'pending', failedAttempts: 0, nextAt: new Date(), settledAt: null }]))[0]!;
}

/** The endpoint of a delivery, as it is until the commit; undefined without one. Locks it before the delivery, as everywhere. */
async function holdEndpointOf(tx: Tx, id: string): Promise<{ url: string; deletedAt: Date | null } | undefined> {
  const ofDelivery = sql`(SELECT endpoint_id FROM webhook_deliveries WHERE id = ${id})`;
  const { url, deletedAt } = webhookEndpoints;
  const [endpoint] = await tx.select({ url, deletedAt }).from(webhookEndpoints).where(eq(webhookEndpoints.id, ofDelivery)).for('share');
  return endpoint;
}

async function list(db: Db, { accountId, limit, startingAfter, state, jobId }: DeliveryQuery): Promise<DeliveryRecord[]> {
  const rows = await db
    .select()
    .from(webhookDeliveries)
    .where(
      and(
        isOfAccount(webhookDeliveries.accountId, accountId),
        startingAfter === undefined ? undefined : lt(webhookDeliveries.id, startingAfter),
        state === undefined ? undefined : eq(webhookDeliveries.state, state),
        jobId === undefined ? undefined : eq(webhookDeliveries.jobId, jobId),
      ),
    )
    .orderBy(webhookDeliveries.accountId, desc(webhookDeliveries.id))
    .limit(limit);
  return withAttempts(db, rows);
}

type Row = typeof webhookDeliveries.$inferSelect;

async function withAttempts(on: Executor, rows: Row[]): Promise<DeliveryRecord[]> {
  const ids = rows.map(({ id }) => id);
  const attempts =
    ids.length === 0
      ? []
      : await on
          .select()
          .from(webhookAttempts)
          .where(isOneOf(webhookAttempts.deliveryId, ids))
          .orderBy(asc(webhookAttempts.number));
  const ofDelivery = Map.groupBy(attempts, ({ deliveryId }) => deliveryId);
  return rows.map(({ id, jobId, endpointId, event, url, state, failedAttempts, nextAt, createdAt, settledAt }) => ({
    ...{ id, jobId, endpointId, event, url, state, failedAttempts, nextAt, createdAt, settledAt },
    attempts: (ofDelivery.get(id) ?? []).map(({ deliveryId: _, ...attempt }) => attempt),
  }));
}
