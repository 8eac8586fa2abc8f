/** Temporary files: none is left by a process that was killed, once the next one runs. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { namelessFile } from '../../src/net/temporary.ts';

let temporary: string;
const before = process.env['TMPDIR'];
beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'reelmend-temporary-'));
  process.env['TMPDIR'] = temporary;
});
afterEach(async () => {
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  await rm(temporary, { recursive: true });
});

async function folderOf(name: string, hoursAgo: number): Promise<void> {
  const folder = join(temporary, name);
  await mkdir(folder);
  await writeFile(join(folder, 'left'), 'x');
  const at = Date.now() / 1000 - hoursAgo * 3600;
  await utimes(folder, at, at);
}

it('17: has a folder of its own, and sweeps the old ones of processes that were killed', async () => {
  await folderOf('reelmend-net-killed', 2);
  await folderOf('reelmend-net-running', 0);
  await folderOf('of-others', 2);
  const file = await namelessFile();
  try {
    await file.write('abc');
    expect((await file.stat()).nlink).toBe(0);
    const names = await readdir(temporary);
    const own = names.filter((name) => /^reelmend-net-[0-9a-f-]{36}$/.test(name));
    expect(names.filter((name) => !own.includes(name)).sort()).toEqual(['of-others', 'reelmend-net-running']);
    expect(await readdir(join(temporary, own[0]!))).toEqual([]);
    // Swept by another process meanwhile: made again.
    await rm(join(temporary, own[0]!), { recursive: true });
    await (await namelessFile()).close();
  } finally {
    await file.close();
  }
});

it('is made although the old ones cannot be swept', async () => {
  vi.resetModules();
  const fresh = await import('../../src/net/temporary.ts');
  process.env['TMPDIR'] = join(temporary, 'not there yet');
  await fresh.namelessFile().then((file) => file.close(), () => undefined);
  process.env['TMPDIR'] = temporary;
  await (await fresh.namelessFile()).close();
});
