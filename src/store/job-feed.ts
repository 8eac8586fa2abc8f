/**
 * Notifications about changed jobs. One connection per process LISTENs for all watchers. One query for all watched jobs
 * also polls every few seconds, so that a notification lost with the connection only delays its watchers.
 */
import { AsyncEvent } from './async-event.ts';
import { NotificationListener } from './notification-listener.ts';

const channel = 'reelmend_jobs';
const defaultPollIntervalMs = 5000;

export interface JobFeedOptions {
  /** postgres:// URL */
  url: string;
  /** returns the state of each job as one text that differs if the job changed; jobs that are gone are omitted */
  poll(jobIds: string[]): Promise<Map<string, string>>;
  /** ms between two polls of the watched jobs; default 5000 */
  pollIntervalMs?: number;
  /** as in NotificationListenerOptions */
  silenceTimeoutS?: number | undefined;
}

export interface JobSubscription {
  /** set when the job may have changed */
  event: AsyncEvent;
  close(): void;
}

export interface AccountSubscription {
  /** set if jobs of the account may have changed */
  event: AsyncEvent;
  /** jobs that changed since the last call; `missed`: notifications may have been lost as well */
  takeChanges(): { ids: string[]; missed: boolean };
  close(): void;
}

interface AccountListener {
  event: AsyncEvent;
  changed: Set<string>;
  missed: boolean;
}

/** The first subscription opens the connection; it is kept, and reopened if it is lost. */
export class JobFeed {
  readonly #listener: NotificationListener;
  readonly #poll: JobFeedOptions['poll'];
  readonly #pollIntervalMs: number;
  #pollTimer: NodeJS.Timeout | undefined;
  /** state of each watched job at the last poll */
  #polled = new Map<string, string | undefined>();
  readonly #jobs = new Map<string, Set<AsyncEvent>>();
  readonly #accounts = new Map<string, Set<AccountListener>>();

  constructor({ url, poll, pollIntervalMs = defaultPollIntervalMs, silenceTimeoutS }: JobFeedOptions) {
    this.#listener = new NotificationListener({
      url,
      channels: [channel],
      applicationName: 'reelmend-feed',
      silenceTimeoutS,
      onNotification: ({ payload }) => this.#onNotification(payload ?? ''),
      // Earlier changes sent no notification here.
      onListening: () => this.#wakeAll(),
      isNeeded: () => this.#jobs.size + this.#accounts.size > 0,
    });
    this.#poll = poll;
    this.#pollIntervalMs = pollIntervalMs;
  }

  subscribe(jobId: string): JobSubscription {
    const event = new AsyncEvent();
    const remove = addTo(this.#jobs, jobId, event);
    void this.#listener.open();
    this.#schedulePoll();
    return { event, close: remove };
  }

  subscribeAccount(accountId: string): AccountSubscription {
    const listener: AccountListener = { event: new AsyncEvent(), changed: new Set(), missed: false };
    const remove = addTo(this.#accounts, accountId, listener);
    void this.#listener.open();
    const takeChanges = () => {
      const changes = { ids: [...listener.changed], missed: listener.missed };
      listener.changed.clear();
      listener.missed = false;
      return changes;
    };
    return { event: listener.event, takeChanges, close: remove };
  }

  async close(): Promise<void> {
    const closed = this.#listener.close();
    clearTimeout(this.#pollTimer);
    this.#wakeAll();
    await closed;
  }

  get closed(): boolean {
    return this.#listener.closed;
  }

  /** Polls as long as jobs are watched. */
  #schedulePoll(): void {
    if (this.#jobs.size === 0 || this.closed) return;
    this.#pollTimer ??= setTimeout(() => void this.#pollNow(), this.#pollIntervalMs).unref();
  }

  /** Wakes the watchers of jobs that changed since the last poll, or were not in it. */
  async #pollNow(): Promise<void> {
    const ids = [...this.#jobs.keys()];
    try {
      const found = ids.length === 0 ? new Map<string, string>() : await this.#poll(ids);
      const before = this.#polled;
      this.#polled = new Map(ids.map((id) => [id, found.get(id)]));
      for (const id of ids) if (!before.has(id) || before.get(id) !== found.get(id)) this.#wake(id);
    } catch {
      // The database cannot be reached; the next poll finds the changes.
    }
    this.#pollTimer = undefined;
    this.#schedulePoll();
  }

  /** The payload is the job's id, a space and its account's id. */
  #onNotification(payload: string): void {
    const [jobId = '', accountId = ''] = payload.split(' ');
    this.#wake(jobId);
    for (const listener of this.#accounts.get(accountId) ?? []) {
      listener.changed.add(jobId);
      listener.event.set();
    }
  }

  #wake(jobId: string): void {
    for (const event of this.#jobs.get(jobId) ?? []) event.set();
  }

  /** Unknown jobs changed without a notification, so every watcher reads again. */
  #wakeAll(): void {
    for (const jobId of this.#jobs.keys()) this.#wake(jobId);
    for (const listener of [...this.#accounts.values()].flatMap((listeners) => [...listeners])) {
      listener.missed = true;
      listener.event.set();
    }
  }
}

/** Adds to the set under a key and returns the removal, which also drops an empty set. */
function addTo<T>(sets: Map<string, Set<T>>, key: string, value: T): () => void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(value));
  return () => {
    set.delete(value);
    if (set.size === 0 && sets.get(key) === set) sets.delete(key);
  };
}
