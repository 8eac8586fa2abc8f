-- Operators may allow videos of up to six hours (REELMEND_MAX_DURATION_SECONDS).
ALTER TABLE jobs DROP CONSTRAINT jobs_duration_seconds_check,
  ADD CONSTRAINT jobs_duration_seconds_check CHECK (duration_seconds BETWEEN 1 AND 21600);
