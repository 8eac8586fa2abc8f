/** Whether the storage is the one that the database knows. */
import type { Storage } from '../storage/index.ts';
import type { Store } from '../store/index.ts';

const resultsChecked = 5;

/**
 * Throws if the storage has none of the newest results. Then its disk is not mounted, or it is another folder or bucket: all older files
 * would count as deleted there, and certificates would say so. Says nothing about a storage that does not respond.
 */
export async function checkStorage({ store, storage }: {
  store: { objects: Pick<Store['objects'], 'newestResults'> };
  storage: Pick<Storage, 'stat'>;
}): Promise<void> {
  const keys = await store.objects.newestResults(resultsChecked);
  if (keys.length === 0) return;
  for (const key of keys) {
    const isThere = await storage.stat(key).then((found) => found !== null, () => true);
    if (isThere) return;
  }
  throw new Error(
    `The storage has none of the newest results (such as ${keys[0]}). Is its disk mounted, and is it the right folder or bucket? If the files are lost, set REELMEND_ACCEPT_MISSING_FILES=1.`,
  );
}
