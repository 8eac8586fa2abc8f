/** Posters and thumbnails, taken by a real child of real videos; ffmpeg looks at them. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMedia } from '../../src/media/index.ts';
import { ffmpeg, ffprobe } from '../helpers/ffmpeg.ts';
import { hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
const pathOf = (name: string) => join(folder.path, name);
const media = await createMedia({});
const timeoutMs = hangMs;
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '50'];
// As results of the engine: BT.709, limited range.
const bt709 = ['-vf', 'scale=out_color_matrix=bt709:out_range=tv,format=yuv420p', '-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'];

beforeAll(async () => {
  // Two seconds of black, because nobody wants a black poster, then six of red, then two of a picture with detail.
  const size = 'size=1920x1080:rate=25';
  const inputs = [`color=black:${size}:d=2`, `color=red:${size}:d=6`, `testsrc2=${size}:d=2`].flatMap((source) => ['-f', 'lavfi', '-i', source]);
  await ffmpeg([...inputs, '-filter_complex', '[0][1][2]concat=n=3,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p', ...bt709.slice(2), ...x264, pathOf('film.mp4')]);
  await ffmpeg(['-f', 'lavfi', '-i', 'testsrc2=size=1080x1920:rate=25:d=0.2', ...bt709, ...x264, pathOf('short.mp4')]);
  await ffmpeg(['-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=25:d=1', ...bt709, ...x264, pathOf('small.mp4')]);
  writeFileSync(pathOf('text.mp4'), 'This is no video.\n'.repeat(100));
});
afterAll(() => folder.remove());

async function take(name: string, wanted: { poster?: boolean; thumbnails?: number }) {
  const outputDir = pathOf(`${name}-${wanted.poster ?? false}-${wanted.thumbnails ?? 0}`);
  mkdirSync(outputDir);
  const pictures = await media.takePictures({ videoPath: pathOf(name), outputDir, poster: false, thumbnails: 0, timeoutMs, ...wanted });
  expect(readdirSync(outputDir).toSorted()).toEqual(pictures.map(({ file }) => file).toSorted());
  for (const { file, width, height, sizeBytes } of pictures) {
    const { streams } = await ffprobe(join(outputDir, file));
    expect(streams).toMatchObject([{ codec_name: 'mjpeg', width, height, pix_fmt: 'yuvj420p' }]);
    expect(statSync(join(outputDir, file)).size).toBe(sizeBytes);
  }
  return pictures.map((picture) => ({ ...picture, path: join(outputDir, picture.file) }));
}

/** mean red, green and blue of a picture */
async function meanColor(path: string): Promise<number[]> {
  const args = ['-v', 'error', '-i', path, '-vf', 'scale=1:1:flags=area', '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-'];
  const { stdout } = await promisify(execFile)('ffmpeg', args, { encoding: 'buffer' });
  return [...stdout];
}

describe('pictures of a video', () => {
  it('are spread over it, show its frames in its colours, and fit into 320 pixels', async () => {
    const thumbnails = await take('film.mp4', { thumbnails: 5 });
    expect(thumbnails.map(({ file }) => file)).toEqual([1, 2, 3, 4, 5].map((number) => `thumbnail-${number}.jpg`));
    expect(thumbnails.map(({ timeS }) => timeS)).toEqual([1, 3, 5, 7, 9].map((time) => expect.closeTo(time, 1) as number));
    for (const { width, height, isPoster } of thumbnails) expect({ width, height, isPoster }).toEqual({ width: 320, height: 180, isPoster: false });
    const colors = await Promise.all(thumbnails.map(({ path }) => meanColor(path)));
    for (const [index, expected] of [[0, [0, 0, 0]], [1, [255, 0, 0]], [3, [255, 0, 0]]] as const) {
      for (const [channel, value] of expected.entries()) expect(Math.abs(colors[index]![channel]! - value), `${index}`).toBeLessThan(6);
    }
  });

  it('have as their poster the frame that shows the most', async () => {
    const [poster] = await take('film.mp4', { poster: true });
    expect(poster).toMatchObject({ file: 'poster.jpg', isPoster: true, width: 1280, height: 720 });
    expect(poster!.timeS).toBeCloseTo(9, 1);
  });

  it('are had of an upright video of a few frames, too, and are never enlarged', async () => {
    const [poster, ...thumbnails] = await take('short.mp4', { poster: true, thumbnails: 3 });
    expect(poster).toMatchObject({ width: 720, height: 1280 });
    expect(thumbnails.map(({ width, height }) => [width, height])).toEqual(Array.from({ length: 3 }, () => [180, 320]));
    for (const { width, height } of await take('small.mp4', { poster: true, thumbnails: 1 })) expect([width, height]).toEqual([160, 90]);
  });

  it('are refused of what is no video, and leave nothing behind', async () => {
    mkdirSync(pathOf('none'));
    const request = { videoPath: pathOf('text.mp4'), outputDir: pathOf('none'), poster: true, thumbnails: 1, timeoutMs };
    await expect(media.takePictures(request)).rejects.toMatchObject({ code: 'unreadable_video' });
    expect(readdirSync(pathOf('none'))).toEqual([]);
  });
});
