/** Zoom and pan as one value, in parts of the picture's own size, so that it fits pictures of any size alike. */

export interface Lens {
  /** 1 = the whole picture */
  zoom: number;
  /** shift of the picture's middle in parts of its unzoomed width and height */
  x: number;
  y: number;
}

export const wholePicture: Lens = { zoom: 1, x: 0, y: 0 };
export const maxZoom = 12;

/** Keeps the picture over its whole frame. */
export function clampLens({ zoom, x, y }: Lens): Lens {
  const bounded = Math.min(maxZoom, Math.max(1, zoom));
  const reach = (bounded - 1) / 2;
  const within = (value: number) => Math.min(reach, Math.max(-reach, value));
  return { zoom: bounded, x: within(x), y: within(y) };
}

/** Zooms to `zoom` so that the point (`u`, `v`; −0.5…0.5 from the middle of the frame) stays where it is. */
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
