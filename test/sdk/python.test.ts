/** The Python client: generated from the contract without a warning, and used against the service. A second witness of it. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { hangMs } from '../helpers/wait.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '../..');
let dir: string;
let site: Site;
let api: Running;
let key: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-python-'));
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '100' });
  ({ key } = await createCustomer(site, { mode: 'test' }));
  api = await site.start('start');
});
afterAll(async () => {
  await site?.close();
  await rm(dir, { recursive: true, force: true });
});

it('does what customers do, with types for every answer', async () => {
  const { stdout } = await exec(join(root, 'scripts/build-python-client'), [join(dir, 'client')], { timeout: hangMs });
  const venv = join(dir, 'venv');
  await exec('python3', ['-m', 'venv', venv], { timeout: hangMs });
  await exec(join(venv, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', stdout.trim()], { timeout: hangMs });
  const env = { PATH: process.env['PATH']!, REELMEND_URL: api.url, REELMEND_API_KEY: key };
  const outcome = await exec(join(venv, 'bin/python'), [join(import.meta.dirname, 'consumer.py')], { env, timeout: hangMs });
  expect(JSON.parse(outcome.stdout)).toEqual({
    sandbox: true,
    models: ['detail', 'fast', 'quality'],
    replayed: true,
    status: 'done',
    whole: true,
    upload: ['ready', 'film.mov', 'done'],
    failure: 'processing_failed',
    listed: true,
    deleted: true,
    unknown: [404, 'job_not_found'],
    refused: 'invalid_request',
  });
});
