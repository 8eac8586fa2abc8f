/** Gauges of the whole service, read from its database when Prometheus asks; every process tells the same. */
import { Gauge, type Registry } from 'prom-client';
import type { Store } from '../store/index.ts';

export interface ServiceMetricsOptions {
  registry: Registry;
  store: Pick<Store, 'operations' | 'ledgerChecks'>;
  /** ms for which one look at the queue serves several scrapes; default 5 s */
  overviewMs?: number;
  /** ms after which the database counts as down; default 2 s, well within the time that Prometheus gives a scrape */
  timeoutMs?: number;
}

/**
 * `reelmend_database_up` (1 or 0), `reelmend_queue_tasks` {task, state=waiting|later|running},
 * `reelmend_queue_oldest_seconds` {task}, `reelmend_jobs` {status=queued|running},
 * `reelmend_jobs_oldest_queued_seconds`, `reelmend_webhook_deliveries` {state=pending|overdue},
 * `reelmend_workers_alive`, `reelmend_accounts_pending`, `reelmend_ledger_violations` (rules of the ledger that
 * something breaks: must be 0) and `reelmend_ledger_checked_timestamp_seconds` (when they were last checked). While the
 * database is down all but the first have no samples. In queries over several processes take the maximum, not the sum.
 */
export function registerServiceMetrics(options: ServiceMetricsOptions): void {
  const { registry, store, overviewMs = 5000, timeoutMs = 2000 } = options;
  const overview = cachedFor(overviewMs, () => within(timeoutMs, store.operations.overview()));
  const ledger = cachedFor(overviewMs, () => within(timeoutMs, store.ledgerChecks.last()));
  const gauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => Promise<void>) =>
    new Gauge({
      ...{ name: `reelmend_${name}`, help, labelNames, registers: [registry] },
      async collect() {
        this.reset();
        // Without labels there is a sample of 0 after a reset.
        if (labelNames.length === 0) this.remove();
        // What cannot be read has no sample: an old value would look like a present one.
        await read(this).catch(() => {});
      },
    });

  gauge('database_up', 'Whether the database answers.', [], async (up) =>
    up.set(
      await overview().then(
        () => 1,
        () => 0,
      ),
    ),
  );
  gauge('queue_tasks', 'Rows of the queue, by task and state.', ['task', 'state'], async (tasks) => {
    for (const { task, waiting, later, running } of (await overview()).queue) {
      for (const [state, count] of Object.entries({ waiting, later, running })) tasks.set({ task, state }, count);
    }
  });
  gauge('queue_oldest_seconds', 'For how long the oldest waiting row is due.', ['task'], async (oldest) => {
    for (const { task, oldestSeconds } of (await overview()).queue) oldest.set({ task }, oldestSeconds ?? 0);
  });
  gauge('jobs', 'Jobs that have not ended, by status.', ['status'], async (jobs) => {
    const { queued, running } = (await overview()).jobs;
    jobs.set({ status: 'queued' }, queued);
    jobs.set({ status: 'running' }, running);
  });
  gauge('jobs_oldest_queued_seconds', 'Age of the oldest queued job.', [], async (oldest) =>
    oldest.set((await overview()).jobs.oldestQueuedSeconds ?? 0),
  );
  gauge('webhook_deliveries', 'Deliveries that are not settled, by state.', ['state'], async (deliveries) => {
    const { pending, overdue } = (await overview()).webhooks;
    deliveries.set({ state: 'pending' }, pending);
    deliveries.set({ state: 'overdue' }, overdue);
  });
  gauge('workers_alive', 'Worker processes that report being alive.', [], async (workers) =>
    workers.set((await overview()).workersAlive),
  );
  gauge('accounts_pending', 'Accounts that wait for an operator.', [], async (accounts) =>
    accounts.set((await overview()).accountsPending),
  );
  gauge('ledger_violations', 'Rules of the ledger that something breaks.', [], async (broken) => {
    const last = await ledger();
    if (last !== null) broken.set(last.violations);
  });
  gauge('ledger_checked_timestamp_seconds', 'When the ledger was last checked.', [], async (checked) => {
    const last = await ledger();
    if (last !== null) checked.set(last.checkedAt.getTime() / 1000);
  });
}

/** Rejects when the answer does not come in time; whoever is asked goes on. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A value is read at most once in `ms`; who asks meanwhile shares it. A failed reading is not kept. */
function cachedFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let kept: { value: Promise<T>; until: number } | undefined;
  return () => {
    if (kept === undefined || performance.now() >= kept.until) {
      const value = read();
      value.catch(() => {
        kept = undefined;
      });
      kept = { value, until: performance.now() + ms };
    }
    return kept.value;
  };
}
