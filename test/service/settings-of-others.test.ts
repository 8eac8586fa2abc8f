/** Settings of Graphile Worker that an operator has for other programs. */
import { execFile } from 'node:child_process';
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReelmend } from '../../src/sdk/index.ts';
import { script } from '../helpers/command.ts';
import { createCustomer, createSite, type Site } from '../helpers/service.ts';

let site: Site;
beforeAll(async () => {
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '100', GRAPHILE_WORKER_SCHEMA: 'of_others' }, { migrated: false });
});
afterAll(() => site?.close());

it('name no other schema for the queue', async () => {
  const api = await site.start('start');
  const { key } = await createCustomer(site, { mode: 'test' });
  const reelmend = createReelmend({ baseUrl: api.url, apiKey: key });
  const job = await reelmend.jobs.create({ video_url: 'https://media.example.com/a.mp4', resolution: '1080p' });
  expect((await reelmend.waitForJob(job.id)).status).toBe('done');
});

it('are not run from the current folder', async () => {
  await writeFile(join(site.dataDir, '.graphile-workerrc.cjs'), "require('node:fs').writeFileSync('ran', ''); module.exports = { schema: 'of_others' };");
  const { stdout } = await promisify(execFile)(script, ['accounts', 'list'], { cwd: site.dataDir, env: site.env });
  expect(stdout).toContain('acct_');
  await expect(access(join(site.dataDir, 'ran'))).rejects.toThrow('ENOENT');
});
