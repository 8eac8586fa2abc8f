/** The payload of our queue rows. */
import { isId } from '../domain/ids.ts';

/** The job that a queue row names. Throws for rows that this version did not write. */
export function jobIdOf(payload: unknown): string {
  const id = typeof payload === 'object' && payload !== null && 'jobId' in payload ? payload.jobId : undefined;
  if (typeof id !== 'string' || !isId('job', id)) throw new Error('The queue row names no job');
  return id;
}

/** The webhook delivery that a queue row names. Throws for rows that this version did not write. */
export function deliveryIdOf(payload: unknown): string {
  const id =
    typeof payload === 'object' && payload !== null && 'deliveryId' in payload ? payload.deliveryId : undefined;
  if (typeof id !== 'string' || !isId('evt', id)) throw new Error('The queue row names no delivery');
  return id;
}
