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

/**
 * Replaces the demo's bundled clip (src/app/sample-clips.ts) by one with the same length but few frames, which is enhanced
 * quickly. The first start (test/service/first-start.test.ts) and the browser's journey use the real clip.
 */
export async function makeDemoClip(dataDir: string): Promise<void> {
  const samples = join(dataDir, 'samples');
  const path = join(samples, 'sample.mp4');
  if (existsSync(path)) return;
  await mkdir(samples, { recursive: true });
  await copyFile(await made(recipe('384x216', 2, 4)), path);
}

/** Returns the clip of a recipe. Makes it once and keeps it for later test runs. */
async function made(args: string[]): Promise<string> {
  const path = join(kept, `${createHash('sha256').update(JSON.stringify(args)).digest('hex')}.mp4`);
  if (existsSync(path)) return path;
  await mkdir(kept, { recursive: true });
  const draft = join(kept, `draft-${randomUUID()}.mp4`);
  await ffmpeg([...args, draft]);
  await rename(draft, path);
  return path;
}
