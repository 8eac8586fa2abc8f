/** The event stream of the account's jobs. Updates the queries that the page has loaded. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ConsoleJob, ConsoleJobDetail } from '../../contract/types.gen.ts';
import type { Changes } from './job-changes.ts';
import { jobKey } from './jobs.ts';
import { applyToLists, markStale, noteForLoads } from './live-jobs.ts';
import { sessionKey, useSession } from './session.ts';

const flushMs = 120;
/** The stream closes and reopens regularly. A longer gap means that the service cannot be reached. */
const longestGapMs = 4000;
const reopenMs = 3000;
const longestAnswerMs = 10_000;

/** Keeps the stream open while a user is signed in and sees the page. Returns false after a few seconds without the service. */
export function useJobStream(): boolean {
  const client = useQueryClient();
  const { user } = useSession();
  const [isReachable, setReachable] = useState(true);
  useEffect(() => {
    /** Changes may have been missed since the page was loaded. */
    let hasGap = document.hidden;
    return whileSeen(() =>
      followStream(client, {
        onReachable: setReachable,
        onOpen: () => {
          if (hasGap) refreshAfterGap(client);
          hasGap = true;
          void client.refetchQueries({ predicate: ({ queryKey, state }) => state.status === 'error' && !(queryKey[0] === 'jobs' && state.data !== undefined) });
        },
      }),
    );
    // Another window may have signed in as somebody else. The session that opened the stream goes on nevertheless, and with it its events.
  }, [client, user.id]);
  return isReachable;
}

/**
 * Calls `start` when the page is seen, and what that returned when it is hidden. Returns the function that ends this. Over HTTP/1.1,
 * browsers have six connections to a service for all their tabs: with as many open streams, a further tab would load nothing.
 */
function whileSeen(start: () => () => void): () => void {
  let stop: (() => void) | null = null;
  const end = () => {
    stop?.();
    stop = null;
  };
  const follow = () => {
    if (document.hidden) end();
    else stop ??= start();
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return () => {
    document.removeEventListener('visibilitychange', follow);
    end();
  };
}

interface Followers {
  onOpen: () => void;
  onReachable: (isReachable: boolean) => void;
}

/** Opens the stream, and opens it again when it was refused. Returns the function that ends it. */
function followStream(client: QueryClient, { onOpen, onReachable }: Followers): () => void {
  let close: () => void;
  let lost = 0;
  let reopening = 0;
  /** Number of times that the stream was opened or closed: what was asked before says nothing of now. */
  let turns = 0;
  const onOpened = () => {
    turns += 1;
    clearTimeout(lost);
    lost = 0;
    onReachable(true);
    onOpen();
  };
  const onGap = () => {
    // The service may refuse only the stream, for example to a user with too many pages.
    lost ||= window.setTimeout(() => void checkReachable(), longestGapMs);
  };
  const checkReachable = async () => {
    const turn = turns;
    const isUp = await answers();
    if (turn !== turns) return;
    lost = 0;
    onReachable(isUp);
  };
  const open = () => {
    close = openStream(client, { onOpen: onOpened, onGap, onRefused });
  };
  // The browser does not try again by itself. A session that has ended is noticed by its query.
  const onRefused = () => {
    void client.invalidateQueries({ queryKey: sessionKey });
    reopening = window.setTimeout(open, reopenMs);
  };
  open();
  return () => {
    turns += 1;
    close();
    clearTimeout(lost);
    clearTimeout(reopening);
  };
}

/** Whether the service responds at all, within a few seconds. A proxy responds with 502 or 503 if the service is down. */
async function answers(): Promise<boolean> {
  return fetch('/console/api/session', { cache: 'no-store', signal: AbortSignal.timeout(longestAnswerMs) }).then(
    ({ status }) => status < 500,
    () => false,
  );
}

interface StreamListeners {
  onOpen: () => void;
  /** the connection was lost; the browser reconnects */
  onGap: () => void;
  /** the service, or a proxy, responded with an error */
  onRefused: () => void;
}

/** Opens the stream and returns the function that closes it. Batches changes, so that a burst renders once. */
function openStream(client: QueryClient, { onOpen, onGap, onRefused }: StreamListeners): () => void {
  const source = new EventSource('/console/api/job-events');
  const pending = new Map<string, ConsoleJob | null>();
  const refreshEnds = refresherOfEnds(client);
  let timer = 0;
  const note = (id: string, job: ConsoleJob | null) => {
    pending.set(id, job);
    noteForLoads(id, job);
    timer ||= window.setTimeout(() => {
      timer = 0;
      const changes = new Map(pending);
      pending.clear();
      if (applyChanges(client, changes)) void refreshEnds();
    }, flushMs);
  };
  source.addEventListener('job', ({ data }: MessageEvent<string>) => {
    const job = JSON.parse(data) as ConsoleJob;
    note(job.id, job);
  });
  source.addEventListener('deleted', ({ data }: MessageEvent<string>) => {
    note((JSON.parse(data) as { id: string }).id, null);
  });
  // The stream misses changes from before it opened or reconnected, so what is shown of the lists is loaded again.
  source.onopen = () => {
    onOpen();
    void client.invalidateQueries({ queryKey: ['latest-jobs'] });
    markStale(client);
  };
  source.onerror = () => {
    onGap();
    if (source.readyState === EventSource.CLOSED) onRefused();
  };
  return () => {
    source.close();
    clearTimeout(timer);
  };
}

/** What belongs to a job that ends: the balance and the logs. */
const queriesOfEnds: readonly (readonly string[])[] = [sessionKey, ['ledger'], ['usage'], ['deliveries'], ['audit']];

const refreshAll = (client: QueryClient, keys: readonly (readonly string[])[]) => Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));

/** Jobs may have changed, ended or been deleted unnoticed. */
const refreshAfterGap = (client: QueryClient): void => void refreshAll(client, [['job'], ...queriesOfEnds]);

/** ms */
const leastPauseMs = 2000;

/**
 * Returns the function to call when jobs have ended. It refreshes one time after the other, with a pause: jobs may end many times in a
 * second, and their user's calls are limited.
 */
function refresherOfEnds(client: QueryClient): () => Promise<void> {
  let isWanted = false;
  let isRunning = false;
  return async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      await Promise.all([refreshAll(client, queriesOfEnds), new Promise((resolve) => setTimeout(resolve, leastPauseMs))]);
    }
    isRunning = false;
  };
}

/** Returns whether jobs have ended or were deleted. */
function applyChanges(client: QueryClient, changes: Changes): boolean {
  applyToLists(client, changes);
  let settled = false;
  for (const [id, job] of changes) {
    settled ||= job === null || job.status === 'done' || job.status === 'error';
    const detail = client.getQueryData<ConsoleJobDetail>(jobKey(id));
    if (detail === undefined) continue;
    if (job !== null) client.setQueryData(jobKey(id), withProgress(detail, job));
    // The timeline and the facts change only with the status.
    if (job === null || job.status !== detail.job.status) void client.invalidateQueries({ queryKey: jobKey(id) });
  }
  return settled;
}

function withProgress(detail: ConsoleJobDetail, job: ConsoleJob): ConsoleJobDetail {
  const { progress, eta_seconds, started_at } = job;
  return { ...detail, job: { ...detail.job, progress, eta_seconds, started_at } };
}
