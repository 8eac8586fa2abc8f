/**
 * A real S3 server for tests: versitygw over a temporary folder. It looks for the program in $GOBIN, $GOPATH/bin, the
 * project's `.cache/bin` and the PATH. If it is missing, Go installs it into `.cache/bin`.
 *
 * `REELMEND_TEST_S3` (`http://KEY:SECRET@HOST:PORT`, `?region=…` if it is not us-east-1) names another server to test against. It is
 * shared: run one test file at a time. With `?versioning=off`, its buckets are never versioned. Tests that restart the server fail. Its buckets are emptied before each test file.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { freePorts } from './ports.ts';
import { eventually } from './wait.ts';

const run = promisify(execFile);
const module = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';
const cache = resolve(import.meta.dirname, '../../.cache/bin');

export interface S3Server {
  /** `http://127.0.0.1:PORT` */
  endpoint: string;
  region: string;
  /** what createS3Storage and new S3Client need beyond the endpoint */
  clientConfig: S3ClientConfig;
  credentials: { accessKeyId: string; secretAccessKey: string };
  createBucket(name: string, options?: { versioning?: boolean }): Promise<void>;
  /** creates a user without rights, for bucket policies; only with `users` */
  createUser(credentials: { accessKeyId: string; secretAccessKey: string }): Promise<void>;
  /** kills the server; its data stays */
  kill(): Promise<void>;
  /** starts it again on the same port and data */
  restart(): Promise<void>;
  /** ends the server and removes its data */
  close(): Promise<void>;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function goPath(): Promise<string | null> {
  return run('go', ['env', 'GOPATH']).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

/** Path of the server's program; null, after a warning, only if Go is missing outside CI. */
export async function findS3Server(): Promise<string | null> {
  const given = process.env['REELMEND_TEST_S3'];
  if (given) return given;
  const gopath = await goPath();
  const folders = [process.env['GOBIN'], gopath === null ? undefined : join(gopath, 'bin'), cache];
  folders.push(...(process.env['PATH'] ?? '').split(delimiter));
  for (const folder of folders) {
    if (folder !== undefined && folder !== '' && (await isThere(join(folder, 'versitygw')))) {
      return join(folder, 'versitygw');
    }
  }
  if (gopath === null) {
    const line = 'S3 TESTS NOT RUN: versitygw is missing, and so is Go to build it (apt install golang)';
    if (process.env['CI'] !== undefined && process.env['CI'] !== '') throw new Error(line);
    console.warn(line);
    return null;
  }
  return install();
}

const installLimitMs = 900_000;
const goInstall = resolve(import.meta.dirname, '../../scripts/go-install');

/** Test files run concurrently: the first one builds the program, the others wait for it. */
async function install(): Promise<string> {
  const program = join(cache, 'versitygw');
  const workshop = join(cache, 'versitygw.building');
  await mkdir(cache, { recursive: true });
  const info = await stat(workshop).catch(() => null);
  if (info !== null && Date.now() - info.mtimeMs > installLimitMs) await rm(workshop, { recursive: true, force: true });
  const first = await mkdir(workshop).then(
    () => true,
    () => false,
  );
  if (!first) {
    for (const end = Date.now() + installLimitMs; Date.now() < end; await sleep(200)) {
      if (await isThere(program)) return program;
      if (!(await isThere(workshop))) return install();
    }
    throw new Error(`another process did not finish building ${program} in time`);
  }
  try {
    console.error('building the S3 test server versitygw once, a minute or two');
    await run(goInstall, [module, workshop], { timeout: installLimitMs });
    await rename(join(workshop, 'versitygw'), program);
    return program;
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

async function untilReady(client: S3Client, child: ChildProcess): Promise<void> {
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`the S3 test server ended with status ${child.exitCode}`);
    return client.send(new ListBucketsCommand({})).then(() => true, () => false);
  }, 'the S3 test server answers');
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((done) => child.once('exit', () => done()));
}

/** Starts a server with one root account, and with `users` more of them; null if findS3Server returns null. */
export async function startS3Server({ users = false } = {}): Promise<S3Server | null> {
  const program = await findS3Server();
  if (program === null) return null;
  if (process.env['REELMEND_TEST_S3']) return givenServer(new URL(program));
  const root = await mkdtemp(join(tmpdir(), 'reelmend-s3-'));
  await Promise.all(['data', 'versions', 'users'].map((name) => mkdir(join(root, name))));
  const port = await freePorts();
  const endpoint = `http://127.0.0.1:${port}`;
  const region = 'us-east-1';
  const credentials = { accessKeyId: 'test-access', secretAccessKey: 'test-secret-0123456789' };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 });
  const start = async () => {
    const args = ['--port', `127.0.0.1:${port}`, '--region', region, '--quiet'];
    if (users) args.push('--iam-dir', join(root, 'users'));
    args.push('posix', '--versioning-dir', join(root, 'versions'), join(root, 'data'));
    const { accessKeyId, secretAccessKey } = credentials;
    const env = { PATH: process.env['PATH'], ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey };
    const child = spawn(program, args, { env, stdio: 'ignore' });
    await untilReady(client, child);
    return child;
  };
  let child = await start();
  const kill = async () => {
    child.kill('SIGKILL');
    await ended(child);
  };
  return {
    endpoint,
    region,
    credentials,
    clientConfig: { credentials },
    createBucket: (name, options) => createBucket(client, name, options),
    async createUser(user) {
      const admin = ['admin', '--access', credentials.accessKeyId, '--secret', credentials.secretAccessKey, '--endpoint-url', endpoint];
      await run(program, [...admin, 'create-user', '--access', user.accessKeyId, '--secret', user.secretAccessKey, '--role', 'user']);
    },
    kill,
    async restart() {
      await kill();
      child = await start();
    },
    async close() {
      client.destroy();
      await kill();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function createBucket(client: S3Client, name: string, { versioning = false } = {}): Promise<void> {
  await client.send(new CreateBucketCommand({ Bucket: name }));
  if (!versioning) return;
  const VersioningConfiguration = { Status: 'Enabled' as const };
  await client.send(new PutBucketVersioningCommand({ Bucket: name, VersioningConfiguration }));
}

/** The server of `REELMEND_TEST_S3`. */
function givenServer(url: URL): S3Server {
  const credentials = { accessKeyId: decodeURIComponent(url.username), secretAccessKey: decodeURIComponent(url.password) };
  const { origin: endpoint, searchParams } = url;
  const region = searchParams.get('region') ?? 'us-east-1';
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  const notOurs = () => Promise.reject(new Error('The server of REELMEND_TEST_S3 cannot be restarted, and gets no users'));
  return {
    ...{ endpoint, region, credentials, clientConfig: { credentials } },
    async createBucket(name, options) {
      await removeBucket(client, name);
      await createBucket(client, name, searchParams.get('versioning') === 'off' ? {} : options);
    },
    createUser: notOurs,
    kill: notOurs,
    restart: notOurs,
    close: () => Promise.resolve(client.destroy()),
  };
}

/** Removes what an earlier run left. Servers that lack one of the listings have nothing in it. */
async function removeBucket(client: S3Client, Bucket: string): Promise<void> {
  const { Buckets = [] } = await client.send(new ListBucketsCommand({}));
  if (!Buckets.some(({ Name }) => Name === Bucket)) return;
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket })).catch(() => ({ Uploads: [] }));
  for (const { Key, UploadId } of Uploads) await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(() => undefined);
  for (;;) {
    const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket })).catch(() => ({ Versions: [], DeleteMarkers: [] }));
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
    const found = [...Versions, ...DeleteMarkers, ...Contents.map(({ Key }) => ({ Key, VersionId: undefined }))];
    if (found.length === 0) break;
    await Promise.all(found.map(({ Key, VersionId }) => client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }))));
  }
  await client.send(new DeleteBucketCommand({ Bucket }));
}
