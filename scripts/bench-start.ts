/**
 * `npm run bench:start`: measures the time from the start of a job until its first frame reaches the stages, in a new child
 * and in a warm one. Alternates between them in one run. Prints one JSON object.
 *   node scripts/bench-start.ts [--device cpu|cuda:N|auto] [--model fast] [--size 960x540] [--jobs 5] [--target 1080p]
 *     [--engines DIR]    engines of networks for GPUs (reelmend models compile)
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { createMedia } from '../src/media/index.ts';
import { installedModels } from '../src/media/models.ts';
import type { EnhanceResult, JobOptions, Media } from '../src/media/types.ts';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'auto' },
    model: { type: 'string', default: 'auto' },
    size: { type: 'string', default: '960x540' },
    target: { type: 'string', default: '1080p' },
    jobs: { type: 'string', default: '5' },
    engines: { type: 'string' },
  },
});
const jobs = Number(values.jobs);
if (!/^\d+x\d+$/.test(values.size) || !['1080p', '4k', 'source'].includes(values.target) || !(jobs >= 1)) {
  console.error('bench:start: expected --size such as 960x540, --target 1080p, 4k or source, and --jobs of at least 1');
  process.exit(2);
}
/** time limit in ms for a child to become ready; long, because it may have to build a network's engine */
const readyWithinMs = 10 * 60_000;

const folder = await mkdtemp(join(tmpdir(), 'reelmend-start-'));
try {
  console.log(JSON.stringify(await measure(), null, 2));
} catch (error) {
  console.error(`bench:start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measure() {
  const clip = join(folder, 'clip.mp4');
  const source = `testsrc2=size=${values.size}:rate=25:duration=0.12`;
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', clip]);
  const media = await createMedia({ models: installedModels(), enginesDir: values.engines });
  const options: JobOptions = { target: values.target as JobOptions['target'], device: values.device, model: values.model };
  const job = () => media.enhance({ input: clip, outputDir: folder, outputName: 'out.mp4', options, timeoutMs: 10 * 60_000 });
  await job(); // loads the files into the page cache
  const runs = { new: [] as EnhanceResult[], ready: [] as EnhanceResult[] };
  for (let i = 0; i < jobs; i += 1) {
    runs.new.push(await job());
    runs.ready.push(await inReadyChild(media, options, job));
  }
  const [cold, warm] = [summary(runs.new), summary(runs.ready)];
  const { applied, device, width, height } = runs.ready[0]!;
  return {
    ...{ what: 'start of a job: ms from the call until its first frame is in the stages', date: new Date().toISOString() },
    ...{ device, model: applied.model, from: values.size, to: `${width}x${height}`, jobs, isolation: media.isolation.kind },
    ...{ newChild: cold, readyChild: warm, ratio: Number((cold.median / warm.median).toFixed(2)), goalMs: 300 },
  };
}

/** The first job sets the warm-up profile; the second job runs in a child that was warmed up with it. */
async function inReadyChild(media: Media, options: JobOptions, job: () => Promise<EnhanceResult>): Promise<EnhanceResult> {
  const pool = media.startWarmPool({ count: 1, folder: join(folder, 'warm-pool'), options });
  const ready = async () => {
    const end = performance.now() + readyWithinMs;
    while (pool.ready === 0) {
      if (performance.now() > end) throw new Error('no child became ready');
      await sleep(20);
    }
  };
  try {
    await ready();
    await job();
    await ready();
    const result = await job();
    if (!result.wasReady) throw new Error('the job did not run in the warm child');
    return result;
  } finally {
    await pool.close();
  }
}

function summary(results: EnhanceResult[]) {
  const start = results.map(({ startMs }) => Math.round(startMs)).sort((a, b) => a - b);
  const engine = results.map(({ startSeconds }) => Math.round(startSeconds * 1000)).sort((a, b) => a - b);
  const middle = Math.floor(start.length / 2);
  return { median: start[middle]!, least: start[0]!, most: start.at(-1)!, engineMedian: engine[middle]! };
}
