/** Customers' commands that are interrupted or fail half-way: against a stand-in whose answers a test replaces. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand, script } from '../helpers/command.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const video = 'the video';
const [upload, job, preview] = [`upl_${'0'.repeat(26)}`, `job_${'0'.repeat(26)}`, `prv_${'0'.repeat(26)}`];
const clip = () => ({ url: `${url}/clip.mp4` });

let server: Server;
let url: string;
let dir: string;
/** by method and path; they replace the answers of a service that works */
let answers: Record<string, Answer>;
let requests: string[];

beforeAll(async () => {
  server = createServer((request, response) => {
    const route = `${request.method} ${request.url}`;
    requests.push(route);
    request.resume();
    (answers[route] ?? working[route] ?? json({}, 404))(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(async () => {
  [answers, requests] = [{}, []];
  dir = await mkdtemp(join(tmpdir(), 'reelmend-transfers-'));
  await writeFile(file('my film.mov'), video);
});
afterEach(async () => {
  server.closeAllConnections();
  await rm(dir, { recursive: true });
});

const file = (name: string) => join(dir, name);
const json = (body: object, status = 200): Answer => (_request, response) =>
  void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
const refusal = (status: number, message: string) => json({ error: { code: 'some_code', type: 'some_error', message } }, status);
/** Ctrl-C at the request, which is never answered whole. */
const interrupt: Answer = (_request, response) => {
  response.writeHead(200, { 'Content-Length': '1000' }).write('{');
  process.emit('SIGINT', 'SIGINT');
};

const uploaded = (status: string) => ({
  ...{ id: upload, file_name: 'my film.mov', status, size_bytes: video.length, part_size_bytes: 100, received_bytes: 0 },
  parts: status === 'waiting' ? [{ number: 1, offset: 0, size_bytes: video.length, url: `${url}/part` }] : [],
});
const output = { width: 1920, height: 1080, size_bytes: 1000, sha256: 'unknown' };
let arrived = false;
const working: Record<string, Answer> = {
  'POST /v1/uploads': (request, response) => {
    arrived = false;
    json(uploaded('waiting'), 201)(request, response);
  },
  'PUT /part': (_request, response) => {
    arrived = true;
    response.end();
  },
  [`GET /v1/uploads/${upload}`]: (request, response) => json(uploaded(arrived ? 'ready' : 'waiting'))(request, response),
  [`POST /v1/uploads/${upload}/complete`]: (request, response) => json(uploaded('ready'))(request, response),
  'POST /v1/jobs': json({ id: job, status: 'queued', progress: 0, resolution: '1080p' }, 201),
  [`GET /v1/jobs/${job}`]: json({ id: job, status: 'done', progress: 1, eta_seconds: 0, output }),
  [`GET /v1/jobs/${job}/result`]: (request, response) => json({ download_url: `${url}/out.mp4` })(request, response),
  'POST /v1/previews': json({ id: preview, status: 'queued' }, 201),
  [`GET /v1/previews/${preview}`]: (request, response) =>
    json({ id: preview, status: 'done', progress: 1, settings: [{}], stretches: [{ start: 0, reason: 'faces', original: clip(), results: [clip()] }] })(request, response),
};

const environment = () => ({ PATH: process.env['PATH']!, HOME: dir, REELMEND_URL: url, REELMEND_API_KEY: 'svc_test_x' });
const reelmend = (...args: string[]) => runCommand(args, { env: environment() });
const failed = (message: string, stdout = '') => ({ status: 1, stdout, stderr: `reelmend: ${message}\n` });
const interrupted = (note = '') => ({ ...failed(`Interrupted.${note}`), status: 130 });
const kept = `The upload ${upload} is kept for 24 hours; name it instead of the file.`;

describe('reelmend upload', () => {
  it('that is interrupted names the command that goes on with it, for a shell', async () => {
    answers['PUT /part'] = interrupt;
    const listeners = process.listenerCount('SIGINT');
    const goOn = (path: string) => ` Go on with: reelmend upload --resume ${upload} '${path}'`;
    expect(await reelmend('upload', file('my film.mov'))).toEqual(interrupted(goOn(file('my film.mov'))));
    expect(await reelmend('upload', file('my film.mov'), '--url', url)).toEqual(interrupted(`${goOn(file('my film.mov'))} --url ${url}`));
    await writeFile(file("Anna's.mov"), video);
    expect((await reelmend('upload', file("Anna's.mov"))).stderr).toContain(String.raw`Anna'\''s.mov'`);
    expect(process.listenerCount('SIGINT')).toBe(listeners);
  });

  it('names a file that would be taken for an option so that it is not', async () => {
    const startedIn = process.cwd();
    process.chdir(dir);
    try {
      await writeFile('-1.mov', video);
      answers['PUT /part'] = interrupt;
      expect(await reelmend('upload', '--', '-1.mov')).toEqual(interrupted(` Go on with: reelmend upload --resume ${upload} ./-1.mov`));
      answers['PUT /part'] = working['PUT /part']!;
      answers['GET /out.mp4'] = interrupt;
      const again = ` The job is done; fetch its result with: reelmend jobs download ${job} ./-out.mp4`;
      expect(await reelmend('jobs', 'create', '--output', '-out.mp4', '--', '-1.mov')).toEqual(interrupted(again));
    } finally {
      process.chdir(startedIn);
    }
  });

  it('names no such command where it would not help', async () => {
    answers['PUT /part'] = refusal(413, 'Too large.');
    expect(await reelmend('upload', file('my film.mov'))).toEqual(failed('Too large.'));
    await writeFile(file('other.mov'), 'another video');
    const other = await reelmend('upload', '--resume', upload, file('other.mov'));
    expect(other).toEqual(failed(`The file has 13 bytes; the upload was begun for ${video.length}.`));
  });

  it('prints what was sent before a failure, also as JSON', async () => {
    answers['POST /v1/uploads'] = (request, response) => {
      const first = requests.filter((route) => route === 'POST /v1/uploads').length === 1;
      (first ? working['POST /v1/uploads']! : refusal(400, 'Too many.'))(request, response);
    };
    const { status, stdout, stderr } = await reelmend('upload', file('my film.mov'), file('my film.mov'), '--json');
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'reelmend: Too many.\n' });
    expect(JSON.parse(stdout)).toMatchObject([{ id: upload, status: 'ready' }]);
  });
});

describe('reelmend jobs', () => {
  it('sends and creates nothing whose result could not be written', async () => {
    const create = (path: string) => reelmend('jobs', 'create', file('my film.mov'), '--output', path);
    expect(await create(dir)).toEqual(failed(`${dir} is a folder: name a file for the result.`));
    expect(await create(file('absent/out.mp4'))).toEqual(failed(`There is no folder ${file('absent')}.`));
    expect(await create(file('my film.mov/out.mp4'))).toEqual(failed(`There is no folder ${file('my film.mov')}.`));
    expect(await create('')).toEqual(failed('The name of the output is empty.'));
    execFileSync('mkfifo', [file('pipe')]);
    for (const to of [() => create(file('pipe')), () => reelmend('jobs', 'download', job, file('pipe'))]) {
      expect(await to()).toEqual(failed(`${file('pipe')} is a device or a pipe: name a file for the result.`));
    }
    expect(await reelmend('jobs', 'download', job, dir)).toEqual(failed(`${dir} is a folder: name a file for the result.`));
    expect(requests).toEqual([]);
  });

  it('name the upload that a refused job leaves', async () => {
    answers['POST /v1/jobs'] = refusal(402, 'The balance is too low.');
    expect(await reelmend('jobs', 'create', file('my film.mov'))).toEqual(failed(`The balance is too low. ${kept}`));
    expect(await reelmend('jobs', 'create', upload)).toEqual(failed('The balance is too low.'));
  });

  it('say at Ctrl-C during the creation that there may be a job', async () => {
    answers['POST /v1/jobs'] = interrupt;
    expect(await reelmend('jobs', 'create', upload)).toEqual(interrupted(' The job may have been created; see: reelmend jobs list'));
  });

  it('name the job that goes on, and the one that has ended', async () => {
    const create = () => reelmend('jobs', 'create', file('my film.mov'), '--wait', '--url', url);
    answers[`GET /v1/jobs/${job}`] = interrupt;
    expect(await create()).toEqual(interrupted(` The job ${job} goes on: reelmend jobs get ${job} --url ${url}`));
    answers[`GET /v1/jobs/${job}`] = json({ id: job, status: 'error', progress: 0, error: { code: 'some_code', message: 'Unreadable.' } });
    expect(await create()).toEqual(failed(`Unreadable. The job was ${job}.`));
    answers[`GET /v1/jobs/${job}`] = refusal(404, 'There is no such job.');
    expect(await create()).toEqual(failed(`There is no such job. The job was ${job}.`));
  });

  it('name the job whose result is not here yet, and leave no draft', async () => {
    answers['GET /out.mp4'] = interrupt;
    const out = file('out.mp4');
    const again = `The job is done; fetch its result with: reelmend jobs download ${job} ${out}`;
    expect(await reelmend('jobs', 'create', file('my film.mov'), '--output', out)).toEqual(interrupted(` ${again}`));
    expect(await reelmend('jobs', 'download', job, out)).toEqual(interrupted());
    expect(await readdir(dir)).toEqual(['my film.mov']);
  });
});

describe('reelmend preview', () => {
  it('sends and creates nothing whose clips could not be written', async () => {
    const path = file('my film.mov');
    expect(await reelmend('preview', path, '--output', path)).toEqual(failed(`${path} is a file: name a folder for the clips.`));
    expect(await reelmend('preview', path, '--output', '')).toEqual(failed('The name of the folder is empty.'));
    expect(requests).toEqual([]);
  });

  it('leaves an earlier clip as it was when the disk is full', async () => {
    await mkdir(file('clips'));
    await writeFile(file('clips/1-original.mp4'), 'earlier');
    answers['GET /clip.mp4'] = (_request, response) => void response.end(Buffer.alloc(100_000));
    // A limit for files of 10 kB stands in for the disk.
    const command = ['-c', 'ulimit -f 10; exec "$@"', 'bash', script, 'preview', upload, '--output', file('clips')];
    const ended = promisify(execFile)('bash', command, { env: { ...environment(), PATH: process.env['PATH'] } });
    const stderr = expect.stringMatching(/^reelmend: Writing a file failed: file too large\. The preview is done; for links to its clips: /);
    await expect(ended).rejects.toMatchObject({ code: 1, stderr });
    expect(await readdir(file('clips'))).toEqual(['1-original.mp4']);
    expect(await readFile(file('clips/1-original.mp4'), 'utf8')).toBe('earlier');
  });

  it('names what is there when it fails half-way', async () => {
    const create = () => reelmend('preview', file('my film.mov'), '--output', file('clips'));
    const get = `reelmend previews get ${preview}`;
    const links = `The preview is done; for links to its clips: ${get}`;
    answers['GET /clip.mp4'] = (_request, response) => void response.writeHead(500).end();
    expect(await create()).toEqual(failed(`1-original.mp4 could not be downloaded: the storage answered 500. ${links}`));
    answers['GET /clip.mp4'] = interrupt;
    expect(await create()).toEqual(interrupted(` ${links}`));
    answers[`GET /v1/previews/${preview}`] = interrupt;
    expect(await create()).toEqual(interrupted(` The preview ${preview} goes on: ${get}`));
    answers[`GET /v1/previews/${preview}`] = json({ id: preview, status: 'error', progress: 0, error: { code: 'some_code', message: 'Unreadable.' } });
    expect(await create()).toEqual(failed(`Unreadable. The preview was ${preview}.`));
    answers['POST /v1/previews'] = refusal(402, 'The balance is too low.');
    expect(await create()).toEqual(failed(`The balance is too low. ${kept}`));
    expect(await readdir(file('clips'))).toEqual([]);
  });
});
