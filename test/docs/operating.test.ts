/**
 * The instructions of the operators' guides: several processes on a PostgreSQL and an S3 server, GPUs, accounts, metrics,
 * backup and restore, on a machine of its own.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createTestDatabase } from '../helpers/database.ts';
import { type FileServer, startFileServer } from '../helpers/fileserver.ts';
import { findS3Server, type S3Server, startS3Server } from '../helpers/s3.ts';
import { freePorts } from '../helpers/ports.ts';
import { writeSpeeds } from '../helpers/speeds.ts';
import { operatorsGuides, readMarkdown } from './markdown.ts';
import { startPostgres } from './postgres.ts';
import { type Checkout, createCheckout, createReader, type Reader, quickEncoder } from './reader.ts';
import { title } from './title.ts';

const run = promisify(execFile);
const s3IsThere = (await findS3Server()) !== null;

interface Machine {
  checkout: Checkout;
  reader: Reader;
  hasPgDump: boolean;
}

const cleanUp: (() => Promise<unknown>)[] = [];
let machine: Machine;

async function serveClip(): Promise<FileServer> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-docs-clip-'));
  cleanUp.unshift(() => rm(dir, { recursive: true, force: true }));
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=10:duration=1'];
  await run('ffmpeg', ['-v', 'error', ...source, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', join(dir, 'clip.mp4')]);
  const server = await startFileServer({ dir });
  cleanUp.unshift(() => server.close());
  return server;
}

/** `adminUrl` is absent without pg_dump, which each block that needs it also needs. */
async function database(): Promise<{ url: string; adminUrl?: string; hasPgDump: boolean }> {
  const own = await startPostgres();
  if (own !== null) {
    cleanUp.unshift(() => own.stop());
    return { url: own.url, adminUrl: own.adminUrl, hasPgDump: true };
  }
  console.warn('docs: pg_dump and a server of its version are not installed; the dump and the autoscaler of the guides are NOT tested');
  const { url, drop } = await createTestDatabase({ migrated: false });
  cleanUp.unshift(drop);
  return { url, hasPgDump: false };
}

async function s3(): Promise<S3Server> {
  const server = await startS3Server();
  if (server === null) throw new Error('there is no S3 server');
  cleanUp.unshift(() => server.close());
  await server.createBucket('reelmend-videos');
  return server;
}

async function prepare(): Promise<Machine> {
  const checkout = await createCheckout();
  cleanUp.unshift(() => checkout.remove());
  await writeSpeeds(join(checkout.dir, '.data'), quickEncoder);
  const [clips, { url, adminUrl = '', hasPgDump }, store, port] = [await serveClip(), await database(), await s3(), await freePorts(2)];
  const words = {
    'postgres://postgres:PASSWORD@db.example.com/postgres': adminUrl,
    'postgres://reelmend:PASSWORD@db.example.com/reelmend_restored': url.replace(/[^/]+$/, 'reelmend_restored'),
    'postgres://reelmend:PASSWORD@db.example.com/reelmend': url,
    'https://s3.example.com': store.endpoint,
    'ACCESS_KEY AWS': `${store.credentials.accessKeyId} AWS`,
    '=SECRET_KEY': `=${store.credentials.secretAccessKey}`,
    'https://media.example.com': clips.url,
    '127.0.0.1:8080': `127.0.0.1:${port}`,
    '9464': String(port + 1),
  };
  const env = { PORT: String(port), REELMEND_ALLOW_HOSTS: clips.hostPort };
  const reader = await createReader({ cwd: checkout.dir, words, env });
  cleanUp.unshift(() => reader.leave());
  return { checkout, reader, hasPgDump };
}

describe.skipIf(!s3IsThere)('the guides for operators', () => {
  beforeAll(async () => {
    machine = await prepare();
  });
  afterAll(async () => {
    for (const step of cleanUp) await step();
  });

  describe.each(operatorsGuides)('%s', (path) => {
    it.for(readMarkdown(path).blocks.map((block) => ({ block, title: title(block) })))('$title', async ({ block }, { skip }) => {
      if (block.markers['needs'] === 'pg_dump' && !machine.hasPgDump) skip('no pg_dump');
      await machine.reader.follow(block);
    });
  });
});
