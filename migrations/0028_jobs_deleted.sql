-- The check of the ledger finds the jobs that were deleted since the last one.
CREATE INDEX jobs_deleted ON jobs (deleted_at) WHERE deleted_at IS NOT NULL;
