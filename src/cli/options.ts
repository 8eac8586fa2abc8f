/** Options that stand for variables of the environment, for one run: the configuration's own checks hold for them. */
import type { Command } from 'commander';
import { type Config, ConfigError, loadConfig } from '../app/config.ts';

/** The machine's part, and the encoder's: options by the variable that holds without them. */
const variables = {
  device: 'REELMEND_DEVICE',
  threads: 'REELMEND_THREADS',
  preset: 'REELMEND_ENCODER_PRESET',
  crf: 'REELMEND_ENCODER_CRF',
} as const;
type Name = keyof typeof variables;

/** As they were typed; one that is left out, or empty, is as the environment has it. */
export type OverridingOptions = { [name in Name]?: string };

export function withMachine(command: Command): Command {
  return command
    .option('--device <device>', `auto, cpu, cuda:N …; default: ${variables.device}`)
    .option('--threads <count>', `threads of the engine; default: ${variables.threads}`);
}

export function withEncoder(command: Command): Command {
  return command
    .option('--preset <name>', `x264's preset, ultrafast to veryslow; default: ${variables.preset}`)
    .option('--crf <number>', `x264's rate factor, 0 to 51, lower is better; default: ${variables.crf}`);
}

/** Throws ConfigError, which names the option where that is what is wrong. */
export function configWith(options: OverridingOptions): Config {
  const given = (Object.keys(variables) as Name[]).filter((name) => options[name]);
  const env = Object.fromEntries(given.map((name) => [variables[name], options[name]]));
  try {
    return loadConfig({ ...process.env, ...env });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const wrong = given.find((name) => variables[name] === error.variable);
    throw wrong === undefined ? error : new ConfigError(`--${wrong}`, error.problem);
  }
}
