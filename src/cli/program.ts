/** The command line `reelmend`. Errors are one line on stderr and exit status 1. */
import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { accountCommands, keyCommands } from './account-commands.ts';
import { auditCommands, certificateCommands, ledgerCommands, signingKeyCommands } from './evidence-commands.ts';
import { modelsCommands } from './model-commands.ts';
import { configWith, type OverridingOptions, positiveWhole, strengthOption, targetOption, withEncoder, withMachine } from './options.ts';
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
    .option('--model <name>', 'an installed network, auto, or none for the plain filter', 'auto');
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
  force: boolean;
}

function enhanceCommand(command: Command): void {
  command.description('enhance videos; needs no database');
  withEncoder(withMachine(withEnhancements(command)))
    .argument('<paths...>', 'videos (files, folders, "patterns", URLs, or - for standard input), then the output: an MP4 file, - for standard output, or a folder')
    .option('--list <file>', 'take videos from a list, one a line; - reads it from standard input')
    .option('--jobs <count>', 'videos at the same time', positiveWhole, 1)
    .option('--force', 'replace an existing output; in a folder: enhance videos that have a result, too', false)
    .option('--from <seconds>', 'start of the part to enhance; the result has no sound', seconds)
    .option('--to <seconds>', 'end of the part to enhance; the result has no sound', seconds)
    .action(runEnhance);
}

async function runEnhance(paths: string[], { list, jobs, force, ...options }: EnhanceOptions): Promise<void> {
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

function program(): Command {
  const reelmend = rootCommand('Enhances videos, as a service or from the command line.');

  reelmend.command('start').description('run the API and a worker in one process').action(() => start({ api: true, worker: true }));
  reelmend.command('serve').description('run the API').action(() => start({ api: true, worker: false }));
  reelmend
    .command('work')
    .description('run a worker')
    .option('--once', 'take one job and exit; exit status 3 if none was waiting', false)
    .option('--idle-exit <seconds>', 'exit after this many seconds without a job; with --once: wait so long for one', seconds)
    .action(({ once, idleExit }: { once: boolean; idleExit?: number }) =>
      start({ api: false, worker: true }, { once, ...(idleExit === undefined ? {} : { idleS: idleExit }) }),
    );

  enhanceCommand(reelmend.command('enhance'));

  withEncoder(withMachine(withEnhancements(reelmend.command('plan').description('show what enhance would do with a file, and why'))))
    .argument('<in>', 'a video file')
    .option('--json', 'print JSON')
    .action(async (input: string, options) => {
      const config = configWith(options);
      await (await enhance()).planCommand(await media(config), config, { input, ...options });
    });

  reelmend
    .command('probe')
    .description('print the properties of a video as JSON')
    .argument('<in>', 'a video file')
    .action(async (input: string) => (await enhance()).probeCommand(await media(configOfTerminal()), input));

  reelmend
    .command('devices')
    .description('list the CPUs and GPUs that the engine can use, and the speed of the networks on this CPU, measured at the first call')
    .option('--threads <count>', 'threads that the speed is measured with; default: REELMEND_THREADS')
    .option('--json', 'print JSON at a terminal, too; programs get it anyway')
    .action(async ({ json = false, ...options }: { json?: boolean; threads?: string }) => {
      const config = configWith(options);
      const [{ devicesCommand }, { findMissingEngines }, { installedModels }] = await Promise.all([
        import('./devices-command.ts'),
        import('../media/missing-engines.ts'),
        import('../media/models.ts'),
      ]);
      const models = installedModels(config.modelsDir);
      await devicesCommand(await media(config), (devices) => findMissingEngines({ devices, models, enginesDir: config.enginesDir }), { json });
    });

  reelmend
    .command('health')
    .description('check whether the service of this environment is healthy; for container health checks')
    .action(async () => (await import('./health-command.ts')).healthCommand(configOfTerminal()));

  const operators = [accountCommands(), keyCommands(), userCommands(), operatorCommands(), webhookCommands(), ledgerCommands(), signingKeyCommands()];
  for (const command of operators.flatMap((group) => group.commands)) {
    command.option('--json', 'print JSON at a terminal, too; programs get it anyway');
    command.hook('preAction', () => void (terminal().json = command.opts<{ json?: boolean }>().json === true));
  }
  const groups = [modelsCommands(), ...operators, auditCommands(), certificateCommands(), verifyCommands(), ...remoteCommands()];
  addGroups(reelmend, groups);
  return reelmend;
}

/** Runs one command at its terminal. */
export const runProgram = (args: string[]): Promise<void> => run(program(), args);
