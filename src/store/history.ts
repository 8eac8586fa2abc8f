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
        WHERE mode = 'live' AND status IN ('queued', 'running') AND deleted_at IS NULL AND finished_at IS NULL)
    SELECT s.begins::text AS from,
      count(*) FILTER (WHERE r.created_at <= s.ends AND coalesce(r.started_at, r.finished_at, 'infinity') > s.ends) AS queued,
      count(*) FILTER (WHERE r.status = 'done' AND r.finished_at >= s.begins AND r.finished_at < s.begins + ${lengthOf(period)}) AS finished,
      count(*) FILTER (WHERE r.status = 'error' AND r.finished_at >= s.begins AND r.finished_at < s.begins + ${lengthOf(period)}) AS failed
    FROM steps s LEFT JOIN recent r ON true
    GROUP BY s.begins, s.ends ORDER BY s.begins`);
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
