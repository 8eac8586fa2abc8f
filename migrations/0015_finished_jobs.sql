-- The history that operators see reads the jobs that ended in the last days.
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
