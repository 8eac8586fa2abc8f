/** Files of a local demo: kept whole or not at all, served to the service, gone after a day. */
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveSample, type SampleServer } from '../../src/demo.ts';
import { createUploads } from '../../src/uploads.ts';

let folder: string;
let uploadFolder: string;
let server: SampleServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'framelift-uploads-'));
  uploadFolder = join(folder, 'uploads');
  await writeFile(join(folder, 'sample.mp4'), 'the sample');
  await writeFile(join(folder, 'secret'), 'secret');
  server = await serveSample(join(folder, 'sample.mp4'), { preferredPort: 0, uploadFolder });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const uploads = (maxBytes = 100) =>
  createUploads({ folder: uploadFolder, maxBytes, urlOf: (name) => `http://${server.hostPort}/uploads/${name}` });

async function* parts(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
const never = new AbortController().signal;

describe('uploads', () => {
  it('are kept and served in ranges beside the sample', async () => {
    const { url, sizeBytes } = await uploads().save(parts('some ', 'film'), never);
    expect(sizeBytes).toBe(9);
    expect(await (await fetch(url)).text()).toBe('some film');
    const part = await fetch(url, { headers: { Range: 'bytes=5-' } });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([206, 'film', 'bytes 5-8/9']);
    expect(await (await fetch(server.url)).text()).toBe('the sample');
  });

  it.each(['/secret', '/uploads/secret', '/uploads/..%2fsecret', '/uploads/', `/uploads/${'0'.repeat(32)}.mp4`])(
    'nothing else is served: %s',
    async (path) => {
      const response = await fetch(`http://${server.hostPort}${path}`);
      expect(response.status).toBe(404);
    },
  );

  it('too large, empty or broken off leave nothing behind', async () => {
    const before = await readdir(uploadFolder);
    const broken = async function* () {
      yield Buffer.from('x');
      throw new Error('the connection broke');
    };
    await expect(uploads(8).save(parts('12345', '6789'), never)).rejects.toMatchObject({ code: 'payload_too_large' });
    await expect(uploads().save(parts(), never)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(uploads().save(broken(), never)).rejects.toThrow('the connection broke');
    await expect(uploads().save(parts('x'), AbortSignal.abort())).rejects.toThrow();
    expect(await readdir(uploadFolder)).toEqual(before);
    expect((await uploads(9).save(parts('12345', '6789'), never)).sizeBytes).toBe(9);
  });

  it('are removed after a day, when the next one comes', async () => {
    const { url } = await uploads().save(parts('old'), never);
    const path = join(uploadFolder, url.split('/').at(-1)!);
    expect(await readFile(path, 'utf8')).toBe('old');
    const yesterday = Date.now() / 1000 - 24 * 3600 - 60;
    await utimes(path, yesterday, yesterday);
    await uploads().save(parts('new'), never);
    expect((await fetch(url)).status).toBe(404);
  });
});
