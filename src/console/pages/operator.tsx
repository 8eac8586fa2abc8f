/** Operator pages: the queue, the workers and the failures. */
import { Activity, CircleCheck } from 'lucide-react';
import { Link } from 'wouter';
import type { OperatorFailure, OperatorQueue, OperatorWorker } from '../../contract/types.gen.ts';
import { useFailures, useOverview, useWorkers } from '../api/operator.ts';
import { formatCount, formatDuration, formatPercent, plural, shortId } from '../app/format.ts';
import { Badge, Empty, Load, LoadList, Notice, ProgressBar } from '../ui/feedback.tsx';
import { ModeBadge } from '../ui/job-status.tsx';
import { More } from '../ui/more.tsx';
import { Facts, Figures, Page, Panel } from '../ui/panel.tsx';
import { num, Table } from '../ui/table.tsx';
import { HistoryPanel } from './operator-history.tsx';
import { Ago, DateTime } from '../ui/time.tsx';

export function OperatorOverviewPage() {
  const overview = useOverview();
  return (
    <Page title="Service" intro="The current state of this service, updated every few seconds.">
      <Load query={overview}>
        {(now) => (
          <>
            {now.workers_alive === 0 && (
              <Notice tone="bad" title="No worker is online.">
                Jobs wait until a worker starts: <code>reelmend work</code>.
              </Notice>
            )}
            <Figures
              figures={[
                { name: 'Queued jobs', value: formatCount(now.jobs.queued), ...(now.jobs.oldest_queued_seconds === null ? {} : { unit: `oldest ${formatDuration(now.jobs.oldest_queued_seconds)}` }) },
                { name: 'Running jobs', value: formatCount(now.jobs.running), unit: `on ${plural(now.workers_alive, 'worker')}` },
                { name: 'Failed in 24 h', value: formatCount(now.jobs.failed_last_day) },
                { name: 'Webhooks waiting', value: formatCount(now.webhooks.pending), ...(now.webhooks.overdue > 0 ? { unit: `${formatCount(now.webhooks.overdue)} overdue` } : {}) },
              ]}
            />
            {now.accounts_pending > 0 && (
              <Notice tone="warn">
                <span>
                  {plural(now.accounts_pending, 'account is', 'accounts are')} waiting for approval. <Link href="/operator/accounts">Review</Link>
                </span>
              </Notice>
            )}
            <QueueTable queue={now.queue} />
            <HistoryPanel />
          </>
        )}
      </Load>
    </Page>
  );
}

function QueueTable({ queue }: { queue: readonly OperatorQueue[] }) {
  return (
    <Panel title="Queue by task" flush>
      {queue.length === 0 ? (
        <Empty icon={CircleCheck} title="The queue is empty" />
      ) : (
        <Table columns={['Task', num('Due'), num('Running'), num('Later'), num('Oldest')]}>
          {queue.map((task) => (
            <tr key={task.task}>
              <td data-label="Task">
                <code>{task.task}</code>
              </td>
              <td data-label="Due" className="num">{formatCount(task.waiting)}</td>
              <td data-label="Running" className="num">{formatCount(task.running)}</td>
              <td data-label="Later" className="num">{formatCount(task.later)}</td>
              <td data-label="Oldest" className="num">{task.oldest_seconds === null ? '–' : formatDuration(task.oldest_seconds)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

export function OperatorWorkersPage() {
  const list = useWorkers();
  return (
    <Page title="Workers" intro="Processes that run jobs, with their devices and their current jobs.">
      <LoadList
        query={list}
        empty={
          <div className="panel">
            <Empty icon={Activity} title="No worker has started yet">
              Start one with <code>reelmend work</code>.
            </Empty>
          </div>
        }
      >
        {(workers) => (
          <div className="stack">
            {workers.map((worker) => (
              <WorkerPanel key={worker.id} worker={worker} />
            ))}
          </div>
        )}
      </LoadList>
      <More list={list} />
    </Page>
  );
}

function WorkerPanel({ worker }: { worker: OperatorWorker }) {
  return (
    <Panel
      title={worker.host ?? shortId(worker.id)}
      actions={<Badge tone={worker.alive ? 'good' : 'plain'} dot live={worker.alive}>{worker.alive ? 'Online' : 'Offline'}</Badge>}
    >
      <div className="halves">
        <Facts
          facts={[
            ['Worker', <code key="id" className="wrap-anywhere">{worker.id}</code>],
            ['Started', <DateTime key="started" at={worker.started_at} />],
            ['Last seen', <Ago key="seen" at={worker.last_heartbeat_at} />],
            ['Concurrency', worker.concurrency === null ? 'unknown' : plural(worker.concurrency, 'job')],
          ]}
        />
        <div className="stack">
          <div className="stack-s">
            <h3>Devices</h3>
            {worker.devices.length === 0 && <p className="muted">Not reported yet.</p>}
            {worker.devices.map((device) => (
              <div key={device.id} className="row">
                <Badge tone={device.usable ? 'good' : 'plain'}>{device.id}</Badge>
                <span className="wrap-anywhere">{device.name}</span>
                <span className="small muted">
                  {device.usable ? [device.threads > 0 && plural(device.threads, 'thread'), device.simd, device.encoder, ...device.inference].filter(Boolean).join(', ') : device.reason}
                </span>
              </div>
            ))}
          </div>
          <div className="stack-s">
            <h3>Current jobs</h3>
            {worker.jobs.length === 0 && <p className="muted">None.</p>}
            {worker.jobs.map((job) => (
              <div key={job.id} className="stack-s">
                <span className="row spread">
                  <code className="truncate">{shortId(job.id)}</code>
                  <span className="small muted num">
                    {job.step} · {formatPercent(job.progress)}
                  </span>
                </span>
                <ProgressBar value={job.progress} label={`Progress of ${job.id}`} />
              </div>
            ))}
          </div>
        </div>
      </div>
    </Panel>
  );
}

export function OperatorFailuresPage() {
  const list = useFailures();
  return (
    <Page title="Failures" intro="Jobs of all accounts that ended in error, newest first. URLs of customers are not shown.">
      <Panel title="Failed jobs" flush>
        <LoadList query={list} empty={<Empty icon={CircleCheck} title="No job has failed" />}>
          {(failures) => <FailureTable failures={failures} />}
        </LoadList>
        <More list={list} />
      </Panel>
    </Page>
  );
}

function FailureTable({ failures }: { failures: readonly OperatorFailure[] }) {
  return (
    <Table columns={['Job', 'Account', 'Error', 'Mode', num('Attempts'), num('Failed')]}>
      {failures.map((failure) => (
        <tr key={failure.job_id}>
          <td data-label="Job">
            <code title={failure.job_id}>{shortId(failure.job_id)}</code>
          </td>
          <td data-label="Account">
            <code title={failure.account_id}>{shortId(failure.account_id)}</code>
          </td>
          <td data-label="Error">
            <span className="stack-s">
              <code>{failure.code}</code>
              <span className="small muted">{failure.message}</span>
            </span>
          </td>
          <td data-label="Mode">
            <ModeBadge mode={failure.mode} />
          </td>
          <td data-label="Attempts" className="num">{failure.attempts}</td>
          <td data-label="Failed" className="num small muted">
            <Ago at={failure.finished_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
