/** What the first start writes, by processes with one process id: containers that share the data folder have the same. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { demoClip, testModeSample } from '../../src/app/sample-clips.ts';
import { loadSecrets } from '../../src/app/secrets.ts';
import { ffprobe } from '../helpers/ffmpeg.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'reelmend-first-files-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

it.each(['', '{', '{}', 'null'])('damaged secrets are reported in one sentence: “%s”', async (text) => {
  const path = join(dataDir, 'secrets.json');
  await writeFile(path, text);
  await expect(loadSecrets({ dataDir, keyPepper: undefined, linkSecret: undefined })).rejects.toThrow(new Error(`${path} is damaged; restore it from a backup.`));
});

describe('first starts with one process id', () => {
  it('use the secrets that were kept, all of them', async () => {
    const started = Array.from({ length: 20 }, () => loadSecrets({ dataDir, keyPepper: undefined, linkSecret: undefined }));
    const outcomes = await Promise.allSettled(started);
    const kept: unknown = JSON.parse(await readFile(join(dataDir, 'secrets.json'), 'utf8'));
    expect(outcomes).toEqual(outcomes.map(() => ({ status: 'fulfilled', value: kept })));
    expect(await readdir(dataDir)).toEqual(['secrets.json']);
  });

  it('make the sample, each of them, and leave one whole file', async () => {
    const paths = await Promise.allSettled(Array.from({ length: 8 }, () => demoClip(dataDir)));
    const file = join(dataDir, 'samples', 'sample.mp4');
    expect(paths).toEqual(paths.map(() => ({ status: 'fulfilled', value: file })));
    expect((await ffprobe(file)).streams[0]).toMatchObject({ codec_name: 'h264', nb_read_frames: '100' });
    expect(await readdir(join(dataDir, 'samples'))).toEqual(['sample.mp4']);
  });
});

describe('the bundled results of test mode', () => {
  it.each([['1080p', 1920, 1080], ['4k', 3840, 2160]] as const)('have exactly the target size: %s', async (resolution, width, height) => {
    const { streams } = await ffprobe(await testModeSample(resolution));
    const sound = { codec_name: 'aac' };
    expect(streams).toMatchObject([{ codec_name: 'h264', width, height, nb_read_frames: '50' }, sound]);
  });
});
