/** One video in segments, through real children: planned, made apart, joined. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSegmentMismatch } from '../../src/media/failures.ts';
import { createMedia } from '../../src/media/index.ts';
import type { SegmentPlan } from '../../src/media/types.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
const pathOf = (name: string) => join(folder.path, name);
const inputPath = pathOf('clip.mp4');
const piecesDir = pathOf('pieces');
const outputDir = pathOf('out');
const options = { target: 'source', device: 'cpu', model: 'none', denoise: 0.3 } as const;
const lengths = { shortestS: 1.6, wantedS: 2, longestS: 4 };
const timeoutMs = hangMs;
const media = await createMedia();
let planned: SegmentPlan;

beforeAll(async () => {
  for (const path of [piecesDir, outputDir]) mkdirSync(path);
  await makeClip(inputPath, { seconds: 7, video: 'testsrc2=size=160x90:rate=25', args: ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25'] });
  planned = await media.planSegments({ inputPath, options, lengths, timeoutMs });
});
afterAll(() => folder.remove());

const piece = (index: number) => ({ ...options, piece: { plan: planned.text, index } });
const makePiece = (index: number, outputName = `${index}.mp4`) =>
  media.enhance({ input: inputPath, outputDir: piecesDir, outputName, options: piece(index), timeoutMs });
const joining = { sourcePath: inputPath, piecesDir, outputDir, outputName: 'joined.mp4', timeoutMs };

describe('segments', () => {
  it('are planned with what is decided for the whole video', () => {
    expect(planned.segments.length).toBeGreaterThanOrEqual(3);
    expect(planned.segments[0]!.startS).toBe(0);
    expect(planned.segments.reduce((sum, { frames }) => sum + frames, 0)).toBe(175);
    expect(planned.plan.stages.find(({ name }) => name === 'denoise')?.strength).toBeCloseTo(0.3);
    expect(planned.whyWhole).toBe('');
  });

  it('are for the engine that planned them', () => {
    expect(media.engine).toMatch(/^reelmend engine \S+ \([0-9a-f]{32}\), FFmpeg /);
    expect(planned.text.split('\n')).toContain(`engine ${media.engine}`);
  });

  it('are none for a short video, which says why', async () => {
    const { segments, text, whyWhole } = await media.planSegments({ inputPath, options, timeoutMs });
    expect([segments.length, text, whyWhole]).toEqual([1, '', 'it is short']);
  });

  it('become pieces that are joined to one video with the sound of the source', async () => {
    const numbers = planned.segments.map((_, index) => index);
    for (const index of numbers.toReversed()) expect((await makePiece(index)).frames).toBe(planned.segments[index]!.frames);
    const before = readdirSync(piecesDir);
    const result = await media.join({ ...joining, plan: planned.text, pieces: numbers.map((index) => `${index}.mp4`) });
    expect(result).toMatchObject({ frames: 175, width: 160, height: 90, durationS: 7 });
    expect(readFileSync(pathOf('out/joined.mp4')).length).toBe(result.sizeBytes);
    const { streams } = await ffprobe(pathOf('out/joined.mp4'));
    expect(streams.map(({ codec_type }) => codec_type).sort()).toEqual(['audio', 'video']);
    expect(readdirSync(piecesDir)).toEqual(before);
    expect(readdirSync(outputDir)).toEqual(['joined.mp4']);
  });

  it('that are not the planned ones are told apart from other failures', async () => {
    const pieces = planned.segments.map((_, index) => `${index}.mp4`).toReversed();
    const failure = await media.join({ ...joining, outputName: 'x.mp4', plan: planned.text, pieces }).catch((error: unknown) => error);
    expect(isSegmentMismatch(failure)).toBe(true);
    expect(isSegmentMismatch(new Error('another'))).toBe(false);
    const other = { ...options, target: '1080p' as const, piece: { plan: planned.text, index: 0 } };
    const refused = await media.enhance({ input: inputPath, outputDir, outputName: 'y.mp4', options: other, timeoutMs }).catch((error: unknown) => error);
    expect(isSegmentMismatch(refused)).toBe(true);
    expect(readdirSync(outputDir)).toEqual(['joined.mp4']);
  });

  it('that another build of the engine planned are refused before any work', async () => {
    const own = /^engine reelmend engine \S+ \(([0-9a-f]{32})\),/m.exec(planned.text);
    expect(own, planned.text.slice(0, 200)).not.toBeNull();
    const plan = planned.text.replace(own![1]!, 'f'.repeat(32));
    const refused = await media.enhance({ input: inputPath, outputDir, outputName: 'y.mp4', options: { ...options, piece: { plan, index: 0 } }, timeoutMs }).catch((error: unknown) => error);
    expect(isSegmentMismatch(refused)).toBe(true);
    const pieces = planned.segments.map((_, index) => `${index}.mp4`);
    const unjoined = await media.join({ ...joining, outputName: 'x.mp4', plan, pieces }).catch((error: unknown) => error);
    expect(isSegmentMismatch(unjoined)).toBe(true);
  });

  it('have names without folders', () => {
    return expect(media.join({ ...joining, plan: planned.text, pieces: ['../a.mp4'] })).rejects.toThrow(/bare file name/);
  });
});
