/** Where the program of the media child is. */
import { statSync } from 'node:fs';
import { projectRoot } from './addon.ts';

/** The child and the modules that it loads, relative to the project's root. */
export const childSources = ['src/media/child.ts', 'src/media/addon.ts', 'src/media/wire.ts'] as const;
/** The child as JavaScript, by scripts/build-media-child. */
export const builtChild = 'build/media/child.js';

/** Whether the built child is newer than its sources. `root` is the project's root, with a slash. */
export function isChildBuilt(root = projectRoot): boolean {
  const changedAt = (file: string) => statSync(root + file, { throwIfNoEntry: false })?.mtimeMs;
  const builtAt = changedAt(builtChild) ?? 0;
  return childSources.every((source) => (changedAt(source) ?? Infinity) < builtAt);
}

let program: string | undefined;

/** The child's program relative to the project's root: the built one, or the source if that has changed since. */
export function childProgram(): string {
  program ??= isChildBuilt() ? builtChild : childSources[0];
  return program;
}
