/** Reserves disk space before a step downloads or enhances, so that two steps do not count on the same free bytes. */
import { type DiskUsage, type DiskUsageReader, readDiskUsage, storageFolder } from '../storage/disk.ts';
import type { Storage } from '../storage/types.ts';
import type { Store } from '../store/index.ts';
import { bytesOf, isCut, type SizedJob } from './disk-needs.ts';
import { headroomBytes, InsufficientDiskSpace } from './insufficient-disk-space.ts';
import { scratchRoot } from './scratch.ts';

/** Bytes that a step will write below one folder. */
export interface DiskNeed {
  folder: 'scratch' | 'storage';
  bytes: number;
}

interface Reservation {
  /** null: for the service itself */
  jobId: string | null;
  /** by device number of the file system (DiskUsage) */
  bytes: ReadonlyMap<number, number>;
}

/** The reservations that steps of this process hold. */
export class DiskReservations {
  readonly #held = new Set<Reservation>();

  /** Returns a snapshot. */
  held(): ReadonlySet<Reservation> {
    return new Set(this.#held);
  }

  /** Returns the function that ends the reservation. */
  add(reservation: Reservation): () => void {
    this.#held.add(reservation);
    return () => void this.#held.delete(reservation);
  }
}

/** The parts of a worker that reservations use. */
export interface DiskContext {
  config: { dataDir: string; encoder: { crf: number }; segmentsFromSeconds?: number };
  storage: Pick<Storage, 'kind'>;
  store: { leases: Pick<Store['leases'], 'pendingEnhancements'> };
  /** default: asks the file system */
  readDiskUsage?: DiskUsageReader;
  reservations: DiskReservations;
}

/** A need, with the current usage of the folder's disk. */
type MeasuredNeed = DiskNeed & DiskUsage;

export interface ReservationRequest {
  /** null: for the service itself */
  jobId: string | null;
  needs: readonly DiskNeed[];
}

/**
 * Reserves disk space while `work` runs. Folders on the same file system share its space. Throws InsufficientDiskSpace if
 * a file system has too little.
 *
 * The check is approximate. Bytes that a step has already written count twice until it ends: as used and as reserved. The
 * future writes of other processes are unknown, so a disk may still fill up.
 */
export async function withDiskReservation<T>(context: DiskContext, request: ReservationRequest, work: () => Promise<T>): Promise<T> {
  const needs = await measureNeeds(context, request.needs);
  return whileReserved(context.reservations.add(reservationFor({ ...request, needs }, context.reservations.held())), work);
}

/**
 * Does the same for the download of a job, and also requires space for its enhancement and for the enhancements of all
 * stored originals. Otherwise downloads could fill the disk, and no result would fit.
 */
export async function withDownloadReservation<T>(context: DiskContext, job: SizedJob, work: () => Promise<T>): Promise<T> {
  const { config, storage, store, reservations } = context;
  const sizeOf = (each: SizedJob): PendingSize => {
    const { source, results } = bytesOf(each, { crf: config.encoder.crf, inSegments: isCut(config, each) });
    return { resultBytes: results, totalBytes: source + results };
  };
  // Read before the query. A download that ends during the query may be missing from both the query's result and a later
  // list of reservations.
  const before = reservations.held();
  // With S3, no files of a job stay on this disk.
  const pending = storage.kind === 'filesystem' ? await store.leases.pendingEnhancements() : [];
  const own = sizeOf(job).totalBytes;
  const needs = await measureNeeds(context, [
    { folder: 'scratch', bytes: own },
    { folder: 'storage', bytes: own },
  ]);
  // No await from here to add(), so that no other step can reserve in between.
  const held = new Set([...before, ...reservations.held()]);
  const reserved = new Set([...held].map(({ jobId }) => jobId));
  const others = pending.filter(({ id }) => id !== job.id && !reserved.has(id)).map(sizeOf);
  const reservation = reservationFor({ jobId: job.id, needs }, held, pendingBytes(needs, own, others));
  return whileReserved(reservations.add(reservation), work);
}

async function measureNeeds(context: DiskContext, needs: readonly DiskNeed[]): Promise<MeasuredNeed[]> {
  const { config, storage, readDiskUsage: read = readDiskUsage } = context;
  const folders = { scratch: scratchRoot(config.dataDir), storage: storageFolder(config.dataDir) };
  const local = needs.filter(({ folder }) => folder === 'scratch' || storage.kind === 'filesystem');
  return Promise.all(local.map(async (need) => ({ ...need, ...(await read(folders[need.folder])) })));
}

/** Bytes that an enhancement will write that has not started yet. */
interface PendingSize {
  resultBytes: number;
  /** original and result */
  totalBytes: number;
}

/**
 * Bytes, by device, to leave for pending enhancements. Their results all stay in the storage. Scratch files are needed
 * for one enhancement after the other, so only the largest counts.
 */
function pendingBytes(needs: readonly MeasuredNeed[], own: number, others: readonly PendingSize[]): ReadonlyMap<number, number> {
  const storage = needs.find(({ folder }) => folder === 'storage');
  if (storage === undefined) return new Map();
  const isShared = needs.every(({ device }) => device === storage.device);
  const results = others.reduce((sum, { resultBytes }) => sum + resultBytes, 0);
  const largest = Math.max(0, ...others.map(({ totalBytes }) => totalBytes));
  return new Map([[storage.device, results + (isShared ? Math.max(0, largest - own) : 0)]]);
}

/** Throws InsufficientDiskSpace. `pending`: bytes, by device, that must stay free for jobs without a reservation. */
function reservationFor(
  { jobId, needs }: { jobId: string | null; needs: readonly MeasuredNeed[] },
  held: ReadonlySet<Reservation>,
  pending: ReadonlyMap<number, number> = new Map(),
): Reservation {
  const bytes = new Map<number, number>();
  for (const need of needs) bytes.set(need.device, (bytes.get(need.device) ?? 0) + need.bytes);
  for (const { folder, device, freeBytes, sizeBytes } of needs) {
    const reserved = [...held].reduce((sum, reservation) => sum + (reservation.bytes.get(device) ?? 0), 0);
    const othersBytes = reserved + (pending.get(device) ?? 0);
    const neededBytes = headroomBytes + othersBytes + bytes.get(device)!;
    if (neededBytes > freeBytes) throw new InsufficientDiskSpace({ folder, neededBytes, freeBytes, sizeBytes, othersBytes });
  }
  return { jobId, bytes };
}

async function whileReserved<T>(end: () => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    end();
  }
}
