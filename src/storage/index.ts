/** The configured storage. */
import { storageFolder } from './disk.ts';
import { createFilesystemStorage } from './filesystem.ts';
import type { FilesystemStorage } from './filesystem.ts';
import type { S3Storage } from './s3.ts';

export { contentDisposition, safeFileName } from './disposition.ts';
export { type DiskUsage, type DiskUsageReader, readDiskUsage, storageFolder } from './disk.ts';
export { createFilesystemStorage } from './filesystem.ts';
export type { FilesystemStorage } from './filesystem.ts';
export type { S3Storage } from './s3.ts';
export type { LinkQuery, LinkVerifyResult, PartQuery, PartLinkVerifyResult } from './links.ts';
export type { ByteRange, DownloadLink, MultipartUpload, Storage, StoredObject, StoredPart } from './types.ts';

export interface StorageConfig {
  /** the filesystem storage keeps its objects in `<dataDir>/storage` */
  dataDir: string;
  /** undefined: filesystem */
  s3: { endpoint: string | undefined; publicEndpoint?: string | undefined; bucket: string; region: string } | undefined;
  /** base URL of filesystem links; called for every link */
  publicUrl: () => string;
  /** signs filesystem links, at least 16 characters */
  linkSecret: string;
}

/**
 * `kind` is the kind of storage: the API verifies only the links of the filesystem storage. The AWS SDK takes 10 to 40 MB of
 * memory and is loaded only for S3.
 */
export async function createStorage(config: StorageConfig): Promise<FilesystemStorage | S3Storage> {
  if (config.s3 !== undefined) return (await import('./s3.ts')).createS3Storage(config.s3);
  const { publicUrl, linkSecret } = config;
  return createFilesystemStorage({ root: storageFolder(config.dataDir), publicUrl, linkSecret });
}
