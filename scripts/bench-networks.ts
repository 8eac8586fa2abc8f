/**
 * Measures quality and speed of the installed networks on a folder of pictures or clips, with
 * engine/bench/bench_networks.cc. An FFmpeg with libvmaf measures VMAF of clips.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type InstalledModel, installedModels } from '../src/media/models.ts';

const help = `bench:networks – quality and speed of the installed networks beside bicubic and Lanczos-3
  --hr DIR               originals: pictures (png, jpg, bmp, webp, tif) or clips (mp4, mkv, mov, webm, y4m, avi)
  --degrade KIND         bicubic (default), h264:CRF or noise:SIGMA
  --json                 one JSON object a line instead of a table
  --scale N              2
  --strength S           auto (as the pipeline chooses) or 0…1
  --model NAME           only this network; --file FILE.onnx instead of the installed ones (with --layout, --multiple)
  --frames N             frames of each clip (24);  --limit N  at most N files
  --pan N                makes a clip of N frames from each picture: a window moves over it
  --sweep                no scores: the error of each source, the pipeline's estimate of it, and the best strength
  --size WxH             size of the timed frame (960x540);  --runs N  takes the best of N runs (5)
  --peer fsrcnn          also times FSRCNN(56,12,4)
  --no-vmaf              skips VMAF
  --build DIR            build folder of the engine (build/engine)
  REELMEND_MODELS_DIR    folder with more networks, which are measured too`;

const imageioFfmpeg = '0.8.1';

interface Line {
  method: string;
  precision: string;
  psnr_y?: number;
  psnr_cb?: number;
  psnr_cr?: number;
  ssim_y?: number;
  gain_over_lanczos3_db?: number;
  worst_gain_db?: number;
  flicker_ratio?: number;
  vmaf?: number;
  ms_per_frame: number;
  cpu_ms_per_frame: number;
  timed_size: string;
}

const { values: o } = parseArgs({
  options: {
    hr: { type: 'string' },
    degrade: { type: 'string', default: 'bicubic' },
    json: { type: 'boolean', default: false },
    scale: { type: 'string', default: '2' },
    strength: { type: 'string', default: 'auto' },
    model: { type: 'string' },
    file: { type: 'string' },
    layout: { type: 'string', default: 'luma+strength' },
    multiple: { type: 'string', default: '2' },
    frames: { type: 'string', default: '24' },
    limit: { type: 'string' },
    pan: { type: 'string' },
    sweep: { type: 'boolean', default: false },
    size: { type: 'string', default: '960x540' },
    runs: { type: 'string', default: '5' },
    peer: { type: 'string' },
    'no-vmaf': { type: 'boolean', default: false },
    build: { type: 'string', default: 'build/engine' },
    help: { type: 'boolean', default: false },
  },
});

function run(command: string, args: string[]): void {
  const { status } = spawnSync(command, args, { stdio: ['ignore', process.stderr.fd, process.stderr.fd] });
  if (status !== 0) throw new Error(`${basename(command)} failed.`);
}

function build(): string {
  const openvino = spawnSync('scripts/setup-openvino', { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (openvino.status !== 0) throw new Error('OpenVINO is missing, so no network can run.');
  run('cmake', ['-S', 'engine', '-B', o.build, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release', `-DOpenVINO_DIR=${openvino.stdout.trim()}`]);
  run('cmake', ['--build', o.build, '-j', '2', '--target', 'bench_networks', 'reelmend_openvino']);
  return join(o.build, 'bench_networks');
}

const wanted = /\.(png|jpe?g|bmp|webp|tiff?|mp4|mkv|mov|webm|y4m|avi)$/i;

function originals(): string[] {
  if (o.hr === undefined) return [];
  if (!existsSync(o.hr)) throw new Error(`There is no folder ${o.hr}.`);
  const files = readdirSync(o.hr).filter((name) => wanted.test(name)).sort();
  if (files.length === 0) throw new Error(`There are no pictures or clips in ${o.hr}.`);
  return files.slice(0, o.limit === undefined ? files.length : Number(o.limit)).map((name) => join(resolve(o.hr!), name));
}

function describe(model: InstalledModel): string {
  const { name, path, layout, precision, scale, multiple = 1, halo = 32 } = model;
  return [name, path, layout, precision, scale, multiple, halo].join(',');
}

function models(): string[] {
  if (o.file !== undefined) {
    return [[basename(o.file, '.onnx'), resolve(o.file), o.layout, 'fp32', o.scale, o.multiple, 64].join(',')];
  }
  const found = installedModels(process.env['REELMEND_MODELS_DIR'])
    .filter(({ layout }) => layout !== 'face')
    .filter(({ name }) => o.model === undefined || name === o.model);
  if (o.model !== undefined && found.length === 0) throw new Error(`There is no model named ${o.model}.`);
  return found.map(describe);
}

async function measure(program: string, files: string[], keep: string): Promise<Line[]> {
  const args = ['--degrade', o.degrade, '--scale', o.scale, '--strength', o.strength, '--frames', o.frames];
  args.push('--size', o.size, '--runs', o.runs, ...(o.peer === undefined ? [] : ['--peer', o.peer]));
  if (o.pan !== undefined) args.push('--pan', o.pan);
  if (o.sweep) args.push('--sweep', 'yes');
  if (keep !== '') args.push('--keep', keep);
  for (const model of models()) args.push('--model', model);
  const child = spawn(program, [...args, ...files], { stdio: ['ignore', 'pipe', 'inherit'] });
  // Awaited from the start: a program that a signal ends may be gone before its output is read.
  const closed = once(child, 'close');
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  await closed;
  if (child.exitCode !== 0) throw new Error(`bench_networks failed${child.signalCode === null ? '' : ` by ${child.signalCode}`}.`);
  return text.trim().split('\n').map((line) => JSON.parse(line) as Line);
}

function vmafFfmpeg(): string {
  const python = '.venv/bin/python';
  // After an upgrade of Python, the environment's Python does not find its packages.
  if (spawnSync(python, ['-c', 'import pip'], { stdio: 'ignore' }).status !== 0) run('python3', ['-m', 'venv', '--clear', '.venv']);
  const check = `import imageio_ffmpeg, sys; sys.exit(imageio_ffmpeg.__version__ != '${imageioFfmpeg}')`;
  if (spawnSync(python, ['-c', check], { stdio: 'ignore' }).status !== 0) {
    run(python, ['-m', 'pip', 'install', '--no-user', '--quiet', '--disable-pip-version-check', `imageio-ffmpeg==${imageioFfmpeg}`]);
  }
  const found = spawnSync(python, ['-c', 'import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())'], { encoding: 'utf8' });
  return found.stdout.trim();
}

/** Mean VMAF of a method over the clips; undefined when no frames were kept. */
function vmaf(ffmpeg: string, keep: string, line: Line): number | undefined {
  const suffix = `.${line.method}-${line.precision}.`;
  const scores = readdirSync(keep)
    .filter((name) => name.includes(suffix))
    .map((name) => {
      const size = /\.(\d+x\d+)\.yuv$/.exec(name)![1]!;
      const reference = name.replace(suffix, '.original.');
      const raw = (file: string) => ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', size, '-i', join(keep, file)];
      const result = spawnSync(ffmpeg, [...raw(name), ...raw(reference), '-lavfi', 'libvmaf=n_threads=2', '-f', 'null', '-'], { encoding: 'utf8' });
      const score = /VMAF score: ([\d.]+)/.exec(result.stderr)?.[1];
      if (score === undefined) throw new Error('VMAF could not be measured.');
      return Number(score);
    });
  return scores.length === 0 ? undefined : scores.reduce((a, b) => a + b) / scores.length;
}

function table(lines: Line[]): string {
  const cell = (value: number | undefined, digits: number) => (value === undefined ? '' : value.toFixed(digits));
  const rows = lines.map((line) => [
    `${line.method} ${line.precision}`,
    cell(line.psnr_y, 2),
    cell(line.psnr_cb, 2),
    cell(line.psnr_cr, 2),
    cell(line.ssim_y, 4),
    cell(line.gain_over_lanczos3_db, 2),
    cell(line.worst_gain_db, 2),
    cell(line.vmaf, 2),
    cell(line.flicker_ratio, 3),
    cell(line.ms_per_frame, 1),
    cell(line.cpu_ms_per_frame, 1),
  ]);
  const head = ['method', 'PSNR-Y', 'Cb', 'Cr', 'SSIM-Y', 'over Lanczos-3', 'worst', 'VMAF', 'flicker', `ms (${lines[0]!.timed_size})`, 'CPU ms'];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

async function main(): Promise<void> {
  if (o.help) {
    console.log(help);
    return;
  }
  const files = originals();
  const program = build();
  const hasClips = !o['no-vmaf'] && !o.sweep && (o.pan !== undefined || files.some((file) => !/\.(png|jpe?g|bmp|webp|tiff?)$/i.test(file)));
  const keep = hasClips ? mkdtempSync(join(tmpdir(), 'bench-networks-')) : '';
  try {
    const lines = await measure(program, files, keep);
    if (hasClips) {
      const ffmpeg = vmafFfmpeg();
      for (const line of lines) {
        const score = vmaf(ffmpeg, keep, line);
        if (score !== undefined) line.vmaf = score;
      }
    }
    console.log(o.json || o.sweep ? lines.map((line) => JSON.stringify(line)).join('\n') : table(lines));
  } finally {
    if (keep !== '') rmSync(keep, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(`bench:networks: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
