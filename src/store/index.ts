/** The store: one file of queries per aggregate, behind one object. */
import { sql } from './orm.ts';
import { orAfter } from '../domain/or-after.ts';
import type { SecretCipher } from '../domain/secret-cipher.ts';
import { createAccountTurns } from './account-turns.ts';
import { accountQueries } from './accounts.ts';
import { auditQueries } from './audit.ts';
import { certificateQueries } from './certificates.ts';
import { consoleJobQueries } from './console-jobs.ts';
import { connect } from './database.ts';
import { deliveryQueries } from './deliveries.ts';
import { jobQueries, pollJobs } from './jobs.ts';
import { keyQueries } from './keys.ts';
import { leaseQueries } from './leases.ts';
import { ledgerCheckQueries } from './ledger-checks.ts';
import { ledgerCheck, ledgerSums, type LedgerSums, type LedgerViolation } from './ledger.ts';
import { machineSpeedQueries } from './machine-speeds.ts';
import { machineTimeQueries } from './machine-time.ts';
import { objectQueries } from './objects.ts';
import { operationQueries } from './operations.ts';
import { passwordLinkQueries } from './password-links.ts';
import { rateLimitQueries } from './rate-limits.ts';
import { peopleQueries } from './people.ts';
import { requestLogQueries } from './request-log.ts';
import type { HttpStore } from './types.ts';
import { segmentQueries } from './segments.ts';
import { sessionQueries } from './sessions.ts';
import { signingKeyQueries } from './signing-keys.ts';
import { statementQueries } from './statements.ts';
import { uploadQueries } from './uploads.ts';
import { twoFactorQueries } from './two-factor.ts';
import { userQueries } from './users.ts';
import { JobFeed, type JobFeedOptions } from './job-feed.ts';
import { webhookEndpointQueries } from './webhook-endpoints.ts';
import { webhookSecretQueries } from './webhook-secrets.ts';
import { workerQueries } from './workers.ts';

export type { CreateAccount, CreditMovement } from './accounts.ts';
export type { DestroyedJob, DestroyedObject } from './certificates.ts';
export type { ConsoleJobDetail, JobFile } from './console-jobs.ts';
export type { DeliveryAttempt, DeliveryOutcome, DeliveryRecord, DueDelivery } from './deliveries.ts';
export type { CreateKey, KeyRecord } from './keys.ts';
export { type Fence, LeaseLost } from './fence.ts';
export type { CrashedJob, Lease, FinishedJob, JobFailure, RetryLater } from './leases.ts';
export type { LedgerViolation } from './ledger.ts';
export { assertNoneFailed, type Batch, certificateCode, defaultSilenceTimeoutS, isDatabaseFault, keepAliveS, reasonOf } from './database.ts';
export { parseConnectionUrl, pgOptions } from './connection-url.ts';
export { migrate, NoTables } from './migrate.ts';
export { setClientSettings } from './session-settings.ts';
export { hasEncryptedSecrets } from './pepper-use.ts';
export type { AccountLoad } from './machine-time.ts';
export { queueSchema, taskOfJoin, taskOfSegment, taskOfWhole } from './queue.ts';
export { closeWhenSilent } from './dead-connections.ts';
export { NotificationListener } from './notification-listener.ts';
export type { StoredFile } from './objects.ts';
export type { FailureRecord, OperatorAccount, Overview, WorkerRecord } from './operations.ts';
export type { DeviceClass, SegmentResult, Step, WorkerDevice } from './schema.ts';
export type { InvitationRecord, PersonRecord } from './people.ts';
export type { SegmentFence } from './segment-rows.ts';
export type { Piece, SegmentLease } from './segments.ts';
export type { ConsoleIdentity, SessionRecord } from './sessions.ts';
export { secondFactorRequired, sessionDays, sessionIdleHours } from './sessions.ts';
export type { CertificateRecord } from './statements.ts';
export type { ConsoleUser } from './types.ts';
export type { UnverifiedUpload, UploadedFile } from './uploads.ts';
export type { SigningSecrets } from './webhook-secrets.ts';
export type { WorkerFacts } from './workers.ts';

export interface StoreOptions {
  /** postgres:// URL of a migrated database */
  url: string;
  /** the same database, for LISTEN, if `url` leads to a pooler without sessions */
  sessionUrl?: string | undefined;
  /** largest number of connections, default 10 */
  maxConnections?: number | undefined;
  /** a connection is replaced after so many seconds without an answer; default 60 */
  silenceTimeoutS?: number | undefined;
  /** interval for polling watched jobs, ms */
  feed?: Pick<JobFeedOptions, 'pollIntervalMs'>;
  /** encrypts the accounts' webhook secrets; without it accounts have none */
  cipher?: SecretCipher;
}

export interface Store extends HttpStore {
  accounts: ReturnType<typeof accountQueries>;
  keys: ReturnType<typeof keyQueries>;
  jobs: ReturnType<typeof jobQueries>;
  leases: ReturnType<typeof leaseQueries>;
  people: ReturnType<typeof peopleQueries>;
  passwordLinks: ReturnType<typeof passwordLinkQueries>;
  segments: ReturnType<typeof segmentQueries>;
  objects: ReturnType<typeof objectQueries>;
  uploads: ReturnType<typeof uploadQueries>;
  workers: ReturnType<typeof workerQueries>;
  machineSpeeds: ReturnType<typeof machineSpeedQueries>;
  machineTime: ReturnType<typeof machineTimeQueries>;
  rateLimits: ReturnType<typeof rateLimitQueries>;
  audit: ReturnType<typeof auditQueries>;
  certificates: ReturnType<typeof certificateQueries>;
  signingKeys: ReturnType<typeof signingKeyQueries>;
  requestLog: ReturnType<typeof requestLogQueries>;
  webhookEndpoints: ReturnType<typeof webhookEndpointQueries>;
  webhookSecrets: ReturnType<typeof webhookSecretQueries>;
  deliveries: ReturnType<typeof deliveryQueries>;
  twoFactor: ReturnType<typeof twoFactorQueries>;
  users: ReturnType<typeof userQueries> & ReturnType<typeof sessionQueries>;
  consoleJobs: ReturnType<typeof consoleJobQueries>;
  statements: ReturnType<typeof statementQueries>;
  operations: ReturnType<typeof operationQueries>;
  /** the scheduled check and its last result */
  ledgerChecks: ReturnType<typeof ledgerCheckQueries>;
  /** violations of the ledger's rules; empty if it is consistent */
  ledgerCheck(): Promise<LedgerViolation[]>;
  ledgerSums(): Promise<LedgerSums>;
  close(): Promise<void>;
}

/** Probes of orchestrators wait for five seconds or so. */
const pingTimeoutMs = 3000;

export function createStore(options: StoreOptions): Store {
  const {
    db,
    sql: client,
    close,
  } = connect({
    url: options.url,
    ...(options.maxConnections === undefined ? {} : { max: options.maxConnections }),
    isPooled: options.sessionUrl !== undefined,
    silenceTimeoutS: options.silenceTimeoutS,
  });
  const feed = new JobFeed({ url: options.sessionUrl ?? options.url, poll: (jobIds) => pollJobs(db, jobIds), silenceTimeoutS: options.silenceTimeoutS, ...options.feed });
  const inTurn = createAccountTurns();
  return {
    accounts: accountQueries(db, options.cipher),
    keys: keyQueries(db, client),
    jobs: jobQueries(db, client, feed, inTurn),
    leases: leaseQueries(db),
    people: peopleQueries(db),
    passwordLinks: passwordLinkQueries(db),
    segments: segmentQueries(db),
    objects: objectQueries(db),
    uploads: uploadQueries(db, inTurn),
    workers: workerQueries(db),
    machineSpeeds: machineSpeedQueries(db),
    machineTime: machineTimeQueries(db),
    rateLimits: rateLimitQueries(client),
    audit: auditQueries(db, inTurn),
    certificates: certificateQueries(db),
    signingKeys: signingKeyQueries(db),
    requestLog: requestLogQueries(db),
    webhookEndpoints: webhookEndpointQueries(db, options.cipher),
    webhookSecrets: webhookSecretQueries(db, options.cipher),
    deliveries: deliveryQueries(db),
    twoFactor: twoFactorQueries(db, options.cipher),
    users: { ...userQueries(db, options.cipher), ...sessionQueries(db, client) },
    consoleJobs: consoleJobQueries(db, feed),
    statements: statementQueries(db),
    operations: operationQueries(db),
    ledgerChecks: ledgerCheckQueries(db),
    ledgerCheck: () => ledgerCheck(db),
    ledgerSums: () => ledgerSums(db),
    ping() {
      const asked = db.execute(sql`SELECT 1`).then(
        () => true,
        () => false,
      );
      return orAfter(asked, pingTimeoutMs, () => false);
    },
    async close() {
      await feed.close();
      await close();
    },
  };
}
