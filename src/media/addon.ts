/** The path of the addon, and the only code that loads it; only the media child (child.ts) does. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as addon from '../../native/index.d.ts';

export type Addon = typeof addon;

/** Built by scripts/build-native; relative to the project's root, also in an isolated child. */
export const addonFile = 'build/native/Release/reelmend.node';
export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** The addon's exports. The type makes sure that none is left out. */
const calls: Record<Exclude<keyof Addon, 'default'>, true> = {
  probe: true,
  enhance: true,
  prepare: true,
  limitProcessorTime: true,
  plan: true,
  planSegments: true,
  joinSegments: true,
  checkModel: true,
  compileModel: true,
  devices: true,
  version: true,
};

/** Throws when the build folder holds an addon of another state of the sources. */
export function loadAddon(file = projectRoot + addonFile): Addon {
  const loaded = createRequire(import.meta.url)(file) as Partial<Addon>;
  const missing = Object.keys(calls).filter((name) => typeof loaded[name as keyof typeof calls] !== 'function');
  if (missing.length === 0) return loaded as Addon;
  throw new Error(`The addon ${addonFile} is older than this program (it has no ${missing.join(', ')}); run scripts/build-native.`);
}
