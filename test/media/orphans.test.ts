import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { reapScratch } from '../../src/jobs/scratch.ts';
import { createMedia } from '../../src/media/index.ts';
import { findProgram } from '../../src/media/isolation.ts';
import { killOrphans } from '../../src/media/orphans.ts';
import type { Store } from '../../src/store/index.ts';
import { eventually } from '../helpers/wait.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive } from './processes.ts';

const media = await createMedia();
const folder = temporaryFolder();
afterAll(() => folder.remove());

/** A bubblewrap that waits for its users to be mapped, as a killed worker leaves it. Resolves to its fork's id. */
async function waitingForUsers(name: string): Promise<{ outer: ChildProcess; fork: number }> {
  const shared = join(folder.path, name, 'in');
  mkdirSync(shared, { recursive: true });
  const args = ['--unshare-all', '--unshare-user', '--die-with-parent', '--userns-block-fd', '3', '--info-fd', '4', '--ro-bind', '/usr', '/usr'];
  const outer = spawn(findProgram('bwrap')!, [...args, '--ro-bind', shared, '/in', '/usr/bin/true'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  let text = '';
  for await (const chunk of outer.stdio[4] as Readable) {
    text += String(chunk);
    if (text.includes('}')) break;
  }
  return { outer, fork: (JSON.parse(text) as { 'child-pid': number })['child-pid'] };
}

describe.runIf(media.isolation.kind === 'bubblewrap')('killOrphans', () => {
  it('ends a fork of bubblewrap that outlives its parent, and none of another folder', async () => {
    const [left, other] = await Promise.all([waitingForUsers('dead'), waitingForUsers('dead-not')]);
    left.outer.kill('SIGKILL');
    await eventually(() => left.outer.signalCode !== null, 'the parent has ended');
    expect(isAlive(left.fork), 'bubblewrap itself ends its fork here: killOrphans may go').toBe(true);
    expect(await killOrphans(join(folder.path, 'dead'))).toEqual([left.fork]);
    await eventually(() => !isAlive(left.fork), 'the fork is gone');
    expect(isAlive(other.fork)).toBe(true);
    other.outer.kill('SIGKILL');
    expect(await killOrphans(join(folder.path, 'dead-not'))).toContain(other.fork);
  });

  it('runs before the scratch folder of a dead worker is removed', async () => {
    const { outer, fork } = await waitingForUsers('scratch/worker-dead');
    outer.kill('SIGKILL');
    const dead = await reapScratch(folder.path, 'worker-own', { alive: async () => new Set<string>() } as unknown as Store['workers']);
    expect(dead).toEqual(['worker-dead']);
    await eventually(() => !isAlive(fork), 'the fork is gone');
    expect(existsSync(join(folder.path, 'scratch/worker-dead'))).toBe(false);
  });

  it('finds nothing in a folder without processes', async () => {
    expect(await killOrphans(join(folder.path, 'none'))).toEqual([]);
  });
});
