/** How much room the file system of a folder has. */
import { stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissing } from './files.ts';

/** Of the filesystem storage. */
export const storageFolder = (dataDir: string): string => join(dataDir, 'storage');

export interface DiskRoom {
  /** equal for folders of one file system */
  device: number;
  /** what a process without privileges may still write */
  freeBytes: number;
  /** the whole file system, quota and other people's files included */
  sizeBytes: number;
}

/** Of the folder, or of the nearest one above it while it has not been made. */
export async function diskRoom(folder: string): Promise<DiskRoom> {
  try {
    const [{ dev }, { bavail, blocks, bsize }] = await Promise.all([stat(folder), statfs(folder)]);
    return { device: dev, freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
  } catch (error) {
    if (!isMissing(error) || dirname(folder) === folder) throw error;
    return diskRoom(dirname(folder));
  }
}
