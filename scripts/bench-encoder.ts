/**
 * Called by scripts/bench-encoder. Measures VMAF (mean and lowest tenth of the frames), bits and core-seconds of x264
 * presets × quality factors against the enhanced frames before encoding. Prints one JSON object.
 *
 * The default should be the combination with the fewest core-seconds among those with a VMAF of at least 95 on every clip;
 * with several quality factors of that preset, the one with the fewest bits.
 */
import { access, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from './run-program.ts';

const buildFolder = process.argv[2] ?? 'build/engine';
const isQuick = process.argv.includes('--quick');
const vmafFfmpeg = process.env.REELMEND_VMAF_FFMPEG ?? 'ffmpeg';

/** `--NAME a,b` among the arguments. */
function listOf(name: string): string[] | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1]?.split(',');
}

const frames = Number(listOf('frames')?.[0] ?? (isQuick ? 24 : 72));
const allPresets = ['ultrafast', 'superfast', 'veryfast', 'faster', 'fast', 'medium'];
const presets = listOf('presets') ?? (isQuick ? ['superfast', 'veryfast', 'medium'] : allPresets);
const factors = listOf('crf')?.map(Number) ?? (isQuick ? [14, 16, 18, 20] : [14, 16, 18, 20, 22, 24]);
const wantedVmaf = 95;
const control = 'veryfast:2';

interface Encoded {
  preset: string;
  crf: number;
  bytes: number;
  frames: number;
  width: number;
  height: number;
  seconds: number;
  cpu_s: number;
}

interface Row {
  clip: string;
  preset: string;
  crf: number;
  vmaf: number;
  vmaf_lowest_tenth: number;
  psnr_y: number;
  megabits_per_s: number;
  core_ms_per_frame: number;
}

interface VmafLog {
  frames: { metrics: { vmaf: number; psnr_y: number } }[];
}

interface Score {
  mean: number;
  lowest: number;
  psnr: number;
}

const say = (text: string) => process.stderr.write(`bench-encoder: ${text}\n`);
const round = (value: number, digits = 2) => Number(value.toFixed(digits));

/** Generated clips, and short real ones if there are any. */
async function clips(folder: string): Promise<{ name: string; path: string }[]> {
  const made: [string, string][] = [
    ['test picture with grain', 'testsrc2=s=960x540:r=24:d=3,noise=alls=6:allf=t'],
    ['zoom into a fractal', 'mandelbrot=s=960x540:r=24,trim=duration=3'],
    [
      'cells',
      'life=s=480x270:r=24:mold=10:ratio=0.2:death_color=#203080:life_color=#f0e0a0,scale=960:540,gblur=1.2,trim=duration=3',
    ],
  ];
  const list: { name: string; path: string }[] = [];
  for (const [name, source] of made) {
    const path = join(folder, `${name.replaceAll(' ', '-')}.mp4`);
    const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '20', '-pix_fmt', 'yuv420p'];
    await run('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', source, ...codec, path]);
    list.push({ name, path });
  }
  for (const name of ['gopro-karma.mp4', 'hevc-1080p.ts', 'pancake-opus.mkv']) {
    const path = resolve('..', 'shared', 'media', name);
    try {
      await access(path);
      list.push({ name, path });
    } catch {
      say(`skipping ${name}: there is no such file`);
    }
  }
  return list;
}

/**
 * Compares raw samples without tags. With an untagged reference, ffmpeg would convert the colours of a tagged MP4, which
 * costs 16 points of VMAF that the encoder did not cause.
 */
async function compare(folder: string, encoded: Encoded): Promise<Score> {
  const log = join(folder, 'vmaf.json');
  const decoded = join(folder, 'decoded.yuv');
  const file = join(folder, `${encoded.preset}-${encoded.crf}.mp4`);
  const size = `${encoded.width}x${encoded.height}`;
  const planes = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p'];
  await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-i', file, '-vsync', '0', ...planes, decoded]);
  const raw = (path: string) => [...planes, '-s', size, '-i', path];
  const graph = `[0:v][1:v]libvmaf=n_threads=2:feature=name=psnr:log_fmt=json:log_path=${log}`;
  const inputs = [...raw(decoded), ...raw(join(folder, 'reference.yuv'))];
  await run(vmafFfmpeg, ['-v', 'error', '-nostdin', ...inputs, '-lavfi', graph, '-f', 'null', '-']);
  const metrics = (JSON.parse(await readFile(log, 'utf8')) as VmafLog).frames.map((frame) => frame.metrics);
  if (metrics.length !== encoded.frames) throw new Error(`VMAF compared ${metrics.length} of ${encoded.frames} frames`);
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const scores = metrics.map((metric) => metric.vmaf).sort((x, y) => x - y);
  const lowest = mean(scores.slice(0, Math.max(1, Math.floor(scores.length / 10))));
  return { mean: mean(scores), lowest, psnr: mean(metrics.map((metric) => metric.psnr_y)) };
}

/** Checks the comparison itself: a nearly lossless encode must have a nearly perfect score. */
async function checkComparison(folder: string, control: Encoded): Promise<void> {
  const score = await compare(folder, control);
  if (score.mean >= 98 && score.psnr >= 50) return;
  const found = `VMAF ${round(score.mean)}, ${round(score.psnr)} dB`;
  throw new Error(`the comparison is wrong: the control encode at crf ${control.crf} scores ${found}`);
}

async function measureClip(folder: string, clip: { name: string; path: string }): Promise<Row[]> {
  const combinations = presets.flatMap((preset) => factors.map((crf) => `${preset}:${crf}`));
  say(`${clip.name}: ${combinations.length} encodes of ${frames} frames`);
  const workDir = await mkdtemp(join(folder, 'clip-'));
  await mkdir(workDir, { recursive: true });
  const program = join(buildFolder, 'bench_encoder');
  const all = [clip.path, '1080p', String(frames), workDir, control, ...combinations];
  const encoded = JSON.parse(await run(program, all)) as Encoded[];
  const first = encoded.shift();
  if (first) await checkComparison(workDir, first);
  const rows: Row[] = [];
  for (const one of encoded) {
    const score = await compare(workDir, one);
    rows.push({
      clip: clip.name,
      preset: one.preset,
      crf: one.crf,
      vmaf: round(score.mean),
      vmaf_lowest_tenth: round(score.lowest),
      psnr_y: round(score.psnr),
      megabits_per_s: round((one.bytes * 8) / one.seconds / 1e6),
      core_ms_per_frame: round((one.cpu_s / one.frames) * 1e3, 1),
    });
  }
  await rm(workDir, { recursive: true, force: true });
  return rows;
}

/** One line for each combination: the lowest VMAF, and the means of the other values. */
function summarise(rows: Row[]) {
  const lines = presets.flatMap((preset) =>
    factors.map((crf) => {
      const some = rows.filter((row) => row.preset === preset && row.crf === crf);
      const mean = (pick: (row: Row) => number) => some.reduce((sum, row) => sum + pick(row), 0) / some.length;
      return {
        preset,
        crf,
        lowest_vmaf: Math.min(...some.map((row) => row.vmaf)),
        mean_vmaf: round(mean((row) => row.vmaf)),
        megabits_per_s: round(mean((row) => row.megabits_per_s)),
        core_ms_per_frame: round(mean((row) => row.core_ms_per_frame), 1),
      };
    }),
  );
  const good = lines.filter((line) => line.lowest_vmaf >= wantedVmaf);
  const byBits = [...good].sort((a, b) => a.megabits_per_s - b.megabits_per_s);
  const byTime = [...good].sort((a, b) => a.core_ms_per_frame - b.core_ms_per_frame);
  return { lines, least_bits: byBits[0] ?? null, least_time: byTime[0] ?? null };
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reelmend-encoder-'));
  try {
    const rows: Row[] = [];
    const list = await clips(folder);
    const chosen = isQuick ? [...list.slice(0, 1), ...list.slice(3, 5)] : list;
    for (const clip of chosen) rows.push(...(await measureClip(folder, clip)));
    const date = new Date().toISOString().slice(0, 10);
    const report = { date, frames_per_clip: frames, summary: summarise(rows), clips: rows };
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`bench-encoder: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
