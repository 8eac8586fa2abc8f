-- The queue may have hundreds of thousands of rows that wait. The accounts with due rows, read before each fetch
-- (src/store/machine-time.ts), and the rows that are locked, read every few seconds (src/store/workers.ts), are few.
CREATE INDEX IF NOT EXISTS reelmend_jobs_waiting ON graphile_worker._private_jobs (task_id, flags, run_at) WHERE is_available = true;
CREATE INDEX IF NOT EXISTS reelmend_jobs_locked ON graphile_worker._private_jobs (locked_by) WHERE locked_by IS NOT NULL;
