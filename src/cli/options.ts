/** Options that override environment variables for one run. The configuration validates them like the variables. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Config, ConfigError, loadConfig } from '../app/config.ts';
import type { Quality, Strength } from '../domain/job.ts';
import { crfOf } from '../domain/output-size.ts';
import { terminal } from './terminal.ts';

/** the variable that each option overrides */
const variables = {
  device: 'REELMEND_DEVICE',
  threads: 'REELMEND_THREADS',
  minSpeed: 'REELMEND_MIN_SPEED',
  preset: 'REELMEND_ENCODER_PRESET',
  crf: 'REELMEND_ENCODER_CRF',
} as const;
type Name = keyof typeof variables;

/** As typed. Options that are omitted or empty use the environment's values. */
export type OverridingOptions = { [name in Name]?: string } & {
  /** with `standard` as the environment has it */
  quality?: Quality;
};

export function withMachine(command: Command): Command {
  return command
    .option('--device <device>', `auto, cpu, cuda:N …; default: ${variables.device}`)
    .option('--threads <count>', `number of threads; default: ${variables.threads}`)
    .option('--min-speed <speed>', `minimum speed of the networks that auto chooses on a CPU, such as 25fps or 0.5x; default: ${variables.minSpeed}`);
}

/** Seconds from the start: `75`, `75.5`, `1:15` or `0:01:15.5`. */
export function position(text: string): number {
  const [, hours = '0', minutes = '0', seconds] = /^(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6}(?:\.\d{1,6})?)$/.exec(text) ?? [];
  const parts = text.split(':').length;
  if (seconds === undefined || (parts > 1 && Number(seconds) >= 60) || (parts > 2 && Number(minutes) >= 60)) {
    throw new InvalidArgumentError('Expected seconds such as 75.5, or MM:SS, or HH:MM:SS.');
  }
  // Rounded to what was typed: 60.1 s after 2:00 are 180.1 s.
  return Number((Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)).toFixed(6));
}

/** `standard`, `high` or a constant rate factor, as in the API. */
function quality(text: string): Quality {
  if (text === 'standard' || text === 'high') return text;
  if (!/^\d{2}(\.\d+)?$/.test(text) || Number(text) < 10 || Number(text) > 40) {
    throw new InvalidArgumentError('Expected standard, high, or a number from 10 to 40.');
  }
  return Number(text);
}

export const qualityOption = (): Option =>
  new Option('--quality <quality>', 'standard, high, or a constant rate factor (CRF) from 10 to 40; lower is better and larger; default: standard').argParser(quality);

/** Bits per second, as in the API. */
export function bitrate(text: string): number {
  const bits = Number(text);
  if (!/^\d{6,9}$/.test(text) || bits < 500_000 || bits > 200_000_000) {
    throw new InvalidArgumentError('Expected 500000 to 200000000 bits per second.');
  }
  return bits;
}

/** `auto`, `off`, or a number from 0 to 1. */
function strength(text: string): Strength {
  if (text === 'auto' || text === 'off') return text;
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('Expected auto, off or a number from 0 to 1.');
  return value;
}

export const strengthOption = (name: string, what: string): Option => new Option(`--${name} <strength>`, `${what}: auto, off or 0…1`).argParser(strength);

/** `4K`, as people spell it, is the value `4k`. */
export function targetOption(targets: readonly string[], what: string): Option {
  const option = new Option('--resolution <target>', what).choices(targets);
  const chosen = option.parseArg!;
  return option.argParser((text: string, previous: string) => chosen(text.toLowerCase(), previous) as string);
}

export function withEncoder(command: Command): Command {
  return command
    .option('--preset <name>', `x264's preset, ultrafast to veryslow; default: ${variables.preset}`)
    .addOption(qualityOption().conflicts('crf'))
    .option('--crf <number>', `x264's constant rate factor, 1 to 51; lower is better and larger; default: ${variables.crf}`)
    .option('--max-bitrate <bits>', 'maximum bitrate of the video, in bits per second; default: no limit', bitrate);
}

export function positiveWhole(text: string): number {
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new InvalidArgumentError('Expected a positive whole number.');
  return Number(text);
}

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const timePattern = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** A day (UTC), a time with `Z` or an offset, or how long ago: `90m`, `24h`, `7d`, `2w`. */
export function pointInTime(text: string): Date {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(Date.now() - Number(count) * unitsMs[unit as keyof typeof unitsMs]);
  const time = timePattern.test(text) ? new Date(text) : new Date(Number.NaN);
  const day = text.slice(0, 10);
  // JavaScript takes February 30 for March 2.
  if (Number.isNaN(time.getTime()) || !new Date(day).toISOString().startsWith(day)) {
    throw new InvalidArgumentError('Expected a day such as 2026-11-21, a time such as 2026-11-21T07:59:55Z, or how long ago: 90m, 24h, 7d, 2w.');
  }
  return time;
}

/** Loads the configuration with these options. Throws ConfigError, which names an invalid option. */
export function configWith(options: OverridingOptions): Config {
  const used = (Object.keys(variables) as Name[]).filter((name) => options[name]);
  const env = Object.fromEntries(used.map((name) => [variables[name], options[name]]));
  try {
    const config = loadConfig({ ...terminal().env, ...env });
    return { ...config, encoder: { ...config.encoder, crf: crfOf(options.quality, config.encoder.crf) } };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const wrong = used.find((name) => variables[name] === error.variable);
    throw wrong === undefined ? error : new ConfigError(`--${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, error.problem);
  }
}
