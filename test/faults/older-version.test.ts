/**
 * Processes of a truly older version beside those of this one, on one database: the older ones work while this version
 * migrates, and go on afterwards. versions.test.ts looks the other way, at versions to come.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { checkOutOlderVersion, type OlderVersion } from '../helpers/older-version.ts';
import { createSite, type Running, type Site } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

const commits = [
  // It knows segments, and queues them as job_enhance. The oldest one whose migrations 0001 to 0009 are those of today.
  { commit: '5b4f4dc17319ee3fbced6539b2f0780b80a15de1', knowsSegments: true },
  // The first one whose migration 0001 is that of today; it has no other, and no segments.
  { commit: '38b16c91ee9d8cfbdc9379668c5cd3f7dbefbf42', knowsSegments: false },
];
const versions: { commit: string; knowsSegments: boolean; older: OlderVersion }[] = [];
if (isLongRun) {
  for (const each of commits) {
    const older = await checkOutOlderVersion(each.commit);
    if (older !== null) versions.push({ ...each, older });
  }
}

let dir: string;
let files: FileServer;
let site: Site;
let sql: postgres.Sql;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-clips-'));
  await makeClip(join(dir, 'clip.mp4'), { seconds: 60, video: 'testsrc2=size=160x90:rate=5', args: ['-c:v', 'libx264', '-g', '10'], audio: ['-c:a', 'aac'] });
  files = await startFileServer({ dir });
  const env = { REELMEND_ALLOW_HOSTS: files.hostPort, REELMEND_LEASE_SECONDS: '6', REELMEND_WORKER_CONCURRENCY: '1', REELMEND_THREADS: '1' };
  site = await createSite(env, { migrated: false });
  sql = postgres(site.databaseUrl, { max: 1, onnotice: () => {} });
});
afterEach(async () => {
  await sql.end({ timeout: 5 });
  await site.close();
  await files.close();
  await rm(dir, { recursive: true, force: true });
});

afterAll(() => Promise.all(versions.map(({ older }) => older.remove())));

const enhancements = { denoise: 0.2, sharpen: 0.2, face_restoration: 'off', adaptive_contrast: 0.3 };

async function create(api: Running, key: string): Promise<string> {
  const body = JSON.stringify({ video_url: `${files.url}/clip.mp4`, resolution: '1080p', model: 'none', enhancements });
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${api.url}/v1/jobs`, { method: 'POST', headers, body });
  const { id } = (await response.json()) as { id: string };
  expect(response.status).toBe(201);
  return id;
}

const isOf = ({ pid }: Running) => (owner: string | null) => owner?.startsWith(`worker-${pid}-`) === true;
/** Workers that enhance something now, a segment or a whole video. */
async function busy(hasSegments: boolean): Promise<string[]> {
  const jobs = await sql<{ owner: string }[]>`SELECT lease_owner AS owner FROM jobs WHERE lease_owner IS NOT NULL AND step = 'enhance'`;
  if (!hasSegments) return jobs.map(({ owner }) => owner);
  return (await sql<{ owner: string }[]>`SELECT lease_owner AS owner FROM segments WHERE state = 'running'`).map(({ owner }) => owner);
}
const ended = (ids: string[]) =>
  eventually(async () => {
    const rows = await sql<{ status: string }[]>`SELECT status FROM jobs WHERE id = ANY(${ids})`;
    return rows.every(({ status }) => status === 'done' || status === 'error');
  }, 'the jobs end');

if (versions.length === 0) it.skip('runs in test:long, in a checkout with its history');

describe.each(versions)('beside version $commit', ({ older, knowsSegments }) => {
  const old = { program: older.program };
  const migrations = () => sql<{ name: string }[]>`SELECT name FROM schema_migrations ORDER BY name`;
  const segmented = { REELMEND_SEGMENTS_FROM_SECONDS: knowsSegments ? '20' : '0' };

  it('this one migrates while the other works; then both work, and either takes over from the other', async () => {
    const oldApi = await site.start('serve', segmented, old);
    expect((await migrations()).map(({ name }) => name)).toEqual(older.migrations);
    const { id: account } = await older.reelmend<{ id: string }>(site.env, 'accounts', 'create', 'A customer');
    await older.reelmend(site.env, 'accounts', 'approve', account);
    await older.reelmend(site.env, 'accounts', 'grant', account, '10000');
    const { key } = await older.reelmend<{ key: string }>(site.env, 'keys', 'create', account);
    const oldWorker = await site.start('work', segmented, old);

    const first = await create(oldApi, key);
    await eventually(async () => (await busy(knowsSegments)).some(isOf(oldWorker)));
    const newApi = await site.start('serve', segmented);
    const files = (await readdir(fileURLToPath(new URL('../../migrations', import.meta.url)), { recursive: true })).filter((name) => /^(queue\/)?\d{4}_/.test(name));
    expect((await migrations()).map(({ name }) => name)).toEqual(files.sort());
    await ended([first]);
    // It was in hand all the while.
    const [during] = await sql<{ is: boolean; attempt: number }[]>`SELECT (SELECT max(applied_at) FROM schema_migrations)
      BETWEEN started_at AND finished_at AS is, attempt FROM jobs WHERE id = ${first}`;
    expect(during!.is).toBe(true);

    const newWorker = await site.start('work', segmented);
    const jobs = [first, await create(oldApi, key), await create(newApi, key), await create(oldApi, key), await create(newApi, key)];
    const seen = new Set<string>();
    await eventually(async () => {
      for (const owner of await busy(knowsSegments)) seen.add(owner);
      return [...seen].some(isOf(oldWorker)) && [...seen].some(isOf(newWorker));
    }, 'both versions work');
    // The one that dies loses what it has in hand to the other.
    await eventually(async () => (await busy(knowsSegments)).some(isOf(oldWorker)));
    await oldWorker.kill('SIGKILL');
    await ended(jobs);
    const rows = await sql<{ status: string; sha256: string; failure: string | null }[]>`
      SELECT status, output->>'sha256' AS sha256, error_code AS failure FROM jobs`;
    expect(rows.map(({ status, failure }) => [status, failure])).toEqual(jobs.map(() => ['done', null]));
    if (knowsSegments) expect(new Set(rows.map(({ sha256 }) => sha256)).size).toBe(1);
    // No version makes again what the other has made.
    const made = [oldWorker, newWorker].flatMap(({ log }) => log.filter((line) => line.includes('"msg":"segment done"')).map((line) => JSON.parse(line) as { job: string; segment: number }));
    expect(made.length > 0).toBe(knowsSegments);
    expect(new Set(made.map(({ job, segment }) => `${job}:${segment}`)).size).toBe(made.length);
    await expect(site.reelmend('ledger', 'check')).resolves.toBeDefined();
    const [books] = await sql`SELECT (10000 - sum(j.credits_charged))::int AS expected, min(a.credits)::int AS credits FROM jobs j JOIN accounts a ON a.id = j.account_id`;
    expect(books!['credits']).toBe(books!['expected']);

    // What runs goes on. What starts must know all migrations.
    await expect(site.start('work', segmented, old)).rejects.toThrow('was migrated by another version');
    const headers = { Authorization: `Bearer ${key}` };
    const answers = await Promise.all([oldApi, newApi].map(({ url }) => fetch(`${url}/v1/jobs/${jobs.at(-1)!}`, { headers }).then((response) => response.json())));
    expect(answers).toMatchObject([{ status: 'done' }, { status: 'done' }]);
  });
});
