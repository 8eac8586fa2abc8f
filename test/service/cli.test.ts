/** The command line as a person uses it. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand, spawnCommand } from '../helpers/command.ts';
import { ffprobe, makeClip } from '../helpers/ffmpeg.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { writeSpeeds } from '../helpers/speeds.ts';

let dir: string;
const startedIn = process.cwd();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-cli-'));
  await makeClip(join(dir, 'in.mp4'), { seconds: 1, args: ['-c:v', 'libx264', '-preset', 'veryfast'], audio: ['-c:a', 'aac'] });
  await writeFile(join(dir, 'text.mp4'), 'no video');
  process.chdir(dir);
});
afterAll(async () => {
  process.chdir(startedIn);
  await rm(dir, { recursive: true, force: true });
});

const environment = () => ({
  PATH: process.env['PATH']!,
  HOME: dir,
  REELMEND_DATA_DIR: join(dir, 'data'),
  REELMEND_ENCODER_PRESET: 'ultrafast',
  REELMEND_MIN_SPEED: 'none',
});
const reelmend = (args: string[], env: Record<string, string> = {}) => runCommand(args, { env: { ...environment(), ...env } });
/** as a person types it */
const typed = (args: string[], env: Record<string, string> = {}) => spawnCommand(args, { env: { ...environment(), ...env } });

describe('help', () => {
  const commands = ['', 'start', 'serve', 'work', 'enhance', 'probe', 'devices', 'accounts', 'accounts create', 'accounts approve', 'accounts grant', 'keys', 'keys create', 'keys revoke', 'users', 'users add', 'users reset-password'];
  it.each(commands)('reelmend %s --help', async (command) => {
    const { status, stdout } = await reelmend([...command.split(' ').filter(Boolean), '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain(`Usage: reelmend${command === '' ? '' : ` ${command}`}`);
  });

  it('names only options that exist', async () => {
    const all = (await helpOf([])).join('\n');
    const options = new Set([...all.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option));
    expect(options.size).toBeGreaterThan(40);
    const named = [...all.matchAll(/--[a-z][a-z-]+/g)].map(([option]) => option);
    expect(named.filter((option) => !options.has(option))).toEqual([]);
  });

  it('names defaults as one would type them', async () => {
    const { stdout } = await reelmend(['models', 'bench', '--help']);
    expect(stdout).toContain('(default: 960x540)');
    expect(stdout).not.toContain('{');
  });
});

/** The help of a command and of all below it. */
async function helpOf(command: string[]): Promise<string[]> {
  const { stdout } = await reelmend([...command, '--help']);
  const ofCommands = stdout.split('\n\n').filter((part) => /^[A-Z]/.test(part) && !/^(Usage|Arguments|Options):/.test(part));
  const names = ofCommands.flatMap((part) => [...part.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name!)).filter((name) => name !== 'help');
  const all = [stdout];
  for (const name of names) all.push(...(await helpOf([...command, name])));
  return all;
}

describe('the program on the path', () => {
  it('ends without a word when the reader of its output has gone', async () => {
    const script = fileURLToPath(new URL('../../scripts/reelmend', import.meta.url));
    const bash = ['-c', 'set -o pipefail; { "$0" models list; echo "status $?" >&2; } | true', script];
    const { stderr } = await promisify(execFile)('bash', bash, { env: environment() }).catch((error: { stderr: string }) => error);
    expect(stderr).toBe('status 141\n');
  });

  it('shows its help, and ends with status 0', async () => {
    const { status, stdout, stderr } = await typed(['--help']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('Usage: reelmend');
  });

  it.each([
    ['its own', ['probe', 'absent.mp4'], 'reelmend: There is no file absent.mp4.\n'],
    ['of the words', ['fly'], "error: unknown command 'fly'\n(use --help for the commands and options)\n"],
  ])('says an error in one line, and ends with status 1: %s', async (_, args, stderr) => {
    expect(await typed(args)).toEqual({ status: 1, stdout: '', stderr });
  });
});

describe('probe', () => {
  it('prints the facts of a file as JSON', async () => {
    const { status, stdout } = await reelmend(['probe', 'in.mp4']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ videoCodec: 'h264', width: 320, height: 180, frameRate: 25, durationS: 1 });
  });
});

describe('enhance', () => {
  it('writes one file without a database and says how it went', async () => {
    const { status, stdout, stderr } = await typed(['enhance', 'in.mp4', 'out.mp4', '--resolution', '1080p']);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^out\.mp4: 320×180 → 1920×1080, 25 frames at [\d.]+ fps on cpu/);
    const { streams } = await ffprobe(join(dir, 'out.mp4'));
    expect(streams[0]).toMatchObject({ codec_name: 'h264', width: 1920, height: 1080, nb_read_frames: '25' });
    expect(await readdir(dir)).not.toContain('data');
  });
});

describe('a part of a file', () => {
  it('is enhanced alone, as a trial', async () => {
    const { status, stdout } = await reelmend(['enhance', 'in.mp4', 'part.mp4', '--resolution', 'source', '--from', '0.2', '--to', '0:00.6']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^part\.mp4: 320×180 → 320×180, 10 frames /);
    const { streams } = await ffprobe(join(dir, 'part.mp4'));
    expect(streams).toMatchObject([{ codec_name: 'h264', nb_read_frames: '10' }]);
    const rest = await reelmend(['enhance', 'in.mp4', 'rest.mp4', '--resolution', 'source', '--from', '0.8']);
    expect(rest.stdout).toMatch(/, 5 frames /);
  });
});

describe('options for one run', () => {
  it('hold before the variables of the environment', async () => {
    const env = { REELMEND_DEVICE: 'cuda:7', REELMEND_THREADS: '2', REELMEND_ENCODER_PRESET: 'medium', REELMEND_ENCODER_CRF: '12' };
    const options = ['--device', 'cpu', '--threads', '1', '--preset', 'ultrafast', '--crf', '41'];
    const { status, stdout, stderr } = await reelmend(['enhance', 'in.mp4', 'options.mp4', '--resolution', 'source', ...options], env);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(' on cpu');
    // x264 writes into the stream how it was asked to encode.
    const written = (await readFile(join(dir, 'options.mp4'))).toString('latin1');
    expect(written).toContain('crf=41.0');
    expect(written).toContain('subme=0');
  });

  it('take the qualities of the API, by the configured CRF', async () => {
    const env = { REELMEND_ENCODER_CRF: '14' };
    for (const [quality, crf] of [['high', 'crf=10.0'], ['standard', 'crf=14.0'], ['27.5', 'crf=27.5']] as const) {
      const { status } = await reelmend(['enhance', 'in.mp4', 'quality.mp4', '--force', '--resolution', 'source', '--to', '0.1', '--quality', quality], env);
      expect(status).toBe(0);
      expect((await readFile(join(dir, 'quality.mp4'))).toString('latin1')).toContain(crf);
    }
    const both = await reelmend(['enhance', 'in.mp4', 'x.mp4', '--quality', 'high', '--crf', '20'], env);
    expect(both).toMatchObject({ status: 1, stderr: expect.stringContaining("option '--quality <quality>' cannot be used with option '--crf <number>'") as string });
  });

  it('hold for a plan, too', async () => {
    const args = ['plan', 'in.mp4', '--resolution', '1080p', '--device', 'cpu', '--threads', '1'];
    expect((await reelmend(args, { REELMEND_DEVICE: 'cuda:7' })).stdout).toMatch(/^in\.mp4: .* on cpu, /);
  });
});

describe('the speed of this machine', () => {
  const kept = () => join(dir, 'speed', 'speeds.json');
  // npm run test:long measures anew, with one thread. The encoder is part of what is measured.
  const threads = isLongRun ? 1 : availableParallelism();
  const env = () => ({ REELMEND_DATA_DIR: join(dir, 'speed'), REELMEND_DEVICE: 'cpu', REELMEND_THREADS: String(threads), REELMEND_ENCODER_PRESET: 'superfast' });
  beforeAll(async () => {
    if (!isLongRun) await writeSpeeds(join(dir, 'speed'), env());
  });
  interface Networks {
    networks: { name: string; precision: string; msPerMegapixel: number }[];
    otherMsPerMegapixel: number;
  }
  const plan = async (more: string[] = [], variables: Record<string, string> = {}) => {
    const { stdout } = await reelmend(['plan', 'in.mp4', '--json', '--denoise', 'off', ...more], { ...env(), ...variables });
    const { model, stages } = JSON.parse(stdout) as { model: string; stages: { name: string; why: string }[] };
    return { model, why: stages.find(({ name }) => name === 'model')!.why };
  };

  it('is listed with the devices, and measured once', async () => {
    const { status, stdout, stderr } = await reelmend(['devices'], env());
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [cpu] = JSON.parse(stdout) as { id: string; speeds: Networks & { threads: number } }[];
    expect(cpu).toMatchObject({ id: 'cpu', speeds: { threads } });
    expect(new Set(cpu!.speeds.networks.map(({ name }) => name))).toEqual(new Set(['detail', 'detail-best', 'detail-large', 'fast', 'quality']));
    const before = await readFile(kept(), 'utf8');
    const read = await runCommand(['devices'], { env: { ...environment(), ...env() }, isTerminal: true });
    expect(read.stderr).toBe('');
    const count = threads === 1 ? '1 thread' : `${threads} threads`;
    expect(read.stdout).toContain(`, libx264; measured with ${count} on `);
    expect(read.stdout).toMatch(/^cpu: .* on \d{4}-\d\d-\d\d:\n(?: {2}\S.* ms for a megapixel of (?:in|out)put.*\n)+/);
    expect(await readFile(kept(), 'utf8')).toBe(before);
  });

  it('decides with a floor, and a plan names it', async () => {
    // 320×180 becomes 1080p in two passes, 0.288 megapixels together: 29 ms with `fast`, 288 ms with `quality`.
    const measured = JSON.parse(await readFile(kept(), 'utf8')) as Networks;
    for (const network of measured.networks) network.msPerMegapixel = network.name === 'quality' ? 1000 : 100;
    measured.otherMsPerMegapixel = 0.001;
    await writeFile(kept(), JSON.stringify(measured));
    const reason = 'the picture is enlarged 6 times; about';
    expect(await plan()).toEqual({ model: 'fast', why: `${reason} 35 frames a second on this machine` });
    expect(await plan(['--min-speed', '3fps'])).toEqual({ model: 'quality', why: `${reason} 3.5 frames a second on this machine, at least 3 are wanted` });
    const slow = `${reason} 35 frames a second on this machine (quality: about 3.5), at least`;
    expect(await plan([], { REELMEND_MIN_SPEED: '1x' })).toEqual({ model: 'fast', why: `${slow} 25 are wanted` });
    expect(await plan(['--min-speed', '2x'])).toEqual({ model: 'fast', why: `${slow} 50 are wanted, which no network reaches` });
    expect((await plan(['--min-speed', '2x', '--model', 'quality'])).model).toBe('quality');
    const { stdout } = await reelmend(['enhance', 'in.mp4', 'floor.mp4', '--denoise', 'off', '--to', '0.1', '--min-speed', '3fps'], env());
    expect(stdout).toMatch(/ on cpu, model quality\n$/);
  });
});

describe('models', () => {
  it('lists what is installed, also for programs', async () => {
    const { status, stdout } = await reelmend(['models', 'list']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^fast ×2 fp32 luma\+strength {2}Apache-2\.0 /m);
    const listed = JSON.parse((await reelmend(['models', 'list', '--json'])).stdout) as { name: string }[];
    expect(listed.map((model) => model.name)).toContain('fast');
  });

  it('checks a shipped file and times it', async () => {
    const file = fileURLToPath(new URL('../../engine/models/fast-x2.onnx', import.meta.url));
    const { status, stdout } = await reelmend(['models', 'check', file, '--size', '64x48']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^fast: good\. 64×48 → 128×96, [\d.]+ ms a frame in \w+ on openvino\.\n$/);
    const bench = await reelmend(['models', 'bench', 'fast', '--size', '64x48', '--json']);
    for (const line of bench.stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ name: 'fast', inputWidth: 64 });
  });

  it('plans without doing, as text and as JSON', async () => {
    const text = await reelmend(['plan', 'in.mp4', '--resolution', '1080p', '--denoise', 'off']);
    expect(text.status).toBe(0);
    expect(text.stdout).toMatch(/^in\.mp4: \d+×\d+ → \d+×\d+ on .*, model /);
    expect(text.stdout).toMatch(/^ {2}denoise {12}0\.00 {2}turned off/m);
    expect(text.stdout).toMatch(/^ {2}size: probably \d[\d.]* [kM]B to \d[\d.]* [kM]B at CRF 16; /m);
    const json = await reelmend(['plan', 'in.mp4', '--resolution', 'source', '--sharpen', '0.3', '--json']);
    const plan = JSON.parse(json.stdout) as {
      source: { width: number };
      width: number;
      stages: object[];
      estimatedSize: { minBytes: number; maxBytes: number };
    };
    expect(plan.estimatedSize.minBytes).toBeGreaterThan(0);
    expect(plan.estimatedSize.maxBytes).toBeGreaterThan(plan.estimatedSize.minBytes);
    expect(plan.width).toBe(plan.source.width);
    expect(plan.stages).toContainEqual({ name: 'sharpen', strength: expect.closeTo(0.3) as number, why: 'requested' });
  });

  it('enhances with the named network and says so', async () => {
    const { status, stdout } = await reelmend(['enhance', 'in.mp4', 'net.mp4', '--resolution', '1080p', '--model', 'fast', '--from', '0.8']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/, model fast\n$/);
  });
});

describe('an error is one line and exit status 1', () => {
  const wrong: Record<string, { args: string[]; env?: Record<string, string>; says: RegExp }> = {
    'a file that is not there': { args: ['probe', 'absent.mp4'], says: /^reelmend: There is no file absent\.mp4\.\n$/ },
    'a file that is no video': { args: ['probe', 'text.mp4'], says: /^reelmend: [A-Z][^\n]+\.\n$/ },
    'a file that is no video, enhanced': {
      args: ['enhance', 'text.mp4', 'never.mp4', '--resolution', '4k'],
      says: /^reelmend: [A-Z][^\n]+\.\n$/,
    },
    'an output that is the input': { args: ['enhance', 'in.mp4', 'in.mp4', '--resolution', '4k'], says: /would overwrite the input/ },
    'a network that is not installed, timed': {
      args: ['models', 'bench', 'nope'],
      says: /^reelmend: There is no model “nope”; there are .*fast, .*\.\n$/,
    },
    'a part that ends before it begins': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--from', '2', '--to', '1'],
      says: /^reelmend: --to 1 must be after --from 2\.\n$/,
    },
    'a part that is no time': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--from', '-1'],
      says: /Expected seconds such as 75\.5, or MM:SS, or HH:MM:SS\./,
    },
    'a part behind the end': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--from', '60'],
      says: /^reelmend: [A-Z][^\n]+\.\n$/,
    },
    'a resolution that is none': { args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '720p'], says: /Allowed choices are 1080p, 4k, source/ },
    'a strength out of range': { args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--denoise', '2'], says: /Expected auto, off or a number from 0 to 1/ },
    'a device that is none': {
      args: ['plan', 'in.mp4', '--resolution', '4k', '--device', 'gpu'],
      says: /^reelmend: --device: must be auto, cpu, cuda:N, a list such as cuda:0,cuda:1, or cuda:all\n$/,
    },
    'threads that are no number': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--threads', 'all'],
      says: /^reelmend: --threads: must be a whole number\n$/,
    },
    'a preset that is none': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--preset', 'fastest'],
      says: /^reelmend: --preset: [^\n]+\n$/,
    },
    'a rate factor out of range': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--crf', '52'],
      says: /^reelmend: --crf: must be from 1 to 51\n$/,
    },
    'lossless, which the encoder cannot be': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--crf', '0'],
      says: /^reelmend: --crf: must be from 1 to 51\n$/,
    },
    'a wrong variable beside right options': {
      args: ['plan', 'in.mp4', '--resolution', '4k', '--threads', '1'],
      env: { REELMEND_DEVICE: 'gpu' },
      says: /^reelmend: REELMEND_DEVICE: must be/,
    },
    'a bitrate that no video can have': {
      args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--max-bitrate', '499999'],
      says: /Expected 500000 to 200000000 bits per second\./,
    },
    'a model file that is none': { args: ['models', 'check', 'text.mp4'], says: /^reelmend: Model “text\.mp4”: The model file is not an ONNX network, or it is damaged\.\n$/ },
    'a model file that is not there': { args: ['models', 'check', 'absent.onnx'], says: /^reelmend: There is no file absent\.onnx\.\n$/ },
    'a folder of models without a manifest': {
      args: ['models', 'list'],
      env: { REELMEND_MODELS_DIR: '/nowhere' },
      says: /manifest\.json: the manifest cannot be read\.\n$/,
    },
    'a model that is not installed': { args: ['enhance', 'in.mp4', 'x.mp4', '--resolution', '4k', '--model', 'absent'], says: /^reelmend: [^\n]*absent[^\n]*\n$/ },
    'a command that is none': { args: ['fly'], says: /unknown command 'fly'/ },
    'a word that is missing, deep in a group': {
      args: ['accounts', 'create'],
      says: /^error: missing required argument 'name'\n\(use --help for the commands and options\)\n$/,
    },
    'an account without a name': { args: ['accounts', 'create', ' '], says: /Expected a name of 1 to 200 characters\./ },
    'keys of an account that is not there': {
      args: ['keys', 'list', 'acct_00000000000000000000000000'],
      says: /^reelmend: There is no account acct_0+ in the database of the data folder \/\S+\.\n$/,
    },
    'a password of nobody': {
      args: ['users', 'reset-password', 'nobody@example.com'],
      says: /^reelmend: There is no user nobody@example\.com in the database of the data folder \/\S+\.\n$/,
    },
    'a data folder that is a file': {
      args: ['accounts', 'create', 'Ada'],
      env: { REELMEND_DATA_DIR: '/dev/null' },
      says: /^reelmend: \/dev\/null\/secrets\.json: not a directory\.\n$/,
    },
    'an account that is not there': {
      args: ['accounts', 'grant', 'acct_00000000000000000000000000', '5'],
      says: /^reelmend: There is no account acct_0+ in the database of the data folder \/\S+\.\n$/,
    },
    'a wrong variable': { args: ['serve'], env: { PORT: 'eighty' }, says: /^reelmend: PORT: must be a whole number\n$/ },
    'a database that is not there': {
      args: ['accounts', 'list'],
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' },
      says: /^reelmend: DATABASE_URL: no PostgreSQL answers at 127\.0\.0\.1:9 \(ECONNREFUSED\)\.\n$/,
    },
  };
  beforeAll(() => reelmend(['accounts', 'create', 'Ada']));

  it.each(Object.entries(wrong))('%s', async (_name, { args, env, says }) => {
    const { status, stdout, stderr } = await reelmend(args, env);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(says);
  });
});
