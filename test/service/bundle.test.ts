/** Which program scripts/reelmend runs: the bundle of scripts/build-service, or the sources. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
let dir: string;
/** seconds since 1970 */
const [earlier, later, latest] = [1_000_000_000, 1_000_000_100, 1_000_000_200];

async function write(path: string, changedAt: number): Promise<void> {
  await mkdir(dirname(join(dir, path)), { recursive: true });
  await writeFile(join(dir, path), `console.log(${JSON.stringify(path)}, process.argv[2]);\n`);
  await utimes(join(dir, path), changedAt, changedAt);
}

const program = async () => (await promisify(execFile)(join(dir, 'scripts/reelmend'), ['an argument'])).stdout;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-bundle-'));
  await mkdir(join(dir, 'scripts'));
  await cp(join(root, 'scripts/reelmend'), join(dir, 'scripts/reelmend'));
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
  for (const file of ['src/cli/main.ts', 'src/jobs/other.ts', 'patches/library.patch', 'package-lock.json']) await write(file, earlier);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it('runs the sources if there is no bundle', async () => {
  expect(await program()).toBe('src/cli/main.ts an argument\n');
});

it('runs the bundle if it is newer than everything that it contains', async () => {
  await write('build/service/main.js', later);
  expect(await program()).toBe('build/service/main.js an argument\n');
});

it.each(['src/jobs/other.ts', 'patches/library.patch', 'package-lock.json'])('runs the sources if %s has changed since', async (file) => {
  await write(file, latest);
  expect(await program()).toBe('src/cli/main.ts an argument\n');
  await write(file, earlier);
  expect(await program()).toBe('build/service/main.js an argument\n');
});
