/**
 * compose.yaml with Docker, as docs/install.md says: the image is built, everything starts, a customer's video is enhanced. Long,
 * because the image compiles the engine. The images of others are stand-ins where their registry cannot be reached (images/build).
 */
import { execFile } from 'node:child_process';
import { openAsBlob } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createReelmend, type Reelmend } from '../../src/sdk/index.ts';
import { type Docker, startDocker } from '../helpers/docker.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { findS3Server } from '../helpers/s3.ts';
import { eventually } from '../helpers/wait.ts';
import { readMarkdown } from '../docs/markdown.ts';

const run = promisify(execFile);
const canRun = isLongRun && process.getuid?.() === 0;
if (isLongRun && !canRun) console.warn('Docker needs root: compose.yaml is NOT tested with it');

/** Loopback addresses of its own, so that the ports of compose.yaml are free on them. */
const ip = `127.${process.pid % 199}.${Date.now() % 199}.2`;
const api = `http://${ip}:8080`;

/** The block of the guide that contains these words. */
const guideBlock = (words: string) => readMarkdown('docs/install.md').blocks.find(({ text }) => text.includes(words))!.text;

/** Compose wants the variables that it names even to build. */
const plainSecrets = 'POSTGRES_PASSWORD=x\nREELMEND_KEY_PEPPER=x\nREELMEND_LINK_SECRET=x\nAWS_ACCESS_KEY_ID=x\nAWS_SECRET_ACCESS_KEY=x\n';

interface Container {
  Service: string;
  Name: string;
  State: string;
  Health: string;
}

describe.skipIf(!canRun)('compose.yaml with Docker', () => {
  let docker: Docker;
  let dir: string;
  let reelmend: Reelmend;
  const compose = (command: string) => docker.shell(`docker compose ${command}`, dir);
  const containers = async (service: string) => {
    const lines = (await compose(`ps --all --format json ${service}`)).trim().split('\n');
    return lines.map((line) => JSON.parse(line) as Container);
  };
  const cli = async <T>(...args: string[]) => JSON.parse(await compose(`exec -T api scripts/reelmend ${args.join(' ')}`)) as T;
  const clip = async (seconds: number) => {
    const path = join(dir, `clip-${seconds}.mp4`);
    await makeClip(path, { video: 'testsrc2=size=320x180:rate=10', seconds, args: ['-c:v', 'libx264'], audio: ['-c:a', 'aac'] });
    return reelmend.uploads.create(await openAsBlob(path), { name: 'clip.mp4' });
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'reelmend-compose-'));
    docker = await startDocker();
    const made = await docker.shell(`test/deploy/images/build ${(await findS3Server())!}`);
    console.log(`images of PostgreSQL, versitygw, Caddy and Debian: ${made.trim()}`);
    await docker.shell(`git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read --files-from - | tar -x -C ${dir}`);
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.error(await compose('logs --no-color --tail 50').catch(String));
  });
  afterAll(async () => {
    await docker?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  it('builds its image, which has no compilers', async () => {
    // Without BuildKit, Compose would build it twice, for the API and for the workers.
    await writeFile(join(dir, '.env'), plainSecrets);
    await writeFile(join(dir, 'network.yaml'), 'services: { api: { build: { network: host } } }\n');
    await compose('-f compose.yaml -f network.yaml build api');
    const lacking = await docker.shell('docker run --rm --entrypoint bash reelmend -c "command -v c++ npm ffmpeg || echo none"');
    expect(lacking).toBe('none\n');
  });

  it('starts with the commands of the guide, and is healthy', async () => {
    // The guide's command keeps secrets that are there.
    await rm(join(dir, '.env'));
    await docker.shell(guideBlock('POSTGRES_PASSWORD'), dir);
    await appendFile(join(dir, '.env'), `BIND_ADDRESS=${ip}\nS3_PUBLIC_ENDPOINT=http://${ip}:7070\nREELMEND_PUBLIC_URL=${api}\nREELMEND_REQUIRE_ISOLATION=1\nWORKERS=2\n`);
    const printed = await docker.shell(guideBlock('docker compose up -d'), dir);
    expect(JSON.parse(printed)).toMatchObject({ email: 'ops@example.com', operator: true });
    for (const service of ['api', 'worker', 'postgres']) {
      await eventually(async () => (await containers(service)).every(({ State, Health }) => State === 'running' && Health === 'healthy'), service);
    }
    expect(await containers('worker')).toHaveLength(2);
    expect((await fetch(`${api}/readyz`)).status).toBe(200);
  });

  it('isolates media children with bubblewrap, as a user without rights', async () => {
    for (const service of ['api', 'worker']) expect(await compose(`logs --no-color ${service}`)).toContain('media children run in bubblewrap');
    expect((await compose('exec -T worker id -u')).trim()).toBe('10001');
  });

  it('enhances a video that a customer sends, and hands out a link to it', async () => {
    const { id } = await cli<{ id: string }>('accounts', 'create', 'Somerville');
    await cli('accounts', 'approve', id);
    await cli('accounts', 'grant', id, '1000');
    const { key } = await cli<{ key: string }>('keys', 'create', id);
    reelmend = createReelmend({ baseUrl: api, apiKey: key });
    const upload = await clip(2);
    const job = await reelmend.waitForJob((await reelmend.jobs.create({ upload_id: upload.id, resolution: '1080p' })).id);
    expect(job).toMatchObject({ status: 'done', sandbox: false });
    await reelmend.jobs.download(job.id, join(dir, 'out.mp4'));
    expect((await ffprobe(join(dir, 'out.mp4'))).streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, height: 1080, nb_read_frames: '20' });
  });

  it('lets the pages of the console send files to the bucket', async () => {
    const headers = { Origin: api, 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'content-type' };
    const allowed = (await fetch(`http://${ip}:7070/reelmend/uploads/x`, { method: 'OPTIONS', headers })).headers;
    expect(allowed.get('Access-Control-Allow-Origin')).toBe(api);
    expect(allowed.get('Access-Control-Allow-Methods')).toBe('PUT');
    expect(allowed.get('Access-Control-Allow-Headers')).toBe('content-type');
  });

  it('restarts a worker that is killed; its job is done once more and charged once', async () => {
    const { id } = await reelmend.jobs.create({ upload_id: (await clip(20)).id, resolution: '1080p', model: 'fast' });
    await eventually(async () => ((await reelmend.jobs.get(id)).progress ?? 0) > 0, 'the job has begun');
    const { credits } = await reelmend.account.get();
    const names = (await containers('worker')).map(({ Name }) => Name);
    const busy = await eventually(async () => {
      for (const name of names) if ((await docker.shell(`docker top ${name}`)).includes('bwrap')) return name;
    }, 'a worker that enhances');
    await docker.shell(`kill -9 "$(docker inspect -f '{{.State.Pid}}' ${busy})"`);
    await eventually(async () => (await docker.shell(`docker inspect -f '{{.RestartCount}}' ${busy}`)).trim() === '1', 'the restart');
    expect(await reelmend.waitForJob(id)).toMatchObject({ status: 'done', credits_refunded: 0 });
    expect((await reelmend.account.get()).credits).toBe(credits);
  });

  it('serves HTTPS with the profile of Caddy', async () => {
    await writeFile(join(dir, 'own-ports.yaml'), `services: { caddy: { ports: !override ["${ip}:80:80", "${ip}:443:443"] } }\n`);
    await compose('-f compose.yaml -f own-ports.yaml --profile https up -d');
    expect(await containers('worker')).toHaveLength(2);
    const curl = ['--silent', '--show-error', '--insecure', '--resolve', `localhost:443:${ip}`, '--resolve', `localhost:80:${ip}`];
    const read = await eventually(() => run('curl', [...curl, 'https://localhost/readyz']).catch(() => undefined), 'HTTPS');
    expect(JSON.parse(read.stdout)).toEqual({ status: 'ok' });
    const plain = await run('curl', [...curl, '--output', '/dev/null', '--write-out', '%{redirect_url}', 'http://localhost/readyz']);
    expect(plain.stdout).toBe('https://localhost/readyz');
  });

  it('stops by itself when it is told to, and keeps everything', async () => {
    const before = (await reelmend.jobs.list()).data.map(({ id, status }) => [id, status]);
    await compose('--profile https stop');
    for (const { Name } of [...(await containers('api')), ...(await containers('worker'))]) {
      expect((await docker.shell(`docker inspect -f '{{.State.ExitCode}}' ${Name}`)).trim()).toBe('0');
    }
    await compose('--profile https down');
    await compose('up -d --wait');
    expect((await reelmend.jobs.list()).data.map(({ id, status }) => [id, status])).toEqual(before);
    await reelmend.jobs.download(before.at(-1)![0]!, join(dir, 'again.mp4'));
  });
});
