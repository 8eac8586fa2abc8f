/**
 * Changes of jobs as they happen: one connection of this process LISTENs for all its watchers. One query for all
 * watched jobs also looks now and then, so that a notification lost with the connection delays them and no more.
 */
import pg from 'pg';
import type { JobRecord } from '../domain/job.ts';
import { isFinal } from '../domain/transitions.ts';

const channel = 'reelmend_jobs';
const reconnectMs = 1000;
/** ms between two polls of all watched jobs */
const defaultPollMs = 5000;

/** Wakes whoever waits for one job. A wake that comes while nobody waits is kept. */
class Waker {
  #woken = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  /** Resolves at a wake, when the signal fires, or after `ms` if that is given. */
  async wait(signal: AbortSignal, ms?: number): Promise<void> {
    if (!this.#woken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = ms === undefined ? undefined : setTimeout(done, ms);
        this.#resolve = done;
        signal.addEventListener('abort', done, { once: true });
      });
    }
    this.#resolve = undefined;
    this.#woken = false;
  }
}

/** One LISTEN connection, opened with the first watcher and kept; made anew whenever it is lost. */
export interface JobFeedOptions {
  /** postgres:// URL */
  url: string;
  /** what changes about each of the jobs, in one text; jobs that are gone are left out */
  poll(jobIds: string[]): Promise<Map<string, string>>;
  /** ms between two polls; default 5000 */
  pollMs?: number;
}

export class JobFeed {
  readonly #url: string;
  readonly #poll: JobFeedOptions['poll'];
  readonly #pollMs: number;
  #pollTimer: NodeJS.Timeout | undefined;
  /** of each watched job what the last poll saw */
  #seen = new Map<string, string | undefined>();
  readonly #watchers = new Map<string, Set<Waker>>();
  readonly #accounts = new Map<string, Set<AccountWatcher>>();
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #state: 'idle' | 'connecting' | 'listening' | 'closed' = 'idle';

  constructor({ url, poll, pollMs = defaultPollMs }: JobFeedOptions) {
    this.#url = url;
    this.#poll = poll;
    this.#pollMs = pollMs;
  }

  subscribe(jobId: string): { waker: Waker; close(): void } {
    const waker = new Waker();
    const wakers = this.#watchers.get(jobId) ?? new Set();
    this.#watchers.set(jobId, wakers.add(waker));
    void this.#connect();
    this.#pollLater();
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
    clearTimeout(this.#pollTimer);
    this.#wakeAll();
    await this.#client?.end().catch(() => {});
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  /** Polls as long as jobs are watched. */
  #pollLater(): void {
    if (this.#watchers.size === 0 || this.closed) return;
    this.#pollTimer ??= setTimeout(() => void this.#pollNow(), this.#pollMs).unref();
  }

  /** Wakes the watchers of the jobs that changed since the last poll, and of those that it sees for the first time. */
  async #pollNow(): Promise<void> {
    const ids = [...this.#watchers.keys()];
    try {
      const found = ids.length === 0 ? new Map<string, string>() : await this.#poll(ids);
      const known = this.#seen;
      this.#seen = new Map(ids.map((id) => [id, found.get(id)]));
      for (const id of ids) if (!known.has(id) || known.get(id) !== found.get(id)) this.#wake(id);
    } catch {
      // The database is away: the next poll tells.
    }
    this.#pollTimer = undefined;
    this.#pollLater();
  }

  async #connect(): Promise<void> {
    if (this.#state !== 'idle') return;
    this.#state = 'connecting';
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'reelmend-feed',
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
}

/** The job now and after every change of status or progress; ends with it, its deletion, the signal or the feed. */
export async function* watchJob({ feed, jobId, read, signal }: WatchOptions) {
  // Subscribed before the first look, so that no change falls between.
  const { waker, close } = feed.subscribe(jobId);
  try {
    for (let last: JobRecord | undefined; !signal.aborted && !feed.closed;) {
      const job = await read();
      if (job === null || signal.aborted) return;
      if (last?.status !== job.status || last.progress !== job.progress) yield job;
      if (isFinal(job.status)) return;
      last = job;
      await waker.wait(signal);
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
      await watcher.waker.wait(signal, lookMs);
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
