/** Plays any number of clips of the same length together, in a loop. The first one leads. */
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { correct, setTime } from './sync.ts';

/** seconds; half a frame at 25 frames per second, which nobody notices */
const frame = 0.04;

export interface InStep {
  /** registers a clip: `ref={clips(index)}` */
  clips: (index: number) => (video: HTMLVideoElement | null) => void;
  playing: boolean;
  toggle: () => void;
}

export function useClipsInStep(): InStep {
  const videos = useRef(new Map<number, HTMLVideoElement>());
  const [playing, setPlaying] = useState(false);
  const clips = useCallback(
    (index: number) => (video: HTMLVideoElement | null) => {
      if (video === null) videos.current.delete(index);
      else videos.current.set(index, video);
    },
    [],
  );
  useKeptInStep(videos, playing);
  const toggle = () => {
    const all = [...videos.current.values()];
    const at = videos.current.get(0)?.currentTime ?? 0;
    for (const video of all) {
      if (playing) video.pause();
      setTime(video, at);
      // A browser may refuse to play. The picture then stands still.
      if (!playing) void video.play().catch(() => {});
    }
    setPlaying(!playing);
  };
  return { clips, playing, toggle };
}

function useKeptInStep(videos: RefObject<Map<number, HTMLVideoElement>>, playing: boolean): void {
  useEffect(() => {
    if (!playing) return undefined;
    let handle = 0;
    const tick = () => {
      handle = requestAnimationFrame(tick);
      const leader = videos.current.get(0);
      if (leader === undefined) return;
      const others = [...videos.current].flatMap(([index, video]) => (index === 0 || video.error !== null ? [] : [video]));
      if (leader.ended) {
        for (const video of [leader, ...others]) {
          setTime(video, 0);
          void video.play().catch(() => {});
        }
        return;
      }
      for (const other of others) if (!other.ended) correct(leader, other, frame);
    };
    handle = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(handle);
  }, [videos, playing]);
}
