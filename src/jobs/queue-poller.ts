/**
 * Polls the queue for a runner: finds rows that become due, and rows whose notification did not arrive. Graphile Worker polls with
 * each slot, at an interval that is fixed when the runner starts. Here one slot polls for all, at an interval that follows the size of
 * the fleet. Each row that it finds wakes another slot, because there may be more.
 */
import type { WorkerEvents, WorkerPool } from 'graphile-worker';

/** Graphile's own interval: the longest of a timer, 24 days. */
export const neverMs = 2 ** 31 - 1;

export interface PollerOptions {
  /** Returns the time until the next poll. */
  intervalMs(): number;
  /** the longest time until the next poll after the queue could not be read */
  retryMs: number;
}

export class QueuePoller {
  readonly #options: PollerOptions;
  #pool: WorkerPool | undefined;
  #isPolling = false;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#schedule(options.intervalMs());
  }

  /** Polls for the runner with these events from now on. */
  follow(events: WorkerEvents): void {
    events.on('pool:create', ({ workerPool }) => (this.#pool = workerPool));
    // A slot that is released must not be nudged.
    const forget = () => (this.#pool = undefined);
    events.on('pool:gracefulShutdown', forget);
    events.on('pool:forcefulShutdown', forget);
    events.on('job:start', () => this.#isPolling && this.#pool?.nudge(1));
    events.on('worker:getJob:empty', () => (this.#isPolling = false));
    events.on('worker:getJob:error', () => this.#retry());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#poll(), ms);
  }

  #poll(): void {
    this.#schedule(this.#options.intervalMs());
    this.#isPolling = true;
    this.#pool?.nudge(1);
  }

  #retry(): void {
    const { retryMs } = this.#options;
    if (this.#pool !== undefined && this.#dueAt - performance.now() > retryMs) this.#schedule(retryMs);
  }
}
