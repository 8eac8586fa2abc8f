import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ffmpeg } from './ffmpeg.ts';

const lengthsS = { demo: 4, test: 2 };

/**
 * The clips that the service would make itself (src/app/sample-clips.ts), as long and as large, but of five frames a second:
 * whatever enhances them takes a fifth of the time. The first start
 * (test/service/first-start.test.ts) has the real ones, and the browser's journey the real one of the demo.
 */
export async function makeSamples(dataDir: string, names: (keyof typeof lengthsS)[]): Promise<void> {
  const samples = join(dataDir, 'samples');
  await mkdir(samples, { recursive: true });
  for (const name of names) {
    const seconds = lengthsS[name];
    const path = join(samples, `${name}-${seconds}s.mp4`);
    if (existsSync(path)) continue;
    const sources = [`testsrc2=size=480x270:rate=5:duration=${seconds}`, `sine=frequency=330:duration=${seconds}`];
    const inputs = sources.flatMap((source) => ['-f', 'lavfi', '-i', source]);
    await ffmpeg([...inputs, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-movflags', '+faststart', path]);
  }
}
