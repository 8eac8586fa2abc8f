/** A bound on work that runs at the same time, shared fairly: callers that wait are served in turn, one each. */

export interface FairSemaphoreOptions {
  /** works at a time */
  parallel: number;
  /** works that may wait, of all callers together */
  waiting: number;
  /** works of one caller that may wait */
  waitingEach: number;
  /** the error for a work that may not wait: `caller` has too many waiting, or all together have */
  refusal(full: 'caller' | 'all'): Error;
}

export interface FairSemaphore {
  /** Runs the work when its turn comes. Rejects with the refusal, or as the work does. */
  run<T>(caller: string, work: () => Promise<T>): Promise<T>;
}

export function createFairSemaphore({ parallel, waiting, waitingEach, refusal }: FairSemaphoreOptions): FairSemaphore {
  /** The waiting of each caller; a Map keeps the order in which callers are served. */
  const queues = new Map<string, (() => void)[]>();
  let running = 0;
  let waits = 0;

  function wait(caller: string): Promise<void> {
    const queue = queues.get(caller) ?? [];
    if (queue.length >= waitingEach) throw refusal('caller');
    if (waits >= waiting) throw refusal('all');
    queues.set(caller, queue);
    waits += 1;
    return new Promise((resolve) => queue.push(resolve));
  }

  /** Hands the slot to the next caller, who then goes to the end of the line. */
  function release(): void {
    const next = queues.entries().next().value;
    if (next === undefined) return void (running -= 1);
    const [caller, queue] = next;
    const start = queue.shift()!;
    queues.delete(caller);
    if (queue.length > 0) queues.set(caller, queue);
    waits -= 1;
    start();
  }

  return {
    async run(caller, work) {
      if (running >= parallel) await wait(caller);
      else running += 1;
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
