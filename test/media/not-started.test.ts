import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('without-descriptors.ts', import.meta.url));

it('a child that cannot be started for lack of file descriptors is no fault of the video, and ends nothing else', async () => {
  const { stdout } = await promisify(execFile)('prlimit', ['--nofile=4096:4096', process.execPath, program]);
  expect(JSON.parse(stdout)).toEqual({ code: 'service_unavailable', cause: 'EMFILE' });
});
