/**
 * Fairness between accounts: a free slot for enhancements goes to the account that uses the fewest slots on all workers.
 *
 * Like AccountLimiter, it returns the accounts whose queue rows a slot must not fetch (Graphile's flags). It reads the load from the
 * database, because the other slots are on other machines. The slots of one worker query one after the other. Two workers that query
 * at the same moment may choose the same account; the next free slot evens that out.
 */
import type { AccountLoad } from '../store/index.ts';
import type { WorkerContext } from './worker-context.ts';

/** ms for which a slot waits for the previous one. A slot whose query failed does not end its turn. */
const maxTurnMs = 2000;

export interface ShareOptions {
  /** rows of one account that may run at a time, unless it has a quota of its own; 0: no limit */
  perAccount: number;
  /** the account that this worker served last */
  lastServed: string | undefined;
}

/**
 * The accounts whose rows have to wait:
 * - those at their limit,
 * - those with more running rows than another account with waiting rows,
 * - the account served last, if another one has as few running rows. So the accounts take turns, even with one worker.
 */
export function accountsToSkip(loads: readonly AccountLoad[], { perAccount, lastServed }: ShareOptions): string[] {
  const isAtLimit = ({ running, quota }: AccountLoad) => {
    const limit = quota ?? perAccount;
    return limit > 0 && running >= limit;
  };
  const eligible = loads.filter((load) => load.waiting > 0 && !isAtLimit(load));
  const fewest = Math.min(...eligible.map(({ running }) => running));
  const leastLoaded = eligible.filter(({ running }) => running === fewest);
  const mustWait = ({ account, running }: AccountLoad) => running > fewest || (account === lastServed && leastLoaded.length > 1);
  return loads.filter((load) => isAtLimit(load) || (eligible.length > 1 && mustWait(load))).map(({ account }) => account);
}

/** How often in a row a slot looks again at once. The load may name rows that cannot be fetched, while a slow transaction locks them. */
const maxRetries = 3;

/** Applies the rule to the slots of one worker. */
export class FairShare {
  readonly #worker: Pick<WorkerContext, 'store' | 'config'>;
  #lastServed: string | undefined;
  #isIdle = true;
  /** whether the slot that queried last passed over accounts */
  #hasSkipped = false;
  /** times in a row that a slot looked again */
  #retries = 0;
  /** resolves when the slot that queried last has fetched a row, or found none */
  #turn = Promise.resolve();
  #endTurn = () => {};

  constructor(worker: Pick<WorkerContext, 'store' | 'config'>) {
    this.#worker = worker;
  }

  /**
   * No row was found. Returns whether to look again at once: the slot passed over accounts for the row of another, which another
   * worker has fetched meanwhile. Otherwise the queue was empty, and the next row is fetched without a query of the load.
   */
  foundNothing(): boolean {
    const looksAgain = this.#hasSkipped && this.#retries < maxRetries;
    this.#retries = looksAgain ? this.#retries + 1 : 0;
    this.#isIdle = !looksAgain;
    this.#endTurn();
    return looksAgain;
  }

  /** A row of this account was fetched. */
  started(account: string | undefined): void {
    this.#isIdle = false;
    this.#retries = 0;
    this.#lastServed = account;
    this.#endTurn();
  }

  /** Returns the accounts whose rows of these tasks have to wait now. */
  async skipped(tasks: readonly string[]): Promise<string[]> {
    const { store, config } = this.#worker;
    const perAccount = config.enhancementsPerAccount ?? 0;
    if (this.#isIdle && perAccount === 0 && !(await store.workers.anyParallelQuota())) {
      this.#hasSkipped = false;
      return [];
    }
    await this.#takeTurn();
    const loads = await store.workers.enhancementLoad(tasks);
    const skipped = accountsToSkip(loads, { perAccount, lastServed: this.#lastServed });
    // If all with waiting rows are at their limit, none was passed over for another.
    this.#hasSkipped = skipped.length > 0 && loads.some(({ account, waiting }) => waiting > 0 && !skipped.includes(account));
    return skipped;
  }

  /** Waits until the previous slot has fetched its row, so that the row counts for its account. */
  async #takeTurn(): Promise<void> {
    const previous = this.#turn;
    let end = () => {};
    this.#turn = new Promise((resolve) => (end = resolve));
    await previous;
    const timer = setTimeout(end, maxTurnMs).unref();
    this.#endTurn = () => {
      clearTimeout(timer);
      end();
    };
  }
}
