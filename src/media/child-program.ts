/** Where the program of the media child is. */
import { statSync } from 'node:fs';
import { projectRoot } from './addon.ts';

/** The child and the modules that it loads, relative to the project's root. */
export const childSources = ['src/media/child.ts', 'src/media/addon.ts', 'src/media/wire.ts'] as const;
/** The child as JavaScript, by scripts/build-media-child. */
export const builtChild = 'build/media/child.js';

const changedAt = (file: string) => statSync(projectRoot + file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Whether the built child is newer than its sources. */
export function isChildBuilt(): boolean {
  const builtAt = changedAt(builtChild);
  return childSources.every((source) => changedAt(source) < builtAt);
}

let program: string | undefined;

/** The child's program relative to the project's root: the built one, or the source if that has changed since. */
export function childProgram(): string {
  program ??= isChildBuilt() ? builtChild : childSources[0];
  return program;
}
