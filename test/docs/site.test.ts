/** The built site: complete, without a dead link, and nothing in it that the policy of its pages forbids. */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { zJobError, zUploadError } from '../../src/contract/zod.gen.ts';
import { requestErrorCodes } from '../../src/domain/errors.ts';
import { docUrl, jobDocUrl } from '../../src/http/doc-url.ts';
import { guides } from '../../src/site/guides.ts';
import type { Section } from '../../src/site/search-sections.ts';
import { hangMs } from '../helpers/wait.ts';
import { documents, root } from './markdown.ts';

const built = join(root, 'build/docs');
/** paths such as `/docs/errors` → HTML */
const pages = new Map<string, string>();

beforeAll(async () => {
  await promisify(execFile)(join(root, 'scripts/build-docs'), [], { timeout: hangMs });
  for (const name of globSync('**/*.html', { cwd: built })) {
    const path = `/docs/${name.replace(/\.html$/, '')}`.replace(/\/index$/, '');
    pages.set(path, readFileSync(join(built, name), 'utf8'));
  }
});

const idsOf = (html: string) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);

/** Addresses of the service that are no documents. */
const elsewhere = /^\/(?:console\/|v1\/openapi\.(?:json|yaml)$)/;

function problemOf(href: string, from: string): string | null {
  if (/^(?:https?:|mailto:)/.test(href) || elsewhere.test(href)) return null;
  const [path = '', fragment] = href.split('#');
  const target = pages.get(path === '' ? from : path);
  if (target === undefined) return existsSync(join(built, path.replace(/^\/docs\//, ''))) && fragment === undefined ? null : 'no such page';
  return fragment === undefined || idsOf(target).includes(decodeURIComponent(fragment)) ? null : 'no such heading';
}

describe('the explanation of an error', () => {
  const service = 'https://reelmend.example.com';
  it.each([
    ...requestErrorCodes.map((code) => ({ code, of: 'a request', url: docUrl(service, code), table: 'code' })),
    ...zJobError.shape.code.options.map((code) => ({ code, of: 'a job', url: jobDocUrl(service, code), table: 'code of the job' })),
    ...zUploadError.shape.code.options.map((code) => ({ code, of: 'an upload', url: docUrl(service, code), table: 'code of the upload' })),
  ])('$code of $of is where doc_url says, with its cause and a remedy', ({ code, url, table }) => {
    const { pathname, hash } = new URL(url);
    const [, row = ''] = new RegExp(`<tr id="${hash.slice(1)}">(.*?)</tr>`, 's').exec(pages.get(pathname) ?? '') ?? [];
    const cells = [...row.matchAll(/<td data-label="([^"]*)">(.*?)<\/td>/gs)].map(([, label, html]) => ({ label, html: html! }));
    expect(cells.find((cell) => cell.label === table)?.html).toBe(`<code>${code}</code>`);
    for (const label of ['what happened', 'what to do']) expect(cells.find((cell) => cell.label === label)?.html, label).toMatch(/\w{3}/);
  });
});

it('the link of each alert leads to its section', () => {
  const rules = readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8');
  const links = [...rules.matchAll(/runbook_url: "\{\{ \$externalLabels\.reelmend_url \}\}(.+)"/g)].map(([, link]) => link!);
  expect(links).toHaveLength(rules.match(/- alert:/g)!.length);
  expect(links.filter((link) => problemOf(link, '/docs') !== null)).toEqual([]);
});

describe('the site', () => {
  it('has every document of docs/', () => {
    const sources = guides.map(({ source }) => source);
    expect(documents.filter((path) => path.startsWith('docs/') && !sources.includes(path))).toEqual([]);
    for (const { slug } of guides) expect([...pages.keys()]).toContain(`/docs/${slug}`);
  });

  it('explains every operation of the API, and none of the console', () => {
    const reference = [...pages].filter(([path]) => path.startsWith('/docs/reference/'));
    const explained = reference.flatMap(([, html]) => [...html.matchAll(/<h2 id="(\w+)"/g)].map(([, id]) => id!));
    const { paths } = parse(readFileSync(join(root, 'openapi.yaml'), 'utf8')) as { paths: Record<string, Record<string, { operationId?: string }>> };
    const ids = (ofConsole: boolean) =>
      Object.entries(paths).flatMap(([path, item]) =>
        path.startsWith('/console/') === ofConsole ? Object.values(item).flatMap(({ operationId }) => operationId ?? []) : [],
      );
    expect(ids(false).filter((id) => !explained.includes(id))).toEqual([]);
    expect(ids(true).length).toBeGreaterThan(50);
    expect(ids(true).filter((id) => reference.some(([, html]) => html.includes(id)))).toEqual([]);
    for (const [path, html] of reference) expect(html, path).not.toContain('/console/api');
  });

  it('shows an example of a parameter, such as a time', () => {
    expect(pages.get('/docs/reference/jobs')).toMatch(/<code>created_after<\/code>(?:(?!<dt>).)*Example: <code>2026-11-01T00:00:00Z<\/code>\./s);
  });

  it('gives a format to the numbers and texts of the API alone, not to `null`', () => {
    const types = [...pages.values()].flatMap((html) => [...html.matchAll(/<span class="type">([^<]+)/g)].map(([, type]) => type!));
    expect(types).toContain('integer (int64) or null');
    expect(types.filter((type) => type.includes('null ('))).toEqual([]);
  });

  it('has no dead link', () => {
    const dead = [...pages].flatMap(([from, html]) =>
      [...html.matchAll(/ (?:href|src)="([^"]+)"/g)].flatMap(([, href]) => {
        const problem = problemOf(href!, from);
        return problem === null ? [] : [`${from}: ${href}: ${problem}`];
      }),
    );
    expect(dead).toEqual([]);
  });

  it('has no id twice on a page', () => {
    for (const [path, html] of pages) expect(idsOf(html).toSorted(), path).toEqual([...new Set(idsOf(html))].toSorted());
  });

  it('has no inline script, style or handler', () => {
    for (const [path, html] of pages) expect(html, path).not.toMatch(/<style|<script(?![^>]* src=)|<[^>]* (?:style|on\w+)=/);
  });

  it('can be searched: every page, down to a code of an error', () => {
    const sections = JSON.parse(readFileSync(join(built, 'search.json'), 'utf8')) as Section[];
    const urls = sections.map(({ url }) => url);
    expect(urls).toEqual([...new Set(urls)]);
    for (const path of pages.keys()) if (!['/docs', '/docs/404'].includes(path)) expect(urls).toContain(path);
    const code = sections.find(({ url }) => url === '/docs/errors#job_not_done');
    expect(code).toMatchObject({ title: 'job_not_done', text: expect.stringContaining('has not finished') as string });
  });
});
