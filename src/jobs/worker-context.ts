/** What a worker is made of. Every part is an interface, so that tests can replace it. */
import type { TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Resolution } from '../domain/job.ts';
import type { VideoLimits } from '../domain/limits.ts';
import type { Media } from '../media/types.ts';
import type { Evidence } from '../evidence/index.ts';
import type { GuardedClient, NetClient } from '../net/types.ts';
import type { DiskUsageReader } from '../storage/disk.ts';
import type { Storage } from '../storage/types.ts';
import type { DeviceClass, Store } from '../store/index.ts';
import type { DiskReservations } from './disk-reservation.ts';
import type { FleetSize } from './fleet-size.ts';
import type { Lifetime, LifetimeWatch } from './lifetime.ts';
import type { StorageHealth } from './storage-health.ts';
import type { WorkerMetrics } from './worker-metrics.ts';
import type { Tuning } from './tuning.ts';

/** The part of the configuration that jobs read. */
export interface WorkerConfig {
  /** absolute; scratch folders are made below it */
  dataDir: string;
  /** enhancements at a time; 0: none */
  workerConcurrency: number;
  /** downloads at a time; 0: none */
  downloadConcurrency: number;
  /** threads of one media child */
  threads: number;
  device: string;
  /** media children that wait for jobs; default: none */
  warmChildren?: number;
  encoder: { preset: string; crf: number };
  leaseSeconds: number;
  /** videos longer than this are cut into segments, which several workers enhance; 0 or absent: none is */
  segmentsFromSeconds?: number;
  /** segments of one job that wait or run at a time; default: 64 */
  segmentsAtOnce?: number;
  /** enhancements of one account that all workers together run at a time; 0 or absent: no limit */
  enhancementsPerAccount?: number;
  /** what a source may have at most; default: the limits of the specification */
  limits?: VideoLimits;
  /** how long stop() lets running media steps go on; default: it aborts them at once */
  drainSeconds?: number;
  testModeDelayMs: number;
}

export interface WorkerDeps {
  /** postgres:// URL for Graphile's own connections; the same database as `store` */
  databaseUrl: string;
  /** the same database, for LISTEN, where `databaseUrl` leads to a pooler that keeps no sessions */
  sessionUrl?: string | undefined;
  /** a connection of the queue is replaced after so many seconds without an answer; default 60 */
  silenceTimeoutS?: number | undefined;
  store: Store;
  storage: Storage;
  media: Media;
  net: NetClient & Pick<GuardedClient, 'post'>;
  /** signs deletion certificates */
  evidence: Pick<Evidence, 'certificateSigner'>;
  logger: Logger;
  config: WorkerConfig;
  /** default: metrics that nobody reads */
  metrics?: WorkerMetrics;
  /** Returns the path of the MP4 that jobs of test mode deliver; exactly as large as the target (1920×1080, 3840×2160). */
  testModeSample(resolution: Resolution, signal: AbortSignal): Promise<string>;
  /** default: the file system's own answer */
  readDiskUsage?: DiskUsageReader;
  /** further tasks, run beside the light ones */
  extraTasks?: TaskList;
  tuning?: Partial<Tuning>;
  /** default: until stop() */
  lifetime?: Lifetime;
}

/** One running worker process. */
export interface WorkerContext extends Omit<WorkerDeps, 'tuning' | 'extraTasks' | 'metrics' | 'lifetime'> {
  metrics: WorkerMetrics;
  /** names this process in leases, in the table of workers and in the scratch folder */
  id: string;
  tuning: Tuning;
  /** the device classes that it makes segments for */
  deviceClasses: readonly DeviceClass[];
  /** id of its engine; it makes and joins the segments that this engine planned */
  engine: string;
  /** the fleet when it was last counted */
  fleet: FleetSize;
  /** disk space that the running steps of this process have reserved */
  reservations: DiskReservations;
  storageHealth: StorageHealth;
  lifetime: LifetimeWatch;
  /** aborted with WorkerStopping when the process stops */
  stopping: AbortSignal;
  /** aborted when the grace period after `stopping` is over, or nothing is left to do */
  graceOver: AbortSignal;
}

/** The reason of work that is aborted because the process stops. Another worker takes the job. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping';
  constructor() {
    super('The worker is stopping');
  }
}
