/** Keeps two videos of the same scene on the same frame. The enhanced one leads, since its sound is played. */
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';

export interface Playback {
  playing: boolean;
  /** seconds */
  time: number;
  /** seconds; 0 until known */
  duration: number;
  /** the leader can show a frame */
  ready: boolean;
  /** this browser cannot play the follower */
  followerBroken: boolean;
  leaderBroken: boolean;
  /** a video can no longer be loaded; it goes on at the same place once `sources` has new links */
  isLost: boolean;
}

export interface Controls {
  toggle: () => void;
  pause: () => void;
  /** seconds */
  seek: (time: number) => void;
  /** steps by whole frames, negative = back; pauses */
  step: (frames: number) => void;
}

interface Videos {
  leader: RefObject<HTMLVideoElement | null>;
  follower: RefObject<HTMLVideoElement | null>;
  /** frames per second; 0 = unknown */
  frameRate: number;
  /** of the videos, as one text */
  sources: string;
  /** whether a new link may help a video that has failed */
  mayRenew: (video: HTMLVideoElement) => boolean;
}

const assumedRate = 30;
/** Above this difference in seconds the follower seeks; below it, its playback rate is adjusted. */
const jumpAt = 0.2;

export function useSyncedVideos({ leader, follower, frameRate, sources, mayRenew }: Videos): [Playback, Controls] {
  const frame = 1 / (frameRate > 0 ? frameRate : assumedRate);
  const [state, setState] = useState<Playback>(initial);
  /** the user wants the videos to play, even while they load */
  const wanted = useRef(false);
  const patch = useCallback((part: Partial<Playback>) => setState((old) => ({ ...old, ...part })), []);

  const controls = useMemo<Controls>(() => {
    const each = (act: (video: HTMLVideoElement) => void) => {
      for (const video of [leader.current, follower.current]) if (video !== null && video.error === null) act(video);
    };
    const pause = () => {
      wanted.current = false;
      each((video) => video.pause());
      const at = leader.current?.currentTime ?? 0;
      each((video) => setTime(video, at));
      patch({ playing: false, time: at });
    };
    const seek = (time: number) => {
      const end = leader.current?.duration || 0;
      const at = Math.min(Math.max(0, time), Math.max(0, end - frame / 2));
      each((video) => setTime(video, at));
      patch({ time: at });
    };
    const play = () => {
      wanted.current = true;
      const end = leader.current?.duration || 0;
      if ((leader.current?.currentTime ?? 0) >= end - frame) seek(0);
      // A browser may refuse to play. The button then keeps showing "Play".
      each((video) => void video.play().catch(() => {}));
      patch({ playing: true });
    };
    const step = (frames: number) => {
      if (wanted.current) pause();
      const at = leader.current?.currentTime ?? 0;
      // Seeks to the middle of the frame, so that rounding cannot hit a neighbour.
      seek((Math.floor(at / frame + 1e-3) + frames + 0.5) * frame);
    };
    return { toggle: () => (wanted.current ? pause() : play()), pause, seek, step };
  }, [leader, follower, frame, patch]);

  // The page is left, or waits until its user has signed in again.
  useEffect(() => controls.pause, [controls]);
  const { place, fail } = usePlace({ leader, sources, time: state.time, patch, mayRenew });
  useLeader({ leader, controls, patch, wanted, place, fail });
  useFollower({ leader, follower, frame, patch, wanted, place, fail });
  return [state, controls];
}

interface PlaceInputs extends Pick<Videos, 'leader' | 'sources' | 'mayRenew'> {
  /** seconds */
  time: number;
  patch: (part: Partial<Playback>) => void;
}

/** Tells videos that are lost from those that this browser cannot play, and keeps the place while links are replaced. */
function usePlace({ leader, sources, time, patch, mayRenew }: PlaceInputs) {
  /** seconds; null unless the videos are to go on there once they are loaded */
  const place = useRef<number | null>(null);
  const renewable = useRef(mayRenew);
  renewable.current = mayRenew;
  const fail = useCallback(
    (video: HTMLVideoElement, broken: Partial<Playback>) => {
      const isLost = renewable.current(video);
      if (isLost) place.current ??= leader.current?.currentTime ?? 0;
      patch(isLost ? { isLost } : broken);
      return isLost;
    },
    [leader, patch],
  );
  const loaded = useRef(sources);
  useEffect(() => {
    if (loaded.current === sources) return;
    loaded.current = sources;
    place.current ??= time;
    patch({ isLost: false, ready: false, followerBroken: false });
  }, [sources, time, patch]);
  return { place, fail };
}

const initial: Playback = {
  playing: false,
  time: 0,
  duration: 0,
  ready: false,
  followerBroken: false,
  leaderBroken: false,
  isLost: false,
};

export function setTime(video: HTMLVideoElement, time: number): void {
  video.playbackRate = 1;
  if (Math.abs(video.currentTime - time) > 1e-4) video.currentTime = time;
}

interface LeaderWiring {
  leader: Videos['leader'];
  controls: Controls;
  patch: (part: Partial<Playback>) => void;
  wanted: RefObject<boolean>;
  place: RefObject<number | null>;
  /** Returns whether the video is lost, not broken. */
  fail: (video: HTMLVideoElement, broken: Partial<Playback>) => boolean;
}

/** Mirrors the state of the leading video, and loops it. */
function useLeader({ leader, controls, patch, wanted, place, fail }: LeaderWiring): void {
  useEffect(() => {
    const video = leader.current;
    if (video === null) return;
    const goOnAt = (time: number) => {
      controls.seek(time);
      if (!wanted.current) return;
      wanted.current = false;
      controls.toggle();
    };
    const comeBack = () => {
      if (place.current === null) return;
      const at = place.current;
      place.current = null;
      goOnAt(at);
    };
    const known = () => {
      if (Number.isFinite(video.duration)) patch({ duration: video.duration });
      if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) patch({ ready: true });
    };
    const stopListening = listen(video, [
      ['loadedmetadata', known],
      ['loadedmetadata', comeBack],
      ['loadeddata', known],
      ['durationchange', known],
      ['timeupdate', () => place.current === null && patch({ time: video.currentTime })],
      ['error', () => fail(video, { leaderBroken: true, playing: false })],
      ['ended', () => wanted.current && goOnAt(0)],
    ]);
    known();
    return stopListening;
  }, [leader, controls, patch, wanted, place, fail]);
}

/** Returns the function that removes the listeners. */
function listen(video: HTMLVideoElement, listeners: readonly (readonly [event: string, listener: () => unknown])[]): () => void {
  for (const [event, listener] of listeners) video.addEventListener(event, listener);
  return () => {
    for (const [event, listener] of listeners) video.removeEventListener(event, listener);
  };
}

interface FollowerWiring extends Omit<LeaderWiring, 'controls'> {
  follower: Videos['follower'];
  frame: number;
}

/** Corrects the follower at every displayed frame, and pauses the leader while the follower loads. */
function useFollower({ leader, follower, frame, patch, wanted, place, fail }: FollowerWiring): void {
  useEffect(() => {
    const [main, other] = [leader.current, follower.current];
    if (main === null || other === null) return;
    let handle = 0;
    let shown = 0;
    const tick = (now: number) => {
      handle = requestAnimationFrame(tick);
      if (!wanted.current) return;
      if (!main.paused && other.error === null) correct(main, other, frame);
      // Five updates per second are enough for the clock and the seek bar.
      if (now - shown > 100 && place.current === null) {
        shown = now;
        patch({ time: main.currentTime });
      }
    };
    handle = requestAnimationFrame(tick);
    const hold = () => wanted.current && !main.seeking && main.pause();
    const resume = () => wanted.current && main.paused && void main.play().catch(() => {});
    const broken = () => {
      if (!fail(other, { followerBroken: true })) resume();
    };
    const stopListening = listen(other, [['waiting', hold], ['playing', resume], ['canplay', resume], ['error', broken]]);
    if (other.error !== null) broken();
    return () => {
      cancelAnimationFrame(handle);
      stopListening();
    };
  }, [leader, follower, frame, patch, wanted, place, fail]);
}

export function correct(main: HTMLVideoElement, other: HTMLVideoElement, frame: number): void {
  if (other.seeking || main.seeking) return;
  const drift = other.currentTime - main.currentTime;
  if (Math.abs(drift) > jumpAt) {
    setTime(other, main.currentTime);
    if (other.paused) void other.play().catch(() => {});
    return;
  }
  const rate = Math.abs(drift) > frame / 3 ? 1 - Math.max(-0.25, Math.min(0.25, drift * 3)) : 1;
  if (other.playbackRate !== rate) other.playbackRate = rate;
}
