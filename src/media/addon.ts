/** Where the addon lies, and the only code that loads it. Imported by the media child alone (child.ts). */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as addon from '../../native/index.d.ts';

export type Addon = typeof addon;

/** Made by scripts/build-native; relative to the project's root, the same inside the sandbox. */
export const addonFile = 'build/native/Release/framelift.node';
export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

export function loadAddon(): Addon {
  return createRequire(import.meta.url)(projectRoot + addonFile) as Addon;
}
