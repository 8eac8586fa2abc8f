/** `npm start` on a fresh data directory: embedded PostgreSQL, keys shown once, a sample job with its link. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleSession, Upload } from '../../src/contract/types.gen.ts';
import { ffprobe } from '../helpers/ffmpeg.ts';
import { checkedFetch } from '../helpers/http-contract.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { call, type JobView, waitForEnd } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../scripts/reelmend', import.meta.url));
let dir: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-first-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

/** Starts the service and resolves to what it has printed once `sign` is in it. */
async function start(sign: RegExp): Promise<{ text: string; stop(): Promise<number | null> }> {
  const env = { PATH: process.env['PATH']!, HOME: dir, REELMEND_DATA_DIR: join(dir, 'data'), PORT: '0' };
  const child = spawn(script, ['start'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  let log = '';
  child.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (sign.test(text)) resolve();
    });
    child.once('exit', (status) => reject(new Error(`ended with status ${status}: ${text}\n${log}`)));
  });
  const stop = () =>
    new Promise<number | null>((resolve) => {
      child.removeAllListeners('exit').once('exit', resolve);
      child.kill('SIGTERM');
    });
  return { text, stop };
}

/** The user that was printed signs in, has the bundled sample at hand, and may send a file of its own. */
async function checkConsole(text: string, file: string): Promise<void> {
  const url = /(http:\/\/127\.0\.0\.1:\d+)\/console/.exec(text)![1]!;
  const [, email, password] = /email +(\S+)\n +password +(\S+)/.exec(text)!;
  const json = { 'Content-Type': 'application/json' };
  const signIn = { method: 'POST', headers: json, body: JSON.stringify({ email, password }) };
  const signedIn = await checkedFetch(`${url}/console/api/sign-in`, signIn);
  const session = (await signedIn.json()) as ConsoleSession;
  expect(session).toMatchObject({ user: { operator: true }, account: { approval_status: 'approved' } });
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
  const headers = { Cookie: cookie, 'X-CSRF-Token': session.csrf_token, ...json };
  const ask: Ask = async (path, body) => {
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    return (await checkedFetch(`${url}/console/api${path}`, init)).json();
  };
  const upload_id = await sendFile(ask, await readFile(file));
  for (const video of [{ video_url: session.capabilities.sample_url.live }, { upload_id }]) {
    const quote = await ask('/quotes', { mode: 'live', request: { ...video, resolution: '1080p' } });
    expect(quote).toMatchObject({ sandbox: false, source: { video_codec: 'h264' } });
  }
}

type Ask = (path: string, body?: object) => Promise<unknown>;

/** Sends a file as the console does, and returns the id of the upload that is ready. */
async function sendFile(ask: Ask, bytes: Buffer<ArrayBuffer>): Promise<string> {
  const request = { file_name: 'film.mp4', size_bytes: bytes.length };
  const { id, parts } = (await ask('/uploads', { mode: 'live', request })) as Upload;
  for (const { url, offset, size_bytes } of parts) {
    const sent = await checkedFetch(url, { method: 'PUT', body: bytes.subarray(offset, offset + size_bytes) });
    expect(sent.status).toBe(200);
  }
  await ask(`/uploads/${id}/complete`, { sha256: createHash('sha256').update(bytes).digest('hex') });
  await eventually(async () => ((await ask(`/uploads/${id}`)) as Upload).status === 'ready');
  return id;
}

/** A job in test mode ends with the bundled sample. */
async function checkTestMode(text: string): Promise<void> {
  const url = /(http:\/\/127\.0\.0\.1:\d+)\/console/.exec(text)![1]!;
  const key = /svc_test_\w{38}/.exec(text)![0];
  const input = { video_url: 'https://media.example.com/film.mp4', resolution: '1080p' };
  const { body } = await call<JobView>(url, key, 'POST', '/v1/jobs', input);
  expect(await waitForEnd(url, key, body.id)).toMatchObject({ status: 'done', sandbox: true, output: { width: 1920, height: 1080 } });
}

describe.runIf(isLongRun)('the first start', () => {
  it('shows the keys, runs the sample and prints a link that works', async () => {
    const { text, stop } = await start(/Ctrl-C stops the service/);
    expect(text).toMatch(/live key {5}svc_live_\w{38}/);
    expect(text).toMatch(/test key {5}svc_test_\w{38}/);
    expect(text).toMatch(/sample job .* 100 % {2}done/);
    const link = /http:\/\/127\.0\.0\.1:\d+\/v1\/downloads\/\S+/.exec(text)![0];
    const response = await fetch(link);
    expect(response.status).toBe(200);
    const file = join(dir, 'sample.mp4');
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    const { streams } = await ffprobe(file);
    expect(streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, height: 1080 });

    const curl = /curl -s[\s\S]+?\}'/.exec(text)![0];
    const { stdout } = await run('bash', ['-c', curl]);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'queued', resolution: '1080p', sandbox: false });
    await checkTestMode(text);
    await checkConsole(text, file);
    expect(await stop()).toBe(0);
  });

  it('is not repeated, and shows no key again', async () => {
    const { text, stop } = await start(/Ctrl-C stops the service/);
    expect(text).toMatch(/Reelmend is running at http\S+, its console at http\S+\/console\./);
    expect(text).not.toContain('svc_');
    // It prints the commands that replace lost keys and a lost password.
    expect(text).toContain('scripts/reelmend keys create ACCOUNT');
    expect(text).toContain('scripts/reelmend users reset-password EMAIL');
    expect(await stop()).toBe(0);
    const log = await readFile(join(dir, 'data', 'postgres', 'server.log'), 'utf8');
    expect(log.trimEnd()).toMatch(/database system is shut down$/);
  });
});
