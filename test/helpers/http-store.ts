/** A store in memory for tests of the API. */
import { generateApiKey, hashApiKey } from '../../src/domain/api-key.ts';
import { type AuditEntry, genesisHash, hashAuditEntry } from '../../src/domain/audit.ts';
import { ReelmendError } from '../../src/domain/errors.ts';
import { newId } from '../../src/domain/ids.ts';
import type { JobRecord, Mode, Tier } from '../../src/domain/job.ts';
import { isFinal } from '../../src/domain/transitions.ts';
import type {
  Account,
  CertificateState,
  CreateJob,
  HttpStore,
  Idempotency,
  ListJobs,
  RateClass,
  RatePolicy,
  RateVerdict,
} from '../../src/store/types.ts';

export const pepper = 'a pepper for tests';

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

/** In memory, with the store's contract: modes and accounts apart, idempotency, no overdraft. */
export class FakeStore implements HttpStore {
  readonly accountsById = new Map<string, Account>();
  readonly keysByHash = new Map<string, { id: string; accountId: string; mode: Mode; tier: Tier }>();
  readonly jobsById = new Map<string, JobRecord & { accountId: string }>();
  readonly auditLog: AuditEntry[] = [];
  readonly certificatesByJob = new Map<string, { accountId: string; mode: Mode; found: CertificateState }>();
  /** calls that the limiter was asked for, and what it answers when set */
  readonly taken: ({ keyId: string; rateClass: RateClass } & RatePolicy)[] = [];
  verdict: RateVerdict | undefined;
  /** ends the wait of every watch of a job */
  readonly #watchers = new Set<() => void>();
  readonly idempotencyKeys = new Map<string, { fingerprint: string; jobId: string }>();
  /** how often a key was looked up */
  lookUps = 0;
  healthy = true;
  /** thrown by every query when set */
  failure: Error | undefined;

  addKey(mode: Mode, tier: Tier, account: Account): string {
    this.accountsById.set(account.id, account);
    const { key } = generateApiKey(mode);
    this.keysByHash.set(hashApiKey(key, pepper).toString('hex'), {
      id: newId('key'),
      accountId: account.id,
      mode,
      tier,
    });
    return key;
  }

  revokeKey(key: string): void {
    this.keysByHash.delete(hashApiKey(key, pepper).toString('hex'));
  }

  #append(event: { accountId: string; kind: string; jobId?: string; data?: Record<string, unknown> }): void {
    const { accountId, kind, jobId = null, data = {} } = event;
    const log = this.auditLog.filter((entry) => entry.account_id === accountId);
    const entry = {
      account_id: accountId,
      sequence: log.length + 1,
      id: newId('evt'),
      kind,
      job_id: jobId,
      at: new Date().toISOString(),
      data,
      previous_hash: log.at(-1)?.hash ?? genesisHash,
    };
    this.auditLog.push({ ...entry, hash: hashAuditEntry(entry) });
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
      return { keyId: key.id, mode: key.mode, tier: key.tier, account: this.accountsById.get(key.accountId)! };
    },
    usable: async (keyIds) => {
      this.#check();
      const known = new Set([...this.keysByHash.values()].map(({ id }) => id));
      return new Set(keyIds.filter((id) => known.has(id)));
    },
  };

  readonly accounts: HttpStore['accounts'] = {
    get: async (id) => {
      this.#check();
      return this.accountsById.get(id) ?? null;
    },
    setRetention: async (id, days, actor) => {
      this.#check();
      const account = this.accountsById.get(id);
      if (account === undefined || account.retentionDays === days) return account ?? null;
      const data = { retention_days: days, previous_days: account.retentionDays, ...actor };
      this.#append({ accountId: id, kind: 'retention.changed', data });
      account.retentionDays = days;
      return account;
    },
  };

  readonly rateLimits: HttpStore['rateLimits'] = {
    take: async (keyId, rateClass, policy) => {
      this.#check();
      const { limit, windowS } = policy;
      this.taken.push({ keyId, rateClass, ...policy });
      const used = this.taken.filter((call) => call.keyId === keyId && call.rateClass === rateClass).length;
      return this.verdict ?? { allowed: true, remaining: limit - used, resetS: (used * windowS) / limit, retryAfterS: 0 };
    },
    giveBack: async () => this.#check(),
    forget: async () => this.#check(),
  };

  readonly audit: HttpStore['audit'] = {
    list: async ({ accountId, limit, startingAfter, jobId }) => {
      this.#check();
      const log = this.auditLog.filter((entry) => entry.account_id === accountId).reverse();
      const wanted = log
        .filter((entry) => startingAfter === undefined || entry.sequence < startingAfter)
        .filter((entry) => jobId === undefined || entry.job_id === jobId);
      const head = { size: log.length, hash: log[0]?.hash ?? genesisHash };
      return { entries: wanted.slice(0, limit), hasMore: wanted.length > limit, head };
    },
    record: async (event) => {
      this.#check();
      this.#append(event);
    },
  };

  readonly certificates: HttpStore['certificates'] = {
    get: async (accountId, mode, jobId) => {
      this.#check();
      const kept = this.certificatesByJob.get(jobId);
      return kept !== undefined && kept.accountId === accountId && kept.mode === mode ? kept.found : null;
    },
  };

  /** Changes a job, or removes it (null), and tells who watches. */
  change(id: string, change: Partial<JobRecord> | null): void {
    if (change === null) this.jobsById.delete(id);
    else this.jobsById.set(id, { ...this.jobsById.get(id)!, ...change });
    for (const wake of this.#watchers) wake();
  }

  get watching(): number {
    return this.#watchers.size;
  }

  async *#watch(accountId: string, mode: Mode, id: string, signal: AbortSignal): AsyncGenerator<JobRecord> {
    let changed = Promise.withResolvers<void>();
    const wake = () => changed.resolve();
    this.#watchers.add(wake);
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        const job = this.#visible(accountId, mode, id);
        if (job === null) return;
        yield job;
        if (isFinal(job.status)) return;
        await changed.promise;
        changed = Promise.withResolvers<void>();
      }
    } finally {
      this.#watchers.delete(wake);
    }
  }

  #visible(accountId: string, mode: Mode, id: string): (JobRecord & { accountId: string }) | null {
    this.#check();
    const job = this.jobsById.get(id);
    return job !== undefined && job.accountId === accountId && job.mode === mode ? job : null;
  }

  #replay(accountId: string, mode: Mode, { key, fingerprint }: Idempotency): JobRecord | null {
    const used = this.idempotencyKeys.get(JSON.stringify([accountId, mode, key]));
    if (used === undefined) return null;
    if (used.fingerprint !== fingerprint) {
      throw new ReelmendError('idempotency_key_reused', 'This Idempotency-Key was used with another request body.');
    }
    return this.jobsById.get(used.jobId) ?? null;
  }

  #create(input: CreateJob): { job: JobRecord; replayed: boolean } {
    this.#check();
    const { account, mode, idempotency } = input;
    const replay = idempotency === null ? null : this.#replay(account.id, mode, idempotency);
    if (replay !== null) return { job: replay, replayed: true };
    const owner = this.accountsById.get(account.id)!;
    if (owner.credits < input.credits) {
      throw new ReelmendError(
        'insufficient_credits',
        `The job costs ${input.credits} and there are ${owner.credits}.`,
      );
    }
    owner.credits -= input.credits;
    const job = fakeJob({ ...input, accountId: account.id, creditsCharged: input.credits });
    this.jobsById.set(job.id, job);
    if (idempotency !== null) {
      const { key, fingerprint } = idempotency;
      this.idempotencyKeys.set(JSON.stringify([account.id, mode, key]), { fingerprint, jobId: job.id });
    }
    return { job, replayed: false };
  }

  #list({ accountId, mode, limit, startingAfter, status }: ListJobs) {
    this.#check();
    const all = [...this.jobsById.values()]
      .filter((job) => job.accountId === accountId && job.mode === mode && (status ?? job.status) === job.status)
      .filter((job) => startingAfter === undefined || job.id < startingAfter)
      .sort((a, b) => (a.id < b.id ? 1 : -1));
    return { jobs: all.slice(0, limit), hasMore: all.length > limit };
  }

  readonly jobs: HttpStore['jobs'] = {
    findReplay: async (accountId, mode, idempotency) => this.#replay(accountId, mode, idempotency),
    create: async (input) => this.#create(input),
    get: async (accountId, mode, id) => this.#visible(accountId, mode, id),
    watch: (accountId, mode, id, signal) => this.#watch(accountId, mode, id, signal),
    list: async (query) => this.#list(query),
    outputKey: async (id) => (this.jobsById.get(id)?.output ? `outputs/${id}.mp4` : null),
    delete: async (accountId, mode, id) => {
      const job = this.#visible(accountId, mode, id);
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
    mode: 'live',
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
