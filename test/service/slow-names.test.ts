/**
 * The running service, one account whose names have a silent name server, and another account. Its name server and its
 * hosts file are those of the test, which needs root.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeClip } from '../helpers/ffmpeg.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { canReplaceNameFiles, withNameFiles } from '../helpers/name-files.ts';
import { type NameServer, startNameServer } from '../helpers/nameserver.ts';
import { call, createCustomer, createSite, type Customer, type JobView, type Running, type Site } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';

interface Customers {
  live: Customer;
  test: Customer;
}

let folder: string;
let files: FileServer;
let dns: NameServer;
let site: Site;
let api: Running;
/** by mode: jobs of test mode measure nothing, and are done at once */
let greedy: Customers;
let other: Customers;
let sql: postgres.Sql;
const isRoot = await canReplaceNameFiles();

beforeAll(async () => {
  if (!isRoot) return;
  folder = await mkdtemp(join(tmpdir(), 'reelmend-slow-names-'));
  await makeClip(join(folder, 'good.mp4'), { seconds: 1, args: ['-c:v', 'libx264', '-preset', 'veryfast'], audio: null });
  files = await startFileServer({ dir: folder, paths: { '/hook': { body: 'thanks' } } });
  // The C library asks the port 53 only. One of many loopback addresses, so that tests can run side by side.
  const host = `127.53.${process.pid & 255}.${1 + Math.floor(Math.random() * 254)}`;
  dns = await startNameServer(() => 'silent', { host, port: 53 });
  const nameFiles = { resolvConf: join(folder, 'resolv.conf'), hosts: join(folder, 'hosts') };
  // A lookup by the C library takes 30 s, longer than measuring (20 s) and connecting (10 s) may.
  await writeFile(nameFiles.resolvConf, `nameserver ${host}\noptions timeout:30 attempts:1\n`);
  await writeFile(nameFiles.hosts, '127.0.0.1 localhost files.example\n');
  site = await createSite({ REELMEND_ALLOW_HOSTS: `files.example:${files.port}`, REELMEND_TEST_MODE_DELAY_MS: '0' });
  const customers = async () => ({ live: await createCustomer(site), test: await createCustomer(site, { mode: 'test' }) });
  [greedy, other] = [await customers(), await customers()];
  api = await site.start('start', {}, { prefix: withNameFiles(nameFiles) });
  sql = postgres(site.databaseUrl, { max: 1 });
});
afterAll(async () => {
  if (!isRoot) return;
  await sql?.end();
  await site?.close();
  await dns?.close();
  await files?.close();
  await rm(folder, { recursive: true, force: true });
});

const goodUrl = (path: string) => `http://files.example:${files.port}${path}`;
const quote = ({ live }: Customers, video_url: string) => call<object>(api.url, live.key, 'POST', '/v1/quotes', { video_url, resolution: '1080p' });
const create = async ({ test }: Customers, webhook_url: string) => {
  const created = await call<JobView>(api.url, test.key, 'POST', '/v1/jobs', { video_url: goodUrl('/good.mp4'), resolution: '1080p', webhook_url });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return created.body.id;
};
const isAskedFor = (label: string) => eventually(() => dns.questions.filter(({ name }) => name.startsWith(label)).length >= 2, label);

describe.runIf(isRoot)('17: names whose name server is silent', () => {
  it('do not keep another account from measuring', async () => {
    const slow = [1, 2, 3].map((n) => quote(greedy, `http://video${n}.example/a.mp4`));
    await isAskedFor('video');
    expect(await quote(other, goodUrl('/good.mp4'))).toMatchObject({ status: 200, body: { duration_seconds: 1 } });
    for (const { status, body } of await Promise.all(slow)) expect([status, body]).toMatchObject([400, { error: { code: 'video_unreachable' } }]);
  });

  it('do not keep a webhook of another account from its first attempt', async () => {
    for (const n of [1, 2, 3]) await create(greedy, `http://hook${n}.example/`);
    await isAskedFor('hook');
    const id = await create(other, goodUrl('/hook'));
    const delivery = () => sql<{ state: string; failed: number }[]>`SELECT state, failed_attempts AS failed FROM webhook_deliveries WHERE job_id = ${id}`;
    await eventually(async () => (await delivery()).some(({ state, failed }) => state === 'delivered' || failed > 0));
    expect(await delivery()).toEqual([{ state: 'delivered', failed: 0 }]);
  });
});
