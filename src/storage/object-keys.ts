/** Keys of objects. The service makes them; they are checked here because they become paths. */
import { createHash } from 'node:crypto';

const segment = /^[a-z0-9_-][a-z0-9_.-]*$/;
const maxLength = 512;

/** The error for a key that the service should never have made. Its message contains no path. */
class StorageKeyError extends TypeError {
  override readonly name = 'StorageKeyError';
}

/** Slash-separated segments of `[a-z0-9_.-]`, none empty, none starting with a dot, at most 512 characters. */
export function isStorageKey(key: string): boolean {
  return key.length <= maxLength && key.split('/').every((part) => segment.test(part));
}

/** Returns the key; throws StorageKeyError unless isStorageKey. */
export function checkKey(key: string): string {
  if (!isStorageKey(key)) throw new StorageKeyError(`Expected a storage key but received ${JSON.stringify(key)}`);
  return key;
}

/** A prefix is the beginning of a key, cut at any character, or empty. */
export function checkPrefix(prefix: string): string {
  if (prefix !== '' && !isStorageKey(prefix.replace(/\/$/, ''))) {
    throw new StorageKeyError(`Expected a storage prefix but received ${JSON.stringify(prefix)}`);
  }
  return prefix;
}

/** The beginning of the names of a key's unfinished files and folders, which have no path of their own: `<hash of the key>.` */
export const hashPrefix = (key: string): string => `${createHash('sha256').update(key).digest('hex').slice(0, 32)}.`;
