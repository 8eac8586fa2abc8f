/** Free space of the file system below a folder. */
import { stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissing } from './files.ts';

/** The folder of the filesystem storage. */
export const storageFolder = (dataDir: string): string => join(dataDir, 'storage');

export interface DiskUsage {
  /** equal for folders on the same file system */
  device: number;
  /** bytes that a process without privileges may still write */
  freeBytes: number;
  /** size of the file system in bytes, including space that other users occupy or that a quota withholds */
  sizeBytes: number;
}

export type DiskUsageReader = (folder: string) => Promise<DiskUsage>;

/** Reads the usage of the folder's file system. A folder that does not exist yet has that of its nearest parent. */
export const readDiskUsage: DiskUsageReader = async (folder) => {
  try {
    const [{ dev }, { bavail, blocks, bsize }] = await Promise.all([stat(folder), statfs(folder)]);
    return { device: dev, freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
  } catch (error) {
    if (!isMissing(error) || dirname(folder) === folder) throw error;
    return readDiskUsage(dirname(folder));
  }
};
