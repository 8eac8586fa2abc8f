/** The first page: first steps for new accounts, balances and the latest jobs. */
import { CircleCheck, CircleDashed, Film, Play } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ConsoleJob } from '../../contract/types.gen.ts';
import { useKeys } from '../api/account.ts';
import { useLatestJobs } from '../api/job-list.ts';
import { useCreateJob } from '../api/jobs.ts';
import { useSession } from '../api/session.ts';
import { creditsInDollars, formatCount } from '../app/format.ts';
import { sendOnce } from '../app/idempotency-keys.ts';
import { useNavigateWhileShown } from '../app/navigation.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { useAction } from '../ui/dialog.tsx';
import { Empty, ErrorNotice, Load, Notice } from '../ui/feedback.tsx';
import { JobState, ModeBadge } from '../ui/job-status.tsx';
import { Figures, Page, Panel } from '../ui/panel.tsx';
import { Ago } from '../ui/time.tsx';
import { LowCreditsNotice } from './low-credits.tsx';
import { sampleOffer } from './sample.ts';

export function HomePage() {
  const session = useSession();
  const latest = useLatestJobs(8);
  const keys = useKeys();
  const newcomer = latest.data?.data.length === 0 || keys.data?.length === 0;
  return (
    <Page title="Home" actions={<LinkButton href="/enhance" tone="primary">Enhance a video</LinkButton>}>
      <ApprovalNotice />
      <LowCreditsNotice />
      {newcomer && <FirstSteps hasJobs={(latest.data?.data.length ?? 0) > 0} hasKeys={(keys.data?.length ?? 0) > 0} />}
      <Figures
        figures={[
          { name: 'Live balance', value: formatCount(session.account.credits), unit: `credits · ${creditsInDollars(session.account.credits)}` },
          { name: 'Test balance', value: formatCount(session.account.test_credits), unit: 'credits, free' },
          { name: 'Plan', value: session.account.plan },
        ]}
      />
      <Panel title="Latest jobs" flush actions={<Link href="/jobs">All jobs</Link>}>
        <Load query={latest}>{({ data }) => <LatestJobs jobs={data} />}</Load>
      </Panel>
    </Page>
  );
}

export function ApprovalNotice() {
  const { approval_status: status } = useSession().account;
  if (status === 'approved') return null;
  if (status === 'rejected') {
    return (
      <Notice tone="bad" title="This account was rejected for live mode.">
        You can still use test mode. Ask the operator of this service for the reason.
      </Notice>
    );
  }
  return (
    <Notice tone="warn" title="Your account is waiting for approval.">
      Until an operator approves it, you can run jobs in test mode, which fetches and charges nothing.
    </Notice>
  );
}

function FirstSteps({ hasJobs, hasKeys }: { hasJobs: boolean; hasKeys: boolean }) {
  return (
    <Panel title="Get started">
      <ol className="steps">
        <Step done={hasJobs} title="See a result">
          <SampleButton />
        </Step>
        <Step done={hasKeys} title="Create an API key">
          <p className="muted">Use keys on your server, never in a browser. Test keys are free.</p>
          <div>
            <LinkButton href="/keys" size="small">
              {hasKeys ? 'Your keys' : 'Create a key'}
            </LinkButton>
          </div>
        </Step>
        <Step done={false} title="Call the API">
          <p className="muted">
            Submit the URL of a video, then poll the job or wait for its <Link href="/webhooks">webhook</Link>.{' '}
            <a href="/docs/reference">API reference</a>
          </p>
          <CodeBlock label="first call" text={firstCall()} />
        </Step>
      </ol>
    </Panel>
  );
}

function firstCall(): string {
  const body = JSON.stringify({ video_url: 'https://media.example.com/holiday.mp4', resolution: '1080p' });
  return `curl ${window.location.origin}/v1/jobs \\
  -H "Authorization: Bearer $REELMEND_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}

function Step({ done, title, children }: { done: boolean; title: string; children: ReactNode }) {
  return (
    <li className="step">
      {done ? <CircleCheck size={18} className="done" aria-label="Done" role="img" /> : <CircleDashed size={18} aria-hidden="true" />}
      <div className="stack-s">
        <h3>{title}</h3>
        {children}
      </div>
    </li>
  );
}

function SampleButton() {
  const session = useSession();
  const createJob = useCreateJob();
  const navigate = useNavigateWhileShown();
  const offer = sampleOffer(session);
  const { run, busy, error } = useAction(async () => {
    const body = { mode: offer.mode, request: { video_url: offer.url, resolution: '1080p' } } as const;
    const job = await sendOnce({ job: body }, (key) => createJob(body, key));
    navigate(`/jobs/${job.id}`);
  });
  return (
    <>
      <p className="muted">{offer.text}</p>
      <div className="row">
        {offer.mode === 'test' && (
          <LinkButton href="/example" tone="primary" size="small">
            Compare before and after
          </LinkButton>
        )}
        <Button tone={offer.mode === 'test' ? undefined : 'primary'} size="small" busy={busy} onClick={run}>
          <Play size={14} aria-hidden="true" />
          Run the sample
        </Button>
      </div>
      {error !== null && <ErrorNotice error={error} />}
    </>
  );
}

function LatestJobs({ jobs }: { jobs: readonly ConsoleJob[] }) {
  if (jobs.length === 0) return <Empty icon={Film} title="No jobs yet">Jobs appear here as soon as you create them, through the API or in this console.</Empty>;
  return (
    <ul className="job-lines">
      {jobs.slice(0, 8).map((job) => (
        <li key={job.id} className="job-line">
          <Link href={`/jobs/${job.id}`} className="cover truncate">
            {job.source_name || job.id}
          </Link>
          <JobState job={job} />
          <span className="extra">
            <ModeBadge mode={job.mode} />
          </span>
          <span className="small muted">
            <Ago at={job.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
