/** The file of the networks' measured speeds, and the conditions of the measurement. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SpeedOptions } from '../media/plans.ts';
import type { Config } from './config.ts';

const sample = fileURLToPath(new URL('../../src/app/samples/sample.mp4', import.meta.url));

export function speedOptions({ dataDir, threads, encoder, minSpeed }: Config): SpeedOptions {
  return { file: join(dataDir, 'speeds.json'), sample, threads, encoder, floor: minSpeed };
}
