/** Gauges of the whole service, read from its database when Prometheus asks; every process tells the same. */
import { Gauge, type Registry } from 'prom-client';
import type { Store } from './store/index.ts';

export interface ServiceMetricsOptions {
  registry: Registry;
  store: Pick<Store, 'operations' | 'ledgerCheck'>;
  /** ms for which one look at the queue serves several scrapes; default 5 s */
  overviewMs?: number;
  /** ms between two checks of every sum of the ledger, which read all of it; default 10 min */
  ledgerMs?: number;
}

/**
 * `framelift_queue_tasks` {task, state=waiting|later|running}, `framelift_queue_oldest_seconds` {task},
 * `framelift_jobs` {status=queued|running}, `framelift_jobs_oldest_queued_seconds`,
 * `framelift_webhook_deliveries` {state=pending|overdue}, `framelift_workers_alive`, `framelift_accounts_pending` and
 * `framelift_ledger_violations` (rules of the ledger that something breaks: must be 0). In queries over several
 * processes take the maximum, not the sum.
 */
export function registerServiceMetrics(options: ServiceMetricsOptions): void {
  const { registry, store, overviewMs = 5000, ledgerMs = 600_000 } = options;
  const overview = keptFor(overviewMs, () => store.operations.overview());
  const violations = keptFor(ledgerMs, async () => (await store.ledgerCheck()).length);
  const gauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => Promise<void>) =>
    new Gauge({
      ...{ name: `framelift_${name}`, help, labelNames, registers: [registry] },
      async collect() {
        this.reset();
        await read(this);
      },
    });

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
  gauge('ledger_violations', 'Rules of the ledger that something breaks.', [], async (broken) =>
    broken.set(await violations()),
  );
}

/** A value is read at most once in `ms`; who asks meanwhile shares it. A failed reading is not kept. */
function keptFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
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
