/** The failure of a step that finds too little disk space. */
import type { DiskUsage } from '../storage/disk.ts';

/** Bytes that stay free on each file system for everything else that writes there, such as an embedded database. */
export const headroomBytes = 100_000_000;

/** A temporary failure: another worker may have the space, or this one may have it later. */
export class InsufficientDiskSpace extends Error {
  override readonly name = 'InsufficientDiskSpace';
  readonly neededBytes: number;
  readonly freeBytes: number;
  /** whether the job would fit on this disk without the reservations of other jobs */
  readonly behindOthers: boolean;

  constructor({ folder, neededBytes, freeBytes, sizeBytes, othersBytes }: Shortage) {
    const others = othersBytes > 0 ? `, ${megabytes(othersBytes)} of them for other jobs` : '';
    super(`The ${folder} folder has ${megabytes(freeBytes)} MB free, and about ${megabytes(neededBytes)} MB are needed${others}`);
    this.neededBytes = neededBytes;
    this.freeBytes = freeBytes;
    this.behindOthers = othersBytes > 0 && neededBytes - othersBytes <= sizeBytes;
  }
}

interface Shortage extends Pick<DiskUsage, 'freeBytes' | 'sizeBytes'> {
  folder: 'scratch' | 'storage';
  /** all bytes that must be free: for this job, for other jobs, and the headroom */
  neededBytes: number;
  /** the share of other jobs in `neededBytes` */
  othersBytes: number;
}

const megabytes = (bytes: number) => Math.ceil(bytes / 1e6).toLocaleString('en-US');
