-- Accounts, their keys, and the helpers that make rows immutable.

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

CREATE TABLE accounts (
  id text PRIMARY KEY CHECK (id ~ '^acct_[0-9a-hjkmnp-tv-z]{26}$'),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  plan text NOT NULL DEFAULT 'standard',
  approval_status text NOT NULL DEFAULT 'pending' CHECK (approval_status IN ('pending', 'approved', 'rejected')),
  -- live credits, 1 = 1 US cent; always the sum of the account's ledger entries
  credits bigint NOT NULL DEFAULT 0 CHECK (credits >= 0),
  sandbox_credits bigint NOT NULL DEFAULT 10000 CHECK (sandbox_credits >= 0),
  retention_days integer NOT NULL DEFAULT 30 CHECK (retention_days BETWEEN 1 AND 365),
  created_at timestamptz NOT NULL DEFAULT now()
);

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
