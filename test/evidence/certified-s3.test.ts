/** Certificates over a real S3 server with versions: every version, every unfinished upload, and an outage. */
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEvidence, verifyCertificate } from '../../src/evidence/index.ts';
import { createS3Storage, type S3Storage } from '../../src/storage/s3.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { createWorkshop, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

const there = (await findS3Server()) !== null;
const Bucket = 'certified';
let s3: S3Server;
let client: S3Client;
let storage: S3Storage;
let world: World;
let shop: Workshop;
beforeAll(async () => {
  if (!there) return;
  s3 = (await startS3Server())!;
  await s3.createBucket(Bucket, { versioning: true });
  const { endpoint, region, credentials } = s3;
  client = new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 });
  storage = createS3Storage({ endpoint, region, bucket: Bucket, client: s3.clientConfig });
  world = await createWorld();
  shop = await createWorkshop(world);
  await shop.worker({ deps: { storage } }).start();
}, 900_000);
afterAll(async () => {
  await shop?.close();
  await world?.close();
  storage?.close();
  client?.destroy();
  await s3?.close();
});

const remains = async (Prefix: string) => {
  const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket, Prefix }));
  // MinIO lists unfinished uploads of no prefix but a whole key.
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
  return [Versions.length, DeleteMarkers.length, Uploads.filter(({ Key }) => Key?.startsWith(Prefix)).length];
};

describe.skipIf(!there)('a deletion certificate over S3', () => {
  it(
    'comes after every version and every unfinished upload is gone, and after the outage',
    async () => {
      const account = await fundedAccount(world.store, 60);
      const { job } = await world.store.jobs.create(jobInput(account, { tier: 'secure' }));
      const state = async () => (await world.store.certificates.get(account.id, 'live', job.id))?.state;
      await eventually(async () => (await world.store.jobs.get(account.id, 'live', job.id))?.status === 'done');
      const Key = (await world.store.jobs.resultFiles(job.id))!.outputKey;
      await client.send(new PutObjectCommand({ Bucket, Key, Body: 'an older or a newer version' }));
      await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
      expect(await remains(`jobs/${job.id}/`)).toEqual([3, 0, 1]);

      await s3.kill();
      await world.store.jobs.delete(account.id, 'live', job.id);
      await new Promise((resolve) => setTimeout(resolve, 3000));
      expect(await state()).toBe('pending');
      await s3.restart();
      await eventually(async () => (await state()) === 'issued');
      expect(await remains(`jobs/${job.id}/`)).toEqual([0, 0, 0]);

      const issued = await world.store.certificates.get(account.id, 'live', job.id);
      const keys = await createEvidence({ keys: world.store.signingKeys, cipher: testCipher }).jwks();
      const payload = await verifyCertificate(issued?.state === 'issued' ? issued.jws : '', keys);
      expect(payload).toMatchObject({ storage: 's3', objects: [{ role: 'original' }, { role: 'output' }] });
      for (const object of payload.objects) expect(object.version).toMatch(/\w+/);
    },
  );
});
