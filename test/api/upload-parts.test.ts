/** The signed URLs that take the parts of uploads. */
import { describe, expect, it } from 'vitest';
import { makePartLink } from '../../src/storage/links.ts';
import { errorOf, linkSecret, makeApi, publicUrl } from '../helpers/http.ts';
import { eventually } from '../helpers/wait.ts';
import { created, file, get, send } from '../helpers/upload-calls.ts';

describe('PUT /v1/upload-parts/{key}', () => {
  it('takes exactly the bytes of the part', async () => {
    const api = makeApi();
    const { id, parts } = await created(api);
    const stream = (length: number) => new Blob([new Uint8Array(length)]).stream();
    const bodies: [Uint8Array | ReadableStream<Uint8Array>, number, string, object?][] = [
      [new Uint8Array(1001), 413, 'payload_too_large', { 'Content-Length': '1001' }],
      [new Uint8Array(999), 400, 'invalid_request', { 'Content-Length': '999' }],
      // Without Content-Length.
      [stream(1001), 413, 'payload_too_large'],
      [stream(999), 400, 'invalid_request'],
      [stream(0), 400, 'invalid_request'],
    ];
    for (const [body, status, code, headers] of bodies) {
      const response = await send(api, parts[0]!, body, headers);
      expect(response.status).toBe(status);
      expect((await errorOf(response)).code).toBe(code);
    }
    expect((await get(api, id)).received_bytes).toBe(0);
    expect((await send(api, parts[0]!, stream(1000))).status).toBe(200);
  });

  it('stops reading at the first byte too many', async () => {
    const api = makeApi();
    const { parts } = await created(api);
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(600));
      },
    });
    expect((await send(api, parts[0]!, endless)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
  });

  it('takes nothing of a body that breaks off', async () => {
    const api = makeApi();
    const { id, parts } = await created(api);
    const broken = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(500));
        controller.error(new Error('the connection broke'));
      },
    });
    const response = await send(api, parts[0]!, broken);
    expect(response.status).toBe(400);
    expect((await get(api, id)).received_bytes).toBe(0);
  });

  it('accepts only URLs that the service has signed, and not for longer than they say', async () => {
    const api = makeApi();
    const { parts } = await created(api);
    const url = new URL(parts[0]!.url);
    const changes: Record<string, string> = {
      number: '2',
      size: '1001',
      expires: '99999999999',
      upload: 'f'.repeat(32),
      signature: '0'.repeat(64),
    };
    for (const [name, value] of Object.entries(changes)) {
      const forged = new URL(url);
      forged.searchParams.set(name, value);
      const response = await api.request(forged.pathname + forged.search, { method: 'PUT', key: null, body: file });
      expect(response.status, name).toBe(403);
      expect((await errorOf(response)).code).toBe('link_invalid');
    }
    for (const path of [url.pathname.replace('/file', '/other'), `${url.pathname}/x`, '/v1/upload-parts/..%2fsecret']) {
      const response = await api.request(path + url.search, { method: 'PUT', key: null, body: file });
      expect([403, 404], path).toContain(response.status);
    }
    const claims = { key: url.pathname.slice('/v1/upload-parts/'.length), upload: url.searchParams.get('upload')!, number: 1, size: 1000 };
    const old = makePartLink(publicUrl, linkSecret, { ...claims, expires: Math.floor(Date.now() / 1000) - 2 });
    const expired = await api.request(old.slice(publicUrl.length), { method: 'PUT', key: null, body: file });
    expect(expired.status).toBe(403);
    expect((await errorOf(expired)).code).toBe('link_expired');
    expect((await api.request(url.pathname, { method: 'PUT', key: null, body: file })).status).toBe(403);
  });

  it('takes eight parts of an upload at a time, and of other uploads meanwhile', async () => {
    const api = makeApi();
    const [upload, other] = [await created(api), await created(api)];
    const releases: (() => void)[] = [];
    // Pulled when the service begins to read it.
    const waiting = () =>
      new ReadableStream<Uint8Array>(
        { pull: (controller) => new Promise((resolve) => releases.push(() => resolve((controller.enqueue(file), controller.close())))) },
        { highWaterMark: 0 },
      );
    const running = Array.from({ length: 8 }, () => send(api, upload.parts[0]!, waiting()));
    await eventually(() => releases.length === 8);
    const refused = await send(api, upload.parts[0]!, file);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('Retry-After')).toBe('1');
    expect((await send(api, other.parts[0]!, file)).status).toBe(200);
    for (const release of releases) release();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await send(api, upload.parts[0]!, file)).status).toBe(200);
  });

  it('503 while the disk is full', async () => {
    const api = makeApi();
    const { parts } = await created(api);
    api.storage.writePart = async () => {
      throw Object.assign(new Error('canary'), { code: 'ENOSPC' });
    };
    const response = await send(api, parts[0]!, file);
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toBe('60');
    expect(await errorOf(response)).toMatchObject({ code: 'service_unavailable', message: expect.not.stringContaining('canary') as string });
  });

  it('404 for an upload that takes no parts any more', async () => {
    const api = makeApi();
    const upload = await created(api);
    await api.storage.completeMultipart({ key: `uploads/${upload.id}/file`, id: new URL(upload.parts[0]!.url).searchParams.get('upload')! }, { count: 0, size: 0 });
    const response = await send(api, upload.parts[0]!, file);
    expect(response.status).toBe(404);
    expect((await errorOf(response)).code).toBe('not_found');
  });

  it('lets web pages of other origins send parts', async () => {
    const response = await makeApi().request('/v1/upload-parts/uploads/x/file?number=1', { method: 'OPTIONS', key: null });
    expect(response.status).toBe(204);
    expect(response.headers.get('Allow')).toBe('PUT, OPTIONS');
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(response.headers.get('Access-Control-Allow-Methods')).toBe('PUT');
    const refused = await makeApi().request('/v1/upload-parts/uploads/x/file?number=1', { method: 'PUT', key: null, body: file });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(refused.headers.get('Access-Control-Expose-Headers')).toContain('Retry-After');
    // Everything else stays closed to them.
    const other = await makeApi().request('/v1/uploads', { method: 'OPTIONS', key: null });
    expect(other.headers.has('Access-Control-Allow-Origin')).toBe(false);
  });
});
