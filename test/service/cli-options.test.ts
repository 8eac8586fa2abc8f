import { describe, expect, it } from 'vitest';
import { pointInTime, position } from '../../src/cli/options.ts';

describe('a position in a video', () => {
  it.each([
    ['0', 0], ['12', 12], ['12.5', 12.5], ['600000', 600_000], ['1:15', 75], ['01:05.25', 65.25], ['90:00', 5400], ['0:01:15', 75], ['1:02:03.5', 3723.5],
    ['2:00.1', 120.1], ['100:00:00', 360_000],
  ])('%s is %d s', (text, seconds) => {
    expect(position(text)).toBe(seconds);
  });

  it.each(['', '-1', ':15', '1:', '1:60', '1:75', '1:60:00', '1:2:3:4', '1:15s', '1e3', '0x10', ' 1', '1.5:00', '1234:00:00', '1.1234567'])('refuses %j', (text) => {
    expect(() => position(text)).toThrow('Expected seconds such as 75.5, or MM:SS, or HH:MM:SS.');
  });
});

describe('a point in time', () => {
  it.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T07:59Z', '2026-11-21T07:59:00.000Z'],
    ['2026-11-21T07:59:55.1234Z', '2026-11-21T07:59:55.123Z'],
    ['2026-11-21T07:59:55+02:00', '2026-11-21T05:59:55.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(pointInTime(text).toISOString()).toBe(iso);
  });

  it.each([['90m', 5400], ['24h', 86_400], ['7d', 604_800], ['2w', 1_209_600]])('%s is %d s ago', (text, seconds) => {
    expect((Date.now() - pointInTime(text).getTime()) / 1000).toBeCloseTo(seconds, 0);
  });

  it.each(['', 'yesterday', '7', '7 d', '-7d', '2026-11', '2026-02-31', '2026-11-21T07:59:55', '2026-13-01', '2026-11-21 07:59Z', 'Sat, 21 Nov 2026 10:00:00 GMT', '2026-1-5 10:00'])('refuses %j', (text) => {
    expect(() => pointInTime(text)).toThrow('Expected a day such as 2026-11-21');
  });
});
