/** Packages with older and newer npm. Debian 12 and 13 bring npm 9.2.0. It reads optional peers otherwise than newer ones, and then refuses a lock file that they made. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelmend-npm-'));
  await run('npm', ['pack', 'npm@9.2.0', '--silent', '--pack-destination', folder]);
  await run('tar', ['-xzf', 'npm-9.2.0.tgz'], { cwd: folder });
  for (const file of ['package.json', 'package-lock.json']) await copyFile(join(root, file), join(folder, file));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it('package-lock.json suits the npm of Debian', async () => {
  const { stdout } = await run(process.execPath, ['package/bin/npm-cli.js', 'ci', '--dry-run', '--ignore-scripts', '--loglevel=notice'], { cwd: folder });
  expect(stdout).toMatch(/added \d{3,} packages/);
});

it('the install scripts of PostgreSQL may run on x86-64 and on ARM, because npm 12 runs no others', async () => {
  const read = async (name: string) => JSON.parse(await readFile(join(root, name), 'utf8')) as Record<string, object>;
  const { packages } = (await read('package-lock.json')) as Record<string, Record<string, { hasInstallScript?: true; os?: string[]; cpu?: string[] }>>;
  const wanted = Object.entries(packages!).filter(([, { hasInstallScript, os, cpu }]) => hasInstallScript && os?.includes('linux') && (cpu?.includes('x64') || cpu?.includes('arm64')));
  expect(wanted).toHaveLength(2);
  const { allowScripts } = await read('package.json');
  for (const [path] of wanted) expect(allowScripts).toHaveProperty([path.slice('node_modules/'.length)], true);
});
