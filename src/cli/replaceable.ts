/** Whether a result may take the place of what has its name. */
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Throws for a device, such as /dev/null, or a pipe: a result would take its place, also for all other programs. */
export async function requireReplaceable(path: string): Promise<void> {
  if (path === '') throw new Error('The name of the output is empty.');
  const found = await stat(path).catch(() => null);
  // /dev/stdout is a link, and may lead to a file.
  if (found === null || (found.isFile() && dirname(resolve(path)) !== '/dev')) return;
  throw new Error(`${path} is a ${found.isDirectory() ? 'folder' : 'device or a pipe'}: name a file for the result.`);
}
