import { loadConfig } from '../../src/app/config.ts';
import { speedOptions } from '../../src/app/speed-options.ts';
import { installedModels } from '../../src/media/models.ts';
import { Speeds } from '../../src/media/speeds.ts';
import type { EnhanceResult, ModelReport } from '../../src/media/types.ts';

/** Milliseconds for a megapixel of input: two cores with AVX-512 VNNI. */
const msPerMegapixel: Readonly<Record<string, { int8: number; fp32: number }>> = {
  fast: { int8: 40, fp32: 150 },
  detail: { int8: 45, fp32: 160 },
  quality: { int8: 260, fp32: 1000 },
  'detail-large': { int8: 280, fp32: 1100 },
  'detail-best': { int8: 1400, fp32: 4800 },
};

/**
 * Gives a data folder the speed of the networks on a machine of which nothing was measured. To measure takes 13 s of all cores, and
 * the results depend on what else runs. `env`: the settings of the service, since the speeds count for its encoder and threads only.
 */
export async function writeSpeeds(dataDir: string, env: Record<string, string> = {}): Promise<void> {
  const config = loadConfig({ ...env, REELMEND_DATA_DIR: dataDir });
  const speeds = new Speeds({
    options: speedOptions(config),
    models: installedModels(config.modelsDir),
    hasGpu: false,
    logger: { info: () => {}, warn: (facts, message) => { throw new Error(`${message}: ${JSON.stringify(facts)}`); } },
    checkModel: async ({ model: { name, precision }, trial }) => {
      const msPerFrame = (msPerMegapixel[name]![precision] * trial!.width! * trial!.height!) / 1e6;
      return { precision, msPerFrame } as ModelReport;
    },
    enhance: async () => ({ wallSeconds: 1, startSeconds: 0, frames: 25, width: 1920, height: 1080 }) as EnhanceResult,
  });
  await speeds.measure();
}
