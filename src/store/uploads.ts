/**
 * Uploads: files that customers send in parts. A row exists before the storage has anything of the file, and until the
 * storage has confirmed that the file is gone.
 */
import { and, desc, eq, gt, inArray, isNotNull, isNull, lt, ne, not, or, type SQL, sql } from './orm.ts';
import { ReelmendError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { Mode } from '../domain/job.ts';
import { maxUploads, partSizeFor, type UploadErrorCode, uploadKeptHours, type UploadRecord } from '../domain/uploads.ts';
import { isOfAccount } from './account-lists.ts';
import { lockOpenAccount } from './account-locks.ts';
import type { AccountTurns } from './account-turns.ts';
import { type Batch, databaseError, type Db, type Executor, transact, type Tx, withEach } from './database.ts';
import { appendEvent, type NewEvent } from './events.ts';
import { assertReplayable, endAfterDeletion, isKey, keyIsExpiring } from './idempotency-keys.ts';
import { isOpen } from './job-states.ts';
import { enqueueEach, enqueueUploadDestroy, enqueueVerify, uploadTaskIsQueued } from './queue.ts';
import { accounts, type DeletedBy, idempotencyKeys, jobs, uploads } from './schema.ts';
import type { Actor, CreateUpload, DeletedUpload, Idempotency, ListUploads, UploadChecksum, UploadStore } from './types.ts';

type UploadRow = typeof uploads.$inferSelect;

/** An upload whose file is to be verified. */
export interface UnverifiedUpload extends UploadRecord {
  multipartId: string;
  /** of each part, as the customer sent it */
  partSha256: string[] | null;
}

/** The file of an upload, for a job that reads it. */
export interface UploadedFile {
  key: string;
  sizeBytes: number;
  sha256: string;
}

export interface PendingUploadDeletion {
  key: string;
  /** whether an accepted job still has to read the file */
  isNeeded: boolean;
}

const retentionEnd = sql`now() + make_interval(hours => ${uploadKeptHours}::int)`;

function toRecord(row: UploadRow): UploadRecord {
  if (row.fileName === null) throw new Error(`Upload ${row.id} was deleted`);
  const { id, accountId, mode, status, fileName, sizeBytes, partSizeBytes: part, sha256, key, multipartId } = row;
  const { errorCode: error, createdAt, expiresAt } = row;
  return { id, accountId, mode, status, fileName, sizeBytes, partSizeBytes: part, sha256, key, multipartId, error, createdAt, expiresAt };
}

const ofAccount = (accountId: string, mode: Mode, id: string) =>
  and(eq(uploads.id, id), eq(uploads.accountId, accountId), eq(uploads.mode, mode), isNull(uploads.deletedAt));

export function uploadQueries(db: Db, inTurn: AccountTurns) {
  return {
    findReplay: (accountId, mode, idempotency) => findReplay(db, accountId, mode, idempotency),

    create: (input) => inTurn(input.accountId, () => transact(db, (tx) => createUpload(tx, input))),

    begin: (id, multipartId) => transact(db, (tx) => begin(tx, id, multipartId)),

    abandon: (accountId, mode, id) =>
      inTurn(accountId, async () => {
        const withoutTransfer = and(ofAccount(accountId, mode, id), isNull(uploads.multipartId));
        await transact(db, (tx) => deleteUpload(tx, withoutTransfer, 'customer'));
      }),

    async get(accountId, mode, id) {
      const [row] = await db.select().from(uploads).where(ofAccount(accountId, mode, id));
      return row ? toRecord(row) : null;
    },

    list: (query) => list(db, query),

    complete: (accountId, mode, id, checksum) => transact(db, (tx) => completeUpload(tx, ofAccount(accountId, mode, id), checksum)),

    delete: (accountId, mode, id, actor?: Actor) =>
      inTurn(accountId, () => transact(db, (tx) => deleteUpload(tx, ofAccount(accountId, mode, id), 'customer', actor))),

    async expectedBytes() {
      const [row] = await db
        .select({ bytes: sql<number>`coalesce(sum(${uploads.sizeBytes}), 0)::float8` })
        .from(uploads)
        .where(and(inArray(uploads.status, ['waiting', 'verifying']), isNull(uploads.destroyedAt)));
      return row?.bytes ?? 0;
    },

    /** The file that a job reads; null if it is gone. */
    async file(id: string): Promise<UploadedFile | null> {
      const [row] = await db.select().from(uploads).where(and(eq(uploads.id, id), isNull(uploads.destroyedAt)));
      return row?.sha256 ? { key: row.key, sizeBytes: row.sizeBytes, sha256: row.sha256 } : null;
    },

    /** null if there is nothing to verify (any more) */
    async unverified(id: string): Promise<UnverifiedUpload | null> {
      const [row] = await db.select().from(uploads).where(isVerifying(id));
      if (!row || row.multipartId === null) return null;
      return { ...toRecord(row), multipartId: row.multipartId, partSha256: row.partSha256 };
    },

    /** The file matches its checksum: jobs may use it. */
    verified: (id: string, file: { sha256: string; version: string | null }): Promise<void> => transact(db, (tx) => verified(tx, id, file)),

    /** The file cannot be used and is destroyed; the upload stays visible until it expires. */
    failed: (id: string, code: UploadErrorCode): Promise<void> => transact(db, (tx) => failed(tx, id, code)),

    /** null if the file is destroyed already, or must stay */
    async pendingDeletion(id: string): Promise<PendingUploadDeletion | null> {
      const [row] = await db
        .select({ key: uploads.key, isNeeded: sql<boolean>`EXISTS (${jobsToRead})` })
        .from(uploads)
        .where(and(eq(uploads.id, id), isPendingDeletion));
      return row ?? null;
    },

    /** Records that the storage confirmed "absent". */
    markDestroyed: (id: string): Promise<void> => transact(db, (tx) => markDestroyed(tx, id)),

    /** Records the same again for a file that is destroyed already. */
    async confirmDestroyed(id: string): Promise<void> {
      await db
        .update(uploads)
        .set({ destroyedAt: sql`clock_timestamp()` })
        .where(and(eq(uploads.id, id), isNotNull(uploads.destroyedAt)));
    },

    /** The upload that a job was created from; null for none. */
    async ofJob(jobId: string): Promise<{ id: string; key: string; isDestroyed: boolean } | null> {
      const [row] = await db
        .select({ id: uploads.id, key: uploads.key, isDestroyed: sql<boolean>`${uploads.destroyedAt} IS NOT NULL` })
        .from(uploads)
        .innerJoin(jobs, eq(jobs.uploadId, uploads.id))
        .where(eq(jobs.id, jobId));
      return row ?? null;
    },

    /** Queues the destruction of one file (again) after `delayS`. */
    destroyLater: (id: string, delayS: number): Promise<void> => enqueueUploadDestroy(db, id, delayS),

    /** Queues destroyed files for destruction that exist in the storage: a verification stored them again. */
    destroyReturned: (keys: string[]): Promise<string[]> => transact(db, (tx) => destroyReturned(tx, keys)),

    /** Retention: deletes up to `limit` expired uploads, each in its own transaction. */
    expireDue: (limit: number) => expireDue(db, limit),

    /** Deletes up to `limit` uploads of closed accounts, each in its own transaction. */
    deleteOfClosed: (limit: number) => deleteOfClosed(db, limit),

    /** Deletes the uploads that an account has, in both modes, in batches of up to `limit`, each upload in its own transaction. Those of meanwhile stay. */
    deleteOfAccount: (accountId: string, limit: number) => deleteOfAccount(db, accountId, limit),

    /** Queues verifications and destructions again that have waited `afterS` seconds and are not queued. */
    requeueOverdue: (afterS: number, limit: number) => requeueOverdue(db, afterS, limit),

    /** Looks at up to `limit` rows of files destroyed `days` ago, and removes those that no job was created from. Returns how many it looked at. */
    prune: (days: number, limit: number) => prune(db, days, limit),
  } satisfies UploadStore & Record<string, unknown>;
}

async function begin(tx: Tx, id: string, multipartId: string): Promise<string | null> {
  // Another request with the same idempotency key may have begun a transfer, and its client has the URLs of that one.
  const [begun] = await tx
    .update(uploads)
    .set({ multipartId: sql`coalesce(${uploads.multipartId}, ${multipartId})` })
    .where(and(eq(uploads.id, id), isNull(uploads.deletedAt)))
    .returning({ multipartId: uploads.multipartId });
  if (begun === undefined) await destroyAgain(tx, id);
  return begun?.multipartId ?? null;
}

async function list(db: Db, { accountId, mode, limit, startingAfter }: ListUploads): Promise<{ uploads: UploadRecord[]; hasMore: boolean }> {
  const rows = await db
    .select()
    .from(uploads)
    .where(
      and(
        eq(uploads.accountId, accountId),
        eq(uploads.mode, mode),
        isNull(uploads.deletedAt),
        or(eq(uploads.status, 'verifying'), gt(uploads.expiresAt, sql`now()`)),
        startingAfter === undefined ? undefined : lt(uploads.id, startingAfter),
      ),
    )
    .orderBy(desc(uploads.id))
    .limit(limit + 1);
  return { uploads: rows.slice(0, limit).map(toRecord), hasMore: rows.length > limit };
}

/** The condition that the upload waits for the result of its verification. */
const isVerifying = (id: string) => and(eq(uploads.id, id), eq(uploads.status, 'verifying'), isNull(uploads.deletedAt));

async function verified(tx: Tx, id: string, { sha256, version }: { sha256: string; version: string | null }): Promise<void> {
  const [row] = await tx
    .update(uploads)
    .set({ status: 'ready', sha256, version, partSha256: null, expiresAt: retentionEnd })
    .where(isVerifying(id))
    .returning();
  if (!row) return destroyAgain(tx, id);
  await tx.update(idempotencyKeys).set({ expiresAt: row.expiresAt }).where(eq(idempotencyKeys.uploadId, id));
  const data = { upload_id: id, sha256, size_bytes: row.sizeBytes };
  await appendEvent(tx, { accountId: row.accountId, kind: 'upload.ready', data });
}

async function failed(tx: Tx, id: string, code: UploadErrorCode): Promise<void> {
  const [row] = await tx.update(uploads).set({ status: 'failed', errorCode: code, partSha256: null }).where(isVerifying(id)).returning();
  if (!row) return destroyAgain(tx, id);
  await enqueueUploadDestroy(tx, id);
  await appendEvent(tx, { accountId: row.accountId, kind: 'upload.failed', data: { upload_id: id, code } });
}

async function markDestroyed(tx: Tx, id: string): Promise<void> {
  const [row] = await tx
    .update(uploads)
    .set({ destroyedAt: sql`clock_timestamp()` })
    .where(and(eq(uploads.id, id), isNull(uploads.destroyedAt)))
    .returning();
  if (!row) return;
  const data = { upload_id: id, sha256: row.sha256, size_bytes: row.sizeBytes };
  await appendEvent(tx, { accountId: row.accountId, kind: 'upload.destroyed', data });
}

async function destroyReturned(tx: Tx, keys: string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  const rows = await tx
    .update(uploads)
    .set({ destroyedAt: null })
    .where(and(inArray(uploads.key, keys), isNotNull(uploads.destroyedAt)))
    .returning({ id: uploads.id, key: uploads.key });
  for (const { id } of rows) await enqueueUploadDestroy(tx, id);
  return rows.map(({ key }) => key);
}

async function createUpload(tx: Tx, input: CreateUpload): Promise<{ upload: UploadRecord; replayed: boolean }> {
  const { accountId, mode, fileName, sizeBytes, sha256, quotaBytes, idempotency = null, actor = {} } = input;
  const id = newId('upl');
  if (idempotency !== null && !(await takeKey(tx, input, idempotency, id))) {
    const upload = await findReplay(tx, accountId, mode, idempotency);
    if (upload === null) throw keyIsExpiring();
    return { upload, replayed: true };
  }
  // The lock lets one creation of the account check the quota at a time.
  if ((await lockOpenAccount(tx, accountId)) === null) throw new ReelmendError('internal_error', 'The account no longer exists.');
  const [used] = await tx
    .select({ bytes: sql<number>`coalesce(sum(${uploads.sizeBytes}), 0)::float8`, files: sql<number>`count(*)::int` })
    .from(uploads)
    .where(and(eq(uploads.accountId, accountId), eq(uploads.mode, mode), isNull(uploads.destroyedAt)));
  assertQuota(used!, sizeBytes, quotaBytes);
  const [row] = await tx
    .insert(uploads)
    .values({ id, accountId, mode, fileName, sizeBytes, partSizeBytes: partSizeFor(sizeBytes), sha256, key: `uploads/${id}/file`, expiresAt: retentionEnd })
    .returning();
  await appendEvent(tx, { accountId, kind: 'upload.created', data: { upload_id: id, mode, size_bytes: sizeBytes, ...actor } });
  return { upload: toRecord(row!), replayed: false };
}

/**
 * False if another job or upload has the key. Waits until a concurrent request with that key has committed. An expired key counts as new. As
 * in create_job, the key comes before the lock of the account.
 */
async function takeKey(tx: Tx, { accountId, mode }: CreateUpload, { key, fingerprint }: Idempotency, uploadId: string): Promise<boolean> {
  const { accountId: account, mode: keyMode, key: name, expiresAt } = idempotencyKeys;
  const taken = { fingerprint, uploadId, jobId: null, expiresAt: retentionEnd };
  const rows = await tx
    .insert(idempotencyKeys)
    .values({ accountId, mode, key, ...taken })
    .onConflictDoUpdate({ target: [account, keyMode, name], set: { ...taken, createdAt: sql`now()` }, setWhere: sql`${expiresAt} <= now()` })
    .returning({ key: name });
  return rows.length > 0;
}

async function findReplay(on: Executor, accountId: string, mode: Mode, idempotency: Idempotency): Promise<UploadRecord | null> {
  const [found] = await on
    .select({ fingerprint: idempotencyKeys.fingerprint, created: uploads })
    .from(idempotencyKeys)
    .leftJoin(uploads, eq(uploads.id, idempotencyKeys.uploadId))
    .where(isKey(accountId, mode, idempotency));
  return found === undefined ? null : toRecord(assertReplayable(found, idempotency, () => 'upload'));
}

function assertQuota(used: { bytes: number; files: number }, sizeBytes: number, quotaBytes: number): void {
  if (used.files >= maxUploads) {
    const message = `The account has ${used.files} uploads, and ${maxUploads} are allowed at a time. Delete some.`;
    throw new ReelmendError('upload_quota_exceeded', message);
  }
  if (used.bytes + sizeBytes <= quotaBytes) return;
  const message = `The uploads of the account have ${used.bytes} bytes, and ${quotaBytes} are allowed together. Delete some.`;
  throw new ReelmendError('upload_quota_exceeded', message);
}

/** An upload that no longer waits for parts stays as it is. */
async function completeUpload(tx: Tx, which: SQL | undefined, { sha256, partSha256 }: UploadChecksum): Promise<UploadRecord | null> {
  const [before] = await tx.select().from(uploads).where(which).for('no key update');
  if (!before) return null;
  if (before.status !== 'waiting') return toRecord(before);
  const [row] = await tx
    .update(uploads)
    .set({ status: 'verifying', sha256: sha256 ?? before.sha256, partSha256, completedAt: sql`now()` })
    .where(eq(uploads.id, before.id))
    .returning();
  await enqueueVerify(tx, before.id);
  return toRecord(row!);
}

/** Deletes one upload and queues the destruction of its file. null if there is nothing to delete. */
async function deleteUpload(tx: Tx, which: SQL | undefined, by: DeletedBy, actor: Actor = {}): Promise<DeletedUpload | null> {
  const row = await markUploadDeleted(tx, which, by);
  if (row === null) return null;
  await enqueueUploadDestroy(tx, row.id);
  await appendEvent(tx, uploadDeletion(row, actor));
  return { id: row.id, deletedAt: row.deletedAt! };
}

/**
 * The part of a deletion that changes the row: drops the file name. The caller queues the destruction and appends
 * `uploadDeletion`, each in its place in the lock order (database.ts). null if there is nothing to delete.
 */
export async function markUploadDeleted(tx: Tx, which: SQL | undefined, by: DeletedBy): Promise<UploadRow | null> {
  const [row] = await tx
    .update(uploads)
    .set({ deletedAt: sql`now()`, deletedBy: by, fileName: null, partSha256: null })
    .where(and(which, isNull(uploads.deletedAt)))
    .returning();
  if (row === undefined) return null;
  // Nobody has got an upload whose transfer has not begun: the request may be repeated.
  const end = row.multipartId === null ? sql`now()` : endAfterDeletion;
  await tx.update(idempotencyKeys).set({ expiresAt: end }).where(eq(idempotencyKeys.uploadId, row.id));
  return row;
}

/** The entry of the audit log. */
export function uploadDeletion({ id, accountId, deletedBy }: UploadRow, actor: Actor = {}): NewEvent {
  return { accountId, kind: 'upload.deleted', data: { upload_id: id, by: deletedBy, ...actor } };
}

/** A verification, or the begin of a transfer, during the deletion of the upload may have stored something after its destruction. */
async function destroyAgain(tx: Tx, id: string): Promise<void> {
  const rows = await tx
    .update(uploads)
    .set({ destroyedAt: null })
    .where(and(eq(uploads.id, id), isPendingDeletionOrDestroyed))
    .returning({ id: uploads.id });
  if (rows.length > 0) await enqueueUploadDestroy(tx, id);
}

const isPendingDeletionOrDestroyed = or(isNotNull(uploads.deletedAt), eq(uploads.status, 'failed'));
const isPendingDeletion = and(isNull(uploads.destroyedAt), isPendingDeletionOrDestroyed);
/** The collation of `uploads.id` is "C". A comparison with it could not use the index of jobs by upload, which has the default one. */
const isOfUpload = sql`${jobs.uploadId} = ${uploads.id} COLLATE "default"`;
const jobsToRead = sql`SELECT 1 FROM ${jobs} WHERE ${and(isOfUpload, eq(jobs.step, 'ingest'), isOpen)}`;

async function expireDue(db: Db, limit: number): Promise<Batch> {
  // A verification is never interrupted: at its end the upload's time starts again.
  const isDue = and(sql`${uploads.expiresAt} <= now()`, isNull(uploads.deletedAt), ne(uploads.status, 'verifying'));
  const due = await db.select({ id: uploads.id }).from(uploads).where(isDue).orderBy(uploads.expiresAt).limit(limit);
  return deleteEach(db, due, 'retention', isDue);
}

async function deleteOfClosed(db: Db, limit: number): Promise<Batch> {
  const left = await db
    .select({ id: uploads.id })
    .from(uploads)
    .innerJoin(accounts, and(eq(accounts.id, uploads.accountId), isNotNull(accounts.closedAt)))
    .where(isNull(uploads.deletedAt))
    .limit(limit);
  return deleteEach(db, left, 'operator');
}

async function* deleteOfAccount(db: Db, accountId: string, limit: number): AsyncGenerator<Batch> {
  let below: string | undefined;
  for (let isFull = true; isFull; ) {
    const rows = await db
      .select({ id: uploads.id })
      .from(uploads)
      .where(and(isOfAccount(uploads.accountId, accountId), isNull(uploads.deletedAt), below === undefined ? undefined : lt(uploads.id, below)))
      .orderBy(uploads.accountId, desc(uploads.id))
      .limit(limit);
    yield await deleteEach(db, rows, 'operator');
    [below, isFull] = [rows.at(-1)?.id, rows.length === limit];
  }
}

function deleteEach(db: Db, which: { id: string }[], by: DeletedBy, still?: SQL): Promise<Batch> {
  return withEach(which, async ({ id }) => (await transact(db, (tx) => deleteUpload(tx, and(eq(uploads.id, id), still), by))) !== null);
}

async function requeueOverdue(db: Db, afterS: number, limit: number): Promise<Batch> {
  const overdue = (since: SQL) => sql`${since} < now() - make_interval(secs => ${afterS}::float8)`;
  const [unverified, undestroyed] = await Promise.all([
    db
      .select({ id: uploads.id })
      .from(uploads)
      .where(
        and(
          eq(uploads.status, 'verifying'),
          isNull(uploads.deletedAt),
          isNull(uploads.destroyedAt),
          overdue(sql`${uploads.completedAt}`),
          not(uploadTaskIsQueued('verify', uploads.id, afterS)),
        ),
      )
      .limit(limit),
    db
      .select({ id: uploads.id })
      .from(uploads)
      .where(
        and(
          isPendingDeletion,
          overdue(sql`coalesce(${uploads.deletedAt}, ${uploads.completedAt})`),
          not(uploadTaskIsQueued('destroy', uploads.id, afterS)),
        ),
      )
      .limit(limit),
  ]);
  const rows = [...unverified.map(({ id }) => ({ id, enqueue: enqueueVerify })), ...undestroyed.map(({ id }) => ({ id, enqueue: enqueueUploadDestroy }))];
  return enqueueEach(rows, ({ id, enqueue }) => enqueue(db, id));
}

/**
 * Uploads that a job was created from are kept, and marked, so that each is looked at only once. A deleted upload gets no more jobs. The
 * LIMIT makes PostgreSQL look up the job of each upload instead of reading all jobs.
 */
async function prune(db: Db, days: number, limit: number): Promise<number> {
  const [seen] = await db.execute<{ uploads: number }>(sql`
    WITH old AS MATERIALIZED (
      SELECT u.id, (SELECT true FROM jobs j WHERE j.upload_id = u.id COLLATE "default" LIMIT 1) IS NOT NULL AS has_job FROM uploads u
      WHERE u.destroyed_at < now() - make_interval(days => ${days}::int) AND u.deleted_at IS NOT NULL AND NOT u.kept
      ORDER BY u.destroyed_at LIMIT ${limit}::int FOR UPDATE OF u SKIP LOCKED),
    marked AS (UPDATE uploads SET kept = true WHERE id = ANY (ARRAY(SELECT id FROM old WHERE has_job))),
    removed AS (DELETE FROM uploads WHERE id = ANY (ARRAY(SELECT id FROM old WHERE NOT has_job)))
    SELECT count(*)::int AS uploads FROM old`);
  return seen!.uploads;
}

/** The public error behind SQLSTATE RM404 of `create_job`; undefined for any other. */
export function uploadIsGone(error: unknown): ReelmendError | undefined {
  if (databaseError(error)?.code !== 'RM404') return undefined;
  return new ReelmendError('upload_not_found', 'There is no such upload.', { param: '/upload_id' });
}
