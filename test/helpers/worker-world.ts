/** An account with credits in a database of its own, for tests of the store and the jobs. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import type { Mode, SourceFacts, Tier } from '../../src/domain/job.ts';
import { priceInCredits } from '../../src/domain/pricing.ts';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';
import { createStore, type Store, type StoreOptions } from '../../src/store/index.ts';
import type { Account, CreateJob } from '../../src/store/types.ts';
import { createTestDatabase } from './database.ts';

/** One pepper for all processes of a test. */
export const testCipher = createSecretCipher('the pepper of the tests');

export interface World {
  url: string;
  store: Store;
  /** raw SQL beside the store, to inspect rows and to change times */
  sql: postgres.Sql;
  close(): Promise<void>;
}

export async function createWorld(options: Omit<StoreOptions, 'url'> = {}): Promise<World> {
  const database = await createTestDatabase();
  const store = createStore({ url: database.url, cipher: testCipher, ...options });
  const sql = postgres(database.url, { max: 3, onnotice: () => {} });
  return {
    url: database.url,
    store,
    sql,
    async close() {
      await store.close();
      await sql.end({ timeout: 5 });
      await database.drop();
    },
  };
}

/** The entries of an account's audit log, newest first. */
export async function auditEntries(store: Store, query: { accountId: string; jobId?: string; limit: number }) {
  return (await store.audit.list(query)).entries;
}

/** The whole audit log, oldest first, and its head. */
export async function auditLog(store: Store, accountId: string) {
  const head = await store.audit.head(accountId);
  return { entries: await store.audit.page({ accountId, after: 0, upTo: head.size, limit: head.size }), head };
}

/** An approved account with that many live credits. */
export async function fundedAccount(store: Store, credits: number): Promise<Account> {
  const { id } = await store.accounts.create({ name: 'Test' });
  if (credits > 0) await store.accounts.grant(id, credits);
  return (await store.accounts.approve(id))!;
}

export const sampleSource: SourceFacts = {
  container: 'mp4',
  video_codec: 'h264',
  audio_codec: 'aac',
  width: 960,
  height: 540,
  frame_rate: 25,
  duration: 9.6,
  size_bytes: 123_456,
};

/** A live 1080p job of 9.6 s, with the fields of `change` replaced. */
export function jobInput(account: Account, change: Partial<CreateJob> = {}): CreateJob {
  const mode: Mode = change.mode ?? 'live';
  const tier: Tier = change.tier ?? 'standard';
  const durationSeconds = change.durationSeconds ?? 10;
  const resolution = change.resolution ?? '1080p';
  return {
    account: { id: account.id, retentionDays: account.retentionDays },
    mode,
    tier,
    resolution,
    videoUrl: 'https://videos.example.com/film.mp4?token=secret',
    webhookUrl: null,
    model: null,
    enhancements: {},
    metadata: { order: '17' },
    durationSeconds,
    source: mode === 'live' ? sampleSource : null,
    credits: mode === 'live' ? priceInCredits({ durationSeconds, resolution, tier }) : 0,
    idempotency: null,
    ...change,
  };
}

export const randomHash = (): Buffer => randomBytes(32);

/** Queues the scheduled tasks twice a second; the service does so every minute. */
export function runScheduledTasksOften(url: string): { stop(): Promise<void> } {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const tasks = ['scheduled_every_minute', 'scheduled_every_5_minutes', 'scheduled_hourly'];
  const add = async () => {
    for (const task of tasks) await sql`SELECT 1 FROM graphile_worker.add_job(${task}, job_key := ${task}, max_attempts := 1)`;
  };
  let running = Promise.resolve();
  const timer = setInterval(() => (running = running.then(add).catch(() => {})), 500);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
      await sql.end({ timeout: 5 });
    },
  };
}
