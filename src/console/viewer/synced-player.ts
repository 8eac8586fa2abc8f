/** Plays two videos of the same scene as one. The enhanced one leads, since its sound is played. */
import { type RefObject, useEffect, useRef, useState } from 'react';
import { correct, setTime } from './sync.ts';

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

const initial: Playback = {
  playing: false,
  time: 0,
  duration: 0,
  ready: false,
  followerBroken: false,
  leaderBroken: false,
  isLost: false,
};

export function useSyncedVideos({ leader, follower, frameRate, sources, mayRenew }: Videos): [Playback, Controls] {
  const [playback, setPlayback] = useState<Playback>(initial);
  const [player] = useState(() => new SyncedPlayer(leader, follower, (part) => setPlayback((old) => ({ ...old, ...part }))));
  player.mayRenew = mayRenew;
  const { time } = playback;
  const loaded = useRef(sources);
  useEffect(() => {
    if (loaded.current === sources) return;
    loaded.current = sources;
    player.reload(time);
  }, [player, sources, time]);
  const frame = 1 / (frameRate > 0 ? frameRate : assumedRate);
  // Also pauses when the page is left, or waits until its user has signed in again.
  useEffect(() => player.attach(frame), [player, frame]);
  return [playback, player];
}

const assumedRate = 30;
/** ms between updates of the clock and the seek bar */
const updateMs = 100;

type Listeners = readonly (readonly [event: string, listener: () => unknown])[];

class SyncedPlayer implements Controls {
  mayRenew: Videos['mayRenew'] = () => false;
  readonly #leader: Videos['leader'];
  readonly #follower: Videos['follower'];
  readonly #patch: (part: Partial<Playback>) => void;
  /** seconds */
  #frame = 1 / assumedRate;
  /** the user wants the videos to play, even while they load */
  #isWanted = false;
  /** seconds; null unless the videos are to go on there once they are loaded */
  #place: number | null = null;

  /** `patch` changes the playback that is shown. */
  constructor(leader: Videos['leader'], follower: Videos['follower'], patch: (part: Partial<Playback>) => void) {
    this.#leader = leader;
    this.#follower = follower;
    this.#patch = patch;
  }

  toggle = (): void => (this.#isWanted ? this.pause() : this.#play());

  pause = (): void => {
    this.#isWanted = false;
    this.#each((video) => video.pause());
    const at = this.#time;
    this.#each((video) => setTime(video, at));
    this.#patch({ playing: false, time: at });
  };

  seek = (time: number): void => {
    const at = Math.min(Math.max(0, time), Math.max(0, this.#end - this.#frame / 2));
    this.#each((video) => setTime(video, at));
    this.#patch({ time: at });
  };

  step = (frames: number): void => {
    if (this.#isWanted) this.pause();
    // Seeks to the middle of the frame, so that rounding cannot hit a neighbour.
    this.seek((Math.floor(this.#time / this.#frame + 1e-3) + frames + 0.5) * this.#frame);
  };

  /** The videos get new links: they go on at `time` once they are loaded. */
  reload(time: number): void {
    this.#place ??= time;
    this.#patch({ isLost: false, ready: false, followerBroken: false });
  }

  /** Follows the elements as they are now. `frame`: the length of one in seconds. Returns the function that pauses them and lets go of them. */
  attach(frame: number): () => void {
    this.#frame = frame;
    const [leader, follower] = [this.#leader.current, this.#follower.current];
    const ends: (() => void)[] = [];
    if (leader !== null) ends.push(this.#attachLeader(leader));
    if (leader !== null && follower !== null) ends.push(this.#attachFollower(leader, follower), this.#keepInStep(leader, follower));
    return () => {
      this.pause();
      for (const end of ends) end();
    };
  }

  #play(): void {
    this.#isWanted = true;
    if (this.#time >= this.#end - this.#frame) this.seek(0);
    // A browser may refuse to play. The button then keeps showing "Play".
    this.#each((video) => void video.play().catch(() => {}));
    this.#patch({ playing: true });
  }

  /** Mirrors the state of the leader, and loops it. */
  #attachLeader(leader: HTMLVideoElement): () => void {
    const known = () => {
      if (Number.isFinite(leader.duration)) this.#patch({ duration: leader.duration });
      if (leader.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) this.#patch({ ready: true });
    };
    const stopListening = listen(leader, [
      ['loadedmetadata', known],
      ['loadedmetadata', () => this.#comeBack()],
      ['loadeddata', known],
      ['durationchange', known],
      ['timeupdate', () => this.#place === null && this.#patch({ time: leader.currentTime })],
      ['error', () => this.#fail(leader, { leaderBroken: true, playing: false })],
      ['ended', () => this.#isWanted && this.#goOnAt(0)],
    ]);
    known();
    return stopListening;
  }

  /** Pauses the leader while the follower loads. */
  #attachFollower(leader: HTMLVideoElement, follower: HTMLVideoElement): () => void {
    const hold = () => this.#isWanted && !leader.seeking && leader.pause();
    const resume = () => this.#isWanted && leader.paused && void leader.play().catch(() => {});
    const broken = () => {
      if (!this.#fail(follower, { followerBroken: true })) resume();
    };
    const stopListening = listen(follower, [['waiting', hold], ['playing', resume], ['canplay', resume], ['error', broken]]);
    if (follower.error !== null) broken();
    return stopListening;
  }

  /** Corrects the follower, and updates the clock, at every displayed frame. */
  #keepInStep(leader: HTMLVideoElement, follower: HTMLVideoElement): () => void {
    let handle = 0;
    let updatedAt = 0;
    const tick = (now: number) => {
      handle = requestAnimationFrame(tick);
      if (!this.#isWanted) return;
      if (!leader.paused && follower.error === null) correct(leader, follower, this.#frame);
      if (now - updatedAt > updateMs && this.#place === null) {
        updatedAt = now;
        this.#patch({ time: leader.currentTime });
      }
    };
    handle = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(handle);
  }

  /** Tells a video that is lost from one that this browser cannot play. Returns whether it is lost. */
  #fail(video: HTMLVideoElement, broken: Partial<Playback>): boolean {
    const isLost = this.mayRenew(video);
    if (isLost) this.#place ??= this.#time;
    this.#patch(isLost ? { isLost } : broken);
    return isLost;
  }

  /** New links have been loaded. */
  #comeBack(): void {
    if (this.#place === null) return;
    const at = this.#place;
    this.#place = null;
    this.#goOnAt(at);
  }

  #goOnAt(time: number): void {
    this.seek(time);
    if (this.#isWanted) this.#play();
  }

  #each(act: (video: HTMLVideoElement) => void): void {
    for (const video of [this.#leader.current, this.#follower.current]) if (video !== null && video.error === null) act(video);
  }

  /** seconds */
  get #time(): number {
    return this.#leader.current?.currentTime ?? 0;
  }

  /** seconds; 0 until known */
  get #end(): number {
    return this.#leader.current?.duration || 0;
  }
}

/** Returns the function that removes the listeners. */
function listen(video: HTMLVideoElement, listeners: Listeners): () => void {
  for (const [event, listener] of listeners) video.addEventListener(event, listener);
  return () => {
    for (const [event, listener] of listeners) video.removeEventListener(event, listener);
  };
}
