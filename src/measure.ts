/** Measuring a remote video: the guarded client reads the ranges that the confined child asks for. */
import { maxDurationS, maxFrameRate, maxSourceBytes } from './domain/limits.ts';
import type { SourceFacts } from './domain/job.ts';
import { sourceFacts } from './media/facts.ts';
import type { Media } from './media/types.ts';
import type { NetClient } from './net/types.ts';

/** The caller's signal ends a measurement earlier; this only ends a child that is stuck. */
const probeTimeoutMs = 30_000;

export function createMeasure(deps: { net: NetClient; media: Media }) {
  return async (url: string, signal: AbortSignal): Promise<SourceFacts> => {
    const video = await deps.net.openVideo(url, { maxBytes: maxSourceBytes, signal });
    try {
      const limits = { maxDurationS, maxFrameRate };
      return sourceFacts(await deps.media.probe({ source: video, limits, timeoutMs: probeTimeoutMs, signal }));
    } finally {
      await video.close();
    }
  };
}
