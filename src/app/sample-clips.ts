/** Clips that the service has of its own (samples/README.md): the demo's source, and the results of test mode. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Resolution } from '../domain/job.ts';
import type { Media } from '../media/types.ts';

const run = promisify(execFile);
const makeTimeoutMs = 120_000;
/** of the result of a test job */
const testModeSeconds = 2;

const bundled = (name: string) => fileURLToPath(new URL(`samples/${name}`, import.meta.url));

/** The path of the demo's source: the bundled clip, unless another one is there already. */
export function demoClip(dataDir: string): Promise<string> {
  return once(join(dataDir, 'samples', 'sample.mp4'), (draft) => copyFile(bundled('sample.mp4'), draft));
}

/** Makes the source of the results of test mode: the beginning of the bundled clip with a mark on it. Returns its path. */
export function markedClip(dataDir: string): Promise<string> {
  return once(join(dataDir, 'samples', 'test-source.mp4'), async (draft) => {
    const inputs = ['-i', bundled('sample.mp4'), '-i', bundled('test-mode.png'), '-filter_complex', 'overlay=W-w-8:8'];
    const codecs = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18', '-pix_fmt', 'yuv420p', '-c:a', 'copy'];
    await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...inputs, '-t', String(testModeSeconds), ...codecs, '-movflags', '+faststart', draft], {
      timeout: makeTimeoutMs,
    });
  });
}

/** Makes the results of test mode: the marked clip, enhanced to the target size. */
export function createTestModeSample(deps: { dataDir: string; media: Media }) {
  const running = new Map<Resolution, Promise<string>>();
  const make = async (resolution: Resolution) => {
    const source = await markedClip(deps.dataDir);
    return once(join(deps.dataDir, 'samples', `test-result-${resolution}.mp4`), async (_draft, folder, name) => {
      const options = { target: resolution };
      await deps.media.enhance({ input: source, outputDir: folder, outputName: name, options, timeoutMs: makeTimeoutMs });
    });
  };
  return (resolution: Resolution): Promise<string> => {
    const made = running.get(resolution) ?? make(resolution);
    running.set(resolution, made);
    made.catch(() => running.delete(resolution));
    return made;
  };
}

/** Makes a file unless it exists. It appears under its name only when it is complete. */
async function once(path: string, make: (draft: string, folder: string, name: string) => Promise<void>): Promise<string> {
  if (existsSync(path)) return path;
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  // A random name: process ids repeat in containers that share the folder.
  const name = `draft-${randomUUID()}-${basename(path)}`;
  const draft = join(folder, name);
  try {
    await make(draft, folder, name);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}
