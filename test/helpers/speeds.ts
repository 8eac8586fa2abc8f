import { execFile } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { hangMs } from './wait.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const cache = join(root, '.cache/test-speeds');

/**
 * Gives a data folder the measured speed of the networks, so that its service does not measure them: half a minute of all cores.
 * `devices` measures them once for all test runs; again if the addon, the networks or the machine change.
 */
export async function copySpeeds(dataDir: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  await mkdir(dataDir, { recursive: true });
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], REELMEND_DATA_DIR: cache };
  // Test files run concurrently: the first one measures, the others wait.
  await run('flock', [join(cache, '.lock'), join(root, 'scripts/reelmend'), 'devices'], { env, timeout: hangMs });
  await copyFile(join(cache, 'speeds.json'), join(dataDir, 'speeds.json'));
}
