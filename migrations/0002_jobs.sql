-- Jobs with their lease, the stored objects that belong to them, and idempotency keys.

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
  deleted_by text CHECK (deleted_by IN ('customer', 'retention')),
  -- the next step to run
  step text NOT NULL CHECK (step IN ('ingest', 'enhance', 'sandbox')),
  original_key text,
  output_key text,
  -- fencing: grows with every claim; whoever commits must name the current one
  attempt integer NOT NULL DEFAULT 0,
  -- leases that ran out, and failures that may pass
  crashes integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
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

-- A job only moves forward, whatever a query says.
CREATE FUNCTION jobs_move_forward() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status IN ('done', 'error') AND NEW.status <> OLD.status
     OR OLD.status = 'running' AND NEW.status = 'queued'
     OR OLD.status = 'queued' AND NEW.status = 'done'
     OR OLD.deleted_at IS NOT NULL AND (NEW.deleted_at IS DISTINCT FROM OLD.deleted_at OR NEW.status <> OLD.status)
     OR NEW.attempt < OLD.attempt
     OR NEW.progress < OLD.progress
     OR NEW.credits_refunded < OLD.credits_refunded
     OR NEW.credits_charged <> OLD.credits_charged
     OR NEW.account_id <> OLD.account_id THEN
    RAISE EXCEPTION 'job % cannot move from % back to %', OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER jobs_move_forward BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_move_forward();
CREATE TRIGGER jobs_kept BEFORE DELETE OR TRUNCATE ON jobs EXECUTE FUNCTION refuse_change();

-- Every key is written here before the storage sees it, so that nothing lies in the storage unknown.
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

-- Worker processes that are alive; who stops reporting loses its queue locks and its scratch folder.
CREATE TABLE workers (
  id text PRIMARY KEY,
  -- Graphile's own pool names, under which it locks queue rows
  pools text[] NOT NULL DEFAULT '{}',
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now()
);
