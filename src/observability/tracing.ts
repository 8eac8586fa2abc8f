/** OpenTelemetry traces. Its packages are loaded only when an exporter is configured. */

export interface Tracing {
  /** sends the remaining spans and stops */
  stop(): Promise<void>;
}

/**
 * Sends spans by OTLP over HTTP to `endpoint`, the base URL of a collector (OTEL_EXPORTER_OTLP_ENDPOINT). Headers,
 * sampling and limits come from OpenTelemetry's own variables.
 */
export async function startTracing({ endpoint }: { endpoint: string }): Promise<Tracing> {
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
      await provider.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}
