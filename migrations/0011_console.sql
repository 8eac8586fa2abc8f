-- The console: people who sign in, their sessions, and what its pages ask of the other tables.

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

-- A session that has ended is gone.
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

-- What a worker process says of itself.
ALTER TABLE workers
  ADD COLUMN host text,
  ADD COLUMN concurrency integer CHECK (concurrency > 0),
  ADD COLUMN devices jsonb NOT NULL DEFAULT '[]';

CREATE INDEX accounts_state ON accounts (approval_status, id DESC);
CREATE INDEX certificates_account ON certificates (account_id, id DESC);
CREATE INDEX ledger_transfers_day ON ledger_transfers (account_id, at);
CREATE INDEX jobs_failed ON jobs (finished_at DESC, id DESC) WHERE status = 'error';

-- Who watches an account hears of all its jobs (src/store/watch.ts): job, then account.
CREATE OR REPLACE FUNCTION jobs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('reelmend_jobs', NEW.id || ' ' || NEW.account_id);
  RETURN NULL;
END $$;
