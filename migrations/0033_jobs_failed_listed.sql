-- Lists of failed jobs: an account may have many jobs, and few or none that failed.
CREATE INDEX jobs_failed_listed ON jobs (account_id, mode, id DESC) WHERE status = 'error' AND deleted_at IS NULL AND preview IS NULL;
