/** Renews a lease while a step runs, and aborts the step when the lease is lost. */
import { LeaseLost } from '../store/index.ts';
import type { Tuning } from './tuning.ts';
import type { WorkerConfig } from './worker-context.ts';

export interface LeaseKeeper {
  /** aborted with LeaseLost, or with the reason of `stopping` */
  readonly signal: AbortSignal;
  /** Reports whether another write under the lease succeeded: writing progress renews the lease too. */
  renewed(held: boolean): void;
  stop(): void;
}

/** The parts of a worker that its leases use. */
interface LeaseContext {
  config: Pick<WorkerConfig, 'leaseSeconds'>;
  tuning: Pick<Tuning, 'heartbeatsPerLease'>;
  stopping: AbortSignal;
}

/** A running step learns by its heartbeats that its job is deleted, so they come at least this often, ms. */
const longestIntervalMs = 5000;

/** ms between two renewals of a lease */
export const heartbeatIntervalMs = (leaseMs: number, heartbeatsPerLease: number): number => Math.min(longestIntervalMs, leaseMs / heartbeatsPerLease);

/**
 * Sends heartbeats; each says whether the lease is still held. The work is also aborted when no heartbeat has succeeded for a
 * whole lease, because the database cannot be reached: by then another worker may have the job.
 */
export function keepLease({ config, tuning, stopping }: LeaseContext, jobId: string, heartbeat: () => Promise<boolean>): LeaseKeeper {
  const leaseMs = config.leaseSeconds * 1000;
  const lost = new AbortController();
  let renewedAt = performance.now();
  let isSending = false;
  const renewed = (held: boolean) => {
    if (held) renewedAt = performance.now();
    else lost.abort(new LeaseLost(jobId));
  };
  const sendHeartbeat = async () => {
    if (isSending) return;
    isSending = true;
    // A failed heartbeat does not mean that the lease is lost. Only elapsed time does.
    await heartbeat().then(renewed, () => {});
    isSending = false;
  };
  const tick = () => {
    // A heartbeat on a lost connection may stay pending for long, so every tick reads the clock.
    if (performance.now() - renewedAt >= leaseMs) renewed(false);
    else void sendHeartbeat();
  };
  const timer = setInterval(tick, heartbeatIntervalMs(leaseMs, tuning.heartbeatsPerLease));
  return { signal: AbortSignal.any([lost.signal, stopping]), renewed, stop: () => clearInterval(timer) };
}
