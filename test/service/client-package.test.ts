/** The package with the commands for customers, as its users get it: packed, installed into an empty project, and run. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Outcome } from '../helpers/command.ts';
import { ffprobe } from '../helpers/ffmpeg.ts';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { hangMs } from '../helpers/wait.ts';
import { nodes } from '../sdk/project.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '../..');
let dir: string;
let site: Site;
let api: Running;
let key: string;
let secureKey: string;
let packed: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-client-'));
  const { stdout } = await exec(join(root, 'scripts/build-cli'), [join(dir, 'packed')], { timeout: hangMs });
  await mkdir(join(dir, 'project'));
  await writeFile(join(dir, 'project/package.json'), '{ "private": true }');
  packed = stdout.trim();
  await exec('npm', ['install', '--offline', '--no-audit', '--no-fund', packed], { cwd: join(dir, 'project'), timeout: hangMs });
  await writeFile(join(dir, 'film.mov'), 'test mode reads no video');
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '100' });
  ({ key } = await createCustomer(site, { mode: 'test' }));
  ({ key: secureKey } = await createCustomer(site, { mode: 'test', tier: 'secure' }));
  api = await site.start('start');
});
afterAll(async () => {
  await site?.close();
  await rm(dir, { recursive: true, force: true });
});

const program = () => join(dir, 'project/node_modules/.bin/reelmend');
/** By this Node, with nothing of the checkout in its environment. */
async function reelmend(node: string, args: string[], stdin = '', onStdout = (_text: string) => {}): Promise<Outcome> {
  const running = exec(node, [program(), ...args], { cwd: dir, env: { PATH: process.env['PATH']!, HOME: dir }, timeout: hangMs });
  running.child.stdin!.end(stdin);
  running.child.stdout!.on('data', onStdout);
  return running.then(
    ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ status: code, stdout, stderr }),
  );
}

describe('the package for customers', () => {
  it('is one package with its libraries and their licences', async () => {
    const manifest = JSON.parse(await readFile(join(dir, 'project/node_modules/reelmend/package.json'), 'utf8')) as Record<string, unknown>;
    const main = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
    for (const field of ['name', 'version', 'license']) expect(manifest[field], field).toBe(main[field]);
    expect((await readdir(join(dir, 'project/node_modules'))).filter((name) => !name.startsWith('.'))).toEqual(['reelmend']);
    const licences = await readFile(join(dir, 'project/node_modules/reelmend/dist/LICENSES.txt'), 'utf8');
    for (const library of ['commander', 'cli-progress', 'zod', 'jose']) expect(licences).toMatch(new RegExp(`^${library}$`, 'm'));
  });

  it('runs with npx in an empty folder, with an empty cache and without a network', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    const empty = join(dir, 'empty');
    await mkdir(empty);
    const env = { PATH: process.env['PATH']!, HOME: empty, npm_config_cache: join(dir, 'cache'), npm_config_update_notifier: 'false' };
    const { stdout } = await exec('npx', ['--yes', '--offline', `--package=${packed}`, 'reelmend', '--version'], { cwd: empty, env, timeout: hangMs });
    expect(stdout).toBe(`${version}\n`);
  });

  it('is not what npm pack makes of the checkout, which says so', async () => {
    const refused = await exec('npm', ['pack', '--dry-run'], { cwd: root, timeout: hangMs }).catch((error: { code: number; stderr: string }) => error);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('npm run build:cli packs the commands for customers') as string });
  });

  it('logs in, enhances a file elsewhere and fetches the result, also on the oldest supported line', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    for (const { path } of await nodes()) {
      expect((await reelmend(path, ['--version'])).stdout).toBe(`${version}\n`);
      expect(await reelmend(path, ['login', api.url], `${key}\n`)).toMatchObject({ status: 0, stderr: '' });
      const made = await reelmend(path, ['jobs', 'create', 'film.mov', '--output', 'film.mp4']);
      expect(made).toEqual({ status: 0, stderr: '', stdout: expect.stringMatching(/^film\.mp4: 1920×1080, job job_\w+\n$/) as string });
      expect((await ffprobe(join(dir, 'film.mp4'))).streams[0]).toMatchObject({ codec_name: 'h264' });
      expect((await reelmend(path, ['jobs', 'list'])).stdout).toMatch(/^job_\w+ {2}done .* film\.mov\n/);
      await rm(join(dir, 'film.mp4'));
    }
  });

  it('fetches clips and published keys, also on the oldest supported line', async () => {
    for (const { path } of await nodes()) {
      const service = ['--url', api.url, '--key', secureKey];
      const preview = await reelmend(path, ['preview', 'https://media.example.com/a.mp4', '--output', 'clips', ...service]);
      expect({ status: preview.status, stderr: preview.stderr }).toEqual({ status: 0, stderr: '' });
      expect((await ffprobe(join(dir, 'clips/1-setting-1.mp4'))).streams[0]).toMatchObject({ codec_name: 'h264' });
      await rm(join(dir, 'clips'), { recursive: true });
      await writeFile(join(dir, 'log.json'), (await reelmend(path, ['audit-log', ...service])).stdout);
      const verified = await reelmend(path, ['verify', 'audit-log', 'log.json', '--jwks', `${api.url}/.well-known/jwks.json`]);
      expect(verified).toEqual({ status: 0, stderr: '', stdout: expect.stringContaining('"result": "verified"') as string });
    }
  });

  it('brings webhooks to a receiver, also on the oldest supported line', async () => {
    const received: string[] = [];
    const receiver = createServer((request, response) => {
      received.push(request.url!);
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      for (const { path } of await nodes()) {
        const service = ['--url', api.url, '--key', key];
        let printed = '';
        const args = ['listen', '--forward', `${(receiver.address() as AddressInfo).port}/hooks`, '--events', '1', ...service];
        const listening = reelmend(path, args, '', (text) => (printed += text));
        await expect.poll(() => printed).toContain('Forwarding the events of new jobs');
        await reelmend(path, ['jobs', 'create', 'https://media.example.com/a.mp4', ...service]);
        expect((await listening).stdout).toMatch(/^job\.completed {2}job_\w+ {2}204$/m);
      }
    } finally {
      receiver.close();
    }
    expect(new Set(received)).toEqual(new Set(['/hooks']));
  });

  it('says in one sentence where the other commands are', async () => {
    for (const args of [['enhance', 'film.mov', '--jobs', '2'], ['start'], ['accounts', 'list', '--json'], ['models', '--help']]) {
      const { status, stdout, stderr } = await reelmend(process.execPath, args);
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr).toBe(`reelmend: ${args[0]} needs the engine and the service, which this package does not contain. Run it in a checkout of Reelmend: scripts/reelmend ${args[0]}.\n`);
    }
    expect((await reelmend(process.execPath, ['jobs', 'get', 'job_x', '--url', 'http://127.0.0.1:9', '--key', 'k'])).status).toBe(1);
  });
});
