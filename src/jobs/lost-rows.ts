/**
 * Queue rows that one runner has locked and never received: the database fails, or the connection breaks, after the query that fetches
 * a row has committed and before its answer arrives. Nobody would touch such a row while its pool lives (Graphile Worker
 * itself waits for four hours).
 */
import type { Job, WorkerEvents } from 'graphile-worker';
import type { Store } from '../store/index.ts';
import { NotFetching } from './not-fetching.ts';

/** After so many seconds a row that was locked has reached its slot, and one that was completed is gone from the queue. */
const settledAfterS = 5;

export class LostRows {
  readonly #store: Pick<Store, 'workers'>;
  /** the rows that a slot has received, until the queue knows that they have ended */
  readonly #received = new Map<string, Job>();
  /** the pools whose rows have to be looked at: the present one, and those that ended */
  #pools = new Set<string>();
  #lostAt: number | undefined;

  constructor(store: Pick<Store, 'workers'>) {
    this.#store = store;
  }

  /** Follows one pool of the runner. A pool before it has ended, and what it still holds is lost. */
  follow(events: WorkerEvents): void {
    if (this.#pools.size > 0) this.#noteLoss();
    events.on('pool:create', ({ workerPool }) => this.#pools.add(workerPool.id));
    events.on('worker:getJob:error', ({ error }) => {
      if (!(error instanceof NotFetching)) this.#noteLoss();
    });
    events.on('job:start', ({ job }) => this.#received.set(job.id, job));
    events.on('job:complete', ({ job }) => this.#forgetLater(job));
  }

  /** Frees what was lost, once enough time has passed. Returns how many rows. To be called every few seconds. */
  async free(): Promise<number> {
    const lostAt = this.#lostAt;
    if (lostAt === undefined || performance.now() - lostAt < 1000 * settledAfterS) return 0;
    const pools = [...this.#pools];
    const freed = await this.#store.workers.unlockRows(pools, { except: [...this.#received.keys()], lockedForS: settledAfterS });
    if (this.#lostAt !== lostAt) return freed;
    this.#lostAt = undefined;
    this.#pools = new Set(pools.slice(-1).concat([...this.#pools].slice(pools.length)));
    return freed;
  }

  #noteLoss(): void {
    this.#lostAt = performance.now();
  }

  /** The row may start again meanwhile, after a failure: then it is another object. */
  #forgetLater(job: Job): void {
    setTimeout(() => this.#received.get(job.id) === job && this.#received.delete(job.id), 1000 * settledAfterS).unref();
  }
}
