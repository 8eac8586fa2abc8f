import { describe, expect, it } from 'vitest';
import { FrameReader, type Frame, type ToChild, WireError, encodeBytes, encodeMessage } from '../../src/media/wire.ts';

const hello: ToChild = { op: 'hello' };
const long: ToChild = { op: 'probe', source: { path: 'x'.repeat(5000) } };
const stream = Buffer.concat([
  encodeMessage(hello),
  encodeBytes(7, Buffer.from('bytes')),
  encodeMessage(long),
  encodeBytes(0xffffffff, new Uint8Array(0)),
]);
const expected = [
  { kind: 'json', value: hello },
  { kind: 'bytes', id: 7, bytes: Buffer.from('bytes') },
  { kind: 'json', value: long },
  { kind: 'bytes', id: 0xffffffff, bytes: Buffer.alloc(0) },
];

describe('frames', () => {
  it.each([1, 2, 3, 7, 64, 1000, stream.length])('are the same however they are cut: %d bytes a chunk', (size) => {
    const reader = new FrameReader(10_000);
    const frames: Frame[] = [];
    for (let at = 0; at < stream.length; at += size) frames.push(...reader.push(stream.subarray(at, at + size)));
    expect(frames).toEqual(expected);
  });

  it.each([
    ['longer than the limit', encodeMessage(long)],
    ['empty', Buffer.from([0, 0, 0, 0, 1])],
    ['of an unknown kind', Buffer.from([2, 0, 0, 0, 9, 1])],
    ['of bytes without an id', Buffer.from([3, 0, 0, 0, 2, 1, 1])],
    ['without JSON in it', Buffer.from([2, 0, 0, 0, 1, 0x7b])],
  ])('%s are refused', (_, bytes) => {
    expect(() => new FrameReader(1000).push(bytes)).toThrow(WireError);
  });

  it('that announce too much are refused before the rest arrives', () => {
    expect(() => new FrameReader(1000).push(encodeMessage(long).subarray(0, 5))).toThrow(WireError);
  });
});
