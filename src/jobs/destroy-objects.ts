/**
 * Destroys the stored objects that a job no longer needs. An object counts as destroyed only when the storage itself
 * answers "absent". Afterwards a deleted job of the Secure tier gets its certificate.
 */
import type { CertificatePayload } from '../evidence/index.ts';
import type { DestroyedJob } from '../store/index.ts';
import { jobIdOf } from './payload.ts';
import type { WorkerContext } from './worker-context.ts';

/**
 * Destroys the objects of one job. Fails, and is retried, until all are absent. Objects that a worker may still be
 * writing wait until its lease has ended.
 */
export const destroyTask =
  (worker: WorkerContext) =>
  async (payload: unknown): Promise<void> => {
    const jobId = jobIdOf(payload);
    const { keys, busyForS } = await worker.store.objects.pendingDeletion(jobId);
    await forEachKey(jobId, keys, (key) => destroyObject(worker, key));
    if (busyForS > 0) return worker.store.objects.destroyLater(jobId, busyForS + 1);
    if (await worker.store.certificates.isDue(jobId)) await certify(worker, jobId);
  };

async function destroyObject({ storage, store }: WorkerContext, key: string): Promise<void> {
  await storage.destroy(key);
  if (!(await storage.isAbsent(key))) throw new Error(`The storage still has ${key}`);
  await store.objects.markDestroyed(key);
}

async function forEachKey(jobId: string, keys: string[], work: (key: string) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(keys.map(work));
  const failed = results.filter((result) => result.status === 'rejected');
  if (failed.length === 0) return;
  throw new Error(`${failed.length} of ${keys.length} objects of ${jobId} are not destroyed yet`, {
    cause: failed[0]!.reason,
  });
}

/**
 * Issues the certificate. It covers every object that the job ever had, some destroyed long ago, so the storage is asked
 * again for each. An object that is back is destroyed first.
 */
async function certify(worker: WorkerContext, jobId: string): Promise<void> {
  const { storage, store, evidence } = worker;
  await forEachKey(jobId, await store.objects.keysOf(jobId), async (key) => {
    if (await storage.isAbsent(key)) return store.objects.markDestroyed(key, { again: true });
    await destroyObject(worker, key);
  });
  // Fetched before the transaction: one that waits for a second connection can wait for ever.
  const signer = await evidence.certificateSigner();
  const sign = (job: DestroyedJob) => signer(certificateOf(job, storage.kind));
  if (await store.certificates.issue(jobId, sign)) worker.logger.info({ job: jobId }, 'deletion certified');
  // The job or its objects have changed meanwhile: try again.
  else if (await store.certificates.isDue(jobId)) await store.objects.destroyLater(jobId, 1);
}

/** Builds the signed content of a job's certificate. */
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
