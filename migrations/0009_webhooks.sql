-- Webhooks: the accounts' signing secrets, what is to be delivered, and every try of it.

CREATE TABLE webhook_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts,
  -- sealed under a key derived from the server's pepper (src/domain/vault.ts)
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- null: the current one; else it signs beside the current one until then
  expires_at timestamptz
);
CREATE UNIQUE INDEX webhook_secrets_current ON webhook_secrets (account_id) WHERE expires_at IS NULL;

CREATE TABLE webhook_deliveries (
  -- the event's id, sent as `webhook-id` in every try
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts,
  job_id text NOT NULL REFERENCES jobs,
  event text NOT NULL CHECK (event IN ('job.completed', 'job.failed')),
  -- dropped with the job
  url text,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'stopped')),
  -- failed tries of the current round; a resend begins a new one
  tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
  -- when the next try is due
  next_at timestamptz,
  -- a try is under way until then, at most
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

CREATE TABLE webhook_attempts (
  delivery_id text COLLATE "C" NOT NULL REFERENCES webhook_deliveries,
  number integer NOT NULL CHECK (number > 0),
  at timestamptz NOT NULL,
  duration_ms integer NOT NULL CHECK (duration_ms >= 0),
  -- of the answer; null when there was none
  status integer CHECK (status BETWEEN 100 AND 599),
  -- why it does not count as delivered; null when it does
  failure text,
  -- the beginning of the answer's body, at most 2 KB; dropped with the job
  reply text,
  PRIMARY KEY (delivery_id, number)
);
