-- Since when a job has waited for disk space, behind other jobs or not; null while it does not wait.
ALTER TABLE jobs ADD COLUMN disk_wait_since timestamptz;
