/**
 * `npm run bench:fleet`: a fleet on one machine. API, PostgreSQL, Graphile Worker, S3 server and worker processes are real.
 * The engine is simulated: it waits as long as a device of a given speed would take. If the simulated devices are slow enough,
 * the CPU is not the bottleneck: compare `busy_cores` with the machine's cores. Prints one JSON object.
 *   npm run bench:fleet -- [--workers 1,2,4,8,16,32] [--speed 5] [--quick]
 */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { backlogCost } from './fleet/backlog.ts';
import { type FleetService, startFleetService } from './fleet/service.ts';
import { steadyState } from './fleet/steady-state.ts';

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '1,2,4,8,16,32' },
    speed: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
  },
});
const isQuick = values.quick;
const counts = isQuick ? [1, 2] : values.workers.split(',').map(Number);
const deviceSpeed = isQuick ? 20 : Number(values.speed);
if (!counts.every((count) => Number.isSafeInteger(count) && count > 0) || !(deviceSpeed > 0)) {
  console.error('bench:fleet: expected --workers such as 1,2,4 and --speed in seconds of video per second');
  process.exit(2);
}
const leaseSeconds = 6;
/** for the throughput */
const segmentsPerWorker = 6;
/** seconds of video, by target (fleet/worker.ts) */
const [shortSegmentS, longSegmentS] = [10, 20];

const round = (value: number, digits = 2) => Number(value.toFixed(digits));
const median = (numbers: number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

function eventsOf(service: FleetService, jobs: readonly string[]) {
  const of = service.events.filter(({ job }) => jobs.includes(job));
  return { begun: of.filter(({ kind }) => kind === 'begun'), ended: of.filter(({ kind }) => kind === 'ended') };
}

const joined = (service: FleetService, job: string) => service.waitFor((event) => event.kind === 'joined' && event.job === job);

/** Of the segments of one job here; each job has an account of its own. */
const segmentsPerJob = 24;

/** Creates jobs with so many segments in all, of about equal length. */
async function createJobs(service: FleetService, segments: number): Promise<string[]> {
  const count = Math.ceil(segments / segmentsPerJob);
  const create = async (_: unknown, index: number) => {
    const share = Math.floor((segments * (index + 1)) / count) - Math.floor((segments * index) / count);
    return service.createJob(await service.createCustomer(), share * longSegmentS, '4k');
  };
  return Promise.all(Array.from({ length: count }, create));
}

/** Measures while all devices have work: after all jobs are created and each device has begun a segment, until the first runs dry. */
async function throughput(service: FleetService, workers: number) {
  const jobs = await createJobs(service, segmentsPerWorker * workers);
  const createdAt = Date.now();
  await Promise.all(jobs.map((job) => joined(service, job)));
  const { begun, ended } = eventsOf(service, jobs);
  const steady = steadyState([...begun, ...ended], workers, createdAt);
  const perSecond = steady.segments / steady.windowS;
  const { median: middle, p95, max } = steady.gapsMs;
  return {
    ...{ workers, segments: ended.length, segments_per_second: round(perSecond, 3), of_ideal: round((perSecond * longSegmentS) / deviceSpeed / workers, 3) },
    ...{ utilisation: round(steady.utilisation, 3), window_s: round(steady.windowS), ramp_s: round(steady.rampS), tail_s: round(steady.tailS) },
    gap_ms: { median: middle, p95, max },
  };
}

/** Measures one video from the request to the end of the join. */
async function oneVideo(service: FleetService, workers: number) {
  const segments = isQuick ? 4 : 16;
  const key = await service.createCustomer();
  const began = Date.now();
  const job = await service.createJob(key, segments * shortSegmentS);
  const end = await joined(service, job);
  const first = await service.waitFor(({ kind, job: of, segment }) => kind === 'ended' && of === job && segment === 0);
  const deviceS = (shortSegmentS / deviceSpeed) * Math.ceil(segments / workers);
  return { workers, segments, seconds: round((end.at - began) / 1000), device_seconds: round(deviceS), first_segment_after_s: round((first.at - began) / 1000) };
}

/** Measures a short video while long ones keep all workers busy. */
async function shortBesideLong(service: FleetService, workers: number) {
  const [owner, other] = [await service.createCustomer(), await service.createCustomer()];
  const long: string[] = [];
  const segments = isQuick ? 8 : 5 * workers;
  for (let n = 0; n < 2; n++) long.push(await service.createJob(owner, segments * longSegmentS, '4k'));
  await service.waitFor(({ kind, job, segment }) => kind === 'begun' && long.includes(job) && segment === 1);
  const waits: Record<'same_account' | 'other_account', number[]> = { same_account: [], other_account: [] };
  for (let n = 0; n < (isQuick ? 1 : 3); n++) {
    for (const [name, key] of [['same_account', owner], ['other_account', other]] as const) {
      const began = Date.now();
      const job = await service.createJob(key, shortSegmentS);
      const created = Date.now();
      const ended = await service.waitFor((event) => event.kind === 'ended' && event.job === job);
      waits[name].push((ended.at - began) / 1000);
      if (created > ended.at) throw new Error('the clock went backwards');
    }
  }
  await Promise.all(long.map((job) => joined(service, job)));
  const segmentS = longSegmentS / deviceSpeed;
  const summary = (list: number[]) => ({ seconds: list.map((one) => round(one)), median_in_segments: round(median(list) / segmentS), most_in_segments: round(Math.max(...list) / segmentS) });
  return { workers, segment_seconds: segmentS, same_account: summary(waits.same_account), other_account: summary(waits.other_account) };
}

/** Kills half of the workers (`kill -9`), of at least two, in the middle of a segment. */
async function recovery(service: FleetService, workers: number) {
  const segments = 4 * workers;
  const job = await service.createJob(await service.createCustomer(), segments * longSegmentS, '4k');
  const running = () => {
    const { begun, ended } = eventsOf(service, [job]);
    return begun.filter(({ segment }) => !ended.some((end) => end.segment === segment)).length;
  };
  while (running() < workers || eventsOf(service, [job]).ended.length === 0) await sleep(20);
  const victims = service.workers.slice(0, Math.floor(workers / 2));
  const killedAt = Date.now();
  await Promise.all(victims.map((worker) => worker.kill('SIGKILL')));
  const end = await joined(service, job);
  const { begun } = eventsOf(service, [job]);
  const again = begun.filter(({ segment, at }) => at > killedAt && begun.some((earlier) => earlier.segment === segment && earlier.at < killedAt));
  await service.scaleTo(workers);
  return {
    ...{ workers, killed: victims.length, lease_seconds: leaseSeconds, segments, made_again: again.length },
    made_again_after_s: again.map(({ at }) => round((at - killedAt) / 1000)),
    done_after_s: round((end.at - killedAt) / 1000),
  };
}

interface DatabaseLoad {
  statements: number;
  transactions: number;
  walBytes: number;
  cpuMs: number;
}

/** Measures the database's load during the work, without this program's own queries. */
async function databaseLoad(service: FleetService, work: () => Promise<unknown>): Promise<DatabaseLoad & { seconds: number }> {
  const { sql } = service;
  const totals = async () => {
    const [row] = await sql<{ transactions: string; wal: string }[]>`SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS transactions,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal`;
    return { transactions: Number(row!.transactions), wal: Number(row!.wal), cpuMs: await service.databaseCpuMs() };
  };
  await sql`SELECT pg_stat_statements_reset()`;
  const before = await totals();
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  const after = await totals();
  const [calls] = await sql<{ calls: string }[]>`SELECT sum(calls) AS calls FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%'`;
  return {
    seconds,
    statements: Number(calls!.calls),
    transactions: after.transactions - before.transactions,
    walBytes: after.wal - before.wal,
    cpuMs: after.cpuMs - before.cpuMs,
  };
}

/**
 * Measures idle workers, and jobs with short and with long segments. The difference between the two kinds of jobs is the cost
 * of a running segment per second.
 */
async function databaseCost(service: FleetService, workers: number) {
  const key = await service.createCustomer();
  const idleS = isQuick ? 2 : 8;
  const idle = await databaseLoad(service, () => sleep(idleS * 1000));
  const segments = isQuick ? 4 : 4 * workers;
  const run = async (lengthS: number, resolution: '1080p' | '4k') => {
    const load = await databaseLoad(service, async () => {
      const job = await service.createJob(key, segments * lengthS, resolution);
      await joined(service, job);
      // Includes the end of the job and the deletion of its pieces.
      await sleep(1500);
    });
    // Subtracts the load of idle workers.
    const each = (what: keyof DatabaseLoad, unit = 1) => round(Math.max(0, load[what] - (idle[what] / idle.seconds) * load.seconds) / segments / unit);
    const top = await service.sql<{ query: string; calls: string; ms: number }[]>`SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS query, calls, round(total_exec_time)::int AS ms
      FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%' ORDER BY total_exec_time DESC LIMIT 6`;
    return {
      ...{ segments, segment_seconds: lengthS / deviceSpeed, seconds: round(load.seconds) },
      for_each_segment: { statements: each('statements'), transactions: each('transactions'), wal_kb: each('walBytes', 1000), database_cpu_ms: each('cpuMs') },
      slowest: top.map(({ query, calls, ms }) => ({ query, calls: Number(calls), ms })),
    };
  };
  const perWorker = (value: number) => round(value / workers / idle.seconds, 3);
  return {
    workers,
    idle_worker_per_second: { statements: perWorker(idle.statements), transactions: perWorker(idle.transactions), wal_kb: perWorker(idle.walBytes / 1000), database_cpu_ms: perWorker(idle.cpuMs) },
    short_segments: await run(shortSegmentS, '1080p'),
    long_segments: await run(longSegmentS, '4k'),
  };
}

/** Measures idle workers with the default lease whose database says that they are a part of a fleet of this size. */
async function idleInLargeFleet(service: FleetService, fleet: number) {
  const { sql } = service;
  const [workers, idleS] = isQuick ? [1, 3] : [4, 60];
  await Promise.all(service.workers.slice().map((worker) => worker.kill('SIGTERM')));
  const none = await databaseLoad(service, () => sleep((idleS * 1000) / 3));
  await sql`INSERT INTO workers (id, device_classes, heartbeat_at) SELECT 'elsewhere-' || n, '{cpu}', now() + interval '1 hour' FROM generate_series(1, ${fleet - workers}::int) n`;
  await service.scaleTo(workers, { REELMEND_LEASE_SECONDS: '20' });
  // What they do once, when they start.
  await sleep(5000);
  const idle = await databaseLoad(service, () => sleep(idleS * 1000));
  const each = (what: keyof DatabaseLoad) => round((idle[what] / idle.seconds - none[what] / none.seconds) / workers, 3);
  return { workers, fleet, idle_worker_per_second: { statements: each('statements'), transactions: each('transactions'), wal_kb: round(each('walBytes') / 1000, 3), database_cpu_ms: each('cpuMs') } };
}

const busy = () => cpus().reduce((ms, { times }) => ms + times.user + times.nice + times.sys + times.irq, 0);

async function withCores<T extends object>(work: Promise<T>): Promise<T & { busy_cores: number }> {
  const [before, began] = [busy(), performance.now()];
  const result = await work;
  return { ...result, busy_cores: round((busy() - before) / (performance.now() - began)) };
}

async function measure(service: FleetService) {
  const scaling: object[] = [];
  // The largest number up to 4, or the smallest.
  const middle = counts.filter((count) => count <= 4).reduce((a, b) => Math.max(a, b), 0) || Math.min(...counts);
  let apart: object = {};
  for (const workers of counts) {
    await service.scaleTo(workers);
    console.error(`bench:fleet: ${workers} workers`);
    const rate = await withCores(throughput(service, workers));
    scaling.push({ ...rate, one_video: await oneVideo(service, workers) });
    // Prints partial results if the run is interrupted.
    console.error(JSON.stringify(scaling.at(-1)));
    if (workers !== middle) continue;
    apart = {
      database: await databaseCost(service, workers),
      short_beside_long: await shortBesideLong(service, workers),
      // A single worker has no other that could take over.
      recovery: workers > 1 ? await recovery(service, workers) : null,
    };
    console.error(JSON.stringify(apart));
  }
  const idle = await idleInLargeFleet(service, 1000);
  await Promise.all(service.workers.slice().map((worker) => worker.kill('SIGTERM')));
  const backlog = await backlogCost(service.sql, service.store, isQuick ? [200, 2000] : [200, 2000, 8000, 32_000]);
  return { scaling, ...apart, idle_in_large_fleet: idle, backlog };
}

const began = performance.now();
const service = await startFleetService({ deviceSpeed, leaseSeconds });
// Otherwise PostgreSQL would go on, and its folder would stay.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void service.close().finally(() => process.exit(1)));
try {
  const machine = { cores: availableParallelism(), cpu: cpus()[0]?.model ?? '' };
  const setup = { device_seconds_of_video_per_second: deviceSpeed, segment_seconds_of_device: { short: shortSegmentS / deviceSpeed, long: longSegmentS / deviceSpeed } };
  const results = await measure(service);
  console.log(JSON.stringify({ machine, setup, ...results, seconds: round((performance.now() - began) / 1000) }, null, 2));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await service.close();
}
