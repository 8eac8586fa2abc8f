/**
 * Shared by the whole command line and the package for customers: the root command, its groups, and the output of errors.
 */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { statusOf } from './interruptible.ts';
import { reasonOf } from './reason.ts';
import { brokenPipe, plain, terminal, warn } from './terminal.ts';

// The package's bundle has the same depth as this file.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };

export function rootCommand(description: string): Command {
  return new Command('reelmend')
    .description(description)
    .version(version)
    .showHelpAfterError('(use --help for the commands and options)')
    .configureOutput({ writeOut: (text) => terminal().stdout(text), writeErr: (text) => terminal().stderr(text) })
    .exitOverride();
}

export function addGroups(root: Command, groups: readonly Command[]): void {
  for (const group of groups) {
    root.addCommand(group);
    // Commands that are created separately do not inherit these settings.
    group.copyInheritedSettings(root);
    for (const command of group.commands) command.copyInheritedSettings(root);
  }
}

/** Runs one command at its terminal. Errors are one line on stderr and exit status 1; an interrupt has the status of its signal. */
export async function run(root: Command, args: string[]): Promise<void> {
  try {
    await root.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Commander has already printed its message, or the requested help.
    if (error instanceof CommanderError) {
      terminal().status = error.exitCode;
      return;
    }
    const status = statusOf(error);
    if (status !== brokenPipe) warn(`reelmend: ${plain(reasonOf(error))}`);
    // All of it.
    if (terminal().env['REELMEND_LOG_LEVEL'] === 'debug') warn(inspect(error));
    terminal().status = status;
  }
}
