/**
 * Destroys the stored objects that a job no longer needs, and the files of uploads. An object counts as destroyed only when
 * the storage itself answers "absent". Afterwards a deleted job of the Secure tier gets its certificate.
 */
import type { CertificatePayload } from '../evidence/index.ts';
import type { Storage } from '../storage/types.ts';
import type { DestroyedJob } from '../store/index.ts';
import { jobIdOf, uploadIdOf } from './payload.ts';
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
    await worker.store.segments.forget(jobId);
    if (!(await worker.store.certificates.isDue(jobId))) return;
    const upload = await worker.store.uploads.ofJob(jobId);
    if (upload === null || upload.isDestroyed || (await destroyUpload(worker, upload.id))) return certify(worker, jobId);
    // Another job has to read the upload first.
    await worker.store.objects.destroyLater(jobId, worker.tuning.uploadNeededRetryS);
  };

/** Destroys the file of an upload that is deleted or has failed. It waits for jobs that have to read it. */
export const destroyUploadTask =
  (worker: WorkerContext) =>
  async (payload: unknown): Promise<void> => {
    const uploadId = uploadIdOf(payload);
    if (await destroyUpload(worker, uploadId)) return;
    await worker.store.uploads.destroyLater(uploadId, worker.tuning.uploadNeededRetryS);
  };

/** False when an accepted job still has to read the file. */
async function destroyUpload({ storage, store }: WorkerContext, uploadId: string): Promise<boolean> {
  const pending = await store.uploads.pendingDeletion(uploadId);
  if (pending === null) return true;
  if (pending.isNeeded) return false;
  await destroyFile(storage, pending.key);
  await store.uploads.markDestroyed(uploadId);
  return true;
}

/** Throws if the storage does not answer "absent" afterwards. */
async function destroyFile(storage: Pick<Storage, 'destroy' | 'isAbsent'>, key: string): Promise<void> {
  await storage.destroy(key);
  if (!(await storage.isAbsent(key))) throw new Error(`The storage still has ${key}`);
}

async function destroyObject({ storage, store }: WorkerContext, key: string): Promise<void> {
  await destroyFile(storage, key);
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
  await confirmUploadDestroyed(worker, jobId);
  // Fetched before the transaction: one that waits for a second connection can wait for ever.
  const signer = await evidence.certificateSigner();
  const sign = (job: DestroyedJob) => signer(certificateOf(job, storage.kind));
  if (await store.certificates.issue(jobId, sign)) worker.logger.info({ job: jobId }, 'deletion certified');
  // The job or its objects have changed meanwhile: try again.
  else if (await store.certificates.isDue(jobId)) await store.objects.destroyLater(jobId, 1);
}

/** The same for the upload of the job. */
async function confirmUploadDestroyed({ storage, store }: WorkerContext, jobId: string): Promise<void> {
  const upload = await store.uploads.ofJob(jobId);
  if (upload === null) return;
  if (!(await storage.isAbsent(upload.key))) await destroyFile(storage, upload.key);
  await store.uploads.confirmDestroyed(upload.id);
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
