/** `reelmend enhance` with several videos: a few at a time, finished ones skipped, and a table at the end. */
import { mkdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MultiBar, type SingleBar } from 'cli-progress';
import type { Config } from '../app/config.ts';
import type { EnhanceResult, Media } from '../media/types.ts';
import { type EnhanceSettings, enhanceOne, removeUnfinishedResults, size } from './enhance-file.ts';
import { type Input, resultName } from './inputs.ts';
import { interruptible } from './interruptible.ts';
import { reasonOf } from './reason.ts';
import { table } from './table.ts';
import { plain, say, terminal, warn } from './terminal.ts';

export interface EnhanceFiles extends EnhanceSettings {
  inputs: Input[];
  /** for the results; created when missing */
  folder: string;
  /** videos at the same time */
  jobs: number;
  /** enhance what has a result already */
  force: boolean;
}

type Outcome =
  | { state: 'done'; result: EnhanceResult }
  | { state: 'skipped' }
  | { state: 'failed'; error: unknown };

export async function enhanceFiles(media: Media, config: Config, command: EnhanceFiles): Promise<void> {
  const { inputs, folder, jobs } = command;
  const outputs = inputs.map((input) => join(folder, resultName(input, command.resolution)));
  const twice = outputs.find((output, index) => outputs.indexOf(output) !== index);
  if (twice !== undefined) throw new Error(`Two of the videos would both become ${plain(twice)}; give them other names, or enhance them apart.`);
  await mkdir(folder, { recursive: true });
  await removeUnfinishedResults(folder);
  const outcomes: Outcome[] = [];
  await interruptible(async (interrupted) => {
    // Aborted by the first failure, too: no worker goes on without a summary.
    const failed = new AbortController();
    const signal = AbortSignal.any([interrupted, failed.signal]);
    const bars = progressBars();
    const waiting = inputs.entries();
    const work = async () => {
      // All take from the same iterator, so each video is taken once.
      for (const [index, input] of waiting) {
        signal.throwIfAborted();
        outcomes[index] = await enhanceNext(media, config, { command, input, output: outputs[index]!, signal, bars });
      }
    };
    const workers = Array.from({ length: Math.min(jobs, inputs.length) }, work);
    try {
      await Promise.all(workers);
    } catch (error) {
      failed.abort(error);
      await Promise.allSettled(workers);
      throw error;
    } finally {
      bars?.stop();
    }
  });
  say(summary(outputs, outcomes));
  sayWhySkipped(outcomes);
  const failed = outcomes.filter(({ state }) => state === 'failed').length;
  if (failed === 0) return;
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.state === 'failed') warn(`reelmend: ${plain(`${inputs[index]!.source}: ${reasonOf(outcome.error)}`)}`);
  }
  terminal().status = 1;
}

interface Next {
  command: EnhanceFiles;
  input: Input;
  output: string;
  signal: AbortSignal;
  bars: MultiBar | undefined;
}

async function enhanceNext(media: Media, config: Config, { command, input, output, signal, bars }: Next): Promise<Outcome> {
  const payload = (percent: number) => ({ name: plain(basename(output)), percent });
  let bar: SingleBar | undefined;
  try {
    if (!command.force && (await isFinished(input, output))) return { state: 'skipped' };
    bar = bars?.create(1, 0, payload(0));
    const onProgress = ({ fraction }: { fraction: number }) => bar?.update(fraction, payload(Math.floor(fraction * 100)));
    return { state: 'done', result: await enhanceOne(media, config, { ...command, input, output }, { signal, onProgress }) };
  } catch (error) {
    signal.throwIfAborted();
    return { state: 'failed', error };
  } finally {
    if (bar !== undefined) bars?.remove(bar);
  }
}

/** One line for each video that is being enhanced. A program that reads stderr gets none. */
function progressBars(): MultiBar | undefined {
  if (!process.stderr.isTTY) return undefined;
  return new MultiBar({ format: '{bar} {percent} %  {name}', barsize: 30, hideCursor: true, clearOnComplete: true, stream: process.stderr });
}

/** Results appear only when they are complete. One that is older than its video belongs to another video. */
async function isFinished({ source, kind }: Input, output: string): Promise<boolean> {
  const made = await stat(output).catch(() => null);
  if (made === null) return false;
  const video = kind === 'file' ? await stat(source) : null;
  return video === null || made.mtimeMs >= video.mtimeMs;
}

/** A result does not say which settings made it, so one of other settings is skipped, too. */
function sayWhySkipped(outcomes: Outcome[]): void {
  const count = outcomes.filter(({ state }) => state === 'skipped').length;
  if (count === 0) return;
  const skipped = count === 1 ? '1 video has a result already and was skipped' : `${count} videos have results already and were skipped`;
  warn(`reelmend: ${skipped}, whatever model and settings were used then; --force enhances again.`);
}

const fileSize = (bytes: number) => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

function summary(outputs: string[], outcomes: Outcome[]): string {
  const rows = outcomes.map((outcome, index) => {
    const name = plain(basename(outputs[index]!));
    if (outcome.state !== 'done') return [name, outcome.state, '', '', '', ''];
    const { result } = outcome;
    const fps = (result.frames / Math.max(result.wallSeconds, 1e-6)).toFixed(1);
    return [name, 'done', `${size(result.source)} → ${size(result)}`, String(result.frames), fps, fileSize(result.sizeBytes)];
  });
  return table(['result', 'state', 'size', 'frames', 'fps', 'file'], rows);
}
