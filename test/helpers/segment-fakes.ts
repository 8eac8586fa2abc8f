/** Fakes for videos in segments: media that cut, make and join them, and jobs whose segments are queued. */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { JobRecord } from '../../src/domain/job.ts';
import { engineOf } from '../../src/jobs/enhancement-tasks.ts';
import type { EnhanceRequest, EnhanceResult, ProbeResult } from '../../src/media/types.ts';
import type { DeviceClass, Fence } from '../../src/store/index.ts';
import { enhanceResult, FakeMedia, probeResult, type Workshop } from './worker-fakes.ts';
import type { World } from './worker-world.ts';

/** How a video is cut: into `count` segments of equal length. */
export interface Cut {
  count: number;
  /** seconds of each segment */
  pieceS: number;
  /** what is measured of the video, where that differs from `probeResult` */
  source?: Partial<ProbeResult> | undefined;
}

const framesOf = (seconds: number) => Math.round(seconds * probeResult.frameRate);

export const spansOf = ({ count, pieceS }: Cut) =>
  Array.from({ length: count }, (_, index) => ({ startS: index * pieceS, endS: (index + 1) * pieceS, frames: framesOf(pieceS) }));

/** The text of a plan for that device class. */
export const planFor = (deviceClass: DeviceClass): string => `a plan for ${deviceClass}`;

/** What the engine reports of a piece. */
export const pieceOf = ({ pieceS }: Cut): EnhanceResult => ({ ...enhanceResult, frames: framesOf(pieceS), durationS: pieceS });

/** What is measured of the file of a piece. */
export function measuredPieceOf({ pieceS }: Cut): ProbeResult {
  const { width, height } = enhanceResult;
  return { ...probeResult, width, height, durationS: pieceS, decodedFrames: framesOf(pieceS) };
}

/** The number of the segment; undefined for a whole video. */
export const indexOf = ({ options }: EnhanceRequest): number | undefined => options.piece?.index;

/** Makes the fake media cut each video, make its pieces and join them. The results pass the checks of the service. */
export function cutIntoSegments(media: FakeMedia, cut: Cut): void {
  const { width, height, condition, source } = enhanceResult;
  media.onPlanSegments = async ({ options }) => {
    const device = media.deviceFor(options);
    const plan = { source, width, height, device, model: 'none', stages: [], condition };
    return { plan, segments: spansOf(cut), text: planFor(device === 'cpu' ? 'cpu' : 'cuda'), whyWhole: '' };
  };
  media.onEnhance = async (request) => (indexOf(request) === undefined ? enhanceResult : pieceOf(cut));
  media.onProbe = async ({ source: measured }) =>
    'path' in measured && basename(measured.path) === 'source' ? { ...probeResult, ...cut.source } : measuredPieceOf(cut);
  media.onJoin = async ({ piecesDir, pieces, outputDir, outputName }) => {
    const text = (await Promise.all(pieces.map((name) => readFile(join(piecesDir, name), 'utf8')))).join(', ');
    await writeFile(join(outputDir, outputName), text);
    const { frames, durationS } = pieceOf(cut);
    return { width, height, frames: frames * pieces.length, durationS: durationS * pieces.length, sizeBytes: text.length };
  };
}

/** The id of the engine of FakeMedia. */
export const fakeEngine: string = engineOf({ media: new FakeMedia() });

/** How a worker with devices of both classes acquires a segment. */
export const asWorker = (owner: string, leaseSeconds = 60) => ({ owner, leaseSeconds, deviceClasses: ['cpu', 'cuda'] as const, engine: fakeEngine });

export interface QueuedCut extends Cut {
  /** the worker that planned it */
  owner?: string;
  /** segments that are queued at once */
  atOnce?: number;
  deviceClass?: DeviceClass;
  /** id of the engine that planned them */
  engine?: string;
}

/** Takes a job to the state with its segments queued. Returns the lease of the planning. */
export async function queueSegments({ world, shop }: { world: World; shop: Workshop }, job: JobRecord, cut: QueuedCut): Promise<Fence> {
  const { owner = 'planner', atOnce = 64, deviceClass = 'cpu', engine = fakeEngine } = cut;
  const { leases, objects, segments } = world.store;
  const ingest = (await leases.acquire(job.id, 'ingest', owner, 600))!;
  const key = await objects.registerPendingObject(ingest.fence, 'original');
  shop.storage.objects.set(key, Buffer.from('a real film'));
  await leases.ingested(ingest.fence, { key, size: 11, sha256: 'b'.repeat(64), version: null }, job.source!);
  const { fence } = (await leases.acquire(job.id, 'enhance', owner, 600))!;
  const wanted = spansOf(cut).map(({ startS, endS, frames }) => ({ startSeconds: startS, endSeconds: endS, frames }));
  await segments.planned(fence, { text: planFor(deviceClass), deviceClass, engine, segments: wanted, atOnce });
  return fence;
}
