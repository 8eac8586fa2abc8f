/** Schemas of the child's messages. The child handles hostile files, so every message is validated. */
import { z } from 'zod';
import type { CompiledEngine, DeviceInfo, EnhancePlan, EnhanceResult, JoinResult, ModelReport, Picture, ProbeResult, SegmentPlan } from '../../native/index.d.ts';
import { maxReadBytes } from './wire.ts';

/** Names and tags come from files. They are shortened and stripped of control characters, not refused. */
const name = z.string().transform((text) => text.replace(/\p{Cc}/gu, '').slice(0, 200));
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const side = z.number().int().min(0).max(1_000_000);
const seconds = z.number().min(0).max(1e9);
const strength = z.number().min(0).max(1);

export const probeResult: z.ZodType<ProbeResult> = z.object({
  container: name,
  videoCodec: name,
  pixelFormat: name,
  codedWidth: side,
  codedHeight: side,
  width: side,
  height: side,
  rotationDegrees: z.literal([0, 90, 180, 270]),
  frameRate: z.number().min(0).max(1e6),
  durationS: seconds,
  durationIsExact: z.boolean(),
  sizeBytes: count,
  audio: z.array(z.object({ codec: name, channels: count, sampleRateHz: count, language: name })).max(1000),
  decodedFrames: count.optional(),
});

const plannedStages = z
  .array(z.object({ name, strength, why: z.string().transform((text) => text.replace(/\p{Cc}/gu, '').slice(0, 500)) }))
  .max(20);

export const enhancePlan: z.ZodType<EnhancePlan> = z.object({
  source: probeResult,
  width: side,
  height: side,
  device: name,
  model: name,
  stages: plannedStages,
  condition: name,
});

/** A day of segments of the shortest length has fewer. The text goes to other children, whose engine reads it as it reads files. */
const maxSegments = 10_000;

export const segmentPlan: z.ZodType<SegmentPlan> = z.object({
  plan: enhancePlan,
  segments: z.array(z.object({ startS: seconds, endS: seconds, frames: count })).min(1).max(maxSegments),
  text: z.string().max(200 * maxSegments),
  whyWhole: name,
});

export const joinResult: z.ZodType<JoinResult> = z.object({
  width: side,
  height: side,
  frames: count,
  durationS: seconds,
  sizeBytes: count,
});

export const enhanceResult: z.ZodType<EnhanceResult> = z.object({
  source: probeResult,
  width: side,
  height: side,
  frames: count,
  undecodableFrames: count,
  durationS: seconds,
  sizeBytes: count,
  device: name,
  applied: z.object({
    denoise: strength,
    sharpen: strength,
    adaptiveContrast: strength,
    faceRestoration: strength,
    model: name,
  }),
  plan: plannedStages,
  condition: name,
  faces: count,
  wallSeconds: seconds,
  startSeconds: seconds,
  stages: z.array(z.object({ name, cpuSeconds: seconds })).max(100),
});

export const pictureList: z.ZodType<Picture[]> = z
  .array(
    z.object({
      file: name,
      isPoster: z.boolean(),
      timeS: seconds,
      width: side.min(1),
      height: side.min(1),
      sizeBytes: count,
    }),
  )
  .max(51);

export const modelReport: z.ZodType<ModelReport> = z.object({
  backend: name,
  precision: name,
  inputWidth: side,
  inputHeight: side,
  outputWidth: side,
  outputHeight: side,
  tiles: count,
  workingBytes: count,
  loadMs: z.number().min(0).max(1e9),
  msPerFrame: z.number().min(0).max(1e9),
});

export const compiledEngines: z.ZodType<CompiledEngine[]> = z
  .array(
    z.object({
      backend: name,
      target: name,
      device: z.string().max(200),
      precision: name,
      file: name.or(z.literal('')),
      width: side,
      height: side,
      buildMs: z.number().min(0).max(1e9),
      contexts: count,
      batch: count,
      notBuilt: z.string().max(2000),
      notMeasured: z.string().max(2000),
    }),
  )
  .max(100);

export const engineVersion = z.string().min(1).max(500);

export const deviceList: z.ZodType<DeviceInfo[]> = z
  .array(
    z.object({
      id: name,
      name,
      usable: z.boolean(),
      reason: z.string().max(2000),
      threads: count,
      simd: name,
      encoder: name,
      inference: z.array(name).max(100),
    }),
  )
  .max(100);

export const fromChild = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('read'),
    id: count.max(0xffffffff),
    offset: count,
    length: count.min(1).max(maxReadBytes),
  }),
  z.object({
    type: z.literal('progress'),
    // Progress is advice only: a value that makes no sense is replaced, and the job goes on.
    progress: z.object({
      fraction: z.number().catch(0).transform((value) => Math.min(1, Math.max(0, value))),
      framesDone: count.catch(0),
      framesPerSecond: z.number().min(0).catch(0),
      etaS: z.number().catch(-1),
    }),
  }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('begun') }),
  z.object({ type: z.literal('result'), value: z.unknown() }),
  z.object({
    type: z.literal('error'),
    code: z.string().max(100),
    message: z.string().max(4000),
    stack: z.string().max(64_000).optional(),
  }),
]);
