/** Zoom and pan as one value, relative to the picture's size. */

export interface Lens {
  /** 1 = the whole picture */
  zoom: number;
  /** shift of the picture's centre, as a fraction of its unzoomed width and height */
  x: number;
  y: number;
}

export const wholePicture: Lens = { zoom: 1, x: 0, y: 0 };
export const maxZoom = 12;

/** Limits the shift so that the picture covers the frame. */
export function clampLens({ zoom, x, y }: Lens): Lens {
  const bounded = Math.min(maxZoom, Math.max(1, zoom));
  const reach = (bounded - 1) / 2;
  const within = (value: number) => Math.min(reach, Math.max(-reach, value));
  return { zoom: bounded, x: within(x), y: within(y) };
}

/** Zooms to `zoom` around the point (`u`, `v`), each −0.5…0.5 from the centre of the frame. */
export function zoomAt(lens: Lens, zoom: number, u = 0, v = 0): Lens {
  const bounded = Math.min(maxZoom, Math.max(1, zoom));
  const ratio = bounded / lens.zoom;
  return clampLens({ zoom: bounded, x: u - (u - lens.x) * ratio, y: v - (v - lens.y) * ratio });
}

export function pan(lens: Lens, dx: number, dy: number): Lens {
  return clampLens({ ...lens, x: lens.x + dx, y: lens.y + dy });
}

export function lensTransform({ zoom, x, y }: Lens): string {
  return `translate(${x * 100}%, ${y * 100}%) scale(${zoom})`;
}
