/** `reelmend enhance`, `plan` and `probe`: work on one file, without a database, with the service's media child. */
import { mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import type { Config } from '../app/config.ts';
import type { Strength } from '../domain/job.ts';
import { estimateSize, type SizeEstimate } from '../domain/output-size.ts';
import { sourceFacts } from '../media/facts.ts';
import type { EnhancePlan, EnhanceResult, Media, Progress } from '../media/types.ts';
import { bytes, print, say } from './terminal.ts';

const probeTimeoutMs = 60_000;
/** A day: the limit only ends what is stuck, since the user can interrupt. */
const enhanceTimeoutMs = 24 * 3600_000;

export interface EnhanceCommand {
  input: string;
  output: string;
  resolution: '1080p' | '4k' | 'source';
  denoise: Strength;
  sharpen: Strength;
  adaptiveContrast: Strength;
  faceRestoration: Strength;
  model: string;
  /** bits per second; default: no limit */
  maxBitrate?: number;
  /** part to enhance, in seconds from the first frame; default: from the start, to the end */
  from?: number;
  to?: number;
}

export type PlanCommand = Omit<EnhanceCommand, 'output' | 'from' | 'to'> & { json?: boolean };

/** seconds; longer than any video */
const endOfAll = 1e7;

/** Prints the probe's result as JSON. */
export async function probeCommand(media: Media, input: string): Promise<void> {
  await requireFile(input);
  const result = await media.probe({
    source: { path: resolve(input) },
    walkPackets: true,
    timeoutMs: probeTimeoutMs,
  });
  print(result);
}

/** Prints what `enhance` would do with a file, and why. */
export async function planCommand(media: Media, config: Config, command: PlanCommand): Promise<void> {
  await requireFile(command.input);
  const options = enhanceOptions(config, command);
  const plan = await media.plan({ inputPath: resolve(command.input), options, timeoutMs: probeTimeoutMs });
  const estimate = expectedSize(plan, config, command);
  if (command.json === true) {
    print({ ...plan, estimatedSize: { minBytes: estimate.min_bytes, maxBytes: estimate.max_bytes } });
    return;
  }
  say(`${basename(command.input)}: ${size(plan.source)} → ${size(plan)} on ${plan.device}, model ${plan.model}`);
  if (plan.condition !== '') say(`  source: ${plan.condition}`);
  for (const { name, strength, why } of plan.stages) {
    say(`  ${name.padEnd(18)} ${strength.toFixed(2)}  ${why}`);
  }
  const [least, most] = [estimate.min_bytes, estimate.max_bytes].map(bytes);
  say(`  size: probably ${least} to ${most} at CRF ${config.encoder.crf}; noise and motion make it large`);
}

/** By the file's own bitrate: this command knows no earlier results. */
function expectedSize({ source, width, height }: EnhancePlan, { encoder }: Config, { maxBitrate }: PlanCommand): SizeEstimate {
  return estimateSize({ output: { width, height }, source: sourceFacts(source), crf: encoder.crf, maxBitrate, samples: [] });
}

const size = ({ width, height }: { width: number; height: number }) => `${width}×${height}`;

/** Enhances a file. The output appears under its name only when it is complete. */
export async function enhanceCommand(media: Media, config: Config, command: EnhanceCommand): Promise<void> {
  await requireFile(command.input);
  const output = resolve(command.output);
  const { from = 0, to = endOfAll } = command;
  if (from >= to) throw new Error(`--to ${to} must be after --from ${from}.`);
  if (output === resolve(command.input)) throw new Error('The output would overwrite the input; choose another name.');
  if ((await stat(output).catch(() => null))?.isDirectory() === true) {
    throw new Error(`${command.output} is a folder; name a file.`);
  }
  const outputDir = await mkdtemp(join(dirname(output), '.reelmend-')).catch((cause) => {
    throw new Error(`Cannot write into the folder of ${command.output}.`, { cause });
  });
  const abort = new AbortController();
  const interrupt = () => abort.abort(new Error('Interrupted.'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const bar = progressBar();
  try {
    const result = await media.enhance({
      inputPath: resolve(command.input),
      outputDir,
      outputName: 'output.mp4',
      options: enhanceOptions(config, command),
      timeoutMs: enhanceTimeoutMs,
      signal: abort.signal,
      onProgress: bar.update,
    });
    await rename(join(outputDir, 'output.mp4'), output);
    bar.stop();
    say(summary(result, command.output));
  } finally {
    bar.stop();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await rm(outputDir, { recursive: true, force: true });
  }
}

function enhanceOptions(config: Config, command: Omit<EnhanceCommand, 'output'>) {
  const { resolution, denoise, sharpen, adaptiveContrast, faceRestoration, model, maxBitrate, from, to } = command;
  const whole = from === undefined && to === undefined;
  return {
    target: resolution,
    denoise,
    sharpen,
    adaptiveContrast,
    faceRestoration,
    model,
    device: config.device,
    threads: config.threads,
    encoder: { ...config.encoder, ...(maxBitrate === undefined ? {} : { maxBitrate }) },
    ...(whole ? {} : { segment: { startS: from ?? 0, endS: to ?? endOfAll } }),
  };
}

async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) throw new Error(`There is no file ${path}.`);
}

function progressBar(): { update: (progress: Progress) => void; stop: () => void } {
  const bar = new SingleBar({
    format: '{bar} {percent} %  {fps} fps  {left} left',
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  });
  let started = false;
  return {
    update(progress) {
      const left = progress.etaS < 0 ? '?' : clock(progress.etaS);
      const payload = { fps: progress.framesPerSecond.toFixed(1), left, percent: Math.floor(progress.fraction * 100) };
      if (!started) bar.start(1, 0, payload);
      started = true;
      bar.update(progress.fraction, payload);
    },
    stop: () => bar.stop(),
  };
}

function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

function summary(result: EnhanceResult, output: string): string {
  const fps = (result.frames / Math.max(result.wallSeconds, 1e-6)).toFixed(1);
  return `${basename(output)}: ${size(result.source)} → ${size(result)}, ${result.frames} frames at ${fps} fps on ${result.device}, model ${result.applied.model}`;
}
