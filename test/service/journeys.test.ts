/** The whole way of one video in live mode, by the SDK and by the command line: sent, previewed, enhanced, told, deleted, proved. */
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyCertificate } from '../../src/evidence/index.ts';
import { createReelmend, type Job, type Preview, type Quote, verifyWebhook, type WebhookEvent } from '../../src/sdk/index.ts';
import { type Outcome, runCommand } from '../helpers/command.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
let site: Site;
let api: Running;
let dir: string;
let clip: string;
let receiver: Server;
const received: WebhookEvent[] = [];
beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    received.push(await verifyWebhook({ body: new Uint8Array(await buffer(request)), headers: request.headers, secret }));
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  dir = await mkdtemp(join(tmpdir(), 'reelmend-journeys-'));
  clip = join(dir, 'walk.mp4');
  await makeClip(clip, { video: 'testsrc2=size=160x90:rate=10', seconds: 2, audio: null, args: ['-c:v', 'libx264', '-crf', '35', '-pix_fmt', 'yuv420p'] });
  site = await createSite();
  api = await site.start('start');
});
afterAll(async () => {
  await site?.close();
  receiver.close();
  await rm(dir, { recursive: true, force: true });
});

/** `reelmend listen`, which forwards one event to the receiver. Resolves once it listens. */
async function listen(key: string): Promise<{ ended: Promise<Outcome> }> {
  let printed = '';
  const env = { ...environment(key), REELMEND_WEBHOOK_SECRET: secret };
  const { port } = receiver.address() as AddressInfo;
  const ended = runCommand(['listen', '--forward', `${port}/hooks`, '--events', '1'], { env, onStdout: (text) => (printed += text) });
  await eventually(() => printed.includes('Forwarding the events'));
  return { ended };
}

async function expectEvent(listening: { ended: Promise<Outcome> }, jobId: string): Promise<void> {
  const { stdout } = await listening.ended;
  expect(stdout.split('\n')[1]).toBe(`job.completed  ${jobId}  200`);
  expect(received.at(-1)).toMatchObject({ event: 'job.completed', job_id: jobId });
}

const environment = (key: string) => ({ PATH: process.env['PATH']!, HOME: dir, REELMEND_URL: api.url, REELMEND_API_KEY: key });

it('by the SDK', async () => {
  const { key } = await createCustomer(site, { tier: 'secure' });
  const reelmend = createReelmend({ baseUrl: api.url, apiKey: key });
  const listening = await listen(key);

  const upload = await reelmend.uploads.create(await openAsBlob(clip), { name: 'walk.mp4' });
  const settings = [{ resolution: '1080p' }, { resolution: '1080p', model: 'none' }] as const;
  const preview = await reelmend.previews.create({ upload_id: upload.id, settings: [...settings], secure: true });
  const compared = await reelmend.previews.wait(preview.id);
  expect(compared.stretches!.map(({ results }) => results.length)).toEqual([2]);

  const body = { upload_id: upload.id, secure: true, ...compared.settings[1]! };
  const { credits } = await reelmend.quotes.create(body);
  const { id } = await reelmend.jobs.create({ ...body, max_credits: credits });
  const job = await reelmend.waitForJob(id);
  expect(job).toMatchObject({ status: 'done', sandbox: false, credits_charged: credits, file_name: 'walk.mp4' });
  const large = join(dir, 'by-sdk.mp4');
  await reelmend.jobs.download(id, large);
  expect((await ffprobe(large)).streams[0]).toMatchObject({ width: 1920, height: 1080, nb_read_frames: '20' });
  await expectEvent(listening, id);

  await reelmend.jobs.delete(id);
  const { certificate } = await reelmend.jobs.deletionCertificate(id, { maxRetries: 20 });
  const proof = await verifyCertificate(certificate, await reelmend.jwks.get());
  expect([proof.job_id, proof.objects.map(({ role }) => role).sort()]).toEqual([id, ['original', 'output', 'upload']]);
});

it('by the command line, its account included', async () => {
  const { id: account } = await site.reelmend<{ id: string }>('accounts', 'create', 'Somerville');
  await site.reelmend('accounts', 'approve', account);
  await site.reelmend('accounts', 'grant', account, '1000');
  const { key } = await site.reelmend<{ key: string }>('keys', 'create', account, '--mode', 'live', '--tier', 'secure');
  const json = async <T>(...args: string[]): Promise<T> => {
    const { status, stdout, stderr } = await runCommand(args, { env: environment(key) });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  };
  const listening = await listen(key);

  const [upload] = await json<{ id: string }[]>('upload', clip, '--json');
  const preview = await json<Preview>('preview', upload!.id, '--setting', '1080p', '--setting', '1080p,model=none', '--secure', '--output', join(dir, 'clips'), '--json');
  expect((await ffprobe(join(dir, 'clips/1-setting-2.mp4'))).streams[0]).toMatchObject({ width: 1920 });
  const chosen = [upload!.id, '--secure', '--preview', preview.id, '--setting', '2'];
  const { credits } = await json<Quote>('jobs', 'quote', ...chosen, '--json');
  const large = join(dir, 'by-command.mp4');
  const job = await json<Job>('jobs', 'create', ...chosen, '--poster', '--max-credits', String(credits), '--output', large, '--json');
  expect(job).toMatchObject({ status: 'done', sandbox: false, credits_charged: credits, enhancements: { model: 'none' } });
  expect((await ffprobe(large)).streams[0]).toMatchObject({ width: 1920, height: 1080, nb_read_frames: '20' });
  await expectEvent(listening, job.id);

  await json('jobs', 'delete', job.id);
  const jwks = `${api.url}/.well-known/jwks.json`;
  await writeFile(join(dir, 'certificate.json'), JSON.stringify(await json('jobs', 'certificate', job.id)));
  const verified = await json<{ result: string; certificate: { objects: { role: string }[] } }>('verify', 'certificate', join(dir, 'certificate.json'), '--jwks', jwks);
  expect([verified.result, verified.certificate.objects.map(({ role }) => role).sort()]).toEqual(['verified', ['original', 'output', 'poster', 'upload']]);
  const log = await json<{ data: { kind: string }[] }>('audit-log');
  expect(log.data.map(({ kind }) => kind)).toContain('job.deleted');
  await writeFile(join(dir, 'log.json'), JSON.stringify(log));
  expect(await json('verify', 'audit-log', join(dir, 'log.json'), '--jwks', jwks)).toMatchObject({ result: 'verified', size: log.data.length });
});
