/** A bound on work that runs at the same time, shared fairly between callers. */

export interface FairSemaphoreOptions {
  /** works at a time, of all callers together */
  total: number;
  /** works at a time of one caller, so that others find a slot however slow its works are; default: `total` */
  each?: number;
  /** works that may wait, of all callers together; default: any number */
  waiting?: number;
  /** works of one caller that may wait; default: any number */
  waitingEach?: number;
  /** how long a work may wait, ms; default: until its turn comes */
  waitMs?: number;
  /** the error for a work that is refused: too many of its caller's wait, too many of everybody's, or it waited too long */
  refusal(reason: 'caller' | 'all' | 'time'): Error;
}

interface Caller {
  running: number;
  waiting: number;
  /** grows with each work that starts: who was served longest ago comes first */
  servedAt: number;
}

interface Waiter {
  caller: string;
  start(): void;
}

export class FairSemaphore {
  readonly #options: Required<FairSemaphoreOptions>;
  readonly #callers = new Map<string, Caller>();
  /** in the order in which they came */
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  #served = 0;

  constructor(options: FairSemaphoreOptions) {
    const unlimited = Number.POSITIVE_INFINITY;
    this.#options = { each: unlimited, waiting: unlimited, waitingEach: unlimited, waitMs: unlimited, ...options };
  }

  /** callers that it keeps a record of: those with a work that runs or waits */
  get callers(): number {
    return this.#callers.size;
  }

  /** Runs the work in a slot. Rejects with the refusal, with the reason of the signal while it waits, or as the work does. */
  async run<T>(caller: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (!this.#acquire(caller)) await this.#wait(caller, signal);
    try {
      return await work();
    } finally {
      this.#release(caller);
    }
  }

  #of(caller: string): Caller {
    const known = this.#callers.get(caller) ?? { running: 0, waiting: 0, servedAt: 0 };
    this.#callers.set(caller, known);
    return known;
  }

  #forgetIdle(caller: string): void {
    const { running, waiting } = this.#of(caller);
    if (running === 0 && waiting === 0) this.#callers.delete(caller);
  }

  #acquire(caller: string): boolean {
    const own = this.#of(caller);
    if (this.#running >= this.#options.total || own.running >= this.#options.each) return false;
    this.#running += 1;
    own.running += 1;
    own.servedAt = ++this.#served;
    return true;
  }

  #wait(caller: string, signal: AbortSignal | undefined): Promise<void> {
    const { waiting, waitingEach, waitMs, refusal } = this.#options;
    const own = this.#of(caller);
    const refused = own.waiting >= waitingEach ? 'caller' : this.#waiters.size >= waiting ? 'all' : undefined;
    if (refused !== undefined) {
      this.#forgetIdle(caller);
      throw refusal(refused);
    }
    own.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.#waiters.delete(waiter);
        own.waiting -= 1;
      };
      const refuse = (reason: unknown) => {
        leave();
        this.#forgetIdle(caller);
        reject(reason);
      };
      const waiter: Waiter = {
        caller,
        start() {
          leave();
          resolve();
        },
      };
      const abort = () => refuse(signal?.reason);
      const timer = Number.isFinite(waitMs) ? setTimeout(() => refuse(refusal('time')), waitMs) : undefined;
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** The slot goes to the caller with the fewest; among equals, to the one who was served longest ago. */
  #release(caller: string): void {
    this.#running -= 1;
    this.#of(caller).running -= 1;
    const order = (a: Waiter, b: Waiter) => {
      const [first, second] = [this.#of(a.caller), this.#of(b.caller)];
      return first.running - second.running || first.servedAt - second.servedAt;
    };
    const next = [...this.#waiters].sort(order)[0];
    if (next !== undefined && this.#acquire(next.caller)) next.start();
    this.#forgetIdle(caller);
  }
}
