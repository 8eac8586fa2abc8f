/** One server span per request, named by method and route as in OpenTelemetry's HTTP conventions. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from '../env.ts';

/** The client's `traceparent` header becomes the parent. Costs almost nothing without an exporter. */
export function traceRequests() {
  const tracer = trace.getTracer('reelmend');
  return createMiddleware<AppEnv>((c, next) => {
    const parent = propagation.extract(context.active(), { traceparent: c.req.header('traceparent') });
    return tracer.startActiveSpan(c.req.method, { kind: SpanKind.SERVER }, parent, async (span) => {
      try {
        await next();
      } finally {
        const route = routePath(c, -1);
        span.updateName(`${c.req.method} ${route}`);
        span.setAttributes({
          'http.request.method': c.req.method,
          'http.route': route,
          'http.response.status_code': c.res.status,
          'reelmend.request': c.get('requestId'),
        });
        if (c.res.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      }
    });
  });
}

/** The current W3C Trace Context, to be stored with a job; null without tracing. */
export function currentTraceparent(): string | null {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent ?? null;
}
