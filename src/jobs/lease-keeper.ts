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
 * Beats at a third of the lease. When no beat has succeeded for a whole lease, because the database cannot be
 * reached, the work is aborted too: by then another worker may have the job.
 */
export function keepLease({ leases, fence, leaseSeconds, stopping }: KeepLease): LeaseKeeper {
  const lost = new AbortController();
  let renewedAt = performance.now();
  let beating = false;
  const note = (held: boolean) => {
    if (held) renewedAt = performance.now();
    else lost.abort(new LeaseLost(fence.jobId));
  };
  const beat = async () => {
    if (beating) return;
    beating = true;
    // A beat that fails says nothing of the lease; only the time does.
    await leases.heartbeat(fence, leaseSeconds).then(note, () => {});
    beating = false;
  };
  const tick = () => {
    // A lost connection may leave a beat pending for long, hence the clock is read at every tick.
    if (performance.now() - renewedAt >= leaseSeconds * 1000) note(false);
    else void beat();
  };
  const timer = setInterval(tick, (leaseSeconds * 1000) / 3);
  return { signal: AbortSignal.any([lost.signal, stopping]), note, stop: () => clearInterval(timer) };
}
