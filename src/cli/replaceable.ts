/** Whether a result may take the place of what has its name, and leaves its video alone. */
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { terminal } from './terminal.ts';

/** Throws if a result would go to a person's screen. */
export function requireNoTerminal(): void {
  if (terminal().isTerminal) throw new Error('A terminal cannot show a video: send it to a program or a file.');
}

/** Throws for a device, such as /dev/null, or a pipe: a result would take its place, also for all other programs. */
export async function requireReplaceable(path: string): Promise<void> {
  if (path === '') throw new Error('The name of the output is empty.');
  const found = await stat(path).catch(() => null);
  // /dev/stdout is a link, and may lead to a file.
  if (found === null || (found.isFile() && dirname(resolve(path)) !== '/dev')) return;
  throw new Error(`${path} is a ${found.isDirectory() ? 'folder' : 'device or a pipe'}: name a file for the result.`);
}

/** Throws if the result would take the place of its video, or of the link that names the video. */
export async function requireInputKept(video: string, output: string): Promise<void> {
  const places = [await placeOf(video), await realpath(video).catch(() => video)];
  if (places.includes(await placeOf(output))) throw new Error('The output would overwrite the input; choose another name.');
}

/** The path without links to folders. A link in its last place stands for itself, as it does for `rename`. */
async function placeOf(path: string): Promise<string> {
  const folder = dirname(resolve(path));
  return join(await realpath(folder).catch(() => folder), basename(path));
}
