/** Shared by the commands that need the database: opening it, printing JSON, refusing unknown ids. */
import { InvalidArgumentError } from 'commander';
import type { Config } from '../app/config.ts';
import type { openStore } from '../app/open-store.ts';
import { configOfTerminal } from './terminal.ts';

export type Opened = Awaited<ReturnType<typeof openStore>> & { config: Config };

/** Runs `work` with the migrated database and closes it afterwards. */
export async function withStore<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
  const config = configOfTerminal();
  // Loaded here, so that `--help` and offline commands do not load the database driver.
  const opened = await (await import('../app/open-store.ts')).openStore(config);
  try {
    return await work({ ...opened, config });
  } finally {
    await opened.close();
  }
}

export function known<T>(value: T | null, what: string, id: string): T {
  if (value === null) throw new Error(`There is no ${what} ${id}.`);
  return value;
}

export function positiveWhole(text: string): number {
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new InvalidArgumentError('Expected a positive whole number.');
  return Number(text);
}
