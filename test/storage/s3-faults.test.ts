/** S3 through a proxy that fails at chosen requests: errors, lost answers, cut bodies. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, request as forward } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isStorageFault } from '../../src/storage/faults.ts';
import { createS3Storage } from '../../src/storage/s3.ts';
import type { S3Storage } from '../../src/storage/index.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { findS3Server, startS3Server } from '../helpers/s3.ts';
import type { S3Server } from '../helpers/s3.ts';

type Operation =
  'PutObject' | 'CreateMultipartUpload' | 'UploadPart' | 'CompleteMultipartUpload' | 'GetObject' | 'HeadObject' | 'DeleteObject' | 'List';
type Fault = 'refuse' | 'answer late' | 'lose the answer' | 'cut the body';

const lateMs = 300;

interface FaultPlan {
  operations: Operation[];
  fault: Fault;
  /** how many requests of each operation fail */
  times: number;
}

function operationOf(request: IncomingMessage): Operation {
  const query = new URL(request.url ?? '/', 'http://proxy').searchParams;
  if (query.has('versions') || (query.has('uploads') && request.method === 'GET') || query.has('list-type'))
    return 'List';
  if (request.method === 'PUT') return query.has('partNumber') ? 'UploadPart' : 'PutObject';
  if (request.method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload';
  if (request.method === 'POST' && query.has('uploadId')) return 'CompleteMultipartUpload';
  if (request.method === 'HEAD') return 'HeadObject';
  return request.method === 'DELETE' ? 'DeleteObject' : 'GetObject';
}

/** Forwards as it is (the signature covers the Host header) and fails by plan. */
async function startFaultProxy(target: string) {
  let plan: FaultPlan | null = null;
  const failed = new Map<Operation, number>();
  const faultOf = (operation: Operation): Fault | null => {
    const count = failed.get(operation) ?? 0;
    if (plan === null || !plan.operations.includes(operation) || count >= plan.times) return null;
    failed.set(operation, count + 1);
    return plan.fault;
  };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const fault = faultOf(operationOf(request));
    if (fault === 'refuse') {
      request.resume().on('end', () => response.writeHead(503, { 'content-type': 'application/xml' }).end());
      return;
    }
    const { hostname, port } = new URL(target);
    const { method, url, headers } = request;
    const onward = forward({ hostname, port, method, path: url, headers, agent: false }, (answer) => {
      if (fault === 'lose the answer') return void answer.resume().on('end', () => response.destroy());
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (fault === 'answer late') return void setTimeout(() => answer.pipe(response), lateMs);
      if (fault !== 'cut the body') return void answer.pipe(response);
      answer.once('data', (chunk: Buffer) => response.write(chunk, () => response.socket?.resetAndDestroy()));
    });
    request.pipe(onward.on('error', () => response.destroy()));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fail(next: FaultPlan | null) {
      plan = next;
      failed.clear();
    },
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

const haveS3 = (await findS3Server()) !== null;
const always = Number.POSITIVE_INFINITY;

describe.skipIf(!haveS3)('S3 storage behind faults', () => {
  let server: S3Server;
  let proxy: Awaited<ReturnType<typeof startFaultProxy>>;
  let storage: S3Storage;
  let direct: S3Storage;
  let client: S3Client;
  let dir: string;
  const small = randomBytes(1000);
  const large = randomBytes(11 * 1024 * 1024);

  beforeAll(async () => {
    server = (await startS3Server())!;
    await server.createBucket('media', { versioning: true });
    proxy = await startFaultProxy(server.endpoint);
    const { region, credentials } = server;
    const options = { bucket: 'media', region, partSize: 5 * 1024 * 1024, client: { credentials, maxAttempts: 3 } };
    storage = createS3Storage({ ...options, endpoint: proxy.endpoint });
    direct = createS3Storage({ ...options, endpoint: server.endpoint });
    client = new S3Client({ endpoint: server.endpoint, region, credentials, forcePathStyle: true });
  });
  afterAll(async () => {
    for (const one of [storage, direct]) one.close();
    client.destroy();
    await proxy.close();
    await server.close();
  });
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-s3-faults-'));
  });
  afterEach(async () => {
    proxy.fail(null);
    await direct.destroy('key');
    await rm(dir, { recursive: true, force: true });
  });

  const put = async (through: S3Storage, data: Buffer) => {
    await writeFile(join(dir, 'put'), data);
    return through.putFile('key', join(dir, 'put'), { contentType: 'video/mp4' });
  };
  const expectStored = async (data: Buffer) => {
    await direct.getFile('key', join(dir, 'back'));
    expect(data.equals(await readFile(join(dir, 'back')))).toBe(true);
  };
  const versions = async () =>
    (await client.send(new ListObjectVersionsCommand({ Bucket: 'media' }))).Versions?.map((entry) => entry.VersionId) ??
    [];

  const every: Operation[] = [
    'PutObject',
    'UploadPart',
    'CompleteMultipartUpload',
    'GetObject',
    'HeadObject',
    'DeleteObject',
    'List',
  ];

  it.each([
    { name: 'small', data: small },
    { name: 'multipart', data: large },
  ])(
    'gets a $name object through two passing 503 at every operation',
    async ({ data }) => {
      for (const operation of every) {
        proxy.fail({ operations: [operation], fault: 'refuse', times: 2 });
        await put(storage, data);
        expect(await storage.stat('key')).toEqual({ size: data.length });
        expect(await storage.getFile('key', join(dir, 'got'))).toBe(true);
        expect(data.equals(await readFile(join(dir, 'got')))).toBe(true);
        await storage.destroy('key');
        expect(await storage.isAbsent('key')).toBe(true);
      }
    },
  );

  it.each([1, always])('knows its multipart object when the last answer is lost, %d times', async (times) => {
    proxy.fail({ operations: ['CompleteMultipartUpload'], fault: 'lose the answer', times });
    const stored = await put(storage, large);
    expect(await versions()).toEqual([stored.version]);
    await expectStored(large);
  });

  it.each<[string, FaultPlan]>([
    ['began it unheard', { operations: ['CreateMultipartUpload'], fault: 'lose the answer', times: 1 }],
    ['failed while the storage was away', { operations: ['UploadPart', 'DeleteObject'], fault: 'refuse', times: always }],
  ])('leaves no parts beside an object when an earlier attempt %s', async (_, plan) => {
    proxy.fail(plan);
    await put(storage, large).catch(() => undefined);
    proxy.fail(null);
    if (plan.fault === 'refuse') await put(storage, large);
    await expectStored(large);
    expect((await client.send(new ListMultipartUploadsCommand({ Bucket: 'media' }))).Uploads ?? []).toEqual([]);
  });

  it('leaves nothing of an upload that is aborted while the server makes it', async () => {
    proxy.fail({ operations: ['CreateMultipartUpload'], fault: 'answer late', times: 1 });
    await writeFile(join(dir, 'large'), large);
    const reason = new Error('stopped by the test');
    const control = new AbortController();
    setTimeout(() => control.abort(reason), lateMs / 2);
    const put = storage.putFile('aborted', join(dir, 'large'), { contentType: 'video/mp4', signal: control.signal });
    await expect(put).rejects.toBe(reason);
    expect(await direct.isAbsent('aborted')).toBe(true);
  });

  it('stores a small object whose answer is lost, and destroys what the repetition doubled', async () => {
    proxy.fail({ operations: ['PutObject'], fault: 'lose the answer', times: 1 });
    const stored = await put(storage, small);
    expect((await versions())[0]).toBe(stored.version);
    await expectStored(small);
    await storage.destroy('key');
    expect(await versions()).toEqual([]);
  });

  it.each([
    { operation: 'UploadPart' as const, data: large },
    { operation: 'CompleteMultipartUpload' as const, data: large },
    { operation: 'PutObject' as const, data: small },
  ])('leaves nothing of an upload whose $operation keeps failing', async ({ operation, data }) => {
    proxy.fail({ operations: [operation], fault: 'refuse', times: always });
    await expect(put(storage, data)).rejects.toThrow();
    expect(await direct.isAbsent('key')).toBe(true);
  });

  it('does not take an older object for the failed upload', async () => {
    await put(direct, small);
    proxy.fail({ operations: ['PutObject'], fault: 'refuse', times: always });
    await expect(put(storage, randomBytes(small.length))).rejects.toThrow();
    await expectStored(small);
  });

  it.each(['DeleteObject', 'List'] as const)(
    'rejects destroy when %s keeps failing, and never says absent',
    async (operation) => {
      await put(direct, small);
      proxy.fail({ operations: [operation], fault: 'refuse', times: always });
      await expect(storage.destroy('key')).rejects.toThrow();
      proxy.fail({ operations: ['List', 'HeadObject'], fault: 'refuse', times: always });
      await expect(storage.isAbsent('key')).rejects.toThrow();
      await expectStored(small);
    },
  );

  it('leaves no half file when a body is cut', async () => {
    await put(direct, large);
    proxy.fail({ operations: ['GetObject'], fault: 'cut the body', times: always });
    await expect(storage.getFile('key', join(dir, 'got'))).rejects.toThrow();
    expect(await readdir(dir)).not.toContain('got');
  });
});

/** What requests of customers wait for. The limits of the SDK come to minutes. */
it.each<[string, (storage: S3Storage) => Promise<unknown>]>([
  ['begins an upload', (storage) => storage.createMultipart('key')],
  ['lists the parts of one', (storage) => storage.listParts({ key: 'key', id: 'upload' })],
  ['reads the size of an object', (storage) => storage.stat('key')],
  ['opens one', (storage) => storage.open('key')],
])('does not wait long for a silent server when it %s', async (_, ask) => {
  const silent = await startRawServer(() => undefined);
  const client = { credentials: { accessKeyId: 'key', secretAccessKey: 'secret' }, maxAttempts: 1, requestHandler: { socketTimeout: 3000 } };
  const storage = createS3Storage({ bucket: 'b', region: 'us-east-1', endpoint: `http://${silent.hostPort}`, answerTimeoutMs: 300, client });
  const answer = await ask(storage).catch((error: unknown) => error);
  storage.close();
  await silent.close();
  expect(answer).toMatchObject({ name: 'TimeoutError', message: 'The storage did not answer within 300 ms' });
});

it.each([
  { name: 'lists no uploads', uploads: 200 },
  // rclone before the first upload
  { name: 'answers 404 to the listing of uploads if there are none', uploads: 404 },
])('destroys a key that is gone, on a server without versions that answers 404 then, and $name', async ({ uploads }) => {
  const xml = (name: string, content: string) => `<?xml version="1.0"?><${name}>${content}</${name}>`;
  const server = createServer((request, response) => {
    const answer = (status: number, text: string) => response.writeHead(status, { 'content-type': 'application/xml' }).end(text);
    const { searchParams } = new URL(request.url!, 'http://server');
    if (searchParams.has('uploads')) answer(uploads, uploads === 200 ? xml('ListMultipartUploadsResult', '') : xml('Error', '<Code>NoSuchUpload</Code>'));
    else if (searchParams.has('versions')) answer(501, xml('Error', '<Code>NotImplemented</Code>'));
    else if (searchParams.has('list-type')) answer(200, xml('ListBucketResult', ''));
    else answer(404, xml('Error', '<Code>NoSuchKey</Code>'));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const storage = createS3Storage({ bucket: 'b', region: 'us-east-1', endpoint, client: { credentials: { accessKeyId: 'key', secretAccessKey: 'secret' }, maxAttempts: 1 } });
  await storage.destroy('key');
  expect(await storage.isAbsent('key')).toBe(true);
  storage.close();
  server.closeAllConnections();
  server.close();
});

/**
 * An S3 server with one object of a multipart upload. Like versitygw, it joins the parts slowly, and answers a repeated request at once.
 * `listing`: whether it answers the listing of uploads.
 */
async function startJoiningServer({ size, joinMs, listing }: { size: number; joinMs: number; listing: boolean }) {
  let mark = '';
  let joined = Number.POSITIVE_INFINITY;
  const listings: number[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url!, 'http://server');
    const xml = (name: string, content = '', status = 200) =>
      void response.writeHead(status, { 'content-type': 'application/xml', etag: '"tag"' }).end(`<?xml version="1.0"?><${name}>${content}</${name}>`);
    const head = () => {
      const found = performance.now() >= joined;
      const headers = { 'content-length': size, 'x-amz-meta-reelmend-upload': mark, 'x-amz-version-id': 'version' };
      response.writeHead(found ? 200 : 404, found ? headers : {}).end();
    };
    const listUploads = () => {
      listings.push(performance.now());
      if (listing) xml('ListMultipartUploadsResult');
    };
    const begin = () => {
      mark = String(request.headers['x-amz-meta-reelmend-upload']);
      xml('InitiateMultipartUploadResult', '<UploadId>id</UploadId>');
    };
    const complete = () => {
      const isFirst = joined === Number.POSITIVE_INFINITY;
      if (isFirst) joined = performance.now() + joinMs;
      if (!isFirst || joinMs === 0) xml('CompleteMultipartUploadResult', '<ETag>"claimed"</ETag>');
    };
    request.resume().on('end', () => {
      if (request.method === 'HEAD') head();
      else if (request.method === 'PUT') xml('Answer');
      else if (request.method === 'DELETE') response.writeHead(204).end();
      else if (request.method === 'POST') (searchParams.has('uploads') ? begin : complete)();
      else if (searchParams.has('uploads')) listUploads();
      else if (searchParams.has('uploadId')) xml('ListPartsResult', `<Part><PartNumber>1</PartNumber><ETag>"tag"</ETag><Size>${size}</Size></Part>`);
      else xml('ListBucketResult');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { credentials: { accessKeyId: 'key', secretAccessKey: 'secret' }, requestHandler: { socketTimeout: 400 } };
  const storage = createS3Storage({ bucket: 'b', region: 'us-east-1', endpoint, partSize: 5 * 1024 * 1024, answerTimeoutMs: 300, client });
  const close = async () => {
    storage.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return { storage, listings, close };
}

describe('a multipart upload', () => {
  const size = 6 * 1024 * 1024;
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-s3-joining-'));
    await writeFile(join(dir, 'large'), Buffer.alloc(size));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it.each<[string, (storage: S3Storage) => Promise<unknown>]>([
    ['by the service', (storage) => storage.putFile('key', join(dir, 'large'), { contentType: 'video/mp4' })],
    ['by a customer', (storage) => storage.completeMultipart({ key: 'key', id: 'id' }, { count: 1, size })],
  ])('%s is stored on a server that joins its parts longer than a response may take', async (_, store) => {
    const server = await startJoiningServer({ size, joinMs: 1500, listing: true });
    const stored = await store(server.storage).catch((error: unknown) => error);
    await server.close();
    expect(stored).toMatchObject({ version: 'version' });
  });

  it('does not wait long for a server that is silent about earlier ones', async () => {
    const server = await startJoiningServer({ size, joinMs: 0, listing: false });
    await server.storage.putFile('key', join(dir, 'large'), { contentType: 'video/mp4' });
    await server.close();
    expect(server.listings).toHaveLength(3);
  });
});

describe('an answer that no S3 server sends', () => {
  const page = '<html><body><h1>Bad Gateway</h1><hr><br></body></html>';
  const listing = '<?xml version="1.0"?><ListPartsResult><Bucket>b</Bucket><Part><PartNumber>1</PartNumber>';
  const head = (status: number, text: string) => `HTTP/1.1 ${status} OK\r\nContent-Type: application/xml\r\nContent-Length: ${text.length}\r\n\r\n`;
  it.each([
    ['truncated XML', head(200, listing) + listing],
    ['truncated XML of an error', head(404, listing) + listing],
    ['a page of a gateway', head(200, page) + page],
    ['a page of a gateway that misses it', head(404, page) + page],
    ['an error whose connection is cut', head(404, page) + page.slice(0, 9)],
    ['something other than HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ])('is a fault of the storage: %s', async (_, bytes) => {
    const server = await startRawServer((socket) => void socket.once('data', () => socket.end(bytes)));
    const client = { credentials: { accessKeyId: 'key', secretAccessKey: 'secret' }, maxAttempts: 1 };
    const storage = createS3Storage({ bucket: 'b', region: 'us-east-1', endpoint: `http://${server.hostPort}`, client });
    const calls = [() => storage.listParts({ key: 'key', id: 'upload' }), () => storage.destroy('key'), () => storage.createMultipart('key')];
    for (const call of calls) expect(isStorageFault(await call().catch((error: unknown) => error))).toBe(true);
    storage.close();
    await server.close();
  });
});

describe('a list that goes on, but the server does not say where', () => {
  const calls: Record<string, (storage: S3Storage) => Promise<unknown>> = {
    async objects(storage) {
      for await (const key of storage.list('jobs/')) expect(key).toBeUndefined();
    },
    parts: (storage) => storage.listParts({ key: 'key', id: 'upload' }),
    uploads: (storage) => storage.destroy('key'),
    versions: (storage) => storage.destroy('key'),
  };
  const nameOf = (query: URLSearchParams) => ['versions', 'uploads'].find((name) => query.has(name)) ?? (query.has('uploadId') ? 'parts' : 'objects');
  const markers = ['NextContinuationToken', 'NextPartNumberMarker', 'NextKeyMarker'].map((name) => `<${name}>1</${name}>`).join('');

  it.each(Object.keys(calls).flatMap((what) => [[what, 'without a place', ''], [what, 'with the same place again', markers]] as const))('ends with an error: %s %s', async (what, _, next) => {
    const server = createServer((request, response) => {
      const isMeant = nameOf(new URL(request.url!, 'http://server').searchParams) === what;
      response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?><Result><IsTruncated>${isMeant}</IsTruncated>${isMeant ? next : ''}</Result>`);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const client = { credentials: { accessKeyId: 'key', secretAccessKey: 'secret' }, maxAttempts: 1 };
    const storage = createS3Storage({ bucket: 'b', region: 'us-east-1', endpoint: `http://127.0.0.1:${port}`, client });
    await expect(calls[what]!(storage)).rejects.toThrow('the storage says that a list goes on, but not where');
    storage.close();
    await new Promise((closed) => server.close(closed));
  });
});
