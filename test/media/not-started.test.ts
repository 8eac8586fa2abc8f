import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { runChild } from '../../src/media/child-session.ts';
import { planOf } from '../../src/media/plans.ts';

const program = fileURLToPath(new URL('without-descriptors.ts', import.meta.url));

it('a child that cannot be started for lack of file descriptors is no fault of the video, and ends nothing else', async () => {
  const { stdout } = await promisify(execFile)('prlimit', ['--nofile=4096:4096', process.execPath, program]);
  expect(JSON.parse(stdout)).toEqual({ code: 'service_unavailable', cause: 'EMFILE' });
});

it('a child whose command cannot be started is a rejection, which callers such as the poll of the GPUs expect', async () => {
  vi.stubEnv('PATH', '/nowhere');
  try {
    const run = (signal?: AbortSignal) => runChild({ plan: planOf({}, 'bubblewrap', [], 1000), message: { op: 'hello' }, result: z.unknown(), signal });
    await Promise.all([
      expect(run()).rejects.toThrow('bwrap is not installed'),
      expect(run(AbortSignal.abort(new Error('aborted before')))).rejects.toThrow('aborted before'),
    ]);
  } finally {
    vi.unstubAllEnvs();
  }
});
