/** What the queries of segments share: the fence of a lease, conditions, and giving up a plan. */
import { and, eq, inArray, isNull, or, sql } from './orm.ts';
import type { Tx } from './database.ts';
import { type Fence, LeaseLost } from './fence.ts';
import { allowsTransition } from './job-states.ts';
import { noLease, noWait } from './leases.ts';
import { dequeueSegments, enqueueDestroy, enqueueStep } from './queue.ts';
import { type DeviceClass, jobs, segments } from './schema.ts';

/** Identifies one worker's lease on one segment. */
export interface SegmentFence extends Fence {
  number: number;
  /** the job's attempt that made the plan: after another plan, a segment has the same numbers of attempts again */
  plan: number;
  /** where its piece goes: no other attempt has the same, not even one of an earlier plan of the video */
  pieceKey: string;
}

/** The next attempt begins at the start of the segment. */
export const idle = { ...noLease, state: 'pending' as const, progress: 0 };

export const isSegment = ({ jobId, number }: Pick<SegmentFence, 'jobId' | 'number'>) => and(eq(segments.jobId, jobId), eq(segments.number, number));

/** The condition that the job's segments are those of this plan. */
export const isPlannedBy = ({ jobId, plan }: Pick<SegmentFence, 'jobId' | 'plan'>) => sql`EXISTS (SELECT FROM jobs WHERE jobs.id = ${jobId} AND jobs.attempt = ${plan})`;

export const held = (fence: SegmentFence) =>
  and(isSegment(fence), eq(segments.attempt, fence.attempt), eq(segments.leaseOwner, fence.owner), isPlannedBy(fence));

/** What a worker makes segments with. */
export interface SegmentMaker {
  deviceClasses: readonly DeviceClass[];
  /** id of its engine */
  engine: string;
}

/** The condition that this worker can make the segment. */
export const isFor = ({ deviceClasses, engine }: SegmentMaker) =>
  and(inArray(segments.deviceClass, [...deviceClasses]), or(isNull(segments.engine), eq(segments.engine, engine)));

/** The condition that the job's segments are wanted. */
export const isWanted = and(eq(jobs.step, 'segments'), allowsTransition('continue'));

/** What a queue row of a segment is made of. */
export const queueRow = { jobId: segments.jobId, number: segments.number, deviceClass: segments.deviceClass, engine: segments.engine, priority: segments.priority };

/** Locks the job of a segment that this worker holds. Throws LeaseLost. */
export async function lockJob(tx: Tx, fence: SegmentFence) {
  const [job] = await tx.select().from(jobs).where(and(eq(jobs.id, fence.jobId), isWanted)).for('no key update');
  const [segment] = job ? await tx.select({ number: segments.number }).from(segments).where(held(fence)).for('no key update') : [];
  if (!job || !segment) throw new LeaseLost(fence.jobId);
  return job;
}

/** When the last lease expires, of these and of plans before. */
function formerLeases(forgotten: readonly { leaseExpiresAt: Date | null }[]) {
  const times = forgotten.flatMap(({ leaseExpiresAt }) => (leaseExpiresAt === null ? [] : [leaseExpiresAt.getTime()]));
  if (times.length === 0) return {};
  const last = new Date(Math.max(...times)).toISOString();
  return { formerLeasesExpireAt: sql`greatest(${jobs.formerLeasesExpireAt}, ${last}::timestamptz)` };
}

/**
 * Of a locked job: forgets its segments and pieces, and enhances the video anew, in one piece or on a device
 * class. Workers that hold segments notice at their next heartbeat. The caller has given up its own lease.
 */
export async function startOver(tx: Tx, jobId: string, how: { inOnePiece: true } | { deviceClass: DeviceClass | null }): Promise<void> {
  await dequeueSegments(tx, jobId);
  const forgotten = await tx.delete(segments).where(eq(segments.jobId, jobId)).returning({ leaseExpiresAt: segments.leaseExpiresAt });
  const [row] = await tx
    .update(jobs)
    .set({ step: 'enhance', segmentPlan: null, etaSeconds: null, failures: 0, unservedSince: null, ...noWait, ...noLease, ...formerLeases(forgotten), ...how })
    .where(eq(jobs.id, jobId))
    .returning({ id: jobs.id, step: jobs.step, deviceClass: jobs.deviceClass });
  await enqueueStep(tx, row!);
  await enqueueDestroy(tx, jobId);
}
