/** Byte ranges of a download (RFC 9110 §14). */
import type { ByteRange } from '../storage/types.ts';

/**
 * The single range that a Range header asks for in a file of `size` bytes. `whole` where there is no header, more
 * than one range or a form that is not understood: all of these may be answered with the whole file.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '');
  if (match === null) return 'whole';
  const [, first = '', last = ''] = match;
  if (first === '') return suffix(last, size);
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}

function suffix(length: string, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  if (length === '') return 'whole';
  if (Number(length) === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(0, size - Number(length)), end: size - 1 };
}
