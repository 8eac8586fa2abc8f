/**
 * Destroys the stored objects that a job no longer needs, believes only the storage's own "absent", and then issues
 * the certificate of a deleted job of the Secure tier.
 */
import type { CertificatePayload } from '../evidence/index.ts';
import type { DestroyedJob } from '../store/index.ts';
import { jobIdOf } from './payload.ts';
import type { WorkerContext } from './types.ts';

/**
 * Fails, and is retried, until every object is absent. While a worker may still be writing under its lease the
 * rest waits for the end of it.
 */
export const destroyTask =
  (worker: WorkerContext) =>
  async (payload: unknown): Promise<void> => {
    const jobId = jobIdOf(payload);
    const { keys, busyForS } = await worker.store.objects.pendingDeletion(jobId);
    await ofEach(jobId, keys, (key) => destroyObject(worker, key));
    if (busyForS > 0) return worker.store.objects.destroyLater(jobId, busyForS + 1);
    if (await worker.store.certificates.isDue(jobId)) await certify(worker, jobId);
  };

async function destroyObject({ storage, store }: WorkerContext, key: string): Promise<void> {
  await storage.destroy(key);
  if (!(await storage.isAbsent(key))) throw new Error(`The storage still has ${key}`);
  await store.objects.markDestroyed(key);
}

async function ofEach(jobId: string, keys: string[], work: (key: string) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(keys.map(work));
  const failed = results.filter((result) => result.status === 'rejected');
  if (failed.length === 0) return;
  throw new Error(`${failed.length} of ${keys.length} objects of ${jobId} are not destroyed yet`, {
    cause: failed[0]!.reason,
  });
}

/**
 * Asks the storage once more for every object that the job ever had: some were destroyed long ago, and the
 * certificate speaks of all of them. One that is there again is destroyed first.
 */
async function certify(worker: WorkerContext, jobId: string): Promise<void> {
  const { storage, store, evidence } = worker;
  await ofEach(jobId, await store.objects.keysOf(jobId), async (key) => {
    if (await storage.isAbsent(key)) return store.objects.markDestroyed(key, { again: true });
    await destroyObject(worker, key);
  });
  // Fetched before: a transaction that waits for a second connection can wait for ever.
  const signer = await evidence.certificateSigner();
  const sign = (job: DestroyedJob) => signer(certificateOf(job, storage.kind));
  if (await store.certificates.issue(jobId, sign)) worker.logger.info({ job: jobId }, 'deletion certified');
  // A worker took it up, or something was put meanwhile: the next try sees.
  else if (await store.certificates.isDue(jobId)) await store.objects.destroyLater(jobId, 1);
}

/** What is signed for a job whose objects are gone. */
export function certificateOf(job: DestroyedJob, storage: CertificatePayload['storage']): CertificatePayload {
  return {
    id: job.certificateId,
    version: 1,
    job_id: job.jobId,
    account_id: job.accountId,
    objects: job.objects.map((object) => ({
      key: object.key,
      role: object.role,
      version: object.version,
      sha256: object.sha256,
      size_bytes: object.sizeBytes,
      verified_absent_at: object.absentAt.toISOString(),
    })),
    method: 'logical deletion, verified absent',
    storage,
    actor: job.actor,
    deleted_at: job.deletedAt.toISOString(),
    issued_at: job.issuedAt.toISOString(),
    audit: { sequence: job.entry.sequence, hash: job.entry.hash },
  };
}
