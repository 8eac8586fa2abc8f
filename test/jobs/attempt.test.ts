import { afterEach, expect, it, vi } from 'vitest';
import { progressWriter } from '../../src/jobs/attempt.ts';
import type { LeaseKeeper } from '../../src/jobs/lease-keeper.ts';

afterEach(() => void vi.restoreAllMocks());

it('progress is written once a second, and at once when a device failed and its work is lost', () => {
  let nowMs = 5000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const written: unknown[] = [];
  const progress = progressWriter({ renewed: () => {} } as unknown as LeaseKeeper, async (...report: [number, number | null]) => written.push(report) > 0);
  progress(0.7, 30);
  nowMs += 999;
  progress(0.8, 20);
  expect(written).toEqual([[0.7, 30]]);
  progress(0, null);
  expect(written).toEqual([[0.7, 30], [0, null]]);
  progress(0.1, 90);
  nowMs += 1000;
  progress(0.2, 80);
  expect(written).toEqual([[0.7, 30], [0, null], [0.2, 80]]);
});
