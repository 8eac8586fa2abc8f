import type { ConsoleJob, JobStatus, Mode, Tier } from '../../contract/types.gen.ts';
import { formatPercent, formatTimeLeft } from '../app/format.ts';
import { CopyButton } from './button.tsx';
import { Badge, ProgressBar, type Tone } from './feedback.tsx';

const looks: Record<JobStatus, { tone: Tone; text: string }> = {
  queued: { tone: 'plain', text: 'Queued' },
  running: { tone: 'info', text: 'Running' },
  done: { tone: 'good', text: 'Done' },
  error: { tone: 'bad', text: 'Failed' },
};

function StatusBadge({ status }: { status: JobStatus }) {
  const { tone, text } = looks[status];
  return (
    <Badge tone={tone} dot live={status === 'running'}>
      {text}
    </Badge>
  );
}

/** The status; for a running job, its progress and remaining time. */
export function JobState({ job }: { job: Pick<ConsoleJob, 'id' | 'status' | 'progress' | 'eta_seconds'> }) {
  if (job.status !== 'running') return <StatusBadge status={job.status} />;
  const timeLeft = formatTimeLeft(job);
  return (
    <span className="job-progress">
      <ProgressBar value={job.progress} label={`Progress of ${job.id}`} />
      <span className="small num nowrap">
        {formatPercent(job.progress)}
        {timeLeft !== null && <span className="muted"> · {timeLeft}</span>}
      </span>
    </span>
  );
}

export function ModeBadge({ mode }: { mode: Mode }) {
  return mode === 'live' ? <Badge tone="accent">Live</Badge> : <Badge>Test</Badge>;
}

export function TierBadge({ tier }: { tier: Tier }) {
  return tier === 'secure' ? <Badge tone="good">Secure</Badge> : <Badge>Standard</Badge>;
}

/** The line below the title of a page of one job or preview: its state, and its id to copy. */
export function StatusLine({ of: { id, status, tier }, mode, what }: { of: { id: string; status: JobStatus; tier: Tier }; mode: Mode; what: 'job' | 'preview' }) {
  return (
    <span className="row">
      <StatusBadge status={status} />
      <ModeBadge mode={mode} />
      <TierBadge tier={tier} />
      <code className="wrap-anywhere">{id}</code>
      <CopyButton text={id} label={`Copy the ${what}’s id`} bare />
    </span>
  );
}
