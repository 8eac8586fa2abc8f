/** One job: progress, result, timeline and charges; also cancels or deletes it. */
import { Download, Trash2 } from 'lucide-react';
import { type MouseEvent, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { ConsoleJobDetail, ConsoleLink, ConsoleTimelineEvent, JobDeletion } from '../../contract/types.gen.ts';
import { isGone } from '../api/client.ts';
import { fetchLinks, isOpen, useDeleteJob, useJob, useLinks } from '../api/jobs.ts';
import { creditsInDollars, formatCount, formatDateTimeFull, formatMoment, formatPercent, formatSigned, formatTarget, formatTimeLeft } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Failed, Notice, ProgressBar, Skeleton } from '../ui/feedback.tsx';
import { StatusLine } from '../ui/job-status.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { SegmentBar } from '../ui/segment-bar.tsx';
import { num, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { announce, toast, toastFailure } from '../ui/toasts.tsx';
import { BeforeAfter } from '../viewer/before-after.tsx';
import { haveLinksEnded } from '../viewer/lost-video.tsx';
import { DeletedJob } from './job-deleted.tsx';
import { EnhanceAgain } from './enhance-again.tsx';
import { JobFacts } from './job-facts.tsx';

const back = { href: '/jobs', label: 'Jobs' };

export function JobPage({ id }: { id: string }) {
  const query = useJob(id);
  const [deletion, setDeletion] = useState<JobDeletion | null>(null);
  if (deletion !== null || isGone(query.error)) return <DeletedJob id={id} deletion={deletion} detail={query.data} />;
  const detail = query.data;
  // One page, which takes the focus once, for what is loading and what is loaded.
  return (
    <Page
      title={detail === undefined ? 'Job' : detail.source_name || 'Video'}
      back={back}
      intro={detail && <StatusLine of={detail.job} mode={detail.mode} what="job" />}
      actions={detail && <Actions detail={detail} onDeleted={setDeletion} />}
    >
      {detail !== undefined && <LoadedJob detail={detail} />}
      {detail === undefined && (
        <div className="panel">{query.isPending ? <Skeleton lines={6} /> : <Failed error={query.error} onRetry={() => void query.refetch()} />}</div>
      )}
    </Page>
  );
}

/** Screen readers hear how the job of an open page ends: what shows it is no answer to an action, and has no focus. */
function useHeardEnd({ status, error }: ConsoleJobDetail['job']): void {
  const before = useRef(status);
  useEffect(() => {
    if (isOpen(before.current) && !isOpen(status)) announce(error === null ? 'The job is done.' : `The job failed. ${error.message}`);
    before.current = status;
  }, [status, error]);
}

function LoadedJob({ detail }: { detail: ConsoleJobDetail }) {
  const { job } = detail;
  useHeardEnd(job);
  return (
    <>
      {isOpen(job.status) && <RunningJob detail={detail} />}
      {job.error !== null && <JobFailure detail={detail} />}
      {job.status === 'done' && <Viewer detail={detail} />}
      {job.status === 'done' && <Pictures detail={detail} />}
      <div className="halves">
        <JobFacts detail={detail} />
        <div className="stack-l">
          <Timeline events={detail.timeline} />
          <Charges detail={detail} />
        </div>
      </div>
    </>
  );
}

function save({ url, file_name }: { url: string; file_name: string }): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = file_name;
  link.click();
}

/** What the open dialog asks. A job that ends is no longer to be cancelled: the same button would delete its result. */
function useAsking(running: boolean) {
  const [asking, setAsking] = useState<'cancel' | 'delete' | null>(null);
  const isOver = asking === 'cancel' && !running;
  useEffect(() => {
    if (!isOver) return;
    setAsking(null);
    toast('The job has ended meanwhile.', 'bad');
  }, [isOver]);
  return [isOver ? null : asking, setAsking] as const;
}

function Actions({ detail, onDeleted }: { detail: ConsoleJobDetail; onDeleted: (deletion: JobDeletion) => void }) {
  const { job } = detail;
  const running = isOpen(job.status);
  const [asking, setAsking] = useAsking(running);
  const deleteJob = useDeleteJob();
  const download = () =>
    toastFailure(async () => {
      // Links expire after an hour, so each download gets a fresh one.
      const { result } = await fetchLinks(job.id);
      if (result === null) return toast('There is no result to download.', 'bad');
      save(result);
    });
  return (
    <>
      {job.status === 'done' && (
        <Button tone="primary" onClick={() => void download()}>
          <Download size={15} aria-hidden="true" />
          Download
        </Button>
      )}
      {!running && <EnhanceAgain detail={detail} />}
      <Button tone="danger" onClick={() => setAsking(running ? 'cancel' : 'delete')}>
        <Trash2 size={15} aria-hidden="true" />
        {running ? 'Cancel' : 'Delete'}
      </Button>
      {asking !== null && (
        <ConfirmDialog
          title={running ? 'Cancel this job?' : 'Delete this job?'}
          action={running ? 'Cancel the job' : 'Delete permanently'}
          danger
          onClose={() => setAsking(null)}
          onConfirm={async () => onDeleted(await deleteJob(job.id))}
        >
          <p>{deletionText(detail)}</p>
          {job.tier === 'secure' && <p>The service issues a signed certificate once the storage has confirmed that every file is gone.</p>}
        </ConfirmDialog>
      )}
    </>
  );
}

function deletionText({ job }: ConsoleJobDetail): string {
  if (job.status === 'queued') return `It has not started. ${job.sandbox ? 'Test jobs are free.' : 'All its credits are refunded.'}`;
  if (job.status === 'running') return `Processing stops. ${job.sandbox ? 'Test jobs are free.' : 'The unprocessed seconds are refunded.'}`;
  return 'The source and the enhanced video are deleted immediately. This cannot be undone.';
}

function RunningJob({ detail: { job, segments } }: { detail: ConsoleJobDetail }) {
  const timeLeft = formatTimeLeft(job);
  return (
    <div className="panel panel-body stack-s" aria-live="off">
      <div className="row spread">
        <h2>{job.status === 'queued' ? 'Waiting for a free worker' : `Enhancing to ${formatTarget(job.resolution)}`}</h2>
        <span className="num muted">
          {formatPercent(job.progress)}
          {timeLeft !== null && ` · about ${timeLeft}`}
        </span>
      </div>
      {segments.length === 0 ? <ProgressBar value={job.progress} label="Progress of the job" /> : <SegmentBar value={job.progress} segments={segments} />}
    </div>
  );
}

function JobFailure({ detail: { job, error_help: help } }: { detail: ConsoleJobDetail }) {
  return (
    <Notice tone="bad" title={job.error?.message ?? 'The job failed.'}>
      {help !== null && <span>{help}</span>}
      <span className="small muted">
        <code>{job.error?.code}</code>
        {job.credits_refunded > 0 && ` · ${formatCount(job.credits_refunded)} credits were refunded`}
      </span>
    </Notice>
  );
}

function Viewer({ detail }: { detail: ConsoleJobDetail }) {
  const { job } = detail;
  const links = useLinks(job.id, true);
  const size = job.output ?? { width: 16, height: 9 };
  if (links.isPending) return <div className="panel"><Skeleton lines={6} /></div>;
  const result = links.data?.result ?? null;
  if (result === null) return <div className="panel"><Failed error={links.error ?? new Error('There is no link to the result.')} onRetry={() => void links.refetch()} /></div>;
  return (
    <div className="panel panel-body">
      <BeforeAfter
        before={links.data?.source?.url ?? null}
        after={result.url}
        frameRate={job.source?.frame_rate ?? 0}
        width={size.width}
        height={size.height}
        beforeLabel={job.source === null ? 'source' : `${job.source.width} × ${job.source.height}`}
        afterLabel={`${size.width} × ${size.height}`}
        links={{
          hasEnded: () => haveLinksEnded(links.dataUpdatedAt, result.expires_in),
          renew: () => links.refetch({ throwOnError: true }),
        }}
      />
      {links.data?.source === null && (
        <p className="viewer-note">
          {job.sandbox ? (
            <>
              Test mode fetches no source. This is the result of a bundled clip, the same for every test job. <Link href="/example">See a clip before and after</Link>
            </>
          ) : (
            'The source is not stored, so only the result is shown.'
          )}
        </p>
      )}
    </div>
  );
}

/** The poster and the thumbnails, if the job asked for any. */
function Pictures({ detail: { job } }: { detail: ConsoleJobDetail }) {
  const { data, dataUpdatedAt } = useLinks(job.id, true);
  const pictures = data?.pictures ?? [];
  const saveAgain = (name: string) =>
    toastFailure(async () => {
      const fresh = (await fetchLinks(job.id)).pictures.find(({ link }) => link.file_name === name);
      if (fresh === undefined) return toast('There is no such picture.', 'bad');
      save(fresh.link);
    });
  const download = (event: MouseEvent, { file_name: name, expires_in: seconds }: ConsoleLink) => {
    if (!haveLinksEnded(dataUpdatedAt, seconds)) return;
    event.preventDefault();
    void saveAgain(name);
  };
  if (pictures.length === 0) return null;
  return (
    <Panel title="Pictures">
      <ul className="pictures">
        {pictures.map(({ kind, time, width, height, link }) => (
          <li key={link.file_name}>
            <a href={link.url} download={link.file_name} onClick={(event) => download(event, link)}>
              <img src={link.url} width={width} height={height} loading="lazy" alt={`${kind === 'poster' ? 'Poster' : 'Thumbnail'}, ${time.toFixed(1)} s`} />
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Joins consecutive events with the same text, such as one link after another. */
function gather(events: readonly ConsoleTimelineEvent[]): { event: ConsoleTimelineEvent; times: number }[] {
  const gathered: { event: ConsoleTimelineEvent; times: number }[] = [];
  for (const event of events) {
    const last = gathered.at(-1);
    if (last !== undefined && last.event.text === event.text) gathered[gathered.length - 1] = { event, times: last.times + 1 };
    else gathered.push({ event, times: 1 });
  }
  return gathered;
}

function Timeline({ events }: { events: readonly ConsoleTimelineEvent[] }) {
  return (
    <Panel title="Timeline">
      {events.length === 0 && <p className="muted">Nothing has happened yet.</p>}
      <ol className="timeline">
        {gather(events).map(({ event, times }) => (
          <li key={event.at + event.kind} className={event.kind.endsWith('.failed') ? 'bad' : undefined}>
            <span className="wrap-anywhere">
              {event.text}
              {times > 1 && <span className="muted"> {times} times; this is the last one.</span>}
            </span>
            <time className="small muted num nowrap" dateTime={event.at} title={formatDateTimeFull(event.at)}>
              {formatMoment(event.at, events[0]?.at)}
            </time>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Charges({ detail: { job, charges } }: { detail: ConsoleJobDetail }) {
  const net = job.credits_charged - job.credits_refunded;
  if (charges.length === 0) {
    return (
      <Panel title="Charges">
        <p className="muted">{job.sandbox ? 'Test jobs are free.' : 'Nothing was charged.'}</p>
      </Panel>
    );
  }
  return (
    <Panel title="Charges" flush foot={<span className="num">Cost {creditsInDollars(net)} · {formatCount(net)} credits</span>}>
      <Table columns={['Kind', num('Credits'), num('Balance'), num('When')]}>
        {charges.map((charge) => (
          <tr key={charge.id}>
            <td data-label="Kind">{charge.kind === 'charge' ? 'Charge' : 'Refund'}</td>
            <td data-label="Credits" className="num">{formatSigned(charge.amount)}</td>
            <td data-label="Balance" className="num">{formatCount(charge.balance)}</td>
            <td data-label="When" className="num small muted">
              <Ago at={charge.at} />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
