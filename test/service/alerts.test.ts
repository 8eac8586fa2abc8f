/** The alert rules with given series, as promtool evaluates them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { promtool } from '../helpers/prometheus.ts';

const rules = fileURLToPath(new URL('../../deploy/prometheus/alerts.yml', import.meta.url));

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-alerts-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Expected {
  input_series: object[];
  summary: string | null;
  alertname?: string;
  labels?: Record<string, string>;
  /** default: after half an hour */
  after?: string;
}

/** How many of each happen in a minute. */
interface Rates {
  finished: number;
  failed: number;
  /** enhance steps that are done */
  enhanced: number;
  mode?: 'live' | 'test';
  code?: string;
}

/** Throws what promtool says unless the alert fires after half an hour with this share, or not at all. */
async function jobsFail({ finished, failed, enhanced, mode = 'live', code = 'processing_failed' }: Rates, share: string | null): Promise<void> {
  const series = (name: string, each: number) => ({ series: name, values: `0+${each}x40` });
  const input_series = [
    series(`reelmend_jobs_finished_total{mode="${mode}"}`, finished),
    series(`reelmend_job_failures_total{mode="${mode}", code="${code}"}`, failed),
    series('reelmend_job_steps_total{step="enhance", outcome="done"}', enhanced),
  ];
  await fires({ input_series, summary: share === null ? null : `${share} of the live jobs fail because of the service.` });
}

const service = 'https://reelmend.example.com';

/** Throws what promtool says unless the alert fires then with this summary and a link to its section; null: it does not fire. */
async function fires({ input_series, summary, alertname = 'JobsFail', labels = { severity: 'warning' }, after = '30m' }: Expected): Promise<void> {
  const runbook_url = `${service}/docs/monitoring#${alertname.toLowerCase()}`;
  const alert = { exp_labels: labels, exp_annotations: { summary, runbook_url } };
  const test = {
    interval: '1m',
    external_labels: { reelmend_url: service },
    input_series,
    alert_rule_test: [{ eval_time: after, alertname, exp_alerts: summary === null ? [] : [alert] }],
  };
  const file = join(dir, 'test.yml');
  await writeFile(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }));
  expect(await promtool(['test', 'rules', file])).toContain('SUCCESS');
}

describe('the alert QueueStuck', () => {
  const age = (task: string, minutes = 40) => ({ series: `reelmend_queue_oldest_task_age_seconds{instance="a", task="${task}"}`, values: minutes === 0 ? '0x40' : '0+60x40' });
  const running = (task: string, count: number) => ({ series: `reelmend_queue_tasks{instance="a", task="${task}", state="running"}`, values: `${count}x40` });
  /** A job is queued only until its download begins. */
  const queued = { series: 'reelmend_oldest_queued_job_age_seconds{instance="a"}', values: '0x40' };
  const stuck = (input_series: object[], summary: string | null) => fires({ input_series: [queued, ...input_series], alertname: 'QueueStuck', summary });
  const waits = 'A job has waited for a worker for 30m 0s; add workers or check their logs.';

  it.each([
    ['videos that are downloaded, for one that enhances', [age('job_enhance'), running('job_enhance', 1)]],
    ['videos that are planned again, for one of a class', [age('enhance_cuda'), running('job_enhance', 1)]],
    ['segments, and none of their class is enhanced', [age('segment_cuda'), running('segment_cuda', 0), age('segment_cpu', 0), running('segment_cpu', 1)]],
  ])('fires while these wait: %s', (_what, series) => stuck(series, waits));

  it.each([
    ['further segments of videos that are enhanced', [age('segment_cpu'), running('segment_cpu', 1)]],
    ['deliveries and deletions', [age('webhook_deliver'), age('objects_destroy')]],
  ])('is silent while only these wait: %s', (_what, series) => stuck(series, null));
});

describe('the alert DiskTooSmall', () => {
  const waits = (values: string) => [{ series: 'reelmend_longest_disk_wait_seconds{instance="a"}', values }];

  it('fires before a job that fits on no disk fails after half an hour, also while it looks again', () =>
    fires({ alertname: 'DiskTooSmall', input_series: waits('0+60x18 0 1140+60x20'), after: '20m', summary: 'A job has waited for disk space for 19m 0s; the log of the workers states how much it needs.' }));

  it('is silent after a short wait', () => fires({ alertname: 'DiskTooSmall', input_series: waits('0+60x9 0x40'), summary: null }));
});

describe('the alerts about the check of the ledger', () => {
  const database = (values: string) => ({ series: 'reelmend_database_up', values });
  const checked = (values: string) => ({ series: 'reelmend_ledger_last_check_timestamp_seconds', values });
  const never = (input_series: object[], fired: boolean) =>
    fires({ alertname: 'LedgerNeverChecked', input_series, summary: fired ? 'The ledger was never checked; no worker runs the scheduled tasks.' : null, after: '90m' });

  it('LedgerUnchecked tells how long ago the last one was', async () => {
    const summary = 'The last ledger check was 1h 30m 0s ago; no worker runs the scheduled tasks.';
    await fires({ alertname: 'LedgerUnchecked', input_series: [database('1x100'), checked('0x100')], summary, after: '90m' });
  });

  it('LedgerNeverChecked fires when there was none for an hour', () => never([database('1x100')], true));

  it('LedgerNeverChecked is silent after one, and while the database is down', async () => {
    await never([database('1x100'), checked('_x40 2400x60')], false);
    await never([database('0x100')], false);
    await never([], false);
  });
});

describe('the alert DeletionsFail', () => {
  const failing = (task: string, values: string) => ({ series: `reelmend_queue_oldest_failing_task_age_seconds{task="${task}"}`, values });
  const alert = (input_series: object[], summary: string | null) => fires({ input_series, summary, alertname: 'DeletionsFail', labels: { severity: 'critical' } });

  it('fires when deletions have failed for an hour, also while one is tried again', async () => {
    const summary = 'Files that should be gone could not be deleted for 1h 40m 0s; certificates wait for them.';
    // The queue calls a task that is queued again new, until its attempt has failed.
    await alert([failing('objects_destroy', '3000+120x24 0 6000 6000 6000 0 6000')], summary);
    await alert([failing('upload_destroy', '6000x40')], summary);
  });

  it('is silent about other tasks, and after a short fault', async () => {
    await alert([failing('webhook_deliver', '9000x40'), failing('objects_destroy', '0+60x10 0x30')], null);
  });
});

describe('the alert ScheduledTaskFails', () => {
  const runs = (task: string, outcome: 'done' | 'failed', values: string, pod = 'a') => ({ series: `reelmend_scheduled_task_runs_total{task="${task}", outcome="${outcome}", pod="${pod}"}`, values });
  const alert = (input_series: object[], task: string | null, after = '30m') => {
    const summary = task === null ? null : `${task} fails each time; the log of the workers names the parts that do.`;
    return fires({ alertname: 'ScheduledTaskFails', input_series, summary, labels: { severity: 'warning', ...(task === null ? {} : { task }) }, after });
  };

  it('names a task whose runs all fail, on whichever worker', async () => {
    const minutely = ['a', 'b'].flatMap((pod) => [runs('scheduled_every_minute', 'failed', '0+0.5x300', pod), runs('scheduled_every_minute', 'done', '0x300', pod)]);
    await alert([...minutely, runs('scheduled_hourly', 'done', '0x20 1x300')], 'scheduled_every_minute');
    await alert([runs('scheduled_hourly', 'failed', '0x30 1x59 2x59 3x150'), runs('scheduled_hourly', 'done', '0x300')], 'scheduled_hourly', '4h');
  });

  it('is silent while some runs succeed, and after one failure', async () => {
    await alert([runs('scheduled_every_minute', 'failed', '0+1x40'), runs('scheduled_every_minute', 'done', '0x20 1x20')], null);
    await alert([runs('scheduled_every_5_minutes', 'failed', '0x20 1x20'), runs('scheduled_every_5_minutes', 'done', '0x40')], null);
    await alert([runs('scheduled_hourly', 'failed', '0x30 1x59 2x59 3x150'), runs('scheduled_hourly', 'done', '0x100 1x200')], null, '4h');
  });
});

describe('the alert JobsFail', () => {
  it.each([
    ['few jobs of many, most of which are not enhanced', { finished: 100, failed: 3, enhanced: 10 }],
    ['test jobs', { finished: 10, failed: 10, enhanced: 0, mode: 'test' }],
    ['videos that nobody could read', { finished: 10, failed: 10, enhanced: 0, code: 'unreadable_video' }],
  ] as const)('is silent when only these fail: %s', (_what, rates) => jobsFail(rates, null));

  it('counts the jobs of workers that end after one, whose counters begin at 0', async () => {
    const series = (name: string) => Array.from({ length: 40 }, (_, minute) => ({ series: `${name}, pod="${minute}"}`, values: `_x${minute} 0 1 1` }));
    const input_series = [...series('reelmend_jobs_finished_total{mode="live"'), ...series('reelmend_job_failures_total{mode="live", code="processing_failed"')];
    await fires({ input_series, summary: '100% of the live jobs fail because of the service.' });
  });

  it('names the share of the finished jobs, also of those that fail before they are enhanced', async () => {
    await jobsFail({ finished: 10, failed: 2, enhanced: 8 }, '20%');
    await jobsFail({ finished: 10, failed: 10, enhanced: 0 }, '100%');
  });
});

describe('processes that do not run, whose other metrics end', () => {
  const silent = "does not serve its metrics; it has stopped, or Prometheus cannot reach it.";
  const up = (instance: string, value: 0 | 1) => ({ series: `up{job="reelmend", instance="${instance}"}`, values: `${value}x40` });
  const database = { series: 'reelmend_database_up', values: '1x40' };

  it('ProcessDown names one of several', async () => {
    const labels = { severity: 'critical', job: 'reelmend', instance: 'b:9464' };
    await fires({ alertname: 'ProcessDown', input_series: [up('a:9464', 1), up('b:9464', 0), database], summary: `b:9464 ${silent}`, labels });
    await fires({ alertname: 'ProcessDown', input_series: [up('a:9464', 1), database], summary: null });
  });

  it('DatabaseUnreachable names one that has lost the database while others have it', async () => {
    const database = (instance: string, isUp: 0 | 1) => ({ series: `reelmend_database_up{instance="${instance}"}`, values: `${isUp}x40` });
    const alert = { alertname: 'DatabaseUnreachable', labels: { severity: 'critical', instance: 'b' } };
    const summary = 'b cannot reach the database, which others can; it serves no requests and starts no jobs.';
    await fires({ ...alert, input_series: [database('a', 1), database('b', 0)], summary });
    await fires({ ...alert, input_series: [database('a', 0), database('b', 0)], summary: null });
    await fires({ ...alert, input_series: [database('a', 1), database('b', 1)], summary: null });
  });

  it('NoProcess fires when Prometheus knows none, as after the last pod', async () => {
    const summary = 'Prometheus gets metrics of no process, so no other alert can fire.';
    await fires({ alertname: 'NoProcess', input_series: [], summary, labels: { severity: 'critical' } });
    await fires({ alertname: 'NoProcess', input_series: [database], summary: null });
  });
});
