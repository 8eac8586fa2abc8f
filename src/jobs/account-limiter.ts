/**
 * Fairness between accounts: a runner works on a few rows of one account at a time and passes over the others, so that
 * the next account need not wait behind them. Graphile's flags do it: a row is flagged with its account, and a runner
 * says before each look at the queue which flags it does not want.
 */
import type { Job, JobHelpers, Task, TaskList } from 'graphile-worker';

export class AccountLimiter {
  readonly #perAccount: number;
  readonly #running = new Map<string, number>();

  constructor(perAccount: number) {
    this.#perAccount = perAccount;
  }

  /** Accounts of which no more rows are wanted now. */
  saturated(): string[] {
    return [...this.#running].flatMap(([account, count]) => (count >= this.#perAccount ? [account] : []));
  }

  /** The same tasks, a few of each account at a time. */
  limit(tasks: TaskList): TaskList {
    return Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, task && this.#limited(task)]));
  }

  #limited(task: Task<string>): Task<string> {
    return async (payload, helpers) => {
      const account = accountOf(helpers.job);
      if (account === undefined) return task(payload, helpers);
      const running = this.#running.get(account) ?? 0;
      // Slots that look at the same moment may all find rows of one account.
      if (running >= this.#perAccount) return putBack(payload, helpers);
      this.#running.set(account, running + 1);
      try {
        await task(payload, helpers);
      } finally {
        this.#leave(account);
      }
    };
  }

  #leave(account: string): void {
    const left = this.#running.get(account)! - 1;
    if (left > 0) this.#running.set(account, left);
    else this.#running.delete(account);
  }
}

/** undefined: a row that is no account's, or of a version that did not flag it */
const accountOf = ({ flags }: Job): string | undefined => Object.keys(flags ?? {})[0];

/** The same row again, in its old place of the queue; the one that was fetched is over. */
async function putBack(payload: unknown, { job, addJob }: JobHelpers): Promise<void> {
  await addJob(job.task_identifier, payload, {
    ...(job.key === null ? {} : { jobKey: job.key }),
    runAt: job.run_at,
    maxAttempts: job.max_attempts,
    priority: job.priority,
    flags: Object.keys(job.flags ?? {}),
  });
}
