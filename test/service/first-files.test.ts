/** What the first start writes, by processes with one process id: containers that share the data folder have the same. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { demoClip, markedClip } from '../../src/app/sample-clips.ts';
import { loadSecrets } from '../../src/app/secrets.ts';
import { ffprobe } from '../helpers/ffmpeg.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'reelmend-first-files-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

describe('first starts with one process id', () => {
  it('17.31: use the secrets that were kept, all of them', async () => {
    const started = Array.from({ length: 20 }, () => loadSecrets({ dataDir, keyPepper: undefined, linkSecret: undefined }));
    const outcomes = await Promise.allSettled(started);
    const kept: unknown = JSON.parse(await readFile(join(dataDir, 'secrets.json'), 'utf8'));
    expect(outcomes).toEqual(outcomes.map(() => ({ status: 'fulfilled', value: kept })));
    expect(await readdir(dataDir)).toEqual(['secrets.json']);
  });

  it('17.31: make the samples, each of them, and leave one whole file of each', async () => {
    const paths = await Promise.allSettled(Array.from({ length: 8 }, (_, number) => (number % 2 === 0 ? demoClip(dataDir) : markedClip(dataDir))));
    const files = ['sample.mp4', 'test-source.mp4'].map((name) => join(dataDir, 'samples', name));
    expect(paths).toEqual(paths.map((_, number) => ({ status: 'fulfilled', value: files[number % 2] })));
    const streams = await Promise.all(files.map(async (path) => (await ffprobe(path)).streams[0]));
    expect(streams).toMatchObject([{ codec_name: 'h264', nb_read_frames: '100' }, { codec_name: 'h264', nb_read_frames: '50' }]);
    expect(await readdir(join(dataDir, 'samples'))).toEqual(['sample.mp4', 'test-source.mp4']);
  });
});
