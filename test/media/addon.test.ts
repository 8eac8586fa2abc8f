/** The addon itself, loaded into the test's own process: arguments, results, errors, cancellation, leaks. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readSync, fstatSync, closeSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, vi } from 'vitest';
import type { ByteSource, EnhanceOptions, EnhanceResult, ProbeResult } from '../../native/index.d.ts';
import { addonFile, loadAddon, projectRoot } from '../../src/media/addon.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { collectGarbage } from '../helpers/garbage.ts';
import { temporaryFolder } from './folder.ts';
import { hangMs } from '../helpers/wait.ts';

const addon = loadAddon();
const folder = temporaryFolder();
const clip = join(folder.path, 'clip.mp4');
const output = join(folder.path, 'out.mp4');

beforeAll(() => makeClip(clip, { seconds: 2, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] }));
afterAll(() => folder.remove());

/** A file as a byte source; counts what is requested. */
function fileSource(path: string): ByteSource & { reads: number; bytes: number; close(): void } {
  const descriptor = openSync(path, 'r');
  const source = {
    size: fstatSync(descriptor).size,
    reads: 0,
    bytes: 0,
    close: () => closeSync(descriptor),
    async read(offset: number, length: number) {
      const buffer = new Uint8Array(length);
      const count = readSync(descriptor, buffer, 0, length, offset);
      source.reads += 1;
      source.bytes += count;
      return buffer.subarray(0, count);
    },
  };
  return source;
}

const rejection = (promise: Promise<unknown>) => promise.then(() => undefined, (error: unknown) => error as Error);

it('is refused when it was built from older sources', () => {
  const old = join(folder.path, 'old.cjs');
  writeFileSync(old, 'module.exports = { probe() {}, enhance() {}, version() {} };');
  expect(() => loadAddon(old)).toThrow(/older than this program .*limitProcessorTime.*run scripts\/build-native\.$/);
});

describe('wrong arguments', () => {
  const at4k = { target: '4k' };
  const calls: [string, () => unknown, string][] = [
    ['enhance', () => addon.enhance('a', 'b', { ...at4k, piece: {} } as never), 'a text for piece.plan but received undefined'],
    ['planSegments', () => addon.planSegments('a', { ...at4k, lengths: { wantedS: 0 } } as never), 'for lengths.wantedS but received 0'],
    ['joinSegments', () => addon.joinSegments('a', 'b', 'c' as never, 'd'), "an array for pieces but received 'c'"],
    ['joinSegments', () => addon.joinSegments('a', 'b', ['c', ''], 'd'), "a path for pieces[1] but received ''"],
    ['probe', () => addon.probe(undefined as never), 'a path or a byte source for source but received undefined'],
    ['probe', () => addon.probe(''), "a path for source but received ''"],
    ['probe', () => addon.probe('a\0b'), 'a path for source'],
    ['probe', () => addon.probe({ size: 3 } as never), 'a function for source.read but received undefined'],
    ['probe', () => addon.probe({ size: -1, read } as never), 'at least 0 for source.size but received -1'],
    ['probe', () => addon.probe({ size: 1.5, read } as never), 'a whole number of at least 0 for source.size'],
    ['probe', () => addon.probe('a', 4 as never), 'an object for options but received 4'],
    ['probe', () => addon.probe('a', { walkPackets: 1 } as never), 'true or false for walkPackets but received 1'],
    ['probe', () => addon.probe('a', { signal: {} } as never), 'an AbortSignal for signal but received an object'],
    ['probe', () => addon.probe('a', { signal: { addEventListener: () => {} } } as never), 'an AbortSignal for signal but received an object'],
    ['probe', () => addon.probe('a', { limits: { maxPixels: 0 } }), 'at least 1 for limits.maxPixels but received 0'],
    ['probe', () => addon.probe('a', { limits: { maxDurationS: Number.NaN } }), 'limits.maxDurationS but received NaN'],
    ['probe', () => addon.probe('a', { limits: { maxFrameRate: -1 } }), 'limits.maxFrameRate but received -1'],
    ['enhance', () => addon.enhance(1 as never, 'b', at4k as never), 'a path for source but received 1'],
    ['enhance', () => addon.enhance('a', null as never, at4k as never), 'a path for outputPath but received null'],
    ['enhance', () => addon.enhance('a', 'b', undefined as never), "'source' for target but received undefined"],
    ['enhance', () => addon.enhance('a', 'b', { target: '8k' as never }), "for target but received '8k'"],
    ['enhance', () => addon.enhance('a', 'b', { target: `x${'ä'.repeat(30)}` as never }), `for target but received 'x${'ä'.repeat(19)}…'`],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', denoise: 2 }), 'in 0…1 for denoise but received 2'],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', sharpen: 'on' as never }), "sharpen but received 'on'"],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', threads: 1.5 }), 'for threads but received 1.5'],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', model: '' }), "for model but received ''"],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', encoder: { crf: 60 } }), 'in 1…51 for encoder.crf'],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', encoder: { crf: 0 } }), 'in 1…51 for encoder.crf but received 0'],
    ['enhance', () => addon.enhance('a', 'b', { target: '4k', onProgress: [] as never }), 'received an array'],
    [
      'enhance',
      () => addon.enhance('a', 'b', { target: '4k', segment: { startS: 2, endS: 1 } }),
      'a number above segment.startS for segment.endS but received 1',
    ],
  ];
  const read = () => {};

  it.each(calls)('%s throws a TypeError at once: %#', (_, call, text) => {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(/^Expected .+ for .+ but received .+$/);
    expect(call).toThrow(text);
  });
});

describe('probe', () => {
  const facts = { videoCodec: 'h264', width: 320, height: 180, codedWidth: 320, rotationDegrees: 0, frameRate: 25 };

  it('measures a file', async () => {
    const result = await addon.probe(clip, { walkPackets: true });
    expectTypeOf(result).toEqualTypeOf<ProbeResult>();
    expect(result).toMatchObject({ ...facts, durationIsExact: true, sizeBytes: readFileSync(clip).length });
    expect(result.durationS).toBeCloseTo(2, 2);
    expect(result.audio).toEqual([{ codec: 'aac', channels: 1, sampleRateHz: 48000, language: '' }]);
  });

  it('decodes all frames if it is asked to, and refuses a video if one is damaged', async () => {
    expect((await addon.probe(clip)).decodedFrames).toBeUndefined();
    const frames = 50;
    for (const decodingThreads of [1, 4]) expect((await addon.probe(clip, { decodingThreads })).decodedFrames).toBe(frames);
    const bytes = readFileSync(clip);
    const packets = execFileSync('ffprobe', ['-v', 'error', '-select_streams', 'v', '-show_entries', 'packet=size,pos', '-of', 'csv=p=0', clip], { encoding: 'utf8' });
    const [size, at] = packets.trim().split('\n')[25]!.split(',').map(Number);
    for (let byte = at! + 8; byte < at! + size!; byte++) bytes[byte]! ^= 0x55;
    const damaged = join(folder.path, 'damaged.mp4');
    writeFileSync(damaged, bytes);
    expect((await addon.probe(damaged, { walkPackets: true })).durationS).toBeCloseTo(2, 2);
    await expect(addon.probe(damaged, { decodingThreads: 1 })).rejects.toMatchObject({ code: 'unreadable_video', message: 'Frames of the video are damaged.' });
  });

  it('measures a byte source alike', async () => {
    const source = fileSource(clip);
    await expect(addon.probe(source)).resolves.toMatchObject({ ...facts, sizeBytes: source.size });
    expect(source.reads).toBeGreaterThan(0);
    source.close();
  });

  it('takes a read that answers without a promise, and with little at a time', async () => {
    const bytes = readFileSync(clip);
    const source = { size: bytes.length, read: (at: number, n: number) => bytes.subarray(at, at + Math.min(n, 1000)) };
    await expect(addon.probe(source as unknown as ByteSource)).resolves.toMatchObject(facts);
  });

  it('carries the code, a sentence and the stack of the call', async () => {
    async function theCaller() {
      await addon.probe(new URL(import.meta.url).pathname);
    }
    const error = await rejection(theCaller());
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: 'unreadable_video' });
    expect(error?.message).toMatch(/^[A-Z].*\.$/);
    expect(error?.stack?.startsWith(`Error: ${error.message}\n`)).toBe(true);
    expect(error?.stack).toContain('theCaller');
  });

  it.each([
    ['an Error', new Error('the network is gone')],
    ['a string', 'the network is gone'],
    ['undefined', undefined],
  ])('rejects with `io` and the original rejection as its cause: %s', async (_, thrown) => {
    const error = await rejection(addon.probe({ size: 1000, read: () => Promise.reject(thrown) }));
    expect(error).toMatchObject({ code: 'io' });
    expect(error).toHaveProperty('cause');
    expect(error?.cause).toBe(thrown);
  });

  it.each([
    ['throws', () => { throw new Error('at once'); }, /at once/],
    ['gives too much', (_: number, length: number) => new Uint8Array(length + 1), /^Expected a Uint8Array of at most/],
    ['gives no bytes', () => 'text', /^Expected a Uint8Array .* but received 'text'/],
  ])('rejects with `io` when read %s', async (_, read, cause) => {
    const error = await rejection(addon.probe({ size: 1000, read } as unknown as ByteSource));
    expect(error).toMatchObject({ code: 'io' });
    expect((error as { cause: Error }).cause.message).toMatch(cause);
  });

  it('stops waiting for a read when it is aborted', async () => {
    const abort = new AbortController();
    const requested = Promise.withResolvers<void>();
    const read = () => new Promise<Uint8Array>(() => requested.resolve());
    const probing = addon.probe({ size: 1000, read }, { signal: abort.signal });
    await requested.promise;
    abort.abort(new Error('enough'));
    expect(await rejection(probing)).toMatchObject({ code: 'cancelled', cause: { message: 'enough' } });
  });

  it.each([
    ['maxDurationS', { maxDurationS: 1 }],
    ['maxPixels', { maxPixels: 320 * 180 - 1 }],
    ['maxStreams', { maxStreams: 1 }],
    ['maxFrameRate', { maxFrameRate: 24 }],
  ])('refuses what is above a ceiling: %s', async (_, limits) => {
    await expect(addon.probe(clip, { limits })).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});

describe('enhance', () => {
  const options: EnhanceOptions = { target: '1080p', encoder: { preset: 'ultrafast' } };

  it('writes the file and reports its facts', async () => {
    const fractions: number[] = [];
    const onProgress: EnhanceOptions['onProgress'] = (progress) => fractions.push(progress.fraction);
    const result = await addon.enhance(clip, output, { ...options, onProgress });
    expectTypeOf(result).toEqualTypeOf<EnhanceResult>();
    expect(result).toMatchObject({ width: 1920, height: 1080, frames: 50, undecodableFrames: 0 });
    expect(result.sizeBytes).toBe(readFileSync(output).length);
    expect(result.stages.map((stage) => stage.name)).toContain('encode');
    expect(fractions.length).toBeGreaterThan(0);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  });

  it('rejects with what the progress callback throws, and stops', async () => {
    const thrown = new Error('no more progress');
    const onProgress = () => {
      throw thrown;
    };
    await expect(addon.enhance(clip, output, { ...options, target: '4k', onProgress })).rejects.toBe(thrown);
    expect(existsSync(output)).toBe(false);
  });

  it('stops within 300 ms of an abort, or as soon as it has begun, and removes its output', async () => {
    // The best of several: the machine may be busy with other tests.
    let isSoon = false;
    for (let attempt = 0; attempt < 20 && !isSoon; attempt += 1) {
      const abort = new AbortController();
      const started = performance.now();
      let began = 0;
      // In the middle of the work, however fast the machine is.
      const onProgress = () => {
        began ||= performance.now();
        abort.abort();
      };
      const work = addon.enhance(clip, output, { ...options, target: '4k', signal: abort.signal, onProgress });
      await expect(work).rejects.toMatchObject({ code: 'cancelled', cause: { name: 'AbortError' } });
      isSoon = performance.now() - began < Math.max(300, began - started);
      expect(existsSync(output)).toBe(false);
    }
    expect(isSoon).toBe(true);
  });

  it('does not begin when the signal has fired already', async () => {
    let begun = false;
    const onProgress = () => (begun = true);
    const work = addon.enhance(clip, output, { ...options, target: '4k', signal: AbortSignal.abort(), onProgress });
    await expect(work).rejects.toMatchObject({ code: 'cancelled' });
    expect(begun || existsSync(output)).toBe(false);
  });
});

describe('the listener on a signal', () => {
  it('is removed when the promise settles', async () => {
    const signal = new AbortController().signal;
    const add = vi.spyOn(signal, 'addEventListener');
    const remove = vi.spyOn(signal, 'removeEventListener');
    await addon.probe(clip, { signal });
    await rejection(addon.probe('/nowhere.mp4', { signal }));
    expect(add).toHaveBeenCalledTimes(2);
    expect(remove.mock.calls.map(([type, listener]) => [type, listener])).toEqual(
      add.mock.calls.map(([type, listener]) => [type, listener]),
    );
  });
});

it('settles the promise although the signal throws', async () => {
  const signal = (broken: object) => Object.assign(new EventTarget(), { aborted: false, ...broken }) as unknown as AbortSignal;
  const thrown = new Error('a broken signal');
  const fail = () => {
    throw thrown;
  };
  await expect(addon.probe(clip, { signal: signal({ removeEventListener: fail }) })).rejects.toBe(thrown);
  const unexplained = Object.defineProperty(signal({ aborted: true }), 'reason', { get: fail });
  await expect(addon.probe(clip, { signal: unexplained })).rejects.toBe(thrown);
});

/** How a program in a Node process of its own ends, and what it says on its standard error. */
async function outcome(program: string) {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'pipe'], timeout: hangMs });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, complaint };
}

it('loads libavfilter for interlaced videos only', async () => {
  const interlaced = join(folder.path, 'interlaced.mp4');
  await makeClip(interlaced, { seconds: 1, args: ['-c:v', 'libx264', '-preset', 'ultrafast', '-flags', '+ilme+ildct'] });
  const { complaint } = await outcome(`
    const addon = require(${JSON.stringify(projectRoot + addonFile)});
    const report = (what) => console.error(what, /libavfilter/.test(require('node:fs').readFileSync('/proc/self/maps', 'utf8')));
    const enhance = (file) => addon.enhance(file, ${JSON.stringify(`${output}.fields`)}, { target: 'source', threads: 1 });
    (async () => {
      await enhance(${JSON.stringify(clip)});
      report('progressive');
      await enhance(${JSON.stringify(interlaced)});
      report('interlaced');
    })();
  `);
  expect(complaint).toBe('progressive false\ninterlaced true\n');
});

describe('the end of the environment in mid-call', () => {
  const busy = `
    const addon = require(${JSON.stringify(projectRoot + addonFile)});
    addon.enhance(${JSON.stringify(clip)}, ${JSON.stringify(`${output}.ended`)}, { target: '4k', onProgress() {} });
    addon.probe({ size: 1000, read: () => new Promise(() => {}) });
  `;

  it.each([
    ['process.exit', `${busy} setTimeout(() => process.exit(7), 300);`],
    [
      'a worker that is terminated',
      `const { Worker } = require('node:worker_threads');
       const worker = new Worker(${JSON.stringify(busy)}, { eval: true });
       setTimeout(() => worker.terminate().then(() => process.exit(7)), 300);`,
    ],
  ])('waits for the engine to stop and ends in order: %s', async (_, program) => {
    expect(await outcome(program)).toEqual({ code: 7, signal: null, complaint: '' });
  });

  // Every call into JavaScript fails once a worker is being stopped: while the addon is loaded (the sweep over the
  // first milliseconds), in the middle of its arguments, in a callback, at the settling of a promise.
  const lively = `
    const { parentPort } = require('node:worker_threads');
    const calls = () => [
      addon.probe(${JSON.stringify(clip)}),
      addon.probe({ size: 9000, read: (at, length) => new Uint8Array(Math.min(length, 100)) }),
      addon.probe({ size: 1000, read: () => Promise.reject(new Error('no')) }),
      addon.probe({ size: 1000, read() { throw 'no'; } }),
      addon.enhance(${JSON.stringify(clip)}, ${JSON.stringify(`${output}.lively`)}, {
        target: 'source', threads: 1, onProgress() { throw new Error('no'); },
      }),
    ];
    parentPort.postMessage('loading');
    const addon = require(${JSON.stringify(projectRoot + addonFile)});
    (async () => { for (;;) await Promise.allSettled(calls()); })();
  `;

  it('ends in order at whatever moment a worker is terminated', async () => {
    const program = `
      const { Worker } = require('node:worker_threads');
      (async () => {
        for (let n = 0; n < 30; n += 1) {
          const worker = new Worker(${JSON.stringify(lively)}, { eval: true });
          await new Promise((resolve) => worker.once('message', resolve));
          await new Promise((resolve) => setTimeout(resolve, n < 20 ? n : (n - 18) * 10));
          await worker.terminate();
        }
        process.exit(7);
      })();
    `;
    expect(await outcome(program)).toEqual({ code: 7, signal: null, complaint: '' });
  });
});

describe('repeated calls', () => {
  it.each([
    ['probe of a file', () => addon.probe(clip)],
    ['probe of a byte source', async () => {
      const source = fileSource(clip);
      await addon.probe(source);
      source.close();
    }],
    ['failing probe', () => rejection(addon.probe('/nowhere.mp4'))],
    ['failing byte source', () => rejection(addon.probe({ size: 9, read: () => Promise.reject(new Error('no')) }))],
  ])('leave no memory behind: %s', async (_, call) => {
    const round = async () => {
      for (let index = 0; index < 150; index += 1) await call();
      await new Promise((resolve) => setImmediate(resolve));
      // Garbage that V8 has not collected yet would look like a leak.
      collectGarbage();
      return process.memoryUsage.rss() / 1e6;
    };
    await round();
    const rounds: number[] = [];
    for (let index = 0; index < 6; index += 1) rounds.push(await round());
    const growths = rounds.slice(1).map((megabytes, index) => megabytes - rounds[index]!);
    // One leaked decoder context a call would be tens of megabytes a round. The allocator may take some megabytes once, and keeps them.
    expect(growths.sort((a, b) => a - b)[2]).toBeLessThan(4);
  });
});

describe('devices', () => {
  it('lists the processor first', () => {
    expect(addon.devices()[0]).toMatchObject({ id: 'cpu', usable: true, reason: '', encoder: 'libx264' });
    expect(addon.devices()[0]!.threads).toBeGreaterThan(0);
    expect(addon.version()).toMatch(/\d/);
  });
});
