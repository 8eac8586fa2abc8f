/** Certificates of jobs that were just deleted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';

const defaultCertificateWaitMs = 3000;
const firstPollMs = 25;
const longestPollMs = 400;

/**
 * Waits for the certificate of a job that was just deleted. Returns null for Standard jobs, and if the storage does not
 * confirm in time. Never rejects: the deletion has already happened.
 */
export async function issuedCertificate(
  { store, logger, options }: HttpDeps,
  { principal, jobId, signal }: { principal: Principal; jobId: string; signal: AbortSignal },
): Promise<string | null> {
  if (principal.tier !== 'secure') return null;
  const end = performance.now() + (options?.certificateWaitMs ?? defaultCertificateWaitMs);
  try {
    for (let pause = firstPollMs; ; pause = Math.min(pause * 2, longestPollMs)) {
      const found = await store.certificates.get(principal.account.id, principal.mode, jobId);
      if (found?.state === 'issued') return found.jws;
      if (found === null || performance.now() + pause > end) return null;
      await sleep(pause, undefined, { signal });
    }
  } catch (err) {
    if (!signal.aborted) logger.error({ err, job_id: jobId }, 'the certificate of a deleted job could not be read');
    return null;
  }
}
