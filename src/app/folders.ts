/** Default folders of data and settings. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

type Environment = Record<string, string | undefined>;

/** Exists only in a checkout and in an installation by scripts/package. */
const isCheckout = (folder: string) => existsSync(join(folder, 'scripts', 'reelmend'));

/** `.data` in a checkout, or if it exists; otherwise the user's data folder (XDG Base Directory). */
export function defaultDataDir(env: Environment, folder: string = process.cwd()): string {
  const local = resolve(folder, '.data');
  return isCheckout(folder) || existsSync(local) ? local : userFolder(env, 'XDG_DATA_HOME', '.local/share');
}

/** The user's folder for settings (XDG Base Directory). */
export const configDir = (env: Environment): string => userFolder(env, 'XDG_CONFIG_HOME', '.config');

/** The specification says that relative paths must be ignored. */
function userFolder(env: Environment, variable: string, fallback: string): string {
  const base = env[variable];
  return join(base !== undefined && isAbsolute(base) ? base : join(env['HOME'] || homedir(), fallback), 'reelmend');
}

/** Sets HOME to `/` for a user without a home folder, as container runtimes do. Libraries look for their settings there, too. */
export function ensureHome(): void {
  if (!hasHome()) process.env['HOME'] = '/';
}

function hasHome(): boolean {
  try {
    return homedir() !== '';
  } catch {
    // There is neither HOME nor an entry in /etc/passwd.
    return false;
  }
}
