/** Deletion certificates: one for each deleted job of the Secure tier, kept forever. */
import { and, asc, desc, eq, gt, not, sql } from './orm.ts';
import type { AuditEntry } from '../domain/audit.ts';
import { newId } from '../domain/ids.ts';
import { isOfAccount } from './account-lists.ts';
import { type Batch, type Db, transact, type Tx } from './database.ts';
import { appendEvent } from './events.ts';
import { destroyIsQueued, enqueueDestroy, enqueueEach } from './queue.ts';
import { certificates, type DeletedBy, idOfJob, jobs, type ObjectRole, objects, segments, uploads } from './schema.ts';
import type { CertificateState, CertificateStore } from './types.ts';

/** The facts of a certificate before it is signed. */
export interface DestroyedJob {
  certificateId: string;
  jobId: string;
  accountId: string;
  objects: DestroyedObject[];
  actor: DeletedBy;
  deletedAt: Date;
  issuedAt: Date;
  /** the entry of the audit log that records this certificate; its hash covers all earlier entries */
  entry: AuditEntry;
}

export interface DestroyedObject {
  key: string;
  role: ObjectRole | 'upload';
  version: string | null;
  sha256: string | null;
  sizeBytes: number | null;
  /** time when the storage confirmed that the key is absent */
  absentAt: Date;
}

export interface ExportedCertificate {
  jobId: string;
  jws: string;
  issuedAt: Date;
}

export function certificateQueries(db: Db) {
  return {
    async get(accountId, mode, jobId) {
      const [row] = await db
        .select({ deletedAt: jobs.deletedAt, jws: certificates.jws })
        .from(jobs)
        .leftJoin(certificates, isOfJob)
        .where(and(eq(jobs.id, jobId), eq(jobs.accountId, accountId), eq(jobs.mode, mode), eq(jobs.tier, 'secure')));
      if (!row) return null;
      return stateOf(row);
    },

    /** Whether the job is deleted, of the Secure tier, and still without its certificate. */
    async isDue(jobId: string): Promise<boolean> {
      const [row] = await db
        .select({ id: jobs.id })
        .from(jobs)
        .where(and(eq(jobs.id, jobId), isDue));
      return row !== undefined;
    },

    /** All certificates of an account, oldest first, in pages: they are kept for ever, and an account may have more than memory holds. */
    async *pages(accountId: string, limit = 1000): AsyncGenerator<ExportedCertificate[]> {
      const { id, jobId, jws, issuedAt } = certificates;
      let after = '';
      for (let isFull = true; isFull; ) {
        const rows = await db
          .select({ id, jobId, jws, issuedAt })
          .from(certificates)
          .where(and(isOfAccount(certificates.accountId, accountId), gt(id, after)))
          .orderBy(desc(certificates.accountId), asc(id))
          .limit(limit);
        yield rows.map(({ id: _, ...row }) => row);
        [after, isFull] = [rows.at(-1)?.id ?? after, rows.length === limit];
      }
    },

    /** Number of deleted jobs of an account that wait for their certificate. */
    pending: (accountId: string): Promise<number> => db.$count(jobs, and(eq(jobs.accountId, accountId), isDue)),

    issue: (jobId: string, sign: (job: DestroyedJob) => Promise<string>) =>
      transact(db, (tx) => issue(tx, jobId, sign)),

    /** Queues the destruction, and with it the certificate, of up to `limit` deleted jobs that have waited `afterS` seconds. */
    requeueDue: (afterS: number, limit: number) => requeueDue(db, afterS, limit),
  } satisfies CertificateStore & Record<string, unknown>;
}

function stateOf({ deletedAt, jws }: { deletedAt: Date | null; jws: string | null }): CertificateState {
  if (jws !== null) return { state: 'issued', jws };
  return { state: deletedAt === null ? 'not_deleted' : 'pending' };
}

const isOfJob = sql`${certificates.jobId} = ${idOfJob}`;

/**
 * The column finds the rows by its index. The certificates themselves decide, whatever set the column. The LIMIT makes PostgreSQL
 * look up each job instead of joining all certificates.
 */
const isDue = and(
  sql`${jobs.certificateDue}`,
  sql`(SELECT true FROM ${certificates} WHERE ${isOfJob} LIMIT 1) IS NULL`,
);

/** No worker has a lease on the job or on one of its segments, not even of an earlier plan: with a lease, it may still have the video. */
const hasNoWorker = sql`coalesce(greatest(${jobs.leaseExpiresAt}, ${jobs.formerLeasesExpireAt}) < clock_timestamp(), true)
  AND NOT EXISTS (SELECT FROM ${segments} s WHERE s.job_id = ${idOfJob} AND s.lease_expires_at >= clock_timestamp())`;

/**
 * Issues the certificate in one transaction with its audit entry. Returns false and writes nothing if it is not due, if a
 * worker may still write for the job, or if an object may still exist. `sign` gets facts that are locked until the commit,
 * and must use nothing else.
 */
async function issue(tx: Tx, jobId: string, sign: (job: DestroyedJob) => Promise<string>): Promise<boolean> {
  const [job] = await tx
    .select()
    .from(jobs)
    .where(and(eq(jobs.id, jobId), isDue, hasNoWorker))
    .for('no key update');
  // A second issuer waited for the lock with an old snapshot.
  const [issued] = await tx.select({ id: certificates.id }).from(certificates).where(eq(certificates.jobId, jobId));
  if (!job || issued) return false;
  const rows = await tx.select().from(objects).where(eq(objects.jobId, jobId)).orderBy(asc(objects.key)).for('no key update');
  const gone: DestroyedObject[] = rows.flatMap((row) => (row.state === 'destroyed' ? [{ ...row, absentAt: row.destroyedAt! }] : []));
  if (gone.length < rows.length) return false;
  if (job.uploadId !== null) {
    const [upload] = await tx.select().from(uploads).where(eq(uploads.id, job.uploadId)).for('no key update');
    if (!upload?.destroyedAt) return false;
    gone.push({ ...upload, role: 'upload', absentAt: upload.destroyedAt });
  }
  const certificateId = newId('cert');
  const data = { certificate_id: certificateId, objects: gone.length };
  const entry = await appendEvent(tx, { accountId: job.accountId, kind: 'certificate.issued', jobId, data });
  const issuedAt = new Date(entry.at);
  const { accountId } = job;
  const facts = { accountId, objects: gone, actor: job.deletedBy!, deletedAt: job.deletedAt! };
  const jws = await sign({ certificateId, jobId, ...facts, issuedAt, entry });
  await tx.insert(certificates).values({ id: certificateId, jobId, accountId, jws, issuedAt });
  return true;
}

async function requeueDue(db: Db, afterS: number, limit: number): Promise<Batch> {
  const rows = await db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(sql`${jobs.deletedAt} < now() - make_interval(secs => ${afterS}::float8)`, isDue, not(destroyIsQueued(jobs.id, afterS))))
    .limit(limit);
  return enqueueEach(rows, ({ id }) => enqueueDestroy(db, id));
}
