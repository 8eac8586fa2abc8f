/** Deletes a job or a preview. The response has the certificate if it is issued soon. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobDeletion } from '../contract/types.gen.ts';
import type { ReelmendError } from '../domain/errors.ts';
import type { Principal } from '../store/types.ts';
import { actorOf } from './actor.ts';
import type { HttpDeps } from './deps.ts';

const defaultCertificateWaitMs = 3000;
const firstPollMs = 25;
const longestPollMs = 400;

interface DeletionRequest {
  principal: Principal;
  id: string;
  /** aborted when the client disconnects */
  signal: AbortSignal;
  /** creates the error for an id that the principal's account does not have in its mode */
  notFound: () => ReelmendError;
}

export async function deleteJob(deps: HttpDeps, request: DeletionRequest): Promise<JobDeletion> {
  const { principal, id, notFound } = request;
  const deletion = await deps.store.jobs.delete(principal.account.id, principal.mode, id, actorOf(principal));
  if (deletion === null) throw notFound();
  const certificate = await issuedCertificate(deps, request);
  return { id, deleted: true, deleted_at: deletion.deletedAt.toISOString(), refunded_credits: deletion.refundedCredits, certificate };
}

/** Null for Standard jobs, and if the storage does not confirm in time. Never rejects: the deletion has already happened. */
async function issuedCertificate({ store, logger, options }: HttpDeps, { principal, id, signal }: DeletionRequest): Promise<string | null> {
  if (principal.tier !== 'secure') return null;
  const end = performance.now() + (options?.certificateWaitMs ?? defaultCertificateWaitMs);
  try {
    for (let pause = firstPollMs; ; pause = Math.min(pause * 2, longestPollMs)) {
      const found = await store.certificates.get(principal.account.id, principal.mode, id);
      if (found?.state === 'issued') return found.jws;
      if (found === null || performance.now() + pause > end) return null;
      await sleep(pause, undefined, { signal });
    }
  } catch (err) {
    if (!signal.aborted) logger.error({ err, job_id: id }, 'the certificate of a deleted job could not be read');
    return null;
  }
}
