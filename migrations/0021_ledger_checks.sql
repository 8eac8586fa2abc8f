-- The result of the last check of the ledger, which one worker of the fleet runs on schedule and every process reports.

CREATE TABLE ledger_checks (
  -- one row at most
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  started_at timestamptz NOT NULL,
  -- of the last check that came to its end; null before the first
  checked_at timestamptz,
  violations integer CHECK (violations >= 0),
  CHECK ((checked_at IS NULL) = (violations IS NULL))
);
