/** Trace spans of a worker's steps, as children of the request that created the job. No-ops without an exporter. */
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

export interface StepSpan {
  job: string;
  step: string;
  attempt: number;
  /** W3C Trace Context of the request that created the job; null when it was not traced */
  traceparent: string | null;
}

/** Runs `work` in a span named after the step. The span records an error, which is thrown on. */
export function inStepSpan<T>({ job, step, attempt, traceparent }: StepSpan, work: (span: Span) => Promise<T>) {
  const parent = traceparent === null ? context.active() : propagation.extract(context.active(), { traceparent });
  const attributes = { 'reelmend.job': job, 'reelmend.step': step, 'reelmend.attempt': attempt };
  return trace
    .getTracer('reelmend')
    .startActiveSpan(`job ${step}`, { kind: SpanKind.CONSUMER, attributes }, parent, async (span): Promise<T> => {
      try {
        return await work(span);
      } catch (error) {
        // The message may contain a customer's URL; the class name does not.
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
        throw error;
      } finally {
        span.end();
      }
    });
}
