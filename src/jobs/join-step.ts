/** Last step of a job in segments: puts the pieces together, with everything but the pictures from the original. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isSegmentMismatch } from '../media/failures.ts';
import { openToChild } from '../media/child-user.ts';
import type { Piece } from '../store/index.ts';
import { appliedByAll } from './applied-by-all.ts';
import { copyTimeoutMs } from './copy-timeout.ts';
import { bytesOf } from './disk-needs.ts';
import { type DiskNeed, withDiskReservation } from './disk-reservation.ts';
import { outputName } from './enhance-step.ts';
import { limitsOf } from './media-options.ts';
import { assertSameDuration } from './ingest-step.ts';
import { fetchOriginal, finishJob } from './original-to-result.ts';
import { segmentsAtOnce } from './plan-segments.ts';
import { runStep, type StepContext } from './step.ts';
import { retryOnDatabaseFault } from './retry-on-database-fault.ts';
import type { WorkerContext } from './worker-context.ts';

export const joinJob = (worker: WorkerContext, jobId: string): Promise<void> => runStep(worker, 'join', jobId, joinReserved);

/** On the scratch disk: the source, the pieces, and the result. In the storage the pieces are already. */
function joinReserved(context: StepContext): Promise<void> {
  const { worker, job } = context;
  const { source, results } = bytesOf(job, { crf: worker.config.encoder.crf, inSegments: true });
  const needs: DiskNeed[] = [
    { folder: 'scratch', bytes: source + results },
    { folder: 'storage', bytes: results / 2 },
  ];
  return withDiskReservation(worker, { jobId: job.id, needs }, () => joinPieces(context));
}

async function joinPieces(context: StepContext): Promise<void> {
  const { worker, job, fence, signal, logger } = context;
  const { inputPath, outputDir } = await fetchOriginal(context);
  const pieces = await worker.store.segments.pieces(job.id);
  const lost = await fetchPieces(context, pieces);
  if (lost.length > 0) {
    logger.warn({ segments: lost }, 'pieces are missing in the storage or damaged there');
    return makeAgain(context, lost);
  }
  const result = await joinFiles(context, inputPath, outputDir, pieces);
  if (result === null) return retryOnDatabaseFault(signal, () => worker.store.segments.giveUpJoin(fence));
  assertSameDuration(job, result.durationS);
  signal.throwIfAborted();
  await finishJob(context, join(outputDir, outputName), { ...result, applied: appliedByAll(pieces.map((piece) => piece.result.applied)) });
}

/** A storage that loses the same piece again and again would otherwise have it made for ever. */
async function makeAgain({ worker, job, fence, signal, logger }: StepContext, lost: number[]): Promise<void> {
  const pieces = { numbers: lost, maxFailures: worker.tuning.retryDelaysS.length + 1, atOnce: segmentsAtOnce(worker) };
  if (await retryOnDatabaseFault(signal, () => worker.store.segments.remake(fence, pieces))) return logger.warn({ segments: lost }, 'they are made again');
  const code = 'processing_failed';
  logger.warn({ segments: lost, code }, 'job failed');
  worker.metrics.jobFailed(job, code);
}

const folderOf = (scratch: string) => join(scratch, 'pieces');
const nameOf = ({ number }: Piece) => `${number}.mp4`;

/** Fetches the pieces; returns the numbers of those that the storage does not have any more as they were stored. */
async function fetchPieces({ worker, scratch, signal }: StepContext, pieces: Piece[]): Promise<number[]> {
  await mkdir(folderOf(scratch));
  const lost: number[] = [];
  for (const piece of pieces) {
    const path = join(folderOf(scratch), nameOf(piece));
    const found = await worker.storage.getFile(piece.key, path, signal);
    if (!found || (await sha256Of(path, signal)) !== piece.sha256) lost.push(piece.number);
    else await openToChild(path);
  }
  return lost;
}

async function sha256Of(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest('hex');
}

/** null when the pieces do not fit together. */
async function joinFiles(context: StepContext, sourcePath: string, outputDir: string, pieces: Piece[]) {
  const { worker, job, segmentPlan, scratch, signal, logger } = context;
  const { source, results } = bytesOf(job, { crf: worker.config.encoder.crf, inSegments: true });
  try {
    return await worker.media.join({
      sourcePath,
      plan: segmentPlan ?? '',
      piecesDir: folderOf(scratch),
      pieces: pieces.map(nameOf),
      outputDir,
      outputName,
      limits: limitsOf(worker, job),
      timeoutMs: copyTimeoutMs(context, source + results),
      signal,
    });
  } catch (error) {
    if (!isSegmentMismatch(error)) throw error;
    logger.warn({ err: error }, 'the pieces do not fit together; the video is enhanced in one piece');
    return null;
  }
}
