/** The rights that docs/database-and-storage.md asks for: they are enough, and each is needed. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createS3Storage } from '../../src/storage/s3.ts';
import type { S3Storage } from '../../src/storage/index.ts';
import { findS3Server, startS3Server } from '../helpers/s3.ts';
import type { S3Server } from '../helpers/s3.ts';

interface Statement {
  Effect: string;
  Action: string[];
  Resource: string;
}

const documented = async (): Promise<Statement[]> => {
  const guide = await readFile(new URL('../../docs/database-and-storage.md', import.meta.url), 'utf8');
  const [, policy] = /```json skip="[^"]*s3-policy[^"]*"\n(.*?)```/s.exec(guide)!;
  return (JSON.parse(policy!) as { Statement: Statement[] }).Statement;
};

const isOwnServer = (await findS3Server()) !== null && !process.env['REELMEND_TEST_S3'];
const partSize = 5 * 1024 * 1024;
const user = { accessKeyId: 'reelmend', secretAccessKey: 'reelmend-secret-0123456789' };

describe.skipIf(!isOwnServer)('the rights of the credentials', () => {
  let server: S3Server;
  let root: S3Client;
  let dir: string;
  let statements: Statement[];
  beforeAll(async () => {
    statements = await documented();
    dir = await mkdtemp(join(tmpdir(), 'reelmend-policy-'));
    await writeFile(join(dir, 'large'), Buffer.alloc(partSize + 1));
    await writeFile(join(dir, 'small'), 'small');
    server = (await startS3Server({ users: true }))!;
    await server.createUser(user);
    const { endpoint, region, credentials } = server;
    root = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  });
  afterAll(async () => {
    root?.destroy();
    await server?.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** A storage whose user has the documented rights in a new bucket, but for `without`. */
  async function storageWith({ versioning, without }: { versioning: boolean; without?: string }): Promise<S3Storage> {
    const bucket = `films-${versioning ? 'v' : 'p'}-${(without ?? 'all').toLowerCase().replace(/\W/g, '-')}`;
    await server.createBucket(bucket, { versioning });
    const Statement = statements.map(({ Effect, Action, Resource }) => ({
      ...{ Effect, Principal: { AWS: [user.accessKeyId] }, Action: Action.filter((action) => action !== without) },
      Resource: Resource.replace('reelmend-videos', bucket),
    }));
    await root.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement }) }));
    const { endpoint, region } = server;
    return createS3Storage({ bucket, region, endpoint, partSize, client: { credentials: user, maxAttempts: 1 } });
  }

  /** All that the service does with its storage. */
  async function useAll(storage: S3Storage): Promise<void> {
    await storage.putFile('jobs/a/1/original', join(dir, 'large'), { contentType: 'video/mp4' });
    // Written twice, so that a versioned bucket has two versions.
    for (let n = 0; n < 2; n++) await storage.putFile('jobs/a/1/poster.jpg', join(dir, 'small'), { contentType: 'image/jpeg' });
    expect(await storage.stat('jobs/a/1/none')).toBeNull();
    expect(await storage.getFile('jobs/a/1/poster.jpg', join(dir, 'got'))).toBe(true);
    const { url } = await storage.link('jobs/a/1/poster.jpg', { fileName: 'x.jpg', contentType: 'image/jpeg', expiresInS: 60 });
    expect((await fetch(url)).status).toBe(200);
    const upload = await storage.createMultipart('uploads/u/file');
    const part = await storage.linkPart(upload, { number: 1, size: 5, expiresInS: 60 });
    expect((await fetch(part.url, { method: 'PUT', body: 'small' })).status).toBe(200);
    await storage.completeMultipart(upload, { count: 1, size: 5 });
    await storage.createMultipart('uploads/unfinished/file');
    const listed: string[] = [];
    for await (const key of storage.list('jobs/')) listed.push(key);
    expect(listed.toSorted()).toEqual(['jobs/a/1/original', 'jobs/a/1/poster.jpg']);
    for (const key of ['jobs/a/1/original', 'jobs/a/1/poster.jpg', 'uploads/u/file', 'uploads/unfinished/file']) {
      await storage.destroy(key);
      expect(await storage.isAbsent(key)).toBe(true);
    }
  }

  it.each([true, false])('are enough; the bucket keeps versions: %s', async (versioning) => {
    const storage = await storageWith({ versioning });
    await useAll(storage);
    storage.close();
  });

  it('are all needed', async () => {
    // A server without a list of versions deletes by the key alone; versitygw has one.
    const rights = statements.flatMap(({ Action }) => Action).filter((action) => action !== 's3:DeleteObject');
    expect(rights).toHaveLength(8);
    for (const without of rights) {
      const storage = await storageWith({ versioning: true, without });
      await expect(useAll(storage), without).rejects.toThrow();
      storage.close();
    }
  });
});
