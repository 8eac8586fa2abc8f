import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { buildMetricsApp, createHttpMetrics } from '../../src/http/metrics.ts';
import { makeApi } from '../helpers/http.ts';

describe('metrics', () => {
  it('count requests by method, route and status, and time them', async () => {
    const metrics = createHttpMetrics();
    const api = makeApi({ metrics });
    const id = newId('job');
    await api.request('/v1/account');
    await api.request('/v1/account', { key: null });
    await api.request(`/v1/jobs/${id}`);
    await api.request('/v1/downloads/outputs/canary.mp4?expires=1&name=a&signature=x');
    await api.request('/canary');
    await api.request('/v1/jobs', { method: 'QUERY' });
    const text = await metrics.registry.metrics();
    const counted = [...text.matchAll(/^reelmend_http_requests_total\{(.+)\} (\d+)$/gm)].map(([, labels]) => labels);
    expect(counted.sort()).toEqual([
      'method="GET",route="/v1/account",status="200"',
      'method="GET",route="/v1/account",status="401"',
      'method="GET",route="/v1/downloads/:key",status="403"',
      'method="GET",route="/v1/jobs/:id",status="404"',
      'method="GET",route="none",status="404"',
      'method="OTHER",route="/v1/jobs",status="405"',
    ]);
    expect(text).toMatch(/^reelmend_http_request_duration_seconds_count\{method="GET",route="\/v1\/account"\} 2$/m);
    expect(text).toMatch(/^reelmend_http_requests_in_flight 0$/m);
    for (const secret of ['canary', id, api.keys.live]) expect(text).not.toContain(secret);
  });

  it('are served by an app of their own, which has nothing else but a probe', async () => {
    const metrics = createHttpMetrics();
    const app = buildMetricsApp(metrics);
    const response = await app.request('/metrics');
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toContain('reelmend_http_requests_in_flight');
    expect(await (await app.request('/healthz')).json()).toEqual({ status: 'ok' });
    expect((await app.request('/v1/account')).status).toBe(404);
    expect((await makeApi({ metrics }).request('/metrics')).status).toBe(404);
  });
});
