/** Gauges of the whole service, read from its database at each scrape. Every process reports the same values. */
import { Gauge, type Registry } from 'prom-client';
import type { Store } from '../store/index.ts';

export interface ServiceMetricsOptions {
  registry: Registry;
  store: Pick<Store, 'operations' | 'ledgerChecks' | 'ping'>;
  /** how long a reading is reused, in ms; default 5 s */
  overviewMs?: number;
  /** a scrape continues without the values after so many ms; default 8 s, within Prometheus' usual limit of 10 s */
  timeoutMs?: number;
  /** the database counts as down after so many ms; default 2 s */
  pingTimeoutMs?: number;
}

type AddGauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => Promise<void>) => void;

/**
 * Registers the gauges that docs/monitoring.md lists. All but `reelmend_database_up` have no sample while the database
 * is down or too slow. In queries over several processes take the maximum, not the sum.
 */
export function registerServiceMetrics(options: ServiceMetricsOptions): void {
  const { registry, store, overviewMs = 5000, timeoutMs = 8000, pingTimeoutMs = 2000 } = options;
  const limits = { freshMs: overviewMs, timeoutMs };
  const overview = sharedReading(limits, () => store.operations.overview());
  const ledger = sharedReading(limits, () => store.ledgerChecks.last());
  const gauge: AddGauge = (name, help, labelNames, read) =>
    void new Gauge({
      ...{ name: `reelmend_${name}`, help, labelNames, registers: [registry] },
      async collect() {
        this.reset();
        // reset() leaves a sample of 0 where there are no labels.
        if (labelNames.length === 0) this.remove();
        // A value that cannot be read has no sample, because an old one would look current.
        await read(this).catch(() => {});
      },
    });

  // A separate query: the database is not down if only the overview is slow.
  gauge('database_up', 'Whether the database answers (1) or not (0).', [], async (up) => {
    up.set((await within(pingTimeoutMs, store.ping()).catch(() => false)) ? 1 : 0);
  });
  addQueueGauges(gauge, overview);
  addUploadGauges(gauge, overview);
  gauge('workers_alive', 'Worker processes that have reported within the last 30 seconds.', [], async (workers) =>
    workers.set((await overview()).workersAlive),
  );
  gauge('accounts_pending', 'Accounts that wait for approval.', [], async (accounts) =>
    accounts.set((await overview()).accountsPending),
  );
  gauge('ledger_violations', 'Violations of the rules of the ledger that the last check found; must be 0.', [], async (broken) => {
    const last = await ledger();
    if (last !== null) broken.set(last.violations);
  });
  gauge('ledger_last_check_timestamp_seconds', 'Unix time of the last check of the ledger.', [], async (checked) => {
    const last = await ledger();
    if (last !== null) checked.set(last.checkedAt.getTime() / 1000);
  });
}

type ReadOverview = () => ReturnType<Store['operations']['overview']>;

function addQueueGauges(gauge: AddGauge, overview: ReadOverview): void {
  gauge('queue_tasks', 'Tasks in the queue, by name and state (waiting, later, running).', ['task', 'state'], async (tasks) => {
    for (const { task, waiting, later, running } of (await overview()).queue) {
      for (const [state, count] of Object.entries({ waiting, later, running })) tasks.set({ task, state }, count);
    }
  });
  gauge('queue_oldest_task_age_seconds', 'Seconds for which the longest waiting task has been due.', ['task'], async (oldest) => {
    for (const { task, oldestSeconds } of (await overview()).queue) oldest.set({ task }, oldestSeconds ?? 0);
  });
  gauge('queue_oldest_failing_task_age_seconds', 'Age of the oldest task whose last attempt failed, in seconds.', ['task'], async (oldest) => {
    for (const { task, oldestFailingSeconds } of (await overview()).queue) oldest.set({ task }, oldestFailingSeconds ?? 0);
  });
  gauge('jobs', 'Unfinished jobs, by status.', ['status'], async (jobs) => {
    const { queued, running } = (await overview()).jobs;
    jobs.set({ status: 'queued' }, queued);
    jobs.set({ status: 'running' }, running);
  });
  gauge('oldest_queued_job_age_seconds', 'Age of the oldest queued job in seconds.', [], async (oldest) =>
    oldest.set((await overview()).jobs.oldestQueuedSeconds ?? 0),
  );
  gauge('longest_disk_wait_seconds', 'Time for which the job that has waited longest for disk space has waited, in seconds.', [], async (longest) =>
    longest.set((await overview()).jobs.longestDiskWaitSeconds ?? 0),
  );
  gauge('webhook_deliveries', 'Unfinished webhook deliveries; overdue ones are also counted as pending.', ['state'], async (deliveries) => {
    const { pending, overdue } = (await overview()).webhooks;
    deliveries.set({ state: 'pending' }, pending);
    deliveries.set({ state: 'overdue' }, overdue);
  });
}

function addUploadGauges(gauge: AddGauge, overview: ReadOverview): void {
  const statuses = ['waiting', 'verifying', 'ready', 'failed'] as const;
  gauge('uploads', 'Uploads whose files exist, by status.', ['status'], async (uploads) => {
    const found = (await overview()).uploads;
    for (const status of statuses) uploads.set({ status }, found.find((each) => each.status === status)?.uploads ?? 0);
  });
  gauge('upload_bytes', 'Bytes of these uploads, with the parts that have not arrived yet.', ['status'], async (bytes) => {
    const found = (await overview()).uploads;
    for (const status of statuses) bytes.set({ status }, found.find((each) => each.status === status)?.bytes ?? 0);
  });
}

/** Rejects if the result does not come in time. The work itself continues. */
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

/** An unanswered reading blocks the next one for so many ms; then its connection counts as dead. */
const abandonedMs = 60_000;

/**
 * Shares a reading: at most one runs at a time, and callers within `freshMs` get its value. Each caller waits at most
 * `timeoutMs`. So scrapes do not overload a slow database. A failed reading is not kept.
 */
function sharedReading<T>({ freshMs, timeoutMs }: { freshMs: number; timeoutMs: number }, read: () => Promise<T>): () => Promise<T> {
  let current: { value: Promise<T>; until: number } | undefined;
  const start = () => {
    const reading = { value: read(), until: performance.now() + abandonedMs };
    reading.value.then(
      () => (reading.until = performance.now() + freshMs),
      () => (reading.until = 0),
    );
    return reading;
  };
  return () => {
    if (current === undefined || performance.now() >= current.until) current = start();
    return within(timeoutMs, current.value);
  };
}
