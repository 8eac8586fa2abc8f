/** Notices, badges, progress bars, and the loading, error and empty states of queries. */
import { CircleAlert, CircleCheck, Info, type LucideIcon, RotateCw, TriangleAlert } from 'lucide-react';
import { type ReactNode } from 'react';
import { ApiError, sentenceOf } from '../api/client.ts';
import { wholePercent } from '../app/format.ts';
import { Button } from './button.tsx';

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'accent' | 'plain';

const noticeIcons = { good: CircleCheck, bad: CircleAlert, warn: TriangleAlert, info: Info };

interface NoticeProps {
  tone?: keyof typeof noticeIcons;
  title?: string;
  children?: ReactNode;
  /** `alert` if it responds to an action of the user */
  role?: 'alert' | 'status';
}

export function Notice({ tone = 'info', title, children, role }: NoticeProps) {
  const Icon = noticeIcons[tone];
  return (
    <div className={`notice ${tone}`} role={role}>
      <Icon size={17} aria-hidden="true" />
      <div className="body">
        {title !== undefined && <strong>{title}</strong>}
        {children}
      </div>
    </div>
  );
}

export function ErrorNotice({ error }: { error: unknown }) {
  return (
    <Notice tone="bad" role="alert">
      <span>{sentenceOf(error)}</span>
      {error instanceof ApiError && error.requestId !== undefined && error.status >= 500 && (
        <span className="small muted">
          Request <code>{error.requestId}</code>
        </span>
      )}
    </Notice>
  );
}

export function Badge({ tone = 'plain', dot = false, live = false, children }: { tone?: Tone; dot?: boolean; live?: boolean; children: ReactNode }) {
  return (
    <span className={`badge ${tone}`}>
      {dot && <span className={live ? 'dot live' : 'dot'} aria-hidden="true" />}
      {children}
    </span>
  );
}

export function ProgressBar({ value, label }: { value: number; label: string }) {
  const percent = wholePercent(value);
  return (
    <div className="bar" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
      <span style={{ transform: `scaleX(${value})` }} />
    </div>
  );
}

/** The empty state of a list. */
export function Empty({ icon: Icon, title, children, action }: { icon: LucideIcon; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <Icon size={30} strokeWidth={1.4} aria-hidden="true" />
      <p className="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** A placeholder while content loads. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const widths = ['82%', '64%', '73%', '55%', '78%'];
  return (
    <div className="stack panel-body" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} className="bone" style={{ width: widths[index % widths.length] }} />
      ))}
    </div>
  );
}

interface Loaded<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

/** Renders a query: loading, failed or loaded. Loaded data stays visible during a refetch. */
export function Load<T>({ query, lines, children }: { query: Loaded<T>; lines?: number; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.isPending) return <Skeleton {...(lines === undefined ? {} : { lines })} />;
  return <Failed error={query.error} onRetry={() => void query.refetch()} />;
}

interface LoadListProps<T> {
  query: Loaded<T[]>;
  /** shown in place of a list without entries */
  empty: ReactNode;
  children: (entries: T[]) => ReactNode;
}

export function LoadList<T>({ query, empty, children }: LoadListProps<T>) {
  return <Load query={query}>{(entries) => (entries.length === 0 ? empty : children(entries))}</Load>;
}

interface FailedProps {
  error: unknown;
  onRetry: () => void;
}

export function Failed(props: FailedProps) {
  return (
    <div className="panel-body stack-s">
      <Retry {...props} />
    </div>
  );
}

/** What went wrong, and the button that repeats it. */
export function Retry({ error, onRetry }: FailedProps) {
  return (
    <>
      <ErrorNotice error={error} />
      <div>
        <Button size="small" onClick={onRetry}>
          <RotateCw size={14} aria-hidden="true" />
          Try again
        </Button>
      </div>
    </>
  );
}
