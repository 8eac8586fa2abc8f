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

  constructor(folder: Need['folder'], neededBytes: number, freeBytes: number) {
    super(`The ${folder} folder has ${megabytes(freeBytes)} MB free, and about ${megabytes(neededBytes)} MB are needed`);
    this.neededBytes = neededBytes;
    this.freeBytes = freeBytes;
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

/**
 * Throws NoRoom when a file system has less free than what will be written there. Folders of one file system share
 * it. What other jobs of the machine are about to write is not known: a disk may still turn out full later on.
 */
export async function assertRoom({ config, storage, disk = diskRoom }: WorkerContext, needs: readonly Need[]): Promise<void> {
  const folders = { scratch: scratchRoot(config.dataDir), storage: storageFolder(config.dataDir) };
  const byDevice = new Map<number, number>();
  for (const { folder, bytes } of needs) {
    if (folder === 'storage' && storage.kind !== 'filesystem') continue;
    const { device, freeBytes } = await disk(folders[folder]);
    const needed = (byDevice.get(device) ?? spareBytes) + bytes;
    byDevice.set(device, needed);
    if (needed > freeBytes) throw new NoRoom(folder, needed, freeBytes);
  }
}
