/** What is left of dead workers is removed, whatever one folder does. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type * as Files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { reapScratch } from '../../src/jobs/scratch.ts';
import type { Store } from '../../src/store/index.ts';

/** As root's files are for a service that once ran as root. Permissions do not stop tests that run as root. */
vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof Files>();
  const rm: typeof Files.rm = (path, options) =>
    String(path).endsWith('stuck') ? Promise.reject(Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })) : files.rm(path, options);
  return { ...files, rm };
});

it('removes the scratch folders of all dead workers although one cannot be removed, and reports that one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'reelmend-scratch-'));
  const scratch = (name: string) => join(dataDir, 'scratch', name);
  for (const name of ['a-dead', 'b-stuck', 'c-dead', 'd-alive']) mkdirSync(scratch(name), { recursive: true });
  const workers = { alive: async () => new Set(['d-alive']) } as unknown as Store['workers'];
  await expect(reapScratch(dataDir, 'own', workers)).rejects.toThrow(/b-stuck.*EACCES/);
  expect(['a-dead', 'b-stuck', 'c-dead', 'd-alive'].filter((name) => existsSync(scratch(name)))).toEqual(['b-stuck', 'd-alive']);
  rmSync(dataDir, { recursive: true });
});
