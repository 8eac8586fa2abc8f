/** The list of all jobs, with filters and live updates. Any length of list stays fast. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { Film, Search } from 'lucide-react';
import { memo, useDeferredValue, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { ConsoleJob, JobStatus, Mode } from '../../contract/types.gen.ts';
import { useFreshPages, useJobs } from '../api/job-list.ts';
import type { JobFilters } from '../api/jobs.ts';
import { formatCount, formatDuration, formatTarget, plural, shortId } from '../app/format.ts';
import { type FilterChange, oneOf, useUrlFilters } from '../app/url-filters.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Empty, Failed, Skeleton } from '../ui/feedback.tsx';
import { CompactSelect } from '../ui/field.tsx';
import { JobState, ModeBadge, TierBadge } from '../ui/job-status.tsx';
import { More } from '../ui/more.tsx';
import { Page } from '../ui/panel.tsx';
import { Ago } from '../ui/time.tsx';

export function JobsPage() {
  const [filters, setFilter] = useUrlFilters(readFilters);
  const deferred = useDeferredValue(filters);
  const list = useJobs(deferred);
  const jobs = list.data;
  useFreshPages(deferred);
  const { failure, loadMore } = useLoadMore(list, JSON.stringify(deferred));
  const filtered = Object.keys(filters).length > 0;
  return (
    <Page title="Jobs" actions={<LinkButton href="/enhance" tone="primary">Enhance a video</LinkButton>}>
      <div className="panel">
        <Toolbar filters={filters} onChange={setFilter} count={jobs?.length} more={list.hasMore} />
        {jobs === undefined && list.isPending && <Skeleton lines={8} />}
        {jobs === undefined && !list.isPending && <Failed error={list.error} onRetry={() => void list.refetch()} />}
        {jobs?.length === 0 && <NoJobs filtered={filtered} onClear={() => setFilter({ mode: undefined, status: undefined, q: undefined })} />}
        {jobs !== undefined && jobs.length > 0 && (
          <JobTable jobs={jobs} filters={deferred} hasMore={list.hasMore} isReady={!list.isLoadingMore && failure === null} loadMore={loadMore} />
        )}
        {/* The next page is loaded by itself, but not again and again while that fails. */}
        {jobs !== undefined && failure !== null && <More list={{ ...list, error: failure, loadMore }} />}
      </div>
    </Page>
  );
}

/** Remembers the failure until the next attempt: an event of the stream makes the list one without an error. `name`: of the list */
function useLoadMore(list: ReturnType<typeof useJobs>, name: string) {
  const [failure, setFailure] = useState<{ name: string; error: unknown } | null>(null);
  const loadMore = () => {
    setFailure(null);
    void list.loadMore().then(({ error }) => error !== null && setFailure({ name, error }));
  };
  return { failure: failure?.name === name ? failure.error : null, loadMore };
}

/** At most 100 characters, of which none is half. */
const inFull = (text: string) => [...text.toWellFormed()].slice(0, 100).join('');

/** The filters that the URL names. */
function readFilters(params: URLSearchParams): JobFilters {
  const mode = oneOf(params, 'mode', ['live', 'test']);
  const status = oneOf(params, 'status', ['queued', 'running', 'done', 'error']);
  const q = inFull(params.get('q') ?? '');
  return {
    ...(mode !== undefined && { mode }),
    ...(status !== undefined && { status }),
    ...(q !== '' && !q.includes('\0') && { q }),
  };
}

interface ToolbarProps {
  filters: JobFilters;
  onChange: (change: FilterChange<JobFilters>) => void;
  count: number | undefined;
  more: boolean;
}

function Toolbar({ filters, onChange, count, more }: ToolbarProps) {
  return (
    <div className="toolbar" role="search" aria-label="Jobs">
      <div className="search">
        <Search size={15} aria-hidden="true" />
        <input className="input" type="search" aria-label="Find by name or id" placeholder="Find by name or id" value={filters.q ?? ''} onChange={(event) => onChange({ q: inFull(event.target.value) })} />
      </div>
      <CompactSelect label="Status" value={filters.status ?? ''} onChange={(event) => onChange({ status: (event.target.value || undefined) as JobStatus | undefined })}>
        <option value="">Any status</option>
        <option value="queued">Queued</option>
        <option value="running">Running</option>
        <option value="done">Done</option>
        <option value="error">Failed</option>
      </CompactSelect>
      <CompactSelect label="Mode" value={filters.mode ?? ''} onChange={(event) => onChange({ mode: (event.target.value || undefined) as Mode | undefined })}>
        <option value="">Both modes</option>
        <option value="live">Live</option>
        <option value="test">Test</option>
      </CompactSelect>
      <span className="small muted num toolbar-count" role="status">
        {count === undefined ? '' : more ? `${formatCount(count)} loaded` : plural(count, 'job')}
      </span>
    </div>
  );
}

function NoJobs({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <Empty icon={Search} title="No job matches these filters" action={<Button onClick={onClear}>Show all jobs</Button>}>
        Deleted jobs are not listed.
      </Empty>
    );
  }
  return (
    <Empty icon={Film} title="No jobs yet" action={<LinkButton href="/enhance">Enhance a video</LinkButton>}>
      Jobs that you create through the API or in this console appear here and update while they run.
    </Empty>
  );
}

interface TableProps {
  jobs: readonly ConsoleJob[];
  filters: JobFilters;
  hasMore: boolean;
  /** to load the next page */
  isReady: boolean;
  loadMore: () => void;
}

const readAhead = 30;

/** Renders only the visible rows, and loads the next page before the user reaches the end. */
function JobTable({ jobs, filters, hasMore, isReady, loadMore }: TableProps) {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const rowHeight = useRowHeight();
  useLayoutEffect(() => {
    if (body.current !== null) setTop(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({ count: jobs.length, estimateSize: () => rowHeight, overscan: 8, scrollMargin: top });
  useEffect(() => virtual.measure(), [virtual, rowHeight]);
  const rows = virtual.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useFreshPages(filters, { first: rows[0]?.index ?? 0, last });
  useSteadyRows({ jobs, filters, first: virtual.range?.startIndex ?? 0, top, rowHeight });
  useEffect(() => {
    if (hasMore && isReady && last >= jobs.length - readAhead) loadMore();
  }, [hasMore, isReady, last, jobs.length, loadMore]);
  return (
    <div className="jobs" role="table" aria-label="Jobs" aria-rowcount={hasMore ? -1 : jobs.length + 1}>
      <div className="jobs-head" role="row" aria-rowindex={1}>
        {['Source', 'Status', 'Mode', 'Resolution', 'Duration', 'Credits', 'Created'].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div ref={body} className="jobs-body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {rows.map((row) => {
          const job = jobs[row.index];
          if (job === undefined) return null;
          return <JobRow key={job.id} job={job} index={row.index} offset={row.start - top} height={row.size} />;
        })}
      </div>
    </div>
  );
}

interface SteadyRows {
  jobs: readonly ConsoleJob[];
  filters: JobFilters;
  /** index of the first row in the window */
  first: number;
  /** pixels from the top of the page to the first row of the list */
  top: number;
  rowHeight: number;
}

/** Keeps the rows in the window where they are when others come or go above them. */
function useSteadyRows({ jobs, filters, first, top, rowHeight }: SteadyRows): void {
  const before = useRef({ jobs, filters });
  useLayoutEffect(() => {
    const { jobs: old, filters: oldFilters } = before.current;
    before.current = { jobs, filters };
    // At the top, new jobs are to be seen.
    if (jobs === old || jobs[first]?.id === old[first]?.id || window.scrollY <= top) return;
    if (JSON.stringify(filters) !== JSON.stringify(oldFilters)) return;
    const stays = old.findIndex(({ id }, index) => index >= first && index < first + readAhead && jobs.some((job) => job.id === id));
    if (stays === -1) return;
    const now = jobs.findIndex(({ id }) => id === old[stays]?.id);
    window.scrollBy({ top: (now - stays) * rowHeight, behavior: 'instant' });
  });
}

const narrow = '(max-width: 52rem)';

function useRowHeight(): number {
  const [isNarrow, setNarrow] = useState(() => window.matchMedia(narrow).matches);
  useEffect(() => {
    const query = window.matchMedia(narrow);
    const listen = () => setNarrow(query.matches);
    query.addEventListener('change', listen);
    return () => query.removeEventListener('change', listen);
  }, []);
  return isNarrow ? 84 : 54;
}

interface RowProps {
  job: ConsoleJob;
  index: number;
  offset: number;
  height: number;
}

const JobRow = memo(function JobRow({ job, index, offset, height }: RowProps) {
  return (
    <div className="jobs-row" role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${offset}px)`, height }}>
      <span role="cell" className="cell-source">
        <Link href={`/jobs/${job.id}`} className="cover truncate">
          {job.source_name || 'Video'}
        </Link>
        <code className="faint truncate" title={job.id}>
          {shortId(job.id)}
        </code>
      </span>
      <span role="cell" className="cell-state">
        <JobState job={job} />
      </span>
      <span role="cell" className="cell-mode row">
        <ModeBadge mode={job.mode} />
        {job.tier === 'secure' && <TierBadge tier="secure" />}
      </span>
      <span role="cell" className="cell-target">
        {formatTarget(job.resolution)}
      </span>
      <span role="cell" className="cell-length num">
        {formatDuration(job.duration_seconds)}
      </span>
      <span role="cell" className="cell-credits num">
        {formatCount(job.credits_charged - job.credits_refunded)}
      </span>
      <span role="cell" className="cell-made muted">
        <Ago at={job.created_at} />
      </span>
    </div>
  );
});
