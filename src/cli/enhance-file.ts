/** `reelmend enhance`, `plan` and `probe`: work on one file, without a database, with the service's media child. */
import { createReadStream, rmSync } from 'node:fs';
import { lstat, rename, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import type { Config } from '../app/config.ts';
import type { Strength } from '../domain/job.ts';
import { estimateSize, type SizeEstimate } from '../domain/output-size.ts';
import { sourceFacts } from '../media/facts.ts';
import type { EnhancePlan, EnhanceResult, Media, Progress } from '../media/types.ts';
import { fetchInput, type Input, noFile } from './inputs.ts';
import { interruptible } from './interruptible.ts';
import { requireInputKept, requireNoTerminal, requireReplaceable } from './replaceable.ts';
import { bytes, plain, print, say, terminal, warn } from './terminal.ts';
import { makeUnfinishedFolder, removeUnfinished } from './unfinished.ts';

const probeTimeoutMs = 60_000;
/** A day: the limit only ends what is stuck, since the user can interrupt. */
const enhanceTimeoutMs = 24 * 3600_000;

/** How to enhance. */
export interface EnhanceSettings {
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

export interface EnhanceCommand extends EnhanceSettings {
  input: Input;
  /** path, or `-` for standard output */
  output: string;
  /** replace an existing output */
  force: boolean;
}

export type PlanCommand = Omit<EnhanceSettings, 'from' | 'to'> & { input: string; json?: boolean };

/** of the folder with an unfinished result, beside the result and for standard output */
const besidePrefix = '.reelmend-';
const pipedPrefix = () => join(tmpdir(), 'reelmend-');

/** Removes what killed commands have left in a folder for results. */
export const removeUnfinishedResults = (folder: string): Promise<void> => removeUnfinished(join(folder, besidePrefix));

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
  await requireModel(config, command.model);
  const options = enhanceOptions(config, command);
  const plan = await media.plan({ inputPath: resolve(command.input), options, timeoutMs: probeTimeoutMs });
  const estimate = expectedSize(plan, config, command);
  if (command.json === true) {
    print({ ...plan, estimatedSize: { minBytes: estimate.min_bytes, maxBytes: estimate.max_bytes } });
    return;
  }
  say(`${plain(basename(command.input))}: ${size(plan.source)} → ${size(plan)} on ${plan.device}, model ${plan.model}`);
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

export const size = ({ width, height }: { width: number; height: number }) => `${width}×${height}`;

/** Enhances one video. The output appears under its name only when it is complete; `-` writes it to standard output. */
export async function enhanceCommand(media: Media, config: Config, command: EnhanceCommand): Promise<void> {
  const { output } = command;
  const piped = output === '-';
  if (piped) requireNoTerminal();
  if (!piped) await requireFreeOutput(command);
  const bar = progressBar();
  await interruptible(async (signal) => {
    try {
      await (piped ? removeUnfinished(pipedPrefix()) : removeUnfinishedResults(dirname(output)));
      const draft = piped ? await makeUnfinishedFolder(pipedPrefix()) : undefined;
      // If the reader of standard output exits, so does this process, at once.
      const removeDraft = () => draft !== undefined && rmSync(draft.path, { recursive: true, force: true });
      process.once('exit', removeDraft);
      try {
        const path = draft === undefined ? output : join(draft.path, 'output.mp4');
        const result = await enhanceOne(media, config, { ...command, output: path }, { signal, onProgress: bar.update });
        bar.stop();
        // An MP4's index is written last and stands first, so the file must be whole before its first byte leaves.
        if (draft !== undefined) await sendFile(path);
        (piped ? warn : say)(summary(result, piped ? 'standard output' : output));
      } finally {
        process.off('exit', removeDraft);
        await draft?.remove();
      }
    } finally {
      bar.stop();
    }
  });
}

/** Somebody who names two videos, as other programs take them, must not lose the second. */
async function requireFreeOutput({ input, output, force }: EnhanceCommand): Promise<void> {
  if (input.kind === 'file') await requireInputKept(input.source, output);
  const found = await lstat(output).catch(() => null);
  if (found === null) return;
  await requireReplaceable(output);
  // Nor is a link replaced unasked.
  if (force) return;
  throw new Error(`${plain(output)} exists already: add --force to replace it, or name a folder for the results of several videos.`);
}

async function sendFile(path: string): Promise<void> {
  for await (const chunk of createReadStream(path)) await terminal().stdoutBytes(chunk as Buffer);
}

interface Running {
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
}

/** Enhances one video into a file. */
export async function enhanceOne(media: Media, config: Config, command: Omit<EnhanceCommand, 'force'>, running: Running): Promise<EnhanceResult> {
  const { input, from = 0, to = endOfAll } = command;
  const output = resolve(command.output);
  if (from >= to) throw new Error(`--to ${to} must be after --from ${from}.`);
  if (input.kind === 'file') await requireInputKept(input.source, output);
  await lstat(output).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENAMETOOLONG') throw error;
  });
  const unfinished = await makeUnfinishedFolder(join(dirname(output), besidePrefix)).catch((cause) => {
    throw new Error(`Cannot write into the folder of ${command.output}.`, { cause });
  });
  const outputDir = unfinished.path;
  try {
    const fetched = join(outputDir, 'input');
    if (input.kind !== 'file') await fetchInput(input, fetched, running.signal);
    const result = await media.enhance({
      input: input.kind === 'file' ? resolve(input.source) : fetched,
      outputDir,
      outputName: 'output.mp4',
      options: enhanceOptions(config, command),
      timeoutMs: enhanceTimeoutMs,
      ...running,
    });
    await rename(join(outputDir, 'output.mp4'), output);
    return result;
  } finally {
    await unfinished.remove();
  }
}

/** Throws for a network that is not installed, with the names of those that are. */
export async function requireModel(config: Config, model: string): Promise<void> {
  const { describeModels, installedModels } = await import('../media/models.ts');
  const names = ['auto', 'none', ...describeModels(installedModels(config.modelsDir)).map(({ name }) => name)];
  if (!names.includes(model)) throw new Error(`There is no model “${model}”; there are ${names.join(', ')}.`);
}

function enhanceOptions(config: Config, command: EnhanceSettings) {
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
  if (found === null || !found.isFile()) throw noFile(path);
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
  return `${plain(basename(output))}: ${size(result.source)} → ${size(result)}, ${result.frames} frames at ${fps} fps on ${result.device}, model ${result.applied.model}`;
}
