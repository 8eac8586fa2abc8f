/** Uploads beside the hourly sweep, which removes the empty folder of an account. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createUploads, removeExpiredUploads } from '../../src/storage/uploads.ts';

const accountId = 'acct_00000000000000000000000000';
const signal = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-uploads-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
}

it('an upload survives a sweep between its checks and its first byte', async () => {
  const freeBytes = async () => {
    await removeExpiredUploads(folder);
    return 1e12;
  };
  const uploads = createUploads({ folder, urlOf: (name) => name, freeBytes });
  await expect(uploads.save(oneByte(), { accountId, signal })).resolves.toMatchObject({ sizeBytes: 1 });
});

it('an upload survives sweeps at any moment', async () => {
  const uploads = createUploads({ folder, urlOf: (name) => name, freeBytes: async () => 1e12 });
  let sweeping = true;
  const sweeps = (async () => {
    while (sweeping) await removeExpiredUploads(folder);
  })();
  try {
    for (let i = 0; i < 300; i += 1) {
      expect((await uploads.save(oneByte(), { accountId, signal })).sizeBytes).toBe(1);
      await rm(join(folder, accountId), { recursive: true, force: true });
    }
  } finally {
    sweeping = false;
    await sweeps;
  }
});
