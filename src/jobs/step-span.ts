/** Spans of a worker's steps, as children of the request that made the job; nothing where no exporter is configured. */
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

export interface StepSpan {
  job: string;
  step: string;
  attempt: number;
  /** W3C Trace Context of the request that made the job; null when it was not traced */
  traceparent: string | null;
}

/** Runs `work` inside a span named after the step; an error that it throws is noted and thrown on. */
export function inStepSpan<T>({ job, step, attempt, traceparent }: StepSpan, work: (span: Span) => Promise<T>) {
  const parent = traceparent === null ? context.active() : propagation.extract(context.active(), { traceparent });
  const attributes = { 'reelmend.job': job, 'reelmend.step': step, 'reelmend.attempt': attempt };
  return trace
    .getTracer('reelmend')
    .startActiveSpan(`job ${step}`, { kind: SpanKind.CONSUMER, attributes }, parent, async (span): Promise<T> => {
      try {
        return await work(span);
      } catch (error) {
        // The message may name a customer's address; the class does not.
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
        throw error;
      } finally {
        span.end();
      }
    });
}
