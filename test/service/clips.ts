/** Videos as people have them, small, made by the ffmpeg command line. */
import { join } from 'node:path';
import { makeClip, turnClip } from '../helpers/ffmpeg.ts';

export interface Variant {
  file: string;
  /** what the output's picture must be, from 320×180 (or its turn) fitted into 1080p */
  width: number;
  height: number;
  audio: boolean;
  /** whether the sound is copied rather than encoded again */
  audioCopied?: boolean;
  /** frames a second, where the container stores no timestamps that ffprobe could tell */
  constantRate?: number;
  make(path: string): Promise<void>;
}

/** few frames: each is enhanced to 1080p */
export const video = 'testsrc2=size=320x180:rate=10';
const landscape = { width: 1920, height: 1080 };
const x264 = ['-c:v', 'libx264', '-preset', 'veryfast', '-g', '20'];

/** 10 fps thinned to gaps of 1, 2 and 4 frames: every timestamp differs from a constant rate. */
const vfrFilter = "select='not(mod(n,7))+not(mod(n,5))+not(mod(n,3))',settb=1/1000";

export const variants: Variant[] = [
  {
    file: 'h264-aac.mp4',
    ...landscape,
    audio: true,
    audioCopied: true,
    make: (path) => makeClip(path, { video, args: [...x264, '-bf', '3'], audio: ['-c:a', 'aac'] }),
  },
  {
    file: 'vp9-opus.webm',
    ...landscape,
    audio: true,
    audioCopied: true,
    make: (path) => makeClip(path, { video, args: ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8'], audio: ['-c:a', 'libopus'] }),
  },
  {
    file: 'mpeg4-mp3.avi',
    ...landscape,
    constantRate: 10,
    audio: true,
    audioCopied: true,
    make: (path) => makeClip(path, { video, args: ['-c:v', 'mpeg4', '-q:v', '4', '-bf', '2'], audio: ['-c:a', 'libmp3lame'] }),
  },
  {
    file: 'hevc.mkv',
    ...landscape,
    audio: true,
    audioCopied: true,
    make: (path) => makeClip(path, { video, args: ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', 'log-level=error'], audio: ['-c:a', 'aac'] }),
  },
  {
    file: 'rotated.mov',
    width: 1080,
    height: 1920,
    audio: true,
    make: async (path) => {
      const upright = `${path}.upright.mov`;
      await makeClip(upright, { video, args: x264, audio: ['-c:a', 'pcm_s16le'] });
      await turnClip(upright, path, 90);
    },
  },
  {
    file: 'vfr.mp4',
    ...landscape,
    audio: true,
    audioCopied: true,
    make: (path) => makeClip(path, { video, args: ['-vf', vfrFilter, '-vsync', 'vfr', '-video_track_timescale', '90000', ...x264], audio: ['-c:a', 'aac'] }),
  },
  {
    file: 'silent.mp4',
    ...landscape,
    audio: false,
    make: (path) => makeClip(path, { video, args: x264, audio: null }),
  },
];

export async function makeVariants(dir: string): Promise<void> {
  for (const variant of variants) await variant.make(join(dir, variant.file));
}
