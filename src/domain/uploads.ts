/** Rules of uploads: their parts, how long they are kept, how much an account may have, and the name of a result. */
import type { JobPicture, JobRecord, Mode } from './job.ts';
import type { PreviewClip } from './previews.ts';

export type UploadStatus = 'waiting' | 'verifying' | 'ready' | 'failed';
export type UploadErrorCode = 'checksum_mismatch';

export interface UploadRecord {
  id: string;
  accountId: string;
  mode: Mode;
  status: UploadStatus;
  fileName: string;
  sizeBytes: number;
  partSizeBytes: number;
  /** lower-case hex; measured once the upload is ready, before that the customer's or null */
  sha256: string | null;
  /** key in the storage */
  key: string;
  /** the storage's id of the transfer; null until the transfer has begun */
  multipartId: string | null;
  error: UploadErrorCode | null;
  createdAt: Date;
  expiresAt: Date;
}

const mebibyte = 1024 * 1024;

/**
 * Bytes of every part but the last, unless the file is very large. S3 allows no smaller one than 5 MiB. At 28 kB/s a part
 * arrives within the five minutes that Node allows for a request.
 */
export const partSizeBytes = 8 * mebibyte;
/**
 * The checksums of this many parts fit into the body of a request. S3 allows 10,000 parts. A connection that sends a whole
 * file within the 24 hours that an upload is kept sends such a part in 96 s.
 */
const maxUploadParts = 900;
/** hours that an upload is kept after its creation, and again after its completion */
export const uploadKeptHours = 24;
/** seconds of validity of a part's URL */
export const partLinkValidityS = 3600;
/** missing parts that an upload lists at a time: signing their URLs takes time */
export const listedParts = 20;
/** uploads of an account and mode whose files may exist at the same time */
export const maxUploads = 1000;

/** bytes of all files of uploads of an account and mode */
export const defaultUploadQuotaBytes = 20_000_000_000;
/** The same for an account that is not approved, which anyone can create. */
export const pendingUploadQuotaBytes = 100_000_000;

export interface Part {
  /** 1, 2, 3 … */
  number: number;
  /** offset of its first byte in the file */
  offset: number;
  size: number;
}

/** Bytes of every part but the last of a file: larger ones where there would be too many. */
export function partSizeFor(sizeBytes: number): number {
  const least = Math.ceil(sizeBytes / maxUploadParts / mebibyte) * mebibyte;
  return Math.max(partSizeBytes, least);
}

/** The parts of a file. */
export function partsOf({ sizeBytes, partSizeBytes: size }: Pick<UploadRecord, 'sizeBytes' | 'partSizeBytes'>): Part[] {
  return Array.from({ length: Math.ceil(sizeBytes / size) }, (_, index) => {
    const offset = index * size;
    return { number: index + 1, offset, size: Math.min(size, sizeBytes - offset) };
  });
}

const longestStem = 150;

/** The name of a job's result: that of the uploaded file with the resolution, or else the job's id. */
export function resultFileName({ id, fileName, resolution }: Pick<JobRecord, 'id' | 'fileName' | 'resolution'>): string {
  if (fileName === null) return `${id}-${resolution}.mp4`;
  return `${stemOf(fileName)}-${resolution}.mp4`;
}

const stemOf = (fileName: string): string => [...fileName.replace(/(?<=.)\.[^.]{1,10}$/, '')].slice(0, longestStem).join('');

/** The name of a clip of a preview: `…-preview-1-original.mp4`, `…-preview-1-setting-2.mp4`. */
export function previewFileName({ id, fileName }: Pick<JobRecord, 'id' | 'fileName'>, { stretch, setting }: Pick<PreviewClip, 'stretch' | 'setting'>): string {
  const stem = fileName === null ? id : `${stemOf(fileName)}-preview`;
  return `${stem}-${stretch + 1}-${setting === null ? 'original' : `setting-${setting + 1}`}.mp4`;
}

/** The name of a piece of an unfinished result. */
export const segmentFileName = (job: Pick<JobRecord, 'id' | 'fileName' | 'resolution'>): string => resultFileName(job).replace(/\.mp4$/, '-partial.mp4');

/** The name of a picture of a result: `…-poster.jpg`, `…-thumbnail-1.jpg`. */
export function pictureFileName(job: Pick<JobRecord, 'id' | 'fileName' | 'resolution'>, { key }: Pick<JobPicture, 'key'>): string {
  return `${resultFileName(job).replace(/\.mp4$/, '')}-${key.slice(key.lastIndexOf('/') + 1)}`;
}
