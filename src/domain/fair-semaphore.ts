/** Limits concurrent work, and shares the slots fairly between callers. */

export interface FairSemaphoreOptions {
  /** slots for all callers together */
  total: number;
  /** slots that one caller may hold, so that slow work of one leaves slots for others; default: `total` */
  each?: number;
  /** length of the queue for all callers together; default: unlimited */
  waiting?: number;
  /** entries of one caller in the queue; default: unlimited */
  waitingEach?: number;
  /** longest wait in the queue, ms; default: unlimited */
  waitMs?: number;
  /**
   * the error for refused work, required with a limit on waiting: the caller's part of the queue is full, the queue is full,
   * or the wait took too long
   */
  refusal?(reason: 'caller' | 'all' | 'time'): Error;
}

interface Caller {
  running: number;
  waiting: number;
  /** value of the counter of all starts at the last start of this caller; the lowest is the longest ago */
  servedAt: number;
}

interface Waiter {
  caller: string;
  start(): void;
}

export class FairSemaphore {
  readonly #options: Required<FairSemaphoreOptions>;
  readonly #callers = new Map<string, Caller>();
  /** in order of arrival */
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  #served = 0;

  constructor(options: FairSemaphoreOptions) {
    const unlimited = Number.POSITIVE_INFINITY;
    const refusal = () => new Error('too many calls wait');
    this.#options = { each: unlimited, waiting: unlimited, waitingEach: unlimited, waitMs: unlimited, refusal, ...options };
  }

  /** number of callers with running or waiting work */
  get callers(): number {
    return this.#callers.size;
  }

  /** Runs the work in a slot. Rejects with the refusal, with the signal's reason while it waits, or with the work's error. */
  async run<T>(caller: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (!this.#acquire(caller)) await this.#wait(caller, signal);
    try {
      return await work();
    } finally {
      this.#release(caller);
    }
  }

  #stateOf(caller: string): Caller {
    const known = this.#callers.get(caller) ?? { running: 0, waiting: 0, servedAt: 0 };
    this.#callers.set(caller, known);
    return known;
  }

  #forgetIdle(caller: string): void {
    const { running, waiting } = this.#stateOf(caller);
    if (running === 0 && waiting === 0) this.#callers.delete(caller);
  }

  #acquire(caller: string): boolean {
    const own = this.#stateOf(caller);
    if (this.#running >= this.#options.total || own.running >= this.#options.each) return false;
    this.#running += 1;
    own.running += 1;
    own.servedAt = ++this.#served;
    return true;
  }

  #wait(caller: string, signal: AbortSignal | undefined): Promise<void> {
    const { waiting, waitingEach, waitMs, refusal } = this.#options;
    const own = this.#stateOf(caller);
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

  /** The slot goes to the waiting caller with the fewest slots; among equals, to the one served longest ago. */
  #release(caller: string): void {
    this.#running -= 1;
    this.#stateOf(caller).running -= 1;
    const order = (a: Waiter, b: Waiter) => {
      const [first, second] = [this.#stateOf(a.caller), this.#stateOf(b.caller)];
      return first.running - second.running || first.servedAt - second.servedAt;
    };
    const next = [...this.#waiters].sort(order)[0];
    if (next !== undefined && this.#acquire(next.caller)) next.start();
    this.#forgetIdle(caller);
  }
}
