/** The worker, for the composition root. */
export { createWorkerMetrics, type WorkerMetrics } from './metrics.ts';
export { scratchRoot } from './scratch.ts';
export type { Tuning, WorkerConfig, WorkerDeps } from './types.ts';
export { createWorker, type Worker } from './worker.ts';
