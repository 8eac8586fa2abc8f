/** `reelmend enhance` with several videos, one of which disappears or whose work is interrupted: media that do what the test says. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { type EnhanceFiles, enhanceFiles } from '../../src/cli/enhance-files.ts';
import { atTerminal, type Terminal } from '../../src/cli/terminal.ts';
import type { EnhanceRequest, EnhanceResult, Media } from '../../src/media/types.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-files-'));
  await mkdir(join(dir, 'out'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Enhances the videos `a` and `b`; returns what was printed. */
async function enhance(enhanceOne: (request: EnhanceRequest) => Promise<EnhanceResult>, more: Partial<EnhanceFiles> = {}) {
  const inputs = ['a', 'b'].map((stem) => ({ kind: 'file' as const, source: join(dir, `${stem}.mp4`), stem, named: true }));
  const auto = { denoise: 'auto', sharpen: 'auto', adaptiveContrast: 'auto', faceRestoration: 'auto', model: 'none' } as const;
  const command: EnhanceFiles = { inputs, folder: join(dir, 'out'), jobs: 1, force: false, resolution: '1080p', ...auto, ...more };
  const shown = { stdout: '', stderr: '' };
  const terminal = {
    env: {},
    status: 0,
    stdout: (text: string) => void (shown.stdout += text),
    stderr: (text: string) => void (shown.stderr += text),
  } as Terminal;
  await atTerminal(terminal, () => enhanceFiles({ enhance: enhanceOne } as unknown as Media, loadConfig({ HOME: dir }), command));
  return { ...shown, status: terminal.status };
}

it('goes on after a video that vanished, although that has a result', async () => {
  await writeFile(join(dir, 'b.mp4'), 'video');
  for (const name of ['a', 'b']) await writeFile(join(dir, 'out', `${name}-1080p.mp4`), 'result');
  const { stdout, stderr, status } = await enhance(() => Promise.reject(new Error('Not to be enhanced.')));
  expect(stdout).toMatch(/^a-1080p\.mp4 +failed *\nb-1080p\.mp4 +skipped/m);
  expect(stderr).toContain(`reelmend: ${join(dir, 'a.mp4')}: `);
  expect(status).toBe(1);
});

it('waits at Ctrl-C for all videos that are being enhanced', async () => {
  for (const name of ['a.mp4', 'b.mp4']) await writeFile(join(dir, name), 'video');
  let begun = 0;
  let ended = 0;
  const slowToStop = ({ signal }: EnhanceRequest) =>
    new Promise<EnhanceResult>((_resolve, reject) => {
      const ms = 100 * begun++;
      signal!.addEventListener('abort', () => setTimeout(() => (ended++, reject(signal!.reason as Error)), ms));
      if (begun === 2) process.emit('SIGINT', 'SIGINT');
    });
  await expect(enhance(slowToStop, { jobs: 2 })).rejects.toThrow('Interrupted.');
  expect({ begun, ended }).toEqual({ begun: 2, ended: 2 });
});
