/** A bound on work that runs at the same time, with a smaller bound for each caller and a bounded wait. */

export interface FairSlotsOptions {
  /** works at a time, of all callers together */
  total: number;
  /** works at a time of one caller, so that others find a slot however slow its works are */
  each: number;
  /** how long a work may wait for its slot, ms */
  waitMs: number;
  /** the error for a work that got no slot in time */
  refusal(): Error;
}

interface Waiting {
  caller: string;
  start(): void;
}

export class FairSlots {
  readonly #options: FairSlotsOptions;
  /** works that run, by caller */
  readonly #running = new Map<string, number>();
  /** in the order in which they came */
  readonly #waiting = new Set<Waiting>();

  constructor(options: FairSlotsOptions) {
    this.#options = options;
  }

  /** Runs the work in a slot. Rejects with the refusal, with the reason of the signal while it waits, or as the work does. */
  async run<T>(caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (!this.#take(caller)) await this.#wait(caller, signal);
    try {
      return await work();
    } finally {
      this.#release(caller);
    }
  }

  #of(caller: string): number {
    return this.#running.get(caller) ?? 0;
  }

  #take(caller: string): boolean {
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    if (all >= this.#options.total || this.#of(caller) >= this.#options.each) return false;
    this.#running.set(caller, this.#of(caller) + 1);
    return true;
  }

  #wait(caller: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        caller,
        start() {
          leave();
          resolve();
        },
      };
      const abort = () => {
        leave();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        leave();
        reject(this.#options.refusal());
      }, this.#options.waitMs);
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** The slot goes to the caller who has the fewest; among equals, to the one who waits longest. */
  #release(caller: string): void {
    const left = this.#of(caller) - 1;
    if (left === 0) this.#running.delete(caller);
    else this.#running.set(caller, left);
    const next = [...this.#waiting].sort((a, b) => this.#of(a.caller) - this.#of(b.caller))[0];
    if (next !== undefined && this.#take(next.caller)) next.start();
  }
}
