import { describe, expect, it } from 'vitest';
import { errorOf, makeApi } from '../helpers/http.ts';

describe('GET /docs', () => {
  it('is a page that loads only our own files, without inline script or style', async () => {
    const response = await makeApi().request('/docs', { key: null });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('Content-Security-Policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const page = await response.text();
    expect(page).not.toMatch(/<script>|<style|style=|onload|https?:\/\//);
    const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!);
    expect(addresses.length).toBeGreaterThan(4);
    for (const address of addresses) {
      const file = await makeApi().request(new URL(address, 'http://reelmend.test/docs').pathname, { key: null });
      expect(file.status, address).toBe(200);
      expect(Number((await file.arrayBuffer()).byteLength)).toBeGreaterThan(50);
    }
  });

  it('shows the served document, and asks no other host to validate it', async () => {
    const start = await (await makeApi().request('/docs/start.js', { key: null })).text();
    expect(start).toContain("url: 'v1/openapi.json'");
    expect(start).toContain('validatorUrl: null');
  });
});

describe('GET /docs/{file}', () => {
  const files = [
    ['swagger-ui.css', 'text/css'],
    ['swagger-ui-bundle.js', 'text/javascript'],
    ['page.css', 'text/css'],
    ['start.js', 'text/javascript'],
    ['favicon-32x32.png', 'image/png'],
  ] as const;
  it.each(files)('200 %s as %s', async (name, type) => {
    const response = await makeApi().request(`/docs/${name}`, { key: null });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toContain(type);
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(response.headers.get('Cache-Control')).toBe('public, max-age=3600');
  });

  it('404 for every other name', async () => {
    for (const name of ['package.json', 'swagger-ui.js', '..%2fpackage.json', '%2e%2e', 'start.js.map', '%00']) {
      const response = await makeApi().request(`/docs/${name}`, { key: null });
      expect(response.status, name).toBe(404);
      expect((await errorOf(response)).code).toBe('not_found');
    }
  });
});
