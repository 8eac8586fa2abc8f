/** The worker, as the composition root uses it. */
export { createWorkerMetrics, type WorkerMetrics } from './worker-metrics.ts';
export type { Lifetime } from './lifetime.ts';
export { scratchRoot } from './scratch.ts';
export type { Tuning } from './tuning.ts';
export type { WorkerConfig, WorkerDeps } from './worker-context.ts';
export { createWorker, type Worker } from './worker.ts';
