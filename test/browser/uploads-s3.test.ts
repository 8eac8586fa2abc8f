/** Files that go straight to a bucket of a real S3 server: from the console in a real browser, from the SDK and from the command line. */
import { createHash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PutBucketCorsCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { partSizeBytes } from '../../src/domain/uploads.ts';
import { createReelmend, type Quote, type Upload } from '../../src/sdk/index.ts';
import { runCommand } from '../helpers/command.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { createCustomer } from '../helpers/service.ts';
import { letIn, makeOperator } from './operator.ts';
import { dropFiles, openTab, openWorld, signUp, type World } from './world.ts';

const haveS3 = (await findS3Server()) !== null;
const bucket = 'films';

describe.skipIf(!haveS3)('a file of two parts', () => {
  let server: S3Server;
  let world: World;
  let clip: string;
  let sha256: string;
  let key: string;
  beforeAll(async () => {
    server = (await startS3Server())!;
    await server.createBucket(bucket);
    const { accessKeyId, secretAccessKey } = server.credentials;
    world = await openWorld({ S3_ENDPOINT: server.endpoint, S3_BUCKET: bucket, S3_REGION: server.region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
    clip = join(world.site.dataDir, 'walk.mp4');
    await makeClip(clip, { video: 'testsrc2=size=160x90:rate=10', seconds: 1, audio: null, args: ['-c:v', 'libx264'] });
    await appendFile(clip, padding(partSizeBytes + 1234));
    sha256 = createHash('sha256').update(await readFile(clip)).digest('hex');
    ({ key } = await createCustomer(world.site));
  });
  afterAll(async () => {
    await world?.close();
    await server?.close();
  });

  /** A box of MP4 that players skip. */
  function padding(size: number): Buffer {
    const box = Buffer.alloc(size);
    box.writeUInt32BE(size);
    box.write('free', 4);
    return box;
  }

  /** Origins that the programs of this process send parts to. */
  const sentTo: string[] = [];
  beforeEach(() => {
    sentTo.length = 0;
    const real = globalThis.fetch;
    vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
      if (input instanceof Request && input.method === 'PUT') sentTo.push(new URL(input.url).origin);
      return real(input, init);
    });
  });
  afterEach(() => void vi.restoreAllMocks());

  it('is sent by the SDK, and measured there', async () => {
    const reelmend = createReelmend({ baseUrl: world.service.url, apiKey: key });
    const upload = await reelmend.uploads.create(await openAsBlob(clip), { name: 'walk.mp4' });
    expect(upload).toMatchObject({ status: 'ready', sha256 });
    expect(sentTo).toEqual([server.endpoint, server.endpoint]);
    const quote: Quote = await reelmend.quotes.create({ upload_id: upload.id, resolution: '1080p' });
    expect(quote.duration_seconds).toBe(1);
  });

  it('is sent by the command line', async () => {
    const env = { PATH: process.env['PATH']!, HOME: world.site.dataDir, REELMEND_URL: world.service.url, REELMEND_API_KEY: key };
    const { status, stdout, stderr } = await runCommand(['upload', clip, '--json'], { env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout) as Upload[]).toMatchObject([{ status: 'ready', sha256 }]);
    expect(sentTo).toEqual([server.endpoint, server.endpoint]);
  });

  it('is dropped on the console, once the bucket allows what the guide for operators says', async () => {
    await allowPages(new URL(world.url).origin);
    const customer = await openTab(world);
    const operator = await openTab(world);
    await signUp(customer, world, 'ada@example.com', 'Analytical Engines');
    await signUp(operator, world, 'grace@example.com', 'Operations');
    await makeOperator(world);
    await letIn(operator, 'Analytical Engines');
    const { page, complaints } = customer;
    const parts: string[] = [];
    page.on('request', (request) => request.method() === 'PUT' && parts.push(new URL(request.url()).origin));
    await page.goto(`${world.url}/enhance`);
    await page.getByRole('radio', { name: 'Files' }).check();
    await dropFiles(page, [clip]);
    await page.getByText('160 × 90, h264').waitFor();
    expect(parts).toEqual([server.endpoint, server.endpoint]);
    // The bucket is the one other host that the page may call.
    expect([...new Set(complaints)]).toEqual([`request to ${server.endpoint}`]);
    expect(operator.complaints).toEqual([]);
  });

  /** The rule of the section "Uploads" of docs/database-and-storage.md. */
  async function allowPages(origin: string): Promise<void> {
    const { endpoint, region, credentials } = server;
    const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
    const CORSRules = [{ AllowedMethods: ['PUT'], AllowedOrigins: [origin], AllowedHeaders: ['Content-Type'] }];
    await client.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration: { CORSRules } }));
    client.destroy();
  }
});
