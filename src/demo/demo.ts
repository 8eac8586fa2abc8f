/**
 * The first start: an approved account with credits, its keys printed once, and one real job through the
 * service, so that a newcomer sees the main job done.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SingleBar } from 'cli-progress';
import { generateApiKey, hashApiKey } from '../domain/api-key.ts';
import { createPasswords } from '../domain/passwords.ts';
import type { Mode } from '../domain/job.ts';
import type { Service } from '../app/service.ts';
import { uploadPath } from '../storage/uploads.ts';

const demoName = 'Demo';
const demoEmail = 'demo@localhost';
const demoCredits = 10_000;
const sampleSeconds = 4;
export const demoSampleSeconds = sampleSeconds;

export interface DemoKeys {
  live: string;
  test: string;
  /** of the account's user, who may use every page of the console */
  console: { email: string; password: string };
}

/** Creates the demo account on an empty database; null when there are accounts already, whose keys nobody can print. */
export async function createDemoAccount(service: Service): Promise<DemoKeys | null> {
  if ((await service.store.accounts.list()).length > 0) return null;
  const account = await service.store.accounts.create({ name: demoName });
  await service.store.accounts.approve(account.id);
  await service.store.accounts.grant(account.id, demoCredits, 'demo');
  const issue = async (mode: Mode) => {
    const { key, lastFour } = generateApiKey(mode);
    const hash = hashApiKey(key, service.keyPepper);
    await service.store.keys.create({ accountId: account.id, mode, tier: 'standard', hash, lastFour });
    return key;
  };
  const user = { email: demoEmail, password: randomBytes(12).toString('base64url') };
  const password = await createPasswords().hash(user.password);
  await service.store.users.create({ email: user.email, password, account: { id: account.id } });
  await service.store.users.setOperator(user.email, true);
  return { live: await issue('live'), test: await issue('test'), console: user };
}

export interface SampleServer {
  url: string;
  hostPort: string;
  close(): Promise<void>;
}

/**
 * Serves the sample and what was uploaded on a loopback port of its own (the port after the API's when it is free).
 * Only this address is exempt from the private-address guard, never the API's.
 */
export async function serveSample(
  path: string,
  { preferredPort, uploadFolder }: { preferredPort: number; uploadFolder: string },
): Promise<SampleServer> {
  const server = createServer((request, response) => {
    const [, upload] = /^\/uploads\/(.+)$/.exec(request.url ?? '') ?? [];
    const file = request.url === '/sample.mp4' ? path : upload === undefined ? null : uploadPath(uploadFolder, upload);
    if (file === null) return response.writeHead(404).end();
    sendFile(file, request, response).catch(() => response.headersSent ? response.destroy() : response.writeHead(404).end());
  });
  await listen(server, preferredPort).catch(() => listen(server, 0));
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
  return { url: `http://${hostPort}/sample.mp4`, hostPort, close };
}

/** Single byte ranges. Rejects when there is no such file. */
async function sendFile(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { size } = await stat(path);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = range ? Number(range[1]) : 0;
  const end = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  if (start > end) return void response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
  const headers = { 'Content-Type': 'video/mp4', 'Accept-Ranges': 'bytes', 'Content-Length': end - start + 1 };
  response.writeHead(range ? 206 : 200, range ? { ...headers, 'Content-Range': `bytes ${start}-${end}/${size}` } : headers);
  if (request.method === 'HEAD') return void response.end();
  createReadStream(path, { start, end }).on('error', () => response.destroy()).pipe(response);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** What a newcomer pastes next. */
export function welcome(url: string, keys: DemoKeys, sampleUrl: string): string {
  return `
Reelmend is running at ${url}. These keys are shown once; keep them:

  live key     ${keys.live}     real enhancement, charged against ${demoCredits} credits
  sandbox key  ${keys.test}     free mock jobs

The console, where you see what happens: ${url}/console

  email        ${keys.console.email}
  password     ${keys.console.password}

Your first job by hand:

  curl -s ${url}/v1/jobs -H 'Authorization: Bearer ${keys.live}' \\
    -H 'Content-Type: application/json' -d '{"video_url": "${sampleUrl}", "resolution": "1080p"}'
`;
}

/** What somebody finds at a later start, who may have lost what the first one printed. */
export function welcomeBack(url: string): string {
  return `
Reelmend is running at ${url}, its console at ${url}/console.

Keys and passwords are shown once. In place of lost ones:

  scripts/reelmend accounts list                  the accounts, by id
  scripts/reelmend keys create ACCOUNT            a live key; --mode test for a sandbox key
  scripts/reelmend users list                     who signs in to the console
  scripts/reelmend users reset-password EMAIL     a new password

Ctrl-C stops the service.`;
}

interface JobView {
  id: string;
  status: string;
  progress: number;
  eta_seconds: number | null;
  error?: { message: string } | null;
}

/** Posts the sample, shows its progress and returns the download link. Throws with the job's error. */
export async function runDemoJob(url: string, key: string, sampleUrl: string, signal: AbortSignal): Promise<string> {
  const call = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${url}${path}`, { ...init, headers, signal });
    const body = (await response.json()) as T & { error?: { message: string } };
    if (!response.ok) throw new Error(body.error?.message ?? `The service answered ${response.status}.`);
    return body;
  };
  const body = JSON.stringify({ video_url: sampleUrl, resolution: '1080p' });
  const { id } = await call<JobView>('/v1/jobs', { method: 'POST', body });
  const bar = new SingleBar({ format: '  sample job  {bar} {percentage} %  {status}', barsize: 30, stream: process.stdout, noTTYOutput: true, notTTYSchedule: 2000 });
  bar.start(100, 0, { status: 'queued' });
  try {
    for (;;) {
      const job = await call<JobView>(`/v1/jobs/${id}`);
      bar.update(Math.floor(job.progress * 100), { status: job.status });
      if (job.status === 'error') throw new Error(job.error?.message ?? 'The job failed.');
      if (job.status === 'done') break;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    bar.update(100, { status: 'done' });
  } finally {
    bar.stop();
  }
  return (await call<{ download_url: string }>(`/v1/jobs/${id}/result`)).download_url;
}
