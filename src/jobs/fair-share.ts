/**
 * Fairness between accounts: a free slot for enhancements goes to the account that has used the least machine time on all workers, by
 * start-time fair queueing (src/store/machine-time.ts). So accounts with short and with long segments get equal shares.
 *
 * Like AccountLimiter, it returns the accounts whose queue rows a slot must not fetch (Graphile's flags). It reads the load from the
 * database, because the other slots are on other machines. The slots of one worker query one after the other. Two workers that query
 * at the same moment may choose the same account; the next free slot evens that out.
 */
import type { Task, TaskList } from 'graphile-worker';
import type { AccountLoad } from '../store/index.ts';
import { accountOf } from './account-limiter.ts';
import type { WorkerContext } from './worker-context.ts';

/** How long a slot waits for the previous one, in ms. A slot whose query failed does not end its turn. */
const maxTurnMs = 2000;

/** The virtual time of accounts that have had nothing to do for a while: when the last row of those with waiting rows began. */
export const virtualTimeOf = (loads: readonly AccountLoad[]): number =>
  Math.max(0, ...loads.filter(({ waits }) => waits).map(({ virtualStart }) => virtualStart));

/** The accounts that run as many rows as they may: their quota, or `perAccount` (0: no limit). */
function accountsAtLimit(loads: readonly AccountLoad[], perAccount: number): string[] {
  const limitOf = ({ quota }: AccountLoad) => quota ?? perAccount;
  return loads.filter((load) => limitOf(load) > 0 && load.running >= limitOf(load)).map(({ account }) => account);
}

/** The accounts whose rows have to wait: those at their limit, and those with a later virtual time than another one with waiting rows. */
export function accountsToSkip(loads: readonly AccountLoad[], perAccount: number): string[] {
  const atLimit = accountsAtLimit(loads, perAccount);
  const eligible = loads.filter(({ account, waits }) => waits && !atLimit.includes(account));
  const earliest = virtualTimeOf(loads);
  const timeOf = ({ virtualFinish }: AccountLoad) => Math.max(virtualFinish, earliest);
  const next = Math.min(...eligible.map(timeOf));
  return [...atLimit, ...eligible.filter((load) => timeOf(load) > next).map(({ account }) => account)];
}

/**
 * How often in a row a slot polls again at once, the last time for a row of any account. The load may name rows that cannot be fetched,
 * because others have just fetched them, or while a slow transaction locks them.
 */
const maxRetries = 3;

/** The time in which one slot chooses an account and fetches its row. It begins when the previous one has ended. */
class Turn {
  readonly ended: Promise<void>;
  #resolve = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  begin(): void {
    this.#timer = setTimeout(this.#resolve, maxTurnMs).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#resolve();
  }
}

type FairShareContext = Pick<WorkerContext, 'store' | 'config' | 'logger'>;

/** Applies the rule to the slots of one worker. */
export class FairShare {
  readonly #worker: FairShareContext;
  /** whether the queue was empty when it was last read */
  #isIdle = false;
  /** of the accounts that the slot that queried last chose from */
  #virtualTime = 0;
  /** whether the slot that queried last passed over accounts */
  #hasSkipped = false;
  /** times in a row that a slot polled again */
  #retries = 0;
  /** of the slot that queried last; ends when that slot has fetched a row, or found none */
  #turn = new Turn();
  /** of the last slot in line */
  #lastTurn = this.#turn;

  constructor(worker: FairShareContext) {
    this.#worker = worker;
    this.#turn.end();
  }

  /**
   * No row was found. Returns whether to poll again at once: the slot passed over accounts for the row of another, which another
   * worker has fetched meanwhile. Otherwise the queue was empty, and the next row is fetched without a query of the load.
   */
  foundNothing(): boolean {
    const pollsAgain = this.#hasSkipped && this.#retries < maxRetries;
    this.#retries = pollsAgain ? this.#retries + 1 : 0;
    this.#isIdle = !pollsAgain;
    this.#turn.end();
    return pollsAgain;
  }

  /** Wraps the tasks so that the machine time of their rows is charged to the accounts. */
  charge(tasks: TaskList): TaskList {
    return Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, task && this.#charged(task)]));
  }

  #charged(task: Task<string>): Task<string> {
    return async (payload, helpers) => {
      const account = accountOf(helpers.job);
      const began = performance.now();
      const charged = this.#started(account);
      try {
        await task(payload, helpers);
      } finally {
        const chargedS = await charged;
        if (account !== undefined && chargedS !== undefined) await this.#settle(account, chargedS, (performance.now() - began) / 1000);
      }
    };
  }

  /** A row of this account was fetched. The next slot may choose when the row is charged. Returns the seconds that were charged. */
  async #started(account: string | undefined): Promise<number | undefined> {
    this.#isIdle = false;
    this.#retries = 0;
    const turn = this.#turn;
    try {
      return account === undefined ? undefined : await this.#worker.store.machineTime.charge(account, this.#virtualTime);
    } catch (error) {
      this.#logFailure(error);
      return undefined;
    } finally {
      turn.end();
    }
  }

  async #settle(account: string, chargedS: number, usedS: number): Promise<void> {
    await this.#worker.store.machineTime.settle(account, { chargedS, usedS }).catch((error: unknown) => this.#logFailure(error));
  }

  /** The row runs although its time is not recorded. */
  #logFailure(error: unknown): void {
    this.#worker.logger.warn({ err: error }, 'the machine time of an account was not recorded');
  }

  /** Returns the accounts whose rows of these tasks have to wait now. */
  async skipped(tasks: readonly string[]): Promise<string[]> {
    const { store, config } = this.#worker;
    const perAccount = config.enhancementsPerAccount ?? 0;
    if (this.#isIdle && perAccount === 0 && !(await store.workers.anyParallelQuota())) {
      this.#hasSkipped = false;
      this.#virtualTime = 0;
      return [];
    }
    await this.#takeTurn();
    const loads = await store.workers.enhancementLoad(tasks);
    this.#virtualTime = virtualTimeOf(loads);
    const skipped = this.#retries < maxRetries ? accountsToSkip(loads, perAccount) : accountsAtLimit(loads, perAccount);
    // If all with waiting rows are at their limit, none was passed over for another.
    this.#hasSkipped = skipped.length > 0 && loads.some(({ account, waits }) => waits && !skipped.includes(account));
    return skipped;
  }

  /** Waits until the previous slot has fetched its row, so that the row counts for its account. */
  async #takeTurn(): Promise<void> {
    const previous = this.#lastTurn;
    const turn = new Turn();
    this.#lastTurn = turn;
    await previous.ended;
    turn.begin();
    this.#turn = turn;
  }
}
