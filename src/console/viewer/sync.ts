/** Keeps one video on the frame of another. */

/** Above this difference in seconds the follower seeks; below it, its playback rate is adjusted. */
const jumpAt = 0.2;

export function setTime(video: HTMLVideoElement, time: number): void {
  video.playbackRate = 1;
  if (Math.abs(video.currentTime - time) > 1e-4) video.currentTime = time;
}

/** Brings a follower back to the frame of its leader. `frame`: the length of one in seconds. */
export function correct(leader: HTMLVideoElement, follower: HTMLVideoElement, frame: number): void {
  if (follower.seeking || leader.seeking) return;
  const drift = follower.currentTime - leader.currentTime;
  if (Math.abs(drift) > jumpAt) {
    setTime(follower, leader.currentTime);
    if (follower.paused) void follower.play().catch(() => {});
    return;
  }
  const rate = Math.abs(drift) > frame / 3 ? 1 - Math.max(-0.25, Math.min(0.25, drift * 3)) : 1;
  if (follower.playbackRate !== rate) follower.playbackRate = rate;
}
