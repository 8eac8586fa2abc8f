/** The quote of a draft, which may be for several videos. It is requested when the user pauses typing. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { JobInput, Mode, Quote } from '../../contract/types.gen.ts';
import { quote as askQuote } from '../api/jobs.ts';
import { useSession } from '../api/session.ts';
import { creditsInDollars, formatBytes, formatCount, formatDuration } from '../app/format.ts';
import { ErrorNotice, Notice } from '../ui/feedback.tsx';
import { Facts, Panel } from '../ui/panel.tsx';

export type Body = { mode: Mode; request: JobInput };
const pauseMs = 450;

/** The quote of all videos together. */
interface TotalQuote extends Quote {
  /** credits of each video, in the order of the bodies */
  prices: number[];
}

export interface QuoteState {
  data: TotalQuote | undefined;
  error: unknown;
  isFetching: boolean;
  /** the price belongs to an older draft */
  isStale: boolean;
}

/** The price of several videos together; one that is refused refuses all. */
async function askQuotes(bodies: Body[], signal: AbortSignal): Promise<TotalQuote> {
  const quotes: Quote[] = [];
  for (const body of bodies) quotes.push(await askQuote(body, signal));
  const sum = (field: 'credits' | 'duration_seconds' | 'estimated_seconds') => quotes.reduce((total, each) => total + each[field], 0);
  return {
    ...quotes[0]!,
    prices: quotes.map(({ credits }) => credits),
    credits: sum('credits'),
    duration_seconds: sum('duration_seconds'),
    estimated_seconds: sum('estimated_seconds'),
    estimated_time: totalTime(quotes),
    estimated_size: totalSize(quotes),
    source: quotes.length === 1 ? quotes[0]!.source : null,
  };
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

export function useQuote(bodies: readonly Body[]): QuoteState {
  const text = bodies.length === 0 ? null : JSON.stringify(bodies);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  const query = useQuery({
    queryKey: ['quote', settled],
    queryFn: ({ signal }) => askQuotes(JSON.parse(settled!) as Body[], signal),
    enabled: settled !== null,
    staleTime: 5 * 60_000,
    retry: false,
    refetchOnWindowFocus: false,
    placeholderData: keepPreviousData,
  });
  const current = text !== null && settled === text;
  return {
    data: text === null || query.isError ? undefined : query.data,
    error: current ? query.error : null,
    isFetching: query.isFetching || (text !== null && !current),
    isStale: !current || query.isPlaceholderData,
  };
}

export function QuotePanel({ quote, mode, ready }: { quote: QuoteState; mode: Mode; ready: boolean }) {
  const { data, error, isFetching } = quote;
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
        {error !== null && error !== undefined && <ErrorNotice error={error} />}
        {ready && data !== undefined && <Price quote={data} mode={mode} />}
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
