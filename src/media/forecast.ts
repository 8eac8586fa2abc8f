/** What the next job will probably be: one like the last. */
import { given } from './plans.ts';
import type { EngineResult } from './types.ts';
import type { Forecast } from './spares.ts';
import type { ToChild } from './wire.ts';

type AddonOptions = Extract<ToChild, { op: 'prepare' }>['options'];

/** Without a result the device and its libraries alone are expected. */
export function forecastOf(options: AddonOptions, result: EngineResult | undefined): Forecast {
  const { device, threads, engineFolder, mayWriteEngines, target } = options;
  const expectation = result === undefined ? {} : expectationOf(result);
  const key = JSON.stringify([device, threads, expectation]);
  const kept = given({ device, threads, engineFolder, mayWriteEngines, models: options.models });
  return { key, message: { op: 'prepare', options: { target, ...kept }, expectation } };
}

/** Networks take pictures as they are stored, turned upright. */
function expectationOf({ source, width, height, applied, plan }: EngineResult) {
  const isTurned = source.rotationDegrees === 90 || source.rotationDegrees === 270;
  const [across, down] = [source.codedWidth, source.codedHeight];
  return {
    width: isTurned ? down : across,
    height: isTurned ? across : down,
    outputWidth: width,
    outputHeight: height,
    model: applied.model,
    restoresFaces: plan.some(({ name, strength }) => name === 'face_restoration' && strength > 0),
  };
}
