/** Debian's Prometheus as an independent reader of our metrics, rules and dashboard. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from './ports.ts';
import { eventually, hangMs } from './wait.ts';

const run = promisify(execFile);
const setUp = fileURLToPath(new URL('../../scripts/setup-prometheus', import.meta.url));

export interface Sample {
  metric: Record<string, string>;
  value: number;
}

export interface Prometheus {
  /** the instant vector of a PromQL expression; throws the server's message for an invalid one */
  query(expression: string): Promise<Sample[]>;
  close(): Promise<void>;
}

/** Runs `promtool ARGS`, with `input` on its standard input; rejects with what it printed. */
export async function promtool(args: string[], input = ''): Promise<string> {
  const promise = run(join(await programs(), 'promtool'), args, { timeout: hangMs });
  promise.child.stdin!.end(input);
  const { stdout, stderr } = await promise;
  return stdout + stderr;
}

async function programs(): Promise<string> {
  return (await run('bash', [setUp], { timeout: hangMs })).stdout.trim();
}

/** Scrapes `target` (host:port) every second with the given rules. */
export async function startPrometheus({ target, rules }: { target: string; rules: string }): Promise<Prometheus> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-prometheus-'));
  await writeFile(join(dir, 'alerts.yml'), await readFile(rules));
  await writeFile(
    join(dir, 'prometheus.yml'),
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs: [{ job_name: reelmend, static_configs: [{ targets: ['${target}'] }] }]
`,
  );
  const port = await freePorts();
  const child = spawn(
    join(await programs(), 'prometheus'),
    [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: 'ignore' },
  );
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const base = `http://127.0.0.1:${port}`;
  const prometheus: Prometheus = {
    async query(expression) {
      const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const parsed = (await response.json()) as {
        error?: string;
        data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
      };
      if (parsed.data === undefined) throw new Error(parsed.error);
      return parsed.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async close() {
      child.kill('SIGTERM');
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
  await eventually(() => fetch(`${base}/-/ready`).then(({ ok }) => ok, () => false), 'Prometheus is ready');
  return prometheus;
}
