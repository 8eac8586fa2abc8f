-- The machine time of the accounts' enhancements, for fair queueing: src/store/machine-time.ts.
-- `virtual_start_seconds`, `virtual_finish_seconds`: virtual times of the last row that began (start-time fair queueing).
-- `typical_seconds`: moving average of the time that a row takes; null: none has ended.
CREATE TABLE account_machine_time (
  account_id text PRIMARY KEY REFERENCES accounts (id),
  virtual_start_seconds double precision NOT NULL,
  virtual_finish_seconds double precision NOT NULL,
  typical_seconds double precision,
  served_at timestamptz NOT NULL DEFAULT now()
-- Free space on each page lets PostgreSQL update a row without touching the index.
) WITH (fillfactor = 50);
