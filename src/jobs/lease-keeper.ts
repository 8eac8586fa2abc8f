/** Renews a lease while a step runs and turns its loss into an abort. */
import { type Fence, LeaseLost, type Store } from '../store/index.ts';

export interface LeaseKeeper {
  /** aborted with LeaseLost, or with the reason of `stopping` */
  readonly signal: AbortSignal;
  /** Tells the keeper how another write under the lease went (progress renews it as well). */
  note(held: boolean): void;
  stop(): void;
}

export interface KeepLease {
  leases: Pick<Store['leases'], 'heartbeat'>;
  fence: Fence;
  leaseSeconds: number;
  stopping: AbortSignal;
}

/**
 * Beats at a third of the lease. When the database cannot be reached for a whole lease the work is aborted too:
 * by then another worker may have the job.
 */
export function keepLease({ leases, fence, leaseSeconds, stopping }: KeepLease): LeaseKeeper {
  const lost = new AbortController();
  let renewedAt = performance.now();
  const note = (held: boolean) => {
    if (held) renewedAt = performance.now();
    else lost.abort(new LeaseLost(fence.jobId));
  };
  const beat = async () => {
    try {
      note(await leases.heartbeat(fence, leaseSeconds));
    } catch {
      if (performance.now() - renewedAt > leaseSeconds * 1000) note(false);
    }
  };
  const timer = setInterval(() => void beat(), (leaseSeconds * 1000) / 3);
  return { signal: AbortSignal.any([lost.signal, stopping]), note, stop: () => clearInterval(timer) };
}
