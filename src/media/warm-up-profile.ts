/** What warm children are prepared for: a job like the last one. */
import { omitUndefined } from '../domain/omit-undefined.ts';
import type { EngineResult } from './types.ts';
import type { ToChild } from './wire.ts';

type PrepareMessage = Extract<ToChild, { op: 'prepare' }>;

export interface WarmUpProfile {
  /** equal for equal profiles */
  key: string;
  message: PrepareMessage;
}

/** Without a result only the device and its libraries are prepared. */
export function warmUpProfile(options: PrepareMessage['options'], result: EngineResult | undefined): WarmUpProfile {
  const { device, threads, engineFolder, mayWriteEngines, target } = options;
  const expectation = result === undefined ? {} : expectationOf(result);
  const key = JSON.stringify([device, threads, expectation]);
  const kept = omitUndefined({ device, threads, engineFolder, mayWriteEngines, models: options.models });
  return { key, message: { op: 'prepare', options: { target, ...kept }, expectation } };
}

/** Networks get frames as they are stored, rotated upright. */
function expectationOf({ source, width, height, applied, plan }: EngineResult) {
  const swapsSides = source.rotationDegrees === 90 || source.rotationDegrees === 270;
  const [codedWidth, codedHeight] = [source.codedWidth, source.codedHeight];
  return {
    width: swapsSides ? codedHeight : codedWidth,
    height: swapsSides ? codedWidth : codedHeight,
    outputWidth: width,
    outputHeight: height,
    model: applied.model,
    restoresFaces: plan.some(({ name, strength }) => name === 'face_restoration' && strength > 0),
  };
}
