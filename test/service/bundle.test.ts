/** The bundle of scripts/build-service, and when scripts/reelmend runs it instead of the sources. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
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

it('keeps the files of a replaced build for a week after the replacement, however old they are, and then deletes them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reelmend-bundle-'));
  const out = join(folder, 'build/service');
  await mkdir(join(folder, 'scripts'));
  await mkdir(join(folder, 'src/cli'), { recursive: true });
  await cp(join(root, 'scripts/build-service'), join(folder, 'scripts/build-service'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'src/cli/main.ts'), "console.log(await import('./part.ts'), await import('./same.ts'));\n");
  await writeFile(join(folder, 'src/cli/same.ts'), 'export const same = 1;\n');
  const parts = async () => (await readdir(out)).filter((name) => name.startsWith('part-'));
  const build = async (text: string) => {
    const before = await parts().catch(() => []);
    await writeFile(join(folder, 'src/cli/part.ts'), `export const part = ${JSON.stringify(text)};\n`);
    await promisify(execFile)(join(folder, 'scripts/build-service'));
    const files = (await readFile(join(out, 'files'), 'utf8')).trim().split('\n');
    const [part] = files.filter((name) => name.startsWith('part-'));
    expect(before).not.toContain(part);
    expect(files).toContain('main.js');
    expect(await readdir(out)).toEqual(expect.arrayContaining(files));
    return part!;
  };
  const age = (name: string, days: number) => utimes(join(out, name), Date.now() / 1000 - days * 86_400, Date.now() / 1000 - days * 86_400);

  const first = await build('first');
  for (const name of await readdir(out)) await age(name, 40);
  const second = await build('second');
  expect((await parts()).toSorted()).toEqual([first, second].toSorted());
  await age(first, 6);
  const third = await build('third');
  expect((await parts()).toSorted()).toEqual([first, second, third].toSorted());
  await age(first, 8);
  const fourth = await build('fourth');
  expect((await parts()).toSorted()).toEqual([second, third, fourth].toSorted());
  await rm(folder, { recursive: true });
});

it('builds the service and the media child again for sources of another version, however old these are', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reelmend-bundle-'));
  const scripts = ['build-service', 'build-media-child', 'build-media-child.ts'].map((name) => `scripts/${name}`);
  const child = ['child-program', 'addon', 'wire', 'child'].map((name) => `src/media/${name}.ts`);
  for (const file of [...scripts, ...child, 'package.json']) {
    await cp(join(root, file), join(folder, file));
    await utimes(join(folder, file), earlier, earlier);
  }
  await mkdir(join(folder, 'node_modules'));
  await symlink(join(root, 'node_modules/.bin'), join(folder, 'node_modules/.bin'));
  const build = async (version: string) => {
    // As tar, rsync and unzip do, which keep the time of a release.
    for (const file of ['src/cli/main.ts', 'src/media/child.ts', 'package-lock.json', 'patches/README.md', 'node_modules/.reelmend-lock']) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), file.endsWith('.ts') ? `console.log('${version}');\n` : '');
      await utimes(join(folder, file), earlier, earlier);
    }
    for (const script of ['build-service', 'build-media-child']) await promisify(execFile)(join(folder, 'scripts', script));
    return Promise.all(['build/service/main.js', 'build/media/child.js'].map((file) => readFile(join(folder, file), 'utf8')));
  };
  for (const version of ['0.2.0', '0.1.0']) expect(await build(version)).toEqual([expect.stringContaining(version), expect.stringContaining(version)]);
  await rm(folder, { recursive: true });
});
