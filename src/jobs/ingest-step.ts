/** Step 1 of a job: downloads the source through the guarded client, or reads the upload, measures it again and stores it. */
import { join } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import {
  assertDurationAllowed,
  assertSizeAllowed,
  changeOfSource,
  defaultVideoLimits,
  engineLimits,
  limitFactors,
  sameDuration,
} from '../domain/limits.ts';
import { type JobRecord, type MeasuredSource, videoSeconds } from '../domain/job.ts';
import { jobIdOf } from './payload.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import { withDownloadReservation } from './disk-reservation.ts';
import { runStep, type StepContext } from './step.ts';
import { storeFile } from './store-file.ts';
import type { WorkerContext } from './worker-context.ts';
import { sourceFacts } from '../media/facts.ts';
import { openToChild } from '../media/child-user.ts';

export const ingestTask = (worker: WorkerContext) => (payload: unknown) =>
  runStep(worker, 'ingest', jobIdOf(payload), ingest);

const ingest = (context: StepContext): Promise<void> =>
  withDownloadReservation(context.worker, context.job, () => download(context));

async function download(context: StepContext): Promise<void> {
  const { worker, job, fence, scratch, signal } = context;
  const { limits = defaultVideoLimits } = worker.config;
  const growth = limitFactors(limits);
  const path = join(scratch, 'source');
  const received = await (job.uploadId === null ? downloadUrl(context, path) : readUpload(context, job.uploadId, path));
  assertSizeAllowed(received.bytes, limits);
  await openToChild(path);
  const probe = await worker.media.probe({
    source: { path },
    limits: engineLimits(limits),
    walkPackets: true,
    // It reads all packets.
    timeoutMs: worker.tuning.probeTimeoutMs * Math.max(growth.duration, growth.size),
    signal,
  });
  assertDurationAllowed(probe.durationS, limits);
  assertSameDuration(job, probe.durationS);
  assertSameFacts(job.source, { ...sourceFacts(probe), ...(received.etag === null ? {} : { etag: received.etag }) });
  signal.throwIfAborted();
  const key = await retryOnDatabaseFault(signal, () => worker.store.objects.registerPendingObject(fence, 'original'));
  const stored = await storeFile(worker.storage, { key, path, contentType: 'application/octet-stream' }, signal);
  if (stored.sha256 !== received.sha256) throw new Error('The stored original differs from the downloaded one');
  await retryOnDatabaseFault(signal, () => worker.store.leases.ingested(fence, stored, sourceFacts(probe)));
}

interface Received {
  bytes: number;
  /** lower-case hex; of the customer's file */
  sha256: string;
  /** the strong ETag of the customer's server; null without one */
  etag: string | null;
}

function downloadUrl({ worker, job, signal }: StepContext, path: string): Promise<Received> {
  const { limits = defaultVideoLimits } = worker.config;
  if (job.videoUrl === null) throw new Error(`Job ${job.id} has neither a URL nor an upload`);
  return worker.net.download(job.videoUrl, path, { maxBytes: limits.bytes, signal });
}

/** The upload was verified before; what is stored of it for the job is compared with its checksum once more. */
async function readUpload({ worker, signal }: StepContext, uploadId: string, path: string): Promise<Received> {
  const file = await worker.store.uploads.file(uploadId);
  const found = file !== null && (await worker.storage.getFile(file.key, path, signal));
  if (!found) throw new ReelmendError('processing_failed', 'The uploaded file is gone.');
  return { bytes: file.sizeBytes, sha256: file.sha256, etag: null };
}

/** Throws ReelmendError `source_changed` when the file differs from the one that was measured at creation. */
function assertSameFacts(before: MeasuredSource | null, now: MeasuredSource): void {
  const change = before === null ? null : changeOfSource(before, now);
  if (change !== null) throw new ReelmendError('source_changed', `The video is not the one that was measured: ${change}.`);
}

/** Throws ReelmendError `source_changed` when the video, or its result, has another duration than the job. */
export function assertSameDuration(job: JobRecord, durationS: number): void {
  const expectedS = videoSeconds(job);
  if (sameDuration(durationS, expectedS)) return;
  throw new ReelmendError(
    'source_changed',
    `The video lasts ${durationS.toFixed(3)} s; ${expectedS.toFixed(3)} s were measured when the job was created.`,
  );
}
