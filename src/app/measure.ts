/**
 * Measures a video behind a URL or in the storage. The guarded client or the storage reads the ranges that the isolated
 * media child requests.
 */
import { ReelmendError } from '../domain/errors.ts';
import { FairSemaphore } from '../domain/fair-semaphore.ts';
import { defaultVideoLimits, engineLimits, type VideoLimits } from '../domain/limits.ts';
import type { MeasuredSource } from '../domain/job.ts';
import { sourceFacts } from '../media/facts.ts';
import type { MeasureCall, StoredVideo } from '../http/deps.ts';
import type { ByteSource, Media } from '../media/types.ts';
import type { NetClient } from '../net/types.ts';
import { rangesOf } from '../storage/ranges.ts';
import type { Storage } from '../storage/types.ts';
import type { Config } from './config.ts';

/** Ends a stuck child. The caller's signal usually ends a measurement earlier. */
const probeTimeoutMs = 30_000;

/**
 * Slots for the measurements of one process. A measurement mostly waits for the video's server, which may be slow. So one account
 * gets few of the slots, and a request waits for a slot for a limited time. The slots of `media` are no substitute. They limit the
 * child processes that probe, also those of the worker. They know no accounts and refuse nobody. `probeSlots` makes them so many
 * that a measurement with a slot here never waits there.
 */
export const measureSlots = { total: 12, each: 3, waitMs: 6000 };

/** Probes that one process may run at a time: those of its API, and one for each download of its worker. */
export const probeSlots = ({ downloadConcurrency }: Pick<Config, 'downloadConcurrency'>): number =>
  measureSlots.total + downloadConcurrency;

const busy = () =>
  new ReelmendError('service_unavailable', 'Too many videos are being measured; retry shortly.', { retryAfterS: 5 });

export interface MeasureDeps {
  net: Pick<NetClient, 'openVideo'>;
  storage: Pick<Storage, 'open'>;
  /** must allow `measureSlots.total` concurrent probes */
  media: Pick<Media, 'probe'>;
  /** default: those of the specification */
  limits?: VideoLimits;
}

/** Measures in one of the account's slots. Throws `service_unavailable` if none becomes free in time. */
export function createMeasure({ net, storage, media, limits = defaultVideoLimits }: MeasureDeps) {
  const slots = new FairSemaphore({ ...measureSlots, refusal: busy });
  const probe = async (source: ByteSource, signal: AbortSignal): Promise<MeasuredSource> =>
    sourceFacts(await media.probe({ source, limits: engineLimits(limits), timeoutMs: probeTimeoutMs, signal }));
  const measureUrl = async (url: string, signal: AbortSignal): Promise<MeasuredSource> => {
    const video = await net.openVideo(url, { maxBytes: limits.bytes, signal });
    try {
      return { ...(await probe(video, signal)), ...(video.etag === null ? {} : { etag: video.etag }) };
    } finally {
      await video.close();
    }
  };
  const measureNow = (video: string | StoredVideo, signal: AbortSignal): Promise<MeasuredSource> =>
    typeof video === 'string' ? measureUrl(video, signal) : probe(storedSource(storage, video), signal);
  return (video: string | StoredVideo, { accountId, signal, onStart }: MeasureCall): Promise<MeasuredSource> => {
    const queuedAt = performance.now();
    const work = () => {
      onStart?.(performance.now() - queuedAt);
      return measureNow(video, signal);
    };
    return slots.run(accountId, work, signal);
  };
}

const storedSource = (storage: Pick<Storage, 'open'>, video: StoredVideo): ByteSource =>
  rangesOf(storage, { ...video, gone: () => new ReelmendError('upload_not_found', 'There is no such upload.') });
