/** Uploads by presigned URLs straight to a real S3 server, and what the worker does with them. */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partSizeBytes, partsOf } from '../../src/domain/uploads.ts';
import { createEvidence, verifyCertificate } from '../../src/evidence/index.ts';
import { createS3Storage, type S3Storage } from '../../src/storage/s3.ts';
import type { Account } from '../../src/store/types.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { createWorkshop, type Workshop } from '../helpers/worker-fakes.ts';
import { eventually } from '../helpers/wait.ts';
import { createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

const haveS3 = (await findS3Server()) !== null;
const film = randomBytes(partSizeBytes + 1234);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe.skipIf(!haveS3)('an upload to S3', () => {
  let server: S3Server;
  let storage: S3Storage;
  let world: World;
  let shop: Workshop;
  let account: Account;
  beforeAll(async () => {
    server = (await startS3Server())!;
    await server.createBucket('uploads', { versioning: true });
    const { endpoint, region, clientConfig } = server;
    storage = createS3Storage({ bucket: 'uploads', region, endpoint, client: clientConfig });
    world = await createWorld();
    shop = await createWorkshop(world);
    account = await fundedAccount(world.store, 600);
    await shop.worker({ deps: { storage }, tuning: { uploadNeededRetryS: 1 } }).start();
  });
  afterAll(async () => {
    await shop?.close();
    storage?.close();
    await world?.close();
    await server?.close();
  });

  /** An upload whose parts were sent to the bucket, and the statuses that S3 answered. */
  async function send(bytes: Buffer, checksum: string) {
    const input = { accountId: account.id, mode: 'live' as const, fileName: 'a.mov', sizeBytes: bytes.length, sha256: checksum, quotaBytes: 1e9 };
    const { upload } = await world.store.uploads.create(input);
    const transfer = await storage.createMultipart(upload.key);
    await world.store.uploads.begin(upload.id, transfer.id);
    const statuses: number[] = [];
    for (const { number, offset, size } of partsOf(upload)) {
      const { url } = await storage.linkPart(transfer, { number, size, expiresInS: 60 });
      // Nothing but the URL, as a browser would.
      const response = await fetch(url, { method: 'PUT', body: bytes.subarray(offset, offset + size) as Uint8Array<ArrayBuffer> });
      statuses.push(response.status);
    }
    await world.store.uploads.complete(account.id, 'live', upload.id, { sha256: null, partSha256: null });
    return { upload, statuses, transfer };
  }
  const status = async (id: string) => (await world.store.uploads.get(account.id, 'live', id))?.status;

  it('is verified, read by a job, deleted with it in every version, and certified', async () => {
    const { upload, statuses } = await send(film, sha256(film));
    expect(statuses).toEqual([200, 200]);
    await eventually(async () => (await status(upload.id)) === 'ready');
    const input = jobInput(account, { videoUrl: null, upload, tier: 'secure' });
    const { job } = await world.store.jobs.create(input);
    const done = async () => (await world.store.jobs.get(account.id, 'live', job.id))?.status === 'done';
    await eventually(done);
    await world.store.jobs.delete(account.id, 'live', job.id);
    const issued = () => world.store.certificates.get(account.id, 'live', job.id);
    await eventually(async () => (await issued())?.state === 'issued');
    const state = await issued();
    const keys = await createEvidence({ keys: world.store.signingKeys, cipher: testCipher }).jwks();
    const { objects } = await verifyCertificate(state?.state === 'issued' ? state.jws : '', keys);
    expect(objects.map(({ role }) => role)).toEqual(['original', 'output', 'upload']);
    expect(objects[2]).toMatchObject({ key: upload.key, sha256: sha256(film), size_bytes: film.length, version: expect.any(String) as string });
    for (const { key } of objects) expect(await storage.isAbsent(key)).toBe(true);
    expect(shop.errors).toEqual([]);
  });

  it('fails when the bucket has other bytes, which are destroyed', async () => {
    const { upload } = await send(film, '0'.repeat(64));
    await eventually(async () => (await status(upload.id)) === 'failed');
    await eventually(() => storage.isAbsent(upload.key));
  });

  it('is taken up again when its completion took effect and the response was lost', async () => {
    const { upload, transfer } = await send(film, sha256(film));
    // Whoever comes second finds no parts any more.
    await storage.completeMultipart(transfer, { count: 2, size: film.length }).catch(() => undefined);
    await eventually(async () => (await status(upload.id)) === 'ready');
  });

  it('leaves no part in the bucket when it is deleted before its end', async () => {
    const input = { accountId: account.id, mode: 'live' as const, fileName: 'a.mov', sizeBytes: 5, sha256: null, quotaBytes: 1e9 };
    const { upload } = await world.store.uploads.create(input);
    const transfer = await storage.createMultipart(upload.key);
    await world.store.uploads.begin(upload.id, transfer.id);
    const { url } = await storage.linkPart(transfer, { number: 1, size: 5, expiresInS: 60 });
    expect((await fetch(url, { method: 'PUT', body: 'video' })).status).toBe(200);
    await world.store.uploads.delete(account.id, 'live', upload.id);
    await eventually(() => storage.isAbsent(upload.key));
    expect((await fetch(url, { method: 'PUT', body: 'video' })).ok).toBe(false);
    expect(await storage.isAbsent(upload.key)).toBe(true);
  });
});
