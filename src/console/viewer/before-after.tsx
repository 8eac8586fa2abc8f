/** Before and after: two synchronised videos with a divider, zoom, frame steps and keyboard control. */
import { ChevronsLeftRight, Maximize, Pause, Play, StepBack, StepForward, Volume2, VolumeX, ZoomIn, ZoomOut } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { formatPosition } from '../app/format.ts';
import { IconButton } from '../ui/button.tsx';
import { Notice } from '../ui/feedback.tsx';
import { Segmented } from '../ui/segmented.tsx';
import { LostVideo, mayRenew, type TimeLimitedLinks } from './lost-video.tsx';
import { type Lens, maxZoom, pan, wholePicture, zoomAt } from './lens.ts';
import { type Gain, gains, type Mode, Stage } from './stage.tsx';
import { type Controls, type Playback, useSyncedVideos } from './synced-player.ts';

export interface BeforeAfterProps {
  /** null: no source video */
  before: string | null;
  after: string;
  /** frames per second of the source; 0 = unknown */
  frameRate: number;
  /** pixels of the result */
  width: number;
  height: number;
  /** such as `480 × 270` */
  beforeLabel: string;
  afterLabel: string;
  /** if the links end after some time */
  links?: TimeLimitedLinks;
}

export function BeforeAfter(props: BeforeAfterProps) {
  const { before, after, frameRate, links } = props;
  const section = useRef<HTMLElement>(null);
  const leader = useRef<HTMLVideoElement>(null);
  const follower = useRef<HTMLVideoElement>(null);
  const renewedAt = useRef(0);
  const sources = `${after} ${before}`;
  const [playback, controls] = useSyncedVideos({ leader, follower, frameRate, sources, mayRenew: (video) => mayRenew(links, video) });
  const [lens, setLens] = useState<Lens>(wholePicture);
  const [split, setSplit] = useState(50);
  const [mode, setMode] = useState<Mode>('slider');
  const [gain, setGain] = useState<Gain>('4');
  const [muted, setMuted] = useState(true);
  const [peek, setPeek] = useState(false);
  const compare = before !== null && !playback.followerBroken;
  const keys = useKeys({ controls, setLens, setPeek, section });

  useEffect(() => {
    if (leader.current !== null) leader.current.muted = muted;
  }, [muted]);

  if (playback.leaderBroken) {
    return (
      <Notice tone="warn" title="This browser cannot play the result.">
        It is H.264 in an MP4 file; download it to look at it.
      </Notice>
    );
  }
  return (
    <section ref={section} className="viewer" aria-label={compare ? 'Before and after' : 'Player'} {...keys}>
      <Stage
        {...{ leader, follower, before, after, lens, setLens, split, setSplit, controls }}
        mode={compare ? mode : 'after'}
        gain={gain}
        peek={peek && compare}
        size={{ width: props.width, height: props.height }}
        labels={{ before: props.beforeLabel, after: props.afterLabel }}
        ready={playback.ready}
      />
      {playback.isLost && links !== undefined && <LostVideo {...{ links, renewedAt }} />}
      <Transport {...{ playback, controls, frameRate, muted }} onMute={() => setMuted(!muted)} />
      <div className="viewer-tools">
        {compare && <ModeChoice mode={mode} onChange={setMode} />}
        {compare && mode === 'difference' && (
          <Segmented<Gain> label="Gain" value={gain} onChange={setGain} options={gains.map((value) => ({ value, label: `× ${value}`, name: `Gain ${value}` }))} />
        )}
        <ZoomTools lens={lens} setLens={setLens} />
        <IconButton label="Full screen" tone="quiet" size="small" onClick={() => toggleFullScreen(section.current)}>
          <Maximize size={15} aria-hidden="true" />
        </IconButton>
      </div>
      {before !== null && playback.followerBroken && (
        <p className="viewer-note">This browser cannot play the source’s format, so only the result is shown.</p>
      )}
      <Shortcuts compare={compare} />
    </section>
  );
}

function ModeChoice({ mode, onChange }: { mode: Mode; onChange: (mode: Mode) => void }) {
  return (
    <Segmented<Mode>
      label="Comparison"
      value={mode}
      onChange={onChange}
      options={[
        { value: 'slider', label: <><ChevronsLeftRight size={14} aria-hidden="true" />Slider</>, name: 'Slider' },
        { value: 'side', label: 'Side by side' },
        { value: 'difference', label: 'Difference' },
      ]}
    />
  );
}

function ZoomTools({ lens, setLens }: { lens: Lens; setLens: (change: (lens: Lens) => Lens) => void }) {
  return (
    <div className="zoom" role="group" aria-label="Zoom">
      <IconButton label="Zoom out" tone="quiet" size="small" disabled={lens.zoom <= 1} onClick={() => setLens((old) => zoomAt(old, old.zoom / 1.5))}>
        <ZoomOut size={15} aria-hidden="true" />
      </IconButton>
      <button type="button" className="zoom-value num" onClick={() => setLens(() => wholePicture)} title="Show the whole picture">
        {Math.round(lens.zoom * 100)} %
      </button>
      <IconButton label="Zoom in" tone="quiet" size="small" disabled={lens.zoom >= maxZoom} onClick={() => setLens((old) => zoomAt(old, old.zoom * 1.5))}>
        <ZoomIn size={15} aria-hidden="true" />
      </IconButton>
    </div>
  );
}

interface TransportProps {
  playback: Playback;
  controls: Controls;
  frameRate: number;
  muted: boolean;
  onMute: () => void;
}

function Transport({ playback, controls, frameRate, muted, onMute }: TransportProps) {
  const { playing, time, duration } = playback;
  const step = frameRate > 0 ? 1 / frameRate : 0.04;
  const position = `${formatPosition(time)} of ${formatPosition(duration)}`;
  return (
    <div className="viewer-transport">
      <IconButton label={playing ? 'Pause' : 'Play'} onClick={controls.toggle}>
        {playing ? <Pause size={16} aria-hidden="true" /> : <Play size={16} aria-hidden="true" />}
      </IconButton>
      <IconButton label="One frame back" tone="quiet" onClick={() => controls.step(-1)}>
        <StepBack size={16} aria-hidden="true" />
      </IconButton>
      <IconButton label="One frame forward" tone="quiet" onClick={() => controls.step(1)}>
        <StepForward size={16} aria-hidden="true" />
      </IconButton>
      <input
        type="range"
        className="scrub"
        aria-label="Position"
        aria-valuetext={position}
        min={0}
        max={duration || 1}
        step={step}
        value={Math.min(time, duration || 1)}
        onChange={(event) => controls.seek(Number(event.target.value))}
      />
      <span className="viewer-clock num" data-frame={frameRate > 0 ? Math.floor(time * frameRate + 1e-3) : undefined}>
        {formatPosition(time)}
        {frameRate > 0 && <span className="faint"> · frame {Math.floor(time * frameRate + 1e-3)}</span>}
      </span>
      <IconButton label={muted ? 'Sound on' : 'Sound off'} tone="quiet" onClick={onMute}>
        {muted ? <VolumeX size={16} aria-hidden="true" /> : <Volume2 size={16} aria-hidden="true" />}
      </IconButton>
    </div>
  );
}

function Shortcuts({ compare }: { compare: boolean }) {
  return (
    <details className="viewer-note">
      <summary>Keyboard</summary>
      <p>
        <kbd>Space</kbd> plays and pauses, <kbd>,</kbd> and <kbd>.</kbd> step a frame, <kbd>+</kbd> <kbd>−</kbd> zoom,{' '}
        <kbd>0</kbd> shows the whole picture, <kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd> move it
        {compare && (
          <>
            , <kbd>B</kbd> held shows the source, arrows move the slider that has the focus
          </>
        )}
        , <kbd>F</kbd> fills the screen. Pinch, or turn the wheel with <kbd>Ctrl</kbd>, to zoom where the pointer is.
      </p>
    </details>
  );
}

interface KeysWiring {
  controls: Controls;
  setLens: (change: (lens: Lens) => Lens) => void;
  setPeek: (peek: boolean) => void;
  section: { current: HTMLElement | null };
}

function useKeys({ controls, setLens, setPeek, section }: KeysWiring) {
  const stride = 0.15;
  const actions: Record<string, () => void> = {
    k: controls.toggle,
    ',': () => controls.step(-1),
    '.': () => controls.step(1),
    '+': () => setLens((old) => zoomAt(old, old.zoom * 1.5)),
    '=': () => setLens((old) => zoomAt(old, old.zoom * 1.5)),
    '-': () => setLens((old) => zoomAt(old, old.zoom / 1.5)),
    '0': () => setLens(() => wholePicture),
    w: () => setLens((old) => pan(old, 0, stride)),
    s: () => setLens((old) => pan(old, 0, -stride)),
    a: () => setLens((old) => pan(old, stride, 0)),
    d: () => setLens((old) => pan(old, -stride, 0)),
    f: () => toggleFullScreen(section.current),
    b: () => setPeek(true),
  };
  return {
    onKeyDown: (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      // The space bar activates a focused button or summary.
      const own = target.closest('button, summary') !== null;
      const action = event.key === ' ' ? (own ? undefined : controls.toggle) : actions[event.key.toLowerCase()];
      if (action === undefined) return;
      event.preventDefault();
      action();
    },
    onKeyUp: (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'b') setPeek(false);
    },
    onBlur: () => setPeek(false),
  };
}

function toggleFullScreen(element: HTMLElement | null): void {
  // An embedding page or a policy may forbid full screen. No message is needed then.
  if (document.fullscreenElement !== null) void document.exitFullscreen().catch(() => {});
  else void element?.requestFullscreen().catch(() => {});
}
