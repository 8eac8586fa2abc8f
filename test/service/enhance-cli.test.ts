/** `reelmend enhance` with folders, patterns, lists, URLs and pipes. */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fetchInput, targetsOf } from '../../src/cli/inputs.ts';
import { loadAddon } from '../../src/media/addon.ts';
import { runCommand, script, spawnCommand } from '../helpers/command.ts';
import { ffmpeg, ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { startFileServer } from '../helpers/fileserver.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { startRawServer } from '../helpers/rawserver.ts';
import { freePorts } from '../helpers/ports.ts';
import { eventually, hangMs } from '../helpers/wait.ts';

let dir: string;
const startedIn = process.cwd();
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-enhance-'));
  process.chdir(dir);
  await mkdir('clips');
  await makeClip('clips/a.mp4', { video: 'testsrc2=size=64x36:rate=10', seconds: 0.4, audio: null, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
  await copyFile('clips/a.mp4', 'clips/b.mov');
  await writeFile('clips/notes.txt', 'no video');
  await writeFile('text.mp4', 'no video');
  await makeClip('short.mp4', { video: 'testsrc2=size=640x360:rate=30', seconds: 4, audio: null, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
  // A minute, which commands enhance until they are stopped. Only its first four seconds are encoded.
  await ffmpeg(['-stream_loop', '14', '-i', 'short.mp4', '-c', 'copy', 'long.mp4']);
});
afterEach(() => rm('out', { recursive: true, force: true }));
afterAll(async () => {
  process.chdir(startedIn);
  await rm(dir, { recursive: true, force: true });
});

const env = () => ({ PATH: process.env['PATH']!, HOME: dir, REELMEND_ENCODER_PRESET: 'ultrafast' });
const quick = ['--resolution', 'source', '--model', 'none', '--device', 'cpu'];
const enhance = (...args: string[]) => runCommand(['enhance', ...args, ...quick], { env: env() });
const states = (stdout: string) => stdout.trim().split('\n').slice(1).map((line) => line.split(/\s+/).slice(0, 2).join(' '));
const oneLine = (message: string) => ({ status: 1, stdout: '', stderr: `reelmend: ${message}\n` });

describe('several videos', () => {
  it('of a folder become a folder of results, with a table, and those that are finished are skipped', async () => {
    const first = await enhance('clips', 'out', '--jobs', '2');
    expect({ status: first.status, stderr: first.stderr }).toEqual({ status: 0, stderr: '' });
    expect(first.stdout).toMatch(/^result +state +size +frames +fps +file\na-enhanced\.mp4 +done +64×36 → 64×36 +4 +[\d.]+ +\d+ kB\nb-enhanced\.mp4 +done .*\n$/);
    expect(await readdir('out')).toEqual(['a-enhanced.mp4', 'b-enhanced.mp4']);
    const made = await stat('out/a-enhanced.mp4');
    // b.mov has changed since.
    await utimes('clips/b.mov', new Date(), new Date(Date.now() + 60_000));
    const second = await enhance('clips', 'out', '--crf', '30');
    expect(states(second.stdout)).toEqual(['a-enhanced.mp4 skipped', 'b-enhanced.mp4 done']);
    // Made with another CRF: that must not pass for the result of this command.
    expect(second.stderr).toBe('reelmend: 1 video has a result already and was skipped, whatever model and settings were used then; --force enhances again.\n');
    expect((await stat('out/a-enhanced.mp4')).mtimeMs).toBe(made.mtimeMs);
    expect(states((await enhance('clips/a.mp4', 'out', '--force')).stdout)).toEqual(['a-enhanced.mp4 done']);
    expect((await stat('out/a-enhanced.mp4')).mtimeMs).toBeGreaterThan(made.mtimeMs);
  });

  it('of a pattern and a list are taken once each; one that fails does not keep the others', async () => {
    await writeFile('list.txt', '# mine\nclips/b.mov\n\ntext.mp4\nclips/a.mp4\n');
    const { status, stdout, stderr } = await enhance('clips/*.mp4', 'out', '--list', 'list.txt');
    expect(states(stdout)).toEqual(['a-enhanced.mp4 done', 'b-enhanced.mp4 done', 'text-enhanced.mp4 failed']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^reelmend: text\.mp4: [A-Z][^\n]+\.\n$/);
    expect((await readdir('out')).toSorted()).toEqual(['a-enhanced.mp4', 'b-enhanced.mp4']);
  });

  it.each([
    [['absent.mp4', 'out/'], 'There is no file absent.mp4.'],
    [['*.avi', 'out/'], 'No video matches *.avi.'],
    [['clips'], 'Name the output, too: a folder for the results.'],
    [['clips', 'text.mp4'], 'text.mp4 is a file: name a folder for the results.'],
    [['clips', 'all.mp4'], 'all.mp4 is the name of a file: name a folder for the results.'],
    [['clips', '-'], 'Standard output takes one result; name a folder for several.'],
    [['clips/a.mp4', 'clips/a.mp4', '../a.mp4', 'out'], 'There is no file ../a.mp4.'],
  ])('is refused in one line: %j', async (args, message) => {
    expect(await enhance(...args)).toEqual(oneLine(message));
  });

  it('may be in the folder of the results, whose files are not enhanced again', async () => {
    await mkdir('beside');
    for (const name of ['a.mp4', 'b.mov']) await copyFile(`clips/${name}`, `beside/${name}`);
    process.chdir('beside');
    try {
      expect(states((await enhance('a.mp4', '.')).stdout)).toEqual(['a-enhanced.mp4 done']);
      const second = await enhance('.', '.');
      expect(states(second.stdout)).toEqual(['a-enhanced.mp4 skipped', 'b-enhanced.mp4 done']);
      expect(second.stderr).toContain('reelmend: 1 video is the result of another and was left out.\n');
      // As a shell expands *.mp4.
      const third = await enhance('a-enhanced.mp4', 'a.mp4', 'b-enhanced.mp4', 'b.mov', '.', '--force');
      expect(states(third.stdout)).toEqual(['a-enhanced.mp4 done', 'b-enhanced.mp4 done']);
      expect(third.stderr).toBe('reelmend: 2 videos are results of others and were left out.\n');
      // Results of another size, found and named.
      const sources = async (...paths: string[]) => {
        const targets = await targetsOf({ paths: [...paths, '.'], resolution: '4k' });
        return targets.kind === 'many' ? targets.inputs.map(({ source }) => source) : targets;
      };
      expect(await sources('*.mp4')).toEqual(['a.mp4', 'b-enhanced.mp4']);
      expect(await sources('a.mp4', 'a-enhanced.mp4')).toEqual(['a.mp4', 'a-enhanced.mp4']);
      expect(await sources('a-enhanced.mp4', '*.m*')).toEqual(['a-enhanced.mp4', 'a.mp4', 'b.mov']);
    } finally {
      process.chdir(dir);
    }
  });

  it('are not begun if one has a name that is no UTF-8: it would be left out', async () => {
    await mkdir('latin');
    await copyFile('clips/a.mp4', 'latin/a.mp4');
    await copyFile('clips/a.mp4', Buffer.from('latin/caf\xe9.mp4', 'latin1'));
    const refusal = oneLine('latin/caf\uFFFD.mp4: this name is not UTF-8; rename the file or folder.');
    for (const videos of ['latin', 'latin/*.mp4', 'latin/caf\uFFFD.mp4']) expect(await enhance(videos, 'out/')).toEqual(refusal);
    expect(await runCommand(['probe', 'latin/caf\uFFFD.mp4'], { env: env() })).toEqual(refusal);
  });

  it('that would have one name are refused', async () => {
    await copyFile('clips/a.mp4', 'a.mov');
    expect((await enhance('clips/a.mp4', 'a.mov', 'out')).stderr).toMatch(/^reelmend: Two of the videos would both become out\/a-enhanced\.mp4;/);
  });
});

describe('one video', () => {
  it('without an output becomes a file beside it, 1080p unless asked', async () => {
    const { status, stdout } = await runCommand(['enhance', 'clips/a.mp4', '--model', 'none', '--device', 'cpu'], { env: env() });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^a-1080p\.mp4: 64×36 → 1920×1080, 4 frames /);
    await rm('clips/a-1080p.mp4');
  });

  it('replaces no file unasked: somebody who names two videos keeps the second', async () => {
    await copyFile('clips/b.mov', 'second.mp4');
    const before = await readFile('second.mp4');
    const refused = (name: string) => oneLine(`${name} exists already: add --force to replace it, or name a folder for the results of several videos.`);
    expect(await enhance('clips/a.mp4', 'second.mp4')).toEqual(refused('second.mp4'));
    expect((await readFile('second.mp4')).equals(before)).toBe(true);
    await writeFile('clips/a-enhanced.mp4', 'kept');
    expect(await enhance('clips/a.mp4')).toEqual(refused('clips/a-enhanced.mp4'));
    await rm('clips/a-enhanced.mp4');
    expect((await enhance('clips/a.mp4', 'second.mp4', '--force')).status).toBe(0);
    expect((await ffprobe('second.mp4')).streams).toMatchObject([{ codec_name: 'h264' }]);
  });

  it('replaces no device and no pipe, also when it is asked to', async () => {
    execFileSync('mkfifo', ['pipe']);
    for (const force of [[], ['--force']]) {
      expect(await enhance('clips/a.mp4', 'pipe', ...force)).toEqual(oneLine('pipe is a device or a pipe: name a file for the result.'));
    }
    expect((await stat('pipe')).isFIFO()).toBe(true);
    expect(await enhance('clips/a.mp4', '/dev/null')).toEqual(oneLine('/dev/null is a device or a pipe: name a file for the result.'));
  });

  it('is not begun whose result no file can be', async () => {
    const long = `${'n'.repeat(250)}-long.mp4`;
    expect(await enhance('clips/a.mp4', '')).toEqual(oneLine('The name of the output is empty.'));
    expect(await enhance('clips/a.mp4', long)).toEqual(oneLine(`${join(process.cwd(), long)}: name too long.`));
    // Of several videos, the others are enhanced.
    await copyFile('clips/a.mp4', `${'n'.repeat(250)}.mp4`);
    const several = await enhance(`${'n'.repeat(250)}.mp4`, 'clips/a.mp4', 'out');
    expect(several.stderr).toContain(`${'n'.repeat(250)}-enhanced.mp4: name too long.`);
    expect(await readdir('out')).toEqual(['a-enhanced.mp4']);
  });

  it('leaves nothing behind when its terminal ends', async () => {
    await mkdir('hung-up');
    // `script` gives it a terminal of its own, which ends with `script`.
    const command = ['enhance', 'long.mp4', 'hung-up/out.mp4', ...quick, '--resolution', '4k'];
    const terminal = spawn('script', ['-qfc', [script, ...command].join(' '), 'typescript'], { env: env(), stdio: 'ignore' });
    await eventually(async () => (await readdir('hung-up')).length > 0);
    terminal.kill('SIGKILL');
    await eventually(async () => (await readdir('hung-up')).length === 0);
  });

  it('goes on under nohup when its terminal ends', async () => {
    await mkdir('nohup');
    const command = spawn('nohup', [script, 'enhance', 'short.mp4', 'nohup/out.mp4', ...quick], { env: env(), stdio: 'ignore' });
    const ended = once(command, 'exit');
    await eventually(async () => (await readdir('nohup')).length > 0);
    command.kill('SIGHUP');
    expect(await ended).toEqual([0, null]);
    expect(await readdir('nohup')).toEqual(['out.mp4']);
  });

  it('removes what killed commands left in the folder of the result, and nothing else', async () => {
    await mkdir('left');
    const folders = async () => (await readdir('left')).filter((name) => name.startsWith('.reelmend-'));
    const locked = async (count: number) => {
      const files = (await readdir('left', { recursive: true })).filter((name) => name.endsWith('/lock'));
      return files.length === count ? files.map((file) => dirname(file)) : undefined;
    };
    const start = (name: string) => spawn(script, ['enhance', 'long.mp4', `left/${name}.mp4`, ...quick, '--resolution', '4k'], { env: env(), stdio: 'ignore' });
    const running = start('running');
    const [kept] = await eventually(() => locked(1));
    const killed = start('killed');
    await eventually(() => locked(2));
    killed.kill('SIGKILL');
    // Of another machine or start of this one: one that may still be at work, and one that cannot.
    for (const [name, ageMs] of [['.reelmend-remote', 3600_000], ['.reelmend-before', 72 * 3600_000]] as const) {
      await mkdir(`left/${name}`);
      await writeFile(`left/${name}/lock`, 'another boot');
      for (const path of [`left/${name}/lock`, `left/${name}`]) await utimes(path, new Date(), new Date(Date.now() - ageMs));
    }
    // Without a lock, or of somebody else's program.
    for (const name of ['.reelmend-noLock', '.reelmend-mine']) await mkdir(`left/${name}`);
    await writeFile('left/.reelmend-mine/lock', 'mine');
    await enhance('clips/a.mp4', 'left/done.mp4');
    expect((await folders()).toSorted()).toEqual(['.reelmend-mine', '.reelmend-noLock', '.reelmend-remote', kept].toSorted());
    running.kill('SIGTERM');
    await eventually(async () => (await folders()).length === 3);
    expect(await readdir('left')).toContain('done.mp4');
  });

  it('to a standard output that is full fails with a sentence', async () => {
    for (const what of [`enhance clips/a.mp4 - ${quick.join(' ')}`, 'models list']) {
      const ended = promisify(execFile)('bash', ['-c', `exec "$0" ${what} > /dev/full`, script], { env: env() });
      await expect(ended).rejects.toMatchObject({ code: 1, stderr: 'reelmend: Standard output: no space left on device.\n' });
    }
  });

  it('never replaces itself, also not through a link to its folder', async () => {
    await symlink('clips', 'link');
    const before = await readFile('clips/a.mp4');
    const refusal = oneLine('The output would overwrite the input; choose another name.');
    for (const output of ['clips/a.mp4', 'link/a.mp4']) expect(await enhance('clips/a.mp4', output, '--force')).toEqual(refusal);
    // The name of the input is a link to the file that the result would replace.
    await symlink(join(dir, 'clips/a.mp4'), 'other-name.mp4');
    expect(await enhance('other-name.mp4', 'clips/a.mp4', '--force')).toEqual(refusal);
    expect((await readFile('clips/a.mp4')).equals(before)).toBe(true);
    await mkdir('named');
    await copyFile('clips/a.mp4', 'named/b-enhanced.mp4');
    await symlink('named/b-enhanced.mp4', 'b.mp4');
    const { status, stderr } = await enhance('b.mp4', 'named', '--force');
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'reelmend: b.mp4: The output would overwrite the input; choose another name.\n' });
    expect((await readFile('named/b-enhanced.mp4')).equals(before)).toBe(true);
    expect((await enhance('clips/a.mp4', 'b.mp4', '--force')).status).toBe(0);
    expect((await readFile('named/b-enhanced.mp4')).equals(before)).toBe(true);
  });

  it('may have a name with control characters, which no output repeats', async () => {
    const [name, shown] = ['evil\u001bc\n\u202e.mp4', 'evil\uFFFDc\uFFFD\uFFFD'];
    await mkdir('evil');
    await copyFile('clips/a.mp4', `evil/${name}`);
    expect((await enhance(`evil/${name}`)).stdout).toMatch(new RegExp(`^${shown}-enhanced\\.mp4: 64×36 → [^\\p{Cc}]+\n$`, 'u'));
    expect((await runCommand(['plan', `evil/${name}`, '--model', 'none'], { env: env() })).stdout).toContain(`${shown}.mp4: 64×36 → `);
    await writeFile(`evil/text-${name}`, 'no video');
    const several = await enhance('evil', 'out');
    expect(several.stdout).toMatch(new RegExp(`\n${shown}-enhanced\\.mp4 +done `));
    expect(several.stderr).toMatch(new RegExp(`reelmend: evil/text-${shown}\\.mp4: [A-Z][^\\p{Cc}]+\\.\n$`, 'u'));
    expect(await enhance(`evil/${name}`, `evil/text-${name}`)).toMatchObject({ stderr: expect.stringContaining(`evil/text-${shown}.mp4 exists already: `) });
    expect(await enhance(`no-${name}`, 'out.mp4')).toEqual(oneLine(`There is no file no-${shown}.mp4.`));
    expect(await enhance(`*${name}`, 'out.mp4')).toEqual(oneLine(`No video matches *${shown}.mp4.`));
  });

  it('is a file: a pipe, such as a shell makes of <(command), is read from standard input alone', async () => {
    execFileSync('mkfifo', ['a-pipe']);
    for (const path of ['a-pipe', '/dev/zero']) {
      const refusal = oneLine(`${path} is a device or a pipe: \`enhance\` reads such from standard input, as \`-\`.`);
      expect(await enhance(path, 'out.mp4')).toEqual(refusal);
      for (const command of ['probe', 'plan']) expect(await runCommand([command, path], { env: env() })).toEqual(refusal);
    }
    expect(await enhance('', 'out.mp4')).toEqual(oneLine('The name of the video is empty.'));
  });

  it('leaves no file behind when the reader of standard output exits, and says nothing, as other programs', async () => {
    await mkdir('temporary');
    const { PATH, ...rest } = env();
    // The file of the video is larger than a pipe.
    const command = `{ "$0" enhance large.mp4 - ${quick.join(' ')} --crf 1; echo "status $?" >&2; } | head -c 100 | wc -c`;
    await makeClip('large.mp4', { video: 'testsrc2=size=640x360:rate=10', seconds: 1, audio: null, args: ['-c:v', 'libx264', '-preset', 'ultrafast'] });
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', command, script], { env: { PATH, ...rest, TMPDIR: join(dir, 'temporary') } });
    expect(stdout.trim()).toBe('100');
    expect(stderr).toBe('status 141\n');
    expect(await readdir('temporary')).toEqual([]);
  });

  it('of a URL is downloaded whole from a server that closes the connection while the file is written', async () => {
    const body = Buffer.alloc(40_000_000, 'video');
    const server = await startRawServer((socket) =>
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`);
        socket.end(body);
      }),
    );
    try {
      const input = { source: `http://${server.hostPort}/a.mp4`, kind: 'url' } as const;
      // The fetch of Node 24 ended the process in one of a few downloads.
      for (let i = 0; i < (isLongRun ? 20 : 8); i++) {
        await fetchInput(input, 'closed.mp4', AbortSignal.timeout(hangMs));
        expect((await stat('closed.mp4')).size).toBe(body.length);
      }
    } finally {
      await server.close();
    }
  });

  it('of a URL is downloaded first', async () => {
    const files = await startFileServer({ dir: join(dir, 'clips') });
    try {
      // In its own process: the bundle loads undici in another way than Vitest.
      const { stdout } = await spawnCommand(['enhance', `${files.url}/a.mp4`, 'url.mp4', ...quick], { env: env() });
      expect(stdout).toMatch(/^url\.mp4: 64×36 → 64×36/);
      expect(await enhance(`${files.url}/absent.mp4`, 'absent.mp4')).toEqual(oneLine(`${files.url}/absent.mp4 cannot be downloaded (status 404).`));
    } finally {
      await files.close();
    }
    expect((await enhance('http://127.0.0.1:9/a.mp4', 'absent.mp4')).stderr).toBe('reelmend: http://127.0.0.1:9/a.mp4 cannot be reached: bad port.\n');
  });

  it.each([
    { name: 'is reset', end: (socket: Socket) => void setTimeout(() => socket.resetAndDestroy(), 50), why: 'read ECONNRESET' },
    { name: 'ends too early', end: (socket: Socket) => void socket.end(), why: 'other side closed' },
  ])('of a URL whose download $name fails with a sentence, and leaves nothing', async ({ end, why }) => {
    const server = await startRawServer((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nvideo');
        end(socket);
      }),
    );
    const url = `http://${server.hostPort}/a.mp4`;
    await mkdir('broken');
    expect(await enhance(url, 'broken/off.mp4')).toEqual(oneLine(`The download of ${url} broke off: ${why}.`));
    expect(await readdir('broken')).toEqual([]);
    await rm('broken', { recursive: true });
    await server.close();
  });

  it.each([
    ['http://', 'http:// is no whole URL, such as https://media.example.com/holiday.mp4.'],
    ['http://127.0.0.1:9/%ZZ.mp4', 'http://127.0.0.1:9/%ZZ.mp4 cannot be reached: bad port.'],
    ['http://127.0.0.1:9/a%00b.mp4', 'http://127.0.0.1:9/a%00b.mp4 cannot be reached: bad port.'],
  ])('of a URL that is none, or with odd escapes, fails with a sentence: %s', async (url, sentence) => {
    expect(await enhance(url)).toEqual(oneLine(sentence));
  });

  it('goes through pipes', async () => {
    const stdin = await readFile('clips/a.mp4');
    const { status, stdout, stderr } = await runCommand(['enhance', '-', '-', ...quick], { env: env(), stdin });
    expect(status).toBe(0);
    await writeFile('piped.mp4', Buffer.from(stdout, 'latin1'));
    expect((await ffprobe('piped.mp4')).streams).toMatchObject([{ codec_name: 'h264', nb_read_frames: '4' }]);
    expect(stderr).toMatch(/^standard output: 64×36 → 64×36/);
    const shown = await runCommand(['enhance', '-', '-', ...quick], { env: env(), stdin, isTerminal: true });
    expect(shown).toEqual(oneLine('A terminal cannot show a video: send it to a program or a file.'));
    expect((await runCommand(['enhance', '-', 'x.mp4', ...quick], { env: env() })).stderr).toBe('reelmend: Standard input is empty.\n');
  });

  it('says the container of the result where the name promises another', async () => {
    expect(await enhance('clips/a.mp4', 'x.mkv')).toEqual(oneLine('x.mkv: the result is an MP4 file; name it x.mp4.'));
  });
});

const whyNoGpu = [
  'This build has no CUDA stages (run scripts/setup-gpu and build again).',
  'There is no NVIDIA GPU on this machine.',
  'There is no NVIDIA driver on this machine.',
];

describe('what this machine lacks', () => {
  const asNobodyKnown = ['--user', '--map-user=54321', '--'];
  it.skipIf(spawnSync('unshare', [...asNobodyKnown, 'true']).status !== 0)('may be a name and a home folder of the user', async () => {
    const { HOME: _, ...homeless } = env();
    const url = `http://127.0.0.1:${await freePorts()}`;
    const listed = promisify(execFile)('unshare', [...asNobodyKnown, script, 'jobs', 'list'], { env: { ...homeless, REELMEND_URL: url, REELMEND_API_KEY: 'svc_test_key' } });
    await expect(listed).rejects.toMatchObject({ stderr: expect.stringContaining('connect ECONNREFUSED') });
    const out = promisify(execFile)('unshare', [...asNobodyKnown, script, 'enhance', 'clips/a.mp4', 'homeless.mp4', ...quick], { env: homeless });
    expect((await out).stdout).toMatch(/^homeless\.mp4: 64×36 → 64×36/);
  });

  it('is shown as it is: a network', async () => {
    const says = /^reelmend: There is no model “unknown”; there are auto, none, .*fast, .*\.\n$/;
    for (const command of ['enhance', 'plan']) {
      const { status, stderr } = await runCommand([command, 'clips/a.mp4', '--model', 'unknown'], { env: env() });
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(says) as string });
    }
  });

  it('is shown as it is: a GPU', async () => {
    // The addon's own list: the command `devices` measures the CPU for a quarter of a minute.
    const [, ...gpus] = loadAddon().devices();
    // A device named `cuda` stands for the GPUs of a machine that has none, and says why.
    const reason = gpus[0]!.id === 'cuda' ? gpus[0]!.reason : null;
    if (reason !== null) expect(whyNoGpu).toContain(reason);
    const sentence = reason ?? `There is no GPU cuda:99 on this machine, which has ${gpus.length}.`;
    const run = (device: string) => spawnCommand(['enhance', 'clips/a.mp4', 'x.mp4', '--device', device], { env: env() });
    // Index 99 is on no machine.
    for (const device of ['cuda:99', ...(reason === null ? [] : ['cuda:0'])]) expect(await run(device), device).toEqual(oneLine(sentence));
    if (reason !== null) expect(await run('cuda:all')).toEqual(oneLine('No GPU of this worker can be used.'));
  });
});
