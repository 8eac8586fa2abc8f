/**
 * Whether the storage answers this worker. After a fault of the storage the worker takes no work that needs it, until it answers again.
 * It is asked at intervals, too: monitoring must not learn from the first job in the morning that it went away at night.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { orAfter } from '../domain/or-after.ts';
import { isStorageFault } from '../storage/faults.ts';
import type { Storage } from '../storage/types.ts';
import type { WorkerMetrics } from './worker-metrics.ts';
import { NotFetching } from './not-fetching.ts';
import type { Tuning } from './tuning.ts';

export interface StorageHealthOptions {
  storage: Pick<Storage, 'stat'>;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'storageUp' | 'storageFault'>;
  tuning: Tuning['storageHealth'];
  /** aborted when the worker stops */
  stopping: AbortSignal;
}

export class StorageDown extends NotFetching {
  override readonly name = 'StorageDown';
}

/** No object has this key. */
const probeKey = 'probe';

export class StorageHealth {
  readonly #options: StorageHealthOptions;
  #downSince: number | undefined;
  /** pauses since a step last succeeded: a storage that answers the probe and refuses all else is asked ever more rarely */
  #pauses = 0;

  constructor(options: StorageHealthOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#downSince === undefined;
  }

  /** Throws StorageDown while the storage is down. */
  assertUp(): void {
    if (!this.isUp) throw new StorageDown('The storage does not answer this worker');
  }

  /** A step has failed by a fault of the storage. */
  failed(error: unknown): void {
    this.#options.metrics.storageFault();
    this.#lost(error);
  }

  /** Asks the storage at intervals until the worker stops. */
  async watch(): Promise<void> {
    const { tuning, stopping } = this.#options;
    for (;;) {
      await sleep(tuning.checkMs, undefined, { signal: stopping });
      const fault = this.isUp ? await this.#probe() : null;
      if (fault === null || !this.isUp) continue;
      this.#pauses = 0;
      this.#lost(fault);
    }
  }

  #lost(error: unknown): void {
    if (!this.isUp || this.#options.stopping.aborted) return;
    this.#downSince = performance.now();
    this.#options.metrics.storageUp(false);
    this.#options.logger.warn({ err: error }, 'the storage does not answer or refuses: this worker takes no more work until it answers');
    void this.#waitUntilUp().catch(() => {});
  }

  /** A step has done its work, with all that it stores. */
  succeeded(): void {
    if (this.isUp) this.#pauses = 0;
  }

  async answers(): Promise<boolean> {
    return (await this.#probe()) === null;
  }

  /** Asks the storage for an object that does not exist. Returns the fault, or null if it answers. */
  async #probe(): Promise<unknown> {
    const { storage, tuning, stopping } = this.#options;
    const asked = storage.stat(probeKey).then(
      () => null,
      (error: unknown) => (isStorageFault(error) ? error : null),
    );
    return orAfter(asked, tuning.probeTimeoutMs, () => new Error(`No answer within ${tuning.probeTimeoutMs} ms`), stopping);
  }

  async #waitUntilUp(): Promise<void> {
    const { logger, metrics, tuning, stopping } = this.#options;
    do {
      const pauseMs = Math.min(tuning.longestPauseMs, tuning.firstPauseMs * 2 ** this.#pauses);
      this.#pauses += 1;
      await sleep(pauseMs, undefined, { signal: stopping });
    } while (!(await this.answers()));
    const downS = Math.round((performance.now() - this.#downSince!) / 1000);
    this.#downSince = undefined;
    metrics.storageUp(true);
    logger.info({ downS }, 'the storage answers again: this worker takes work');
  }
}
