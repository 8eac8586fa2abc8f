/** At the start of a worker with a GPU: jobs run on the CPU without their engines, so that the log says it before the first one does. */
import type { Logger } from 'pino';
import { findMissingEngines } from '../media/missing-engines.ts';
import type { InstalledModel } from '../media/models.ts';
import type { Media } from '../media/types.ts';

interface Parts {
  media: Pick<Media, 'devices'>;
  models: readonly InstalledModel[];
  enginesDir: string | undefined;
  logger: Pick<Logger, 'warn'>;
  modulesDir?: string;
}

/** Does not reject. A failure is no obstacle for jobs, which do without the engines. */
export async function warnOfMissingEngines({ media, logger, ...search }: Parts): Promise<void> {
  try {
    for (const { device, networks, sentence } of await findMissingEngines({ devices: await media.devices(), ...search })) {
      logger.warn({ device, networks }, sentence);
    }
  } catch (error) {
    logger.warn({ err: error }, 'which engines the GPUs lack cannot be found out');
  }
}
