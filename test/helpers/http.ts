/** The API over fakes: a store and a storage in memory, a measurement that the test decides. */
import { Readable } from 'node:stream';
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import { FrameliftError } from '../../src/domain/errors.ts';
import { newId } from '../../src/domain/ids.ts';
import type { JobRecord, Lane, SourceFacts, Tier } from '../../src/domain/job.ts';
import { buildApp } from '../../src/http/app.ts';
import type { HttpDeps, HttpOptions } from '../../src/http/deps.ts';
import type { FilesystemStorage } from '../../src/storage/filesystem.ts';
import { makeLink, verifyLink } from '../../src/storage/links.ts';
import type { Account, CreateJob, HttpStore, Idempotency, ListJobs } from '../../src/store/types.ts';
import { checkResponse, descriptionText } from './http-contract.ts';

export const pepper = 'a pepper for tests';
export const linkSecret = 'a link secret for tests';
export const publicUrl = 'http://framelift.test';

export const source: SourceFacts = {
  container: 'mov,mp4,m4a,3gp,3g2,mj2',
  video_codec: 'h264',
  audio_codec: 'aac',
  width: 960,
  height: 540,
  frame_rate: 29.97,
  duration: 41.375,
  size_bytes: 5_242_880,
};

export function fakeAccount(overrides: Partial<Account> = {}): Account {
  return {
    id: newId('acct'),
    name: 'Test',
    plan: 'pay-as-you-go',
    approvalStatus: 'approved',
    credits: 10_000,
    sandboxCredits: 10_000,
    retentionDays: 30,
    createdAt: new Date(),
    ...overrides,
  };
}

/** In memory, with the store's contract: lanes and accounts apart, idempotency, no overdraft. */
export class FakeStore implements HttpStore {
  readonly accountsById = new Map<string, Account>();
  readonly keysByHash = new Map<string, { id: string; accountId: string; lane: Lane; tier: Tier }>();
  readonly jobsById = new Map<string, JobRecord & { accountId: string }>();
  readonly idempotencyKeys = new Map<string, { fingerprint: string; jobId: string }>();
  /** how often a key was looked up */
  lookUps = 0;
  healthy = true;
  /** thrown by every query when set */
  failure: Error | undefined;

  addKey(lane: Lane, tier: Tier, account: Account): string {
    this.accountsById.set(account.id, account);
    const { key } = generateApiKey(lane);
    this.keysByHash.set(hashApiKey(key, pepper).toString('hex'), {
      id: newId('key'),
      accountId: account.id,
      lane,
      tier,
    });
    return key;
  }

  #check(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  readonly keys: HttpStore['keys'] = {
    authenticate: async (hash) => {
      this.lookUps += 1;
      this.#check();
      const key = this.keysByHash.get(hash.toString('hex'));
      if (key === undefined) return null;
      return { keyId: key.id, lane: key.lane, tier: key.tier, account: this.accountsById.get(key.accountId)! };
    },
  };

  readonly accounts: HttpStore['accounts'] = {
    get: async (id) => {
      this.#check();
      return this.accountsById.get(id) ?? null;
    },
  };

  #visible(accountId: string, lane: Lane, id: string): (JobRecord & { accountId: string }) | null {
    this.#check();
    const job = this.jobsById.get(id);
    return job !== undefined && job.accountId === accountId && job.lane === lane ? job : null;
  }

  #replay(accountId: string, lane: Lane, { key, fingerprint }: Idempotency): JobRecord | null {
    const used = this.idempotencyKeys.get(JSON.stringify([accountId, lane, key]));
    if (used === undefined) return null;
    if (used.fingerprint !== fingerprint) {
      throw new FrameliftError('idempotency_key_reused', 'This Idempotency-Key was used with another request body.');
    }
    return this.jobsById.get(used.jobId) ?? null;
  }

  #create(input: CreateJob): { job: JobRecord; replayed: boolean } {
    this.#check();
    const { account, lane, idempotency } = input;
    const replay = idempotency === null ? null : this.#replay(account.id, lane, idempotency);
    if (replay !== null) return { job: replay, replayed: true };
    const owner = this.accountsById.get(account.id)!;
    if (owner.credits < input.credits) {
      throw new FrameliftError(
        'insufficient_credits',
        `The job costs ${input.credits} and there are ${owner.credits}.`,
      );
    }
    owner.credits -= input.credits;
    const job = fakeJob({ ...input, accountId: account.id, creditsCharged: input.credits });
    this.jobsById.set(job.id, job);
    if (idempotency !== null) {
      const { key, fingerprint } = idempotency;
      this.idempotencyKeys.set(JSON.stringify([account.id, lane, key]), { fingerprint, jobId: job.id });
    }
    return { job, replayed: false };
  }

  #list({ accountId, lane, limit, startingAfter, status }: ListJobs) {
    this.#check();
    const all = [...this.jobsById.values()]
      .filter((job) => job.accountId === accountId && job.lane === lane && (status ?? job.status) === job.status)
      .filter((job) => startingAfter === undefined || job.id < startingAfter)
      .sort((a, b) => (a.id < b.id ? 1 : -1));
    return { jobs: all.slice(0, limit), hasMore: all.length > limit };
  }

  readonly jobs: HttpStore['jobs'] = {
    findReplay: async (accountId, lane, idempotency) => this.#replay(accountId, lane, idempotency),
    create: async (input) => this.#create(input),
    get: async (accountId, lane, id) => this.#visible(accountId, lane, id),
    list: async (query) => this.#list(query),
    outputKey: async (id) => (this.jobsById.get(id)?.output ? `outputs/${id}.mp4` : null),
    delete: async (accountId, lane, id) => {
      const job = this.#visible(accountId, lane, id);
      if (job === null) return null;
      this.jobsById.delete(id);
      return { id, deletedAt: new Date(), refundedCredits: job.status === 'queued' ? job.creditsCharged : 0 };
    },
  };

  ping = async () => this.healthy;
}

export function fakeJob(overrides: Partial<JobRecord> & { accountId: string }): JobRecord {
  const createdAt = new Date();
  const job: JobRecord = {
    id: newId('job'),
    lane: 'live',
    tier: 'standard',
    status: 'queued',
    resolution: '1080p',
    videoUrl: 'https://media.example.com/a.mp4',
    webhookUrl: null,
    model: null,
    enhancements: {},
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
    createdAt,
    startedAt: null,
    finishedAt: null,
    expiresAt: new Date(createdAt.getTime() + 30 * 86_400_000),
    ...overrides,
  };
  return job;
}

/** The part of a finished job that a queued one lacks. */
export function finished(): Partial<JobRecord> {
  return {
    status: 'done',
    progress: 1,
    etaSeconds: 0,
    source,
    output: { width: 1920, height: 1080, size_bytes: 10, sha256: '0'.repeat(64) },
    applied: { denoise: 0.2, sharpen: 0.4, face_restoration: 0, adaptive_contrast: 0.3, model: 'none' },
    startedAt: new Date(),
    finishedAt: new Date(),
  };
}

/** Objects in memory, with the real signed links. */
export function fakeStorage(objects: Map<string, Buffer>): FilesystemStorage & { opened: number } {
  const unused = async () => {
    throw new Error('http does not use this');
  };
  return {
    kind: 'filesystem',
    opened: 0,
    putFile: unused,
    getFile: unused,
    destroy: unused,
    isAbsent: unused,
    list: () => {
      throw new Error('http does not use this');
    },
    stat: async (key) => {
      const object = objects.get(key);
      return object === undefined ? null : { size: object.length };
    },
    async open(key, range) {
      this.opened += 1;
      const object = objects.get(key);
      if (object === undefined) return null;
      return Readable.from([range === undefined ? object : object.subarray(range.start, range.end + 1)]);
    },
    link: async (key, { fileName, contentType, expiresInS }) => {
      const expires = Math.ceil(Date.now() / 1000) + expiresInS;
      return { url: makeLink(publicUrl, linkSecret, { key, expires, fileName, contentType }), expiresInS };
    },
    verifyLink: (query) => verifyLink(linkSecret, query, Date.now()),
  };
}

export interface ApiOptions {
  measure?: HttpDeps['measure'];
  options?: HttpOptions;
  account?: Partial<Account>;
}

export interface RequestOptions {
  method?: string;
  key?: string | null;
  headers?: Record<string, string>;
  /** sent as JSON */
  json?: unknown;
  /** sent as it is */
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
}

/** The API with one approved account and a key of each kind; `request` holds every response against the contract. */
export function makeApi({ measure, options, account: overrides }: ApiOptions = {}) {
  const store = new FakeStore();
  const objects = new Map<string, Buffer>();
  const storage = fakeStorage(objects);
  const account = fakeAccount(overrides);
  const keys = {
    live: store.addKey('live', 'standard', account),
    liveSecure: store.addKey('live', 'secure', account),
    test: store.addKey('test', 'standard', account),
    testSecure: store.addKey('test', 'secure', account),
  };
  const logged: { level: string; facts: object; message: string }[] = [];
  const log = (level: string) => (facts: object, message: string) => void logged.push({ level, facts, message });
  const measured: string[] = [];
  const app = buildApp({
    store,
    storage,
    measure: (url, signal) => {
      measured.push(url);
      return measure === undefined ? Promise.resolve(source) : measure(url, signal);
    },
    keyPepper: pepper,
    description: descriptionText,
    logger: { debug: log('debug'), info: log('info'), error: log('error') },
    ...(options === undefined ? {} : { options }),
  });

  async function request(
    path: string,
    { method = 'GET', key = keys.live, headers = {}, json, body }: RequestOptions = {},
  ) {
    const all = new Headers(headers);
    if (key !== null && !all.has('Authorization')) all.set('Authorization', `Bearer ${key}`);
    if (json !== undefined && !all.has('Content-Type')) all.set('Content-Type', 'application/json');
    const payload = json === undefined ? body : JSON.stringify(json);
    const init = { method, headers: all, ...(payload === undefined ? {} : { body: payload, duplex: 'half' }) };
    const response = await app.request(path, init as RequestInit);
    await checkResponse(method, new URL(path, publicUrl).pathname, response);
    return response;
  }

  return { app, store, storage, objects, account, keys, logged, measured, request };
}

export type Api = ReturnType<typeof makeApi>;

export interface ErrorBody {
  error: { code: string; message: string; type: string; param?: string; request_id?: string };
}

export async function errorOf(response: Response): Promise<ErrorBody['error']> {
  return ((await response.json()) as ErrorBody).error;
}
