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

/** Keeps the stream open while a user is signed in. Returns false after a few seconds without the service. */
export function useJobStream(): boolean {
  const client = useQueryClient();
  const { user } = useSession();
  const [isReachable, setReachable] = useState(true);
  useEffect(() => {
    let close: () => void;
    let lost = 0;
    let reopening = 0;
    let wasOpen = false;
    /** Number of times that the stream was opened or closed: what was asked before says nothing of now. */
    let turns = 0;
    const onOpen = () => {
      turns += 1;
      clearTimeout(lost);
      lost = 0;
      setReachable(true);
      if (wasOpen) refreshAfterGap(client);
      wasOpen = true;
      void client.refetchQueries({ predicate: ({ queryKey, state }) => state.status === 'error' && !(queryKey[0] === 'jobs' && state.data !== undefined) });
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
      setReachable(isUp);
    };
    const open = () => {
      close = openStream(client, { onOpen, onGap, onRefused });
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
    // Another window may have signed in as somebody else. The session that opened the stream goes on nevertheless, and with it its events.
  }, [client, user.id]);
  return isReachable;
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
  let timer = 0;
  const note = (id: string, job: ConsoleJob | null) => {
    pending.set(id, job);
    noteForLoads(id, job);
    timer ||= window.setTimeout(() => {
      timer = 0;
      const changes = new Map(pending);
      pending.clear();
      applyChanges(client, changes);
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

/** Jobs may have changed, ended or been deleted unnoticed. */
function refreshAfterGap(client: QueryClient): void {
  for (const queryKey of [['job'], ...queriesOfEnds]) void client.invalidateQueries({ queryKey });
}

function applyChanges(client: QueryClient, changes: Changes): void {
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
  if (settled) {
    for (const queryKey of queriesOfEnds) void client.invalidateQueries({ queryKey });
  }
}

function withProgress(detail: ConsoleJobDetail, job: ConsoleJob): ConsoleJobDetail {
  const { progress, eta_seconds, started_at } = job;
  return { ...detail, job: { ...detail.job, progress, eta_seconds, started_at } };
}
