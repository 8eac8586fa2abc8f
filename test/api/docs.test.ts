/** The documents as the service serves them; test/docs/site.test.ts looks at what is in them. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, errorOf, makeApi } from '../helpers/http.ts';

let folder: string;
let api: Api;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-built-docs-'));
  const docsDir = join(folder, 'docs');
  await mkdir(join(docsDir, 'assets'), { recursive: true });
  await mkdir(join(docsDir, 'reference'));
  await writeFile(join(folder, 'secret.html'), 'secret');
  await writeFile(join(docsDir, '.sources'), 'secret');
  for (const name of ['index.html', 'errors.html', '404.html', 'reference/jobs.html', 'theme.js']) await writeFile(join(docsDir, name), name);
  await writeFile(join(docsDir, 'assets/site-1A2B.js'), 'plain');
  await writeFile(join(docsDir, 'assets/site-1A2B.js.br'), 'brotli');
  api = makeApi({ docsDir });
});
afterAll(() => rm(folder, { recursive: true }));

const get = (path: string, headers: Record<string, string> = {}) => api.app.request(path, { headers });

describe('GET /docs', () => {
  it('200 with a policy that allows nothing of other hosts and nothing inline', async () => {
    const response = await api.request('/docs', { key: null });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('index.html');
    const policy = response.headers.get('Content-Security-Policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*|data:/);
  });

  it('404 where no documents were built', async () => {
    const response = await makeApi().request('/docs', { key: null });
    expect(response.status).toBe(404);
    expect((await errorOf(response)).message).toContain('scripts/bootstrap');
    expect((await makeApi().request('/docs/errors', { key: null })).status).toBe(404);
  });
});

describe('GET /docs/*', () => {
  it.each([
    ['/docs/errors', 'errors.html'],
    ['/docs/errors/', 'errors.html'],
    ['/docs/reference/jobs', 'reference/jobs.html'],
    ['/docs/theme.js', 'theme.js'],
  ])('200 %s', async (path, content) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(content);
    expect(response.headers.get('Cache-Control')).toBe('no-cache');
    expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
  });

  it('the path with a slash leads to the one without', async () => {
    const response = await get('/docs/');
    expect(response.status).toBe(301);
    expect(response.headers.get('Location')).toBe('/docs');
  });

  it('assets are compressed, and kept by browsers', async () => {
    const response = await get('/docs/assets/site-1A2B.js', { 'Accept-Encoding': 'br' });
    expect(await response.text()).toBe('brotli');
    expect(response.headers.get('Cache-Control')).toContain('immutable');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
  });

  it('404 for everything else: an error for programs, a page for people', async () => {
    for (const path of ['nothing', 'nothing.js', '..%2fsecret', '%2e%2e/secret', '.sources', 'assets/site-1A2B.js.br', 'assets', '%00']) {
      const response = await get(`/docs/${path}`);
      expect(response.status, path).toBe(404);
      expect((await errorOf(response)).code).toBe('not_found');
    }
    const page = await get('/docs/nothing', { Accept: 'text/html' });
    expect(page.status).toBe(404);
    expect(await page.text()).toBe('404.html');
    expect(page.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
  });
});
