/** What only the filesystem storage has: links that the API verifies, and a folder that others may touch. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, mkdtemp, open, readFile, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isStorageFault } from '../../src/storage/faults.ts';
import { createFilesystemStorage, createStorage } from '../../src/storage/index.ts';
import type { FilesystemStorage } from '../../src/storage/index.ts';

const contentType = 'video/mp4';
const linkSecret = 'a secret of the tests only';

describe('filesystem storage', () => {
  let root: string;
  let now: number;
  let storage: FilesystemStorage;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'reelmend-fs-'));
    now = 1_700_000_000_250;
    const publicUrl = () => 'https://lift.example/base/';
    storage = createFilesystemStorage({ root, publicUrl, linkSecret, clock: () => now });
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const put = async (key: string, data: Uint8Array | string) => {
    await writeFile(join(root, 'put'), data);
    return storage.putFile(key, join(root, 'put'), { contentType });
  };
  const queryOf = (url: string) => {
    const { pathname, searchParams } = new URL(url);
    const key = pathname.replace('/base/v1/downloads/', '');
    const [expires, name, signature] = ['expires', 'name', 'signature'].map((field) => searchParams.get(field)!);
    const type = searchParams.get('type') ?? undefined;
    return { key, expires: expires!, name: name!, signature: signature!, type };
  };
  const link = async (options: { fileName?: string; contentType?: string } = {}) =>
    queryOf((await storage.link('jobs/a/out.mp4', { fileName: 'a.mp4', contentType, expiresInS: 60, ...options })).url);

  it('keeps what was stored when the source file is written to afterwards', async () => {
    await put('stored', 'before');
    await writeFile(join(root, 'put'), 'after!');
    expect(await text((await storage.open('stored'))!)).toBe('before');
  });

  it('serves a reader to the end although the object is replaced or destroyed meanwhile', async () => {
    await put('read', 'x'.repeat(300_000));
    const reader = (await storage.open('read'))!;
    await put('read', 'new');
    await storage.destroy('read');
    expect(await text(reader)).toHaveLength(300_000);
  });

  it('ends with one whole object when many put and destroy the same key at once', async () => {
    const texts = Array.from({ length: 12 }, (_, i) => String(i).repeat(50_000 + i));
    for (const [i, data] of texts.entries()) await writeFile(join(root, `in${i}`), data);
    const puts = texts.map((_, i) => storage.putFile('deep/er/key', join(root, `in${i}`), { contentType }));
    const destroys = texts.map(() => storage.destroy('deep/er/key'));
    // A destroy takes unfinished uploads of its key along: such a put fails as a whole.
    const results = await Promise.allSettled([...puts, ...destroys]);
    for (const result of results.slice(texts.length)) expect(result.status).toBe('fulfilled');
    await puts.at(-1)!.catch(() => undefined);
    await storage.putFile('deep/er/key', join(root, 'in3'), { contentType });
    expect(await text((await storage.open('deep/er/key'))!)).toBe(texts[3]);
    expect(await readdir(join(root, 'incoming'))).toEqual([]);
  });

  it('never calls a file absent that moves to its place meanwhile', async () => {
    await writeFile(join(root, 'in'), 'x');
    for (let round = 0; round < 60; round++) {
      const key = `moving/${round}`;
      let isStored = false;
      const polling = async () => {
        while ((await readdir(join(root, 'incoming')).catch(() => [])).length === 0 && !isStored);
        while (!isStored) if (await storage.isAbsent(key)) return 'absent';
        return 'there';
      };
      const polls = [polling(), polling(), polling(), polling()];
      await storage.putFile(key, join(root, 'in'), { contentType });
      isStored = true;
      expect(await Promise.all(polls)).toEqual(['there', 'there', 'there', 'there']);
    }
  });

  it('removes emptied folders, so that nothing of a job stays', async () => {
    await put('jobs/a/out.mp4', 'x');
    await put('jobs/b/out.mp4', 'x');
    await storage.destroy('jobs/a/out.mp4');
    expect(await readdir(join(root, 'objects', 'jobs'))).toEqual(['b']);
  });

  it('counts an unfinished upload of a crashed process as present until it is destroyed', async () => {
    await put('crashed', 'x');
    await storage.destroy('crashed');
    const hash = createHash('sha256').update('crashed').digest('hex');
    await writeFile(join(root, 'incoming', `${hash.slice(0, 32)}.left`), 'half');
    expect(await storage.isAbsent('crashed')).toBe(false);
    await storage.destroy('crashed');
    expect(await storage.isAbsent('crashed')).toBe(true);
  });

  it('calls nothing absent while its folder is missing, as on a disk that is not mounted', async () => {
    const root = join(await mkdtemp(join(tmpdir(), 'reelmend-fs-')), 'storage');
    const mounted = createFilesystemStorage({ root, publicUrl: () => '', linkSecret });
    await writeFile(join(root, '..', 'film'), 'x');
    await mounted.putFile('jobs/a', join(root, '..', 'film'), { contentType });
    await rename(root, `${root}-away`);
    await mounted.destroy('jobs/a');
    await expect(mounted.isAbsent('jobs/a')).rejects.toThrow(`The folder ${join(root, 'objects')} is missing: is its disk mounted?`);
    await rename(`${root}-away`, root);
    expect(await mounted.isAbsent('jobs/a')).toBe(false);
    await mounted.destroy('jobs/a');
    expect(await mounted.isAbsent('jobs/a')).toBe(true);
    await rm(join(root, '..'), { recursive: true });
  });

  it('calls nothing missing, and takes nothing, while the disk of what it has is not mounted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reelmend-fs-'));
    const disk = join(folder, 'storage');
    const open = () => createFilesystemStorage({ root: disk, publicUrl: () => '', linkSecret });
    const writer = open();
    const film = join(folder, 'film');
    await writeFile(film, 'x');
    expect(await writer.stat('jobs/a')).toBeNull();
    await writer.putFile('jobs/a', film, { contentType });
    const reader = open();
    expect(await reader.stat('probe')).toBeNull();
    const upload = await writer.createMultipart('upload');
    const part = { number: 1, size: 1 };
    await writer.writePart(upload, part, Readable.from([Buffer.from('y')]));
    await rename(disk, `${disk}-away`);
    // A mount point is an empty folder then.
    await mkdir(disk);
    for (const storage of [writer, reader]) {
      const calls = [
        () => storage.stat('jobs/a'),
        () => storage.open('jobs/a'),
        () => storage.getFile('jobs/a', join(folder, 'got')),
        () => storage.putFile('jobs/b', film, { contentType }),
        () => storage.createMultipart('jobs/c'),
        () => storage.listParts(upload),
        () => storage.writePart(upload, part, Readable.from([Buffer.from('y')])),
        () => storage.completeMultipart(upload, { count: 1, size: 1 }),
      ];
      for (const call of calls) {
        const fault = await call().catch((error: unknown) => error);
        expect(isStorageFault(fault), `${call}: ${fault}`).toBe(true);
      }
    }
    expect(await readdir(disk)).toEqual([]);
    await rm(disk, { recursive: true });
    await rename(`${disk}-away`, disk);
    await reader.completeMultipart(upload, { count: 1, size: 1 });
    expect([await writer.stat('jobs/a'), await writer.stat('upload'), await writer.stat('jobs/b')]).toEqual([{ size: 1 }, { size: 1 }, null]);
    await rm(folder, { recursive: true });
  });

  it('stores further objects after somebody has removed the folder of unfinished ones', async () => {
    await put('before', 'x');
    await rm(join(root, 'incoming'), { recursive: true });
    await put('after', 'x');
    expect(await storage.stat('after')).toEqual({ size: 1 });
  });

  it('answers for an upload that was destroyed before anything was stored', async () => {
    await storage.createMultipart('uploads/first');
    await storage.destroy('uploads/first');
    expect(await storage.isAbsent('uploads/first')).toBe(true);
  });

  it('sweeps uploads that crashed a day ago at the first write', async () => {
    await mkdir(join(root, 'incoming'), { recursive: true });
    for (const name of ['old', 'young']) await writeFile(join(root, 'incoming', name), 'half');
    const dayAgo = Date.now() / 1000 - 25 * 3600;
    await utimes(join(root, 'incoming', 'old'), dayAgo, dayAgo);
    await put('any', 'x');
    expect(await readdir(join(root, 'incoming'))).toEqual(['young']);
  });

  it('answers for a part when its name is on the disk as well', async () => {
    const upload = await storage.createMultipart('durable');
    const [folder = ''] = await readdir(join(root, 'parts'));
    const file = await open(join(root, 'parts', folder), 'r');
    const sync = vi.spyOn(Object.getPrototypeOf(file) as FileHandle, 'sync');
    const synced: string[] = [];
    sync.mockImplementation(async function (this: FileHandle) {
      if ((await this.stat()).ino === (await file.stat()).ino) synced.push(...(await readdir(join(root, 'parts', folder))));
    });
    await storage.writePart(upload, { number: 1, size: 1 }, Readable.from([Buffer.from('x')]));
    sync.mockRestore();
    await file.close();
    expect(synced).toEqual(['1']);
  });

  it('completes a transfer whose process was killed while it removed the parts', async () => {
    const upload = await storage.createMultipart('killed');
    const send = (number: number) => storage.writePart(upload, { number, size: 1 }, Readable.from([Buffer.from(String(number))]));
    for (const number of [1, 2, 3]) await send(number);
    const [folder = ''] = await readdir(join(root, 'parts'));
    const third = await readFile(join(root, 'parts', folder, '3'));
    const whole = { count: 3, size: 3 };
    await storage.completeMultipart(upload, whole);
    await mkdir(join(root, 'parts', folder));
    await writeFile(join(root, 'parts', folder, '3'), third);
    expect(await storage.completeMultipart(upload, whole)).toEqual({ version: null });
    expect(await text((await storage.open('killed'))!)).toBe('123');
    expect(await readdir(join(root, 'parts'))).toEqual([]);
  });

  it('does not follow a symbolic link out of its folder', async () => {
    await put('there', 'x');
    await writeFile(join(root, 'outside'), 'secret');
    await symlink(join(root, 'outside'), join(root, 'objects', 'link'));
    expect(await storage.stat('link')).toBeNull();
    expect(await storage.open('link')).toBeNull();
    expect(await storage.getFile('link', join(root, 'copied'))).toBe(false);
  });

  it('throws an I/O error of the storage instead of calling the key absent', async () => {
    const broken = createFilesystemStorage({ root: '/proc/1/mem/x', publicUrl: () => '', linkSecret });
    await writeFile(join(root, 'put'), 'x');
    await expect(broken.putFile('key', join(root, 'put'), { contentType })).rejects.toThrow();
  });

  describe('links', () => {
    it('carry key, time, name and signature under the public URL', async () => {
      const { url, expiresInS } = await storage.link('jobs/a/out.mp4', {
        fileName: 'Zürich & co.mp4',
        contentType,
        expiresInS: 3600,
      });
      expect(expiresInS).toBe(3600);
      expect(url).toMatch(
        /^https:\/\/lift\.example\/base\/v1\/downloads\/jobs\/a\/out\.mp4\?expires=1700003601&name=Z%C3%BCrich\+%26\+co\.mp4&signature=[0-9a-f]{64}$/,
      );
      expect(storage.verifyLink(queryOf(url))).toEqual({
        ok: true,
        key: 'jobs/a/out.mp4',
        fileName: 'Zürich & co.mp4',
        contentType,
      });
    });

    it('carry another content type when there is one', async () => {
      const query = await link({ contentType: 'application/json' });
      expect(query.type).toBe('application/json');
      expect(storage.verifyLink(query)).toMatchObject({ ok: true, contentType: 'application/json' });
    });

    it.each([
      { name: 'one second before the end', atMs: 59_000, want: { ok: true } },
      { name: 'at the full 60 seconds', atMs: 60_000, want: { ok: true } },
      { name: 'two seconds after the end', atMs: 62_000, want: { ok: false, reason: 'expired' } },
      { name: 'a day later', atMs: 86_400_000, want: { ok: false, reason: 'expired' } },
    ])('hold their time: $name', async ({ atMs, want }) => {
      const query = await link();
      now += atMs;
      expect(storage.verifyLink(query)).toMatchObject(want);
    });

    type Query = Awaited<ReturnType<typeof link>>;
    const forgeries: { name: string; change: (query: Query) => Partial<Query> }[] = [
      { name: 'another key', change: () => ({ key: 'jobs/b/out.mp4' }) },
      { name: 'a key that climbs', change: () => ({ key: '../../etc/passwd' }) },
      { name: 'a later expiry', change: (q) => ({ expires: String(Number(q.expires) + 1) }) },
      { name: 'an expiry in another spelling', change: (q) => ({ expires: `0${q.expires}` }) },
      { name: 'an expiry that is no number', change: () => ({ expires: 'NaN' }) },
      { name: 'another name', change: () => ({ name: 'b.exe' }) },
      { name: 'a content type', change: () => ({ type: 'text/html' }) },
      { name: 'no signature', change: () => ({ signature: '' }) },
      { name: 'a short signature', change: (q) => ({ signature: q.signature.slice(2) }) },
      { name: 'an upper-case signature', change: (q) => ({ signature: q.signature.toUpperCase() }) },
      {
        name: 'a flipped signature',
        change: (q) => ({ signature: q.signature.replace(/^./, (c) => (c === '0' ? '1' : '0')) }),
      },
      { name: 'fields moved into each other', change: (q) => ({ key: 'jobs/a', name: `out.mp4${q.name}` }) },
    ];
    it.each(forgeries)('are invalid with $name', async ({ change }) => {
      const query = await link();
      const forged = { ...query, ...change(query) };
      expect(forged).not.toEqual(query);
      expect(storage.verifyLink(forged)).toEqual({ ok: false, reason: 'invalid' });
      now += 86_400_000; // an altered link never learns that it would have expired
      expect(storage.verifyLink(forged)).toEqual({ ok: false, reason: 'invalid' });
    });

    it('are invalid under another secret', async () => {
      const other = createFilesystemStorage({ root, publicUrl: () => '', linkSecret: 'another secret, as long' });
      expect(other.verifyLink(await link())).toEqual({ ok: false, reason: 'invalid' });
    });

    it('name files that no client takes for a path or a header', async () => {
      expect((await link({ fileName: '../a\r\nX: y\\b.mp4' })).name).toBe('.._a__X: y_b.mp4');
    });

    it('need a secret worth the name', () => {
      expect(() => createFilesystemStorage({ root, publicUrl: () => '', linkSecret: 'short' })).toThrow(/linkSecret/);
    });
  });

  it('is what createStorage gives without S3, under the data folder', async () => {
    const made = await createStorage({ dataDir: root, s3: undefined, publicUrl: () => 'http://x', linkSecret });
    expect(made.kind).toBe('filesystem');
    await writeFile(join(root, 'put'), 'x');
    await made.putFile('a/b', join(root, 'put'), { contentType });
    expect(await readFile(join(root, 'storage', 'objects', 'a', 'b'), 'utf8')).toBe('x');
  });

  it.each([
    ['app/service.ts', false],
    ['storage/s3.ts', true],
  ])('src/%s by itself loads the AWS SDK: %s', async (file, loads) => {
    const code = `await import(${JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href)});
      const { createRequire } = await import('node:module');
      const loaded = Object.keys(createRequire(import.meta.url).cache);
      process.stdout.write(String(loaded.some((path) => path.includes('@aws-sdk/client-s3'))));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { cwd: root });
    expect(stdout).toBe(String(loads));
  });

  it('gives way to S3 when a bucket is configured', async () => {
    const s3 = { bucket: 'media', region: 'us-east-1', endpoint: 'http://127.0.0.1:1' };
    expect((await createStorage({ dataDir: root, s3, publicUrl: () => '', linkSecret })).kind).toBe('s3');
  });
});
