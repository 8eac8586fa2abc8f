/** The service as it was at an earlier commit, in a folder of its own, with this checkout's packages and addon. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Environment } from './service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

export interface OlderVersion {
  /** for Site.start */
  program: string;
  /** file names of its numbered migrations */
  migrations: string[];
  /** runs `reelmend …` of that version and returns its JSON */
  reelmend<T>(env: Environment, ...args: string[]): Promise<T>;
  remove(): Promise<void>;
}

/** null, after a warning, if the history does not contain the commit. */
export async function checkOutOlderVersion(commit: string): Promise<OlderVersion | null> {
  const isThere = await run('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).then(() => true, () => false);
  if (!isThere) {
    console.warn(`TESTS WITH AN OLDER VERSION NOT RUN: this clone does not contain the commit ${commit}`);
    return null;
  }
  const folder = await mkdtemp(join(tmpdir(), 'reelmend-older-'));
  const archive = join(folder, 'older.tar');
  const parts = ['package.json', 'openapi.yaml', 'src', 'native/index.d.ts', 'migrations', 'engine/models'];
  await run('git', ['archive', '--output', archive, commit, ...parts], { cwd: root });
  await run('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, 'build'));
  await symlink(join(root, 'build/native'), join(folder, 'build/native'));
  const program = join(folder, 'src/cli/main.ts');
  const { stdout } = await run('git', ['ls-tree', '--name-only', commit, 'migrations/'], { cwd: root });
  return {
    program,
    migrations: stdout.split('\n').map((path) => path.slice('migrations/'.length)).filter((name) => /^\d{4}_/.test(name)),
    async reelmend<T>(env: Environment, ...args: string[]) {
      return JSON.parse((await run(process.execPath, [program, ...args], { env })).stdout) as T;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
