import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { newId } from '../../src/domain/ids.ts';
import { errorOf, makeApi } from '../helpers/http.ts';
import { descriptionText, operations } from '../helpers/http-contract.ts';

/** Those of the console are in console-every-operation.test.ts. */
const paths = [...new Set(operations.map(({ path }) => path))].filter((path) => !path.startsWith('/console/'));
const pathFor = (path: string) => path.replace('{id}', newId('job')).replace('{key}', 'outputs/a.mp4').replace('{file}', 'start.js');
const documented = (path: string) =>
  operations.filter((operation) => operation.path === path).map(({ method }) => method.toUpperCase());

describe.each(paths)('%s', (path) => {
  it('405 with Allow for every other method', async () => {
    const api = makeApi();
    const methods = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'QUERY'].filter(
      (method) => !documented(path).includes(method),
    );
    for (const method of methods) {
      const response = await api.request(pathFor(path), { method });
      expect(response.status, method).toBe(405);
      expect(await errorOf(response)).toMatchObject({ code: 'method_not_allowed', type: 'method_not_allowed_error' });
      const allowed = response.headers.get('Allow')!.split(', ');
      expect(allowed).toEqual(expect.arrayContaining(documented(path)));
      expect(allowed).not.toContain(method);
    }
  });

  it('OPTIONS names exactly the documented methods beside HEAD and OPTIONS', async () => {
    const response = await makeApi().request(pathFor(path), { method: 'OPTIONS', key: null });
    expect(response.status).toBe(204);
    const allowed = response.headers
      .get('Allow')!
      .split(', ')
      .filter((method) => method !== 'HEAD' && method !== 'OPTIONS');
    expect(allowed.sort()).toEqual(documented(path).sort());
  });

  it('HEAD answers as GET does, without a body', async () => {
    const api = makeApi();
    const head = await api.request(pathFor(path), { method: 'HEAD' });
    const get = await api.request(pathFor(path));
    expect(head.status).toBe(get.status);
    expect(await head.text()).toBe('');
    expect(head.headers.get('Content-Type')).toBe(get.headers.get('Content-Type'));
  });

  it('has the protective headers and a request id on every answer', async () => {
    const response = await makeApi().request(pathFor(path), { key: null });
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    expect(response.headers.get('X-Request-Id')).toMatch(/^req_[0-9a-z]+$/);
  });
});

describe('Strict-Transport-Security', () => {
  it.each([
    [{}, 'max-age=15552000'],
    [{ hstsSubdomains: true }, 'max-age=15552000; includeSubDomains'],
  ])('with %j is %s', async (options, header) => {
    const response = await makeApi({ options }).request('/v1/openapi.json', { key: null });
    expect(response.headers.get('Strict-Transport-Security')).toBe(header);
  });
});

describe('everything else', () => {
  it('404 not_found', async () => {
    const api = makeApi();
    for (const path of [
      '/',
      '/v1',
      '/v1/',
      '/v2/jobs',
      '/v1/jobs/',
      '/v1/jobs/a/b/c',
      '/v1/account/x',
      '/v1/downloads/',
      '/%zz',
    ]) {
      const response = await api.request(path);
      expect(response.status, path).toBe(404);
      expect(await errorOf(response)).toMatchObject({ code: 'not_found', type: 'not_found_error' });
    }
  });

  it('the request id comes back, in the body too; a harmful one is replaced', async () => {
    const api = makeApi();
    const kept = await api.request('/nowhere', { headers: { 'X-Request-Id': 'abc-1.2_3' } });
    expect(kept.headers.get('X-Request-Id')).toBe('abc-1.2_3');
    expect((await errorOf(kept)).request_id).toBe('abc-1.2_3');
    for (const bad of ['a b', 'x'.repeat(129), '<script>']) {
      const replaced = await api.request('/nowhere', { headers: { 'X-Request-Id': bad } });
      expect(replaced.headers.get('X-Request-Id')).toMatch(/^req_/);
    }
  });
});

describe('failures of the service', () => {
  it('500 internal_error says nothing of the cause, which is logged', async () => {
    const api = makeApi();
    api.store.failure = new Error('canary: relation "jobs" does not exist');
    const response = await api.request('/v1/account');
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).toContain('"internal_error"');
    expect(text).not.toContain('canary');
    const line = api.logged.find(({ level }) => level === 'error');
    expect(line?.facts).toMatchObject({ code: 'internal_error', err: api.store.failure });
    expect(Reflect.get(line!.facts, 'request_id')).toBe(response.headers.get('X-Request-Id'));
  });

  it('503 service_unavailable with Retry-After while the database cannot answer', async () => {
    for (const code of ['ECONNREFUSED', 'CONNECTION_CLOSED', '57P01', '57P03', '53300', '08006', '25006', '28P01', '28000', '3D000']) {
      const api = makeApi();
      api.store.failure = new Error('Failed query', { cause: Object.assign(new Error('canary'), { code }) });
      const response = await api.request('/v1/account');
      expect(response.status, code).toBe(503);
      expect(await errorOf(response)).toMatchObject({ code: 'service_unavailable', type: 'api_error' });
      expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
    }
  });

  it('500 for a thrown value that is no error', async () => {
    const api = makeApi();
    api.store.accounts.get = () => Promise.reject('text');
    expect((await api.request('/v1/account')).status).toBe(500);
  });
});

describe('what the log says', () => {
  it('names the template, never keys, queries or addresses', async () => {
    const api = makeApi();
    const id = newId('job');
    await api.request(`/v1/jobs/${id}`);
    await api.request('/v1/downloads/outputs/a.mp4?expires=1&name=a&signature=canary');
    await api.request('/v1/jobs', {
      method: 'POST',
      json: { video_url: 'https://canary.example.com/x', resolution: '1080p' },
    });
    const text = JSON.stringify(api.logged);
    for (const secret of [api.keys.live, 'canary']) expect(text).not.toContain(secret);
    expect(api.logged[0]!.facts).toMatchObject({ job_id: id });
    expect(api.logged[1]!.facts).toMatchObject({ job_id: undefined });
    expect(api.logged.map(({ facts }) => Reflect.get(facts, 'route'))).toEqual([
      '/v1/jobs/:id',
      '/v1/downloads/:key{.+}',
      '/v1/jobs',
    ]);
  });
});

interface Description {
  paths: object;
  tags: { name: string }[];
  components: { schemas: object; securitySchemes: object };
  webhooks: object;
}

describe('the description', () => {
  it('is the authored document, byte for byte and as JSON, without a key', async () => {
    const api = makeApi();
    const yaml = await api.request('/v1/openapi.yaml', { key: null });
    expect(yaml.headers.get('Content-Type')).toBe('application/yaml');
    expect(await yaml.text()).toBe(descriptionText);
    const json = await api.request('/v1/openapi.json', { key: null });
    expect(await json.json()).toEqual(parse(descriptionText));
  });

  it('without the console: its operations, its tag, and what only they use are left out', async () => {
    const api = makeApi();
    const all = (await (await api.request('/v1/openapi.json?console=true', { key: null })).json()) as Description;
    const some = (await (await api.request('/v1/openapi.json?console=false', { key: null })).json()) as Description;
    const publicPaths = Object.keys(all.paths).filter((path) => !path.startsWith('/console/'));
    expect(Object.keys(some.paths)).toEqual(publicPaths);
    expect(some.tags.map(({ name }) => name)).toEqual(all.tags.map(({ name }) => name).filter((name) => name !== 'Console'));
    expect(Object.keys(some.components.schemas).filter((name) => /^(Console|Operator)/.test(name))).toEqual([]);
    expect(Object.keys(some.components.securitySchemes)).toEqual(['apiKey']);
    expect(some.webhooks).toEqual(all.webhooks);
    const refused = await api.request('/v1/openapi.json?console=no', { key: null });
    expect(refused.status).toBe(400);
    expect(await errorOf(refused)).toMatchObject({ code: 'invalid_request', param: '/console' });
  });
});

describe('probes', () => {
  it('/healthz is 200 even when the database is gone; /readyz is 503 then', async () => {
    const api = makeApi();
    expect((await api.request('/healthz', { key: null })).status).toBe(200);
    expect((await api.request('/readyz', { key: null })).status).toBe(200);
    api.store.healthy = false;
    expect((await api.request('/healthz', { key: null })).status).toBe(200);
    const unready = await api.request('/readyz', { key: null });
    expect(unready.status).toBe(503);
    expect((await errorOf(unready)).code).toBe('service_unavailable');
  });
});
