-- The second factor of people who sign in with one: time-based one-time passwords (RFC 6238).
CREATE TABLE two_factor (
  user_id text PRIMARY KEY REFERENCES console_users (id) ON DELETE CASCADE,
  -- encrypted under a key from the server's pepper (src/domain/secret-cipher.ts)
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- null until the first code has confirmed the secret; sign-in asks for codes from then on
  confirmed_at timestamptz,
  -- time step of the last accepted code: no code of it, or of an earlier one, is accepted again
  last_step bigint NOT NULL DEFAULT 0
);

-- A used code has no row.
CREATE TABLE recovery_codes (
  user_id text NOT NULL REFERENCES two_factor (user_id) ON DELETE CASCADE,
  -- HMAC-SHA-256 under the server's pepper (src/domain/recovery-codes.ts)
  code_hash bytea NOT NULL CHECK (octet_length(code_hash) = 32),
  PRIMARY KEY (user_id, code_hash)
);
