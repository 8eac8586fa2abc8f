/** What requests in progress get when the process is told to stop. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { listen, requestGraceMs } from '../../src/app/listen.ts';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { call, createCustomer, createSite, type JobView, type Site } from '../helpers/service.ts';

let dir: string;
let files: FileServer;
let site: Site;
const asked = Promise.withResolvers<void>();
const released = Promise.withResolvers<void>();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-shutdown-'));
  await makeClip(join(dir, 'clip.mp4'), { seconds: 1, video: 'testsrc2=size=160x120:rate=5', args: ['-c:v', 'libx264'], audio: null });
  const clip = await readFile(join(dir, 'clip.mp4'));
  files = await startFileServer({
    dir,
    routes: {
      '/slow.mp4': (_request, response) => {
        asked.resolve();
        void released.promise.then(() => response.writeHead(200, { 'Content-Length': clip.length }).end(clip));
      },
    },
  });
  site = await createSite({ REELMEND_ALLOW_HOSTS: files.hostPort });
});
afterAll(async () => {
  await site.close();
  await files.close();
  await rm(dir, { recursive: true });
});

it('event streams end at once, and a creation whose source is slow gets its response', async () => {
  const { key } = await createCustomer(site);
  const api = await site.start('serve');
  const create = (name: string) => call<JobView>(api.url, key, 'POST', '/v1/jobs', { video_url: `${files.url}/${name}`, resolution: '1080p' });
  const { body: job } = await create('clip.mp4');
  const events = await fetch(`${api.url}/v1/jobs/${job.id}/events`, { headers: { Authorization: `Bearer ${key}` } });
  const creation = create('slow.mp4');
  await asked.promise;
  const stopped = api.kill('SIGTERM');
  expect(await events.text()).toContain('event: status');
  released.resolve();
  expect((await creation).status).toBe(201);
  await stopped;
});

describe('a request in progress', () => {
  afterEach(() => void vi.useRealTimers());

  async function begun() {
    const answer = Promise.withResolvers<Response>();
    const arrived = Promise.withResolvers<void>();
    const fetched = () => (arrived.resolve(), answer.promise);
    const logger = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
    const server = await listen(fetched, { host: '127.0.0.1', port: 0, variable: 'PORT', logger, publicUrl: () => '' });
    const response = fetch(server.url).then(({ status }) => status, () => 'cut off');
    await arrived.promise;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    return { server, response, answer, closed: server.close() };
  }

  it('has more time than a creation may take', async () => {
    const { response, answer, closed } = await begun();
    vi.advanceTimersByTime(20_000);
    answer.resolve(new Response('', { status: 201 }));
    expect(await response).toBe(201);
    await closed;
  });

  it('is cut off after that time, and when nothing is to be waited for', async () => {
    const late = await begun();
    vi.advanceTimersByTime(requestGraceMs);
    expect(await late.response).toBe('cut off');
    await late.closed;
    vi.useRealTimers();
    const forced = await begun();
    forced.server.forceClose();
    expect(await forced.response).toBe('cut off');
    await forced.closed;
  });
});
