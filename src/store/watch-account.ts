/**
 * Watches all jobs of an account. However many watchers an account has in this process, one poller reads for all of them:
 * its queries do not grow with the number of open console pages.
 */
import { isDeepStrictEqual } from 'node:util';
import { AsyncEvent } from './async-event.ts';
import type { JobFeed } from './job-feed.ts';

export interface AccountQueries<Job extends { id: string }> {
  /** reads those of the jobs that exist and belong to the account */
  read(accountId: string, jobIds: string[]): Promise<Job[]>;
  /** sequence of the newest entry of the account's audit log; 0 for an empty log */
  position(accountId: string): Promise<number>;
  /** ids of the jobs that the log says were created, started, ended or deleted after that sequence; with `open` also all jobs that have not ended */
  poll(accountId: string, query: { after: number; open: boolean }): Promise<{ changed: string[]; jobs: Job[]; position: number }>;
}

export interface AccountWatchOptions<Job extends { id: string }> {
  feed: JobFeed;
  queries: AccountQueries<Job>;
  /** ms between two polls for jobs that no notification has reported; default 3000 */
  pollIntervalMs?: number;
}

/** `job` is null if it was deleted. */
export interface JobChange<Job> {
  id: string;
  job: Job | null;
}

const defaultPollIntervalMs = 3000;

/** One watcher's pending changes, with the latest state of each job. */
interface Inbox<Job> {
  event: AsyncEvent;
  changes: Map<string, Job | null>;
}

interface Poller<Job> {
  inboxes: Set<Inbox<Job>>;
  /** fires when the last watcher has left */
  abort: AbortController;
  /** settles when the poller ends; rejects if one of its queries failed */
  ended: Promise<void>;
  running: boolean;
}

/**
 * Watches the jobs of accounts. New jobs are found by polling: a notification for every creation would slow down each
 * of them. So are jobs that ended or were deleted while notifications were lost. The cursor is the sequence of the audit
 * log, whose numbers become visible in order. Job ids do not: a job with an earlier id may be committed later.
 */
export class AccountWatch<Job extends { id: string }> {
  readonly #options: Required<AccountWatchOptions<Job>>;
  readonly #pollers = new Map<string, Poller<Job>>();

  constructor(options: AccountWatchOptions<Job>) {
    this.#options = { pollIntervalMs: defaultPollIntervalMs, ...options };
  }

  /**
   * Yields every job of the account that is created or changes from now on. Ends with the signal or the feed. Throws if a
   * query failed.
   */
  async *watch(accountId: string, signal: AbortSignal): AsyncGenerator<JobChange<Job>> {
    const inbox: Inbox<Job> = { event: new AsyncEvent(), changes: new Map() };
    const poller = this.#join(accountId, inbox);
    try {
      while (!signal.aborted && poller.running) {
        await inbox.event.wait(signal);
        const changes = [...inbox.changes];
        inbox.changes.clear();
        for (const [id, job] of changes) if (!signal.aborted) yield { id, job };
      }
      if (!signal.aborted) await poller.ended;
    } finally {
      poller.inboxes.delete(inbox);
      if (poller.inboxes.size === 0) this.#stop(accountId, poller);
    }
  }

  #join(accountId: string, inbox: Inbox<Job>): Poller<Job> {
    const known = this.#pollers.get(accountId);
    if (known !== undefined) {
      known.inboxes.add(inbox);
      return known;
    }
    const poller: Poller<Job> = {
      inboxes: new Set([inbox]),
      abort: new AbortController(),
      ended: Promise.resolve(),
      running: true,
    };
    this.#pollers.set(accountId, poller);
    poller.ended = this.#run(accountId, poller).finally(() => {
      this.#stop(accountId, poller);
      for (const { event } of poller.inboxes) event.set();
    });
    // Each watcher throws the error itself.
    poller.ended.catch(() => {});
    return poller;
  }

  #stop(accountId: string, poller: Poller<Job>): void {
    poller.running = false;
    poller.abort.abort();
    if (this.#pollers.get(accountId) === poller) this.#pollers.delete(accountId);
  }

  async #run(accountId: string, poller: Poller<Job>): Promise<void> {
    const { feed, queries, pollIntervalMs } = this.#options;
    const subscription = feed.subscribeAccount(accountId);
    try {
      let position = await queries.position(accountId);
      let before = new Map<string, Job | null>();
      while (poller.running && !feed.closed) {
        await subscription.event.wait(poller.abort.signal, pollIntervalMs);
        if (!poller.running || feed.closed) return;
        const { ids, missed } = subscription.takeChanges();
        const polled = await queries.poll(accountId, { after: position, open: missed });
        position = polled.position;
        const changes = await this.#merge(accountId, polled.jobs, [...new Set([...ids, ...polled.changed])]);
        // The poll may read a change just before its notification arrives.
        deliver(poller, new Map([...changes].filter(([id, job]) => !before.has(id) || !isDeepStrictEqual(before.get(id), job))));
        before = changes;
      }
    } finally {
      subscription.close();
    }
  }

  /** The polled jobs and those that changed; a changed job that is not found was deleted. */
  async #merge(accountId: string, polled: Job[], changed: string[]): Promise<Map<string, Job | null>> {
    const changes = new Map<string, Job | null>(polled.map((job) => [job.id, job]));
    const unread = changed.filter((id) => !changes.has(id));
    if (unread.length === 0) return changes;
    for (const job of await this.#options.queries.read(accountId, unread)) changes.set(job.id, job);
    for (const id of unread) if (!changes.has(id)) changes.set(id, null);
    return changes;
  }
}

function deliver<Job>(poller: Poller<Job>, changes: Map<string, Job | null>): void {
  if (changes.size === 0) return;
  for (const inbox of poller.inboxes) {
    for (const [id, job] of changes) inbox.changes.set(id, job);
    inbox.event.set();
  }
}
