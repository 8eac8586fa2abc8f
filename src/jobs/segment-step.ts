/** Runs one segment of a job: enhances it in a media child, checks the result (its piece), and stores it. */
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ReelmendError } from '../domain/errors.ts';
import { expectedResultBytes } from '../domain/output-size.ts';
import { isDeviceFault, isNoEngine, isSegmentMismatch } from '../media/failures.ts';
import type { ByteSource, EnhanceResult } from '../media/types.ts';
import { openToChild } from '../media/child-user.ts';
import { rangesOf } from '../storage/ranges.ts';
import type { SegmentLease } from '../store/index.ts';
import { agedSince, type Attempt, carryOut, progressWriter, runAttempt } from './attempt.ts';
import { classifyFailure } from './classify-failure.ts';
import { type DiskNeed, withDiskReservation } from './disk-reservation.ts';
import { appliedEnhancements, outputName } from './enhance-step.ts';
import { isInfrastructureFault } from './infrastructure-fault.ts';
import { keepLease } from './lease-keeper.ts';
import { deviceOfClass, mediaOptions } from './media-options.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import { storageRetryDelaysMs, storeFile } from './store-file.ts';
import { segmentsAtOnce } from './plan-segments.ts';
import { withScratch } from './scratch.ts';
import { inStepSpan } from './step-span.ts';
import type { WorkerContext } from './worker-context.ts';
import type { StepOutcome } from './worker-metrics.ts';

type SegmentAttempt = Attempt<SegmentLease>;

interface SegmentContext extends SegmentAttempt {
  scratch: string;
}

/** Runs one segment, unless it is done, another worker has it, or it is for a device class or an engine that this worker does not have. A failure of the segment is not thrown: the rows of segment and job record it. */
export async function runSegment(worker: WorkerContext, { jobId, number }: { jobId: string; number: number }): Promise<void> {
  const { segments } = worker.store;
  const { leaseSeconds, dataDir } = worker.config;
  const how = { owner: worker.id, deviceClasses: worker.deviceClasses, engine: worker.engine, leaseSeconds };
  const lease = await retryOnDatabaseFault(worker.stopping, (isRepeated) => segments.acquire(jobId, number, { ...how, isRepeated }));
  if (!lease) return;
  const { fence, traceparent } = lease;
  const logger = worker.logger.child({ job: jobId, segment: number, attempt: fence.attempt });
  const keeper = keepLease(worker, jobId, () => segments.heartbeat(fence, leaseSeconds));
  const attempt = { worker, lease, acquiredAt: performance.now(), keeper, logger };
  await runAttempt({
    ...attempt,
    step: 'segments',
    async work() {
      await inStepSpan({ job: jobId, step: 'segment', attempt: fence.attempt, traceparent }, () =>
        withScratch(dataDir, { ...fence, jobId: `${jobId}-${fence.plan}-${number}` }, (scratch) => reserveAndMakePiece({ ...attempt, scratch })),
      );
      logger.info('segment done');
    },
    recordFailure: (error) => recordFailure(attempt, error),
    interrupted: () => logger.info('segment returned to the queue'),
    release: () => segments.release(fence),
  });
}

/** Disk space for this segment's share of the result. The source needs none: only ranges of it are fetched, into memory. */
function needsOf({ config }: WorkerContext, { job, span }: SegmentLease): DiskNeed[] {
  const share = Math.min(1, (span.endSeconds - span.startSeconds) / Math.max(1, job.durationSeconds));
  const pieceBytes = Math.ceil(expectedResultBytes(job, config.encoder.crf) * share);
  return [
    { folder: 'scratch', bytes: pieceBytes },
    { folder: 'storage', bytes: pieceBytes },
  ];
}

function reserveAndMakePiece(context: SegmentContext): Promise<void> {
  const { worker, lease } = context;
  return withDiskReservation(worker, { jobId: lease.job.id, needs: needsOf(worker, lease) }, () => makePiece(context));
}

async function makePiece(context: SegmentContext): Promise<void> {
  const { worker, lease, keeper, scratch } = context;
  const { fence } = lease;
  const { signal } = keeper;
  signal.throwIfAborted();
  const outputDir = join(scratch, 'output');
  await mkdir(outputDir);
  const result = await enhanceSegment(context, await openOriginal(worker, lease), outputDir);
  await checkPiece(context, join(outputDir, outputName), result);
  worker.metrics.enhanced(result);
  signal.throwIfAborted();
  const key = await retryOnDatabaseFault(signal, () => worker.store.segments.registerPendingPiece(fence));
  const stored = await storeFile(worker.storage, { key, path: join(outputDir, outputName) }, signal);
  const piece = { stored, result: { applied: appliedEnhancements(result), device: result.device }, atOnce: segmentsAtOnce(worker) };
  await retryOnDatabaseFault(signal, () => worker.store.segments.finish(fence, piece));
}

/** The stored original as a source of ranges, so that only the parts for this segment are fetched. */
async function openOriginal({ storage }: WorkerContext, { originalKey: key }: SegmentLease): Promise<ByteSource> {
  const gone = () => new ReelmendError('processing_failed', 'The stored original is gone.');
  const found = key === null ? null : await storage.stat(key);
  if (key === null || found === null) throw gone();
  return rangesOf(storage, { key, sizeBytes: found.size, gone, retryDelaysMs: storageRetryDelaysMs });
}

function enhanceSegment(context: SegmentContext, input: ByteSource, outputDir: string): Promise<EnhanceResult> {
  const { worker, lease, keeper } = context;
  const { job, plan, fence, deviceClass } = lease;
  const device = deviceOfClass(worker.config, deviceClass);
  const progress = progressWriter(keeper, (fraction: number) => worker.store.segments.progress(fence, fraction, worker.config.leaseSeconds));
  return worker.media.enhance({
    input,
    outputDir,
    outputName,
    options: { ...mediaOptions(worker, job), device, piece: { plan, index: fence.number } },
    timeoutMs: timeoutOf(context),
    signal: keeper.signal,
    onProgress: ({ fraction }) => progress(fraction),
  });
}

/** The piece differs from the plan, although the engine reported success. */
class UnexpectedPiece extends Error {
  override readonly name = 'UnexpectedPiece';
}

/** More threads do not make a decoder faster. */
const maxDecodingThreads = 8;

/**
 * Throws UnexpectedPiece unless the piece has the planned length and number of frames, and all its frames can be decoded. The check
 * takes a third of the CPU time of encoding: 16 ms per frame in 1080p, 65 ms in 4K (x264 veryfast, CRF 18, one core of an AMD EPYC).
 */
async function checkPiece(context: SegmentContext, path: string, result: EnhanceResult): Promise<void> {
  const { worker, lease, keeper } = context;
  const { span, isLast } = lease;
  const toleranceS = 0.002;
  const decodingThreads = Math.min(maxDecodingThreads, worker.config.threads || availableParallelism());
  await openToChild(path);
  const probe = await worker.media
    .probe({ source: { path }, walkPackets: true, decodingThreads, timeoutMs: timeoutOf(context), signal: keeper.signal })
    .catch((error: unknown) => {
      const isDamaged = error instanceof ReelmendError && error.code === 'unreadable_video';
      throw isDamaged ? new UnexpectedPiece('The piece cannot be decoded', { cause: error }) : error;
    });
  const expectedS = isLast ? result.durationS : span.endSeconds - span.startSeconds;
  const hasLength = [result.durationS, probe.durationS].every((s) => Math.abs(s - expectedS) <= toleranceS);
  const hasFrames = [result.frames, probe.decodedFrames].every((frames) => frames === span.frames);
  if (hasLength && hasFrames && probe.width === result.width && probe.height === result.height) return;
  throw new UnexpectedPiece(`The piece has ${probe.decodedFrames} frames and ${probe.durationS} s instead of ${span.frames} and ${expectedS}`);
}

/** Timeout of enhancing a segment, and also of decoding its piece, ms. */
function timeoutOf({ worker, lease: { span } }: SegmentContext): number {
  const { base, perSecond } = worker.tuning.enhanceTimeoutMs;
  return Math.ceil(base + perSecond * (span.endSeconds - span.startSeconds));
}

/** Retries the segment, has the video enhanced in one piece or planned again for the other device class, or fails the job. Throws LeaseLost. */
async function recordFailure(attempt: SegmentAttempt, error: unknown): Promise<StepOutcome> {
  const { worker, lease, acquiredAt, logger } = attempt;
  const { signal } = attempt.keeper;
  const { segments } = worker.store;
  const { fence, failures } = lease;
  const enhanceInOnePiece = async () => {
    logger.warn({ err: error }, 'the segment is not what was planned; the video is enhanced in one piece');
    await retryOnDatabaseFault(signal, () => segments.giveUp(fence));
    return 'retried' as const;
  };
  if (isSegmentMismatch(error)) return enhanceInOnePiece();
  const waitS = agedSince(acquiredAt, lease.diskWaitForS);
  const faults = { isInfrastructureFault: await isInfrastructureFault(worker, error), infrastructureFaultForS: agedSince(acquiredAt, lease.infrastructureFaultForS) };
  // Another GPU may succeed. So a fault of a GPU is retried, and the video is planned again for CPUs only after all attempts.
  const isGpuFault = lease.deviceClass === 'cuda' && (isDeviceFault(error) || isNoEngine(error));
  const decision = classifyFailure(error, { failures, diskFullForS: waitS, diskWaitForS: waitS, isGpuFault, isSegment: true, ...faults }, worker.tuning);
  if (decision.kind === 'fail') {
    // At every attempt, the piece differed from the plan.
    if (error instanceof UnexpectedPiece) return enhanceInOnePiece();
    if (await retryOnDatabaseFault(signal, () => segments.moveToOtherClass(fence))) {
      logger.warn({ err: error, deviceClass: lease.deviceClass }, 'the segment failed on this device class; the video is enhanced anew on the other');
      worker.metrics.jobReplanned('failed');
      return 'retried';
    }
  }
  return carryOut(attempt, error, decision, segments);
}
