/** Media as the rest of the service sees it: real children, real clips. */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import { createMedia } from '../../src/media/index.ts';
import type { ByteSource, EnhanceRequest, ProbeResult, Progress } from '../../src/media/types.ts';
import { ffmpeg, ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive, isZombie, processTree } from './processes.ts';

const folder = temporaryFolder();
const pathOf = (name: string) => join(folder.path, name);
const outputDir = pathOf('out');
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast'];
const pids: number[] = [];
const media = await createMedia({ onChild: (pid) => pids.push(pid) });
const timeoutMs = hangMs;

beforeAll(async () => {
  mkdirSync(outputDir);
  await makeClip(pathOf('clip.mp4'), { seconds: 2, args: x264 });
  await makeClip(pathOf('long.mp4'), { seconds: 8, video: 'testsrc2=size=640x360:rate=30', args: x264 });
  // 12 MB of picture with the index behind it.
  const noise = ['-f', 'lavfi', '-i', 'nullsrc=s=640x360:r=30,geq=random(1)*255:128:128'];
  await ffmpeg([...noise, '-t', '4', ...x264, '-b:v', '24M', '-minrate', '24M', pathOf('tail.mp4')]);
  await ffmpeg(['-f', 'lavfi', '-i', 'sine=duration=1', pathOf('sound.mp4')]);
  writeFileSync(pathOf('text.mp4'), 'This is no video.\n'.repeat(1000));
  writeFileSync(pathOf('playlist.mp4'), '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n#EXT-X-ENDLIST\n');
  writeFileSync(pathOf('empty.mp4'), '');
  copyFileSync(pathOf('clip.mp4'), pathOf('cut.mp4'));
  truncateSync(pathOf('cut.mp4'), Math.floor(readFileSync(pathOf('clip.mp4')).length / 2));
});

afterAll(() => folder.remove());

afterEach(() => {
  expect(pids.filter((pid) => isAlive(pid) || isZombie(pid))).toEqual([]);
  expect(readdirSync(outputDir).filter((name) => name.startsWith('.'))).toEqual([]);
  pids.length = 0;
});

function remote(name: string, at = folder.path): ByteSource & { ranges: [number, number][]; close(): void } {
  const descriptor = openSync(join(at, name), 'r');
  const ranges: [number, number][] = [];
  return {
    size: fstatSync(descriptor).size,
    ranges,
    close: () => closeSync(descriptor),
    async read(offset, length) {
      ranges.push([offset, length]);
      const buffer = new Uint8Array(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
    },
  };
}

describe('a file that only its owner may read', () => {
  const options = { target: 'source', device: 'cpu', model: 'none' } as const;
  const calls: [string, (inputPath: string) => Promise<unknown>][] = [
    ['probe', (path) => media.probe({ source: { path }, timeoutMs })],
    ['plan', (inputPath) => media.plan({ inputPath, options, timeoutMs })],
    ['enhance', (inputPath) => media.enhance({ input: inputPath, outputDir, outputName: 'own.mp4', options, timeoutMs })],
  ];

  it.each(
    calls.flatMap(([name, call]) => [0o700, 0o755].map((folderMode) => ({ name, call, folderMode }))),
  )('is read by $name and keeps its mode, in a folder of mode $folderMode', async ({ call, folderMode }) => {
    const own = pathOf('own');
    mkdirSync(own, { mode: folderMode });
    const path = join(own, 'own.mp4');
    copyFileSync(pathOf('clip.mp4'), path);
    chmodSync(path, 0o600);
    try {
      await call(path);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    } finally {
      rmSync(own, { recursive: true });
    }
  });
});

describe('probe', () => {
  it('measures a file', async () => {
    const result = await media.probe({ source: { path: pathOf('clip.mp4') }, walkPackets: true, timeoutMs });
    expect(result).toMatchObject({ videoCodec: 'h264', width: 320, height: 180, frameRate: 25, durationIsExact: true });
    expect(result.durationS).toBeCloseTo(2, 2);
    expect(result.audio).toMatchObject([{ codec: 'aac' }]);
  });

  it('measures a remote video by a few ranges, its index at the end', async () => {
    const source = remote('tail.mp4');
    const result = await media.probe({ source, timeoutMs });
    source.close();
    expect(result).toMatchObject({ width: 640, height: 360, sizeBytes: source.size });
    expect(result.durationS).toBeCloseTo(4, 1);
    expect(source.size).toBeGreaterThan(8_000_000);
    expect(source.ranges.length).toBeLessThanOrEqual(6);
    expect(source.ranges.reduce((sum, [, length]) => sum + length, 0)).toBeLessThan(2_000_000);
  });

  it.each([
    ['text named .mp4', 'text.mp4'],
    ['a playlist named .mp4', 'playlist.mp4'],
    ['sound alone', 'sound.mp4'],
    ['a file that is cut', 'cut.mp4'],
    ['an empty file', 'empty.mp4'],
  ])('refuses %s, as a file and from afar', async (_, name) => {
    const refusal = { code: 'unreadable_video', message: expect.stringMatching(/^[A-Z][^/]*\.$/) };
    await expect(media.probe({ source: { path: pathOf(name) }, timeoutMs })).rejects.toMatchObject(refusal);
    const source = remote(name);
    await expect(media.probe({ source, timeoutMs })).rejects.toMatchObject(refusal);
    source.close();
  });

  it.each([
    ['a file that is not there', 'nowhere.mp4'],
    ['a folder', '.'],
  ])('refuses %s without naming its path', async (_, name) => {
    const error = await media.probe({ source: { path: pathOf(name) }, timeoutMs }).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: 'unreadable_video' });
    expect((error as Error).message).not.toContain(folder.path);
  });

  it('reports a video that is too long', async () => {
    const request = { source: { path: pathOf('clip.mp4') }, limits: { maxDurationS: 1.5 }, timeoutMs };
    await expect(media.probe(request)).rejects.toMatchObject({ code: 'video_too_long' });
    const few = { ...request, limits: { maxPixels: 1000 } };
    await expect(media.probe(few)).rejects.toMatchObject({ code: 'unreadable_video' });
  });

  it('rejects with what the byte source rejected with', async () => {
    const error = new ReelmendError('video_unreachable', 'The video cannot be reached.');
    const source = { size: 1_000_000, read: () => Promise.reject(error) };
    await expect(media.probe({ source, timeoutMs })).rejects.toBe(error);
  });

  it('rejects with the reason of the signal, and aborts the read of the byte source', async () => {
    const abort = new AbortController();
    const reason = new Error('the client went away');
    let isAborted = false;
    const source: ByteSource = {
      size: 1_000_000,
      read: (_offset, _length, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            isAborted = true;
            reject(signal.reason);
          });
          abort.abort(reason);
        }),
    };
    await expect(media.probe({ source, timeoutMs, signal: abort.signal })).rejects.toBe(reason);
    expect(isAborted).toBe(true);
    await expect(media.probe({ source, timeoutMs, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('ends at its time limit when the source never answers', async () => {
    const source = { size: 1_000_000, read: () => new Promise<Uint8Array>(() => {}) };
    await expect(media.probe({ source, timeoutMs: 800 })).rejects.toMatchObject({ code: 'processing_timeout' });
  });

  it('ends at its time limit also while it waits for a place', async () => {
    const one = await createMedia({ maxProbes: 1, onChild: (pid) => pids.push(pid) });
    pids.length = 0;
    const stuck = { size: 1_000_000, read: () => new Promise<Uint8Array>(() => {}) };
    const enough = new AbortController();
    const first = one.probe({ source: stuck, timeoutMs, signal: enough.signal }).catch(() => 'aborted');
    await eventually(() => pids.length === 1);
    await expect(one.probe({ source: stuck, timeoutMs: 500 })).rejects.toMatchObject({ code: 'processing_timeout' });
    enough.abort();
    expect(await first).toBe('aborted');
    expect(pids).toHaveLength(1);
    await expect(one.probe({ source: { path: pathOf('clip.mp4') }, timeoutMs })).resolves.toMatchObject({ width: 320 });
  });

  it('runs several at once', async () => {
    const names = ['clip.mp4', 'long.mp4', 'tail.mp4', 'clip.mp4'];
    const results = await Promise.all(names.map((name) => media.probe({ source: { path: pathOf(name) }, timeoutMs })));
    expect(results.map((result) => Math.round(result.durationS))).toEqual([2, 8, 4, 2]);
  });
});

function request(changes: Partial<EnhanceRequest> = {}): EnhanceRequest {
  const options = { target: '1080p' as const, encoder: { preset: 'ultrafast' } };
  return { input: pathOf('clip.mp4'), outputDir, outputName: 'done.mp4', options, timeoutMs, ...changes };
}

/** Work that takes many seconds: its interruption is what is tested. */
const longWork = { input: '', options: { target: '4k' as const, encoder: { preset: 'medium' } } };
const long = (changes: Partial<EnhanceRequest> = {}) =>
  request({ ...longWork, input: pathOf('long.mp4'), outputName: 'never.mp4', ...changes });

describe('enhance', () => {
  it('writes the file that it reports', async () => {
    const seen: Progress[] = [];
    const result = await media.enhance(request({ onProgress: (progress) => seen.push(progress) }));
    const { streams, format } = await ffprobe(join(outputDir, 'done.mp4'));
    const video = streams.find((stream) => stream.codec_type === 'video');
    expect(video).toMatchObject({ codec_name: 'h264', width: result.width, height: result.height });
    expect([result.width, result.height]).toEqual([1920, 1080]);
    expect(Number(video?.nb_read_frames)).toBe(result.frames);
    expect(result.frames).toBe(50);
    expect(result.durationS).toBeCloseTo(Number(video?.duration), 2);
    expect(result.sizeBytes).toBe(Number(format.size));
    expect(streams.some((stream) => stream.codec_type === 'audio')).toBe(true);
    expect(result.source).toMatchObject({ width: 320, height: 180 });
    const fractions = seen.map((progress) => progress.fraction);
    expect(fractions.length).toBeGreaterThan(0);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions.every((fraction) => fraction >= 0 && fraction <= 1)).toBe(true);
  });

  it.each(['text.mp4', 'sound.mp4', 'cut.mp4'])('refuses %s and leaves nothing', async (name) => {
    const refused = media.enhance(request({ input: pathOf(name), outputName: 'never.mp4' }));
    await expect(refused).rejects.toMatchObject({ code: 'unreadable_video' });
    expect(readdirSync(outputDir)).not.toContain('never.mp4');
  });

  it.each(['../escape.mp4', 'a/b.mp4', '', '..'])('takes no output name that is a path: %j', async (outputName) => {
    await expect(media.enhance(request({ outputName }))).rejects.toThrow(TypeError);
  });

  it('stops within 300 ms of an abort, or as soon as it has begun, and leaves nothing', async () => {
    const reason = new Error('deleted');
    // The best of several: the machine may be busy with other tests.
    let isSoon = false;
    for (let attempt = 0; attempt < 20 && !isSoon; attempt += 1) {
      const abort = new AbortController();
      const started = performance.now();
      let began = 0;
      const onProgress = () => {
        began ||= performance.now();
        abort.abort(reason);
      };
      await expect(media.enhance(long({ signal: abort.signal, onProgress }))).rejects.toBe(reason);
      isSoon = performance.now() - began < Math.max(300, began - started);
      expect(readdirSync(outputDir)).not.toContain('never.mp4');
    }
    expect(isSoon).toBe(true);
  });

  it('ends at its time limit and leaves nothing', async () => {
    await expect(media.enhance(long({ timeoutMs: 1000 }))).rejects.toMatchObject({ code: 'processing_timeout' });
    expect(readdirSync(outputDir)).not.toContain('never.mp4');
  });

  it.each([
    ['SIGSEGV', 'processing_failed'],
    ['SIGABRT', 'processing_failed'],
    // As the kernel does when memory runs out: the video need not be the reason.
    ['SIGKILL', 'service_unavailable'],
    ['SIGTERM', 'service_unavailable'],
  ] as const)('survives a child that dies of %s', async (signal, code) => {
    let done = false;
    const work = media.enhance(long({ onProgress: () => {
      if (!done) process.kill(processTree(pids[0]!).at(-1)!, signal);
      done = true;
    } }));
    await expect(work).rejects.toMatchObject({ code });
    expect(readdirSync(outputDir)).not.toContain('never.mp4');
  });

  it('ends a child that needs too much memory', async () => {
    const small = await createMedia({ memoryLimitMb: 96, onChild: (pid) => pids.push(pid) });
    await expect(small.enhance(long())).rejects.toMatchObject({
      code: 'processing_failed',
      message: expect.stringContaining('memory'),
    });
  });

  it('ends with an error when the output grows past its limit', async () => {
    const small = await createMedia({ outputLimitMb: 1, onChild: (pid) => pids.push(pid) });
    const work = small.enhance(request({ input: pathOf('tail.mp4'), outputName: 'never.mp4' }));
    await expect(work).rejects.toMatchObject({ code: 'processing_failed', message: expect.stringContaining('larger') as string });
    expect(readdirSync(outputDir)).not.toContain('never.mp4');
  });

  it('rejects with what the progress callback throws', async () => {
    const thrown = new Error('no lease');
    const onProgress = () => {
      throw thrown;
    };
    await expect(media.enhance(long({ onProgress }))).rejects.toBe(thrown);
  });
});

const samples = fileURLToPath(new URL('../../../shared/media/', import.meta.url));
const sampleNames = existsSync(samples) ? readdirSync(samples).filter((name) => !name.endsWith('.tsv')) : [];
if (sampleNames.length === 0) console.warn(`no sample files at ${samples}: their tests are skipped`);

describe.runIf(isLongRun && sampleNames.length > 0)('cameras\' and other real files', () => {
  it('are measured alike from afar, by few ranges, or refused alike', async () => {
    const queue = [...sampleNames];
    const different: object[] = [];
    const facts = (result: ProbeResult) => [result.videoCodec, result.width, result.height, result.audio.length];
    const refusal = (error: unknown) => [(error as ReelmendError).code, (error as ReelmendError).message];
    const worker = async () => {
      for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
        const source = remote(name, samples);
        const local = await media.probe({ source: { path: join(samples, name) }, timeoutMs }).then(facts, refusal);
        const far = await media.probe({ source, timeoutMs }).then(facts, refusal);
        source.close();
        const bytes = source.ranges.reduce((sum, [, length]) => sum + length, 0);
        const few = source.ranges.length <= 8 && bytes <= 4_000_000;
        if (JSON.stringify(local) !== JSON.stringify(far) || !few || local.some((fact) => fact === 'processing_failed' || fact === 'service_unavailable')) {
          different.push({ name, local, far, ranges: source.ranges.length, bytes });
        }
      }
    };
    await Promise.all([worker(), worker()]);
    expect(different).toEqual([]);
  });
});

describe('a media without isolation', () => {
  it('does the same work', async () => {
    const path = process.env.PATH;
    process.env.PATH = folder.path;
    const plain = await createMedia({ onChild: (pid) => pids.push(pid) }).finally(() => (process.env.PATH = path));
    expect(plain.isolation.kind).toBe('none');
    const probed = await plain.probe({ source: { path: pathOf('clip.mp4') }, timeoutMs });
    expect(probed.width).toBe(320);
    const result = await plain.enhance(request({ outputName: 'plain.mp4' }));
    expect(readFileSync(join(outputDir, 'plain.mp4'))).toHaveLength(result.sizeBytes);
    await eventually(() => !pids.some(isAlive), 'children are gone');
  });
});

describe('devices', () => {
  it('are listed through a child', async () => {
    const [first] = await media.devices();
    expect(first).toMatchObject({ id: 'cpu', usable: true });
  });
});
