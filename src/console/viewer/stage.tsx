/** The two video layers, the divider between them, and zooming and panning with the pointer. */
import { ChevronsLeftRight } from 'lucide-react';
import { type PointerEvent, type RefObject, useEffect, useRef } from 'react';
import { type Lens, lensTransform, pan, zoomAt } from './lens.ts';
import type { Controls } from './synced-player.ts';

export type Mode = 'slider' | 'side' | 'difference';

/** Amplification of the difference. Without it, the differences of a good result are too dark to see. */
export const gains = ['1', '4', '16'] as const;
export type Gain = (typeof gains)[number];

export interface StageProps {
  leader: RefObject<HTMLVideoElement | null>;
  follower: RefObject<HTMLVideoElement | null>;
  before: string | null;
  after: string;
  mode: Mode | 'after';
  /** of the difference */
  gain: Gain;
  /** shows only the source */
  peek: boolean;
  lens: Lens;
  setLens: (change: (lens: Lens) => Lens) => void;
  /** position of the divider: percent of the width that shows the source */
  split: number;
  setSplit: (split: number) => void;
  size: { width: number; height: number };
  labels: { before: string; after: string };
  ready: boolean;
  controls: Controls;
}

export function Stage(props: StageProps) {
  const { leader, follower, before, after, mode, gain, peek, lens, split, size, labels } = props;
  const stage = useRef<HTMLDivElement>(null);
  useWheelZoom(stage, props.setLens);
  const drag = useDrag(stage, props);
  const transform = lensTransform(lens);
  const shown = peek ? 100 : split;
  const cut = mode === 'slider' || peek ? `inset(0 ${100 - shown}% 0 0)` : 'none';
  const aspectRatio = `${size.width} / ${size.height}`;
  return (
    <div className="stage-box" style={{ '--ratio': String(size.width / size.height) } as React.CSSProperties}>
      <div ref={stage} className={`stage ${peek ? 'slider' : mode}`} data-zoomed={lens.zoom > 1 || undefined} {...drag}>
        {/* The filter applies to the blended layers, not to the labels above them. */}
        <div className="layers" style={mode === 'difference' && !peek ? { filter: `brightness(${gain})` } : undefined}>
          {/* Firefox stops at videos with Tab, although the controls are elsewhere. */}
          <div className="layer after" style={{ aspectRatio }}>
            <video ref={leader} src={after} playsInline muted preload="auto" tabIndex={-1} style={{ transform }} aria-label={`After, ${labels.after}`} />
          </div>
          {before !== null && (
            <div className="layer before" style={{ aspectRatio, clipPath: cut }} hidden={mode === 'after'}>
              <video ref={follower} src={before} playsInline muted preload="auto" tabIndex={-1} style={{ transform }} aria-label={`Before, ${labels.before}`} />
            </div>
          )}
        </div>
        {!props.ready && <div className="stage-wait"><span className="spinner" /></div>}
        <Labels mode={mode} gain={gain} peek={peek} labels={labels} />
        {mode === 'slider' && !peek && <Divider split={split} setSplit={props.setSplit} />}
      </div>
    </div>
  );
}

function Labels({ mode, gain, peek, labels }: Pick<StageProps, 'mode' | 'gain' | 'peek' | 'labels'>) {
  if (mode === 'difference' && !peek) return <span className="stage-label left">Difference{gain !== '1' && ` × ${gain}`}</span>;
  return (
    <>
      {mode !== 'after' && <span className="stage-label left">Before<span className="dims"> · {labels.before}</span></span>}
      {!peek && <span className="stage-label right">After<span className="dims"> · {labels.after}</span></span>}
    </>
  );
}

function Divider({ split, setSplit }: Pick<StageProps, 'split' | 'setSplit'>) {
  const moves: Record<string, number> = { ArrowLeft: -2, ArrowDown: -2, ArrowRight: 2, ArrowUp: 2, PageDown: -10, PageUp: 10, Home: -100, End: 100 };
  return (
    <div
      className="divider"
      style={{ left: `${split}%` }}
      role="slider"
      tabIndex={0}
      aria-label="Divider between before and after"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(split)}
      aria-valuetext={`${Math.round(split)} percent before`}
      onKeyDown={(event) => {
        const move = moves[event.key];
        if (move === undefined) return;
        event.preventDefault();
        setSplit(within(split + move * (event.shiftKey ? 5 : 1)));
      }}
    >
      <span className="divider-knob">
        <ChevronsLeftRight size={16} aria-hidden="true" />
      </span>
    </div>
  );
}

function within(percent: number): number {
  return Math.min(100, Math.max(0, percent));
}

/** Browsers report pinching as a wheel event with Ctrl. A plain wheel scrolls the page. */
function useWheelZoom(stage: RefObject<HTMLDivElement | null>, setLens: StageProps['setLens']): void {
  useEffect(() => {
    const element = stage.current;
    if (element === null) return;
    const zoom = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = layerBox(element, event.clientX);
      const u = (event.clientX - box.left) / box.width - 0.5;
      const v = (event.clientY - box.top) / box.height - 0.5;
      setLens((old) => zoomAt(old, old.zoom * Math.exp(-event.deltaY / 300), u, v));
    };
    element.addEventListener('wheel', zoom, { passive: false });
    return () => element.removeEventListener('wheel', zoom);
  }, [stage, setLens]);
}

/** The picture under the pointer; there are two in the side-by-side view. */
function layerBox(stage: HTMLElement, clientX: number): DOMRect {
  const boxes = [...stage.querySelectorAll('.layer:not([hidden])')].map((layer) => layer.getBoundingClientRect());
  return boxes.find((box) => clientX >= box.left && clientX <= box.right) ?? stage.getBoundingClientRect();
}

/** Up to this many pixels of movement count as a click. */
const clickSlop = 3;

/** What the pointer does with the picture that it was pressed on. A click on the divider itself does nothing. */
type Grip = 'divider' | 'split' | 'pan' | 'click';

function gripAt(target: Element, { mode, lens }: Pick<StageProps, 'mode' | 'lens'>): Grip {
  if (target.closest('.divider') !== null) return 'divider';
  if (lens.zoom > 1) return 'pan';
  return mode === 'slider' ? 'split' : 'click';
}

/** Dragging moves the divider. In a zoomed picture, dragging outside the divider pans the picture. */
function useDrag(stage: RefObject<HTMLDivElement | null>, { mode, lens, setLens, setSplit, controls }: StageProps) {
  const grip = useRef<Grip | null>(null);
  const moved = useRef(0);
  const splitTo = (clientX: number) => {
    const box = stage.current!.getBoundingClientRect();
    setSplit(within(((clientX - box.left) / box.width) * 100));
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      grip.current = gripAt(event.target as HTMLElement, { mode, lens });
      moved.current = 0;
      stage.current?.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      if (grip.current === null) return;
      moved.current += Math.abs(event.movementX) + Math.abs(event.movementY);
      // A click must not move the divider.
      const splits = grip.current === 'split' || grip.current === 'divider';
      if (splits && moved.current > clickSlop) splitTo(event.clientX);
      if (grip.current !== 'pan') return;
      const box = layerBox(stage.current!, event.clientX);
      setLens((old) => pan(old, event.movementX / box.width, event.movementY / box.height));
    },
    onPointerUp: () => {
      if (grip.current !== null && grip.current !== 'divider' && moved.current <= clickSlop) controls.toggle();
      grip.current = null;
    },
    onPointerCancel: () => {
      grip.current = null;
    },
  };
}
