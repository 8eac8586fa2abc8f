/** Step 1: fetch the source through the guarded client, measure it again, put it into the storage. */
import { join } from 'node:path';
import { FrameliftError } from '../domain/errors.ts';
import {
  assertDurationAllowed,
  assertSizeAllowed,
  maxDurationS,
  maxFrameRate,
  maxSourceBytes,
  sameDuration,
} from '../domain/limits.ts';
import { jobIdOf } from './payload.ts';
import { withRoom } from './room.ts';
import { runStep, type StepContext } from './step.ts';
import type { WorkerContext } from './types.ts';
import { sourceFacts } from '../media/facts.ts';

export const ingestTask = (worker: WorkerContext) => (payload: unknown) =>
  runStep(worker, 'ingest', jobIdOf(payload), ingest);

function ingest(context: StepContext): Promise<void> {
  const bytes = context.job.source?.size_bytes ?? 0;
  return withRoom(context.worker, [{ folder: 'scratch', bytes }, { folder: 'storage', bytes }], () => download(context));
}

async function download({ worker, job, fence, scratch, signal }: StepContext): Promise<void> {
  const path = join(scratch, 'source');
  const received = await worker.net.download(job.videoUrl, path, { maxBytes: maxSourceBytes, signal });
  assertSizeAllowed(received.bytes);
  const probe = await worker.media.probe({
    source: { path },
    limits: { maxDurationS, maxFrameRate },
    walkPackets: true,
    timeoutMs: worker.tuning.probeTimeoutMs,
    signal,
  });
  assertDurationAllowed(probe.durationS);
  assertSameSource(probe.durationS, job.source?.duration ?? job.durationSeconds);
  signal.throwIfAborted();
  const key = await worker.store.objects.announce(fence, 'original');
  const stored = await worker.storage.putFile(key, path, { contentType: 'application/octet-stream', signal });
  if (stored.sha256 !== received.sha256) throw new Error('The stored original differs from the downloaded one');
  await worker.store.leases.ingested(fence, stored, sourceFacts(probe));
}

/** Throws FrameliftError `source_changed` when a measurement is off the one that was billed. */
export function assertSameSource(measuredS: number, billedS: number): void {
  if (sameDuration(measuredS, billedS)) return;
  throw new FrameliftError(
    'source_changed',
    `The video lasts ${measuredS.toFixed(3)} s; ${billedS.toFixed(3)} s were measured when the job was created.`,
  );
}
