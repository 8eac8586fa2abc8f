-- What the keys of an account called in the last 30 days, without secrets and without addresses. No foreign keys: it is
-- written in batches that must not wait for locks on accounts, and says nothing that anything else relies on.
CREATE TABLE request_log (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^log_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL,
  key_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('test', 'live')),
  request_id text NOT NULL CHECK (length(request_id) <= 128),
  at timestamptz NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  resource_id text,
  status integer NOT NULL CHECK (status BETWEEN 100 AND 599),
  duration_ms integer NOT NULL CHECK (duration_ms >= 0),
  error jsonb,
  request_body jsonb
);
CREATE INDEX request_log_account ON request_log (account_id, id DESC);
CREATE INDEX request_log_age ON request_log (at);
