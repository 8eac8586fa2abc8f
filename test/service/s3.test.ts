/** The whole service, in processes of its own, with its storage in a bucket. REELMEND_TEST_S3 names another server (test/README.md). */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Upload } from '../../src/contract/types.gen.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { call, createCustomer, createSite, type Customer, type Environment, type Running, type Site, waitForEnd } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const haveS3 = (await findS3Server()) !== null;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** A short clip, followed by an empty box, which makes it an upload of two parts. */
async function makeFilm(): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-film-'));
  await makeClip(join(dir, 'film.mp4'), { video: 'testsrc2=size=64x36:rate=5', seconds: 1, args: ['-c:v', 'libx264'], audio: null });
  const box = Buffer.alloc(8_500_000);
  box.writeUInt32BE(box.length);
  box.write('free', 4);
  const film = Buffer.concat([await readFile(join(dir, 'film.mp4')), box]);
  await rm(dir, { recursive: true });
  return film;
}

describe.skipIf(!haveS3)('the service with a bucket', () => {
  let server: S3Server;
  let client: S3Client;
  let film: Buffer;
  const environment = (S3_BUCKET: string): Environment => ({
    ...{ S3_BUCKET, S3_ENDPOINT: server.endpoint, S3_REGION: server.region },
    ...{ AWS_ACCESS_KEY_ID: server.credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: server.credentials.secretAccessKey },
  });
  beforeAll(async () => {
    server = (await startS3Server())!;
    const { endpoint, region, credentials } = server;
    client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
    film = await makeFilm();
  });
  afterAll(async () => {
    client?.destroy();
    await server?.close();
  });

  describe.each([
    { name: 'without versioning', bucket: 'plain', versioning: false },
    { name: 'with versioning', bucket: 'versioned', versioning: true },
  ])('$name', ({ bucket, versioning }) => {
    let site: Site;
    let customer: Customer;
    let api: Running;
    beforeAll(async () => {
      await server.createBucket(bucket, { versioning });
      site = await createSite(environment(bucket));
      customer = await createCustomer(site, { tier: 'secure' });
      api = await site.start('start');
    });
    afterAll(() => site?.close());

    const remains = async () => {
      const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket })).catch(() => ({ Versions: [], DeleteMarkers: [] }));
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
      return [...Versions, ...DeleteMarkers, ...Uploads].map(({ Key }) => Key);
    };
    const request = async <T>(method: string, path: string, body?: unknown) => (await call<T>(api.url, customer.key, method, path, body)).body;
    const beginUpload = () => request<Upload>('POST', '/v1/uploads', { file_name: 'Ferien am Meer (1).mp4', size_bytes: film.length, sha256: sha256(film) });
    const sendPart = async ({ url, offset, size_bytes }: Upload['parts'][number]) =>
      (await fetch(url, { method: 'PUT', body: film.subarray(offset, offset + size_bytes) as Uint8Array<ArrayBuffer> })).status;

    it('enhances an upload, serves its result, and certifies that all of it is gone', async () => {
      const upload = await beginUpload();
      expect(upload.parts).toHaveLength(2);
      for (const part of [upload.parts[1]!, ...upload.parts]) expect(await sendPart(part)).toBe(200);
      await request('POST', `/v1/uploads/${upload.id}/complete`, {});
      const status = async () => (await request<Upload>('GET', `/v1/uploads/${upload.id}`)).status;
      await eventually(async () => (await status()) === 'ready', 'the upload is ready');
      const created = await request<{ id: string }>('POST', '/v1/jobs', { upload_id: upload.id, resolution: '1080p', secure: true });
      expect(await waitForEnd(api.url, customer.key, created.id)).toMatchObject({ status: 'done' });
      const { download_url: url } = await request<{ download_url: string }>('GET', `/v1/jobs/${created.id}/result`);
      const result = Buffer.from(await (await fetch(url)).arrayBuffer());
      const job = await request<{ output: { sha256: string } }>('GET', `/v1/jobs/${created.id}`);
      expect(sha256(result)).toBe(job.output.sha256);
      const range = await fetch(url, { headers: { Range: 'bytes=100-199' } });
      expect([range.status, result.subarray(100, 200).equals(Buffer.from(await range.arrayBuffer()))]).toEqual([206, true]);
      await request('DELETE', `/v1/jobs/${created.id}`);
      const certificate = () => call(api.url, customer.key, 'GET', `/v1/jobs/${created.id}/deletion-certificate`);
      await eventually(async () => (await certificate()).status === 200, 'the certificate is issued');
      expect(await remains()).toEqual([]);
      expect((await fetch(url)).status).toBe(404);
    });

    it('leaves no part of an upload that is deleted before its end', async () => {
      const upload = await beginUpload();
      expect(await sendPart(upload.parts[0]!)).toBe(200);
      await request('DELETE', `/v1/uploads/${upload.id}`);
      await eventually(async () => (await remains()).length === 0, 'the part is gone');
      expect(await sendPart(upload.parts[1]!)).toBe(404);
    });
  });

  it.each([
    { name: 'a bucket that does not exist', change: (): Environment => ({ S3_BUCKET: 'no-such-bucket' }) },
    { name: 'a wrong secret', change: (): Environment => ({ AWS_SECRET_ACCESS_KEY: 'wrong' }) },
    { name: 'an unknown key', change: (): Environment => ({ AWS_ACCESS_KEY_ID: 'nobody' }) },
  ])('answers 503 to uploads with $name', async ({ change }) => {
    const site = await createSite({ ...environment('plain'), ...change() });
    try {
      const { key } = await createCustomer(site);
      const { url } = await site.start('serve');
      const input = { file_name: 'a.mp4', size_bytes: 1000 };
      expect((await call(url, key, 'POST', '/v1/uploads', input)).status).toBe(503);
    } finally {
      await site.close();
    }
  });
});
