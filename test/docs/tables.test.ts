/** Tables of the documents that state what other files state too: neither may say more or less than the other. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../src/app/config.ts';
import { webhookBody, webhookEvents, webhookHeaders } from '../../src/domain/webhooks.ts';
import { defaultQuotas } from '../../src/http/middleware/rate-limit.ts';
import { createHttpMetrics } from '../../src/http/metrics.ts';
import { statusByCode } from '../../src/http/problem.ts';
import { createWorkerMetrics } from '../../src/jobs/worker-metrics.ts';
import { registerDiskMetrics } from '../../src/observability/disk-metrics.ts';
import { registerServiceMetrics } from '../../src/observability/service-metrics.ts';
import type { Store } from '../../src/store/index.ts';
import { codeOf, readMarkdown, root } from './markdown.ts';

const reference = z.looseObject({ $ref: z.string().optional(), description: z.string().optional() });
const contract = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), z.unknown())),
    components: z.object({
      responses: z.record(z.string(), reference),
      schemas: z.object({
        ErrorDetail: z.object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) }),
        JobError: z.object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) }),
        UploadError: z.object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) }),
      }),
    }),
  })
  .parse(parse(readFileSync(join(root, 'openapi.yaml'), 'utf8')));
const codes = contract.components.schemas.ErrorDetail.properties.code.enum;

/** code → statuses under which some operation documents it, by the descriptions of the responses */
function documentedStatuses(): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  const operations = Object.values(contract.paths).flatMap((path) => Object.values(path));
  const responses = operations.flatMap((operation) => {
    const parsed = z.object({ responses: z.record(z.string(), reference) }).safeParse(operation);
    return parsed.success ? Object.entries(parsed.data.responses) : [];
  });
  for (const [status, response] of responses) {
    const name = response.$ref?.split('/').at(-1);
    const text = (name === undefined ? response : contract.components.responses[name])?.description ?? '';
    for (const [, code] of text.matchAll(/`([a-z_]+)`/g)) {
      if (Number(status) >= 400 && codes.includes(code!)) found.set(code!, (found.get(code!) ?? new Set()).add(Number(status)));
    }
  }
  return found;
}

describe('docs/errors.md', () => {
  const { rows } = readMarkdown('docs/errors.md');
  const { create, read, other } = defaultQuotas;
  const table = rows.filter((row) => codeOf(row[0]) !== null && /^\d{3}$/.test(row[1] ?? ''));

  it('has every code of the contract once', () => {
    expect(table.map((row) => codeOf(row[0])).toSorted()).toEqual(codes.toSorted());
  });

  it('has the status that the service answers with, and no operation documents another', () => {
    expect(Object.fromEntries(table.map((row) => [codeOf(row[0]), Number(row[1])]))).toEqual(statusByCode);
    for (const [code, statuses] of documentedStatuses()) {
      expect([...statuses], code).toEqual([Number(table.find((row) => codeOf(row[0]) === code)![1])]);
    }
  });

  it('has every code of a failed job or upload', () => {
    const { JobError, UploadError } = contract.components.schemas;
    const failures = [...JobError.properties.code.enum, ...UploadError.properties.code.enum];
    const shown = rows.filter((row) => row.length === 3 && !/^\d+$/.test(row[2]!)).flatMap((row) => codeOf(row[0]) ?? []);
    expect(shown.toSorted()).toEqual(failures.toSorted());
  });

  it('has the default rate limits', () => {
    const shown = rows.flatMap((row) => (/^\d+$/.test(row[2] ?? '') ? [[codeOf(row[0]), Number(row[2])]] : []));
    expect(Object.fromEntries(shown)).toEqual({ create, read, other });
  });
});

describe('docs/configuration.md', () => {
  const { rows } = readMarkdown('docs/configuration.md');
  const source = readFileSync(join(root, 'src/app/config.ts'), 'utf8');
  const variables = [...source.matchAll(/^ {2}([A-Z][A-Z0-9_]+): ([\s\S]*?),\n(?= {2}[A-Z]|\}\))/gm)];
  const table = new Map(rows.flatMap((row) => (/^[A-Z0-9_]+$/.test(codeOf(row[0]) ?? '') ? [[codeOf(row[0])!, row]] : [])));

  it('has every variable of the configuration, and no other', () => {
    expect(variables.length).toBeGreaterThan(25);
    expect([...table.keys()].toSorted()).toEqual(variables.map(([, name]) => name!).toSorted());
  });

  it('has the defaults of the code', () => {
    for (const [, name, rule] of variables) {
      const shown = table.get(name!)![1]!;
      const inCode = defaultOf(name!, rule!);
      if (inCode === null) expect(shown, name).not.toMatch(/^`[^`]*`$/);
      else expect(shown, name).toBe(`\`${inCode}\``);
    }
  });

  it('is read by the service as the tables say', () => {
    const defaults = Object.fromEntries(
      [...table].flatMap(([name, row]) => (codeOf(row[1]) === null ? [] : [[name, codeOf(row[1])!]])),
    );
    const { rateLimits: _, ...unset } = loadConfig({});
    const { rateLimits, ...set } = loadConfig(defaults);
    expect(set).toEqual(unset);
    expect(rateLimits).toEqual(defaultQuotas);
  });
});

describe('docs/install.md', () => {
  const settersOf = (cell: string) => (cell === 'both images' ? ['Dockerfile', 'Dockerfile.gpu'] : [codeOf(cell)!]);
  const codes = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);

  it('has the defaults with Docker as the images and the Compose files set them', () => {
    const rows = readMarkdown('docs/install.md').rows.filter((row) => /image|`(Dockerfile|compose)/.test(row[1] ?? ''));
    const shown = rows.flatMap(([names, setter, values]) => {
      const found = codes(values!);
      return codes(names!).flatMap((name, i) => settersOf(setter!).map((file) => ({ file, name, value: found[i] ?? found[0]! })));
    });
    expect(shown.length).toBeGreaterThan(15);
    for (const { file, name, value } of shown) {
      const text = readFileSync(join(root, file), 'utf8');
      expect(text, `${file}: ${name}`).toContain(file.startsWith('Dockerfile') ? `${name}=${value}` : `\${${name}:-${value}}`);
    }
  });
});

describe('docs/monitoring.md', () => {
  const { rows } = readMarkdown('docs/monitoring.md');

  it('has every metric of ours, and no other', () => {
    const registry = new Registry();
    createHttpMetrics({ registry });
    createWorkerMetrics(registry);
    registerServiceMetrics({ registry, store: {} as Store });
    registerDiskMetrics({ registry, folders: {} });
    const shown = [...new Set(rows.flatMap((row) => (codeOf(row[0])?.startsWith('reelmend_') ? [codeOf(row[0])!] : [])))];
    expect(shown.toSorted()).toEqual(registry.getMetricsAsArray().map(({ name }) => name).toSorted());
  });

  const prometheus = (file: string) => readFileSync(join(root, 'deploy/prometheus', file), 'utf8');
  const rule = z.object({ alert: z.string(), annotations: z.object({ summary: z.string(), runbook_url: z.string() }) });
  const { groups } = z.object({ groups: z.array(z.object({ rules: z.array(rule) })) }).parse(parse(prometheus('alerts.yml')));
  const alerts = groups.flatMap((group) => group.rules);
  const [, chapter] = /\n## Alerts\n([\s\S]*?)\n## /.exec(readFileSync(join(root, 'docs/monitoring.md'), 'utf8'))!;
  const sections = new Map(chapter!.split(/^### /m).slice(1).map((text) => [/^\w+/.exec(text)![0], text]));

  it('has every alert, and no other, in the order of the rules', () => {
    expect([...sections.keys()]).toEqual(alerts.map(({ alert }) => alert));
  });

  it.each(alerts)('says what $alert means, what to look at and what to do, where its link leads', ({ alert, annotations }) => {
    const [, page, fragment] = /^\{\{ \$externalLabels\.reelmend_url \}\}\/docs\/([\w-]+)#(\w+)$/.exec(annotations.runbook_url)!;
    expect(readMarkdown(`docs/${page}.md`).anchors).toContain(fragment);
    expect(fragment).toBe(alert.toLowerCase());
    expect(sections.get(alert)).toMatch(/^\w+\n\n\w[\s\S]{40,}\n\n- \*\*Check\.\*\* \S[\s\S]{20,}\n- \*\*Do\.\*\* \S[\s\S]{20,}$/);
  });

  it('sends the links of the alerts to a service', () => {
    const { global } = z.object({ global: z.object({ external_labels: z.object({ reelmend_url: z.url() }) }) }).parse(parse(prometheus('prometheus.yml')));
    expect(global.external_labels.reelmend_url).not.toMatch(/\/$/);
  });
});

describe('openapi.yaml', () => {
  it.each(webhookEvents)('has the signatures of its example of %s', (event) => {
    const text = readFileSync(join(root, 'openapi.yaml'), 'utf8').split(`\n  ${event}:\n`)[1]!;
    const example = (name: string) => new RegExp(`- name: ${name}\n(?:(?! +- name).*\n)*? +example: '?([^'\n]+)`).exec(text)?.[1];
    const [, secret] = /The secret of the example is `(whsec_[^`]+)`/.exec(text)!;
    const [, jobId] = / +job_id: (job_\w+)/.exec(text)!;
    const [id, seconds] = [example('webhook-id')!, example('webhook-timestamp')!];
    const signed = webhookHeaders({ id, at: new Date(1000 * Number(seconds)), body: webhookBody(event, jobId!), secrets: [secret!], serviceSecret: secret! });
    expect([example('X-Service-Signature'), example('webhook-signature')]).toEqual([signed['x-service-signature'], signed['webhook-signature']]);
  });
});

describe('documents and deployment files', () => {
  const names = (pathspecs: string[], pattern: RegExp) => {
    const found = new Map<string, string>();
    for (const file of execFileSync('git', ['ls-files', '--', ...pathspecs], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)) {
      for (const [name] of readFileSync(join(root, file), 'utf8').matchAll(pattern)) found.set(name, file);
    }
    return found;
  };
  /** the sentences of the documents, without code */
  const documentTexts = () =>
    [...names(['*.md', 'src/site/templates/', ':!test/'], /[\s\S]+/g)].map(([text, file]) => [file, text.replace(/```[\s\S]*?```|`[^`\n]*`/g, '')] as const);
  const documents = ['*.md', 'compose*.yaml', 'Dockerfile*', 'deploy/', ':!test/'];
  /** of the examples that show how a customer uses the service */
  const examples = ['REELMEND_URL', 'REELMEND_API_KEY', 'REELMEND_TEST_KEY', 'REELMEND_WEBHOOK_SECRET'];

  it('name no variable that nothing reads', () => {
    const pattern = /(?<!\(was\s+`)\bREELMEND_[A-Z0-9_]*[A-Z0-9]\b/g;
    const read = names(['src/**/*.ts', 'scripts/', 'engine/', 'native/', 'test/', ':!*.md'], pattern);
    const unread = [...names(documents, pattern)].filter(([name]) => !read.has(name) && !examples.includes(name));
    expect(unread).toEqual([]);
  });

  it('spell the target 4K, except as a value of the API', () => {
    const misspelled = documentTexts().filter(([, text]) => /\b4k\b/.test(text)).map(([file]) => file);
    expect(misspelled).toEqual([]);
  });

  it('name no file of ours that does not exist', () => {
    const pattern = /(?<![\w./-])(?:src|test|scripts|native|migrations|deploy|docs)\/[\w/@-]+(?:\.\w+)*/g;
    const shown = [...names(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/', 'compose*.yaml', 'Dockerfile*', ':!docs/*.webp'], pattern)];
    expect(shown.length).toBeGreaterThan(40);
    expect(shown.filter(([path]) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('name no metric that nothing reports', () => {
    const pattern = /\breelmend_[a-z0-9_]+/g;
    const registry = new Registry();
    createHttpMetrics({ registry });
    createWorkerMetrics(registry);
    registerServiceMetrics({ registry, store: {} as Store });
    registerDiskMetrics({ registry, folders: {} });
    const reported = registry.getMetricsAsArray().map(({ name }) => name);
    const isReported = (name: string) => reported.includes(name.replace(/_(?:bucket|sum|count)$/, ''));
    const shown = [...names(['CHANGELOG.md', 'README.md', 'SECURITY.md', 'docs/', 'deploy/', ':!docs/*.webp'], pattern)];
    expect(shown.length).toBeGreaterThan(20);
    // of a database, and of a label
    const others = ['reelmend_restored', 'reelmend_url'];
    expect(shown.filter(([name]) => !isReported(name) && !others.includes(name))).toEqual([]);
  });
});

/** What a rule of src/app/config.ts gives when the variable is unset; null for what is not a fixed value. */
function defaultOf(name: string, rule: string): string | null {
  if (name === 'REELMEND_RATE_LIMITS') return Object.entries(defaultQuotas).map(([key, count]) => `${key}=${count}`).join(',');
  if (['REELMEND_THREADS', 'REELMEND_METRICS_PORT', 'REELMEND_ALLOW_HOSTS'].includes(name)) return null;
  if (/\.optional\(\)$/.test(rule)) return null;
  const [, number, flag, text] = /^integer\((\d+)|\.default\((true|false)\)|\.default\('([^']*)'\)/.exec(rule) ?? [];
  return number ?? text ?? (flag === 'true' ? '1' : '0');
}
