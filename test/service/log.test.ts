/** The log of a process when its standard error cannot take it. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { hangMs } from '../helpers/wait.ts';

const logger = JSON.stringify(fileURLToPath(new URL('../../src/observability/logger.ts', import.meta.url)));

/** Runs code with a `logger`; resolves with what it printed on standard output and standard error. */
async function run(code: string, stderr: 'pipe' | number) {
  const program = `import { createLogger } from ${logger}; const logger = createLogger({ logLevel: 'info' }); ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', stderr], timeout: hangMs, killSignal: 'SIGKILL' });
  const texts = { stdout: '', stderr: '' };
  child.stdout!.on('data', (chunk) => (texts.stdout += chunk));
  child.stderr?.on('data', (chunk) => (texts.stderr += chunk));
  const status = await new Promise((resolve) => child.once('close', resolve));
  return { ...texts, status };
}

it('a full disk neither ends nor freezes the process', { timeout: 2 * hangMs }, async () => {
  const later = `logger.info('one'); setTimeout(() => { logger.info('two'); console.log('goes on'); }, 200)`;
  const full = openSync('/dev/full', 'w');
  try {
    expect(await run(later, full)).toMatchObject({ stdout: 'goes on\n', status: 0 });
    expect(await run(`logger.info('one'); process.exit(3)`, full)).toMatchObject({ status: 3 });
  } finally {
    closeSync(full);
  }
});

it('loses no line of a process that exits at once, or throws', { timeout: 2 * hangMs }, async () => {
  const lines = `for (let i = 0; i < 5000; i += 1) logger.info({ i }, 'line');`;
  // A write that runs while the process exits may come after later lines.
  const numbers = (text: string) => text.split('\n').filter((line) => line.startsWith('{')).map((line) => (JSON.parse(line) as { i: number }).i).toSorted((a, b) => a - b);
  const all = Array.from({ length: 5000 }, (_, i) => i);
  expect(numbers((await run(`${lines} process.exit(0)`, 'pipe')).stderr)).toEqual(all);
  expect(numbers((await run(lines, 'pipe')).stderr)).toEqual(all);
  const thrown = await run(`${lines} throw new Error('thrown')`, 'pipe');
  expect(numbers(thrown.stderr)).toEqual(all);
  expect(thrown).toMatchObject({ status: 1, stderr: expect.stringContaining('thrown') });
});
