/** The origin of the links to a bucket, which the console's page must allow. */
import { describe, expect, it } from 'vitest';
import { createS3Storage } from '../../src/storage/s3.ts';

const buckets = [
  { bucket: 'media', region: 'eu-west-1', origin: 'https://media.s3.eu-west-1.amazonaws.com' },
  // A certificate of *.s3.… does not cover a name with a dot.
  { bucket: 'media.example.com', region: 'eu-west-1', origin: 'https://s3.eu-west-1.amazonaws.com' },
  { bucket: 'media', region: 'cn-north-1', origin: 'https://media.s3.cn-north-1.amazonaws.com.cn' },
  { bucket: 'media', region: 'us-east-1', endpoint: 'http://10.0.0.1:9000', origin: 'http://10.0.0.1:9000' },
  { bucket: 'media', region: 'us-east-1', endpoint: 'http://10.0.0.1:9000', publicEndpoint: 'https://files.example.com', origin: 'https://files.example.com' },
];

describe.each(buckets)('$bucket in $region', ({ origin, ...options }) => {
  it('is that of its links', async () => {
    const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
    const storage = createS3Storage({ ...options, client: { credentials } });
    const { url } = await storage.link('a', { fileName: 'a.mp4', contentType: 'video/mp4', expiresInS: 60 });
    expect(new URL(url).origin).toBe(origin);
    expect(await storage.linkOrigin()).toBe(origin);
    storage.close();
  });

  it('is known without credentials', async () => {
    const credentials = () => Promise.reject(new Error('there are none'));
    const storage = createS3Storage({ ...options, client: { credentials } });
    expect(await storage.linkOrigin()).toBe(origin);
    storage.close();
  });
});
