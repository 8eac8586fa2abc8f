/**
 * A worker of bench-fleet. Everything is real except the engine, which waits as long as a device of the given speed would
 * take (FLEET_DEVICE_SPEED, seconds of video per second). Prints the events of its device as lines of JSON.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/app/config.ts';
import { openStore } from '../../src/app/open-store.ts';
import { measurementToleranceS } from '../../src/domain/limits.ts';
import { createWorker } from '../../src/jobs/index.ts';
import { createMedia, type EnhanceRequest, type EnhanceResult, type JoinRequest, type Media, type PlanSegmentsRequest, type ProbeRequest, type SegmentPlan } from '../../src/media/index.ts';
import { createNetClient } from '../../src/net/index.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { createStorage } from '../../src/storage/index.ts';
import { enhanceResult, FakeMedia, probeResult } from '../../test/helpers/worker-fakes.ts';
import type { DeviceEvent } from './events.ts';

const speed = Number(process.env['FLEET_DEVICE_SPEED']);
/** seconds of video in a segment, by target */
const segmentS = { '1080p': 10, '4k': 20, source: 10 } as const;
const frameRate = 1;

const report = (event: Omit<DeviceEvent, 'at'>) => process.stdout.write(`${JSON.stringify({ ...event, at: Date.now() })}\n`);
/** Computes the length of the video from the job's limit of the duration. */
const durationOf = ({ options }: Pick<EnhanceRequest, 'options'>) => options.limits!.maxDurationS! - measurementToleranceS;

interface Span {
  startS: number;
  endS: number;
  frames: number;
}

class WaitingMedia extends FakeMedia {
  readonly #real: Media;

  constructor(real: Media) {
    super();
    this.#real = real;
  }

  /** The real media measure sources. Pieces contain their length. */
  override async probe(request: ProbeRequest) {
    const { source } = request;
    if (!('path' in source) || basename(source.path) === 'source') return this.#real.probe(request);
    const { durationS, frames } = JSON.parse((await readFile(source.path, 'utf8')).trim()) as { durationS: number; frames: number };
    return { ...probeResult, width: 1920, height: 1080, durationS, decodedFrames: frames };
  }

  override async planSegments(request: PlanSegmentsRequest): Promise<SegmentPlan> {
    const [durationS, lengthS] = [durationOf(request), segmentS[request.options.target]];
    const segments: Span[] = [];
    for (let startS = 0; startS < durationS; startS += lengthS) {
      const endS = Math.min(durationS, startS + lengthS);
      segments.push({ startS, endS, frames: Math.max(1, Math.round((endS - startS) * frameRate)) });
    }
    const { width, height, condition, source } = enhanceResult;
    return { plan: { source, width, height, device: 'cpu', model: 'none', stages: [], condition }, segments, text: JSON.stringify(segments), whyWhole: '' };
  }

  override async enhance(request: EnhanceRequest): Promise<EnhanceResult> {
    const { piece } = request.options;
    const span = piece === undefined ? undefined : (JSON.parse(piece.plan) as Span[])[piece.index]!;
    const durationS = span === undefined ? durationOf(request) : span.endS - span.startS;
    const where = { job: /job_[0-9a-z]{26}/.exec(request.outputDir)![0], segment: piece?.index ?? null };
    report({ kind: 'begun', ...where });
    await this.#wait((durationS / speed) * 1000, request);
    // Smaller than a real 1080p piece, because the benchmark does not measure the storage.
    const frames = span?.frames ?? Math.round(durationS);
    const text = JSON.stringify({ durationS, frames }).padEnd(50_000);
    await writeFile(join(request.outputDir, request.outputName), text);
    report({ kind: 'ended', ...where });
    return { ...enhanceResult, frames, durationS, sizeBytes: text.length };
  }

  /** Reports progress as the engine does. */
  async #wait(ms: number, { onProgress, signal }: EnhanceRequest): Promise<void> {
    const begun = performance.now();
    for (let done = 0; done < ms; done = performance.now() - begun) {
      onProgress?.({ fraction: done / ms, framesDone: 0, framesPerSecond: 0, etaS: (ms - done) / 1000 });
      await sleep(Math.min(250, ms - done), undefined, { ...(signal === undefined ? {} : { signal }) });
    }
  }

  override async join({ plan, outputDir, outputName, piecesDir }: JoinRequest) {
    const spans = JSON.parse(plan) as Span[];
    const durationS = spans.at(-1)!.endS;
    const text = JSON.stringify({ durationS });
    await writeFile(join(outputDir, outputName), text);
    report({ kind: 'joined', job: /job_[0-9a-z]{26}/.exec(piecesDir)![0], segment: null });
    return { width: 1920, height: 1080, frames: spans.length, durationS, sizeBytes: text.length };
  }
}

const config = loadConfig(process.env);
const logger = createLogger(config);
const { store, evidence, secrets, databaseUrl } = await openStore(config, { maxConnections: 2 });
const storage = await createStorage({ ...config, ...secrets, publicUrl: () => 'http://127.0.0.1' });
const worker = createWorker({
  config,
  logger,
  databaseUrl,
  store,
  evidence,
  storage,
  media: new WaitingMedia(await createMedia()),
  net: createNetClient({ allowHosts: config.allowHosts }),
  testModeSample: () => Promise.reject(new Error('the benchmark runs no test-mode jobs')),
});
await worker.start();
report({ kind: 'ready', job: '', segment: null });
process.once('SIGTERM', () => void worker.stop().then(() => process.exit(0)));
