/** A service whose output nobody reads any more, as after `npm start | head`. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createSite } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const reelmend = fileURLToPath(new URL('../../scripts/reelmend', import.meta.url));

it('goes on', async () => {
  const site = await createSite({ REELMEND_LOG_LEVEL: 'info' });
  const shell = spawn('bash', ['-c', '"$0" serve | true', reelmend], { env: site.env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const ended = new Promise((resolve) => shell.once('exit', resolve));
  try {
    let log = '';
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    const url = await eventually(() => /http:\/\/127\.0\.0\.1:\d+/.exec(log)?.[0], 'the service listens');
    // Meanwhile it prints its URL.
    await sleep(500);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(log).not.toContain('EPIPE');
  } finally {
    if (shell.exitCode === null) process.kill(-shell.pid!, 'SIGTERM');
    await ended;
    await site.close();
  }
});
