/**
 * What a worker's row says of it: its host, its engine and its devices, without those that are lost at the moment. What no worker
 * can do according to these rows is soon planned anew by others.
 */
import { hostname } from 'node:os';
import type { WorkerDevice } from '../store/index.ts';
import type { WorkerContext } from './worker-context.ts';

export class WorkerDescription {
  readonly #worker: WorkerContext;
  #devices: Promise<WorkerDevice[]> | undefined;
  #isDraining = false;
  /** whether the row has a description, and the present one as to draining */
  #isWritten = false;
  #writing: Promise<void> | undefined;

  constructor(worker: WorkerContext) {
    this.#worker = worker;
  }

  write(): Promise<void> {
    return (this.#writing ??= this.#write().finally(() => (this.#writing = undefined)));
  }

  /** Runs with each heartbeat. The row of a process that slept was removed, and the one it has now is new. */
  writeMissing(isNewRow: boolean): void {
    if (isNewRow) this.#isWritten = false;
    if (!this.#isWritten) this.#begin();
  }

  /** The worker takes no more jobs, so it counts no more as one that has its device classes and its engine. */
  drain(): void {
    this.#isDraining = true;
    this.#isWritten = false;
    this.#begin();
  }

  #begin(): void {
    this.write().catch((error: unknown) => this.#worker.logger.warn({ err: error }, 'the worker is not described yet'));
  }

  async #write(): Promise<void> {
    const { id, store, media, config, deviceClasses, engine, metrics } = this.#worker;
    this.#devices ??= media.devices();
    // A failed query of the devices is repeated at the next run.
    this.#devices.catch(() => (this.#devices = undefined));
    const found = await this.#devices;
    // Polls lost GPUs again, also while no job comes.
    const isUsable = config.workerConcurrency > 0 && (await media.isUsable(config.device));
    const lost = new Map(media.lostDevices(config.device).map((device) => [device.id, device.reason]));
    const devices = found.map((device) => (lost.has(device.id) ? { ...device, usable: false, reason: lost.get(device.id)! } : device));
    for (const { id: device, usable } of devices) metrics.deviceUsable(device, usable);
    const isDraining = this.#isDraining;
    const takesJobs = isUsable && !isDraining;
    const facts = { host: hostname(), concurrency: config.workerConcurrency, devices, deviceClasses: takesJobs ? [...deviceClasses] : [], engine };
    const hasRow = await store.workers.describe(id, facts);
    this.#isWritten = hasRow && isDraining === this.#isDraining;
  }
}
