/** An empty npm project with the packed package as its only dependency. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hangMs } from '../helpers/wait.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '../..');

export interface Project {
  dir: string;
  /** the installed package */
  installed: string;
  /** the packed file that it was installed from */
  tarball: string;
  write(path: string, text: string): Promise<void>;
  /** type-checks, and emits into `out` where the options say so; rejects with the compiler's words */
  compile(options: object, include: string[]): Promise<void>;
  /** runs a script with this Node and returns what it printed */
  run(node: string, script: string, env?: Record<string, string>): Promise<string>;
  remove(): Promise<void>;
}

/** Builds, packs and installs, without network and without anything of this repository in reach of the resolver. */
export async function createProject(): Promise<Project> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-sdk-'));
  const { stdout } = await exec(join(root, 'scripts/build-sdk'), [join(dir, 'packed')], { timeout: hangMs });
  const project = join(dir, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  await exec('npm', ['install', '--offline', '--no-audit', '--no-fund', stdout.trim()], { cwd: project, timeout: hangMs });
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), text);
  };
  return {
    dir: project,
    installed: join(project, 'node_modules/@reelmend/sdk'),
    tarball: stdout.trim(),
    write,
    async compile(options, include) {
      const config = { compilerOptions: { ...strict, ...options }, include };
      await write('tsconfig.json', JSON.stringify(config));
      const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
      await exec(tsc, ['-p', 'tsconfig.json'], { cwd: project, timeout: hangMs }).catch((error: { stdout: string }) => {
        throw new Error(error.stdout);
      });
    },
    async run(node, script, env = {}) {
      return (await exec(node, [script], { cwd: project, timeout: hangMs, env: { PATH: process.env['PATH']!, ...env } }))
        .stdout;
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Runs a program of scripts/lint-tools on the packed file; rejects with what it found. */
export async function lintPackage(program: string, args: string[]): Promise<void> {
  const { stdout: folder } = await exec(join(root, 'scripts/setup-lint-tools'), { timeout: hangMs });
  await exec(join(folder.trim(), program), args, { timeout: hangMs }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}${error.stderr}`);
  });
}

/** Nothing skipped: the package's own declarations are checked too. */
const strict = {
  target: 'ES2022',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  typeRoots: [join(root, 'node_modules/@types')],
};

/** The Node of this project and, where the machine has another one, that of the oldest supported line. */
export async function nodes(): Promise<{ version: string; path: string }[]> {
  const candidates = [process.execPath, '/usr/bin/node', '/usr/local/bin/node'].filter((path) => existsSync(path));
  const versions = await Promise.all(candidates.map(async (path) => (await exec(path, ['--version'])).stdout.trim()));
  const found = candidates.map((path, i) => ({ path, version: versions[i]! }));
  return found.filter(
    ({ version }, i) => versions.indexOf(version) === i && Number.parseInt(version.slice(1), 10) >= 20,
  );
}

/** The TypeScript blocks of the package's README. */
export async function readmeExamples(installed: string): Promise<string[]> {
  const readme = await readFile(join(installed, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);
}
