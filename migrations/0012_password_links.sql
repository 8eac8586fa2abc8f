-- Links with which people set a new password. Each works once, for a limited time; a used one has no row.
CREATE TABLE password_links (
  -- a new link replaces the previous one
  user_id text PRIMARY KEY REFERENCES console_users (id) ON DELETE CASCADE,
  -- HMAC-SHA-256 of the link's token under the server's pepper (src/domain/one-time-link.ts)
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
