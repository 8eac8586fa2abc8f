/** OpenTelemetry traces. Its packages are loaded only when an exporter is configured. */
import type { Logger } from 'pino';

export interface Tracing {
  /** Sends the remaining spans and stops. Never rejects: the collector says nothing about the work of this process. */
  stop(): Promise<void>;
}

export interface TracingOptions {
  /** base URL of a collector (OTEL_EXPORTER_OTLP_ENDPOINT) */
  endpoint: string;
  logger: Pick<Logger, 'warn'>;
}

/**
 * Sends spans by OTLP over HTTP to `endpoint`. Headers, sampling and limits come from OpenTelemetry's own variables.
 */
export async function startTracing({ endpoint, logger }: TracingOptions): Promise<Tracing> {
  const [{ context, propagation, trace }, sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, resources, core] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/core'),
    ]);
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': 'reelmend' }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    async stop() {
      await provider.shutdown().catch((error: unknown) => logger.warn({ err: error }, 'the last traces could not be sent'));
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}
