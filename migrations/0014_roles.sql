-- What a person may do in the account (src/http/console/permissions.ts). Until now each had an account alone.
ALTER TABLE console_users
  ADD COLUMN role text NOT NULL DEFAULT 'admin' CHECK (role IN ('admin', 'member'));

-- Links with which further people join an account. Each works once, for a limited time; one that was accepted or revoked has
-- no row.
CREATE TABLE invitations (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^inv_[0-9a-hjkmnp-tv-z]{26}$'),
  account_id text NOT NULL REFERENCES accounts (id),
  email text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  role text NOT NULL CHECK (role IN ('admin', 'member')),
  -- HMAC-SHA-256 of the link's token under the server's pepper (src/domain/one-time-link.ts)
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  -- null for the command line; invitations of a person who leaves go too
  created_by text REFERENCES console_users (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
-- a new invitation replaces the previous one for the same email
CREATE UNIQUE INDEX invitations_email ON invitations (account_id, lower(email));
CREATE INDEX invitations_account ON invitations (account_id, id DESC);
CREATE INDEX invitations_created_by ON invitations (created_by);
