/**
 * Fairness between accounts: limits how many tasks of one account a runner runs at a time, so that other accounts do
 * not wait behind them. It uses Graphile's flags: each row is flagged with its account, and before each poll the runner
 * names the flags that it skips.
 */
import type { Job, JobHelpers, Task, TaskList } from 'graphile-worker';

export class AccountLimiter {
  readonly #perAccount: number;
  readonly #running = new Map<string, number>();

  constructor(perAccount: number) {
    this.#perAccount = perAccount;
  }

  /** Accounts that have reached the limit. */
  saturated(): string[] {
    return [...this.#running].flatMap(([account, count]) => (count >= this.#perAccount ? [account] : []));
  }

  /** Wraps the tasks so that each account keeps to the limit. */
  limit(tasks: TaskList): TaskList {
    return Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, task && this.#limited(task)]));
  }

  #limited(task: Task<string>): Task<string> {
    return async (payload, helpers) => {
      const account = accountOf(helpers.job);
      if (account === undefined) return task(payload, helpers);
      const running = this.#running.get(account) ?? 0;
      // Slots that poll at the same moment may all fetch rows of one account.
      if (running >= this.#perAccount) return requeue(payload, helpers);
      this.#running.set(account, running + 1);
      try {
        await task(payload, helpers);
      } finally {
        this.#release(account);
      }
    };
  }

  #release(account: string): void {
    const left = this.#running.get(account)! - 1;
    if (left > 0) this.#running.set(account, left);
    else this.#running.delete(account);
  }
}

/** undefined for a row without a flag: it belongs to no account */
export const accountOf = ({ flags }: Job): string | undefined => Object.keys(flags ?? {})[0];

/** Queues the same task again at its old position. The fetched row counts as done. */
async function requeue(payload: unknown, { job, addJob }: JobHelpers): Promise<void> {
  await addJob(job.task_identifier, payload, {
    ...(job.key === null ? {} : { jobKey: job.key }),
    runAt: job.run_at,
    maxAttempts: job.max_attempts,
    priority: job.priority,
    flags: Object.keys(job.flags ?? {}),
  });
}
