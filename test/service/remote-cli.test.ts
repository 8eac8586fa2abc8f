/** The commands of customers against a running service. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Account, createReelmend, type Job, type JobResult, type Preview, type Upload, verifyWebhook } from '../../src/sdk/index.ts';
import { runCommand, script, spawnCommand } from '../helpers/command.ts';
import { ffprobe } from '../helpers/ffmpeg.ts';
import { createCustomer, createSite, type Running, type Site } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

let site: Site;
let api: Running;
let key: string;
let dir: string;
beforeAll(async () => {
  site = await createSite({ REELMEND_TEST_MODE_DELAY_MS: '100' });
  ({ key } = await createCustomer(site, { mode: 'test' }));
  api = await site.start('start');
  dir = await mkdtemp(join(tmpdir(), 'reelmend-remote-'));
  await writeFile(join(dir, 'Ferien.mov'), 'test mode reads no video');
  await writeFile(join(dir, 'empty.mov'), '');
});
afterAll(async () => {
  await site?.close();
  if (dir !== undefined) await rm(dir, { recursive: true });
});

const file = (name: string) => join(dir, name);
const environment = () => ({ PATH: process.env['PATH']!, HOME: dir, REELMEND_URL: api.url, REELMEND_API_KEY: key });
const reelmend = (...args: string[]) => runCommand(args, { env: environment() });
const json = async <T>(...args: string[]): Promise<T> => {
  const { status, stdout, stderr } = await reelmend(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout) as T;
};

/** What the job was created with, as the request log has it. */
async function bodyOf({ id }: Job): Promise<unknown> {
  const { requestLog } = createReelmend({ baseUrl: api.url, apiKey: key });
  return eventually(async () => (await requestLog.list({ limit: 20 })).data.find(({ method, resource_id }) => method === 'POST' && resource_id === id)?.request_body);
}

describe('reelmend upload', () => {
  it('sends files and prints their ids', async () => {
    const { status, stdout } = await spawnCommand(['upload', file('Ferien.mov')], { env: environment() });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^upl_[0-9a-z]{26} {2}Ferien\.mov\n$/);
  });

  it('prints JSON, and is resumed by its id', async () => {
    const uploads = await json<Upload[]>('upload', '--json', file('Ferien.mov'), file('Ferien.mov'));
    expect(uploads).toMatchObject([{ status: 'ready', file_name: 'Ferien.mov', size_bytes: 24 }, { status: 'ready' }]);
    const [again] = await json<Upload[]>('upload', '--json', '--resume', uploads[0]!.id, file('Ferien.mov'));
    expect(again!.id).toBe(uploads[0]!.id);
  });

  it.each([
    [['absent.mov'], 'There is no file absent.mov.'],
    [['/usr'], '/usr is a folder: name the video files in it.'],
    [['/dev/null'], '/dev/null is a device or a pipe: name a file, whose size is known before it is sent.'],
    [['--resume', 'upl_x', 'a.mov', 'b.mov'], '--resume is for one file.'],
  ])('says in one line what is wrong: %j', async (args, message) => {
    expect(await reelmend('upload', ...args)).toEqual({ status: 1, stdout: '', stderr: `reelmend: ${message}\n` });
  });

  it('sends nothing of an empty file', async () => {
    const { status, stderr } = await reelmend('upload', file('empty.mov'));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^reelmend: The file .*empty\.mov is empty\.\n$/);
  });

  it('asks for the service and the key', async () => {
    const { REELMEND_URL: _url, ...noUrl } = environment();
    expect((await runCommand(['jobs', 'list'], { env: noUrl })).stderr).toBe('reelmend: Which service? Run reelmend login, set REELMEND_URL, or give --url.\n');
    const { REELMEND_API_KEY: _key, ...noKey } = environment();
    expect((await runCommand(['jobs', 'list'], { env: noKey })).stderr).toContain('REELMEND_API_KEY');
    const notWhole = { status: 1, stdout: '', stderr: 'reelmend: localhost:8080 is no whole URL of a service, such as https://reelmend.example.com.\n' };
    expect(await reelmend('jobs', 'list', '--url', 'localhost:8080')).toEqual(notWhole);
    expect(await reelmend('login', 'localhost:8080')).toEqual(notWhole);
    const tooMuch = { status: 1, stdout: '', stderr: 'reelmend: The URL of the service must have no user name, query or fragment.\n' };
    for (const rest of ['?a=b', '#jobs']) expect(await reelmend('jobs', 'list', '--url', `${api.url}${rest}`)).toEqual(tooMuch);
    expect(await reelmend('login', api.url.replace('://', '://me:secret@'))).toEqual(tooMuch);
    const noKeyAtAll = { status: 1, stdout: '', stderr: 'reelmend: The API key has a character that no key has, such as a space or a line break.\n' };
    expect(await reelmend('jobs', 'list', '--key', `${key}\r`)).toEqual(noKeyAtAll);
    const wrong = await reelmend('jobs', 'list', '--key', 'svc_test_wrong');
    expect(wrong).toMatchObject({ status: 1, stderr: 'reelmend: The API key is not valid.\n' });
  });
});

describe('reelmend preview', () => {
  it('makes a preview of a file with each setting and writes its clips', async () => {
    const settings = ['--setting', '1080p', '--setting', '4K,model=none,sharpen=0.6,faces=off,quality=20'];
    const preview = await json<Preview>('preview', file('Ferien.mov'), ...settings, '--output', file('clips'), '--json');
    expect(preview).toMatchObject({ status: 'done', sandbox: true, file_name: 'Ferien.mov' });
    expect(preview.settings).toEqual([
      { resolution: '1080p' },
      { resolution: '4k', model: 'none', enhancements: { sharpen: 0.6, face_restoration: 'off' }, output: { quality: 20 } },
    ]);
    const names = [1, 2, 3].flatMap((stretch) => ['original', 'setting-1', 'setting-2'].map((clip) => `${stretch}-${clip}.mp4`));
    expect((await readdir(file('clips'))).sort()).toEqual(names);
    const { streams } = await ffprobe(file('clips/1-setting-2.mp4'));
    expect(streams[0]).toMatchObject({ width: 3840, height: 2160 });
  });

  it('lists, gets and deletes them', async () => {
    const { id } = await json<Preview>('preview', 'https://media.example.com/a.mp4', '--json');
    expect((await json<Preview[]>('previews', 'list', '--json'))[0]).toMatchObject({ id, status: 'done', stretches: null });
    expect((await reelmend('previews', 'list')).stdout).toContain(`${id}  done     100 %  1 setting\n`);
    expect((await json<Preview>('previews', 'get', id)).stretches).toHaveLength(3);
    expect(await json('previews', 'delete', id)).toMatchObject({ id, deleted: true });
    expect((await reelmend('previews', 'list')).stdout).not.toContain(id);
  });

  it.each(['face_restoration=off,adaptive_contrast=0.3,max_bitrate=5000000', 'face-restoration=off,adaptive-contrast=0.3,max-bitrate=5000000', 'faces=off,contrast=0.3,max-bitrate=5000000'])(
    'takes the names of the API and of other commands: %s',
    async (setting) => {
      const { settings } = await json<Preview>('preview', 'https://media.example.com/a.mp4', '--setting', setting, '--json');
      expect(settings).toEqual([{ resolution: '1080p', enhancements: { face_restoration: 'off', adaptive_contrast: 0.3 }, output: { max_bitrate: 5_000_000 } }]);
    },
  );

  it.each([
    ['8k', 'Expected name=value, 1080p or 4k instead of "8k".'],
    ['sharpen', 'Expected name=value, 1080p or 4k instead of "sharpen".'],
    ['resolution=4k', 'There is no "resolution"; use 1080p or 4k, and model, quality, max_bitrate, denoise, sharpen, face_restoration, adaptive_contrast with "=".'],
  ])('refuses the setting %s and says what there is', async (setting, reason) => {
    const { status, stderr } = await reelmend('preview', 'https://media.example.com/a.mp4', '--setting', setting);
    expect(status).toBe(1);
    expect(stderr).toContain(`error: option '--setting <list>' argument '${setting}' is invalid. ${reason}\n`);
  });
});

describe('reelmend jobs', () => {
  it('creates one job for one idempotency key, with metadata', async () => {
    const create = () => json<Job>('jobs', 'create', 'https://media.example.com/a.mp4', '--idempotency-key', 'order-7', '--metadata', 'order=A=7', '--metadata', 'note=', '--json');
    const job = await create();
    expect(job.metadata).toEqual({ order: 'A=7', note: '' });
    expect((await create()).id).toBe(job.id);
    const twice = await reelmend('jobs', 'create', 'https://media.example.com/a.mp4', '--metadata', 'order=1', '--metadata', 'order=2');
    expect(twice.stderr).toContain('order occurs twice.');
    const { status, stderr } = await reelmend('jobs', 'create', 'https://media.example.com/a.mp4', '--metadata', 'order');
    expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('Expected name=value.') as string });
  });

  it('creates one job of a file for one idempotency key, and sends the file once', async () => {
    const create = () => json<Job>('jobs', 'create', file('Ferien.mov'), '--idempotency-key', 'order-8', '--json');
    const { id, upload_id } = await create();
    expect(await create()).toMatchObject({ id, upload_id });
    expect(upload_id).not.toBeNull();
  });

  it('enhances a file in one step and writes the result', async () => {
    const { status, stdout } = await reelmend('jobs', 'create', file('Ferien.mov'), '--output', file('out.mp4'));
    expect(status).toBe(0);
    expect(stdout).toMatch(/out\.mp4: 1920×1080, job job_[0-9a-z]{26}\n$/);
    const { streams } = await ffprobe(file('out.mp4'));
    expect(streams[0]).toMatchObject({ codec_name: 'h264', width: 1920 });
    expect((await readdir(dir)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('never replaces the video by a clip of its preview', async () => {
    await writeFile(file('1-original.mp4'), await readFile(file('Ferien.mov')));
    const { status, stderr } = await reelmend('preview', file('1-original.mp4'), '--output', dir);
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'reelmend: The output would overwrite the input; choose another name.\n' });
  });

  it('never replaces the video by its result', async () => {
    await symlink(file('Ferien.mov'), file('link.mov'));
    for (const output of ['Ferien.mov', 'link.mov']) {
      const { status, stderr } = await reelmend('jobs', 'create', file('link.mov'), '--output', file(output));
      expect({ status, stderr }).toEqual({ status: 1, stderr: 'reelmend: The output would overwrite the input; choose another name.\n' });
    }
    expect(await readFile(file('Ferien.mov'), 'utf8')).toBe('test mode reads no video');
  });

  it('lists no control characters of a file name: whoever sent the file chose it', async () => {
    const sdk = createReelmend({ baseUrl: api.url, apiKey: key });
    // U+009B begins the same sequences as ESC [.
    const upload = await sdk.uploads.create(new Blob(['any']), { name: 'a\u009b2Jb.mov' });
    const job = await sdk.jobs.create({ upload_id: upload.id, resolution: '1080p' });
    const preview = await sdk.previews.create({ upload_id: upload.id, settings: [{ resolution: '1080p' }] });
    for (const [kind, { id }] of [['jobs', job], ['previews', preview]] as const) {
      const { stdout } = await reelmend(kind, 'list');
      expect(stdout.split('\n').find((line) => line.startsWith(id))).toMatch(/  a\uFFFD2Jb\.mov$/);
    }
    await sdk.previews.delete(preview.id);
    await sdk.jobs.delete(job.id);
  });

  it('takes uploads and URLs, lists, gets and deletes', async () => {
    const [upload] = await json<Upload[]>('upload', '--json', file('Ferien.mov'));
    const job = await json<Job>('jobs', 'create', upload!.id, '--resolution', '4K', '--wait', '--json');
    expect(job).toMatchObject({ status: 'done', upload_id: upload!.id, resolution: '4k' });
    const other = await json<Job>('jobs', 'create', 'https://media.example.com/slow.mp4', '--json');
    expect(other).toMatchObject({ upload_id: null, file_name: null });
    const { stdout } = await reelmend('jobs', 'list');
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(new RegExp(`^${other.id} {2}(queued|running) +\\d+ % {2}1080p$`)) as string,
      `${job.id}  done     100 %  4k  Ferien.mov`,
    ]);
    expect((await json<Job>('jobs', 'get', job.id)).id).toBe(job.id);
    expect(await json('jobs', 'delete', job.id)).toMatchObject({ deleted: true });
    expect((await reelmend('jobs', 'get', job.id)).stderr).toBe('reelmend: There is no such job in test mode, the mode of this key.\n');
  });

  it('quotes what a job would cost, with the settings of its encoder', async () => {
    const url = 'https://media.example.com/a.mp4';
    const text = await reelmend('jobs', 'quote', url, '--quality', '20', '--max-bitrate', '8000000');
    expect(text).toEqual({ status: 0, stdout: '0 credits for 10 s of video, 1 s of work\n', stderr: '' });
    expect(await json('jobs', 'quote', url, '--json')).toMatchObject({ credits: 0, estimated_size: null });
    const wrong = async (...args: string[]) => (await reelmend('jobs', 'quote', url, ...args)).stderr;
    expect(await wrong('--quality', 'best')).toContain('Expected standard, high, or a number from 10 to 40.');
    expect(await wrong('--max-bitrate', '8')).toContain('Expected 500000 to 200000000 bits per second.');
    expect((await reelmend('jobs', 'quote', 'a.mov')).stderr).toContain('Send a file with `reelmend upload` first.');
  });

  it('creates no job that would cost more than --max-credits', async () => {
    const create = (most: string) => reelmend('jobs', 'create', 'https://media.example.com/a.mp4', '--max-credits', most);
    expect(await create('29')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'reelmend: The job would cost 30 credits; `max_credits` allows 29.\n',
    });
    expect((await create('30')).status).toBe(0);
    expect((await create('many')).stderr).toContain('Expected a whole number.');
  });

  it('takes the settings of a preview, which options replace, and what else a job may have', async () => {
    const url = 'https://media.example.com/a.mp4';
    const { id } = await json<Preview>('preview', url, '--setting', '1080p', '--setting', '4k,model=none,sharpen=0.6,quality=20', '--json');
    const chosen = ['jobs', 'create', url, '--preview', id, '--setting', '2', '--sharpen', '0.2', '--denoise', 'off', '--max-bitrate', '8000000'];
    const more = ['--face-restoration', 'off', '--adaptive-contrast', '0.3', '--poster', '--thumbnails', '3', '--webhook', 'https://hooks.example.com/x'];
    const job = await json<Job>(...chosen, ...more, '--json');
    expect(await bodyOf(job)).toEqual({
      video_url: '…',
      resolution: '4k',
      model: 'none',
      enhancements: { denoise: 'off', sharpen: 0.2, face_restoration: 'off', adaptive_contrast: 0.3 },
      output: { quality: 20, max_bitrate: 8_000_000, poster: true, thumbnails: 3 },
      webhook_url: '…',
    });
    expect((await json<Job>('jobs', 'create', url, '--preview', id, '--json')).resolution).toBe('1080p');
    expect((await reelmend('jobs', 'create', url, '--preview', id, '--setting', '3')).stderr).toBe(`reelmend: The preview ${id} has 2 settings.\n`);
    expect((await reelmend('jobs', 'quote', url, '--setting', '1')).stderr).toBe('reelmend: --setting names a setting of a preview: add --preview prv_….\n');
    expect((await reelmend('jobs', 'create', url, '--denoise', '2')).stderr).toContain('Expected auto, off or a number from 0 to 1.');
  });

  it('lists as many as asked, and those of a status', async () => {
    const all = await json<Job[]>('jobs', 'list', '--limit', '101', '--json');
    expect(all.length).toBeGreaterThan(3);
    expect((await json<Job[]>('jobs', 'list', '--limit', '2', '--json')).map(({ id }) => id)).toEqual(all.slice(0, 2).map(({ id }) => id));
    await reelmend('jobs', 'create', 'https://media.example.com/processing_failed.mp4', '--wait');
    const failed = await json<Job[]>('jobs', 'list', '--status', 'error', '--json');
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(['error']));
    expect(await json<Preview[]>('previews', 'list', '--limit', '1', '--json')).toHaveLength(1);
    const { created_at } = all.at(-1)!;
    const ids = (jobs: Job[]) => jobs.map(({ id }) => id);
    expect(ids(await json<Job[]>('jobs', 'list', '--until', created_at, '--limit', '101', '--json'))).not.toContain(all.at(-1)!.id);
    expect(ids(await json<Job[]>('jobs', 'list', '--since', created_at, '--limit', '101', '--json'))).toEqual(expect.arrayContaining(ids(all)));
    expect(ids(await json<Job[]>('jobs', 'list', '--since', '2h', '--limit', '101', '--json'))).toEqual(expect.arrayContaining(ids(all)));
    for (const [option, time] of [['--until', '1d'], ['--until', '2026-01-01'], ['--since', '2999-12-31T00:00+02:00']] as const) {
      expect(await json<Job[]>('jobs', 'list', option, time, '--json'), time).toEqual([]);
    }
    expect((await reelmend('jobs', 'list', '--since', 'yesterday')).stderr).toContain('Expected a day such as 2026-11-21, a time such as');
    const own = await json<Job>('jobs', 'create', 'https://media.example.com/a.mp4', '--metadata', 'order=A 1', '--json');
    expect(ids(await json<Job[]>('jobs', 'list', '--metadata', 'order=A 1', '--json'))).toEqual([own.id]);
    expect((await reelmend('jobs', 'list', '--metadata', 'order')).stderr).toContain('Expected name=value.');
    expect((await reelmend('jobs', 'list', '--status', 'ready')).stderr).toContain('Allowed choices are queued, running, done, error.');
  });

  it('downloads the result of a job', async () => {
    const job = await json<Job>('jobs', 'create', 'https://media.example.com/later.mp4', '--wait', '--json');
    const { status, stdout } = await reelmend('jobs', 'download', job.id, file('later.mp4'));
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/later\.mp4: [\d.]+ [kM]B\n$/) as string });
    expect((await stat(file('later.mp4'))).size).toBe(job.output!.size_bytes);
    // The help of --poster and --thumbnails names this command.
    const links = await json<JobResult>('jobs', 'result', job.id);
    expect(links).toMatchObject({ poster: null, thumbnails: [] });
    expect((await fetch(links.download_url)).status).toBe(200);
    expect((await reelmend('jobs', 'result', 'job_unknown')).stderr).toBe('reelmend: There is no such job in test mode, the mode of this key.\n');
    expect((await reelmend('jobs', 'download', 'job_unknown', file('x.mp4'))).stderr).toBe('reelmend: There is no such job in test mode, the mode of this key.\n');
  });

  it('writes the result to standard output for -, and nothing beside it', async () => {
    const url = 'https://media.example.com/piped.mp4';
    const job = await json<Job>('jobs', 'create', url, '--wait', '--json');
    const created = ['jobs', 'create', url, '--output', '-'];
    for (const command of [['jobs', 'download', job.id, '-'], created]) {
      const { status, stdout, stderr } = await reelmend(...command);
      expect({ status, size: stdout.length }).toEqual({ status: 0, size: job.output!.size_bytes });
      expect(createHash('sha256').update(Buffer.from(stdout, 'latin1')).digest('hex')).toBe(job.output!.sha256);
      expect(stderr).toMatch(/^standard output: ([\d.]+ [kM]B|1920×1080, job job_\w+)\n$/);
    }
    const refused = async (args: string[], isTerminal = false) => (await runCommand(args, { env: environment(), isTerminal })).stderr;
    expect(await refused([...created, '--json'])).toBe('reelmend: Standard output takes the video or the JSON of --json: name a file for the video.\n');
    expect(await refused(created, true)).toBe('reelmend: A terminal cannot show a video: send it to a program or a file.\n');
  });

  it.each(['jobs download', 'jobs create'])('ends without a word when the reader of the video has exited: %s', async (command) => {
    const { id } = await json<Job>('jobs', 'create', 'https://media.example.com/unread.mp4', '--wait', '--json');
    const args = command === 'jobs download' ? ['jobs', 'download', id, '-'] : ['jobs', 'create', 'https://media.example.com/unread.mp4', '--output', '-'];
    const shell = ['-c', '{ "$@"; echo "status $?" >&2; } | true', 'bash', script, ...args];
    expect((await promisify(execFile)('bash', shell, { env: environment() })).stderr).toBe('status 141\n');
  });

  it('says why a job has failed', async () => {
    const { status, stderr } = await reelmend('jobs', 'create', 'https://media.example.com/processing_failed.mp4', '--wait');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^reelmend: The name of the video of this test job asks for a failure\. The job was job_\w+\.\n$/);
  });
});

it('reelmend job shows operators a job of any account', async () => {
  const { id } = await json<Job>('jobs', 'create', 'https://canary.example.com/processing_failed.mp4', '--wait', '--json').catch(async () => (await json<Job[]>('jobs', 'list', '--status', 'error', '--json'))[0]!);
  const shown = await runCommand(['job', id], { env: site.env, isTerminal: true });
  expect(shown.stdout).toMatch(/^error code +processing_failed$/m);
  expect(shown.stdout).toMatch(/^attempts +[12]$/m);
  expect(shown.stdout).toContain('job.failed');
  expect(shown.stdout).not.toContain('canary');
  expect(await site.reelmend<object>('job', id, '--json')).toMatchObject({ id, status: 'error', segments: [], files: [] });
  const unknown = await runCommand(['job', 'job_x'], { env: site.env });
  expect(unknown).toMatchObject({ status: 1, stdout: '' });
  expect(unknown.stderr).toMatch(/^reelmend: There is no job job_x in the database \w+ at [\w.]+:\d+\.\n$/);
});

describe('reelmend account', () => {
  it('prints the account for people, and as JSON', async () => {
    const account = await json<Account>('account', '--json');
    expect(account).toMatchObject({ sandbox: true, credits: 10_000 });
    expect(await json<Account>('account', 'show', '--json')).toMatchObject({ id: account.id });
    const { stdout } = await reelmend('account');
    const facts = stdout.split('\n').map((line) => line.split(/ {2,}/));
    for (const fact of [['account', account.id], ['mode', 'test'], ['credits', '10000'], ['prices', '1080p 3 credits per second, 4k 6 credits per second'], ['files kept', '30 days']]) {
      expect(facts).toContainEqual(fact);
    }
  });

  it('lists credit transfers and the usage, which test mode does not have', async () => {
    expect(await reelmend('account', 'ledger')).toEqual({ status: 0, stdout: 'There are none.\n', stderr: '' });
    const usage = await json<{ period: string }[]>('account', 'usage', '--by', 'month', '--from', '2026-01-15', '--to', '2026-03-01', '--json');
    expect(usage.map(({ period }) => period)).toEqual(['2026-01', '2026-02', '2026-03']);
    const { stdout } = await reelmend('account', 'usage', '--from', '2026-01-15', '--to', '2026-01-16', '--url', api.url);
    expect(stdout).toBe('period      jobs  seconds  credits  refunded\n2026-01-15  0     0        0        0\n2026-01-16  0     0        0        0\n');
    expect((await reelmend('account', 'usage', '--from', '1.1.')).stderr).toContain('Expected a day, such as 2026-11-21.');
  });
});

describe('reelmend login', () => {
  const home = () => ({ PATH: process.env['PATH']!, HOME: dir, XDG_CONFIG_HOME: join(dir, 'config') });

  it('keeps URL and key for the other commands, and logout forgets them', async () => {
    const { status, stdout } = await spawnCommand(['login', api.url], { env: home(), stdin: `${key}\n` });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Logged in to http:\/\/\S+: acct_\w+, test mode\.\n$/);
    const file = join(dir, 'config', 'reelmend', 'login.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await runCommand(['jobs', 'list'], { env: home() })).status).toBe(0);
    // The key goes to no other service.
    const elsewhere = await runCommand(['jobs', 'list', '--url', 'http://127.0.0.1:9'], { env: home() });
    expect(elsewhere.stderr).toMatch(/^reelmend: With which API key\?/);
    await writeFile(file, '{');
    expect((await runCommand(['jobs', 'list'], { env: home() })).stderr).toMatch(/login\.json is damaged; run reelmend login again\.\n$/);
    // A command that needs nothing of the file does not read it.
    expect((await runCommand(['jobs', 'list', '--url', api.url, '--key', key], { env: home() })).status).toBe(0);
    await runCommand(['logout'], { env: home() });
    expect((await runCommand(['jobs', 'list'], { env: home() })).stderr).toMatch(/^reelmend: Which service\?/);
  });

  it('keeps no key that the service refuses', async () => {
    const refused = await runCommand(['login', api.url], { env: home(), stdin: 'svc_test_wrong\n' });
    expect(refused).toEqual({ status: 1, stdout: '', stderr: 'reelmend: The API key is not valid.\n' });
    expect((await runCommand(['jobs', 'list'], { env: home() })).stderr).toMatch(/^reelmend: Which service\?/);
    expect((await runCommand(['login', api.url], { env: home() })).stderr).toBe('reelmend: There is no API key on standard input.\n');
  });
});

describe('reelmend audit-log', () => {
  it('prints each page as it comes, under the head of the first', async () => {
    let printed = '';
    const seen: string[] = [];
    const server = createServer((request, response) => {
      const after = new URL(request.url!, 'http://service').searchParams.get('starting_after');
      seen.push(printed);
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(after === null
        ? { data: [{ sequence: 3 }, { sequence: 2 }], has_more: true, next_cursor: 2, head: 'first' }
        : { data: [{ sequence: 1 }], has_more: false, next_cursor: null, head: 'later' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const env = { ...environment(), REELMEND_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
      const { status, stdout } = await runCommand(['audit-log'], { env, onStdout: (text) => (printed += text) });
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ head: 'first', data: [{ sequence: 3 }, { sequence: 2 }, { sequence: 1 }] });
      expect(seen[0]).toBe('');
      expect(seen[1]).toContain('"sequence":2');
    } finally {
      server.close();
    }
  });
});

describe('reelmend listen', () => {
  it('brings the events of new jobs to a receiver on this machine, signed', async () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const received: string[] = [];
    const server = createServer(async (request, response) => {
      const event = await verifyWebhook({ body: new Uint8Array(await buffer(request)), headers: request.headers, secret });
      received.push(`${request.url} ${event.event} ${event.job_id}`);
      response.writeHead(received.length === 1 ? 204 : 500).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const earlier = await json<Job>('jobs', 'create', 'https://media.example.com/earlier.mp4', '--wait', '--json');
    try {
      let printed = '';
      const env = { ...environment(), REELMEND_WEBHOOK_SECRET: secret };
      const listening = runCommand(['listen', '--forward', `${port}/hooks`, '--events', '2'], { env, onStdout: (text) => (printed += text) });
      await expect.poll(() => printed).toContain(`to http://127.0.0.1:${port}/hooks. The signing secret is ${secret}\n`);
      const done = await json<Job>('jobs', 'create', 'https://media.example.com/new.mp4', '--wait', '--json');
      await expect.poll(() => received).toHaveLength(1);
      await reelmend('jobs', 'create', 'https://media.example.com/processing_failed.mp4', '--wait');
      const { status, stdout } = await listening;
      expect(status).toBe(0);
      const [, first, second] = stdout.split('\n');
      expect(first).toBe(`job.completed  ${done.id}  204`);
      expect(second).toMatch(/^job\.failed {2}job_\w+ {2}500$/);
      expect(received).toEqual([`/hooks job.completed ${done.id}`, expect.stringMatching(/^\/hooks job\.failed job_/) as string]);
      expect(stdout).not.toContain(earlier.id);
    } finally {
      server.close();
    }
  });

  it('wants a receiver that is one', async () => {
    expect((await reelmend('listen', '--forward', 'http://:x')).stderr).toContain('Expected a port such as 3000');
  });

  // `jq -r .secret` of an error prints null.
  it.each(['null', 'whsec_', 'whsec_%%%', 'whsec_A', 'whsec_AB=C', 'whsec_AAAA=', 'whsec_AAAA\r'])('signs with no secret that a receiver would refuse: %j', async (secret) => {
    const env = { ...environment(), REELMEND_WEBHOOK_SECRET: secret };
    const message = 'reelmend: REELMEND_WEBHOOK_SECRET must be whsec_ followed by base64, as the service shows it.\n';
    expect(await runCommand(['listen', '--forward', '3000', '--events', '1'], { env })).toEqual({ status: 1, stdout: '', stderr: message });
  });

  it('shows the events where there is no receiver', async () => {
    let printed = '';
    const listening = runCommand(['listen', '--events', '1'], { env: environment(), onStdout: (text) => (printed += text) });
    await expect.poll(() => printed).toContain('Waiting for the events of new jobs.');
    const done = await json<Job>('jobs', 'create', 'https://media.example.com/shown.mp4', '--wait', '--json');
    const { status, stdout } = await listening;
    expect([status, stdout.split('\n')[1]]).toEqual([0, `job.completed  ${done.id}`]);
  });
});
