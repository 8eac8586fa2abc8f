/** The Python client: generated from the contract without a warning, and used against the service. A second witness of it. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyCertificate } from '../../src/evidence/index.ts';
import { runCommand } from '../helpers/command.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { expectedOf, sampleKey, samplesIn, startRecorder, withoutSample } from './recorder.ts';

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

let venv: string;
beforeAll(async () => {
  const { stdout } = await exec(join(root, 'scripts/build-python-client'), [join(dir, 'client')], { timeout: hangMs });
  venv = join(dir, 'venv');
  // The generator's pip: to install one in each environment takes most of the time.
  await exec('python3', ['-m', 'venv', '--without-pip', venv], { timeout: hangMs });
  const [pip] = globSync(join(root, '.cache/python-client-*/bin/pip'));
  await exec(pip!, ['--python', venv, 'install', '--quiet', '--no-compile', '--disable-pip-version-check', stdout.trim()], { timeout: hangMs });
});

it('does what customers do, with types for every answer', async () => {
  const env = { PATH: process.env['PATH']!, REELMEND_URL: api.url, REELMEND_API_KEY: key };
  const outcome = await exec(join(venv, 'bin/python'), [join(import.meta.dirname, 'consumer.py')], { env, timeout: hangMs });
  expect(JSON.parse(outcome.stdout)).toEqual({
    sandbox: true,
    models: ['detail', 'detail-best', 'detail-large', 'fast', 'quality'],
    replayed: true,
    status: 'done',
    whole: true,
    upload: ['ready', 'film.mov', 'done'],
    failure: 'processing_failed',
    listed: true,
    deleted: true,
    unknown: [404, 'job_not_found'],
    refused: 'invalid_request',
    newer: ['newer_code', true, 'newer_error'],
  });
});

it('goes the whole way of one video in live mode, with its event in reelmend listen', async () => {
  const customer = await createCustomer(site, { tier: 'secure' });
  const env = { PATH: process.env['PATH']!, HOME: dir, REELMEND_URL: api.url, REELMEND_API_KEY: customer.key };
  const [clip, large] = [join(dir, 'walk.mp4'), join(dir, 'large.mp4')];
  await makeClip(clip, { video: 'testsrc2=size=160x90:rate=10', seconds: 2, audio: null, args: ['-c:v', 'libx264', '-crf', '35', '-pix_fmt', 'yuv420p'] });
  let printed = '';
  const listening = runCommand(['listen', '--events', '1'], { env, onStdout: (text) => (printed += text) });
  await eventually(() => printed.includes('Waiting for the events of new jobs.'));
  const running = exec(join(venv, 'bin/python'), [join(import.meta.dirname, 'journey.py'), clip, large], { env, timeout: hangMs });
  const [event] = await Promise.race([listening.then(({ stdout: text }) => text.split('\n').slice(1)), running.then(() => [])]);
  running.child.stdin!.end('\n');
  const { stdout } = await running;
  const { certificate, job, ...seen } = JSON.parse(stdout) as { certificate: string; job: string };
  expect(seen).toEqual({ status: 'done', clips: [2] });
  expect((await ffprobe(large)).streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, nb_read_frames: '20' });
  expect(event).toBe(`job.completed  ${job}`);
  const keys = (await (await fetch(`${api.url}/.well-known/jwks.json`)).json()) as Parameters<typeof verifyCertificate>[1];
  const proof = await verifyCertificate(certificate, keys);
  expect([proof.job_id, proof.objects.map(({ role }) => role).sort()]).toEqual([job, ['original', 'output', 'upload']]);
});

it('sends what the contract asks for, with the samples of the API reference', async () => {
  const recorder = await startRecorder();
  const samples = samplesIn('Python');
  expect(withoutSample('Python')).toEqual([]);
  const steps = samples.map(({ operation, text }) => `httpx.get(os.environ["REELMEND_URL"] + "/mark/${operation.id}")\nexec(${JSON.stringify(text)}, {})`);
  await writeFile(join(dir, 'samples.py'), `import os\n\nimport httpx\n\n${steps.join('\n')}\n`);
  const env = { PATH: process.env['PATH']!, REELMEND_URL: recorder.url, REELMEND_API_KEY: sampleKey };
  await exec(join(venv, 'bin/python'), [join(dir, 'samples.py')], { env, timeout: hangMs });
  recorder.close();
  expect(samples.length).toBeGreaterThan(20);
  for (const { operation } of samples) {
    const sent = recorder.recorded.get(operation.id);
    expect(sent, operation.id).toMatchObject([expectedOf(operation)]);
    if (['createJob', 'createPreview', 'createUpload'].includes(operation.id)) expect(sent![0]!.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
  }
});
