/**
 * `npm run bench:engine` (through scripts/bench-engine, which builds): measures the engine and prints one JSON
 * object on stdout.
 *
 * Efficiency = pipeline fps ÷ (cores ÷ sum of the stages' core-seconds per frame). One process runs each stage alone
 * (decode; pixels over decoded frames; encode over rendered frames) to measure its core-seconds. Another process runs the
 * whole pipeline to measure its fps. Efficiency 1 means that decode, pixel work and encode overlap, no core idles, and no
 * work is done twice. /proc/stat shows the CPU time of other processes; `efficiency_of_free_cores` excludes it.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Report, writePages } from './bench-engine-pages.ts';
import { run } from './run-program.ts';

const buildFolder = process.argv[2] ?? 'build/engine';
const isQuick = process.argv.includes('--quick');
const cores = availableParallelism();
const clockTicksPerSecond = 100;
const rounds = isQuick ? 2 : 3;

/** The engine's default (EncoderOptions in reelmend/enhance.h), for the peers. */
const engineQuality = ['-preset', 'superfast', '-crf', '16'];

interface Part {
  frames: number;
  wall_s: number;
  cpu_s: number;
  peak_rss_mb: number;
  stages_cpu_s?: Record<string, number>;
  width?: number;
  height?: number;
  faces?: number;
}

interface Machine {
  busy_s: number;
  idle_s: number;
}

const say = (text: string) => process.stderr.write(`bench-engine: ${text}\n`);
const round = (value: number, digits = 3) => Number(value.toFixed(digits));

const ffmpeg = (args: string[]) => run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args]);

async function part(args: string[]): Promise<Part> {
  return JSON.parse(await run(join(buildFolder, 'bench_pipeline'), args)) as Part;
}

/** Busy and idle core-seconds of the whole machine since it started. */
async function machine(): Promise<Machine> {
  const line = (await readFile('/proc/stat', 'utf8')).split('\n', 1)[0] ?? '';
  const [user, nice, system, idle, wait, irq, soft, steal] = line.trim().split(/\s+/).slice(1).map(Number) as number[];
  const sum = (...values: (number | undefined)[]) => values.reduce<number>((a, b) => a + (b ?? 0), 0);
  return {
    busy_s: sum(user, nice, system, irq, soft, steal) / clockTicksPerSecond,
    idle_s: sum(idle, wait) / clockTicksPerSecond,
  };
}

/** Makes a clip of moving shapes with grain, which is not trivial to encode. */
async function makeClip(path: string, size: string, seconds: number, rate: number): Promise<void> {
  const picture = `testsrc2=s=${size}:r=${rate}:d=${seconds},noise=alls=8:allf=t`;
  const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  await ffmpeg(['-f', 'lavfi', '-i', picture, '-f', 'lavfi', '-i', `sine=d=${seconds}`, ...codec, path]);
}

const perFrame = (p: Part) => p.cpu_s / p.frames;

const fast = 'engine/models/fast-x2-int8.onnx';

async function stageCosts(clip: string, target: string, frames: number, networks: string[]) {
  const decode = await part(['decode', clip, target]);
  const pixels = await part(['pixels', clip, target, String(frames), ...networks]);
  const encode = await part(['encode', clip, target, String(frames)]);
  const ofPixels = Object.entries(pixels.stages_cpu_s ?? {}).map(([name, s]) => [name, round((s / frames) * 1e3)]);
  return {
    core_ms_per_frame: {
      decode: round(perFrame(decode) * 1e3),
      pixels: round(perFrame(pixels) * 1e3),
      pixel_stages: Object.fromEntries(ofPixels) as Record<string, number>,
      encode: round(perFrame(encode) * 1e3),
    },
    core_seconds: perFrame(decode) + perFrame(pixels) + perFrame(encode),
  };
}

interface Peer {
  fps: number;
  core_ms_per_frame: number;
}

/**
 * Most of the work with the ffmpeg command line and its own choice of threads: decode, resize, sharpen, the same x264
 * settings, audio copied. `-benchmark` reports its CPU time.
 */
async function peer(clip: string, filter: string, out: string, frames: number): Promise<Peer> {
  const encoder = ['-c:v', 'libx264', ...engineQuality, '-profile:v', 'high', '-g', '60'];
  const work = ['-i', clip, '-vf', `${filter},format=yuv420p`, ...encoder, '-c:a', 'copy', out];
  const start = performance.now();
  const log = await run('bash', ['-c', 'exec ffmpeg -nostdin -nostats -y -benchmark "$@" 2>&1', 'ffmpeg', ...work]);
  const wall = (performance.now() - start) / 1e3;
  const [, user, system] = /bench: utime=([\d.]+)s stime=([\d.]+)s rtime/.exec(log) ?? [];
  if (user === undefined || system === undefined) throw new Error('ffmpeg -benchmark printed no times');
  return { fps: round(frames / wall, 2), core_ms_per_frame: round(((Number(user) + Number(system)) / frames) * 1e3) };
}

async function efficiencyRound(clip: string, out: string, frames: number, networks: string[] = []) {
  const costs = await stageCosts(clip, '1080p', Math.min(frames, 150), networks);
  const before = await machine();
  const whole = await part(['enhance', clip, '1080p', out, ...networks]);
  const after = await machine();
  const busy = after.busy_s - before.busy_s;
  const othersCores = Math.max(0, busy - whole.cpu_s) / whole.wall_s;
  const fps = whole.frames / whole.wall_s;
  return {
    ...costs.core_ms_per_frame,
    sum_core_ms_per_frame: round(costs.core_seconds * 1e3),
    pipeline_fps: round(fps, 2),
    pipeline_core_ms_per_frame: round(perFrame(whole) * 1e3),
    pipeline_stages_core_ms: Object.fromEntries(
      Object.entries(whole.stages_cpu_s ?? {}).map(([name, s]) => [name, round((s / whole.frames) * 1e3)]),
    ),
    cores_busy: round(whole.cpu_s / whole.wall_s, 2),
    cores_taken_by_other_processes: round(othersCores, 2),
    efficiency: round(fps / (cores / costs.core_seconds)),
    efficiency_of_free_cores: round(fps / (Math.max(0.1, cores - othersCores) / costs.core_seconds)),
    peak_rss_mb: whole.peak_rss_mb,
  };
}

/** 540p to 1080p with `fast` in int8; undefined if networks cannot run. */
async function withFast(clip: string, out: string, frames: number) {
  const results: Round[] = [];
  for (let i = 0; i < rounds; ++i) {
    say(`540p to 1080p with fast, round ${i + 1} of ${rounds}: stages alone, pipeline`);
    try {
      results.push(await efficiencyRound(clip, out, frames, ['--network', fast]));
    } catch (error) {
      if (i > 0 || !String(error).includes('OpenVINO')) throw error;
      say('skipped: this build has no OpenVINO (scripts/setup-openvino)');
      return undefined;
    }
  }
  return bestAndAll(results);
}

type Round = Awaited<ReturnType<typeof efficiencyRound>>;

function bestAndAll(results: Round[]) {
  return {
    best: results.reduce((a, b) => (b.efficiency_of_free_cores > a.efficiency_of_free_cores ? b : a)),
    rounds: results.map((r) => ({
      fps: r.pipeline_fps,
      efficiency: r.efficiency,
      efficiency_of_free_cores: r.efficiency_of_free_cores,
      others: r.cores_taken_by_other_processes,
    })),
  };
}

/** 540p to 1080p beside two filters of the ffmpeg command line. */
async function compareWithFfmpeg(clip: string, out: string, frames: number) {
  const results: Round[] = [];
  const peers: { zscale: Peer; swscale: Peer }[] = [];
  const unsharp = 'unsharp=5:5:0.4';
  for (let i = 0; i < rounds; ++i) {
    say(`540p to 1080p, round ${i + 1} of ${rounds}: stages alone, pipeline, ffmpeg`);
    results.push(await efficiencyRound(clip, out, frames));
    const zscale = await peer(clip, `zscale=1920:1080:filter=lanczos,${unsharp}`, out, frames);
    const swscale = await peer(clip, `scale=1920:1080:flags=lanczos,${unsharp}`, out, frames);
    peers.push({ zscale, swscale });
  }
  const { best, rounds: allRounds } = bestAndAll(results);
  const bestPeer = Math.max(...peers.map((p) => Math.max(p.zscale.fps, p.swscale.fps)));
  // Compares within a round only, because the load of a shared machine differs between rounds.
  const ratios = results.map((r, i) => r.pipeline_fps / Math.max(peers[i]!.zscale.fps, peers[i]!.swscale.fps));
  // Ratio of CPU time, which other programs disturb least. Below 1: the engine needs less than ffmpeg.
  const costs = results.map((r, i) => {
    const least = Math.min(peers[i]!.zscale.core_ms_per_frame, peers[i]!.swscale.core_ms_per_frame);
    return r.pipeline_core_ms_per_frame / least;
  });
  return {
    pipeline_540p_to_1080p: best,
    all_rounds: allRounds,
    peer_ffmpeg_fps: { what: 'decode, Lanczos resize, unsharp, the same x264 settings', rounds: peers, best: bestPeer },
    pipeline_fps_over_best_peer_by_round: ratios.map((ratio) => round(ratio)),
    pipeline_core_time_over_best_peer_by_round: costs.map((cost) => round(cost)),
  };
}

/**
 * Still pictures (Note in engine/src/cpu/network_stage.h), with `fast`: a recorded screen with a cursor and a clock, slides,
 * and grain, where every sample changes from picture to picture.
 */
async function stillPictures(folder: string) {
  const still = (rate: number) => `testsrc2=s=960x540:r=${rate}:d=5`;
  const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '20', '-pix_fmt', 'yuv420p'];
  const cursor = "x='if(lt(mod(t,2),1),200+150*mod(t,2),350)':y='100+80*min(mod(t,2),1)'";
  const screen = `[0:v]trim=end_frame=1,loop=149:1,setpts=N/30/TB[page];[page][1:v]overlay=600:300[clock];[clock][2:v]overlay=${cursor}`;
  const inputs = ['-f', 'lavfi', '-i', still(30), '-f', 'lavfi', '-i', 'testsrc=s=96x48:r=3:d=5,fps=30', '-f', 'lavfi', '-i', 'color=white:s=12x18:r=30:d=5'];
  const clips: [string, string[]][] = [
    ['screen', [...inputs, '-filter_complex', screen, '-t', '5', ...codec]],
    ['slides', ['-f', 'lavfi', '-i', `${still(30)},fps=0.5,fps=30`, '-t', '5', ...codec]],
    ['grain', ['-f', 'lavfi', '-i', `${still(30)},noise=alls=8:allf=t`, ...codec]],
  ];
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, args] of clips) {
    say(`540p to 1080p with fast: ${name}`);
    const clip = join(folder, `${name}.mp4`);
    await ffmpeg([...args, clip]);
    const whole = await part(['enhance', clip, '1080p', join(folder, 'out.mp4'), '--network', fast]);
    rows[name] = {
      network_core_ms_per_frame: round(((whole.stages_cpu_s?.['network'] ?? 0) / whole.frames) * 1e3, 1),
      pipeline_core_ms_per_frame: round(perFrame(whole) * 1e3, 1),
      fps: round(whole.frames / whole.wall_s, 1),
    };
  }
  return rows;
}

/** Memory of a long video, whose container index grows, compared with that of a short one. */
async function memory(folder: string, mainJobMegabytes: number) {
  const short = join(folder, 'short.mp4');
  const long = join(folder, 'long.mp4');
  const longSeconds = isQuick ? 60 : 600;
  say(`clips of 10 s and ${longSeconds} s for the memory test`);
  await makeClip(short, '480x270', 10, 25);
  await makeClip(long, '480x270', longSeconds, 25);
  say('memory of both, at their own size');
  const ten = await part(['enhance', short, 'source', join(folder, 'out.mp4')]);
  const all = await part(['enhance', long, 'source', join(folder, 'out.mp4')]);
  const growth = all.peak_rss_mb - ten.peak_rss_mb;
  return {
    picture: '480x270',
    ten_seconds_mb: ten.peak_rss_mb,
    long_mb: all.peak_rss_mb,
    long_seconds: longSeconds,
    long_frames: all.frames,
    growth_mb: round(growth, 1),
    growth: round(growth / ten.peak_rss_mb),
    growth_of_540p_to_1080p_job: round(growth / mainJobMegabytes),
  };
}

async function fourK(folder: string) {
  const clip = join(folder, '1080p.mp4');
  say('1080p to 4K');
  await makeClip(clip, '1920x1080', 3, 30);
  const whole = await part(['enhance', clip, '4k', join(folder, 'out.mp4')]);
  return { fps: round(whole.frames / whole.wall_s, 2), core_ms_per_frame: round(perFrame(whole) * 1e3), peak_rss_mb: whole.peak_rss_mb };
}

/** Cost of the face stage at 1080p: detection without faces, and each restored face. */
async function faces(folder: string) {
  const costs: Record<string, Record<string, number>> = {};
  for (const people of [0, 1, 3]) {
    say(`1080p with ${people} faces`);
    const clip = join(folder, `faces-${people}.mp4`);
    const positions = ['60+2*n', '700', '1300-2*n'].slice(0, people);
    const labels = positions.map((_, i) => `[p${i}]`).join('');
    const split = people === 0 ? '' : `;[1:v]scale=520:-2,split=${people}${labels}`;
    const overlays = positions.map((x, i) => `;[v${i}][p${i}]overlay='${x}':${200 + 120 * i}:eval=frame[v${i + 1}]`).join('');
    const graph = `[0:v]noise=alls=6:allf=t[v0]${split}${overlays};[v${people}]format=yuv420p[out]`;
    const ground = ['-f', 'lavfi', '-i', 'testsrc2=s=1920x1080:r=25:d=4'];
    const person = people === 0 ? [] : ['-loop', '1', '-framerate', '25', '-t', '4', '-i', 'engine/tests/media/face.jpg'];
    const codec = ['-t', '4', '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '24'];
    await ffmpeg([...ground, ...person, '-filter_complex', graph, '-map', '[out]', ...codec, clip]);
    const whole = await part(['enhance', clip, 'source', join(folder, 'out.mp4'), '--faces', 'engine/models/faces-256.onnx']);
    const seconds = whole.stages_cpu_s?.['faces'] ?? 0;
    costs[`${people} faces`] = {
      restored_a_frame: round((whole.faces ?? 0) / whole.frames, 2),
      faces_core_ms_per_frame: round((seconds / whole.frames) * 1e3, 1),
      pipeline_core_ms_per_frame: round(perFrame(whole) * 1e3, 1),
      peak_rss_mb: whole.peak_rss_mb,
    };
  }
  return costs;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reelmend-bench-'));
  try {
    if (process.argv.includes('--only-still')) {
      process.stdout.write(`${JSON.stringify(await stillPictures(folder), null, 2)}\n`);
      return;
    }
    say('pixel stages');
    const stages = JSON.parse(await run(join(buildFolder, 'bench_stages'), [isQuick ? '0.1' : '0.4'])) as object;
    const clip = join(folder, '540p.mp4');
    const seconds = isQuick ? 3 : 10;
    const frames = seconds * 30;
    await makeClip(clip, '960x540', seconds, 30);
    const out = join(folder, 'out.mp4');
    const comparison = await compareWithFfmpeg(clip, out, frames);
    say('resize kernels against the bounds of the machine');
    const kernels = JSON.parse(await run(join(buildFolder, 'bench_kernels'), [isQuick ? '0.05' : '0.2'])) as Report['resize_kernels'];
    const withNetwork = await withFast(clip, out, frames);
    const report = {
      cores,
      ...comparison,
      pipeline_540p_to_1080p_fast: withNetwork,
      pictures_that_stay_fast: withNetwork ? await stillPictures(folder) : undefined,
      resize_kernels: kernels,
      memory: await memory(folder, comparison.pipeline_540p_to_1080p.peak_rss_mb),
      faces_1080p: await faces(folder),
      ...(isQuick ? {} : { pipeline_1080p_to_4k: await fourK(folder) }),
      stages,
    };
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    if (process.argv.includes('--page')) await writePages(report);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`bench-engine: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
