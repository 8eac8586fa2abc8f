/** Room on disk: a step looks for what it will write before the costly part of it. */
import type { JobRecord, Resolution } from '../domain/job.ts';
import { type DiskRoom, diskRoom, storageFolder } from '../storage/disk.ts';
import { scratchRoot } from './scratch.ts';
import type { WorkerContext } from './types.ts';

export type LookAtDisk = (folder: string) => Promise<DiskRoom>;

/** bytes that a step will write below a folder */
export interface Need {
  folder: 'scratch' | 'storage';
  bytes: number;
}

/** What a file system keeps free for whatever else lies there, an embedded database for one. */
export const spareBytes = 100_000_000;

/** Not the job's failure: another worker, or this one later, may have the room. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  readonly neededBytes: number;
  readonly freeBytes: number;
  /** whether other jobs are under way that may make room: the step waits in a line, and its patience is not asked for */
  readonly behindOthers: boolean;

  /** `othersBytes`: of the needed ones, those for other steps */
  constructor(folder: Need['folder'], neededBytes: number, freeBytes: number, othersBytes: number) {
    const others = othersBytes > 0 ? `, ${megabytes(othersBytes)} of them for other jobs` : '';
    super(`The ${folder} folder has ${megabytes(freeBytes)} MB free, and about ${megabytes(neededBytes)} MB are needed${others}`);
    this.neededBytes = neededBytes;
    this.freeBytes = freeBytes;
    this.behindOthers = othersBytes > 0;
  }
}

const megabytes = (bytes: number) => Math.ceil(bytes / 1e6).toLocaleString('en-US');

/** pixels of the boxes that results are fitted into */
const boxPixels: Readonly<Record<Resolution, number>> = { '1080p': 1920 * 1080, '4k': 3840 * 2160 };
/** of the encoder's output at CRF 16; the mean over the clips of engine/bench/results/encoder.md */
const bitsPerPixel = 0.4;
/** frames a second where a source does not say, and the most that are believed */
const frameRates = { unknown: 30, most: 120 };

/** About what the result of a job will take, in bytes; six steps of CRF halve an x264 stream. */
export function expectedResultBytes(job: Pick<JobRecord, 'resolution' | 'durationSeconds' | 'source'>, crf: number): number {
  const rate = Math.min(job.source?.frame_rate || frameRates.unknown, frameRates.most);
  const frames = rate * (job.source?.duration ?? job.durationSeconds);
  return Math.ceil((frames * boxPixels[job.resolution] * bitsPerPixel * 2 ** ((16 - crf) / 6)) / 8);
}

/** What steps of this process are about to write, in bytes by device. */
export class Reservations {
  readonly #bytes: Map<number, number>;

  constructor(of: Iterable<readonly [device: number, bytes: number]> = []) {
    this.#bytes = new Map(of);
  }

  on(device: number): number {
    return this.#bytes.get(device) ?? 0;
  }
  change(device: number, bytes: number): void {
    this.#bytes.set(device, this.on(device) + bytes);
  }
  copy(): Reservations {
    return new Reservations(this.#bytes);
  }
}

interface Asked extends Need, Pick<DiskRoom, 'device' | 'freeBytes'> {
  /** bytes that must be left for other jobs, beside those that are reserved */
  othersBytes: number;
}

/**
 * Does the work with that much room reserved until its end, so that steps beside each other do not count on the same bytes. (What a
 * step has already written counts twice meanwhile: as written and as reserved.) Throws NoRoom when a file system has less.
 * Folders of one file system share it. What other processes are about to write is not known: a disk may still turn
 * out full later on.
 */
export async function withRoom<T>(context: WorkerContext, needs: readonly Need[], work: () => Promise<T>): Promise<T> {
  return inRoom(context.reservations, await lookAt(context, needs), work);
}

type SizedJob = Pick<JobRecord, 'resolution' | 'durationSeconds' | 'source'>;

/**
 * As withRoom, for a download. It is let in only when its enhancement will fit as well, and those of the originals that
 * are stored already: else originals fill a disk on which no result can be made.
 */
export async function withDiskReservation<T>(context: WorkerContext, job: SizedJob, work: () => Promise<T>): Promise<T> {
  const { config, storage, store, reservations } = context;
  // A download that ends after the database was asked is in neither of the two else.
  const before = reservations.copy();
  const sizeOf = (each: SizedJob) => {
    const result = expectedResultBytes(each, config.encoder.crf);
    return { result, both: (each.source?.size_bytes ?? 0) + result };
  };
  // With S3 nothing of a job stays on the disk.
  const waiting = storage.kind === 'filesystem' ? await store.leases.pendingEnhancements() : [];
  const own = sizeOf(job).both;
  const asked = await lookAt(context, [
    { folder: 'scratch', bytes: own },
    { folder: 'storage', bytes: own },
  ]);
  return inRoom(reservations, reserveForOthers(asked, waiting.map(sizeOf)), work, before);
}

/** All results stay in the storage; of the scratch files those of the largest job have to fit, one after another. */
function reserveForOthers(asked: readonly Asked[], others: readonly { result: number; both: number }[]): Asked[] {
  const devices = new Set(asked.map(({ device }) => device));
  const results = others.reduce((sum, { result }) => sum + result, 0);
  const largest = Math.max(0, ...others.map(({ both }) => both));
  return asked.map((need) => {
    if (need.folder !== 'storage') return need;
    const scratch = devices.size === 1 ? Math.max(0, largest - need.bytes) : 0;
    return { ...need, othersBytes: results + scratch };
  });
}

async function inRoom<T>(
  reservations: Reservations,
  asked: readonly Asked[],
  work: () => Promise<T>,
  before = reservations,
): Promise<T> {
  const giveBack = reserve(reservations, asked, before);
  try {
    return await work();
  } finally {
    giveBack();
  }
}

async function lookAt({ config, storage, disk = diskRoom }: WorkerContext, needs: readonly Need[]): Promise<Asked[]> {
  const folders = { scratch: scratchRoot(config.dataDir), storage: storageFolder(config.dataDir) };
  const written = needs.filter(({ folder }) => folder === 'scratch' || storage.kind === 'filesystem');
  return Promise.all(written.map(async (need) => ({ ...need, othersBytes: 0, ...(await disk(folders[need.folder])) })));
}

/** Nothing is awaited between looking and reserving. Returns what gives the room back. */
function reserve(reservations: Reservations, asked: readonly Asked[], before: Reservations): () => void {
  const own = new Reservations();
  const kept = new Reservations();
  for (const { folder, device, bytes, freeBytes, othersBytes } of asked) {
    own.change(device, bytes);
    kept.change(device, othersBytes);
    const others = kept.on(device) + Math.max(reservations.on(device), before.on(device));
    const needed = spareBytes + others + own.on(device);
    if (needed > freeBytes) throw new NoRoom(folder, needed, freeBytes, others);
  }
  for (const { device, bytes } of asked) reservations.change(device, bytes);
  return () => {
    for (const { device, bytes } of asked) reservations.change(device, -bytes);
  };
}
