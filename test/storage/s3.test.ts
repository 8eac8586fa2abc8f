/** What only S3 has: versions, multipart uploads, presigned links, and a server that dies. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { ListPartsCommandOutput } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isStorageFault } from '../../src/storage/faults.ts';
import { PartsGoneError } from '../../src/storage/parts-gone.ts';
import { abortMultipart, completeMultipart, createMultipart, listParts } from '../../src/storage/s3-multipart.ts';
import { uploadsOfKey } from '../../src/storage/s3-queries.ts';
import { createS3Storage } from '../../src/storage/s3.ts';
import type { S3Storage } from '../../src/storage/index.ts';
import { findS3Server, startS3Server } from '../helpers/s3.ts';
import type { S3Server } from '../helpers/s3.ts';

const haveS3 = (await findS3Server()) !== null;
const partSize = 5 * 1024 * 1024;
const contentType = 'video/mp4';

describe.skipIf(!haveS3)('S3 storage', () => {
  let server: S3Server;
  let storage: S3Storage;
  let client: S3Client;
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-s3-test-'));
    server = (await startS3Server())!;
    await server.createBucket('media', { versioning: true });
    const { endpoint, region, clientConfig } = server;
    storage = createS3Storage({ bucket: 'media', region, endpoint, client: clientConfig, partSize });
    client = new S3Client({ endpoint, region, ...clientConfig, forcePathStyle: true, maxAttempts: 1 });
  });
  afterAll(async () => {
    storage.close();
    client.destroy();
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });

  const put = async (key: string, data: Uint8Array | string) => {
    await writeFile(join(dir, 'put'), data);
    return storage.putFile(key, join(dir, 'put'), { contentType });
  };
  const versions = async (Prefix: string) => {
    const page = await client.send(new ListObjectVersionsCommand({ Bucket: 'media', Prefix }));
    return { objects: page.Versions?.length ?? 0, markers: page.DeleteMarkers?.length ?? 0 };
  };
  const uploads = async () => {
    const page = await client.send(new ListMultipartUploadsCommand({ Bucket: 'media' }));
    return (page.Uploads ?? []).map((upload) => upload.Key);
  };

  it('names a different version for every put, in one part or in many', async () => {
    const [one, two, three] = [await put('v', 'a'), await put('v', 'b'), await put('v', Buffer.alloc(partSize * 2))];
    const found = new Set([one.version, two.version, three.version]);
    expect(found.size).toBe(3);
    expect(found).not.toContain(null);
  });

  it.each([
    { server: 'a server that reports which upload is gone', abortsTwice: false },
    { server: 'a server that aborts what is gone, as MinIO does', abortsTwice: true },
  ])('leaves nothing of an upload whose key is destroyed while $server completes it', async ({ abortsTwice }) => {
    const meanwhile = new S3Client({ endpoint: server.endpoint, region: server.region, ...server.clientConfig, forcePathStyle: true });
    const key = 'destroyed-meanwhile';
    const bucket = { client: meanwhile, name: 'media', answerTimeoutMs: 30_000 };
    // versitygw lists no upload while it completes one, so all that a destruction finds then is the placeholder.
    meanwhile.middlewareStack.add((next, { commandName }) => async (args) => {
      const completed = await next(args);
      if (commandName !== 'CompleteMultipartUploadCommand') return completed;
      const found = await uploadsOfKey(bucket, key);
      expect(found).toHaveLength(1);
      for (const id of found) await abortMultipart(bucket, { key, id });
      return completed;
    }, { step: 'initialize' });
    meanwhile.middlewareStack.add((next, { commandName }) => async (args) => {
      const answer = next(args);
      if (!abortsTwice || commandName !== 'AbortMultipartUploadCommand') return answer;
      return answer.catch(() => ({ output: { $metadata: { httpStatusCode: 204 } }, response: {} }));
    }, { step: 'initialize' });
    const upload = await createMultipart(bucket, key);
    await meanwhile.send(new UploadPartCommand({ Bucket: 'media', Key: key, UploadId: upload.id, PartNumber: 1, Body: 'part' }));
    await expect(completeMultipart(bucket, upload, { count: 1, size: 4 })).rejects.toBeInstanceOf(PartsGoneError);
    expect(await versions(key)).toEqual({ objects: 0, markers: 0 });
    expect(await storage.isAbsent(key)).toBe(true);
    meanwhile.destroy();
  });

  it.each([{ order: 'newest first' }, { order: 'oldest first' }])('takes each part as it was last sent where the server, as SeaweedFS, lists all of them, $order', async ({ order }) => {
    const listing = new S3Client({ endpoint: server.endpoint, region: server.region, ...server.clientConfig, forcePathStyle: true });
    const bucket = { client: listing, name: 'media', answerTimeoutMs: 30_000 };
    listing.middlewareStack.add((next, { commandName }) => async (args) => {
      const answer = await next(args);
      if (commandName !== 'ListPartsCommand') return answer;
      const output = answer.output as ListPartsCommandOutput;
      const twice = (output.Parts ?? []).flatMap((part) => {
        const older = { ...part, ETag: '"an-older-one"', LastModified: new Date(part.LastModified!.getTime() - 1000) };
        return order === 'newest first' ? [part, older] : [older, part];
      });
      return { ...answer, output: { ...output, Parts: twice } };
    }, { step: 'initialize' });
    const upload = await createMultipart(bucket, 'sent-again');
    await listing.send(new UploadPartCommand({ Bucket: 'media', Key: 'sent-again', UploadId: upload.id, PartNumber: 1, Body: 'part' }));
    expect(await listParts(bucket, upload)).toEqual([{ number: 1, size: 4 }]);
    await completeMultipart(bucket, upload, { count: 1, size: 4 });
    expect(await text((await storage.open('sent-again'))!)).toBe('part');
    listing.destroy();
  });

  it('destroys old versions and delete markers, not only the newest', async () => {
    await put('marked', 'one');
    await put('marked', 'two');
    await client.send(new DeleteObjectCommand({ Bucket: 'media', Key: 'marked' }));
    expect(await versions('marked')).toEqual({ objects: 2, markers: 1 });
    expect(await storage.stat('marked')).toBeNull();
    expect(await storage.isAbsent('marked')).toBe(false);
    await storage.destroy('marked');
    expect(await versions('marked')).toEqual({ objects: 0, markers: 0 });
    expect(await storage.isAbsent('marked')).toBe(true);
  });

  it('calls a key absent only when its unfinished uploads are gone as well', async () => {
    const target = { Bucket: 'media', Key: 'unfinished' };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
    await client.send(new UploadPartCommand({ ...target, UploadId, PartNumber: 1, Body: Buffer.alloc(1000) }));
    await client.send(new CreateMultipartUploadCommand({ ...target, Key: 'unfinished2' }));
    expect(await storage.isAbsent('unfinished')).toBe(false);
    await storage.destroy('unfinished');
    expect(await storage.isAbsent('unfinished')).toBe(true);
    expect(await uploads()).toEqual(['unfinished2']);
    await storage.destroy('unfinished2');
  });

  it('lists and destroys over more than one page', async () => {
    const keys = Array.from({ length: 1005 }, (_, i) => `pages/n${String(i).padStart(4, '0')}`);
    await writeFile(join(dir, 'tiny'), 'x');
    for (let at = 0; at < keys.length; at += 16) {
      await Promise.all(keys.slice(at, at + 16).map((key) => storage.putFile(key, join(dir, 'tiny'), { contentType })));
    }
    const found: string[] = [];
    for await (const key of storage.list('pages/')) found.push(key);
    expect(found).toEqual(keys);
    await put('pages/n', 'the key that is a prefix of all of them');
    await storage.destroy('pages/n');
    expect(await storage.isAbsent('pages/n')).toBe(true);
    expect(await storage.stat('pages/n1004')).toEqual({ size: 1 });
  });

  describe('links', () => {
    it('download with the given name and type, whole and by ranges', async () => {
      await put('linked', '0123456789');
      const fileName = 'Zürich "clip" (1).mp4';
      const { url, expiresInS } = await storage.link('linked', { fileName, contentType, expiresInS: 60 });
      expect(expiresInS).toBe(60);
      const whole = await fetch(url);
      expect([whole.status, await whole.text()]).toEqual([200, '0123456789']);
      expect(whole.headers.get('content-type')).toBe('video/mp4');
      expect(whole.headers.get('content-disposition')).toBe(
        `attachment; filename="Z_rich _clip_ (1).mp4"; filename*=UTF-8''Z%C3%BCrich%20%22clip%22%20%281%29.mp4`,
      );
      const part = await fetch(url, { headers: { range: 'bytes=3-5' } });
      expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 3-5/10', '345']);
    });

    it.each([
      { name: 'another key', change: (url: string) => url.replace('/linked', '/marked') },
      { name: 'a later expiry', change: (url: string) => url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600') },
      { name: 'another file name', change: (url: string) => url.replace('a.mp4', 'b.exe') },
    ])('refuse $name', async ({ change }) => {
      await put('linked', '0123456789');
      const { url } = await storage.link('linked', { fileName: 'a.mp4', contentType, expiresInS: 60 });
      expect(change(url)).not.toBe(url);
      expect((await fetch(change(url))).status).toBe(403);
    });

    it('name the URL that customers know, and are signed for it', async () => {
      await put('public', 'for customers');
      const { endpoint, region, clientConfig } = server;
      const publicEndpoint = endpoint.replace('127.0.0.1', 'localhost');
      const known = createS3Storage({ bucket: 'media', region, endpoint, publicEndpoint, client: clientConfig });
      const { url } = await known.link('public', { fileName: 'a.mp4', contentType, expiresInS: 60 });
      expect(new URL(url).origin).toBe(publicEndpoint);
      expect(await (await fetch(url)).text()).toBe('for customers');
      expect((await fetch(url.replace('localhost', '127.0.0.1'))).status).toBe(403);
      known.close();
    });

    it('end with their time and with their object', async () => {
      await put('linked', '0123456789');
      const options = { fileName: 'a.mp4', contentType };
      const short = await storage.link('linked', { ...options, expiresInS: 1 });
      const long = await storage.link('linked', { ...options, expiresInS: 600 });
      await sleep(2100);
      expect((await fetch(short.url)).status).toBe(403);
      await storage.destroy('linked');
      expect((await fetch(long.url)).status).toBe(404);
    });
  });

  it('survives a server that is killed in the middle of an upload: no half object, and a retry is whole', async () => {
    const path = join(dir, 'large');
    const data = Buffer.alloc(160 * 1024 * 1024, 'reelmend');
    await writeFile(path, data);
    const put = storage.putFile('killed', path, { contentType });
    const failed = expect(put).rejects.toThrow();
    for (let attempts = 0; !(await uploads()).includes('killed'); attempts += 1) {
      if (attempts === 500) throw new Error('the upload never began');
      await sleep(5);
    }
    await server.kill();
    await failed;
    await server.restart();
    expect(await storage.stat('killed')).toBeNull();
    await storage.destroy('killed');
    expect(await storage.isAbsent('killed')).toBe(true);
    await storage.putFile('killed', path, { contentType });
    await storage.getFile('killed', join(dir, 'back'));
    expect(data.equals(await readFile(join(dir, 'back')))).toBe(true);
  });

  it("throws what is an operator's mistake instead of calling the key absent", async () => {
    const { endpoint, region, clientConfig } = server;
    const wrong = [
      createS3Storage({ bucket: 'no-such-bucket', region, endpoint, client: { ...clientConfig, maxAttempts: 1 } }),
      createS3Storage({
        bucket: 'media',
        region,
        endpoint,
        client: { credentials: { accessKeyId: server.credentials.accessKeyId, secretAccessKey: 'wrong' }, maxAttempts: 1 },
      }),
      createS3Storage({
        ...{ bucket: 'media', region, endpoint },
        client: { credentials: { accessKeyId: 'nobody', secretAccessKey: server.credentials.secretAccessKey }, maxAttempts: 1 },
      }),
    ];
    for (const storage of wrong) {
      const calls: (() => Promise<unknown>)[] = [() => storage.isAbsent('key'), () => storage.destroy('key'), () => storage.open('key'), () => storage.stat('key')];
      calls.push(() => storage.completeMultipart({ key: 'key', id: 'upload' }, { count: 1, size: 1 }));
      for (const call of calls) expect(isStorageFault(await call().catch((error: unknown) => error))).toBe(true);
      storage.close();
    }
  });

  it('refuses a part size that no S3 server takes', () => {
    expect(() => createS3Storage({ bucket: 'media', region: 'x', partSize: 1000 })).toThrow(/partSize/);
  });
});
