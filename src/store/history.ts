/** History of the last hours and days, for the operators of the service. Reads no customer URLs. */
import { sql } from './orm.ts';
import { type Db, readApart, type Tx } from './database.ts';

/** hours of a step, and number of steps */
const periods = { day: { hours: 1, steps: 24 }, week: { hours: 6, steps: 28 } } as const;
export type Period = keyof typeof periods;

export interface History {
  /** oldest first; `queued`: jobs that were queued at the end of the step, or are now */
  steps: { from: Date; queued: number; finished: number; failed: number }[];
  /** seconds of video of finished jobs, for each step */
  devices: { device: string; videoSeconds: number[] }[];
  /** most frequent first */
  failures: { code: string; jobs: number }[];
}

type StepRow = Record<'from' | 'queued' | 'finished' | 'failed', string>;

/** Live jobs and previews. The parts are read in one transaction. */
export const readHistory = (db: Db, period: Period): Promise<History> =>
  readApart(db, async (tx) => {
    const rows = await readSteps(tx, period);
    const starts = rows.map(({ from }) => new Date(from));
    const steps = rows.map((row, index) => ({
      from: starts[index]!,
      queued: Number(row.queued),
      finished: Number(row.finished),
      failed: Number(row.failed),
    }));
    return { steps, devices: await readDevices(tx, period, starts), failures: await readFailures(tx, starts[0]!) };
  });

const lengthOf = (period: Period) => sql`make_interval(hours => ${periods[period].hours}::int)`;
const stepOf = (period: Period, at: ReturnType<typeof sql>) => sql`date_bin(${lengthOf(period)}, ${at}, timestamptz 'epoch')`;

async function readSteps(tx: Tx, period: Period): Promise<readonly StepRow[]> {
  return tx.execute<StepRow>(sql`
    WITH steps AS (
      SELECT s AS begins, least(s + ${lengthOf(period)}, now()) AS ends
      FROM generate_series(${stepOf(period, sql`now()`)} - ${periods[period].steps - 1}::int * ${lengthOf(period)},
        ${stepOf(period, sql`now()`)}, ${lengthOf(period)}) AS s),
    recent AS (
      SELECT status, created_at, started_at, finished_at FROM jobs
        WHERE mode = 'live' AND finished_at >= (SELECT min(begins) FROM steps)
      UNION ALL
      SELECT status, created_at, started_at, finished_at FROM jobs
        WHERE mode = 'live' AND status IN ('queued', 'running') AND deleted_at IS NULL AND finished_at IS NULL),
    ended AS (
      SELECT ${stepOf(period, sql`finished_at`)} AS begins, count(*) FILTER (WHERE status = 'done') AS finished, count(*) FILTER (WHERE status = 'error') AS failed
      FROM recent WHERE finished_at IS NOT NULL GROUP BY 1),
    -- Most jobs start in the step in which they are created, and were queued at no end of a step. Only the others are compared with all steps.
    waited AS MATERIALIZED (
      SELECT created_at, until FROM recent, LATERAL (SELECT coalesce(started_at, finished_at) AS until) u
      WHERE until IS NULL OR ${stepOf(period, sql`created_at - interval '1 microsecond'`)} <> ${stepOf(period, sql`until - interval '1 microsecond'`)})
    SELECT s.begins::text AS from, coalesce(e.finished, 0) AS finished, coalesce(e.failed, 0) AS failed,
      (SELECT count(*) FROM waited w WHERE w.created_at <= s.ends AND coalesce(w.until, 'infinity') > s.ends) AS queued
    FROM steps s LEFT JOIN ended e ON e.begins = s.begins ORDER BY s.begins`);
}

async function readDevices(tx: Tx, period: Period, starts: Date[]): Promise<History['devices']> {
  const rows = await tx.execute<Record<'device' | 'begins' | 'seconds', string>>(sql`
    SELECT applied->>'device' AS device, ${stepOf(period, sql`finished_at`)}::text AS begins, sum(duration_seconds) AS seconds
    FROM jobs WHERE mode = 'live' AND status = 'done' AND finished_at >= ${starts[0]!.toISOString()}::timestamptz AND applied->>'device' IS NOT NULL
    GROUP BY 1, 2 ORDER BY 1`);
  const devices = [...new Set(rows.map(({ device }) => device))];
  const secondsOf = (device: string, start: Date) =>
    rows.find((row) => row.device === device && new Date(row.begins).getTime() === start.getTime())?.seconds ?? 0;
  return devices.map((device) => ({ device, videoSeconds: starts.map((start) => Number(secondsOf(device, start))) }));
}

async function readFailures(tx: Tx, since: Date): Promise<History['failures']> {
  const rows = await tx.execute<Record<'code' | 'jobs', string>>(sql`
    SELECT error_code AS code, count(*) AS jobs FROM jobs
    WHERE mode = 'live' AND status = 'error' AND error_code IS NOT NULL AND finished_at >= ${since.toISOString()}::timestamptz
    GROUP BY 1 ORDER BY 2 DESC, 1`);
  return rows.map(({ code, jobs }) => ({ code, jobs: Number(jobs) }));
}
