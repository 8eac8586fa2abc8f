/** Runs the ffmpeg command line, which makes the tests' clips and checks their results independently. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { hangMs } from './wait.ts';

const run = promisify(execFile);
const quiet = ['-hide_banner', '-loglevel', 'error', '-nostdin'];

export async function ffmpeg(args: string[]): Promise<void> {
  await run('ffmpeg', [...quiet, '-y', ...args], { timeout: hangMs, maxBuffer: 16 << 20 });
}

export interface Clip {
  name: string;
  /** lavfi source of the picture, e.g. testsrc2=size=320x180:rate=25 */
  video?: string;
  seconds?: number;
  audio?: string[] | null;
  args: string[];
}

/** Makes a clip with a moving, coloured picture, and with a 440 Hz tone unless `audio` is null. */
export async function makeClip(path: string, clip: Omit<Clip, 'name'>): Promise<void> {
  const seconds = String(clip.seconds ?? 2);
  const video = ['-f', 'lavfi', '-i', clip.video ?? 'testsrc2=size=320x180:rate=25'];
  const sound = clip.audio === null ? [] : ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'];
  await ffmpeg([...video, ...sound, '-t', seconds, '-pix_fmt', 'yuv420p', ...clip.args, ...(clip.audio ?? []), path]);
}

/** Copies a clip and sets its rotation, so that players turn the picture by `degrees` counter-clockwise. */
export async function turnClip(from: string, to: string, degrees: number): Promise<void> {
  // ffmpeg 6 replaced the output's metadata by an input option; newer releases ignore the metadata.
  const { stdout } = await run('ffmpeg', ['-hide_banner', '-h', 'long'], { maxBuffer: 16 << 20 });
  const hasOption = stdout.includes('-display_rotation');
  const before = hasOption ? ['-display_rotation:v:0', String(degrees)] : [];
  const after = hasOption ? [] : ['-metadata:s:v:0', `rotate=${degrees}`];
  await ffmpeg([...before, '-i', from, '-c', 'copy', ...after, to]);
}

const stream = z.object({
  codec_type: z.string(),
  codec_name: z.string().optional(),
  profile: z.string().optional(),
  width: z.number().optional(),
  height: z.number().optional(),
  pix_fmt: z.string().optional(),
  sample_aspect_ratio: z.string().optional(),
  color_space: z.string().optional(),
  color_range: z.string().optional(),
  color_primaries: z.string().optional(),
  color_transfer: z.string().optional(),
  nb_read_frames: z.string().optional(),
  start_time: z.string().optional(),
  duration: z.string().optional(),
  channels: z.number().optional(),
  side_data_list: z.array(z.record(z.string(), z.unknown())).optional(),
});
const report = z.object({
  streams: z.array(stream),
  format: z.object({ format_name: z.string(), duration: z.string().optional(), size: z.string().optional() }),
});
export type StreamFacts = z.infer<typeof stream>;

/** Returns the streams and the container. Counts frames by decoding them. */
export async function ffprobe(path: string): Promise<z.infer<typeof report>> {
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', path];
  const { stdout } = await run('ffprobe', args, { timeout: hangMs, maxBuffer: 64 << 20 });
  return report.parse(JSON.parse(stdout));
}

const frames = z.object({
  frames: z.array(z.object({ best_effort_timestamp_time: z.string().optional(), pts_time: z.string().optional() })),
});

/** Presentation times (seconds) of the first video stream's decoded frames, in order. */
export async function frameTimes(path: string): Promise<number[]> {
  const args = ['-v', 'error', '-select_streams', 'v:0', '-show_entries', 'frame=pts_time,best_effort_timestamp_time'];
  const { stdout } = await run('ffprobe', [...args, '-of', 'json', path], { timeout: hangMs, maxBuffer: 64 << 20 });
  return frames.parse(JSON.parse(stdout)).frames.map((frame) => Number(frame.best_effort_timestamp_time ?? frame.pts_time));
}

/** Average PSNR in dB between two videos of the same size, from ffmpeg's psnr filter; infinite if they are equal. */
export async function psnr(a: string, b: string, filterA = 'null', filterB = 'null'): Promise<number> {
  const graph = `[0:v]${filterA}[a];[1:v]${filterB}[b];[a][b]psnr`;
  const args = ['-hide_banner', '-nostdin', '-loglevel', 'info', '-i', a, '-i', b, '-lavfi', graph, '-f', 'null', '-'];
  const { stderr } = await run('ffmpeg', args, { timeout: hangMs, maxBuffer: 64 << 20 });
  const average = /average:(inf|[\d.]+)/.exec(stderr)?.[1];
  if (average === undefined) throw new Error(`no PSNR in: ${stderr.slice(-500)}`);
  return average === 'inf' ? Number.POSITIVE_INFINITY : Number(average);
}

/** MD5 of the encoded bytes of the first audio stream. A copied stream has the same hash in every container. */
export async function audioHash(path: string): Promise<string> {
  const args = [...quiet, '-i', path, '-map', '0:a:0', '-c', 'copy', '-f', 'data', '-'];
  const { stdout } = await run('ffmpeg', args, { timeout: hangMs, maxBuffer: 64 << 20, encoding: 'buffer' });
  return createHash('md5').update(stdout).digest('hex');
}
