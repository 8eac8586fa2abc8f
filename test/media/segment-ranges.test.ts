/** What a segment reads of a long source: its own part, the index and a little more, and makes the same piece of it. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import { createMedia } from '../../src/media/index.ts';
import type { ByteSource, SegmentPlan } from '../../src/media/types.ts';
import { ffmpeg } from '../helpers/ffmpeg.ts';
import { hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';

const folder = temporaryFolder();
const pathOf = (name: string) => join(folder.path, name);
const outputDir = pathOf('out');
const media = await createMedia();
const timeoutMs = hangMs;
const options = { target: 'source', device: 'cpu', model: 'none', threads: 1 } as const;
const seconds = 120;
/** The filters look back 26 frames at 10 frames a second, and decoding begins two key frames of 2 s before those. */
const warmUpS = 2.6 + 4;
/** The last range may reach 4 MiB past the segment; and there are the index, the first frame, and the file's end. */
const besidesBytes = 8 * 1024 * 1024;

beforeAll(async () => {
  mkdirSync(outputDir);
  // Few pixels, many bytes: the encoder fills up to a constant bitrate.
  const filled = 'nal-hrd=cbr:bitrate=5000:vbv-maxrate=5000:vbv-bufsize=5000:filler=1';
  const picture = ['-f', 'lavfi', '-i', `testsrc2=size=160x90:rate=10:duration=${seconds}`, '-f', 'lavfi', '-i', `sine=duration=${seconds}`];
  await ffmpeg([...picture, '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '20', '-x264-params', filled, '-c:a', 'aac', pathOf('end.mp4')]);
});
afterAll(() => folder.remove());

async function counted(path: string): Promise<ByteSource & { bytes: number; close(): Promise<void> }> {
  const file = await open(path);
  const counting = {
    size: (await file.stat()).size,
    bytes: 0,
    close: () => file.close(),
    async read(offset: number, length: number) {
      const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
      counting.bytes += bytesRead;
      return buffer.subarray(0, bytesRead);
    },
  };
  return counting;
}

const enhance = (input: string | ByteSource, outputName: string, { text }: SegmentPlan, index: number, signal?: AbortSignal) =>
  media.enhance({ input, outputDir, outputName, options: { ...options, piece: { plan: text, index } }, timeoutMs, ...(signal === undefined ? {} : { signal }) });

const formats = [
  { name: 'MP4 with its index at the end', file: 'end.mp4', copy: undefined },
  { name: 'MP4 with its index in front', file: 'front.mp4', copy: ['-movflags', '+faststart'] },
  { name: 'Matroska', file: 'clip.mkv', copy: [] },
  { name: 'MPEG-TS', file: 'clip.ts', copy: [] },
  { name: 'AVI', file: 'clip.avi', copy: [] },
];

it.each(formats)('is its own part of a long $name', async ({ file, copy }) => {
  const path = pathOf(file);
  if (copy !== undefined) await ffmpeg(['-i', pathOf('end.mp4'), '-map', '0', '-c', 'copy', ...copy, path]);
  const { size } = await stat(path);
  const plan = await media.planSegments({ inputPath: path, options, timeoutMs });
  expect(plan.segments.length).toBeGreaterThanOrEqual(5);
  for (const index of [0, 3, plan.segments.length - 1]) {
    const { startS, endS, frames } = plan.segments[index]!;
    const source = await counted(path);
    expect((await enhance(source, `${index}.mp4`, plan, index)).frames).toBe(frames);
    await source.close();
    const ownBytes = ((endS - startS + (index === 0 ? 0 : warmUpS)) / seconds) * size;
    expect(source.bytes, `segment ${index}`).toBeLessThan(ownBytes + besidesBytes);
  }
  await enhance(path, 'whole.mp4', plan, 3);
  expect(readFileSync(join(outputDir, '3.mp4')).equals(readFileSync(join(outputDir, 'whole.mp4')))).toBe(true);
  if (copy !== undefined) rmSync(path);
});

it('fails with what the source rejected with, and stops while a read is under way', async () => {
  const plan = await media.planSegments({ inputPath: pathOf('end.mp4'), options, timeoutMs });
  const source = await counted(pathOf('end.mp4'));
  const late = 1024 * 1024;
  const gone = new ReelmendError('processing_failed', 'The stored original is gone.');
  const lost: ByteSource = { size: source.size, read: (offset, length, signal) => (offset > late ? Promise.reject(gone) : source.read(offset, length, signal)) };
  await expect(enhance(lost, 'lost.mp4', plan, 0)).rejects.toBe(gone);
  const abort = new AbortController();
  const reason = new Error('deleted');
  const stuck: ByteSource = {
    size: source.size,
    read: (offset, length, signal) => {
      if (offset <= late) return source.read(offset, length, signal);
      setTimeout(() => abort.abort(reason), 50);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    },
  };
  await expect(enhance(stuck, 'stuck.mp4', plan, 0, abort.signal)).rejects.toBe(reason);
  await source.close();
});
