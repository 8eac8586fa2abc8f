/** Clips that the service makes itself: the demo's source, and the results of test mode. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Resolution } from '../domain/job.ts';
import type { Media } from '../media/types.ts';

const run = promisify(execFile);
const makeTimeoutMs = 120_000;

/** Video sources of 480×270 for the ffmpeg command line: a clock, and one with detail to restore. */
const pictures = {
  test: 'testsrc2=size=480x270:rate=25',
  // A slow zoom into the Mandelbrot set, drawn larger and averaged, so that its edges are smooth.
  demo:
    'mandelbrot=size=960x540:rate=25:maxiter=700:inner=black:start_scale=0.006:end_scale=0.0012:end_pts=250' +
    ':start_x=-0.7436438870371587:start_y=-0.1318259042053119' +
    ',format=gray,scale=480:270:flags=area,format=yuv444p,pseudocolor=preset=magma',
};

/** Makes a compressed clip with sound, `seconds` long, unless it exists. Returns its path. */
export async function sourceClip(dataDir: string, seconds: number, picture: keyof typeof pictures = 'test'): Promise<string> {
  const path = join(dataDir, 'samples', `${picture}-${seconds}s.mp4`);
  return once(path, async (draft) => {
    const sound = `sine=frequency=330:sample_rate=48000:duration=${seconds}`;
    const codecs = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '28', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
    const inputs = ['-f', 'lavfi', '-i', pictures[picture], '-f', 'lavfi', '-i', sound, '-t', String(seconds)];
    await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...inputs, ...codecs, '-movflags', '+faststart', draft], {
      timeout: makeTimeoutMs,
    });
  });
}

/** Makes the results of test mode: the test picture, whose running clock is the watermark, at the target size. */
export function createTestModeSample(deps: { dataDir: string; media: Media }) {
  const running = new Map<Resolution, Promise<string>>();
  const make = async (resolution: Resolution) => {
    const source = await sourceClip(deps.dataDir, 2);
    return once(join(deps.dataDir, 'samples', `test-mode-${resolution}.mp4`), async (_draft, folder, name) => {
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
