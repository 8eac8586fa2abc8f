/** The built page: its files, its document at every path of its own, its policy. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleWorld, makeConsole } from '../helpers/console.ts';

const document = '<!doctype html>\n<html lang="en"><title>Console</title></html>';
let world: ConsoleWorld;
let folder: string;
let pageDir: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-built-'));
  pageDir = join(folder, 'console');
  await mkdir(join(pageDir, 'assets'), { recursive: true });
  await writeFile(join(folder, 'secret.js'), 'secret');
  await writeFile(join(pageDir, '.sources'), 'secret');
  await writeFile(join(pageDir, 'index.html'), document);
  await writeFile(join(pageDir, 'index.html.gz'), gzipSync(document));
  await writeFile(join(pageDir, 'theme.js'), 'plain');
  for (const [suffix, text] of [
    ['', 'plain'],
    ['.gz', 'gzip'],
    ['.br', 'brotli'],
  ] as const) {
    await writeFile(join(pageDir, `assets/app-1a2b.js${suffix}`), text);
  }
  world = await makeConsole({ console: { pageDir, mediaOrigins: ['https://bucket.example.com'] } });
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) => world.app.request(path, { headers });

describe('the root path of the service', () => {
  it('leads to the page', async () => {
    const response = await get('/');
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('console/');
  });
});

describe('the document', () => {
  it.each(['/console', '/console/', '/console/jobs', '/console/jobs/job_01jdq4s9xkf5v8t2m6w0c3rhbz', '/console/apiary'])(
    'is at %s',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(document);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-cache');
    },
  );

  it('allows nothing of other hosts but videos from the bucket and uploads to it, and nothing inline', async () => {
    const response = await get('/console');
    const policy = response.headers.get('content-security-policy')!.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        // Parts of uploads go straight to the bucket.
        "connect-src 'self' https://bucket.example.com",
        "media-src 'self' blob: https://bucket.example.com",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]),
    );
    expect(policy.join()).not.toContain('unsafe');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('is not at addresses of operations that do not exist', async () => {
    for (const path of ['/console/api', '/console/api/', '/console/api/nothing']) {
      expect((await get(path)).status, path).toBe(404);
    }
  });
});

describe('the document of a service without sign-up', () => {
  it('says so to the page, whatever the browser takes', async () => {
    const closed = await makeConsole({ console: { pageDir, signUp: 'closed' } });
    for (const path of ['/console', '/console/sign-up', '/console/index.html']) {
      const response = await closed.app.request(path, { headers: { 'Accept-Encoding': 'gzip, br' } });
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(await response.text(), path).toBe(document.replace('<html ', '<html data-sign-up="closed" '));
    }
    const script = await closed.app.request('/console/assets/app-1a2b.js', { headers: { 'Accept-Encoding': 'br' } });
    expect(await script.text()).toBe('brotli');
    await closed.close();
  });

  it('is otherwise sent as it was built', async () => {
    const response = await get('/console/sign-up', { 'Accept-Encoding': 'gzip' });
    expect(gunzipSync(await response.arrayBuffer()).toString()).toBe(document);
  });
});

describe('files', () => {
  it.each([
    ['br, gzip', 'brotli', 'br'],
    ['gzip', 'gzip', 'gzip'],
    ['gzip, br;q=0', 'gzip', 'gzip'],
    ['identity', 'plain', null],
  ])('are sent as the browser takes them: %s', async (accepted, text, encoding) => {
    const response = await get('/console/assets/app-1a2b.js', { 'Accept-Encoding': accepted });
    expect(await response.text()).toBe(text);
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('cache-control')).toContain('immutable');
    expect(response.headers.get('vary')).toBe('Accept-Encoding');
  });

  it('without a hash in the name are asked for again', async () => {
    const response = await get('/console/theme.js', { 'Accept-Encoding': 'br' });
    expect(await response.text()).toBe('plain');
    expect(response.headers.get('cache-control')).toBe('no-cache');
  });

  it.each([
    '/console/assets/gone.js',
    '/console/../secret.js',
    '/console/%2e%2e/secret.js',
    '/console/..%2fsecret.js',
    '/console/assets/..%2f..%2fsecret.js',
    '/console/.sources',
    '/console/assets/app-1a2b.js.br',
    '/console/assets/app-1a2b.unknown',
  ])('outside of the page are not there: %s', async (path) => {
    const response = await get(path);
    expect(await response.text()).not.toContain('secret');
    expect(response.headers.get('content-type')).not.toContain('javascript');
    if (/\.(?:br|unknown)$/.test(path)) expect(response.status).toBe(404);
  });

  it('say that the page is not built while it is not', async () => {
    const unbuilt = await makeConsole();
    const response = await unbuilt.app.request('/console');
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('The console is not built');
    await unbuilt.close();
  });
});
