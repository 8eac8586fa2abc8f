/**
 * The real store for tests of the API: one database per test file, and a separate account for each API. It records the API's
 * calls and fails on demand.
 */
import type postgres from 'postgres';
import { afterAll } from 'vitest';
import { generateApiKey, hashApiKey, type KeyAccess } from '../../src/domain/api-key.ts';
import { newId } from '../../src/domain/ids.ts';
import type { JobRecord, Mode, Tier } from '../../src/domain/job.ts';
import { isFinal } from '../../src/domain/transitions.ts';
import type { Store } from '../../src/store/index.ts';
import type { Account, HttpStore, RateClass, RateLimitResult, RatePolicy } from '../../src/store/types.ts';
import { createWorld, type World } from './worker-world.ts';

export const pepper = 'a pepper for tests';

let world: Promise<World> | undefined;
const openWorld = () => (world ??= createWorld({ maxConnections: 4 }));
afterAll(async () => {
  await (await world)?.close();
  world = undefined;
});

export function testAccount(overrides: Partial<Account> = {}): Account {
  return {
    id: newId('acct'),
    name: 'Test',
    plan: 'pay-as-you-go',
    approvalStatus: 'approved',
    quotas: {},
    credits: 10_000,
    retentionDays: 30,
    createdAt: new Date(),
    ...overrides,
  };
}

interface TestKey {
  mode: Mode;
  tier: Tier;
  key: string;
  name: string;
  access: KeyAccess;
}

export class ApiStore implements HttpStore {
  /** calls of the rate limiter, with its results */
  readonly taken: ({ keyId: string; rateClass: RateClass; result: RateLimitResult } & RatePolicy)[] = [];
  /** the rate limiter's result, if set */
  rateLimitResult: RateLimitResult | undefined;
  /** number of key look-ups */
  lookUps = 0;
  /** number of open watches of jobs */
  watching = 0;
  healthy = true;
  /** thrown by every query when set */
  failure: Error | undefined;
  readonly #account: Account;
  readonly #keys: TestKey[] = [];
  #ready: Promise<World> | undefined;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Adds a key to the account. The first query inserts it into the database. */
  addKey(mode: Mode, tier: Tier, { name = '', access = 'full' }: { name?: string; access?: KeyAccess } = {}): string {
    const { key } = generateApiKey(mode);
    this.#keys.push({ mode, tier, key, name, access });
    return key;
  }

  /** The database with the account in it, for the tests' own queries. */
  async sql(): Promise<postgres.Sql> {
    return (await this.#open()).sql;
  }

  async revokeKey(key: string): Promise<void> {
    const { sql } = await this.#open();
    await sql`UPDATE api_keys SET revoked_at = now() WHERE hash = ${hashApiKey(key, pepper)}`;
  }

  /** The account as it is now. */
  async account(): Promise<Account> {
    return (await (await this.#open()).store.accounts.get(this.#account.id))!;
  }

  /** Adds another account, without keys. */
  async addAccount(): Promise<Account> {
    const account = testAccount();
    await insertAccount((await this.#open()).sql, account);
    return account;
  }

  /** Inserts a job of the account, or of another existing account, in the state that the overrides describe. */
  async addJob(overrides: Partial<JobRecord> = {}): Promise<JobRecord> {
    const job = testJob({ accountId: this.#account.id, ...overrides });
    const { sql } = await this.#open();
    await sql`INSERT INTO jobs SELECT * FROM jsonb_populate_record(NULL::jobs, ${sql.json(rowOf(job) as never)})`;
    return job;
  }

  /** Changes a job, or deletes it (null), as a worker would. A change from queued to done passes through running. */
  async changeJob(id: string, change: Partial<JobRecord> | null): Promise<void> {
    const { sql, store } = await this.#open();
    const [row] = await sql<{ mode: Mode }[]>`SELECT mode FROM jobs WHERE id = ${id}`;
    if (change === null) return void (await store.jobs.delete(this.#account.id, row!.mode, id));
    const before = (await store.jobs.get(this.#account.id, row!.mode, id))!;
    if (before.status === 'queued' && change.status === 'done') await this.changeJob(id, { status: 'running' });
    await sql`UPDATE jobs j SET (status, progress, eta_seconds, source, output, applied, error_code, error_message,
      started_at, finished_at, output_key) = (SELECT r.status, r.progress, r.eta_seconds, r.source, r.output, r.applied,
        r.error_code, r.error_message, r.started_at, r.finished_at, r.output_key
        FROM jsonb_populate_record(NULL::jobs, ${sql.json(rowOf(testJob({ ...before, ...change })) as never)}) r)
      WHERE j.id = ${id}`;
  }

  /** Ends the verification of an upload, as a worker would. */
  async verifyUpload(id: string, outcome: { sha256: string } | 'checksum_mismatch'): Promise<void> {
    const { uploads } = (await this.#open()).store;
    if (outcome === 'checksum_mismatch') await uploads.failed(id, outcome);
    else await uploads.verified(id, { ...outcome, version: null });
  }

  /** The jobs of the account in both modes, newest first. */
  async allJobs(): Promise<JobRecord[]> {
    const { store } = await this.#open();
    const lists = (['live', 'test'] as const).map((mode) => store.jobs.list({ accountId: this.#account.id, mode, limit: 100 }));
    return (await Promise.all(lists)).flatMap(({ jobs }) => jobs).sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** Adds a certificate of a deleted job. */
  async addCertificate(jobId: string, jws: string): Promise<void> {
    const { sql } = await this.#open();
    await sql`INSERT INTO certificates (id, job_id, account_id, jws, issued_at)
      SELECT ${newId('cert')}, id, account_id, ${jws}, now() FROM jobs WHERE id = ${jobId}`;
  }

  #open(): Promise<World> {
    return (this.#ready ??= this.#insert());
  }

  async #insert(): Promise<World> {
    const opened = await openWorld();
    await insertAccount(opened.sql, this.#account);
    for (const { mode, tier, key, name, access } of this.#keys) {
      await opened.sql`INSERT INTO api_keys (id, account_id, hash, mode, tier, last_four, name, access)
        VALUES (${newId('key')}, ${this.#account.id}, ${hashApiKey(key, pepper)}, ${mode}, ${tier}, ${key.slice(-4)}, ${name}, ${access})`;
    }
    return opened;
  }

  async #query(): Promise<Store> {
    if (this.failure !== undefined) throw this.failure;
    return (await this.#open()).store;
  }

  readonly keys: HttpStore['keys'] = {
    authenticate: async (hash) => {
      this.lookUps += 1;
      return (await this.#query()).keys.authenticate(hash);
    },
    usable: async (keyIds) => (await this.#query()).keys.usable(keyIds),
  };

  readonly accounts: HttpStore['accounts'] = {
    get: async (id) => (await this.#query()).accounts.get(id),
    setRetention: async (id, days, actor) => (await this.#query()).accounts.setRetention(id, days, actor),
  };

  readonly rateLimits: HttpStore['rateLimits'] = {
    take: async (keyId, rateClass, policy) => {
      const { rateLimits } = await this.#query();
      const result = this.rateLimitResult ?? (await rateLimits.take(keyId, rateClass, policy));
      this.taken.push({ keyId, rateClass, result, ...policy });
      return result;
    },
    giveBack: async (keyId, rateClass, policy) => (await this.#query()).rateLimits.giveBack(keyId, rateClass, policy),
    forget: async (keyId, rateClass) => (await this.#query()).rateLimits.forget(keyId, rateClass),
  };

  readonly audit: HttpStore['audit'] = {
    list: async (query) => (await this.#query()).audit.list(query),
    record: async (entry) => (await this.#query()).audit.record(entry),
  };

  readonly certificates: HttpStore['certificates'] = {
    get: async (accountId, mode, jobId) => (await this.#query()).certificates.get(accountId, mode, jobId),
  };

  readonly webhookEndpoints: HttpStore['webhookEndpoints'] = {
    create: async (input, actor) => (await this.#query()).webhookEndpoints.create(input, actor),
    list: async (accountId, mode) => (await this.#query()).webhookEndpoints.list(accountId, mode),
    get: async (which) => (await this.#query()).webhookEndpoints.get(which),
    update: async (which, change, actor) => (await this.#query()).webhookEndpoints.update(which, change, actor),
    delete: async (which, actor) => (await this.#query()).webhookEndpoints.delete(which, actor),
    rotateSecret: async (which, actor) => (await this.#query()).webhookEndpoints.rotateSecret(which, actor),
    switchSecret: async (which, actor) => (await this.#query()).webhookEndpoints.switchSecret(which, actor),
    test: async (which, event) => (await this.#query()).webhookEndpoints.test(which, event),
  };

  readonly requestLog: HttpStore['requestLog'] = {
    append: async (entries) => (await this.#query()).requestLog.append(entries),
    page: async (query) => (await this.#query()).requestLog.page(query),
  };

  readonly statements: HttpStore['statements'] = {
    ledger: async (query) => (await this.#query()).statements.ledger(query),
    usage: async (query) => (await this.#query()).statements.usage(query),
  };

  readonly jobs: HttpStore['jobs'] = {
    findReplay: async (accountId, mode, idempotency) => (await this.#query()).jobs.findReplay(accountId, mode, idempotency),
    create: async (input) => (await this.#query()).jobs.create(input),
    get: async (accountId, mode, id) => (await this.#query()).jobs.get(accountId, mode, id),
    watch: (accountId, mode, id, signal) => this.#watch(accountId, mode, id, signal),
    list: async (query) => (await this.#query()).jobs.list(query),
    latestTimes: async (limit) => (await this.#query()).jobs.latestTimes(limit),
    resultFiles: async (id) => (await this.#query()).jobs.resultFiles(id),
    segments: async (id) => (await this.#query()).jobs.segments(id),
    delete: async (accountId, mode, id, actor) => (await this.#query()).jobs.delete(accountId, mode, id, actor),
  };

  readonly uploads: HttpStore['uploads'] = {
    findReplay: async (accountId, mode, idempotency) => (await this.#query()).uploads.findReplay(accountId, mode, idempotency),
    create: async (input) => (await this.#query()).uploads.create(input),
    begin: async (id, multipartId) => (await this.#query()).uploads.begin(id, multipartId),
    abandon: async (accountId, mode, id) => (await this.#query()).uploads.abandon(accountId, mode, id),
    get: async (accountId, mode, id) => (await this.#query()).uploads.get(accountId, mode, id),
    list: async (query) => (await this.#query()).uploads.list(query),
    complete: async (accountId, mode, id, checksum) => (await this.#query()).uploads.complete(accountId, mode, id, checksum),
    delete: async (accountId, mode, id, actor) => (await this.#query()).uploads.delete(accountId, mode, id, actor),
    expectedBytes: async () => (await this.#query()).uploads.expectedBytes(),
  };

  async *#watch(accountId: string, mode: Mode, id: string, signal: AbortSignal): AsyncGenerator<JobRecord> {
    this.watching += 1;
    try {
      for await (const job of (await this.#query()).jobs.watch(accountId, mode, id, signal)) {
        await this.#query();
        yield job;
      }
    } finally {
      this.watching -= 1;
    }
  }

  ping = async () => this.healthy && (await this.#query()).ping();
}

async function insertAccount(sql: postgres.Sql, account: Account): Promise<void> {
  const { id, name, plan, approvalStatus, credits, retentionDays, quotas } = account;
  await sql`INSERT INTO accounts (id, name, plan, approval_status, retention_days, quotas)
    VALUES (${id}, ${name}, ${plan}, ${approvalStatus}, ${retentionDays}, ${sql.json(quotas)})`;
  if (credits > 0) await sql`SELECT post_transfer('grant', ${id}, NULL, ${credits}, '')`;
}

function testJob(overrides: Partial<JobRecord> & { accountId: string }): JobRecord {
  const createdAt = new Date();
  const job: JobRecord = {
    id: newId('job'),
    mode: 'live',
    tier: 'standard',
    status: 'queued',
    resolution: '1080p',
    videoUrl: 'https://media.example.com/a.mp4',
    uploadId: null,
    fileName: null,
    webhookUrl: null,
    model: null,
    enhancements: {},
    outputSettings: {},
    metadata: {},
    durationSeconds: 42,
    creditsCharged: 0,
    creditsRefunded: 0,
    progress: 0,
    etaSeconds: null,
    source: null,
    output: null,
    applied: null,
    error: null,
    preview: null,
    createdAt,
    startedAt: null,
    finishedAt: null,
    expiresAt: new Date(createdAt.getTime() + 30 * 86_400_000),
    ...overrides,
  };
  return { ...job, finishedAt: isFinal(job.status) ? (job.finishedAt ?? createdAt) : null };
}

/** The columns of `jobs`; the file of a finished job has the key `outputs/{id}.mp4`. */
function rowOf(job: JobRecord): Record<string, unknown> {
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const { error, ...columns } = job;
  return {
    ...Object.fromEntries(Object.entries(columns).map(([name, value]) => [snakeCase(name), value])),
    error_code: error?.code ?? null,
    error_message: error?.message ?? null,
    output_key: job.output === null ? null : `outputs/${job.id}.mp4`,
    step: job.mode === 'test' ? 'test_mode' : 'ingest',
    attempt: 0,
    attempt_progress: 0,
    crashes: 0,
    failures: 0,
    in_one_piece: false,
    certificate_due: false,
  };
}
