/** The history that operators see: every job in its step, and none of test mode. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperatorHistory } from '../../src/contract/types.gen.ts';
import { endJob, liveJob } from '../helpers/console-jobs.ts';
import { type ConsoleWorld, makeConsole, type Person } from '../helpers/console.ts';

let world: ConsoleWorld;
let operator: Person;
let owner: Person;
beforeAll(async () => {
  world = await makeConsole();
  operator = await world.person({ operator: true });
  owner = await world.person({ credits: 10_000 });
});
afterAll(() => world.close());

const read = (period?: 'day' | 'week') =>
  operator.browser.call<OperatorHistory>(`/console/api/operator/history${period === undefined ? '' : `?period=${period}`}`);

/** A job with its times, hours ago; null: not yet. */
async function job(hours: { created: number; started: number | null; finished: number | null }, end?: { status: 'done' | 'error'; device?: string }) {
  const { id } = await liveJob(world, owner.accountId, {});
  if (end !== undefined) await endJob(world, id, end.status);
  const at = (ago: number | null) => (ago === null ? null : new Date(Date.now() - ago * 3_600_000));
  await world.sql`ALTER TABLE jobs DISABLE TRIGGER USER`;
  await world.sql`UPDATE jobs SET created_at = ${at(hours.created)!}, started_at = ${at(hours.started)}, finished_at = ${at(hours.finished)}, duration_seconds = 100,
    applied = ${end?.device === undefined ? null : world.sql.json({ device: end.device })} WHERE id = ${id}`;
  await world.sql`ALTER TABLE jobs ENABLE TRIGGER USER`;
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

describe('the history', () => {
  it('has 24 hours or 28 steps of six hours up to now, all of them 0 in a new service', async () => {
    for (const [period, steps, hours] of [['day', 24, 1], ['week', 28, 6]] as const) {
      const history = await read(period);
      expect(history.steps).toHaveLength(steps);
      const starts = history.steps.map(({ from }) => Date.parse(from) / 3_600_000);
      expect(starts.map((start) => start % hours)).toEqual(starts.map(() => 0));
      expect(starts.slice(1).map((start, index) => start - starts[index]!)).toEqual(Array.from({ length: steps - 1 }, () => hours));
      const last = Date.parse(history.steps.at(-1)!.from);
      expect(Date.now() - last).toBeGreaterThanOrEqual(0);
      expect(Date.now() - last).toBeLessThan(hours * 3_600_000 + 60_000);
      expect(sum(history.steps.flatMap(({ queued, finished, failed }) => [queued, finished, failed]))).toBe(0);
      expect([history.devices, history.failures]).toEqual([[], []]);
    }
    expect((await read()).period).toBe('day');
  });

  it('counts each job once where it ended, and as waiting at the end of each step until it started', async () => {
    await job({ created: 5, started: 2.5, finished: 2.4 }, { status: 'done', device: 'cpu' });
    await job({ created: 2.9, started: 2.8, finished: 2.4 }, { status: 'done', device: 'cuda:0 (L4)' });
    await job({ created: 40, started: 39, finished: 38 }, { status: 'error' });
    await job({ created: 4, started: 4, finished: 3.5 }, { status: 'error' });
    await job({ created: 200, started: null, finished: null });
    await liveJob(world, owner.accountId, { mode: 'test' });
    const [today, week] = [await read('day'), await read('week')];
    expect([sum(today.steps.map(({ finished }) => finished)), sum(today.steps.map(({ failed }) => failed))]).toEqual([2, 1]);
    expect([sum(week.steps.map(({ finished }) => finished)), sum(week.steps.map(({ failed }) => failed))]).toEqual([2, 2]);
    const at = (hours: number) => today.steps.find(({ from }) => Date.parse(from) <= Date.now() - hours * 3_600_000 && Date.now() - hours * 3_600_000 < Date.parse(from) + 3_600_000)!;
    // The oldest waits throughout; the first waited at the end of the steps from its creation to its start.
    expect([at(6.5).queued, at(4.5).queued, today.steps.at(-1)!.queued]).toEqual([1, 2, 1]);
    expect(at(2.4).finished).toBe(2);
    expect(today.devices.map(({ device, video_seconds }) => [device, sum(video_seconds), video_seconds.length])).toEqual([['cpu', 100, 24], ['cuda:0 (L4)', 100, 24]]);
    expect(today.failures).toEqual([{ code: 'processing_failed', jobs: 1 }]);
    expect(week.failures).toEqual([{ code: 'processing_failed', jobs: 2 }]);
  });

  it('has nothing of a customer', async () => {
    expect(JSON.stringify(await read('week'))).not.toMatch(/acct_|job_|user_|https?:/);
  });
});
