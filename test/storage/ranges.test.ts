/** Ranges of an object whose connections break. */
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { BlockReader } from '../../src/media/blocks.ts';
import { rangesOf } from '../../src/storage/ranges.ts';
import type { ByteRange } from '../../src/storage/types.ts';

const object = Uint8Array.from({ length: 1000 }, (_, at) => at % 251);
const broken = new Error('the connection broke');
const { signal } = new AbortController();

/** Answers with at most `most` bytes, then the connection breaks. */
function source(most: number, more: { retryDelaysMs?: number[]; failures?: Error[] } = {}) {
  const requested: ByteRange[] = [];
  async function* body({ start, end }: ByteRange) {
    if (most > 0) yield object.slice(start, Math.min(end + 1, start + most));
    if (end + 1 - start > most) throw broken;
  }
  const open = async (_: string, range?: ByteRange) => {
    requested.push(range!);
    const failure = more.failures?.shift();
    if (failure !== undefined) throw failure;
    return Readable.from(body(range!));
  };
  return { requested, ranges: rangesOf({ open }, { key: 'k', sizeBytes: object.length, gone: () => new Error('gone'), ...more }) };
}

it('what arrived before a connection broke is not fetched again', async () => {
  const { requested, ranges } = source(70);
  const reader = new BlockReader(ranges, { blockBytes: 200 });
  expect(await reader.read(200, 200, signal)).toEqual(object.slice(200, 400));
  expect(requested).toEqual([{ start: 200, end: 399 }, { start: 270, end: 399 }, { start: 340, end: 399 }]);
});

it('a read that fails is made again, after each of the pauses', async () => {
  const { requested, ranges } = source(70, { retryDelaysMs: [1, 5], failures: [broken, broken] });
  expect(await ranges.read(0, 70, signal)).toEqual(object.slice(0, 70));
  expect(requested).toHaveLength(3);
  const shorter = new RangeError('not within the object');
  await expect(source(70, { retryDelaysMs: [1, 5], failures: [broken, broken, broken] }).ranges.read(0, 70, signal)).rejects.toBe(broken);
  await expect(source(70, { retryDelaysMs: [1], failures: [shorter] }).ranges.read(0, 70, signal)).rejects.toBe(shorter);
});

it('a pause ends with the job', async () => {
  const abort = new AbortController();
  const reason = new Error('deleted');
  const reading = source(70, { retryDelaysMs: [1e9], failures: [broken] }).ranges.read(0, 70, abort.signal);
  setTimeout(() => abort.abort(reason), 5);
  await expect(reading).rejects.toBe(reason);
});

it('a connection that brings nothing is an error', async () => {
  await expect(source(0).ranges.read(0, 10, signal)).rejects.toBe(broken);
});
