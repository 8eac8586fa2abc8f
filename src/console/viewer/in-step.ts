/** Plays any number of clips of the same length together, in a loop. The first one leads. */
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { correct, setTime } from './sync.ts';

/** seconds; half a frame at 25 frames per second, which nobody notices */
const frame = 0.04;

interface ClipProps {
  ref: (video: HTMLVideoElement | null) => void;
  onTimeUpdate: () => void;
  onLoadedMetadata: (event: { currentTarget: HTMLVideoElement }) => void;
}

export interface InStep {
  /** what a clip needs to be one of them: `<video {...clip(index)} />` */
  clip: (index: number) => ClipProps;
  playing: boolean;
  toggle: () => void;
}

export function useClipsInStep(): InStep {
  const videos = useRef(new Map<number, HTMLVideoElement>());
  const [playing, setPlaying] = useState(false);
  /** seconds; where a clip goes on when it gets a new link */
  const place = useRef(0);
  const notePlace = () => {
    const leader = videos.current.get(0);
    // A clip that is being loaded is at 0.
    if (leader !== undefined && leader.readyState >= HTMLMediaElement.HAVE_METADATA) place.current = leader.currentTime;
  };
  const register = useCallback(
    (index: number) => (video: HTMLVideoElement | null) => {
      if (video === null) videos.current.delete(index);
      else videos.current.set(index, video);
    },
    [],
  );
  const goOn = (video: HTMLVideoElement) => {
    setTime(video, place.current);
    if (playing) void video.play().catch(() => {});
  };
  const clip = (index: number): ClipProps => ({
    ref: register(index),
    onTimeUpdate: notePlace,
    onLoadedMetadata: ({ currentTarget }) => goOn(currentTarget),
  });
  useKeptInStep(videos, playing);
  // The page is left, or waits until its user has signed in again: it pauses all videos.
  useEffect(() => () => setPlaying(false), []);
  const toggle = () => {
    const all = [...videos.current.values()];
    notePlace();
    const at = place.current;
    for (const video of all) {
      if (playing) video.pause();
      setTime(video, at);
      // A browser may refuse to play. The picture then stands still.
      if (!playing) void video.play().catch(() => {});
    }
    setPlaying(!playing);
  };
  return { clip, playing, toggle };
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
