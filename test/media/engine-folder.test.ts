/** The folder that a child which is nobody builds engines into; the child itself is stood in for. */
import { chownSync, mkdirSync, readFileSync, readdirSync, renameSync, rmdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { withEngineFolder } from '../../src/media/engine-folder.ts';
import { createMedia } from '../../src/media/index.ts';
import type { ChildCall } from '../../src/media/child-session.ts';
import { canMapNobody, nobody } from '../../src/media/child-user.ts';
import { runCommand } from '../helpers/command.ts';
import { temporaryFolder } from './folder.ts';

const { calls } = vi.hoisted(() => ({ calls: [] as ChildCall<unknown>[] }));
let isInterrupted = false;
/** Ctrl-C comes during the work of the child. */
function untilInterrupted({ signal }: ChildCall<unknown>): Promise<never> {
  setImmediate(() => process.emit('SIGINT', 'SIGINT'));
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}
vi.mock('../../src/media/child-session.ts', async (original) => ({
  ...(await original<object>()),
  runChild: (call: ChildCall<unknown>) => {
    calls.push(call);
    if (isInterrupted && call.message.op === 'compile-model') return untilInterrupted(call);
    return Promise.resolve(call.message.op === 'hello' ? 'hello' : []);
  },
}));

const root = temporaryFolder();
const folder = join(root.path, 'engines');
mkdirSync(folder);
afterAll(() => root.remove());
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');

beforeEach(() => {
  calls.length = 0;
  for (const name of ['old', 'known']) writeFileSync(join(folder, `${name}.engine`), name);
});

describe('engines that a child of nobody builds', () => {
  it('are moved into the folder, and those that it found are seen and left alone', async () => {
    const inodes = ['old', 'known'].map((name) => statSync(join(folder, `${name}.engine`)).ino);
    await withEngineFolder(folder, async (own) => {
      expect(dirname(own)).toBe(folder);
      expect(readFileSync(join(own, 'known.engine'), 'utf8')).toBe('known');
      writeFileSync(join(own, 'half.engine.7-1.new'), 'half');
      renameSync(put(own, 'written'), join(own, 'new.engine'));
      renameSync(put(own, 'replaced'), join(own, 'old.engine'));
      symlinkSync('/etc/passwd', join(own, 'link.engine'));
      await Promise.resolve();
    });
    expect(readdirSync(folder).sort()).toEqual(['known.engine', 'new.engine', 'old.engine']);
    expect(['known', 'new', 'old'].map((name) => textOf(`${name}.engine`))).toEqual(['known', 'written', 'replaced']);
    const after = ['old', 'known'].map((name) => statSync(join(folder, `${name}.engine`)).ino);
    expect([after[0] === inodes[0], after[1] === inodes[1]]).toEqual([false, true]);
    const { mode, uid } = statSync(join(folder, 'new.engine'));
    expect([mode & 0o777, uid]).toEqual([0o644, process.getuid?.()]);
  });

  it('are kept when a later one fails', async () => {
    const failing = withEngineFolder(folder, (own) => {
      put(own, 'first', 'first.engine');
      return Promise.reject(new Error('no memory'));
    });
    await expect(failing).rejects.toThrow('no memory');
    expect(textOf('first.engine')).toBe('first');
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('leave no folder of a compilation that was killed a day ago', async () => {
    for (const name of ['.compile-killed', '.compile-running']) mkdirSync(join(folder, name));
    put(join(folder, '.compile-killed'), 'half', 'half.engine');
    utimesSync(join(folder, '.compile-killed'), 0, Date.now() / 1000 - 25 * 3600);
    await withEngineFolder(folder, () => Promise.resolve());
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual(['.compile-running']);
    rmdirSync(join(folder, '.compile-running'));
  });

  it.runIf(canMapNobody())('lie in a folder of nobody while the child runs', async () => {
    const media = await createMedia({ gpuFiles: [] });
    if (media.isolation.kind === 'none') return;
    const model = { name: 'net', path: join(folder, 'known.engine'), layout: 'rgb', precision: 'fp32' } as const;
    let owner: number | undefined;
    const push = vi.spyOn(calls, 'push').mockImplementation((call) => {
      owner = statSync(call!.plan.mounts.find(({ writable }) => writable === true)!.from).uid;
      return 1;
    });
    await media.compileModel({ model, folder, width: 64, height: 64, timeoutMs: 60_000 });
    push.mockRestore();
    expect(owner).toBe(nobody);
    expect(statSync(folder).uid).toBe(0);
  });
});

/** As the engine writes: under another name first. */
function put(own: string, text: string, name = `${text}.new`): string {
  const path = join(own, name);
  writeFileSync(path, text, { mode: 0o600 });
  if (canMapNobody()) chownSync(path, nobody, nobody);
  return path;
}

it('a compilation that Ctrl-C ends leaves nothing, and the command has the status of the signal', async () => {
  isInterrupted = true;
  const out = join(root.path, 'interrupted');
  const args = ['models', 'compile', 'fast', '--out', out, '--size', '64x64'];
  const ended = await runCommand(args, { env: { PATH: process.env['PATH']! } }).finally(() => (isInterrupted = false));
  expect(ended).toEqual({ status: 130, stdout: '', stderr: 'reelmend: Interrupted.\n' });
  expect(readdirSync(out)).toEqual([]);
});
