/** When a worker ends by itself: `work --once` and `work --idle-exit`, for machines that come and go. */
import type { Task, TaskList } from 'graphile-worker';

export interface Lifetime {
  /** end after one job: its download and enhancement, or what is left of them */
  once?: boolean;
  /** end after this many seconds without a step of a job; default: 0 with `once`, otherwise never */
  idleS?: number;
}

/** Follows the steps of a worker and ends its life at the right moment. */
export class LifetimeWatch {
  readonly once: boolean;
  /** the life ends after so many ms without a step */
  readonly idleMs: number;
  #running = 0;
  #steps = 0;
  #idleSince = performance.now();
  #isOver = false;
  #stop: (() => Promise<unknown>) | undefined;
  readonly #finished = Promise.withResolvers<number>();

  constructor({ once = false, idleS = once ? 0 : Number.POSITIVE_INFINITY }: Lifetime = {}) {
    this.once = once;
    this.idleMs = idleS * 1000;
  }

  /** Resolves to the number of steps that ran, once the life is over and `stop` has resolved. */
  get finished(): Promise<number> {
    return this.#finished.promise;
  }

  /** `stop` is called at the moment when the life ends, so that no further step begins. */
  onEnd(stop: () => Promise<unknown>): void {
    this.#stop = stop;
  }

  stepStarted(): void {
    this.#running++;
  }

  stepEnded(): void {
    this.#running--;
    this.#steps++;
    this.#idleSince = performance.now();
  }

  /** With `once`: wraps tasks so that the life ends with the first that ran a step. A row of a job that waits no longer runs none. */
  endAfterOne(tasks: TaskList): TaskList {
    return Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, task && this.#endingTask(task)]));
  }

  #endingTask(task: Task<string>): Task<string> {
    return async (payload, helpers) => {
      try {
        await task(payload, helpers);
      } finally {
        if (this.#steps > 0) this.#end();
      }
    };
  }

  /** The queue has been read and had nothing to do. An unreachable queue is not an empty one, so no timer decides. */
  foundNothing(): void {
    if (this.#running === 0 && performance.now() - this.#idleSince >= this.idleMs) this.#end();
  }

  #end(): void {
    if (this.#isOver || this.#stop === undefined) return;
    this.#isOver = true;
    void this.#stop().finally(() => this.#finished.resolve(this.#steps));
  }
}
