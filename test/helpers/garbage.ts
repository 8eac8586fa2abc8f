/** What the garbage collector leaves: finds objects that something still refers to. */
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// The test runner does not pass --expose-gc.
setFlagsFromString('--expose-gc');
export const collectGarbage = runInNewContext('gc') as () => void;

const collections = 20;

/** How many of the objects are left when unused ones have had time to go. */
export async function countKept(objects: readonly WeakRef<object>[]): Promise<number> {
  const kept = () => objects.filter((object) => object.deref() !== undefined).length;
  for (let n = 0; n < collections && kept() > 0; n += 1) {
    // An object stays until the end of the turn in which it was looked at, and some parts of it go one collection later.
    await sleep(20);
    collectGarbage();
  }
  return kept();
}
