-- Idempotency keys of grants and withdrawals. They are few and as old as the ledger, so they do not expire, unlike those of
-- jobs, which belong to customers: a customer's key must not meet an operator's.
CREATE TABLE credit_idempotency_keys (
  account_id text NOT NULL REFERENCES accounts,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  -- SHA-256 of the canonical movement: kind, credits and note
  fingerprint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key)
);
