/** Measuring a remote video: the guarded client reads the ranges that the confined child asks for. */
import { maxDurationS, maxSourceBytes } from './domain/limits.ts';
import type { SourceFacts } from './domain/job.ts';
import type { Media, ProbeResult } from './media/types.ts';
import type { NetClient } from './net/types.ts';

/** The caller's signal ends a measurement earlier; this only ends a child that is stuck. */
const probeTimeoutMs = 30_000;

export function createMeasure(deps: { net: NetClient; media: Media }) {
  return async (url: string, signal: AbortSignal): Promise<SourceFacts> => {
    const video = await deps.net.openVideo(url, { maxBytes: maxSourceBytes, signal });
    try {
      const limits = { maxDurationS };
      return factsOf(await deps.media.probe({ source: video, limits, timeoutMs: probeTimeoutMs, signal }));
    } finally {
      await video.close();
    }
  };
}

function factsOf(probe: ProbeResult): SourceFacts {
  return {
    container: probe.container,
    video_codec: probe.videoCodec,
    audio_codec: probe.audio[0]?.codec ?? null,
    width: probe.width,
    height: probe.height,
    frame_rate: probe.frameRate,
    duration: probe.durationS,
    size_bytes: probe.sizeBytes,
  };
}
