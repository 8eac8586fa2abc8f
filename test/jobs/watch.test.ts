import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Account } from '../../src/store/types.ts';
import { createStore } from '../../src/store/index.ts';
import { AsyncEvent } from '../../src/store/async-event.ts';
import { JobFeed } from '../../src/store/job-feed.ts';
import { type AccountQueries, AccountWatch } from '../../src/store/watch-account.ts';
import { watchJob } from '../../src/store/watch-job.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
  account = await fundedAccount(world.store, 3000);
});
afterAll(() => world.close());

const create = async () => (await world.store.jobs.create(jobInput(account))).job.id;
const acquire = async (id: string) => (await world.store.leases.acquire(id, 'ingest', 'w', 60))!.fence;
const never = new AbortController().signal;

/** Follows a job; `seen` grows as it changes, `ended` resolves when the watch is over. */
function follow(id: string, { signal = never, who = account.id, store = world.store } = {}) {
  const seen: string[] = [];
  const run = async () => {
    for await (const job of store.jobs.watch(who, 'live', id, signal)) seen.push(view(job));
  };
  return { seen, ended: run() };
}
/** sees changes by notifications alone */
const neverPolling = () => createStore({ url: world.url, feed: { pollIntervalMs: 2 ** 31 - 1 } });
const view = (job: JobRecord) => `${job.status} ${job.progress}`;

describe('watching a job', () => {
  it('shows it at once and after every change, and ends with it', async () => {
    const id = await create();
    const store = neverPolling();
    const { seen, ended } = follow(id, { store });
    await eventually(() => seen.length === 1);
    const fence = await acquire(id);
    await eventually(() => seen.length === 2);
    await world.store.leases.progress(fence, { fraction: 0.25, etaSeconds: 3 }, 60);
    await eventually(() => seen.length === 3);
    await world.store.leases.fail(fence, { code: 'unreadable_video', message: 'No.' });
    await ended;
    await store.close();
    expect(seen).toEqual(['queued 0', 'running 0', 'running 0.25', 'error 0.25']);
  });

  it('shows a new remaining time without progress, as in an attempt that does work again', async () => {
    const id = await create();
    const store = neverPolling();
    const fence = await acquire(id);
    await world.store.leases.progress(fence, { fraction: 0.5, etaSeconds: 30 }, 60);
    const stop = new AbortController();
    const seen: (number | null)[] = [];
    const ended = (async () => {
      for await (const { etaSeconds } of store.jobs.watch(account.id, 'live', id, stop.signal)) seen.push(etaSeconds);
    })();
    await eventually(() => seen.length === 1);
    await world.store.leases.progress(fence, { fraction: 0.25, etaSeconds: 90 }, 60);
    await eventually(() => seen.length === 2);
    stop.abort();
    await ended;
    await store.close();
    expect(seen).toEqual([30, 90]);
  });

  it('ends with the deletion, at once for a job that is over, and for jobs of others', async () => {
    const id = await create();
    const { seen, ended } = follow(id);
    await eventually(() => seen.length === 1);
    await world.store.jobs.delete(account.id, 'live', id);
    await ended;
    const after = follow(id);
    await after.ended;
    expect([...seen, ...after.seen]).toEqual(['queued 0']);
    const other = follow(await create(), { who: 'acct_00000000000000000000000000' });
    await other.ended;
    expect(other.seen).toEqual([]);
  });

  it('just ends when the signal fires', async () => {
    const stop = new AbortController();
    const { seen, ended } = follow(await create(), { signal: stop.signal });
    await eventually(() => seen.length === 1);
    stop.abort();
    await ended;
  });

  it('needs one connection for a hundred watchers', async () => {
    const stop = new AbortController();
    const ids = await Promise.all(Array.from({ length: 20 }, create));
    const watchers = Array.from({ length: 100 }, (_, n) => follow(ids[n % 20]!, { signal: stop.signal }));
    await eventually(() => watchers.every(({ seen }) => seen.length === 1));
    const [count] = await world.sql`SELECT count(*)::int AS listening FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'reelmend-feed'`;
    expect(count).toEqual({ listening: 1 });
    await Promise.all(ids.map(acquire));
    await eventually(() => watchers.every(({ seen }) => seen.length === 2));
    stop.abort();
    await Promise.all(watchers.map(({ ended }) => ended));
  });

  it('goes on when its connection is cut', async () => {
    const id = await create();
    const store = neverPolling();
    const { seen, ended } = follow(id, { store });
    await eventually(() => seen.length === 1);
    await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'reelmend-feed'`;
    const fence = await acquire(id);
    await eventually(() => seen.length === 2);
    await world.store.leases.fail(fence, { code: 'unreadable_video', message: 'No.' });
    await ended;
    await store.close();
    expect(seen.at(-1)).toBe('error 0');
  });

  it('one poll for all watchers finds changes without a notification', async () => {
    const url = world.url;
    const { job } = await world.store.jobs.create(jobInput(account));
    let state = 'queued 0';
    let polls = 0;
    const poll = async (ids: string[]) => {
      polls += 1;
      return new Map(ids.map((id) => [id, state]));
    };
    const feed = new JobFeed({ url, poll, pollIntervalMs: 50 });
    const stop = new AbortController();
    let reads = 0;
    const read = async () => {
      reads += 1;
      return { ...job, progress: state === 'queued 0' ? 0 : 0.5 };
    };
    const seen = Array.from({ length: 100 }, () => 0);
    const watchers = seen.map(async (_, n) => {
      for await (const _job of watchJob({ feed, jobId: job.id, read, signal: stop.signal })) seen[n]! += 1;
    });
    await eventually(() => polls > 10);
    // At the start, once the connection listens, and at the first poll; never again while nothing changes.
    expect(reads).toBeLessThanOrEqual(300);
    state = 'running 0.5';
    await eventually(() => seen.every((count) => count === 2));
    stop.abort();
    await Promise.all(watchers);
    const before = polls;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(polls).toBeLessThanOrEqual(before + 1);
    await feed.close();
  });

  it('a wait that times out leaves no listener behind', async () => {
    const feed = new JobFeed({ url: world.url, poll: async () => new Map() });
    const stop = new AbortController();
    let polls = 0;
    const poll = async () => {
      polls += 1;
      return { changed: [], jobs: [], position: 0 };
    };
    const watch = new AccountWatch({ feed, pollIntervalMs: 5, queries: { position: async () => 0, read: async () => [], poll } });
    const run = async () => {
      for await (const _change of watch.watch(account.id, stop.signal)) break;
    };
    const ended = run();
    await eventually(() => polls > 20);
    expect(getEventListeners(stop.signal, 'abort').length).toBeLessThanOrEqual(1);
    stop.abort();
    await ended;
    await feed.close();
  });

  it('a change that a poll reads before its notification arrives is reported once', async () => {
    const event = new AsyncEvent();
    const heard = [[], ['job_a'], ['job_a'], ['job_b']];
    const states = ['done', 'done', 'deleted soon', 'new'];
    let turn = -1;
    const queries: AccountQueries<{ id: string; state: string }> = {
      position: async () => 0,
      read: async (_, ids) => ids.map((id) => ({ id, state: states[turn]! })),
      poll: async () => ({ changed: turn === 0 ? ['job_a'] : [], jobs: [], position: 0 }),
    };
    const subscription = { event, takeChanges: () => ({ ids: heard[++turn] ?? [], missed: false }), close() {} };
    const feed = { closed: false, subscribeAccount: () => subscription } as unknown as JobFeed;
    const seen: string[] = [];
    for await (const { id, job } of new AccountWatch({ feed, queries, pollIntervalMs: 20 }).watch(account.id, never)) {
      seen.push(`${id} ${job?.state}`);
      if (id === 'job_b') break;
    }
    expect(seen).toEqual(['job_a done', 'job_a deleted soon', 'job_b new']);
  });

  it('jobs that change unheard are polled from the database', async () => {
    const store = createStore({ url: world.url, feed: { pollIntervalMs: 100 } });
    const id = await create();
    const seen: string[] = [];
    const run = async () => {
      for await (const job of store.jobs.watch(account.id, 'live', id, never)) seen.push(view(job));
    };
    const ended = run();
    await eventually(() => seen.length === 1);
    await world.sql`ALTER TABLE jobs DISABLE TRIGGER jobs_changed`;
    try {
      await acquire(id);
      await eventually(() => seen.length === 2);
      await world.store.jobs.delete(account.id, 'live', id);
      await ended;
    } finally {
      await world.sql`ALTER TABLE jobs ENABLE TRIGGER jobs_changed`;
      await store.close();
    }
    expect(seen).toEqual(['queued 0', 'running 0']);
  });
});

/** Queries of an account without a database: a test decides what they find, and counts them. */
function countedQueries(find: { jobs: { id: string }[]; failure?: Error }) {
  const count = { positions: 0, polls: 0 };
  const queries: AccountQueries<{ id: string }> = {
    position: async () => {
      count.positions += 1;
      return 0;
    },
    read: async () => [],
    poll: async () => {
      count.polls += 1;
      if (find.failure) throw find.failure;
      return { changed: [], jobs: find.jobs.splice(0), position: 0 };
    },
  };
  return { queries, count };
}

describe('watching an account', () => {
  it('polls once for all watchers of the account, and not after the last has left', async () => {
    const feed = new JobFeed({ url: world.url, poll: async () => new Map() });
    const found: { id: string }[] = [];
    const { queries, count } = countedQueries({ jobs: found });
    const watch = new AccountWatch({ feed, queries, pollIntervalMs: 50 });
    const stop = new AbortController();
    const seen: string[][] = Array.from({ length: 20 }, () => []);
    const start = performance.now();
    const watchers = seen.map(async (ids) => {
      for await (const { id } of watch.watch(account.id, stop.signal)) ids.push(id);
    });
    await eventually(() => count.polls > 4);
    found.push({ id: 'job_new' });
    await eventually(() => seen.every((ids) => ids.length === 1));
    // One more than the time allows: the connection that begins to listen causes a poll too.
    expect(count.polls).toBeLessThanOrEqual(Math.ceil((performance.now() - start) / 50) + 1);
    expect(count.positions).toBe(1);
    stop.abort();
    await Promise.all(watchers);
    const { polls } = count;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(count.polls).toBeLessThanOrEqual(polls + 1);
    await feed.close();
  });

  it('throws for every watcher when a query fails, and starts anew with the next', async () => {
    const feed = new JobFeed({ url: world.url, poll: async () => new Map() });
    const state: { jobs: { id: string }[]; failure?: Error } = { jobs: [], failure: new Error('away') };
    const watch = new AccountWatch({ feed, queries: countedQueries(state).queries, pollIntervalMs: 10 });
    const stop = new AbortController();
    const first = async () => (await watch.watch(account.id, stop.signal).next()).value;
    await Promise.all([1, 2].map(() => expect(first()).rejects.toThrow('away')));
    delete state.failure;
    state.jobs.push({ id: 'job_new' });
    expect(await first()).toEqual({ id: 'job_new', job: { id: 'job_new' } });
    await feed.close();
  });

  it('shows the newest open jobs when notifications were lost', async () => {
    const crowded = await fundedAccount(world.store, 100_000);
    const ids: string[] = [];
    for (let n = 0; n < 205; n += 1) ids.push((await world.store.jobs.create(jobInput(crowded))).job.id);
    const stop = new AbortController();
    const seen = new Set<string>();
    const watched = (async () => {
      for await (const { id } of world.store.consoleJobs.watch(crowded.id, stop.signal)) seen.add(id);
    })();
    await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'reelmend-feed'`;
    await eventually(() => seen.size > 0);
    expect([...seen].sort()).toEqual(ids.sort().slice(-200));
    stop.abort();
    await watched;
  });

  it('shows jobs that ended or were deleted while notifications were lost', async () => {
    const account = await fundedAccount(world.store, 3000);
    const open = async () => (await world.store.jobs.create(jobInput(account))).job.id;
    const [failing, deleted] = [await open(), await open()];
    const fence = await acquire(failing);
    const stop = new AbortController();
    const seen = new Map<string, string | null>();
    const watched = (async () => {
      for await (const { id, job } of world.store.consoleJobs.watch(account.id, stop.signal)) seen.set(id, job?.status ?? null);
    })();
    const known = newId('job');
    await eventually(async () => {
      await world.sql`SELECT pg_notify('reelmend_jobs', ${`${known} ${account.id}`})`;
      return seen.has(known);
    });
    await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'reelmend-feed'`;
    await world.store.leases.fail(fence, { code: 'unreadable_video', message: 'No.' });
    await world.store.jobs.delete(account.id, 'live', deleted);
    await eventually(() => seen.get(failing) === 'error' && seen.get(deleted) === null);
    stop.abort();
    await watched;
  });

  it('shows a job whose id was drawn earlier and that was committed later', async () => {
    const account = await fundedAccount(world.store, 3000);
    const stop = new AbortController();
    const seen: string[] = [];
    const watched = (async () => {
      for await (const { id } of world.store.consoleJobs.watch(account.id, stop.signal)) seen.push(id);
    })();
    // A watch that has begun shows a job that was notified; jobs that are created while it begins may escape it.
    const known = newId('job');
    await eventually(async () => {
      await world.sql`SELECT pg_notify('reelmend_jobs', ${`${known} ${account.id}`})`;
      return seen.includes(known);
    });
    const idempotency = { key: 'order-29', fingerprint: 'f'.repeat(64) };
    const holder = newId('job');
    let earlier: Promise<string> | undefined;
    let later = '';
    // The first creation has its id and waits, in its transaction, for a request with the same Idempotency-Key.
    const rolledBack = world.sql.begin(async (tx) => {
      await tx`INSERT INTO idempotency_keys (account_id, mode, key, fingerprint, job_id, expires_at)
        VALUES (${account.id}, 'live', ${idempotency.key}, ${idempotency.fingerprint}, ${holder}, now() + interval '1 day')`;
      earlier = world.store.jobs.create(jobInput(account, { idempotency })).then(({ job }) => job.id);
      await eventually(async () => {
        const waiting = await world.sql`SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%create_job%'`;
        return waiting.length > 0;
      });
      later = (await world.store.jobs.create(jobInput(account))).job.id;
      await eventually(() => seen.includes(later));
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    const id = await earlier!;
    expect(id < later).toBe(true);
    await eventually(() => seen.includes(id));
    stop.abort();
    await watched;
    expect(seen.filter((other) => other !== known)).toEqual([later, id]);
  });
});
