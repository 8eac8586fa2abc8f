/** Files of a local demo: kept whole or not at all, served to the service, gone after a day. */
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveSample, type SampleServer } from '../../src/demo/sample-server.ts';
import { newId } from '../../src/domain/ids.ts';
import { createUploads, removeExpiredUploads, type UploadOptions } from '../../src/storage/uploads.ts';

let folder: string;
let uploadFolder: string;
let server: SampleServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-uploads-'));
  uploadFolder = join(folder, 'uploads');
  await writeFile(join(folder, 'sample.mp4'), 'the sample');
  await writeFile(join(folder, 'secret'), 'secret');
  server = await serveSample(join(folder, 'sample.mp4'), { preferredPort: 0, uploadFolder });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const accountId = newId('acct');
const uploads = (more: Partial<UploadOptions> = {}) =>
  createUploads({
    folder: uploadFolder,
    maxBytes: 100,
    freeBytes: async () => 2e9,
    urlOf: (name) => `http://${server.hostPort}/uploads/${name}`,
    ...more,
  });

async function* parts(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
const by = (account = accountId, signal = new AbortController().signal) => ({ accountId: account, signal });
const kept = async () => (await readdir(uploadFolder, { recursive: true })).filter((name) => /\.(mp4|draft)$/.test(name));

describe('uploads', () => {
  it('are kept and served in ranges beside the sample', async () => {
    const { url, sizeBytes } = await uploads().save(parts('some ', 'film'), by());
    expect(sizeBytes).toBe(9);
    expect(await (await fetch(url)).text()).toBe('some film');
    const part = await fetch(url, { headers: { Range: 'bytes=5-' } });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([206, 'film', 'bytes 5-8/9']);
    expect(await (await fetch(server.url)).text()).toBe('the sample');
  });

  it.each(['/secret', '/uploads/secret', '/uploads/..%2fsecret', '/uploads/', `/uploads/${accountId}/${'0'.repeat(32)}.mp4`])(
    'nothing else is served: %s',
    async (path) => {
      const response = await fetch(`http://${server.hostPort}${path}`);
      expect(response.status).toBe(404);
    },
  );

  it('too large, empty or broken off leave nothing behind', async () => {
    const before = await kept();
    const broken = async function* () {
      yield Buffer.from('x');
      throw new Error('the connection broke');
    };
    await expect(uploads({ maxBytes: 8 }).save(parts('12345', '6789'), by())).rejects.toMatchObject({ code: 'payload_too_large' });
    await expect(uploads().save(parts(), by())).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(uploads().save(broken(), by())).rejects.toThrow('the connection broke');
    await expect(uploads().save(parts('x'), by(accountId, AbortSignal.abort()))).rejects.toThrow();
    expect(await kept()).toEqual(before);
    expect((await uploads({ maxBytes: 9 }).save(parts('12345', '6789'), by())).sizeBytes).toBe(9);
  });

  it('17.21: of one account have a quota of bytes together, which other accounts do not share', async () => {
    const [ours, others] = [newId('acct'), newId('acct')];
    const { save } = uploads({ accountBytes: 20 });
    await save(parts('twelve bytes'), by(ours));
    const full = await save(parts('and nine.'), by(ours)).catch((error: unknown) => error);
    expect(full).toMatchObject({ code: 'rate_limit_exceeded' });
    // Until the oldest is removed.
    expect((full as { retryAfterS: number }).retryAfterS).toBeGreaterThan(86_000);
    expect((await save(parts('eight by'), by(ours))).sizeBytes).toBe(8);
    expect((await save(parts('twelve bytes'), by(others))).sizeBytes).toBe(12);
  });

  it('17.21: run one at a time per account, and need disk space for all of them', async () => {
    const account = newId('acct');
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = async function* () {
      await promise;
      yield Buffer.from('film');
    };
    const { save } = uploads({ freeBytes: async () => 1e9 + 150 });
    const first = save(slow(), by(account));
    await expect(save(parts('x'), by(account))).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    await expect(save(parts('x'), by(newId('acct')))).rejects.toMatchObject({ code: 'service_unavailable' });
    expect((await save(parts('x'), { ...by(newId('acct')), sizeBytes: 1 })).sizeBytes).toBe(1);
    resolve();
    expect((await first).sizeBytes).toBe(4);
  });

  it('17.21: are removed after a day by a task, drafts of broken ones too', async () => {
    const account = newId('acct');
    const { url } = await uploads().save(parts('old'), by(account));
    const path = join(uploadFolder, account, url.split('/').at(-1)!);
    const draft = join(uploadFolder, account, `${'0'.repeat(32)}.mp4.draft`);
    await writeFile(draft, 'broken off');
    expect(await readFile(path, 'utf8')).toBe('old');
    const { url: fresh } = await uploads().save(parts('new'), by());
    const yesterday = Date.now() / 1000 - 24 * 3600 - 60;
    for (const old of [path, draft]) await utimes(old, yesterday, yesterday);
    await removeExpiredUploads(uploadFolder);
    expect((await fetch(url)).status).toBe(404);
    expect((await fetch(fresh)).status).toBe(200);
    expect(await readdir(uploadFolder)).not.toContain(account);
    await removeExpiredUploads(join(uploadFolder, 'missing'));
  });
});
