/** Renews a lease while a step runs, and aborts the step when the lease is lost. */
import { type Fence, LeaseLost, type Store } from '../store/index.ts';

export interface LeaseKeeper {
  /** aborted with LeaseLost, or with the reason of `stopping` */
  readonly signal: AbortSignal;
  /** Reports whether another write under the lease succeeded: writing progress renews the lease too. */
  renewed(held: boolean): void;
  stop(): void;
}

export interface KeepLease {
  leases: Pick<Store['leases'], 'heartbeat'>;
  fence: Fence;
  leaseSeconds: number;
  heartbeatsPerLease: number;
  stopping: AbortSignal;
}

/** A running step learns by its heartbeats that its job is deleted, so they come at least this often, ms. */
const longestIntervalMs = 5000;

/** ms between two renewals of a lease */
export const heartbeatIntervalMs = (leaseMs: number, heartbeatsPerLease: number): number => Math.min(longestIntervalMs, leaseMs / heartbeatsPerLease);

/**
 * Sends heartbeats. The work is also aborted when no heartbeat has succeeded for a whole lease,
 * because the database cannot be reached: by then another worker may have the job.
 */
export function keepLease({ leases, fence, leaseSeconds, heartbeatsPerLease, stopping }: KeepLease): LeaseKeeper {
  const lost = new AbortController();
  let renewedAt = performance.now();
  let isSending = false;
  const renewed = (held: boolean) => {
    if (held) renewedAt = performance.now();
    else lost.abort(new LeaseLost(fence.jobId));
  };
  const sendHeartbeat = async () => {
    if (isSending) return;
    isSending = true;
    // A failed heartbeat does not mean that the lease is lost. Only elapsed time does.
    await leases.heartbeat(fence, leaseSeconds).then(renewed, () => {});
    isSending = false;
  };
  const tick = () => {
    // A heartbeat on a lost connection may stay pending for long, so every tick reads the clock.
    if (performance.now() - renewedAt >= leaseSeconds * 1000) renewed(false);
    else void sendHeartbeat();
  };
  const timer = setInterval(tick, heartbeatIntervalMs(leaseSeconds * 1000, heartbeatsPerLease));
  return { signal: AbortSignal.any([lost.signal, stopping]), renewed, stop: () => clearInterval(timer) };
}
