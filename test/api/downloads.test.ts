import { describe, expect, it } from 'vitest';
import { makeLink } from '../../src/storage/links.ts';
import { parseRange } from '../../src/http/routes/downloads.ts';
import { errorOf, finished, linkSecret, makeApi, publicUrl } from '../helpers/http.ts';

const content = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
const key = 'outputs/ab/job_x.mp4';

function link({
  expires = Math.floor(Date.now() / 1000) + 60,
  fileName = 'film.mp4',
  contentType = 'video/mp4',
} = {}): string {
  return makeLink(publicUrl, linkSecret, { key, expires, fileName, contentType }).slice(publicUrl.length);
}

function api() {
  const made = makeApi();
  made.objects.set(key, content);
  return made;
}

describe('GET /v1/downloads/{key}', () => {
  it('200 with the whole file, its name, length and validator, without a key', async () => {
    const response = await api().request(link(), { key: null });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('video/mp4');
    expect(response.headers.get('Content-Length')).toBe('1000');
    expect(response.headers.get('Content-Disposition')).toBe('attachment; filename="film.mp4"');
    expect(response.headers.get('Accept-Ranges')).toBe('bytes');
    expect(response.headers.get('Cross-Origin-Resource-Policy')).toBe('cross-origin');
    expect(response.headers.get('Cache-Control')).toBe('private, no-transform');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
  });

  it('lets web pages of other origins fetch it, in parts, too, and read why it fails', async () => {
    const preflight = await api().request(link(), { method: 'OPTIONS', key: null, headers: { Origin: 'https://shop.example', 'Access-Control-Request-Headers': 'range' } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(preflight.headers.get('Access-Control-Allow-Methods')).toBe('GET, HEAD');
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toBe('Range, If-Range, If-None-Match');
    const answers = await Promise.all([
      api().request(link(), { key: null }),
      api().request(link(), { key: null, method: 'HEAD' }),
      api().request(link(), { key: null, headers: { Range: 'bytes=0-9' } }),
      api().request(link(), { key: null, headers: { Range: 'bytes=2000-' } }),
      api().request(link({ expires: 1 }), { key: null }),
      makeApi().request(link(), { key: null }),
      // as mail programs and pages change links
      api().request(`${link()}&utm_source=mail`, { key: null }),
      api().request(link().split('?')[0]!, { key: null }),
      api().request(link().replace('/ab/', '/A B/'), { key: null }),
      api().request(link(), { key: null, method: 'POST' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 206, 416, 403, 404, 403, 403, 404, 405]);
    for (const { headers, status } of answers) {
      expect(headers.get('Access-Control-Allow-Origin'), String(status)).toBe('*');
      expect(headers.get('Access-Control-Expose-Headers'), String(status)).toContain('Content-Range');
      expect(headers.get('Access-Control-Expose-Headers'), String(status)).toContain('Retry-After');
    }
  });

  it('follows the link that a result gives', async () => {
    const made = makeApi();
    const job = await made.store.addJob(finished());
    made.objects.set(`outputs/${job.id}.mp4`, content);
    const { download_url } = (await (await made.request(`/v1/jobs/${job.id}/result`)).json()) as {
      download_url: string;
    };
    const response = await made.request(download_url.slice(publicUrl.length), { key: null });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Disposition')).toContain(`${job.id}-1080p.mp4`);
  });

  it('takes a name in any script', async () => {
    const response = await api().request(link({ fileName: 'Zürich 中.mp4' }), { key: null });
    expect(response.headers.get('Content-Disposition')).toBe(
      'attachment; filename="Z_rich _.mp4"; filename*=UTF-8\'\'Z%C3%BCrich%20%E4%B8%AD.mp4',
    );
  });

  const ranges = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, 999],
    ['bytes=10-19', 10, 19],
    ['bytes=990-2000', 990, 999],
    ['bytes=-1', 999, 999],
    ['bytes=-5000', 0, 999],
  ] as const;
  for (const [Range, start, end] of ranges) {
    it(`206 for ${Range}`, async () => {
      const response = await api().request(link(), { key: null, headers: { Range } });
      expect(response.status).toBe(206);
      expect(response.headers.get('Content-Range')).toBe(`bytes ${start}-${end}/1000`);
      expect(response.headers.get('Content-Length')).toBe(String(end - start + 1));
      expect(Buffer.from(await response.arrayBuffer()).equals(content.subarray(start, end + 1))).toBe(true);
    });
  }

  for (const Range of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=5-2', 'bytes=', 'bytes=-', 'nonsense']) {
    it(`200 with the whole file for ${Range}`, async () => {
      const response = await api().request(link(), { key: null, headers: { Range } });
      expect(response.status).toBe(200);
      expect((await response.arrayBuffer()).byteLength).toBe(1000);
    });
  }

  for (const Range of ['bytes=1000-', 'bytes=5000-6000', 'bytes=-0']) {
    it(`416 for ${Range}`, async () => {
      const response = await api().request(link(), { key: null, headers: { Range } });
      expect(response.status).toBe(416);
      expect(response.headers.get('Content-Range')).toBe('bytes */1000');
      expect(await errorOf(response)).toMatchObject({ code: 'range_not_satisfiable', type: 'validation_error' });
    });
  }

  it('honours If-Range', async () => {
    const made = api();
    const etag = (await made.request(link(), { key: null })).headers.get('ETag')!;
    for (const [condition, status] of [
      [etag, 206],
      ['"other"', 200],
      [new Date().toUTCString(), 200],
    ] as const) {
      const response = await made.request(link(), {
        key: null,
        headers: { Range: 'bytes=1-2', 'If-Range': condition },
      });
      expect(response.status).toBe(status);
    }
  });

  it('304 without the file for a client that has it, as when a page is reloaded', async () => {
    const made = api();
    const etag = (await made.request(link(), { key: null })).headers.get('ETag')!;
    const opened = made.storage.opened;
    for (const method of ['GET', 'HEAD']) {
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const response = await made.request(link(), { key: null, method, headers: { 'If-None-Match': known, Range: 'bytes=5000-' } });
        expect([response.status, await response.text()], known).toEqual([304, '']);
        expect(response.headers.get('ETag')).toBe(etag);
        // They replace those of the cached response.
        expect(response.headers.get('Cache-Control')).toBe('private, no-transform');
        expect(response.headers.get('Cross-Origin-Resource-Policy')).toBe('cross-origin');
        expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
      }
    }
    expect(made.storage.opened).toBe(opened);
    for (const other of ['"other"', etag.slice(1, -1), '']) {
      const response = await made.request(link(), { key: null, headers: { 'If-None-Match': other } });
      expect(response.status, other).toBe(200);
    }
    const expired = await made.request(link({ expires: 1 }), { key: null, headers: { 'If-None-Match': etag } });
    expect(expired.status).toBe(403);
  });

  it('HEAD opens no file', async () => {
    const made = api();
    const response = await made.request(link(), { method: 'HEAD', key: null });
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Length')).toBe('1000');
    expect(made.storage.opened).toBe(0);
  });

  it('403 link_expired after its time', async () => {
    const response = await api().request(link({ expires: Math.floor(Date.now() / 1000) - 1 }), { key: null });
    expect(response.status).toBe(403);
    expect(await errorOf(response)).toMatchObject({ code: 'link_expired', type: 'permission_error' });
  });

  it('403 link_invalid when any part is changed or missing', async () => {
    const made = api();
    const good = new URL(link(), publicUrl);
    const changes: ((url: URL) => void)[] = [
      (url) => url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1)),
      (url) => url.searchParams.set('name', 'other.mp4'),
      (url) => url.searchParams.set('type', 'text/html'),
      (url) => url.searchParams.set('signature', '0'.repeat(64)),
      (url) => url.searchParams.set('signature', 'short'),
      (url) => url.searchParams.delete('signature'),
      (url) => url.searchParams.delete('expires'),
      (url) => url.searchParams.append('signature', url.searchParams.get('signature')!),
      (url) => url.searchParams.set('extra', '1'),
      (url) => {
        url.pathname = url.pathname.replace('job_x', 'job_y');
      },
    ];
    for (const change of changes) {
      const url = new URL(good);
      change(url);
      const response = await made.request(url.pathname + url.search, { key: null });
      expect(response.status, url.href).toBe(403);
      expect((await errorOf(response)).code).toBe('link_invalid');
    }
    expect(made.storage.opened).toBe(0);
  });

  it('503 with Retry-After while the storage fails, for the whole file, a range and HEAD', async () => {
    const made = api();
    made.storage.stat = () => Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }));
    const requests = [{ key: null }, { key: null, headers: { Range: 'bytes=0-1' } }];
    for (const request of requests) {
      const response = await made.request(link(), request);
      expect(response.status).toBe(503);
      expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
      expect(await errorOf(response)).toMatchObject({ code: 'service_unavailable', type: 'api_error' });
    }
    expect((await made.request(link(), { method: 'HEAD', key: null })).status).toBe(503);
  });

  it('404 when the file is gone, and for names that no file has', async () => {
    const made = makeApi();
    const gone = await made.request(link(), { key: null });
    expect(gone.status).toBe(404);
    expect(await errorOf(gone)).toMatchObject({ code: 'not_found', type: 'not_found_error' });
    const { search } = new URL(link(), publicUrl);
    for (const path of ['/v1/downloads/A', '/v1/downloads/a%00b', `/v1/downloads/${'a'.repeat(513)}`]) {
      expect((await made.request(path + search, { key: null })).status).toBe(404);
    }
    for (const path of ['/v1/downloads/..%2f..%2fetc/passwd', '/v1/downloads/a%2f..%2fb']) {
      expect([403, 404]).toContain((await made.request(path + search, { key: null })).status);
    }
  });
});

describe('parseRange', () => {
  it('never leaves the file', () => {
    for (const size of [0, 1, 2, 1000]) {
      for (const header of [
        'bytes=0-0',
        'bytes=1-',
        'bytes=-1',
        'bytes=-0',
        'bytes=0-99999999999999999999',
        'bytes=7-8',
      ]) {
        const range = parseRange(header, size);
        if (typeof range === 'string') continue;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeLessThan(size);
        expect(range.start).toBeLessThanOrEqual(range.end);
      }
    }
  });
});
