/** Converts the store's records to the types of the console's contract. */
import type {
  ConsoleAccount,
  ConsoleDelivery,
  ConsoleDeliveryAttempt,
  ConsoleJob,
  ConsoleKey,
  OperatorAccount,
  OperatorWorker,
} from '../../contract/types.gen.ts';
import type { JobRecord } from '../../domain/job.ts';
import { sourceName } from '../../domain/job-words.ts';
import { type EffectiveQuotas, quotaNames } from '../../domain/quotas.ts';
import { testCredits } from '../../domain/test-mode.ts';
import type {
  DeliveryRecord,
  KeyRecord,
  OperatorAccount as AccountWithPeople,
  WorkerDevice,
  WorkerRecord,
} from '../../store/index.ts';
import type { Account } from '../../store/types.ts';
import type { HttpDeps } from '../deps.ts';
import { effectiveQuotas, etaOf, serializeJobError, timestamp } from '../serialize.ts';

export function serializeConsoleAccount(account: Account): ConsoleAccount {
  return {
    id: account.id,
    name: account.name,
    plan: account.plan,
    approval_status: account.approvalStatus,
    credits: account.credits,
    test_credits: testCredits,
    retention_days: account.retentionDays,
    created_at: account.createdAt.toISOString(),
  };
}

export function serializeOperatorAccount(deps: Pick<HttpDeps, 'options'>, account: AccountWithPeople): OperatorAccount {
  const people = account.people.map(({ id, email, role, operator, twoFactor }) => ({ id, email, role, operator, two_factor: twoFactor }));
  const own = Object.fromEntries(quotaNames.map((name) => [name, account.quotas[name] ?? null])) as EffectiveQuotas;
  return {
    ...serializeConsoleAccount(account),
    emails: people.map(({ email }) => email),
    people,
    active_keys: account.activeKeys,
    quotas: own,
    default_quotas: effectiveQuotas(deps, { quotas: {} }),
  };
}

function keyState({ revokedAt, expiresAt }: KeyRecord, now: Date): ConsoleKey['state'] {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return 'active';
  return expiresAt <= now ? 'expired' : 'expiring';
}

export function serializeKey(key: KeyRecord, now = new Date()): ConsoleKey {
  return {
    id: key.id,
    mode: key.mode,
    tier: key.tier,
    name: key.name,
    access: key.access,
    last_four: key.lastFour,
    state: keyState(key, now),
    created_at: key.createdAt.toISOString(),
    last_used_at: timestamp(key.lastUsedAt),
    expires_at: timestamp(key.expiresAt),
    revoked_at: timestamp(key.revokedAt),
  };
}

export function serializeConsoleJob(deps: Pick<HttpDeps, 'publicUrl'>, job: JobRecord): ConsoleJob {
  return {
    id: job.id,
    mode: job.mode,
    tier: job.tier,
    status: job.status,
    resolution: job.resolution,
    source_name: sourceName(job),
    progress: job.progress,
    eta_seconds: etaOf(job),
    duration_seconds: job.durationSeconds,
    credits_charged: job.creditsCharged,
    credits_refunded: job.creditsRefunded,
    created_at: job.createdAt.toISOString(),
    started_at: timestamp(job.startedAt),
    finished_at: timestamp(job.finishedAt),
    expires_at: job.expiresAt.toISOString(),
    error: serializeJobError(deps, job),
  };
}

type Attempt = DeliveryRecord['attempts'][number];

export function serializeAttempt({ number, at, durationMs, status, failure, responseBody }: Attempt): ConsoleDeliveryAttempt {
  return { number, at: at.toISOString(), duration_ms: durationMs, status, failure, response_body: responseBody };
}

export function serializeDelivery(delivery: DeliveryRecord): ConsoleDelivery {
  const last = delivery.attempts.at(-1);
  return {
    id: delivery.id,
    job_id: delivery.jobId,
    endpoint_id: delivery.endpointId,
    event: delivery.event,
    url: delivery.url,
    state: delivery.state,
    failed_attempts: delivery.failedAttempts,
    next_at: timestamp(delivery.nextAt),
    created_at: delivery.createdAt.toISOString(),
    settled_at: timestamp(delivery.settledAt),
    last_attempt: last === undefined ? null : serializeAttempt(last),
  };
}

/** Copies the fields of the contract only: a newer worker may have reported more. */
function serializeDevice(device: WorkerDevice): OperatorWorker['devices'][number] {
  const { id, name, usable, reason, threads, simd, encoder, inference } = device;
  return { id, name, usable, reason, threads, simd, encoder, inference };
}

export function serializeWorker(worker: WorkerRecord): OperatorWorker {
  return {
    id: worker.id,
    host: worker.host,
    started_at: worker.startedAt.toISOString(),
    last_heartbeat_at: worker.heartbeatAt.toISOString(),
    alive: worker.alive,
    concurrency: worker.concurrency,
    devices: worker.devices.map(serializeDevice),
    jobs: worker.jobs.map(({ id, step, progress, leaseExpiresAt }) => ({
      id,
      step,
      progress,
      lease_expires_at: leaseExpiresAt.toISOString(),
    })),
  };
}
