/** The quote of a draft, which may be for several videos. It is requested when the user pauses typing. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { JobInput, Mode, Quote } from '../../contract/types.gen.ts';
import { ApiError } from '../api/client.ts';
import { quote as askQuote } from '../api/jobs.ts';
import { useSession } from '../api/session.ts';
import { creditsInDollars, formatBytes, formatCount, formatDuration, isolate, plural } from '../app/format.ts';
import { Notice, Retry } from '../ui/feedback.tsx';
import { Facts, Panel } from '../ui/panel.tsx';

export type Body = { mode: Mode; request: JobInput };

/** What a job is to be created of. */
export interface Video {
  /** of the chosen file; null for a URL */
  name: string | null;
  body: Body;
}

export interface PricedVideo extends Video {
  credits: number;
}

const pauseMs = 450;
/** quotes that are asked for at a time: as many as the service measures at a time for one account */
const parallelQuotes = 3;

/** One of several videos that no job can be created of. */
interface RefusedVideo {
  name: string;
  /** a sentence */
  reason: string;
}

/** The quote of all videos together. */
interface TotalQuote extends Quote {
  /** the videos that have a price, in their order, each with its credits */
  priced: PricedVideo[];
  refused: RefusedVideo[];
}

export interface QuoteState {
  data: TotalQuote | undefined;
  error: unknown;
  isFetching: boolean;
  /** the price belongs to an older draft */
  isStale: boolean;
  /** asks again, for example after the customer's server was away */
  refetch: () => void;
}

/** The price of several videos together, without those that are refused. Throws if all are. */
async function askQuotes(videos: Video[], signal: AbortSignal): Promise<TotalQuote> {
  const answers = await inParallel(videos, parallelQuotes, (video) => quoteOrRefusal(video, signal));
  const refused = answers.filter((answer) => 'error' in answer);
  const accepted = answers.filter((answer) => 'quote' in answer);
  if (accepted.length === 0) throw refusalOfAll(refused);
  const quotes = accepted.map(({ quote }) => quote);
  const sum = (field: 'credits' | 'duration_seconds' | 'estimated_seconds') => quotes.reduce((total, each) => total + each[field], 0);
  return {
    ...quotes[0]!,
    priced: accepted.map(({ video, quote: { credits } }) => ({ ...video, credits })),
    refused: refused.map(reasonOf),
    credits: sum('credits'),
    duration_seconds: sum('duration_seconds'),
    estimated_seconds: sum('estimated_seconds'),
    estimated_time: totalTime(quotes),
    estimated_size: totalSize(quotes),
    source: quotes.length === 1 ? quotes[0]!.source : null,
  };
}

type Refusal = { video: Video; error: ApiError };
type Answer = { video: Video; quote: Quote } | Refusal;

const reasonOf = ({ video, error }: Refusal): RefusedVideo => ({ name: video.name ?? 'The video', reason: error.message });

/** The error of a single video may be about a field of the form; one of several has to name them. */
function refusalOfAll(refused: Refusal[]): Error {
  if (refused.length === 1) return refused[0]!.error;
  return new Error(refused.map(reasonOf).map(({ name, reason }) => `${isolate(name)}: ${reason}`).join(' '));
}

/** Throws what is no refusal of this video, such as a service that is away. */
async function quoteOrRefusal(video: Video, signal: AbortSignal): Promise<Answer> {
  try {
    return { video, quote: await askQuote(video.body, signal) };
  } catch (error) {
    if (error instanceof ApiError && refusals.has(error.status)) return { video, error };
    throw error;
  }
}

/** Statuses that are about the video: invalid, too expensive, gone, or not ready. */
const refusals: ReadonlySet<number> = new Set([400, 402, 404, 409]);

/** Calls `work` for all items, at most `most` at a time. Results are in the order of the items. */
async function inParallel<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  // All take from the same iterator, so each item is taken once.
  const worker = async () => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}

function totalTime(quotes: Quote[]): Quote['estimated_time'] {
  const sum = (field: 'min_seconds' | 'max_seconds') => quotes.reduce((total, each) => total + each.estimated_time[field], 0);
  return { min_seconds: sum('min_seconds'), max_seconds: sum('max_seconds'), basis: quotes[0]!.estimated_time.basis };
}

function totalSize(quotes: Quote[]): Quote['estimated_size'] {
  const sizes = quotes.flatMap(({ estimated_size: size }) => size ?? []);
  if (sizes.length < quotes.length) return null;
  const sum = (field: 'min_bytes' | 'max_bytes') => sizes.reduce((total, each) => total + each[field], 0);
  return { min_bytes: sum('min_bytes'), max_bytes: sum('max_bytes'), basis: sizes[0]!.basis };
}

const bases = {
  account_jobs: 'by the results of your latest jobs',
  source_bitrate: 'by the bitrate of the source; motion and grain make it large',
} as const;

/** Whether the same draft may get another answer later, without anybody's doing: the service was away. */
const isTransient = (error: unknown): boolean => error instanceof ApiError && (error.status === 0 || error.status >= 500);

export function useQuote(videos: readonly Video[]): QuoteState {
  const text = videos.length === 0 ? null : JSON.stringify(videos);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  const query = useQuery({
    queryKey: ['quote', settled],
    queryFn: ({ signal }) => askQuotes(JSON.parse(settled!) as Video[], signal),
    enabled: settled !== null,
    staleTime: 5 * 60_000,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: ({ state: { error } }) => error === null || isTransient(error),
    placeholderData: keepPreviousData,
  });
  const current = text !== null && settled === text;
  return {
    data: text === null || query.isError ? undefined : query.data,
    error: current ? query.error : null,
    isFetching: query.isFetching || (text !== null && !current),
    isStale: !current || query.isPlaceholderData,
    refetch: () => void query.refetch(),
  };
}

export function QuotePanel({ quote, mode, ready }: { quote: QuoteState; mode: Mode; ready: boolean }) {
  const { data, error, isFetching, refetch } = quote;
  return (
    <Panel title="Price">
      <div className="stack" aria-live="polite" aria-busy={isFetching}>
        {!ready && <p className="muted">Choose a video to see its price.</p>}
        {ready && data === undefined && error === null && (
          <p className="row muted">
            <span className="spinner" aria-hidden="true" />
            Measuring the video…
          </p>
        )}
        {error !== null && error !== undefined && <Retry error={error} onRetry={refetch} />}
        {ready && data !== undefined && <Price quote={data} mode={mode} />}
        {ready && data !== undefined && data.refused.length > 0 && <Refused videos={data.refused} />}
      </div>
    </Panel>
  );
}

function Price({ quote, mode }: { quote: Quote; mode: Mode }) {
  const { credits } = useSession().account;
  const { source, estimated_size: size } = quote;
  return (
    <>
      <p className="price">
        {creditsInDollars(quote.credits)} <small>{formatCount(quote.credits)} credits</small>
      </p>
      <Facts
        facts={[
          ['Duration', formatDuration(quote.duration_seconds)],
          ['Estimated time', <Time key="time" time={quote.estimated_time} />],
          ...(size === null ? [] : ([
            ['Result', <Result key="size" size={size} />],
          ] as const)),
          ...(source === null ? [] : ([
            ['Source', `${source.width} × ${source.height}, ${source.video_codec}`],
            ['File', formatBytes(source.size_bytes)],
          ] as const)),
          ['Balance', mode === 'live' ? `${formatCount(credits)} credits` : 'not charged'],
        ]}
      />
      {mode === 'live' && credits < quote.credits && (
        <Notice tone="warn">The balance does not cover this job. Ask the operator of this service for credits.</Notice>
      )}
    </>
  );
}

function Refused({ videos }: { videos: readonly RefusedVideo[] }) {
  return (
    <Notice tone="warn" title={`${plural(videos.length, 'file')} left out`}>
      <ul className="stack-s">
        {videos.map(({ name, reason }, index) => (
          // Files of different folders may have the same name.
          <li key={index} className="wrap-anywhere">
            <bdi>{name}</bdi>: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

const timeBases = {
  recent_jobs: 'by the latest jobs of this service, without waiting',
  typical_rate: 'for a machine with two cores: no job has run here yet',
  test_mode: null,
} as const;

function Time({ time }: { time: Quote['estimated_time'] }) {
  const [least, most] = [formatDuration(time.min_seconds), formatDuration(time.max_seconds)];
  const basis = timeBases[time.basis];
  return (
    <>
      {least === most ? least : `${least} to ${most}`}
      {basis !== null && <span className="because small muted">{basis}</span>}
    </>
  );
}

function Result({ size }: { size: NonNullable<Quote['estimated_size']> }) {
  return (
    <>
      {formatBytes(size.min_bytes)} to {formatBytes(size.max_bytes)}
      <span className="because small muted">{bases[size.basis]}</span>
    </>
  );
}
