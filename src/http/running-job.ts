/** Additional fields of a running job: its segments, and a link to the earliest finished one. */
import type { JobSegment, PartialOutput } from '../contract/types.gen.ts';
import type { JobRecord } from '../domain/job.ts';
import { linkValidityS } from '../domain/limits.ts';
import { segmentFileName } from '../domain/uploads.ts';
import type { JobSegment as SegmentRecord, Principal } from '../store/types.ts';
import { actorOf } from './actor.ts';
import type { HttpDeps } from './deps.ts';
import { limitsOf, rounded } from './serialize.ts';

export function serializeSegment({ startSeconds, endSeconds, state, progress }: SegmentRecord): JobSegment {
  const status = state === 'pending' ? 'waiting' : state;
  return { start_seconds: rounded(startSeconds), end_seconds: rounded(endSeconds), status, progress: rounded(progress) };
}

/** Empty for a job that is not running. `isRead`: the response reaches the client; HEAD requests get no link. */
export async function runningParts(
  deps: HttpDeps,
  { job, principal, isRead }: { job: JobRecord; principal: Principal; isRead: boolean },
): Promise<{ partial_output?: PartialOutput | null; segments?: JobSegment[] }> {
  if (job.status !== 'running') return {};
  const segments = job.mode === 'test' ? [] : await deps.store.jobs.segments(job.id);
  const first = segments.find(({ key }) => key !== null);
  const partialOutput = first === undefined || !isRead ? null : await linkPartialOutput(deps, { job, principal, segment: first });
  return { partial_output: partialOutput, segments: segments.map(serializeSegment) };
}

interface PartialOutputQuery {
  job: JobRecord;
  principal: Principal;
  segment: SegmentRecord;
}

/** Recorded before the response. Clients poll: further links of the same key to the same piece are no entries for an hour. */
async function linkPartialOutput(deps: HttpDeps, { job, principal, segment }: PartialOutputQuery): Promise<PartialOutput> {
  const { store, storage } = deps;
  const { number, key, startSeconds, endSeconds } = segment;
  const data = { segment: number, ...actorOf(principal) };
  await store.audit.record({ accountId: job.accountId, kind: 'result.accessed', jobId: job.id, data });
  const expiresInS = linkValidityS(limitsOf(deps));
  const { url, expiresInS: validS } = await storage.link(key!, { fileName: segmentFileName(job), contentType: 'video/mp4', expiresInS });
  return { url, expires_in: validS, start_seconds: rounded(startSeconds), end_seconds: rounded(endSeconds) };
}
