/**
 * Changes of jobs as they happen: one connection of this process LISTENs for all its watchers. A watcher also looks
 * by itself now and then, so that a notification lost with the connection delays it and no more.
 */
import pg from 'pg';
import type { JobRecord } from '../domain/job.ts';
import { isFinal } from '../domain/transitions.ts';

const channel = 'framelift_jobs';
const reconnectMs = 1000;
/** how long a watcher waits before it looks without having been told */
const defaultLookMs = 5000;

/** Wakes whoever waits for one job. A wake that comes while nobody waits is kept. */
class Waker {
  #woken = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  /** Resolves at a wake, after `ms`, or when the signal fires. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#woken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          resolve();
        };
        this.#resolve = done;
        signal.addEventListener('abort', done, { once: true });
      });
    }
    this.#resolve = undefined;
    this.#woken = false;
  }
}

/** One LISTEN connection, opened with the first watcher and kept; made anew whenever it is lost. */
export class JobFeed {
  readonly #url: string;
  readonly #watchers = new Map<string, Set<Waker>>();
  readonly #accounts = new Map<string, Set<AccountWatcher>>();
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #state: 'idle' | 'connecting' | 'listening' | 'closed' = 'idle';

  constructor(url: string) {
    this.#url = url;
  }

  subscribe(jobId: string): { waker: Waker; close(): void } {
    const waker = new Waker();
    const wakers = this.#watchers.get(jobId) ?? new Set();
    this.#watchers.set(jobId, wakers.add(waker));
    void this.#connect();
    const close = () => {
      wakers.delete(waker);
      if (wakers.size === 0 && this.#watchers.get(jobId) === wakers) this.#watchers.delete(jobId);
    };
    return { waker, close };
  }

  subscribeAccount(accountId: string): { watcher: AccountWatcher; close(): void } {
    const watcher: AccountWatcher = { waker: new Waker(), changed: new Set(), missed: false };
    const watchers = this.#accounts.get(accountId) ?? new Set();
    this.#accounts.set(accountId, watchers.add(watcher));
    void this.#connect();
    const close = () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#accounts.get(accountId) === watchers) this.#accounts.delete(accountId);
    };
    return { watcher, close };
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    clearTimeout(this.#retry);
    this.#wakeAll();
    await this.#client?.end().catch(() => {});
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  async #connect(): Promise<void> {
    if (this.#state !== 'idle') return;
    this.#state = 'connecting';
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'framelift-feed',
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    this.#client = client;
    // An error of the connection is followed by its end.
    client.on('error', () => {});
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ payload }) => this.#heard(payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
      if (this.#state === 'connecting') this.#state = 'listening';
      // What changed before this moment nobody was told.
      this.#wakeAll();
    } catch {
      await client.end().catch(() => {});
      this.#lost(client);
    }
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client || this.#state === 'closed') return;
    this.#client = undefined;
    this.#state = 'idle';
    clearTimeout(this.#retry);
    if (this.#watchers.size + this.#accounts.size > 0) this.#retry = setTimeout(() => void this.#connect(), reconnectMs).unref();
  }

  /** A notification names the job and, behind a space, its account. */
  #heard(payload: string): void {
    const [jobId = '', accountId = ''] = payload.split(' ');
    this.#wake(jobId);
    for (const watcher of this.#accounts.get(accountId) ?? []) {
      watcher.changed.add(jobId);
      watcher.waker.wake();
    }
  }

  #wake(jobId: string): void {
    for (const waker of this.#watchers.get(jobId) ?? []) waker.wake();
  }

  /** What changed while nobody listened is not known: everybody looks. */
  #wakeAll(): void {
    for (const jobId of this.#watchers.keys()) this.#wake(jobId);
    for (const watcher of [...this.#accounts.values()].flatMap((watchers) => [...watchers])) {
      watcher.missed = true;
      watcher.waker.wake();
    }
  }
}

/** Changes of an account's jobs that its watcher has not looked at yet. */
interface AccountWatcher {
  waker: Waker;
  changed: Set<string>;
  /** notifications may have been lost */
  missed: boolean;
}

export interface WatchOptions {
  feed: JobFeed;
  jobId: string;
  /** reads the job; null when it is unknown or deleted */
  read(): Promise<JobRecord | null>;
  signal: AbortSignal;
  /** ms between two looks without a notification */
  lookMs?: number;
}

/** The job now and after every change of status or progress; ends with it, its deletion, the signal or the feed. */
export async function* watchJob({ feed, jobId, read, signal, lookMs = defaultLookMs }: WatchOptions) {
  // Subscribed before the first look, so that no change falls between.
  const { waker, close } = feed.subscribe(jobId);
  try {
    for (let last: JobRecord | undefined; !signal.aborted && !feed.closed;) {
      const job = await read();
      if (job === null || signal.aborted) return;
      if (last?.status !== job.status || last.progress !== job.progress) yield job;
      if (isFinal(job.status)) return;
      last = job;
      await waker.wait(lookMs, signal);
    }
  } finally {
    close();
  }
}

export interface WatchAccountOptions<Job extends { id: string }> {
  feed: JobFeed;
  accountId: string;
  /** those of the jobs that exist and are the account's */
  read(jobIds: string[]): Promise<Job[]>;
  /** the sequence of the newest entry of the account's audit log; 0 for an empty log */
  position(): Promise<number>;
  /** the jobs whose creation the log notes after that sequence, and, when asked for, all that have not ended */
  look(query: { after: number; open: boolean }): Promise<{ jobs: Job[]; position: number }>;
  signal: AbortSignal;
  /** ms between two looks for new jobs, of which nobody is notified */
  lookMs?: number;
}

const defaultAccountLookMs = 3000;

/**
 * Every job of an account that is made or changes from now on; `job` is null when it was deleted. Ends with the
 * signal or the feed. New jobs are polled: a notification at every creation would cost each of them. The cursor is the
 * sequence of the audit log, whose numbers become visible in their order. Ids do not: a job whose id was drawn
 * earlier may commit later.
 */
export async function* watchAccount<Job extends { id: string }>(
  options: WatchAccountOptions<Job>,
): AsyncGenerator<{ id: string; job: Job | null }> {
  const { feed, accountId, signal, lookMs = defaultAccountLookMs } = options;
  const { watcher, close } = feed.subscribeAccount(accountId);
  try {
    let position = await options.position();
    while (!signal.aborted && !feed.closed) {
      await watcher.waker.wait(lookMs, signal);
      if (signal.aborted) return;
      const ids = [...watcher.changed];
      const open = watcher.missed;
      watcher.changed.clear();
      watcher.missed = false;
      const look = await options.look({ after: position, open });
      position = look.position;
      const found = new Map(look.jobs.map((job) => [job.id, job]));
      const asked = ids.filter((id) => !found.has(id));
      for (const job of asked.length === 0 ? [] : await options.read(asked)) found.set(job.id, job);
      for (const [id, job] of found) yield { id, job };
      for (const id of asked) if (!found.has(id)) yield { id, job: null };
    }
  } finally {
    close();
  }
}
