/** The command line `reelmend`. Errors are one line on stderr and exit status 1. */
import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { accountCommands, keyCommands } from './account-commands.ts';
import { auditCommands, certificateCommands, ledgerCommands, signingKeyCommands } from './evidence-commands.ts';
import { inspectCommand } from './inspect-command.ts';
import { modelsCommands } from './model-commands.ts';
import { configWith, type OverridingOptions, position, positiveWhole, strengthOption, targetOption, withEncoder, withMachine } from './options.ts';
import { configOfTerminal, terminal, warn } from './terminal.ts';
import { remoteCommands } from './remote-commands.ts';
import { addGroups, rootCommand, run } from './run.ts';
import { operatorCommands, userCommands } from './user-commands.ts';
import { verifyCommands } from './verify-commands.ts';
import { webhookCommands } from './webhook-commands.ts';
import type { EnhanceSettings } from './enhance-file.ts';
import type { Config } from '../app/config.ts';
import type { Lifetime, Roles } from '../app/service.ts';
import type { Strength } from '../domain/job.ts';

function seconds(text: string): number {
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('Expected seconds, such as 12 or 12.5.');
  return Number(text);
}

const automatic = (name: string, what: string) => strengthOption(name, what).default('auto' as Strength);

/** Adds the options that say how to enhance a video. */
function withEnhancements(command: Command) {
  return command
    .addOption(targetOption(['1080p', '4k', 'source'], 'target size; source keeps the size of the input').default('1080p'))
    .addOption(automatic('denoise', 'noise reduction'))
    .addOption(automatic('sharpen', 'sharpening'))
    .addOption(automatic('adaptive-contrast', 'local contrast'))
    .addOption(automatic('face-restoration', 'face restoration'))
    .option('--model <name>', 'name of an installed network, auto, or none: only resizing and filters', 'auto');
}

// Commands load their modules when they run: the whole service takes a second to load.
const media = async (config: Config) => {
  const [{ createMedia }, { installedModels }, { speedOptions }] = await Promise.all([
    import('../media/index.ts'),
    import('../media/models.ts'),
    import('../app/speed-options.ts'),
  ]);
  const { requireIsolation, enginesDir } = config;
  const logger = {
    info: (_: object, message: string) => terminal().isTerminal && warn(message),
    warn: (_: object, message: string) => warn(message),
  };
  return createMedia({ requireIsolation, models: installedModels(config.modelsDir), enginesDir, speeds: { ...speedOptions(config), logger } });
};
const start = async (roles: Roles, lifetime: Lifetime = {}) => {
  const config = configOfTerminal();
  // After `--once` the process ends even if the worker died; the caller decides what happens next.
  if (!config.restart || lifetime.once) return (await import('./start-command.ts')).startCommand(config, roles, lifetime);
  const [{ supervise }, { createLogger }] = await Promise.all([import('./supervise.ts'), import('../observability/logger.ts')]);
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  terminal().status = await supervise({ command, logger: createLogger(config) });
};
const enhance = () => import('./enhance-file.ts');

interface EnhanceOptions extends EnhanceSettings, OverridingOptions {
  list?: string;
  jobs: number;
  force?: boolean;
}

function enhanceCommand(command: Command): void {
  command.description('enhance videos; needs no database');
  withEncoder(withMachine(withEnhancements(command)))
    .usage('[options] <videos...> [output]')
    .argument('<videos...>', 'files, folders, patterns in quotes, URLs, or - for standard input; then the output: an MP4 file, a folder, or - for standard output. Without an output, holiday.mov becomes holiday-1080p.mp4 beside it')
    .option('--list <file>', 'read more videos from this file, one per line; - reads standard input')
    .option('--jobs <count>', 'number of videos to enhance at the same time', positiveWhole, 1)
    .option('--force', 'replace existing results; by default, an existing file is an error, and a folder skips videos with a result')
    .option('--from <time>', 'start of the part to enhance, in seconds or as [HH:]MM:SS; the result has no sound', position)
    .option('--to <time>', 'end of the part to enhance; the result has no sound', position)
    .action(runEnhance);
}

async function runEnhance(paths: string[], { list, jobs, force = false, ...options }: EnhanceOptions): Promise<void> {
  const shared = Math.max(1, Math.floor(availableParallelism() / jobs));
  const config = configWith({ ...options, ...(jobs > 1 && !options.threads ? { threads: String(shared) } : {}) });
  const { targetsOf } = await import('./inputs.ts');
  const targets = await targetsOf({ paths, list, resolution: options.resolution });
  const { enhanceCommand: enhanceFile, requireModel } = await enhance();
  await requireModel(config, options.model);
  if (targets.kind === 'one') return enhanceFile(await media(config), config, { ...options, ...targets, force });
  const { enhanceFiles } = await import('./enhance-files.ts');
  await enhanceFiles(await media(config), config, { ...options, ...targets, jobs, force });
}

function localCommands(reelmend: Command): void {
  enhanceCommand(reelmend.command('enhance'));

  withEncoder(withMachine(withEnhancements(reelmend.command('plan').description('show what enhance would do with a file, and why'))))
    .argument('<video>', 'a video file')
    .option('--json', 'print JSON')
    .action(async (input: string, options) => {
      const config = configWith(options);
      await (await enhance()).planCommand(await media(config), config, { input, ...options });
    });

  reelmend
    .command('probe')
    .description('print the properties of a video as JSON')
    .argument('<video>', 'a video file')
    .action(async (input: string) => (await enhance()).probeCommand(await media(configOfTerminal()), input));

  reelmend
    .command('devices')
    .description('list the CPUs and GPUs, whether the engine can use them, and the speed of the networks on this CPU (measured at the first call)')
    .option('--threads <count>', 'number of threads for the measurement; default: REELMEND_THREADS')
    .option('--measure-again', 'measure the speed again, for example because the machine was busy, for the workers with this data folder and number of threads; a running one uses it from its next start')
    .option('--json', 'print JSON; the default if the output is not a terminal')
    .action(async ({ json = false, measureAgain = false, ...options }: { json?: boolean; measureAgain?: boolean; threads?: string }) => {
      const config = configWith(options);
      const [{ devicesCommand }, { findMissingEngines }, { installedModels }] = await Promise.all([
        import('./devices-command.ts'),
        import('../media/missing-engines.ts'),
        import('../media/models.ts'),
      ]);
      const models = installedModels(config.modelsDir);
      await devicesCommand(await media(config), (devices) => findMissingEngines({ devices, models, enginesDir: config.enginesDir }), { json, measureAgain });
    });
  addGroups(reelmend, [modelsCommands()]);
}

function serviceCommands(reelmend: Command): void {
  reelmend.command('start').description('run the API and a worker in one process').action(() => start({ api: true, worker: true }));
  reelmend.command('serve').description('run the API only').action(() => start({ api: true, worker: false }));
  reelmend
    .command('work')
    .description('run a worker only')
    .option('--once', 'take one job and exit; exit status 3 if none was waiting')
    .option('--idle-exit <seconds>', 'exit after this many seconds without a job; with --once: wait this long for one', seconds)
    .action(({ once = false, idleExit }: { once?: boolean; idleExit?: number }) =>
      start({ api: false, worker: true }, { once, ...(idleExit === undefined ? {} : { idleS: idleExit }) }),
    );
  reelmend
    .command('health')
    .description('check the API or worker that these environment variables describe; exit status 1 if it does not respond')
    .action(async () => (await import('./health-command.ts')).healthCommand(configOfTerminal()));
}

function administrationCommands(): Command[] {
  const operators = [accountCommands(), keyCommands(), userCommands(), operatorCommands(), webhookCommands(), ledgerCommands(), signingKeyCommands()];
  for (const command of operators.flatMap((group) => group.commands)) {
    command.option('--json', 'print JSON; the default if the output is not a terminal');
    command.hook('preAction', () => void (terminal().json = command.opts<{ json?: boolean }>().json === true));
  }
  return [inspectCommand(), ...operators, auditCommands(), certificateCommands()];
}

/** The root command with all others. */
export function program(): Command {
  const reelmend = rootCommand('Enhances videos, as a service or from the command line.');
  reelmend.commandsGroup('Enhance videos on this machine:');
  localCommands(reelmend);
  reelmend.commandsGroup('Use a service, with an API key:');
  addGroups(reelmend, [...remoteCommands(), verifyCommands()]);
  reelmend.commandsGroup('Run the service:');
  serviceCommands(reelmend);
  reelmend.commandsGroup('Manage the service:');
  addGroups(reelmend, administrationCommands());
  return reelmend.commandsGroup('Help:').helpCommand('help [command]');
}

/** Runs one command at its terminal. */
export const runProgram = (args: string[]): Promise<void> => run(program(), args);
