/** Shared by the charts: axes and widths. */
import { useEffect, useRef, useState } from 'react';

/** Rounds up to 1, 2, 4, 6 or 10 times a power of ten, at least to 2, for readable axis labels: half of it is a whole number, too. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 6, 10].find((candidate) => candidate * power >= value) ?? 10;
  return Math.max(2, step * power);
}

/** The width of an element, in pixels. */
export function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry !== undefined && setWidth(Math.round(entry.contentRect.width)));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [box, width] as const;
}
