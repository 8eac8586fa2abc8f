-- Tables and indexes. Functions and triggers are in functions/, one file each.

-- Accounts and their API keys -------------------------------------------------------------------------------------

CREATE TABLE accounts (
  id text PRIMARY KEY CHECK (id ~ '^acct_[0-9a-hjkmnp-tv-z]{26}$'),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  plan text NOT NULL DEFAULT 'standard',
  approval_status text NOT NULL DEFAULT 'pending' CHECK (approval_status IN ('pending', 'approved', 'rejected')),
  -- live credits, 1 credit = 1 US cent; always the sum of the account's ledger entries
  credits bigint NOT NULL DEFAULT 0 CHECK (credits >= 0),
  retention_days integer NOT NULL DEFAULT 30 CHECK (retention_days BETWEEN 1 AND 365),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- a closed account has no keys, no users and no jobs; its ledger, audit log and certificates stay
  closed_at timestamptz
);
CREATE INDEX accounts_state ON accounts (approval_status, id DESC);
CREATE INDEX accounts_closed ON accounts (id) WHERE closed_at IS NOT NULL;

CREATE TABLE api_keys (
  id text PRIMARY KEY CHECK (id ~ '^key_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts,
  -- HMAC-SHA-256 under the server's pepper; the key itself is never stored
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  tier text NOT NULL CHECK (tier IN ('standard', 'secure')),
  last_four text NOT NULL CHECK (length(last_four) = 4),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
CREATE INDEX api_keys_account ON api_keys (account_id);

-- Quotas of calls (functions/take_rate_limit.sql): one row per key and class of calls, and one per account and class.
-- Unlogged: a crash of the database forgets how much of each quota was used, which harms nobody.
CREATE UNLOGGED TABLE rate_limits (
  -- id of a key or an account, or a network address
  subject text NOT NULL,
  class text NOT NULL,
  -- theoretical arrival time: when the quota is full again; epoch seconds
  tat double precision NOT NULL,
  -- time of the last call; epoch seconds
  at double precision NOT NULL,
  PRIMARY KEY (subject, class)
) WITH (fillfactor = 50);

-- Jobs and their stored objects -----------------------------------------------------------------------------------

CREATE TABLE jobs (
  -- bytewise order: ids sort by time
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^job_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts,
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  tier text NOT NULL CHECK (tier IN ('standard', 'secure')),
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'done', 'error')),
  resolution text NOT NULL CHECK (resolution IN ('1080p', '4k')),
  -- dropped at deletion: a deleted job keeps no URL of the customer's
  video_url text,
  webhook_url text,
  model text,
  enhancements jsonb NOT NULL DEFAULT '{}',
  metadata jsonb NOT NULL DEFAULT '{}',
  duration_seconds integer NOT NULL CHECK (duration_seconds BETWEEN 1 AND 600),
  credits_charged bigint NOT NULL CHECK (credits_charged >= 0),
  credits_refunded bigint NOT NULL DEFAULT 0,
  progress double precision NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
  eta_seconds integer CHECK (eta_seconds >= 0),
  source jsonb,
  output jsonb,
  applied jsonb,
  error_code text,
  error_message text,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz NOT NULL,
  deleted_at timestamptz,
  deleted_by text CHECK (deleted_by IN ('customer', 'retention', 'operator')),
  -- the next step to run
  step text NOT NULL CHECK (step IN ('ingest', 'enhance', 'test_mode')),
  -- W3C Trace Context of the request that created the job, if that was traced
  traceparent text CHECK (length(traceparent) <= 128),
  original_key text,
  output_key text,
  -- fencing token: grows with every lease; a worker that commits must name the current one
  attempt integer NOT NULL DEFAULT 0,
  -- leases that expired, and failures that were retried
  crashes integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  -- since when every disk has been too full for the job, although no other job was running; null otherwise
  insufficient_disk_since timestamptz,
  -- since when the job has waited for disk space, behind other jobs or not; null while it does not wait
  disk_wait_since timestamptz,
  lease_owner text,
  lease_expires_at timestamptz,
  CHECK (credits_refunded BETWEEN 0 AND credits_charged),
  CHECK (mode = 'live' OR credits_charged = 0),
  CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL)),
  CHECK ((status = 'error') = (error_code IS NOT NULL)),
  CHECK ((status IN ('done', 'error')) = (finished_at IS NOT NULL)),
  CHECK (status <> 'done' OR output IS NOT NULL),
  CHECK ((deleted_at IS NULL) = (deleted_by IS NULL)),
  CHECK ((deleted_at IS NULL) = (video_url IS NOT NULL)),
  CHECK (deleted_at IS NULL OR (webhook_url IS NULL AND metadata = '{}'))
);
CREATE INDEX jobs_listed ON jobs (account_id, mode, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
CREATE INDEX jobs_open ON jobs (created_at) WHERE status IN ('queued', 'running') AND deleted_at IS NULL;
CREATE INDEX jobs_retention ON jobs (expires_at) WHERE deleted_at IS NULL;
CREATE INDEX jobs_failed ON jobs (finished_at DESC, id DESC) WHERE status = 'error';
-- jobs whose original is stored and whose result will need disk space
CREATE INDEX jobs_pending_enhancement ON jobs (id) WHERE step = 'enhance' AND status = 'running' AND deleted_at IS NULL;
-- deleted jobs of the Secure tier, to find those that wait for their certificate
CREATE INDEX jobs_certified ON jobs (deleted_at) WHERE deleted_at IS NOT NULL AND tier = 'secure';

-- Every key is registered here before the file is stored, so that the storage holds no unknown files.
CREATE TABLE objects (
  key text PRIMARY KEY,
  job_id text NOT NULL REFERENCES jobs,
  attempt integer NOT NULL,
  role text NOT NULL CHECK (role IN ('original', 'output')),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'stored', 'destroyed')),
  size_bytes bigint,
  sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  version text,
  created_at timestamptz NOT NULL DEFAULT now(),
  stored_at timestamptz,
  -- when the storage itself answered that the key is absent
  destroyed_at timestamptz,
  CHECK (state <> 'stored' OR (size_bytes IS NOT NULL AND sha256 IS NOT NULL AND stored_at IS NOT NULL)),
  CHECK ((state = 'destroyed') = (destroyed_at IS NOT NULL))
);
CREATE INDEX objects_of_job ON objects (job_id);
CREATE INDEX objects_present ON objects (job_id) WHERE state <> 'destroyed';

CREATE TABLE idempotency_keys (
  account_id text NOT NULL REFERENCES accounts,
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  -- SHA-256 of the canonical request body
  fingerprint text NOT NULL,
  job_id text NOT NULL REFERENCES jobs DEFERRABLE INITIALLY DEFERRED,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, mode, key)
);
CREATE INDEX idempotency_keys_job ON idempotency_keys (job_id);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Worker processes that are alive. One that sends no heartbeats loses its queue locks and its scratch folder.
CREATE TABLE workers (
  id text PRIMARY KEY,
  -- the pool names under which Graphile Worker locks queue rows for this process
  pools text[] NOT NULL DEFAULT '{}',
  started_at timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  -- facts that the process reports about itself
  host text,
  concurrency integer CHECK (concurrency > 0),
  devices jsonb NOT NULL DEFAULT '[]'
);

-- Double-entry ledger: a transfer moves credits between a customer and one of the service's own books --------------

CREATE TABLE ledger_transfers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- withdrawal: an operator takes back credits that were granted
  kind text NOT NULL CHECK (kind IN ('grant', 'withdrawal', 'charge', 'refund')),
  account_id text NOT NULL REFERENCES accounts,
  job_id text REFERENCES jobs,
  credits bigint NOT NULL CHECK (credits > 0),
  note text NOT NULL DEFAULT '',
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- a job is charged once and refunded once
  UNIQUE (job_id, kind),
  CHECK ((kind IN ('grant', 'withdrawal')) = (job_id IS NULL))
);
CREATE INDEX ledger_transfers_account ON ledger_transfers (account_id, id);
CREATE INDEX ledger_transfers_day ON ledger_transfers (account_id, at);

CREATE TABLE ledger_entries (
  transfer_id bigint NOT NULL REFERENCES ledger_transfers,
  -- customer: the account's balance; issued: credits given out; revenue: credits earned
  book text NOT NULL CHECK (book IN ('customer', 'issued', 'revenue')),
  -- in the customer's book only
  account_id text REFERENCES accounts,
  amount bigint NOT NULL CHECK (amount <> 0),
  -- the customer's balance after this entry
  balance bigint CHECK (balance >= 0),
  PRIMARY KEY (transfer_id, book),
  CHECK ((book = 'customer') = (account_id IS NOT NULL)),
  CHECK ((book = 'customer') = (balance IS NOT NULL))
);
CREATE INDEX ledger_entries_account ON ledger_entries (account_id);

-- Result of the last check of the ledger, which one worker runs on schedule and every process reports.
CREATE TABLE ledger_checks (
  -- one row at most
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  started_at timestamptz NOT NULL,
  -- end of the last check that finished; null before the first
  checked_at timestamptz,
  violations integer CHECK (violations >= 0),
  CHECK ((checked_at IS NULL) = (violations IS NULL))
);

-- Audit log: one hash chain per account, numbered without gaps, never changed (src/domain/audit.ts) ----------------

CREATE TABLE event_heads (
  account_id text PRIMARY KEY REFERENCES accounts,
  -- of the last entry; 0 and 64 zeros for an empty log
  seq bigint NOT NULL CHECK (seq >= 0),
  hash text NOT NULL DEFAULT repeat('0', 64) CHECK (hash ~ '^[0-9a-f]{64}$')
);

CREATE TABLE job_events (
  account_id text NOT NULL REFERENCES accounts,
  seq bigint NOT NULL CHECK (seq > 0),
  id text NOT NULL UNIQUE CHECK (id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$'),
  kind text NOT NULL,
  job_id text REFERENCES jobs,
  -- hashed with milliseconds, so it has no finer digits
  at timestamptz NOT NULL CHECK (at = date_trunc('milliseconds', at)),
  data jsonb NOT NULL DEFAULT '{}',
  -- hash of the entry before; 64 zeros for the first
  previous_hash text NOT NULL CHECK (previous_hash ~ '^[0-9a-f]{64}$'),
  hash text NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
  PRIMARY KEY (account_id, seq)
);
CREATE INDEX job_events_job ON job_events (job_id, seq);

-- Deletion certificates and the keys that sign them ----------------------------------------------------------------

CREATE TABLE signing_keys (
  -- RFC 7638 thumbprint
  kid text PRIMARY KEY,
  public_jwk jsonb NOT NULL,
  -- encrypted under a key derived from the server's pepper (src/domain/secret-cipher.ts)
  private_jwk bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- a retired key signs nothing more; its public part stays published, because signed documents are kept for ever
  retired_at timestamptz
);
-- One key signs, however many processes start at the same time.
CREATE UNIQUE INDEX signing_keys_current ON signing_keys ((true)) WHERE retired_at IS NULL;

CREATE TABLE certificates (
  id text PRIMARY KEY CHECK (id ~ '^cert_[0-9a-hjkmnp-tv-z]{26}$'),
  -- one certificate per job
  job_id text NOT NULL UNIQUE REFERENCES jobs,
  account_id text NOT NULL REFERENCES accounts,
  -- compact JWS
  jws text NOT NULL,
  issued_at timestamptz NOT NULL
);
CREATE INDEX certificates_account ON certificates (account_id, id DESC);

-- Webhooks: signing secrets, deliveries, and every attempt of a delivery -------------------------------------------

CREATE TABLE webhook_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts,
  -- encrypted under a key derived from the server's pepper (src/domain/secret-cipher.ts)
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- null: the current secret; otherwise it signs beside the current one until then
  expires_at timestamptz,
  -- X-Service-Signature has room for one signature. It stays with the replaced secret until that expires, or until the
  -- account switches to the newer one: this time
  switched_at timestamptz,
  CHECK (switched_at IS NULL OR expires_at IS NOT NULL)
);
CREATE UNIQUE INDEX webhook_secrets_current ON webhook_secrets (account_id) WHERE expires_at IS NULL;

CREATE TABLE webhook_deliveries (
  -- the event's id, sent as `webhook-id` in every attempt
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts,
  job_id text NOT NULL REFERENCES jobs,
  event text NOT NULL CHECK (event IN ('job.completed', 'job.failed')),
  -- dropped when the job is deleted
  url text,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'stopped')),
  -- since the delivery was created or last resent
  failed_attempts integer NOT NULL DEFAULT 0 CHECK (failed_attempts >= 0),
  -- when the next attempt is due
  next_at timestamptz,
  -- latest end of the attempt that is under way
  busy_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  settled_at timestamptz,
  -- a job ends once
  UNIQUE (job_id, event),
  CHECK ((state = 'pending') = (next_at IS NOT NULL)),
  CHECK ((state = 'pending') = (settled_at IS NULL)),
  CHECK (state <> 'pending' OR url IS NOT NULL)
);
CREATE INDEX webhook_deliveries_account ON webhook_deliveries (account_id, id DESC);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX webhook_deliveries_busy ON webhook_deliveries (account_id) WHERE busy_until IS NOT NULL;

CREATE TABLE webhook_attempts (
  delivery_id text COLLATE "C" NOT NULL REFERENCES webhook_deliveries,
  number integer NOT NULL CHECK (number > 0),
  at timestamptz NOT NULL,
  duration_ms integer NOT NULL CHECK (duration_ms >= 0),
  -- of the response; null when there was none
  status integer CHECK (status BETWEEN 100 AND 599),
  -- why the attempt failed; null when it delivered
  failure text,
  -- the beginning of the response's body, at most 2 KB; dropped when the job is deleted
  response_body text,
  PRIMARY KEY (delivery_id, number)
);

-- Console: users and their sessions --------------------------------------------------------------------------------

CREATE TABLE console_users (
  id text PRIMARY KEY CHECK (id ~ '^user_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts,
  -- as it was typed; compared in lower case
  email text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  -- PHC string of Argon2id (src/domain/passwords.ts)
  password text NOT NULL CHECK (password LIKE '$argon2id$%'),
  operator boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX console_users_email ON console_users (lower(email));
CREATE INDEX console_users_account ON console_users (account_id);

-- A session that was ended has no row.
CREATE TABLE console_sessions (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^sess_[0-9a-hjkmnp-tv-z]{26}$'),
  user_id text NOT NULL REFERENCES console_users,
  -- HMAC-SHA-256 of the cookie's token under the server's pepper; the token itself is never stored
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  user_agent text NOT NULL DEFAULT '' CHECK (length(user_agent) <= 200),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX console_sessions_user ON console_sessions (user_id, id DESC);
CREATE INDEX console_sessions_expiry ON console_sessions (expires_at);
