/** The service's own clips (samples/README.md): the source of the demo, and the results of test mode. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Resolution } from '../domain/job.ts';

const bundled = (name: string) => fileURLToPath(new URL(`../../src/app/samples/${name}`, import.meta.url));

/** The path of the demo's source: the bundled clip, unless the data folder has one already. */
export function demoClip(dataDir: string): Promise<string> {
  return once(join(dataDir, 'samples', 'sample.mp4'), (draft) => copyFile(bundled('sample.mp4'), draft));
}

/** The path of the bundled result of test mode in that size, so that nobody waits for an enhancement. */
export const testModeSample = (resolution: Resolution): Promise<string> => Promise.resolve(bundled(`test-result-${resolution}.mp4`));

/** Makes a file unless it exists. It appears under its name only when it is complete. */
async function once(path: string, make: (draft: string) => Promise<void>): Promise<string> {
  if (existsSync(path)) return path;
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  // A random name: process ids repeat in containers that share the folder.
  const draft = join(folder, `draft-${randomUUID()}-${basename(path)}`);
  try {
    await make(draft);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}
