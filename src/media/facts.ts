/** The probe's result in the contract's terms. */
import type { SourceFacts } from '../domain/job.ts';
import type { ProbeResult } from './types.ts';

export function sourceFacts(probe: ProbeResult): SourceFacts {
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
