import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ffmpeg } from './ffmpeg.ts';

const kept = fileURLToPath(new URL('../../build/test-clips/', import.meta.url));

const bundled = fileURLToPath(new URL('../../src/app/samples/sample.mp4', import.meta.url));

/** The bundled clip, or its beginning, with few frames. */
function recipe(size: string, rate: number, seconds: number): string[] {
  const codecs = ['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-c:a', 'copy', '-movflags', '+faststart'];
  return ['-i', bundled, '-t', String(seconds), '-vf', `fps=${rate},scale=${size}`, ...codecs];
}

/** By the names that the service gives them. */
const recipes = {
  demo: { 'sample.mp4': recipe('384x216', 2, 4) },
  test: {
    'test-source.mp4': recipe('384x216', 5, 2),
    'test-result-1080p.mp4': recipe('1920x1080', 5, 2),
    'test-result-4k.mp4': recipe('3840x2160', 5, 2),
  },
} satisfies Record<string, Record<string, string[]>>;

/**
 * Stands for what the service has of its own (src/app/sample-clips.ts): the clip of the demo, as long but of
 * few frames, so that it is soon enhanced, and the results of test mode, which the service would enhance from a clip. The
 * first start (test/service/first-start.test.ts) has the real ones, and the browser's journey the real one of the demo.
 */
export async function makeSamples(dataDir: string, names: (keyof typeof recipes)[]): Promise<void> {
  const samples = join(dataDir, 'samples');
  await mkdir(samples, { recursive: true });
  for (const [name, args] of names.flatMap((each) => Object.entries(recipes[each]))) {
    if (!existsSync(join(samples, name))) await copyFile(await made(args), join(samples, name));
  }
}

/** The clip of a recipe, made once for all runs of the tests. */
async function made(args: string[]): Promise<string> {
  const path = join(kept, `${createHash('sha256').update(JSON.stringify(args)).digest('hex')}.mp4`);
  if (existsSync(path)) return path;
  await mkdir(kept, { recursive: true });
  const draft = join(kept, `draft-${randomUUID()}.mp4`);
  await ffmpeg([...args, draft]);
  await rename(draft, path);
  return path;
}
