/** Reads the payloads of our queue rows. */
import { isId } from '../domain/ids.ts';

/** Returns the id of the job or preview in a payload. Throws when there is none: this version did not write the row. */
export function jobIdOf(payload: unknown): string {
  const id = typeof payload === 'object' && payload !== null && 'jobId' in payload ? payload.jobId : undefined;
  if (typeof id !== 'string' || !(isId('job', id) || isId('prv', id))) throw new Error('The queue row names no job');
  return id;
}

/** Returns job and number of the segment in a payload. Throws when there is none. */
export function segmentOf(payload: unknown): { jobId: string; number: number } {
  const jobId = jobIdOf(payload);
  const { segment } = payload as { segment?: unknown };
  if (!Number.isSafeInteger(segment) || (segment as number) < 0) throw new Error('The queue row names no segment');
  return { jobId, number: segment as number };
}

/** Returns the id of the upload in a payload. Throws when there is none. */
export function uploadIdOf(payload: unknown): string {
  const id = typeof payload === 'object' && payload !== null && 'uploadId' in payload ? payload.uploadId : undefined;
  if (typeof id !== 'string' || !isId('upl', id)) throw new Error('The queue row names no upload');
  return id;
}

/** Returns the id of the webhook delivery in a payload. Throws when there is none. */
export function deliveryIdOf(payload: unknown): string {
  const id =
    typeof payload === 'object' && payload !== null && 'deliveryId' in payload ? payload.deliveryId : undefined;
  if (typeof id !== 'string' || !isId('evt', id)) throw new Error('The queue row names no delivery');
  return id;
}
