/** Prometheus metrics of requests by route (rate, errors, duration), and the app that serves all metrics. */
import { Hono, type MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Other methods are counted as OTHER: clients must not be able to create labels. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS']);
/** seconds: polling takes milliseconds, creation measures a video */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

export interface HttpMetrics {
  /** other modules can register their metrics here too */
  registry: Registry;
  /** must be the outermost middleware, so that it sees the final response */
  middleware: MiddlewareHandler;
}

export interface HttpMetricsOptions {
  registry?: Registry;
}

/**
 * `reelmend_http_requests_total` {method, route, status}, `reelmend_http_request_duration_seconds` {method, route}
 * (until the response headers: an event stream takes as long as its job) and `reelmend_http_requests_in_flight`.
 * `route` is the template of the path, never the path itself.
 */
export function createHttpMetrics(options: HttpMetricsOptions = {}): HttpMetrics {
  const registry = options.registry ?? new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: 'reelmend_http_requests_total',
    help: 'Requests with a response.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'reelmend_http_request_duration_seconds',
    help: 'Seconds from the request to the response headers.',
    labelNames: ['method', 'route'],
    buckets,
    registers,
  });
  const inFlight = new Gauge({
    name: 'reelmend_http_requests_in_flight',
    help: 'Requests in progress.',
    registers,
  });
  const middleware = createMiddleware(async (c, next) => {
    const start = performance.now();
    inFlight.inc();
    try {
      await next();
    } finally {
      inFlight.dec();
      const method = knownMethods.has(c.req.method) ? c.req.method : 'OTHER';
      const route = routeOf(routePath(c, -1));
      requests.inc({ method, route, status: String(c.res.status) });
      duration.observe({ method, route }, (performance.now() - start) / 1000);
    }
  });
  return { registry, middleware };
}

/** Unknown paths match only the middleware for all paths. */
function routeOf(path: string): string {
  return path === '/*' || path === '*' || path === '' ? 'none' : path.replace('{.+}', '');
}

export interface MetricsAppOptions {
  registry: Registry;
  /** one sentence about what the process lacks for its work; null if nothing. Default: nothing */
  notReadyReason?: () => Promise<string | null>;
}

/** An app with `GET /metrics`, `/healthz` and `/readyz`, for a separate port that only the monitoring can reach. */
export function buildMetricsApp({ registry, notReadyReason = async () => null }: MetricsAppOptions): Hono {
  const app = new Hono();
  app.get('/metrics', async (c) => c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType }));
  // A worker has no other port for probes.
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/readyz', async (c) => {
    const reason = await notReadyReason();
    return reason === null ? c.json({ status: 'ok' }) : c.json({ status: 'unavailable', reason }, 503);
  });
  app.notFound((c) => c.text('Only /metrics, /healthz and /readyz exist here.\n', 404));
  app.onError((_error, c) => c.text('The metrics could not be collected.\n', 500));
  return app;
}
