/**
 * Writes the tables of `npm run bench:engine -- --page` into engine/bench/results. In kernels.md it replaces only the lines
 * between the markers; the text around them is written by hand.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';

const folder = 'engine/bench/results';

export interface Kernel {
  kernel: string;
  us: number;
  gflops: number;
  peak_gflops: number;
  gb_per_s: number;
  stream_gb_per_s: number;
  binds: string;
  share: number;
}

interface Pipeline {
  decode: number;
  pixels: number;
  encode: number;
  sum_core_ms_per_frame: number;
  pipeline_fps: number;
  pipeline_core_ms_per_frame: number;
  pipeline_stages_core_ms: Record<string, number>;
  cores_taken_by_other_processes: number;
  efficiency: number;
  efficiency_of_free_cores: number;
  peak_rss_mb: number;
}

interface Round {
  fps: number;
  efficiency: number;
  efficiency_of_free_cores: number;
  others: number;
}

interface Peer {
  fps: number;
  core_ms_per_frame: number;
}

export interface Report {
  cores: number;
  pipeline_540p_to_1080p: Pipeline;
  all_rounds: Round[];
  peer_ffmpeg_fps: { rounds: { zscale: Peer; swscale: Peer }[] };
  pipeline_fps_over_best_peer_by_round: number[];
  pipeline_core_time_over_best_peer_by_round: number[];
  pipeline_540p_to_1080p_fast: { best: Pipeline; rounds: Round[] } | undefined;
  pictures_that_stay_fast: Record<string, Record<string, number>> | undefined;
  resize_kernels: { simd: string; kernels: Kernel[] };
  memory: Record<string, string | number>;
  faces_1080p: Record<string, Record<string, number>>;
  pipeline_1080p_to_4k?: Record<string, number>;
}

type Cell = string | number;
const row = (cells: Cell[]) => `| ${cells.join(' | ')} |`;
const table = (head: string[], rows: Cell[][]) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

function machineLine(report: Report): string {
  const model = cpus()[0]?.model ?? 'unknown processor';
  return `${new Date().toISOString().slice(0, 10)}, ${model}, ${report.cores} cores, ${report.resize_kernels.simd}`;
}

const roundRows = (rounds: Round[]) =>
  rounds.map((r, i) => [i + 1, r.fps, r.efficiency, r.others, r.efficiency_of_free_cores] satisfies Cell[]);
const roundHead = ['round', 'frames/s', 'efficiency', 'cores used by others', 'efficiency of free cores'];

function stageTable(pipeline: Pipeline): string {
  const rows = Object.entries(pipeline.pipeline_stages_core_ms).map(([name, ms]) => [name, ms.toFixed(1)]);
  return table(['stage', 'core-ms per frame'], rows);
}

function pipelineSection(pipeline: Pipeline, rounds: Round[]): string {
  const sums = `Alone: decode ${pipeline.decode.toFixed(1)}, pixels ${pipeline.pixels.toFixed(1)}, encode ${pipeline.encode.toFixed(1)}, together ${pipeline.sum_core_ms_per_frame.toFixed(1)} core-ms per frame; in the pipeline ${pipeline.pipeline_core_ms_per_frame.toFixed(1)}. Peak memory ${pipeline.peak_rss_mb} MB.`;
  return `${table(roundHead, roundRows(rounds))}\n\n${sums}\n\n${stageTable(pipeline)}`;
}

function peerTable(report: Report): string {
  const rows = report.peer_ffmpeg_fps.rounds.map((r, i) => [
    i + 1,
    r.zscale.fps,
    r.swscale.fps,
    report.all_rounds[i]?.fps ?? '',
    report.pipeline_fps_over_best_peer_by_round[i] ?? '',
    report.pipeline_core_time_over_best_peer_by_round[i] ?? '',
  ]);
  return table(['round', 'ffmpeg zscale', 'ffmpeg scale', 'engine', 'frames/s ÷ best peer', 'core time ÷ best peer'], rows);
}

function facesTable(report: Report): string {
  const rows = Object.entries(report.faces_1080p).map(([name, f]) => [
    name,
    f['restored_a_frame'] ?? '',
    f['faces_core_ms_per_frame'] ?? '',
    f['pipeline_core_ms_per_frame'] ?? '',
    f['peak_rss_mb'] ?? '',
  ]);
  return table(['clip', 'restored per frame', 'faces, core-ms per frame', 'all stages', 'peak MB'], rows);
}

const stayText =
  'Three clips: a recorded screen (a cursor moves half of the time, a clock changes three times a second), slides of two seconds each, and a moving picture with grain. With grain, every picture differs from the previous one, so the network processes the whole picture.';

function stillTable(clips: Record<string, Record<string, number>>): string {
  const rows = Object.entries(clips).map(([name, c]) => [name, c['network_core_ms_per_frame'] ?? '', c['pipeline_core_ms_per_frame'] ?? '']);
  return table(['clip', 'network, core-ms per frame', 'all stages'], rows);
}

function pipelinePage(report: Report): string {
  const network = report.pipeline_540p_to_1080p_fast;
  const big = report.pipeline_1080p_to_4k;
  const parts = [
    '# The pipeline',
    `Written by \`npm run bench:engine -- --page\`: ${machineLine(report)}. Method: \`scripts/bench-engine.ts\`. Efficiency 1: decoding, pixel stages and encoding overlap, and no core idles. The last column excludes the cores that other programs used. Goals: efficiency 0.9, and the frame rate of the ffmpeg command line.`,
    '## 540p to 1080p, filters only',
    pipelineSection(report.pipeline_540p_to_1080p, report.all_rounds),
    '## The same with the ffmpeg command line',
    'Frames per second of decoding, Lanczos, unsharp and the same x264 settings. The engine also denoises in time and space and adapts the contrast.',
    peerTable(report),
    '## 540p to 1080p with `fast` (int8)',
    network ? pipelineSection(network.best, network.rounds) : 'Not measured: the build had no OpenVINO.',
    ...(report.pictures_that_stay_fast ? ['## Still pictures, with `fast`', stayText, stillTable(report.pictures_that_stay_fast)] : []),
    '## Faces, 1080p',
    facesTable(report),
    '## Memory',
    `${report.memory['picture']}: ${report.memory['ten_seconds_mb']} MB for 10 s, ${report.memory['long_mb']} MB for ${report.memory['long_seconds']} s.`,
    ...(big ? ['## 1080p to 4K, filters only', `${big['fps']} frames/s, ${big['core_ms_per_frame']} core-ms per frame, ${big['peak_rss_mb']} MB.`] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function kernelTable(kernels: Kernel[]): string {
  const rows = kernels.map((k) => [
    k.kernel,
    k.us.toFixed(2),
    `${k.gflops.toFixed(0)} of ${k.peak_gflops.toFixed(0)}`,
    `${k.gb_per_s.toFixed(0)} of ${k.stream_gb_per_s.toFixed(0)}`,
    k.binds,
    k.share.toFixed(2),
  ]);
  return table(['kernel', 'µs', 'GFLOP/s of peak', 'GB/s of stream', 'binds', 'share'], rows);
}

const begin = '<!-- table: bench:engine --page -->';
const end = '<!-- end of table -->';

export async function writePages(report: Report): Promise<void> {
  await writeFile(`${folder}/pipeline.md`, pipelinePage(report));
  const page = await readFile(`${folder}/kernels.md`, 'utf8');
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${folder}/kernels.md lacks the markers of its table`);
  const written = `${begin}\n${machineLine(report)}.\n\n${kernelTable(report.resize_kernels.kernels)}\n${end}`;
  await writeFile(`${folder}/kernels.md`, before + written + after);
}
