/**
 * The Helm chart. `npm run test:long` renders it and compares the result with the schemas of Kubernetes and KEDA; no
 * cluster runs. `npm test` reads the templates, since Helm takes minutes to build.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { configVariables, loadConfig } from '../../src/app/config.ts';
import { requestGraceMs } from '../../src/app/listen.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { isLongRun } from '../helpers/long-run.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const chart = join(root, 'deploy/helm/reelmend');
const templates = async () => {
  const names = await readdir(join(chart, 'templates'));
  return (await Promise.all(names.map((name) => readFile(join(chart, 'templates', name), 'utf8')))).join('\n');
};

let database: TestDatabase;
let sql: postgres.Sql;
beforeAll(async () => {
  database = await createTestDatabase();
  sql = postgres(database.url, { max: 1 });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

describe('the templates', () => {
  it('set only variables that the service reads', async () => {
    const text = await templates();
    const named = new Set(text.match(/\b(?:REELMEND|S3|DATABASE)_[A-Z0-9_]+\b/g));
    expect(named.size).toBeGreaterThan(15);
    expect([...named].filter((name) => !configVariables.includes(name))).toEqual([]);
  });

  it('ask a question that the database answers', async () => {
    const [, query] = /^ +query: (.+)$/m.exec(await templates())!;
    const [row] = await sql.unsafe(query!.replaceAll(/\{\{[^}]*\| default (\d+) \}\}/g, '$1').replaceAll(/\{\{.*?\}\}/g, 'x'));
    expect(row).toEqual({ worker_demand: '0' });
  });

  it('have the version of the project', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(parse(await readFile(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({ version, appVersion: version });
  });
});

interface Container {
  name: string;
  image: string;
  imagePullPolicy: string;
  args: string[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string; optional?: boolean } } }[];
  securityContext: Record<string, unknown>;
  volumeMounts: { name: string; mountPath: string }[];
  startupProbe?: object;
  livenessProbe?: object;
}

interface Pod {
  hostUsers?: boolean;
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: Record<string, unknown>;
  nodeSelector?: Record<string, string>;
  tolerations?: object[];
  containers: [Container];
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec?: {
    template?: { spec: Pod };
    jobTargetRef?: { template: { spec: Pod } };
    triggers?: { type: string; metadata: Record<string, string>; authenticationRef: { name: string } }[];
    secretTargetRef?: { parameter: string; name: string; key: string }[];
  };
}

describe('the template of the API', () => {
  it('lets requests in progress end when a pod stops', async () => {
    const text = await readFile(join(chart, 'templates/api.yaml'), 'utf8');
    const [grace, preStop] = [/terminationGracePeriodSeconds: (\d+)/, /preStop: \{ sleep: \{ seconds: (\d+)/].map((pattern) => Number(pattern.exec(text)?.[1]));
    expect(1000 * (grace! - preStop!)).toBeGreaterThan(requestGraceMs);
  });
});

describe.skipIf(!isLongRun)('the rendered chart', () => {
  let tools: string;
  beforeAll(async () => {
    tools = (await run('bash', ['scripts/setup-deploy-tools'], { cwd: root, maxBuffer: 1 << 26 })).stdout.trim().split('\n').at(-1)!;
  });

  const helm = async (...args: string[]) => (await run(join(tools, 'bin/helm'), args, { cwd: chart, maxBuffer: 1 << 26 })).stdout;
  const values = (name: string) => ['--values', `ci/${name}-values.yaml`];
  const rendered = async (name: string, ...more: string[]) => {
    // Without a cluster, Helm takes an old version of Kubernetes for granted.
    const text = await helm('template', 'video', '.', '--kube-version', '1.33.0', ...values(name), ...more);
    return { text, manifests: parseAllDocuments(text).map((document) => document.toJS() as Manifest) };
  };
  const podOf = ({ spec }: Manifest) => spec?.template?.spec ?? spec?.jobTargetRef?.template.spec;
  const podsOf = (manifests: Manifest[]) => manifests.flatMap((each) => podOf(each) ?? []);

  it.each(['cpu', 'gpu'])('has no complaint of helm lint: %s', async (name) => {
    expect(await helm('lint', '--strict', ...values(name), '.')).toContain('0 chart(s) failed');
  });

  it.each([
    ['no URL', ['--set', 'publicUrl='], 'publicUrl'],
    ['no bucket', ['--set', 's3.bucket='], 's3'],
    // An empty line of a values file removes the default.
    ['no isolation, which would be none at all', ['--set', 'isolation=null'], 'isolation'],
    ['no number of proxies', ['--set', 'proxyHops=null'], 'proxyHops'],
    ['no name of a Secret', ['--set', 'secrets.service=null'], 'service'],
    ['an unknown value', ['--set', 'api.replcas=3'], 'replcas'],
    ['a pool whose name is the start of another', ['--set', 'workers.gpu-big.enabled=false'], 'gpu-big'],
    ['a tag of a pool without its repository, which would change nothing', ['--set', 'workers.gpu.image.tag=gpu'], 'image'],
  ])('refuses %s', async (_name, args, says) => {
    await expect(rendered('cpu', ...args)).rejects.toThrow(says);
  });

  it('fits the schemas of the oldest and of the newest Kubernetes, and of KEDA', async () => {
    const versions = await readdir(join(tools, 'schemas'));
    expect(versions.length).toBeGreaterThan(1);
    for (const version of versions) {
      const location = join(tools, 'schemas', version, '{{.ResourceKind}}{{.KindSuffix}}.json');
      const check = async (text: string) => {
        const checking = run(join(tools, 'bin/kubeconform'), ['-strict', '-summary', '-output', 'json', '-schema-location', location, '-']);
        checking.child.stdin!.end(text);
        return JSON.parse((await checking).stdout) as { summary: Record<string, number> };
      };
      for (const name of ['cpu', 'gpu']) {
        const { text, manifests } = await rendered(name);
        expect((await check(text)).summary).toEqual({ valid: manifests.length, invalid: 0, errors: 0, skipped: 0 });
        // The schemas do find mistakes, in core resources and in KEDA's.
        await expect(check(text.replace('replicas:', 'replcas:')), version).rejects.toThrow();
        await expect(check(text.replace('pollingInterval:', 'pollInterval:')), version).rejects.toThrow();
        await expect(check(text.replace('runAsNonRoot: true', 'runAsNonRoot: maybe')), version).rejects.toThrow();
      }
    }
  });

  it.each(['cpu', 'gpu'])('gives each process a configuration that it accepts, and secrets by reference alone: %s', async (name) => {
    const { text, manifests } = await rendered(name);
    const pods = podsOf(manifests);
    expect(pods).toHaveLength(3);
    for (const { containers, terminationGracePeriodSeconds } of pods) {
      const [{ env, args }] = containers;
      const secret = (key: string) => (key.startsWith('DATABASE') ? 'postgres://a:b@c/d' : 'sixteen-characters');
      const config = loadConfig(Object.fromEntries(env.map(({ name: key, value }) => [key, value ?? secret(key)])));
      expect(config).toMatchObject({ demo: false, restart: false, publicUrl: 'https://video.example.com', metricsPort: 9464 });
      expect(terminationGracePeriodSeconds).toBeGreaterThan(config.drainSeconds);
      if (args[0] === 'work') expect(config.workerConcurrency === 0).toBe(config.downloadConcurrency > 0);
    }
    for (const { name: key, valueFrom } of pods.flatMap(({ containers }) => containers[0].env)) {
      if (/PEPPER|SECRET|ACCESS_KEY|DATABASE/.test(key)) expect(valueFrom?.secretKeyRef.key, key).toBe(key);
    }
    expect(text).not.toContain('kind: Secret');
    expect(manifests.find(({ kind }) => kind === 'TriggerAuthentication')?.spec?.secretTargetRef).toEqual([
      { parameter: 'connection', name: 'reelmend-scaler', key: 'DATABASE_URL' },
    ]);
  });

  it.each([
    ['as many threads as requested cores', [], '4'],
    ['whole threads', ['--set', 'workers.cpu.resources.requests.cpu=2500m'], '2'],
    ['at least one', ['--set', 'workers.cpu.resources.requests.cpu=0.5'], '1'],
    ['its share of them, if it runs several jobs at a time', ['--set', 'workers.cpu.concurrency=2'], '2'],
    ['the number that is set', ['--set', 'env.REELMEND_THREADS=7'], '7'],
    ['no number without requested cores', ['--set', 'workers.cpu.resources.requests.cpu=null'], undefined],
  ])('gives a job of a worker %s', async (_name, args, threads) => {
    const { manifests } = await rendered('cpu', ...args);
    const [{ env }] = podOf(manifests.find(({ kind }) => kind === 'ScaledJob')!)!.containers;
    expect(env.find(({ name }) => name === 'REELMEND_THREADS')?.value).toBe(threads);
  });

  it('passes numbers of a values file on as they are written', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reelmend-chart-'));
    try {
      const env = { REELMEND_MAX_PIXELS: 33_177_600, REELMEND_MAX_FILE_MB: 1_000_000, OTEL_TRACES_SAMPLER_ARG: 0.25, REELMEND_CONSOLE: false };
      await writeFile(join(folder, 'values.yaml'), JSON.stringify({ env }));
      const { manifests } = await rendered('cpu', '--values', join(folder, 'values.yaml'));
      for (const { containers } of podsOf(manifests)) {
        expect(containers[0].env).toEqual(expect.arrayContaining(Object.entries(env).map(([name, value]) => ({ name, value: String(value) }))));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('pulls the image of a pool as the pool says, or as the chart does', async () => {
    const policies = async (...more: string[]) => podsOf((await rendered('gpu', ...more)).manifests).map(({ containers }) => containers[0].imagePullPolicy);
    expect(await policies('--set', 'image.pullPolicy=Never')).toEqual(['Never', 'Never', 'Never']);
    expect(await policies('--set', 'workers.gpu.image.pullPolicy=Always')).toEqual(['IfNotPresent', 'IfNotPresent', 'Always']);
  });

  it.each([['cpu', 'job_enhance:cpu'], ['gpu', 'job_enhance:cuda']])('asks for what the devices of its own workers can do: %s', async (name, task) => {
    const { manifests } = await rendered(name);
    const job = manifests.find(({ kind }) => kind === 'ScaledJob')!;
    expect(job.spec!.triggers![0]!.metadata['query']).toContain(`ARRAY['${task}']`);
  });

  it('asks for the demand of its own workers, in a query that the database answers', async () => {
    const { manifests } = await rendered('gpu');
    const job = manifests.find(({ kind }) => kind === 'ScaledJob')!;
    const [trigger] = job.spec!.triggers!;
    // The pods of a ScaledJob are named after it.
    expect(trigger!.metadata['query']).toBe(`SELECT worker_demand(ARRAY['job_enhance:cuda'], '${job.metadata.name}-', 0)`);
    expect(await sql.unsafe(trigger!.metadata['query']!)).toHaveLength(1);
    expect(manifests.map(({ metadata }) => metadata.name)).toContain(trigger!.authenticationRef.name);
    expect(podOf(job)).toMatchObject({
      nodeSelector: { 'nvidia.com/gpu.present': 'true' },
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
      containers: [{ args: ['work', '--idle-exit', '300'], image: 'registry.example.com/reelmend-gpu:0.2.0' }],
    });
  });

  it('runs without rights: what Pod Security calls restricted, but for what bubblewrap needs', async () => {
    const common = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
    for (const pod of podsOf((await rendered('gpu')).manifests)) {
      expect(pod.containers[0].securityContext).toEqual(common);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod).toMatchObject({ automountServiceAccountToken: false });
      expect(pod.hostUsers).toBeUndefined();
    }
    for (const pod of podsOf((await rendered('cpu')).manifests)) {
      expect(pod.containers[0].securityContext).toEqual({ ...common, procMount: 'Unmasked' });
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'Unconfined' } });
      expect(pod.hostUsers).toBe(false);
      expect(pod.containers[0].env).toContainEqual({ name: 'REELMEND_REQUIRE_ISOLATION', value: '1' });
    }
  });

  it.each(['cpu', 'gpu'])('can write where the service writes, and is probed: %s', async (name) => {
    for (const { containers } of podsOf((await rendered(name)).manifests)) {
      expect(containers[0].volumeMounts.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining(['/var/lib/reelmend', '/tmp']));
      expect(containers[0]).toMatchObject({ startupProbe: { httpGet: { path: '/healthz' } }, livenessProbe: { httpGet: { path: '/healthz' } } });
    }
  });
});
