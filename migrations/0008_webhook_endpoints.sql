-- URLs of an account that get the events of all its jobs of a mode, beside the webhook_url of each job.
CREATE TABLE webhook_endpoints (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^hook_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts (id),
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  url text NOT NULL,
  events text[] NOT NULL CHECK (cardinality(events) > 0 AND events <@ ARRAY['job.completed', 'job.failed']),
  description text NOT NULL DEFAULT '' CHECK (length(description) <= 200),
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_endpoints_account ON webhook_endpoints (account_id, mode, id DESC);

-- Each endpoint has secrets of its own; a row without one is of the account, for the jobs' own URLs.
ALTER TABLE webhook_secrets ADD COLUMN endpoint_id text REFERENCES webhook_endpoints (id) ON DELETE CASCADE;
DROP INDEX webhook_secrets_current;
CREATE UNIQUE INDEX webhook_secrets_current ON webhook_secrets (account_id) WHERE expires_at IS NULL AND endpoint_id IS NULL;
CREATE UNIQUE INDEX webhook_secrets_of_endpoint ON webhook_secrets (endpoint_id) WHERE expires_at IS NULL AND endpoint_id IS NOT NULL;

-- No foreign key: the deliveries of a deleted endpoint stay listed. A test event has no job.
ALTER TABLE webhook_deliveries
  ADD COLUMN endpoint_id text,
  ALTER COLUMN job_id DROP NOT NULL,
  ADD CONSTRAINT webhook_deliveries_of_something CHECK (job_id IS NOT NULL OR endpoint_id IS NOT NULL),
  DROP CONSTRAINT webhook_deliveries_job_id_event_key;
CREATE INDEX webhook_deliveries_job ON webhook_deliveries (job_id);
CREATE UNIQUE INDEX webhook_deliveries_of_job ON webhook_deliveries (job_id, event) WHERE endpoint_id IS NULL;
CREATE UNIQUE INDEX webhook_deliveries_of_endpoint ON webhook_deliveries (endpoint_id, job_id, event) WHERE endpoint_id IS NOT NULL;
