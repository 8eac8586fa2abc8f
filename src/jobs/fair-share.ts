/**
 * Fairness between accounts in the slots for enhancements of all workers together: a slot that becomes free goes to the account
 * that has the fewest. It uses Graphile's flags, as AccountLimiter does, and asks the database, since the other slots are on
 * other machines. The slots of one worker ask one after the other. Two workers that ask in the same moment may decide alike; the
 * next slot makes up for it.
 */
import type { AccountLoad } from '../store/index.ts';
import type { WorkerContext } from './worker-context.ts';

/** Longest wait for what became of the slot that asked before, ms: a slot whose query failed tells nothing. */
const longestTurnMs = 2000;

export interface ShareOptions {
  /** rows of one account that may run at a time, unless it has a quota of its own; 0: no limit */
  perAccount: number;
  /** the account that this worker served last */
  lastServed: string | undefined;
}

/**
 * The accounts whose rows have to wait: those at their limit, and those with more running rows than another account that waits.
 * Where only the account served last would be left beside others with as few, it has to wait, too: with one worker the accounts take turns.
 */
export function accountsToSkip(loads: readonly AccountLoad[], { perAccount, lastServed }: ShareOptions): string[] {
  const isFull = ({ running, quota }: AccountLoad) => {
    const most = quota ?? perAccount;
    return most > 0 && running >= most;
  };
  const waiting = loads.filter((load) => load.waiting > 0 && !isFull(load));
  const fewest = Math.min(...waiting.map(({ running }) => running));
  const first = waiting.filter(({ running }) => running === fewest);
  const isBehind = ({ account, running }: AccountLoad) => running > fewest || (account === lastServed && first.length > 1);
  return loads.filter((load) => isFull(load) || (waiting.length > 1 && isBehind(load))).map(({ account }) => account);
}

/** The share of one worker's runner. */
export class FairShare {
  readonly #worker: Pick<WorkerContext, 'store' | 'config'>;
  #lastServed: string | undefined;
  #isIdle = true;
  /** settled when the slot that asked last has taken a row, or found none */
  #turn = Promise.resolve();
  #endTurn = () => {};

  constructor(worker: Pick<WorkerContext, 'store' | 'config'>) {
    this.#worker = worker;
  }

  /** The queue was empty: whatever comes next is taken without asking. */
  foundNothing(): void {
    this.#isIdle = true;
    this.#endTurn();
  }

  started(account: string | undefined): void {
    this.#isIdle = false;
    this.#lastServed = account;
    this.#endTurn();
  }

  /** The accounts whose rows of these tasks have to wait now. */
  async skipped(tasks: readonly string[]): Promise<string[]> {
    const { store, config } = this.#worker;
    const perAccount = config.enhancementsPerAccount ?? 0;
    if (this.#isIdle && perAccount === 0 && !(await store.workers.anyParallelQuota())) return [];
    await this.#takeTurn();
    const loads = await store.workers.enhancementLoad(tasks);
    return accountsToSkip(loads, { perAccount, lastServed: this.#lastServed });
  }

  /** Waits until the slot before has its row, so that its account counts. */
  async #takeTurn(): Promise<void> {
    const before = this.#turn;
    let end = () => {};
    this.#turn = new Promise((resolve) => (end = resolve));
    await before;
    const timer = setTimeout(end, longestTurnMs).unref();
    this.#endTurn = () => {
      clearTimeout(timer);
      end();
    };
  }
}
