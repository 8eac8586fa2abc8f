/** What an operator sees of the running service: metrics, rules and dashboard, traces, logs. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { type Collector, type ReceivedSpan, startCollector } from '../helpers/otlp.ts';
import { type Prometheus, promtool, startPrometheus } from '../helpers/prometheus.ts';
import { call, createCustomer, createSite, type Customer, type JobView, type Running, type Site, waitForEnd } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const deployed = (path: string) => fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url));
const rules = deployed('prometheus/alerts.yml');
const canary = 'canary7f3a';
const traceId = '0af7651916cd43dd8448eb211c80319c';

let dir: string;
let files: FileServer;
let collector: Collector;
let site: Site;
let api: Running;
let live: Customer;
let testCustomer: Customer;
let prometheus: Prometheus;
let metricsUrl: string;
let jobId: string;

async function submit(customer: Customer, body: object, headers: Record<string, string> = {}): Promise<string> {
  const created = await call<JobView>(api.url, customer.key, 'POST', '/v1/jobs', body, headers);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  await waitForEnd(api.url, customer.key, created.body.id);
  return created.body.id;
}

const scrape = async () => (await fetch(`${metricsUrl}/metrics`)).text();
/** Until Prometheus has seen that so many enhanced and so many failed jobs are counted. */
const scraped = (enhanced: number, failed: number) =>
  eventually(async () => {
    const sum = async (name: string) => (await prometheus.query(`sum(reelmend_${name}_total)`))[0]?.value;
    return (await sum('enhanced_frames')) === enhanced * 5 && (await sum('job_failures')) === failed;
  });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-observed-'));
  await makeClip(join(dir, 'clip.mp4'), { seconds: 1, video: 'testsrc2=size=160x120:rate=5', args: ['-c:v', 'libx264'], audio: null });
  files = await startFileServer({ dir });
  collector = await startCollector();
  site = await createSite({
    REELMEND_ALLOW_HOSTS: files.hostPort,
    REELMEND_METRICS_PORT: '0',
    REELMEND_TEST_MODE_DELAY_MS: '50',
    REELMEND_WARM_CHILDREN: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '200',
  });
  live = await createCustomer(site);
  testCustomer = await createCustomer(site, { mode: 'test' });
  api = await site.start('start');
  metricsUrl = (JSON.parse(api.log.find((line) => line.includes('"msg":"metrics"'))!) as { url: string }).url;
  prometheus = await startPrometheus({ target: new URL(metricsUrl).host, rules });

  const video_url = `${files.url}/clip.mp4?token=${canary}`;
  const rest = { resolution: '1080p', metadata: { note: canary }, webhook_url: `${files.url}/hook?secret=${canary}` };
  const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  jobId = await submit(live, { video_url, ...rest }, traced);
  const failing = { video_url: 'https://example.com/processing_failed.mp4', resolution: '1080p' };
  await submit(testCustomer, failing);
  await call(api.url, live.key, 'GET', `/v1/jobs/${canary}`);
  await scraped(1, 1);
  // A rate needs a counter that grew between two scrapes.
  await submit(live, { video_url, ...rest });
  await submit(testCustomer, failing);
  await scraped(2, 2);
});

afterAll(async () => {
  await prometheus?.close();
  await site?.close();
  await collector?.close();
  await files?.close();
  await rm(dir, { recursive: true, force: true });
});

describe('metrics', () => {
  it('are what promtool and another parser take for well made', async () => {
    const text = await scrape();
    expect(await promtool(['check', 'metrics'], text)).toBe('');
    const names = parsePrometheusTextFormat(text).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['reelmend_http_requests_total', 'reelmend_ledger_violations', 'process_resident_memory_bytes']));
  });

  it('report what happened', async () => {
    const value = async (expression: string) => (await prometheus.query(expression)).map((sample) => sample.value);
    expect(await value('reelmend_job_steps_total{step="enhance",outcome="done"}')).toEqual([2]);
    expect(await value('reelmend_job_failures_total{code="processing_failed",mode="test"}')).toEqual([2]);
    for (const mode of ['live', 'test']) expect(await value(`reelmend_jobs_finished_total{mode="${mode}"}`)).toEqual([2]);
    expect(await value('sum(reelmend_enhanced_frames_total)')).toEqual([10]);
    expect(await value('reelmend_http_requests_total{method="POST",route="/v1/jobs",status="201"}')).toEqual([4]);
    expect(await value('reelmend_workers_alive')).toEqual([1]);
    expect(await value('reelmend_ledger_violations')).toEqual([0]);
    expect(await value('reelmend_stage_cpu_seconds_total{stage="encode"} > 0')).toHaveLength(1);
  });
});

describe('the dashboard', () => {
  interface Panel {
    title: string;
    targets: { expr: string }[];
  }

  it('finds something for each of its queries', async () => {
    const { panels } = JSON.parse(await readFile(deployed('grafana/reelmend.json'), 'utf8')) as { panels: Panel[] };
    expect(panels.length).toBeGreaterThan(15);
    const empty = async () => {
      const found: string[] = [];
      for (const { title, targets } of panels) {
        for (const { expr } of targets) if ((await prometheus.query(expr)).length === 0) found.push(`${title}: ${expr}`);
      }
      return found;
    };
    // A rate needs two scrapes, and the next one is at most a second away.
    await expect.poll(empty, { interval: 500 }).toEqual([]);
  });
});

describe('the alerts', () => {
  it('are valid, know their metrics, and are silent on a healthy service', async () => {
    expect(await promtool(['check', 'rules', rules])).toContain('SUCCESS');
    const { groups } = parseYaml(await readFile(rules, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] };
    const known = new Set((await prometheus.query('count by (__name__) ({__name__=~"reelmend_.*"})')).map(({ metric }) => metric['__name__']));
    for (const { alert, expr } of groups.flatMap((group) => group.rules)) {
      for (const [name] of expr.matchAll(/reelmend_\w+/g)) expect(known, alert).toContain(name);
    }
    // Test jobs that were told to fail are no fault of the service, also without the alert's ten minutes.
    const { expr } = groups.flatMap((group) => group.rules).find(({ alert }) => alert === 'JobsFail')!;
    expect(await prometheus.query('sum(rate(reelmend_job_failures_total[15m])) > 0')).toHaveLength(1);
    expect(await prometheus.query(expr)).toEqual([]);
    const firing = (await prometheus.query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric['alertname']);
    expect(firing).toEqual([]);
  });
});

describe('a trace', () => {
  const named = (name: string): ReceivedSpan | undefined =>
    collector.spans.find((span) => span.name === name && span.traceId === traceId);

  it('leads from the request through the queue to the stages of the engine', async () => {
    await expect.poll(() => named('job enhance')).toBeDefined();
    const request = named('POST /v1/jobs')!;
    expect(request.parentSpanId).toBe('b7ad6b7169203331');
    expect(request.attributes).toMatchObject({ 'http.response.status_code': 201, 'http.route': '/v1/jobs' });
    for (const step of ['ingest', 'enhance']) {
      const span = named(`job ${step}`)!;
      expect(span.parentSpanId).toBe(request.spanId);
      expect(span.attributes).toMatchObject({ 'reelmend.job': jobId, 'reelmend.step': step });
    }
    const { attributes } = named('job enhance')!;
    expect(attributes).toMatchObject({ 'reelmend.device': 'cpu', 'reelmend.frames': 5 });
    expect(attributes['reelmend.stage.encode.cpu_seconds']).toBeGreaterThan(0);
  });

  it('holds no URL and no key', () => {
    const text = JSON.stringify(collector.spans);
    expect(text.length).toBeGreaterThan(1000);
    for (const secret of [canary, live.key, files.hostPort]) expect(text).not.toContain(secret);
  });
});

describe('the log', () => {
  it('follows a job by its id and attempt, in JSON', () => {
    const lines = api.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const created = lines.find((line) => line['route'] === '/v1/jobs' && line['job_id'] === jobId);
    expect(created).toMatchObject({ method: 'POST', status: 201, request_id: expect.stringMatching(/^req_/) as string });
    const step = lines.find((line) => line['job'] === jobId && line['step'] === 'enhance' && line['msg'] === 'step done');
    expect(step).toMatchObject({ attempt: expect.any(Number) as number });
  });

  it('holds no key, no query of a URL and nothing of customers', async () => {
    const text = [...api.log, await scrape()].join('\n');
    expect(text).toContain(jobId);
    for (const secret of [canary, live.key, live.key.slice(0, -6)]) expect(text).not.toContain(secret);
  });
});
