/** Moves jobs through their states with the store, as a worker does. */
import type { JobRecord } from '../../src/domain/job.ts';
import type { Fence } from '../../src/store/index.ts';
import type { CreateJob } from '../../src/store/types.ts';
import type { ConsoleWorld } from './console.ts';
import { source } from './http.ts';

type World = Pick<ConsoleWorld, 'store' | 'objects'>;

export async function makeJob(
  { store }: World,
  accountId: string,
  { credits = 0, ...more }: Partial<CreateJob> = {},
): Promise<JobRecord> {
  const { job } = await store.jobs.create({
    account: { id: accountId, retentionDays: 30 },
    mode: 'live',
    tier: 'standard',
    resolution: '1080p',
    videoUrl: 'https://media.example.com/holiday%20film.mp4?token=x',
    webhookUrl: null,
    model: null,
    enhancements: {},
    metadata: {},
    durationSeconds: 10,
    source: null,
    idempotency: null,
    credits,
    ...more,
  });
  return job;
}

export const liveJob = makeJob;

const owner = 'worker-of-tests';
const sha256 = 'a'.repeat(64);

/** Completes `ingest`: stores the original. The job then waits for `enhance`. */
export async function ingestJob({ store, objects }: World, jobId: string): Promise<string> {
  const lease = (await store.leases.acquire(jobId, 'ingest', owner, 60))!;
  const key = await store.objects.registerPendingObject(lease.fence, 'original');
  objects.set(key, Buffer.from('the original'));
  await store.leases.ingested(lease.fence, { key, size: 12, sha256, version: null }, source);
  return key;
}

/** Ends a job: with an error, or with both files stored and, if wanted, a poster. */
export async function endJob(world: World, jobId: string, as: 'done' | 'error', { poster = false } = {}): Promise<void> {
  const { store, objects } = world;
  if (as === 'error') {
    const { fence } = (await store.leases.acquire(jobId, 'ingest', owner, 60))!;
    return store.leases.fail(fence, { code: 'processing_failed', message: 'The video could not be processed.' });
  }
  await ingestJob(world, jobId);
  const { fence } = (await store.leases.acquire(jobId, 'enhance', owner, 60))!;
  await store.leases.progress(fence, { fraction: 0.5, etaSeconds: 3 }, 60);
  const key = await store.objects.registerPendingObject(fence, 'output');
  objects.set(key, Buffer.from('the enhanced one'));
  const applied = { denoise: 0, sharpen: 0.4, face_restoration: 0, adaptive_contrast: 0, model: 'none', device: 'cpu', plan: [] };
  await store.leases.finish(fence, {
    output: { width: 1920, height: 1080, size_bytes: 16, sha256 },
    stored: { key, size: 16, sha256, version: null },
    pictures: poster ? [await storePoster(world, fence)] : [],
    applied,
  });
}

async function storePoster({ store, objects }: World, fence: Fence) {
  const key = await store.objects.registerPendingObject(fence, 'poster');
  objects.set(key, Buffer.from('the poster'));
  const picture = { kind: 'poster' as const, key, time: 1.5, width: 1280, height: 720, size_bytes: 10 };
  return { stored: { key, size: 10, sha256, version: null }, picture };
}
