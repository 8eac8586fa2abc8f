/** One set of promises, kept by every storage. */
import { createHash, randomBytes } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFilesystemStorage } from '../../src/storage/index.ts';
import { PartsGoneError } from '../../src/storage/parts-gone.ts';
import { rangesOf } from '../../src/storage/ranges.ts';
import { createS3Storage } from '../../src/storage/s3.ts';
import type { FilesystemStorage, MultipartUpload, Storage } from '../../src/storage/index.ts';
import { findS3Server, startS3Server } from '../helpers/s3.ts';

interface Subject {
  storage: Storage;
  close(): Promise<void>;
}

const haveS3 = (await findS3Server()) !== null;

async function s3Subject(options: { versioning: boolean }): Promise<Subject> {
  const server = (await startS3Server())!;
  const bucket = options.versioning ? 'versioned' : 'plain';
  await server.createBucket(bucket, options);
  const { endpoint, region, clientConfig } = server;
  const storage = createS3Storage({ bucket, region, endpoint, client: clientConfig, partSize: 5 * 1024 * 1024 });
  return {
    storage,
    close: async () => {
      storage.close();
      await server.close();
    },
  };
}

async function filesystemSubject(): Promise<Subject> {
  const root = await mkdtemp(join(tmpdir(), 'reelmend-storage-'));
  const storage = createFilesystemStorage({ root, publicUrl: () => 'http://files.test', linkSecret: 'x'.repeat(32) });
  return { storage, close: () => rm(root, { recursive: true, force: true }) };
}

const subjects = [
  { name: 'filesystem', make: filesystemSubject, there: true },
  { name: 'S3', make: () => s3Subject({ versioning: false }), there: haveS3 },
  { name: 'S3 with versioning', make: () => s3Subject({ versioning: true }), there: haveS3 },
];

const sizes = [
  { name: 'empty', bytes: 0 },
  { name: 'one byte', bytes: 1 },
  { name: 'exactly one part', bytes: 5 * 1024 * 1024 },
  { name: 'several parts with an odd end', bytes: 12 * 1024 * 1024 + 7 },
];

async function collect(keys: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const key of keys) found.push(key);
  return found.sort();
}

describe.each(subjects.filter((subject) => subject.there))('storage: $name', ({ make }) => {
  let subject: Subject;
  let storage: Storage;
  let dir: string;
  const contentType = 'video/mp4';

  const put = async (key: string, data: Uint8Array | string) => {
    const path = join(dir, 'put');
    await writeFile(path, data);
    return storage.putFile(key, path, { contentType });
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-storage-files-'));
    // Large enough that no put of it has ended when it is aborted.
    await writeFile(join(dir, 'big'), Buffer.alloc(128 * 1024 * 1024, 7));
    subject = await make();
    storage = subject.storage;
  });
  afterAll(async () => {
    await subject.close();
    await rm(dir, { recursive: true, force: true });
  });

  it.each(sizes)('keeps a file of $name byte for byte and reports its hash', async ({ bytes }) => {
    const data = randomBytes(bytes);
    const stored = await put('jobs/one/output.mp4', data);
    expect(stored).toMatchObject({ key: 'jobs/one/output.mp4', size: bytes });
    expect(stored.sha256).toBe(createHash('sha256').update(data).digest('hex'));
    expect(await storage.stat('jobs/one/output.mp4')).toEqual({ size: bytes });
    const back = join(dir, 'back');
    expect(await storage.getFile('jobs/one/output.mp4', back)).toBe(true);
    expect(data.equals(await readFile(back))).toBe(true);
  });

  it('answers null or false for a key that is not there, also below and above an existing one', async () => {
    await put('there/file.mp4', 'x');
    for (const key of ['nothing', 'there', 'there/file.mp4/below', 'there/file']) {
      expect(await storage.stat(key)).toBeNull();
      expect(await storage.open(key)).toBeNull();
      expect(await storage.getFile(key, join(dir, 'none'))).toBe(false);
      expect(await storage.isAbsent(key)).toBe(true);
      await storage.destroy(key);
    }
    await expect(access(join(dir, 'none'))).rejects.toThrow();
    expect(await storage.stat('there/file.mp4')).toEqual({ size: 1 });
  });

  it('replaces an object as a whole', async () => {
    await put('replace/me', 'first, longer');
    await put('replace/me', 'second');
    expect(await text((await storage.open('replace/me'))!)).toBe('second');
  });

  const ranges = [
    { start: 0, end: 0, want: '0' },
    { start: 2, end: 5, want: '2345' },
    { start: 9, end: 9, want: '9' },
    { start: 7, end: 1000, want: '789' },
  ];
  it.each(ranges)('reads the range $start-$end', async ({ start, end, want }) => {
    await put('range', '0123456789');
    expect(await text((await storage.open('range', { start, end }))!)).toBe(want);
  });

  it.each([
    { start: 10, end: 12 },
    { start: 5, end: 4 },
    { start: -1, end: 4 },
  ])('refuses the range $start-$end of ten bytes', async (range) => {
    await put('range', '0123456789');
    await expect(storage.open('range', range)).rejects.toThrow(RangeError);
  });

  it('is read by ranges, until it is gone', async () => {
    await put('ranges', '0123456789');
    const gone = new Error('gone');
    const source = rangesOf(storage, { key: 'ranges', sizeBytes: 10, gone: () => gone });
    const { signal } = new AbortController();
    const read = async (offset: number, length: number) => Buffer.from(await source.read(offset, length, signal)).toString();
    expect([source.size, await read(0, 3), await read(8, 100), await read(10, 1)]).toEqual([10, '012', '89', '']);
    await expect(source.read(0, 3, AbortSignal.abort(new Error('no more')))).rejects.toThrow();
    await storage.destroy('ranges');
    await expect(read(0, 3)).rejects.toBe(gone);
  });

  it('lists exactly the keys under a prefix', async () => {
    const keys = ['list/a', 'list/ab/c.mp4', 'list/b', 'listen'];
    for (const key of keys) await put(key, 'x');
    expect(await collect(storage.list('list/'))).toEqual(['list/a', 'list/ab/c.mp4', 'list/b']);
    expect(await collect(storage.list('list/a'))).toEqual(['list/a', 'list/ab/c.mp4']);
    expect(await collect(storage.list('list'))).toEqual(keys);
    expect(await collect(storage.list('none/'))).toEqual([]);
    expect(await collect(storage.list(''))).toEqual(expect.arrayContaining(keys));
  });

  it('destroys every version, answers absent only then, and leaves neighbours alone', async () => {
    for (const round of ['one', 'two', 'three']) await put('gone/file', round);
    await put('gone/file2', 'neighbour');
    expect(await storage.isAbsent('gone/file')).toBe(false);
    await storage.destroy('gone/file');
    await storage.destroy('gone/file');
    expect(await storage.isAbsent('gone/file')).toBe(true);
    expect(await storage.stat('gone/file')).toBeNull();
    expect(await storage.stat('gone/file2')).toEqual({ size: 9 });
    await put('gone/file', 'again');
    expect(await storage.isAbsent('gone/file')).toBe(false);
  });

  describe('in parts', () => {
    const size = 5 * 1024 * 1024;
    const data = randomBytes(2 * size + 7);
    const parts = [1, 2, 3].map((number) => ({ number, bytes: data.subarray((number - 1) * size, number * size) }));
    const whole = { count: 3, size: data.length };
    /** Sends a part as a client does: to the signed URL, or where the API would pass it on. */
    const send = async (
      upload: MultipartUpload,
      { number, bytes }: { number: number; bytes: Uint8Array },
      signedSize = bytes.length,
    ) => {
      const part = { number, size: bytes.length };
      const { url } = await storage.linkPart(upload, { ...part, size: signedSize, expiresInS: 60 });
      if ('writePart' in storage) {
        return (storage as FilesystemStorage).writePart(upload, { number, size: signedSize }, Readable.from([bytes]));
      }
      return (await fetch(url, { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer> })).ok;
    };

    it('makes the object when all are there, in any order, and may be asked to twice', async () => {
      const upload = await storage.createMultipart('parts/one');
      expect(await storage.listParts(upload)).toEqual([]);
      for (const part of [parts[2]!, parts[0]!]) expect(await send(upload, part)).toBe(true);
      expect(await storage.listParts(upload)).toEqual([{ number: 1, size }, { number: 3, size: 7 }]);
      await expect(storage.completeMultipart(upload, whole)).rejects.toBeInstanceOf(PartsGoneError);
      expect(await storage.stat('parts/one')).toBeNull();
      await send(upload, { number: 2, bytes: randomBytes(size) });
      await send(upload, parts[1]!);
      const first = await storage.completeMultipart(upload, whole);
      expect(await storage.completeMultipart(upload, whole)).toEqual(first);
      expect((await buffer((await storage.open('parts/one'))!)).equals(data)).toBe(true);
      expect(await storage.listParts(upload)).toEqual([]);
    });

    it.each([1, -1])('takes no part with %i byte too many', async (change) => {
      const upload = await storage.createMultipart('parts/size');
      const sent = await send(upload, { number: 1, bytes: new Uint8Array(1000 + change) }, 1000).catch(() => false);
      expect(sent).toBe(false);
      expect(await storage.listParts(upload)).toEqual([]);
      await storage.destroy('parts/size');
    });

    it('is never called absent while it becomes an object', async () => {
      for (let round = 0; round < 30; round++) {
        const key = `parts/becoming-${round}`;
        const upload = await storage.createMultipart(key);
        expect(await send(upload, { number: 1, bytes: data.subarray(0, 10) })).toBe(true);
        let isComplete = false;
        const wasAbsent = async () => {
          let absent = false;
          while (!isComplete && !absent) absent = await storage.isAbsent(key);
          return absent;
        };
        const polls = [wasAbsent(), wasAbsent(), wasAbsent()];
        await storage.completeMultipart(upload, { count: 1, size: 10 });
        isComplete = true;
        expect(await Promise.all(polls)).toEqual([false, false, false]);
      }
    });

    it('stays absent when it was destroyed while it became an object', async () => {
      for (let round = 0; round < 30; round++) {
        const key = `parts/destroyed-${round}`;
        const upload = await storage.createMultipart(key);
        expect(await send(upload, { number: 1, bytes: data.subarray(0, 10) })).toBe(true);
        const completion = storage.completeMultipart(upload, { count: 1, size: 10 }).catch((error: unknown) => error);
        await sleep(round % 10);
        // A destruction that fails is tried again, as by the worker.
        const isGone = () => storage.destroy(key).then(() => storage.isAbsent(key), () => false);
        while (!(await isGone()));
        await completion;
        expect(await storage.isAbsent(key)).toBe(true);
      }
    });

    it('takes no part after the end, and the object stays as it is', async () => {
      const upload = await storage.createMultipart('parts/late');
      await send(upload, { number: 1, bytes: new Uint8Array([1]) });
      await storage.completeMultipart(upload, { count: 1, size: 1 });
      expect(await send(upload, { number: 1, bytes: new Uint8Array([2]) })).toBe(false);
      expect(await buffer((await storage.open('parts/late'))!)).toEqual(Buffer.from([1]));
    });

    it('leaves nothing when the key is destroyed before the end', async () => {
      const uploads = [await storage.createMultipart('parts/gone'), await storage.createMultipart('parts/gone')];
      for (const upload of uploads) await send(upload, parts[2]!);
      const neighbour = await storage.createMultipart('parts/gone2');
      await send(neighbour, parts[2]!);
      expect(await storage.isAbsent('parts/gone')).toBe(false);
      await storage.destroy('parts/gone');
      expect(await storage.isAbsent('parts/gone')).toBe(true);
      for (const upload of uploads) {
        expect(await send(upload, parts[2]!)).toBe(false);
        expect(await storage.listParts(upload)).toEqual([]);
        await expect(storage.completeMultipart(upload, { count: 1, size: 7 })).rejects.toBeInstanceOf(PartsGoneError);
      }
      expect(await storage.isAbsent('parts/gone')).toBe(true);
      expect(await storage.listParts(neighbour)).toEqual([{ number: 3, size: 7 }]);
      await storage.destroy('parts/gone2');
    });
  });

  const failures = [
    { name: 'a source that is not there', path: () => join(dir, 'missing'), abortAfterMs: null },
    { name: 'a source that cannot be read', path: () => dir, abortAfterMs: null },
    ...[1, 5, 30].map((abortAfterMs) => ({
      name: `a put that is aborted after ${abortAfterMs} ms`,
      path: () => join(dir, 'big'),
      abortAfterMs,
    })),
    { name: 'a put that was aborted before it began', path: () => join(dir, 'big'), abortAfterMs: 0 },
  ];
  it.each(failures)('leaves nothing of $name', async ({ path, abortAfterMs }) => {
    const reason = new Error('stopped by the test');
    const control = new AbortController();
    if (abortAfterMs === 0) control.abort(reason);
    else if (abortAfterMs !== null) setTimeout(() => control.abort(reason), abortAfterMs);
    const put = storage.putFile('failed/put', path(), { contentType, signal: control.signal });
    if (abortAfterMs === null) await expect(put).rejects.toThrow(/ENOENT|EISDIR/);
    else await expect(put).rejects.toBe(reason);
    expect(await storage.isAbsent('failed/put')).toBe(true);
    expect(await collect(storage.list('failed/'))).toEqual([]);
  });

  it('removes what a failed read had written', async () => {
    await put('readable', randomBytes(100_000));
    const control = new AbortController();
    control.abort(new Error('stopped by the test'));
    await expect(storage.getFile('readable', join(dir, 'cut'), control.signal)).rejects.toThrow('stopped by the test');
    await expect(access(join(dir, 'cut'))).rejects.toThrow();
    await mkdir(join(dir, 'folder'), { recursive: true });
    await expect(storage.getFile('readable', join(dir, 'folder'))).rejects.toThrow(/EISDIR/);
  });

  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '..',
    'a/../b',
    './a',
    'a/.hidden',
    'A',
    'a b',
    'a\0b',
    'a\\b',
    'ä',
    'x'.repeat(513),
  ])('refuses the key %j everywhere', async (key) => {
    const path = join(dir, 'put');
    await writeFile(path, 'x');
    const calls = [
      () => storage.putFile(key, path, { contentType }),
      () => storage.getFile(key, path),
      () => storage.stat(key),
      () => storage.open(key),
      () => storage.destroy(key),
      () => storage.isAbsent(key),
      () => storage.createMultipart(key),
      () => storage.linkPart({ key, id: 'a' }, { number: 1, size: 1, expiresInS: 1 }),
      () => storage.link(key, { fileName: 'a.mp4', contentType, expiresInS: 1 }),
    ];
    for (const call of calls) await expect((async () => call())()).rejects.toThrow(/storage key/);
  });
});
