/** What the worker is made of; every part is an interface, so that tests can put their own. */
import type { TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Resolution } from '../domain/job.ts';
import { webhookScheduleS } from '../domain/webhooks.ts';
import type { Media } from '../media/types.ts';
import type { Evidence } from '../evidence/index.ts';
import type { GuardedClient, NetClient } from '../net/types.ts';
import type { Storage } from '../storage/types.ts';
import type { Store } from '../store/index.ts';
import type { WorkerMetrics } from './metrics.ts';
import type { LookAtDisk, Reservations } from './room.ts';

/** The part of the configuration that jobs read. */
export interface WorkerConfig {
  /** absolute; scratch folders are made below it */
  dataDir: string;
  /** enhancements at a time */
  workerConcurrency: number;
  /** downloads at a time */
  downloadConcurrency: number;
  /** threads of one media child */
  threads: number;
  device: string;
  /** media children that wait for jobs; none when absent */
  spareChildren?: number;
  encoder: { preset: string; crf: number };
  leaseSeconds: number;
  /** for which stop() lets the media jobs that run go on; none when absent */
  drainSeconds?: number;
  sandboxDelayMs: number;
}

export interface WorkerDeps {
  /** postgres:// URL for Graphile's own connections; the same database as `store` */
  databaseUrl: string;
  store: Store;
  storage: Storage;
  media: Media;
  net: NetClient & Pick<GuardedClient, 'post'>;
  /** signs deletion certificates */
  evidence: Pick<Evidence, 'certificateSigner'>;
  logger: Logger;
  config: WorkerConfig;
  /** default: counted for nobody */
  metrics?: WorkerMetrics;
  /** Path of an MP4 of exactly the target's size (1920×1080, 3840×2160) that sandbox jobs deliver. */
  sandboxSample(resolution: Resolution, signal: AbortSignal): Promise<string>;
  /** default: the file system's own answer */
  disk?: LookAtDisk;
  /** further tasks, run beside the light ones */
  extraTasks?: TaskList;
  tuning?: Partial<Tuning>;
}

/** Numbers that tests make small. */
export interface Tuning {
  /** ms between two looks at the queue when no notification came */
  pollIntervalMs: number;
  /** seconds before a failure that may pass is tried again, by the number of failures before; its length + 1 tries */
  retryDelaysS: readonly number[];
  /**
   * a job that finds too little room on disk waits `delayS` each time. When nothing else is under way that could make
   * room, this counts as a failure after `patienceS`.
   */
  room: { delayS: number; patienceS: number };
  /** tries of a source that cannot be reached */
  downloadTries: number;
  /** expired leases after which a job fails */
  maxCrashes: number;
  /** wall-clock limit of measuring, ms */
  probeTimeoutMs: number;
  /** wall-clock limit of enhancing: this much, and so much more for each second of video, ms */
  enhanceTimeoutMs: { base: number; perSecond: number };
  /** how long stop() waits for steps to let go, ms */
  stopGraceMs: number;
  /** intervals of what each process does for itself, ms: scratch folders of the dead; what it says of itself; uploads that expired */
  chores: { scratchMs: number; describeMs: number; uploadsMs: number };
  /** seconds after which a destruction that nobody queues any more is queued again */
  destroyOverdueS: number;
  webhooks: {
    /** of one try, ms */
    timeoutMs: number;
    /** when the tries are due, seconds after the first */
    scheduleS: readonly number[];
    /** seconds after which a due delivery that nobody queues any more is queued again */
    overdueS: number;
  };
}

export const defaultTuning: Tuning = {
  pollIntervalMs: 1000,
  retryDelaysS: [1, 5, 15, 60],
  room: { delayS: 15, patienceS: 30 * 60 },
  downloadTries: 3,
  maxCrashes: 5,
  probeTimeoutMs: 120_000,
  enhanceTimeoutMs: { base: 15 * 60_000, perSecond: 60_000 },
  stopGraceMs: 15_000,
  chores: { scratchMs: 15_000, describeMs: 5 * 60_000, uploadsMs: 60 * 60_000 },
  destroyOverdueS: 600,
  webhooks: { timeoutMs: 10_000, scheduleS: webhookScheduleS, overdueS: 120 },
};

/** One running worker process. */
export interface WorkerContext extends Omit<WorkerDeps, 'tuning' | 'extraTasks' | 'metrics'> {
  metrics: WorkerMetrics;
  /** names this process in leases, in the table of workers and in the scratch folder */
  id: string;
  tuning: Tuning;
  /** room on disk that its steps count on */
  reservations: Reservations;
  /** aborted with WorkerStopping when the process is told to end */
  stopping: AbortSignal;
}

/** Reason of aborted work when the process ends; the job is given to another worker. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping';
  constructor() {
    super('The worker is stopping');
  }
}
